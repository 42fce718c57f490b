//! The two keepers of stock decide alike: the Lua script and the database's transaction.

mod stack {
    use std::collections::HashMap;
    use std::sync::Arc;
    use std::time::Duration;

    use jiff::Timestamp;
    use rand::rngs::StdRng;
    use rand::{Rng, SeedableRng};
    use seckill::batching::Batch;
    use seckill::catalogue::Catalogue;
    use seckill::clock::Clock;
    use seckill::config::sqlite_in;
    use seckill::control::stock_sync::StockSync;
    use seckill::domain::Bucket;
    use seckill::domain::claim::{Claim, Decision, Hold};
    use seckill::domain::sale::SaleMove;
    use seckill::domain::{Bilingual, Currency, GoodsId, Money, OrderId, Rush, Sale, SaleId, UserId, Window};
    use seckill::redis::connection;
    use seckill::stock::database::DatabaseStock;
    use seckill::stock::load::{Life, Mend};
    use seckill::stock::redis::{RedisFacts, RedisStock};
    use seckill::stock::{Defined, FactSource, Stock};
    use seckill::store::{GoodsDraft, HeldUnits, SaleChange, SaleDraft, Store};
    use secrecy::SecretString;
    use uuid::Uuid;

    use crate::support::{Ground, Rung, seed};

    const SALES: usize = 60;
    const STEPS: usize = 12;
    const HOUR: Duration = Duration::from_secs(3600);

    /// Both keepers with the same sales.
    struct Keepers {
        redis: RedisStock,
        database: DatabaseStock,
        store: Store,
        catalogue: Arc<Catalogue>,
        goods: GoodsId,
        clock: Clock,
        ground: Ground,
    }

    async fn decide(keeper: &impl Stock, bucket: Bucket, batch: &[Claim]) -> Vec<Decision> {
        keeper.reserve(&[Batch { bucket, claims: batch.to_vec() }]).await.remove(0).unwrap()
    }

    impl Keepers {
        async fn new() -> Keepers {
            let ground = Ground::new(Rung::Redis).await;
            let master = SecretString::from(ground.settings["SECKILL_REDIS_URL"].clone());
            let store = Store::open(&sqlite_in(ground.dir())).unwrap();
            store.migrate().await.unwrap();
            let catalogue = Arc::new(Catalogue::new(store.clone()));
            let redis = RedisStock::new(connection::shared(&master).unwrap(), catalogue.clone());
            let clock = Clock::system();
            let text = Bilingual::new("手机", "Phone");
            let draft = GoodsDraft { name: Some(text.clone()), description: Some(text), pictures: None };
            let goods = store.put_goods(None, draft, "test", clock.now()).await.unwrap().unwrap().id;
            let database = DatabaseStock::new(store.clone(), clock.clone(), HOUR);
            Keepers { redis, database, store, catalogue, goods, clock, ground }
        }

        /// A sale in both, live unless it has a window of its own.
        async fn sale(&self, total: i64, limit: i64, window: Window) -> Sale {
            let price = Money::new(100, Currency::CNY);
            let draft = SaleDraft {
                goods_id: self.goods,
                price,
                list_price: None,
                total,
                per_user_limit: limit,
                window,
                rush: Rush::default(),
            };
            let now = self.clock.now();
            let mut sale = self.store.create_sale(&draft, "test", now).await.unwrap();
            if window == (Window { opens_at: None, closes_at: None }) {
                sale = self.store.change_sale(sale.id, &SaleChange::Start { at: now }, "test", now).await.unwrap();
            }
            self.catalogue.refresh().await.unwrap();
            assert!(
                self.redis.load(&sale, Bucket::whole(sale.id), Life { epoch: 1, ..Life::default() }).await.unwrap()
            );
            sale
        }

        /// Asks both; the answer is what both said.
        async fn reserve(&self, sale: SaleId, batch: &[Claim]) -> Vec<Decision> {
            let bucket = Bucket::whole(sale);
            let redis = decide(&self.redis, bucket, batch).await;
            let database = decide(&self.database, bucket, batch).await;
            let plain = |decisions: Vec<Decision>| decisions.into_iter().map(plain).collect::<Vec<_>>();
            let (redis, database) = (plain(redis), plain(database));
            assert_eq!(redis, database, "Redis and the database differ about {batch:#?}");
            redis
        }

        async fn change(&self, sale: SaleId, change: SaleChange) {
            if let Ok(sale) = self.store.change_sale(sale, &change, "test", self.clock.now()).await {
                assert_eq!(self.redis.define(&sale).await.unwrap(), Defined::Yes);
            }
        }

        /// Ends an order; its units return once, however often they are given back.
        async fn cancel(&self, sale: SaleId, order: OrderId) {
            let released = self.store.cancel(sale, &[order], "by_owner", self.clock.now()).await.unwrap();
            for _ in 0..2 {
                let done = self.redis.release(&released).await.unwrap();
                assert_eq!(done, released.iter().map(|release| release.order_id).collect::<Vec<_>>());
            }
            assert_eq!(self.store.cancel(sale, &[order], "by_owner", self.clock.now()).await.unwrap(), []);
        }

        async fn booked(&self, sale: SaleId) -> i64 {
            self.redis.survey(&[Bucket::whole(sale)]).await.unwrap()[0].1.expect("the sale is loaded").booked
        }

        async fn books_agree(&self, sale: SaleId) {
            let (booked, row) = (self.booked(sale).await, self.store.sale(sale).await.unwrap().unwrap());
            assert_eq!(booked, row.sold, "Redis books what the database sold");
            assert!(booked <= row.total);
        }
    }

    /// Both ways of granting are one here.
    fn plain(decision: Decision) -> Decision {
        match decision {
            Decision::Granted(_) => Decision::Granted(seckill::domain::OrderStatus::Reserved),
            other => other,
        }
    }

    fn claim(user: u128, quantity: u32) -> Claim {
        Claim { user_id: UserId(Uuid::from_u128(user)), order_id: OrderId(Uuid::now_v7()), quantity }
    }

    /// Few users, so that many come again, also within one batch; or only new ones, as in a rush.
    fn batch(random: &mut StdRng) -> Vec<Claim> {
        let size = random.random_range(1..=12);
        let users = if random.random() { 1..=8 } else { 9..=u128::MAX };
        (0..size).map(|_| claim(random.random_range(users.clone()), random.random_range(1..=4))).collect()
    }

    fn change(random: &mut StdRng) -> SaleChange {
        match random.random_range(0..8) {
            0..=2 => SaleChange::TopUp { units: random.random_range(1..4) },
            3 | 4 => SaleChange::Move(SaleMove::Pause),
            7 => SaleChange::Move(SaleMove::Stop),
            _ => SaleChange::Move(SaleMove::Resume),
        }
    }

    #[tokio::test]
    async fn the_script_and_the_database_decide_alike() {
        let mut random = StdRng::seed_from_u64(seed());
        let keepers = Keepers::new().await;
        let mut seen: HashMap<&str, u32> = HashMap::new();
        for _ in 0..SALES {
            let (total, limit) = (random.random_range(1..60), random.random_range(1..5));
            let sale = keepers.sale(total, limit, Window { opens_at: None, closes_at: None }).await;
            let mut live: Vec<OrderId> = Vec::new();
            for _ in 0..STEPS {
                match random.random_range(0..10) {
                    0 => keepers.change(sale.id, change(&mut random)).await,
                    1 | 2 if !live.is_empty() => {
                        let order = live.swap_remove(random.random_range(0..live.len()));
                        keepers.cancel(sale.id, order).await;
                    }
                    _ => {
                        let batch = batch(&mut random);
                        let decisions = keepers.reserve(sale.id, &batch).await;
                        for (claim, decision) in batch.iter().zip(decisions) {
                            *seen.entry(name(decision)).or_default() += 1;
                            if matches!(decision, Decision::Granted(_)) {
                                live.push(claim.order_id);
                            }
                        }
                    }
                }
                keepers.books_agree(sale.id).await;
            }
        }
        println!("decisions: {seen:?}");
        for name in ["granted", "repeated", "sold_out", "over_limit", "not_open", "ended"] {
            assert!(seen.contains_key(name), "nothing was {name}: {seen:?}");
        }
    }

    fn name(decision: Decision) -> &'static str {
        match decision {
            Decision::Granted(_) => "granted",
            Decision::Repeated(_) => "repeated",
            Decision::SoldOut => "sold_out",
            Decision::Busy => "busy",
            Decision::OverLimit => "over_limit",
            Decision::NotOpen => "not_open",
            Decision::Ended => "ended",
            Decision::NotLoaded => "not_loaded",
        }
    }

    #[tokio::test]
    async fn the_window_holds_for_both() {
        let keepers = Keepers::new().await;
        let now = keepers.clock.now();
        let at = |offset: i64| Timestamp::from_second(now.as_second() + offset).unwrap();
        let window = |opens, closes| Window { opens_at: Some(at(opens)), closes_at: Some(at(closes)) };
        let early = keepers.sale(5, 1, window(3_600, 7_200)).await;
        assert_eq!(keepers.reserve(early.id, &[claim(1, 1)]).await, [Decision::NotOpen]);
        let over = keepers.sale(5, 1, window(-7_200, -3_600)).await;
        assert_eq!(keepers.reserve(over.id, &[claim(1, 1)]).await, [Decision::Ended]);
        let unknown = SaleId(4_242);
        assert_eq!(keepers.reserve(unknown, &[claim(1, 1), claim(2, 1)]).await, [Decision::NotLoaded; 2]);
    }

    #[tokio::test]
    async fn one_user_in_one_batch_holds_once_and_hears_of_it() {
        let keepers = Keepers::new().await;
        let sale = keepers.sale(3, 2, Window { opens_at: None, closes_at: None }).await;
        let batch = [claim(1, 2), claim(1, 1), claim(2, 2), claim(2, 1), claim(3, 3), claim(1, 9), claim(4, 1)];
        let decisions = keepers.reserve(sale.id, &batch).await;
        let hold = |n: usize| Hold { order_id: batch[n].order_id, quantity: batch[n].quantity };
        let granted = plain(Decision::Granted(seckill::domain::OrderStatus::Unpaid));
        let expected = [
            granted,
            Decision::Repeated(hold(0)),
            Decision::SoldOut,
            granted,
            Decision::OverLimit,
            Decision::Repeated(hold(0)),
            Decision::SoldOut,
        ];
        assert_eq!(decisions, expected);
    }

    #[tokio::test]
    async fn claims_on_many_sales_are_decided_apart_also_by_a_master_that_forgot_the_script() {
        let keepers = Keepers::new().await;
        let always = Window { opens_at: None, closes_at: None };
        let (one, other) = (keepers.sale(1, 1, always).await, keepers.sale(5, 1, always).await);
        let unknown = SaleId(999_999_999);
        let ask = async |users: &[u128]| {
            let claims = || users.iter().map(|user| claim(*user, 1)).collect();
            let asked = |sale| Batch { bucket: Bucket::whole(sale), claims: claims() };
            let asked = [asked(one.id), asked(unknown), asked(other.id)];
            let answers = keepers.redis.reserve(&asked).await.into_iter();
            answers.map(|answer| answer.unwrap()).collect::<Vec<_>>()
        };
        let granted = Decision::Granted(seckill::domain::OrderStatus::Reserved);
        let nobody = Decision::NotLoaded;
        for users in [[1, 2], [3, 4]] {
            let _: () = redis::cmd("SCRIPT").arg("FLUSH").query_async(&mut keepers.redis.connection()).await.unwrap();
            let first = if users[0] == 1 { granted } else { Decision::SoldOut };
            let expected = [[first, Decision::SoldOut], [nobody; 2], [granted; 2]];
            assert_eq!(ask(&users).await, expected);
        }
    }

    #[tokio::test]
    async fn units_are_given_back_once_and_only_by_the_order_that_holds_them() {
        let keepers = Keepers::new().await;
        let sale = keepers.sale(5, 5, Window { opens_at: None, closes_at: None }).await;
        let (first, second) = (claim(1, 3), claim(1, 2));
        decide(&keepers.redis, Bucket::whole(sale.id), &[first]).await;
        let release = |claim: &Claim| HeldUnits {
            order_id: claim.order_id,
            sale_id: sale.id,
            user_id: claim.user_id,
            quantity: claim.quantity,
        };
        for _ in 0..3 {
            keepers.redis.release(&[release(&first), release(&first)]).await.unwrap();
            assert_eq!(keepers.booked(sale.id).await, 0);
        }
        // The user has a new order; the old one has nothing to give back any more.
        decide(&keepers.redis, Bucket::whole(sale.id), &[second]).await;
        keepers.redis.release(&[release(&first)]).await.unwrap();
        assert_eq!(keepers.booked(sale.id).await, 2);
        keepers.redis.release(&[release(&second)]).await.unwrap();
        assert_eq!(keepers.booked(sale.id).await, 0);
        drop(keepers.ground);
    }

    /// Lists of winners are believed as long as this number stays.
    #[tokio::test]
    async fn whoever_comes_to_hold_units_is_seen_by_the_number_of_grants() {
        let keepers = Keepers::new().await;
        let sale = keepers.sale(5, 5, Window { opens_at: None, closes_at: None }).await;
        let bucket = Bucket::whole(sale.id);
        let url = SecretString::from(keepers.ground.settings["SECKILL_REDIS_URL"].clone());
        let facts = RedisFacts::new(vec![connection::shared(&url).unwrap()]);
        let granted = async || facts.facts(&[bucket]).await.unwrap()[0].1.granted;
        let fresh = granted().await;
        decide(&keepers.redis, bucket, &[claim(1, 1)]).await;
        let bought = granted().await;
        let Claim { user_id, order_id, quantity } = claim(2, 1);
        let hold = HeldUnits { order_id, sale_id: sale.id, user_id, quantity };
        assert_eq!(keepers.redis.mend(bucket, 1, &[Mend::Hold(hold)]).await.unwrap(), 1);
        let mended = granted().await;
        assert_eq!((bought - fresh, mended - bought), (1, 1));
        keepers.redis.unload(bucket).await.unwrap();
        let life = Life { epoch: 2, booked: 2, ..Life::default() };
        assert!(keepers.redis.load(&sale, bucket, life).await.unwrap());
        assert!(granted().await > mended);
        decide(&keepers.redis, bucket, &[claim(3, 1)]).await;
        assert!(granted().await > mended + 1);
    }
    /// With a backlog in the outbox the counts differ for good reason.
    #[tokio::test]
    async fn holds_whose_orders_are_all_on_their_way_are_not_compared_over_and_over() {
        let keepers = Keepers::new().await;
        let sale = keepers.sale(5, 5, Window { opens_at: None, closes_at: None }).await;
        let (redis, clock) = (keepers.redis.clone(), keepers.clock.clone());
        let stock_sync =
            StockSync::new(redis, keepers.store.clone(), keepers.catalogue.clone(), None, clock, Arc::default());
        let outbox = async |word: &str| -> i64 {
            let mut command = redis::cmd(word);
            command.arg(format!("goods{{{}}}:outbox", sale.id));
            command.query_async(&mut keepers.redis.connection()).await.unwrap()
        };
        let long_ago = Uuid::new_v7(uuid::Timestamp::from_unix(uuid::NoContext, 1_000, 0));
        let old = Claim { order_id: OrderId(long_ago), ..claim(1, 1) };
        decide(&keepers.redis, Bucket::whole(sale.id), &[old]).await;
        for _ in 0..2 {
            stock_sync.reconcile().await.unwrap();
        }
        // By now they have been compared. What is lost without a trace in the counts is found at the next comparison.
        assert_eq!(outbox("DEL").await, 1);
        stock_sync.reconcile().await.unwrap();
        assert_eq!(outbox("XLEN").await, 0);
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(60)).await;
        tokio::time::resume();
        stock_sync.reconcile().await.unwrap();
        assert_eq!(outbox("XLEN").await, 1);
    }
}
