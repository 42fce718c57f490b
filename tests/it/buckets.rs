//! Split sales: several allotters move units to buckets and back in any order, and the sum never exceeds the total.

mod stack {
    use std::collections::{HashMap, HashSet};
    use std::sync::Arc;
    use std::time::Duration;

    use base::clock::Clock;
    use base::config::ServiceAddress;
    use control::allot::Allotter;
    use domain::Bucket;
    use domain::claim::{Claim, Decision, Refusal};
    use domain::{Bilingual, Currency, GoodsId, Money, OrderId, Rush, Sale, UserId};
    use engine::batching::Batch;
    use engine::catalogue::Catalogue;
    use engine::redis::{connection, keys};
    use engine::stock::facts::RedisFacts;
    use engine::stock::load::{BucketShare, LoadOptions};
    use engine::stock::redis::RedisStock;
    use engine::stock::{FactSource, Stock};
    use prometheus_client::metrics::gauge::Gauge;
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};
    use redis::AsyncCommands;
    use store::{Allotment, GoodsDraft, HeldUnits, Retarget, SaleChange, SaleDraft, SaleRefusal, Store};
    use uuid::Uuid;

    use crate::support::{Fixture, NewSale, Rung, Shop, eventually, seed, until};

    const SALES: usize = 12;
    const STEPS: usize = 150;

    /// A Redis master, and a database with split sales.
    struct SplitStock {
        redis: RedisStock,
        store: Store,
        database: String,
        catalogue: Arc<Catalogue>,
        facts: RedisFacts,
        goods: GoodsId,
        clock: Clock,
        _fixture: Fixture,
    }

    impl SplitStock {
        async fn new() -> SplitStock {
            let fixture = Fixture::new(Rung::Redis).await;
            let url = ServiceAddress::from(fixture.settings["SECKILL_REDIS_URL"].as_str());
            let database = fixture.settings["SECKILL_DATABASE_URL"].clone();
            let store = Store::open(&database).unwrap();
            store.migrate().await.unwrap();
            let clock = Clock::system();
            let text = Bilingual::new("手机", "Phone");
            let draft = GoodsDraft { name: Some(text.clone()), description: Some(text), ..GoodsDraft::default() };
            let goods = store.goods().put(None, draft, "test", clock.now()).await.unwrap().unwrap().id;
            let catalogue = Arc::new(Catalogue::new(store.clone()));
            let master = connection::shared(&url).unwrap();
            let facts = RedisFacts::new(Vec::new(), master.clone(), Gauge::default());
            let redis = RedisStock::new(master, catalogue.clone(), store.clone(), Duration::from_secs(3_600));
            SplitStock { redis, store, database, catalogue, facts, goods, clock, _fixture: fixture }
        }

        /// A live sale, loaded, with nothing allotted yet.
        async fn sale(&self, total: i64, limit: i64, buckets: u8, lot: i64) -> Sale {
            let (goods_id, price) = (self.goods, Money::new(100, Currency::CNY));
            let rush = Rush { buckets, lot, spread_ms: 0 };
            let draft = SaleDraft { goods_id, price, total, per_user_limit: limit, rush, ..SaleDraft::blank() };
            let now = self.clock.now();
            let sale = self.store.sales().create(&draft, "test", now).await.unwrap();
            let sale = self.store.sales().change(sale.id, &SaleChange::Start { at: now }, "test", now).await.unwrap();
            self.catalogue.refresh().await.unwrap();
            let rows = self.store.sales().allotments(sale.id, buckets).await.unwrap();
            for (bucket, share) in Bucket::of_sale(&sale).zip(rows) {
                let life = LoadOptions { epoch: 1, share: Some(share), ..LoadOptions::default() };
                assert!(self.redis.load(&sale, bucket, life).await.unwrap());
            }
            sale
        }

        /// Another allotter. It takes idle units back without a delay.
        fn allotter(&self) -> Allotter {
            Allotter::new(self.redis.clone(), self.store.clone(), self.catalogue.clone(), Duration::ZERO)
        }

        /// Runs one step that crashes after `within`, and closes its connections.
        async fn step_then_crash(&self, sale: &Sale, within: Duration) {
            let store = Store::open(&self.database).unwrap();
            store.ping().await.unwrap();
            let allotter = Allotter::new(self.redis.clone(), store.clone(), self.catalogue.clone(), Duration::ZERO);
            let _ = tokio::time::timeout(within, allotter.step_of(sale)).await;
            store.close().await;
        }

        async fn reserve(&self, sale: &Sale, claim: Claim) -> Decision {
            let bucket = Bucket::of_user(sale.id, sale.rush.buckets, claim.user_id);
            self.redis.reserve(&[Batch { bucket, claims: vec![claim] }]).await.remove(0).unwrap()[0]
        }

        async fn shares(&self, sale: &Sale) -> Vec<BucketShare> {
            let buckets: Vec<Bucket> = Bucket::of_sale(sale).collect();
            self.redis.shares(&buckets).await.unwrap().into_iter().map(Option::unwrap).collect()
        }

        async fn rows(&self, sale: &Sale) -> Vec<Allotment> {
            self.store.sales().allotments(sale.id, sale.rush.buckets).await.unwrap()
        }

        async fn total(&self, sale: &Sale) -> i64 {
            self.store.sales().get(sale.id).await.unwrap().unwrap().total
        }

        /// No unit is allotted twice, every booked unit is held, and no bucket books more than its share.
        async fn assert_conserved(&self, sale: &Sale, held: &HashMap<UserId, HeldUnits>) {
            // The database is read last, because a share is allotted there before the bucket gets it.
            let (shares, rows, total) = (self.shares(sale).await, self.rows(sale).await, self.total(sale).await);
            let allotted: i64 = rows.iter().map(|row| row.allotted).sum();
            assert!(allotted <= total, "{allotted} of {total} allotted: {rows:?}");
            for (share, row) in shares.iter().zip(&rows) {
                assert!(share.total <= row.allotted && share.booked <= share.total, "{share:?} of {row:?}");
            }
            let booked: i64 = shares.iter().map(|share| share.booked).sum();
            assert_eq!(booked, held.values().map(|hold| i64::from(hold.quantity)).sum::<i64>());
        }
    }

    fn claim(quantity: u32) -> Claim {
        Claim { user_id: UserId(Uuid::new_v4()), order_id: OrderId(Uuid::now_v7()), quantity }
    }

    fn hold(sale: &Sale, claim: Claim) -> HeldUnits {
        let Claim { user_id, order_id, quantity } = claim;
        HeldUnits { order_id, sale_id: sale.id, user_id, quantity }
    }

    /// Sends an old allotment again. Its fence is old, so Redis and database must ignore it.
    async fn write_stale_allotment(stock: &SplitStock, sale: &Sale, old: &[Allotment], random: &mut StdRng) {
        let row = old[random.random_range(0..old.len())];
        let bucket = Bucket::of_sale(sale).nth(row.part.into()).unwrap();
        let now = stock.rows(sale).await[usize::from(row.part)];
        let stale = now.fence > row.fence;
        if stale {
            stock.redis.allot(bucket, row.fence, row.target, true).await.unwrap();
            let settled = stock.store.sales().settle_allotment(sale.id, row.part, row.fence, 0).await.unwrap();
            let change = Retarget { part: row.part, after: row.fence, fence: row.fence + 1, target: 0 };
            let changed = stock.store.sales().retarget(sale.id, &[change]).await.unwrap();
            assert!(!settled && !changed, "an old fence was accepted");
        }
        // More units than the total, with the current fence.
        let too_many = stock.total(sale).await + 1;
        let change = Retarget { part: row.part, after: now.fence, fence: now.fence + 1, target: too_many };
        assert!(!stock.store.sales().retarget(sale.id, &[change]).await.unwrap(), "more than the total was allotted");
    }

    #[tokio::test]
    async fn units_are_conserved_when_allotters_crash_or_write_late() {
        let mut random = StdRng::seed_from_u64(seed());
        let stock = SplitStock::new().await;
        for n in 0..SALES {
            let (buckets, lot) = (random.random_range(2..7), [0, 1, 3, 8][n % 4]);
            let limit = random.random_range(1..4);
            let sale = stock.sale(random.random_range(5..60), limit.into(), buckets, lot).await;
            let mut held: HashMap<UserId, HeldUnits> = HashMap::new();
            let mut old = stock.rows(&sale).await;
            let allotters = [stock.allotter(), stock.allotter()];
            for _ in 0..STEPS {
                match random.random_range(0..12) {
                    0..=5 => {
                        let claim = claim(random.random_range(1..=limit));
                        if let Decision::Granted(_) = stock.reserve(&sale, claim).await {
                            held.insert(claim.user_id, hold(&sale, claim));
                        }
                    }
                    6 if !held.is_empty() => {
                        let user = *held.keys().nth(random.random_range(0..held.len())).unwrap();
                        let released = held.remove(&user).unwrap();
                        stock.redis.release(&[released, released]).await.unwrap();
                    }
                    7 => {
                        let units = SaleChange::TopUp { units: random.random_range(1..4), request: None };
                        stock.store.sales().change(sale.id, &units, "test", stock.clock.now()).await.unwrap();
                    }
                    8 => write_stale_allotment(&stock, &sale, &old, &mut random).await,
                    9 => old = stock.rows(&sale).await,
                    which => {
                        let now = stock.store.sales().get(sale.id).await.unwrap().unwrap();
                        if random.random() {
                            allotters[which as usize % 2].step_of(&now).await.unwrap();
                        } else {
                            let within = Duration::from_micros(random.random_range(0..12_000));
                            stock.step_then_crash(&now, within).await;
                        }
                    }
                }
                stock.assert_conserved(&sale, &held).await;
            }
            buy_until_sold_out(&stock, &sale, &mut held, n).await;
        }
    }

    /// Shoppers of a single bucket retry until the whole sale is sold out.
    async fn buy_until_sold_out(stock: &SplitStock, sale: &Sale, held: &mut HashMap<UserId, HeldUnits>, n: usize) {
        let allotter = stock.allotter();
        let bucket = Bucket::of_sale(sale).nth(n % usize::from(sale.rush.buckets)).unwrap();
        let here = |claim: &Claim| Bucket::of_user(sale.id, sale.rush.buckets, claim.user_id) == bucket;
        let mut sold_out = 0;
        for _ in 0..2_000 {
            let claim = std::iter::repeat_with(|| claim(1)).find(here).unwrap();
            match stock.reserve(sale, claim).await {
                Decision::Granted(_) => {
                    held.insert(claim.user_id, hold(sale, claim));
                }
                Decision::Refused(Refusal::Busy) => {}
                Decision::Refused(Refusal::SoldOut) => sold_out += 1,
                other => panic!("{other:?}"),
            }
            stock.assert_conserved(sale, held).await;
            if sold_out > 2 {
                break;
            }
            let now = stock.store.sales().get(sale.id).await.unwrap().unwrap();
            allotter.step_of(&now).await.unwrap();
        }
        let total = stock.total(sale).await;
        let booked: i64 = stock.shares(sale).await.iter().map(|share| share.booked).sum();
        assert_eq!(booked, total, "sold out is answered only when everything is sold: {:?}", stock.rows(sale).await);
    }

    #[tokio::test]
    async fn total_of_a_running_split_sale_falls_by_units_of_the_pool_only() {
        let stock = SplitStock::new().await;
        let sale = stock.sale(30, 1, 3, 5).await;
        stock.allotter().step_of(&sale).await.unwrap();
        let set = async |total| {
            let change = SaleChange::SetTotal { total, versions: None };
            stock.store.sales().change(sale.id, &change, "test", stock.clock.now()).await
        };
        let refused = set(14).await;
        assert!(matches!(refused, Err(SaleRefusal::UnitsAllotted)), "{refused:?}");
        assert_eq!(set(15).await.unwrap().total, 15, "each of three buckets has five");
    }

    #[tokio::test]
    async fn empty_bucket_answers_busy_while_other_buckets_have_units() {
        let stock = SplitStock::new().await;
        let sale = stock.sale(4, 3, 3, 1).await;
        let allotter = stock.allotter();
        let of = |n: usize, quantity| {
            let bucket = Bucket::of_sale(&sale).nth(n).unwrap();
            let here = |claim: &Claim| Bucket::of_user(sale.id, 3, claim.user_id) == bucket;
            std::iter::repeat_with(|| claim(quantity)).find(here).unwrap()
        };
        let granted = |decision| matches!(decision, Decision::Granted(_));
        assert_eq!(stock.reserve(&sale, of(0, 1)).await, Decision::Refused(Refusal::Busy), "nothing is handed out yet");
        allotter.step_of(&sale).await.unwrap();
        // One unit is here, three are elsewhere.
        assert!(granted(stock.reserve(&sale, of(0, 1)).await));
        assert_eq!(stock.reserve(&sale, of(0, 1)).await, Decision::Refused(Refusal::Busy));
        // The facts cover the whole sale.
        let buckets: Vec<Bucket> = Bucket::of_sale(&sale).collect();
        let facts = stock.facts.facts(&buckets).await.unwrap();
        assert_eq!(facts.iter().map(|(id, f)| (*id, f.total, f.booked)).collect::<Vec<_>>(), [(sale.id, 4, 1)]);
        // The remaining units are moved together for a shopper who retries.
        let retried = of(2, 3);
        let mut tries = 0;
        while !granted(stock.reserve(&sale, retried).await) {
            allotter.step_of(&sale).await.unwrap();
            tries += 1;
            assert!(tries < 20, "{:?}", stock.rows(&sale).await);
        }
        allotter.step_of(&sale).await.unwrap();
        for n in 0..3 {
            assert_eq!(stock.reserve(&sale, of(n, 1)).await, Decision::Refused(Refusal::SoldOut));
        }
    }

    #[tokio::test]
    async fn split_sale_has_summed_flags_and_the_cockpit_shows_its_buckets() {
        let (shop, sale) = Shop::selling(Rung::Rabbit, NewSale::of(30).split(3, 0)).await;
        assert_eq!(shop.wait_for_phase(&sale, "open").await["remaining"], 30);
        let master = shop.redis().await;
        let id = domain::SaleId(sale.parse().unwrap());
        let whole = Bucket::whole(id);
        eventually("everything is allotted", Duration::from_secs(10), async || {
            let names: Vec<String> = Bucket::all(id, 3).map(keys::count).collect();
            let shares: Vec<i64> = master.clone().mget(&names).await.unwrap();
            if shares.iter().sum::<i64>() == 30 { Ok(()) } else { Err(format!("{shares:?}")) }
        })
        .await;
        let users: Vec<_> = (0..6).map(|n| shop.shopper(n)).collect();
        for user in &users {
            user.buy_one(&sale).await;
        }
        eventually("the flags are summed", Duration::from_secs(10), async || {
            let names = [keys::count(whole), keys::start(whole), keys::access(whole)];
            let flags: Vec<Option<i64>> = master.clone().mget(&names).await.unwrap();
            if flags == [Some(30), Some(1), Some(6)] { Ok(()) } else { Err(format!("{flags:?}")) }
        })
        .await;
        let page = shop.admin().await.get(&format!("/admin/sales/{sale}?lang=en")).await.expect(200).text();
        let rows: HashSet<bool> = (0..3).map(|n| page.contains(&format!("bucket.{sale}.{n}.allotted"))).collect();
        assert_eq!(rows, [true].into(), "{page}");
        // The split of a loaded sale cannot change.
        let other = shop.create(NewSale::of(5).split(2, 1)).await;
        let patch = serde_json::json!({"buckets": 4});
        let read = async || shop.store().sales().get(domain::SaleId(other.parse().unwrap())).await.unwrap().unwrap();
        until("it is loaded", Duration::from_secs(10), read, |sale| sale.epoch >= 1).await;
        let answer = shop.admin().await.request(axum::http::Method::PATCH, &format!("/api/admin/sales/{other}"));
        let answer = answer.json(&patch).send().await.expect(422);
        assert_eq!(answer.json()["fields"][0]["code"], "split_fixed");
        shop.wait_for_sold(&sale, 6, Duration::from_secs(10)).await;
        shop.audit_is_clean().await;
    }
}
