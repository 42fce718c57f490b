//! The two backends of the stock, the Lua script and the database's transaction, decide alike.

mod stack {
    use std::collections::HashMap;
    use std::sync::Arc;
    use std::time::Duration;

    use base::clock::Clock;
    use base::config::ServiceAddress;
    use base::config::sqlite_in;
    use base::metrics::Metrics;
    use base::signing::ShopSecret;
    use control::audit::Audit;
    use control::stock_sync::StockSync;
    use control::waiting_rooms::WaitingRoomSteps;
    use domain::Bucket;
    use domain::claim::{Claim, Decision, Hold, Refusal};
    use domain::sale::SaleMove;
    use domain::{
        Bilingual, Currency, GoodsId, Money, OrderId, Sale, SaleId, SaleMode, TurnState, UserId, WaitingRoomPlan,
        Window,
    };
    use engine::batching::Batch;
    use engine::catalogue::Catalogue;
    use engine::eligibility::Eligibility;
    use engine::redis::keys::ShortId;
    use engine::redis::{connection, keys};
    use engine::stock::database::DatabaseStock;
    use engine::stock::facts::RedisFacts;
    use engine::stock::load::{HoldRepair, LoadOptions};
    use engine::stock::redis::RedisStock;
    use engine::stock::{FactSource, Stock, WaitedStock};
    use engine::waiting_rooms::WaitingRooms;
    use jiff::Timestamp;
    use prometheus_client::metrics::gauge::Gauge;
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};
    use redis::AsyncCommands;
    use secrecy::SecretString;
    use store::{GoodsDraft, HeldUnits, LockPatience, SaleChange, SaleDraft, Store, WaitOutcome};
    use uuid::Uuid;

    use crate::support::{Fixture, Rung, seed};

    const SALES: usize = 60;
    const STEPS: usize = 12;
    const ALWAYS: Window = Window { opens_at: None, closes_at: None };
    const SOLD_OUT: Decision = Decision::Refused(Refusal::SoldOut);
    const HOUR: Duration = Duration::from_secs(3600);

    /// Both backends with the same sales.
    struct StockPair {
        redis: RedisStock,
        database: DatabaseStock,
        store: Store,
        catalogue: Arc<Catalogue>,
        goods: GoodsId,
        clock: Clock,
        metrics: Arc<Metrics>,
        fixture: Fixture,
    }

    async fn decide(backend: &impl Stock, bucket: Bucket, batch: &[Claim]) -> Vec<Decision> {
        backend.reserve(&[Batch { bucket, claims: batch.to_vec() }]).await.remove(0).unwrap()
    }

    impl StockPair {
        async fn new() -> StockPair {
            StockPair::at(Clock::system()).await
        }

        async fn at(clock: Clock) -> StockPair {
            let fixture = Fixture::new(Rung::Redis).await;
            let master = ServiceAddress::from(fixture.settings["SECKILL_REDIS_URL"].as_str());
            let store = Store::open(&sqlite_in(fixture.dir())).unwrap().with_clock(&clock);
            store.migrate().await.unwrap();
            let catalogue = Arc::new(Catalogue::new(store.clone()));
            let master = connection::shared(&master).unwrap();
            let redis = RedisStock::new(master, catalogue.clone(), store.clone(), HOUR);
            let text = Bilingual::new("手机", "Phone");
            let draft = GoodsDraft { name: Some(text.clone()), description: Some(text), ..GoodsDraft::default() };
            let goods = store.goods().put(None, draft, "test", clock.now()).await.unwrap().unwrap().id;
            let database = DatabaseStock::new(store.clone(), HOUR);
            StockPair { redis, database, store, catalogue, goods, clock, metrics: Arc::default(), fixture }
        }

        /// A sale in both backends. It is live unless it has a window.
        async fn sale(&self, total: i64, limit: i64, window: Window) -> Sale {
            self.sale_of(SaleMode::Rush, total, limit, window).await
        }

        async fn sale_of(&self, mode: SaleMode, total: i64, limit: i64, window: Window) -> Sale {
            let (goods_id, price) = (self.goods, Money::new(100, Currency::CNY));
            let draft = SaleDraft { goods_id, price, total, per_user_limit: limit, window, mode, ..SaleDraft::blank() };
            let now = self.clock.now();
            let mut sale = self.store.sales().create(&draft, "test", now).await.unwrap();
            if window == ALWAYS {
                sale = self.store.sales().change(sale.id, &SaleChange::Start { at: now }, "test", now).await.unwrap();
            }
            self.catalogue.refresh().await.unwrap();
            assert!(
                self.redis
                    .load(&sale, Bucket::whole(sale.id), LoadOptions { epoch: 1, ..LoadOptions::default() })
                    .await
                    .unwrap()
            );
            sale
        }

        /// Reserves in both backends, fails unless they decide alike, and returns the decisions.
        async fn reserve(&self, sale: SaleId, batch: &[Claim]) -> Vec<Decision> {
            let bucket = Bucket::whole(sale);
            let redis = decide(&self.redis, bucket, batch).await;
            let database = decide(&self.database, bucket, batch).await;
            let normalize = |decisions: Vec<Decision>| decisions.into_iter().map(without_status).collect::<Vec<_>>();
            let (redis, database) = (normalize(redis), normalize(database));
            assert_eq!(redis, database, "Redis and the database differ about {batch:#?}");
            redis
        }

        /// Decides about one claim in Redis alone.
        async fn in_redis(&self, sale: SaleId, claim: Claim) -> Decision {
            decide(&self.redis, Bucket::whole(sale), &[claim]).await[0]
        }

        /// The bucket was loaded into another server, which may have lost grants.
        async fn forget_server(&self, sale: SaleId) {
            let mut forget = redis::cmd("HSET");
            forget.arg(keys::hash(Bucket::whole(sale))).arg("Server").arg("0".repeat(40));
            forget.exec_async(&mut self.redis.connection()).await.unwrap();
        }

        fn facts(&self) -> RedisFacts {
            let url = ServiceAddress::from(self.fixture.settings["SECKILL_REDIS_URL"].as_str());
            RedisFacts::new(Vec::new(), connection::shared(&url).unwrap(), Gauge::default())
        }

        async fn change(&self, sale: SaleId, change: SaleChange) {
            if let Ok(sale) = self.store.sales().change(sale, &change, "test", self.clock.now()).await {
                assert!(self.redis.define(&sale).await.is_complete());
            }
        }

        /// Cancels an order. Its units return once, however often they are released.
        async fn cancel(&self, sale: SaleId, order: OrderId) {
            let released = self.store.orders().cancel(sale, &[order], "by_owner", LockPatience::Long).await.unwrap();
            for _ in 0..2 {
                let done = self.redis.release(&released).await.unwrap();
                assert_eq!(done, released.iter().map(|release| release.order_id).collect::<Vec<_>>());
            }
            assert_eq!(self.store.orders().cancel(sale, &[order], "by_owner", LockPatience::Long).await.unwrap(), []);
        }

        /// Lowers the total in both, or in neither. Returns whether it was lowered.
        async fn lower(&self, sale: SaleId, total: i64, commits: bool) -> bool {
            let change = SaleChange::SetTotal { total, versions: None };
            let pending = self.store.sales().begin_change(sale, &change, "test", self.clock.now()).await;
            let Ok(pending) = pending else { return false };
            let is_lowered = self.redis.lower_total(pending.sale()).await.unwrap();
            if is_lowered && commits {
                pending.commit().await.unwrap();
            }
            is_lowered
        }

        async fn keys(&self, sale: SaleId) -> Vec<String> {
            let mut keys = redis::cmd("KEYS");
            keys.arg(format!("goods{{{sale}}}*"));
            keys.query_async(&mut self.redis.connection()).await.unwrap()
        }

        async fn booked(&self, sale: SaleId) -> i64 {
            self.redis.survey(&[Bucket::whole(sale)]).await.unwrap()[0].1.loaded().expect("the sale is loaded").booked
        }

        async fn assert_backends_agree(&self, sale: SaleId) {
            let (booked, row) = (self.booked(sale).await, self.store.sales().get(sale).await.unwrap().unwrap());
            assert_eq!(booked, row.sold, "Redis has booked what the database has sold");
            assert!(booked <= row.total);
        }
    }

    /// Units are taken where they are sold first, so no grant is turned away later.
    #[tokio::test]
    async fn total_is_lowered_only_as_far_as_units_are_not_booked() {
        let backends = StockPair::new().await;
        let sale = backends.sale(5, 1, ALWAYS).await;
        backends.reserve(sale.id, &[claim(1, 1), claim(2, 1)]).await;
        // Redis has granted one that has not reached the database.
        backends.in_redis(sale.id, claim(3, 1)).await;
        assert!(!backends.lower(sale.id, 2, true).await, "the database has sold two, and Redis three");
        assert_eq!(backends.store.sales().get(sale.id).await.unwrap().unwrap().total, 5);
        assert!(backends.lower(sale.id, 3, true).await);
        assert_eq!(backends.in_redis(sale.id, claim(4, 1)).await, SOLD_OUT);
        backends.change(sale.id, SaleChange::SetTotal { total: 4, versions: None }).await;
        assert_granted(backends.in_redis(sale.id, claim(4, 1)).await);

        // The process dies before the commit: stock sync gives the old total back.
        backends.change(sale.id, SaleChange::SetTotal { total: 6, versions: None }).await;
        assert!(backends.lower(sale.id, 4, false).await);
        assert_eq!(backends.in_redis(sale.id, claim(5, 1)).await, SOLD_OUT);
        let stock_sync = backends.stock_sync();
        for _ in 0..3 {
            stock_sync.step().await.unwrap();
        }
        assert_granted(backends.in_redis(sale.id, claim(5, 1)).await);
        let row = backends.store.sales().get(sale.id).await.unwrap().unwrap();
        assert_eq!((row.total, row.state), (6, domain::SaleState::Live));

        // The next change has the version of the one that was not committed.
        assert!(backends.lower(sale.id, 5, false).await);
        backends.change(sale.id, SaleChange::Move(SaleMove::Pause)).await;
        for _ in 0..2 {
            stock_sync.step().await.unwrap();
        }
        let survey = backends.redis.survey(&[Bucket::whole(sale.id)]).await.unwrap();
        let loaded = survey[0].1.loaded().unwrap();
        assert_eq!((loaded.state, loaded.share), (domain::SaleState::Paused, 6));

        // A bucket that may have lost grants does not say how many are booked.
        backends.forget_server(sale.id).await;
        let change = SaleChange::SetTotal { total: 5, versions: None };
        let pending = backends.store.sales().begin_change(sale.id, &change, "test", backends.clock.now()).await;
        assert!(backends.redis.lower_total(pending.unwrap().sale()).await.is_err());
    }

    #[track_caller]
    fn assert_granted(decision: Decision) {
        assert!(matches!(decision, Decision::Granted(_)), "{decision:?}");
    }

    /// Both kinds of grant count as equal here.
    fn without_status(decision: Decision) -> Decision {
        match decision {
            Decision::Granted(_) => Decision::Granted(domain::OrderStatus::Reserved),
            other => other,
        }
    }

    fn claim(user: u128, quantity: u32) -> Claim {
        Claim { user_id: UserId(Uuid::from_u128(user)), order_id: OrderId(Uuid::now_v7()), quantity }
    }

    /// Claims of few users, so that many are replays, even within one batch; or only of new users, as at an opening.
    fn batch(random: &mut StdRng) -> Vec<Claim> {
        let size = random.random_range(1..=12);
        let users = if random.random() { 1..=8 } else { 9..=u128::MAX };
        (0..size).map(|_| claim(random.random_range(users.clone()), random.random_range(1..=4))).collect()
    }

    fn change(random: &mut StdRng) -> SaleChange {
        match random.random_range(0..8) {
            0..=2 => SaleChange::TopUp { units: random.random_range(1..4), request: None },
            3 | 4 => SaleChange::Move(SaleMove::Pause),
            7 => SaleChange::Move(SaleMove::Stop),
            _ => SaleChange::Move(SaleMove::Resume),
        }
    }

    #[tokio::test]
    async fn script_and_database_decide_alike() {
        let mut random = StdRng::seed_from_u64(seed());
        let backends = StockPair::new().await;
        let mut seen: HashMap<&str, u32> = HashMap::new();
        for _ in 0..SALES {
            let (total, limit) = (random.random_range(1..60), random.random_range(1..5));
            let sale = backends.sale(total, limit, ALWAYS).await;
            let mut live: Vec<OrderId> = Vec::new();
            for _ in 0..STEPS {
                match random.random_range(0..10) {
                    0 => backends.change(sale.id, change(&mut random)).await,
                    1 | 2 if !live.is_empty() => {
                        let order = live.swap_remove(random.random_range(0..live.len()));
                        backends.cancel(sale.id, order).await;
                    }
                    _ => {
                        let batch = batch(&mut random);
                        let decisions = backends.reserve(sale.id, &batch).await;
                        for (claim, decision) in batch.iter().zip(decisions) {
                            *seen.entry(name(decision)).or_default() += 1;
                            if matches!(decision, Decision::Granted(_)) {
                                live.push(claim.order_id);
                            }
                        }
                    }
                }
                backends.assert_backends_agree(sale.id).await;
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
            Decision::Refused(refusal) => refusal.as_str(),
            Decision::NotLoaded => "not_loaded",
        }
    }

    #[tokio::test]
    async fn both_backends_enforce_the_window() {
        let backends = StockPair::new().await;
        let now = backends.clock.now();
        let at = |offset: i64| Timestamp::from_second(now.as_second() + offset).unwrap();
        let window = |opens, closes| Window { opens_at: Some(at(opens)), closes_at: Some(at(closes)) };
        let early = backends.sale(5, 1, window(3_600, 7_200)).await;
        assert_eq!(backends.reserve(early.id, &[claim(1, 1)]).await, [Decision::Refused(Refusal::NotOpen)]);
        let over = backends.sale(5, 1, window(-7_200, -3_600)).await;
        assert_eq!(backends.reserve(over.id, &[claim(1, 1)]).await, [Decision::Refused(Refusal::Ended)]);
        let unknown = SaleId(4_242);
        assert_eq!(backends.reserve(unknown, &[claim(1, 1), claim(2, 1)]).await, [Decision::NotLoaded; 2]);
    }

    #[tokio::test]
    async fn repeated_user_in_one_batch_holds_once() {
        let backends = StockPair::new().await;
        let sale = backends.sale(3, 2, ALWAYS).await;
        let batch = [claim(1, 2), claim(1, 1), claim(2, 2), claim(2, 1), claim(3, 3), claim(1, 9), claim(4, 1)];
        let decisions = backends.reserve(sale.id, &batch).await;
        let hold = |n: usize| Hold { order_id: batch[n].order_id, quantity: batch[n].quantity };
        let granted = without_status(Decision::Granted(domain::OrderStatus::Unpaid));
        let expected = [
            granted,
            Decision::Repeated(hold(0)),
            SOLD_OUT,
            granted,
            Decision::Refused(Refusal::OverLimit),
            Decision::Repeated(hold(0)),
            SOLD_OUT,
        ];
        assert_eq!(decisions, expected);
    }

    #[tokio::test]
    async fn claims_on_many_sales_are_decided_separately_by_a_master_that_forgot_the_script() {
        let backends = StockPair::new().await;
        let (one, other) = (backends.sale(1, 1, ALWAYS).await, backends.sale(5, 1, ALWAYS).await);
        let unknown = SaleId(999_999_999);
        let ask = async |users: &[u128]| {
            let claims = || users.iter().map(|user| claim(*user, 1)).collect();
            let batch = |sale| Batch { bucket: Bucket::whole(sale), claims: claims() };
            let batches = [batch(one.id), batch(unknown), batch(other.id)];
            let answers = backends.redis.reserve(&batches).await.into_iter();
            answers.map(|answer| answer.unwrap()).collect::<Vec<_>>()
        };
        let granted = Decision::Granted(domain::OrderStatus::Reserved);
        let not_loaded = Decision::NotLoaded;
        for users in [[1, 2], [3, 4]] {
            let _: () = redis::cmd("SCRIPT").arg("FLUSH").query_async(&mut backends.redis.connection()).await.unwrap();
            let first = if users[0] == 1 { granted } else { SOLD_OUT };
            let expected = [[first, SOLD_OUT], [not_loaded; 2], [granted; 2]];
            assert_eq!(ask(&users).await, expected);
        }
    }

    #[tokio::test]
    async fn units_are_released_once_and_only_by_their_holder() {
        let backends = StockPair::new().await;
        let sale = backends.sale(5, 5, ALWAYS).await;
        let (first, second) = (claim(1, 3), claim(1, 2));
        backends.in_redis(sale.id, first).await;
        let release = |claim: &Claim| HeldUnits {
            order_id: claim.order_id,
            sale_id: sale.id,
            user_id: claim.user_id,
            quantity: claim.quantity,
        };
        for _ in 0..3 {
            backends.redis.release(&[release(&first), release(&first)]).await.unwrap();
            assert_eq!(backends.booked(sale.id).await, 0);
        }
        // The user has a new order, so the old one has nothing to release.
        backends.in_redis(sale.id, second).await;
        backends.redis.release(&[release(&first)]).await.unwrap();
        assert_eq!(backends.booked(sale.id).await, 2);
        backends.redis.release(&[release(&second)]).await.unwrap();
        assert_eq!(backends.booked(sale.id).await, 0);
        drop(backends.fixture);
    }

    /// Waiting accounts get units that come back by a release, a load or a definition.
    #[tokio::test]
    async fn units_that_are_waited_for_are_granted_to_those_who_wait() {
        let backends = StockPair::new().await;
        let sale = backends.sale(2, 1, ALWAYS).await;
        let (buyers, waiter) = ([claim(1, 1), claim(2, 1)], claim(3, 1));
        backends.reserve(sale.id, &buyers).await;
        let joined = backends.store.waitlists().join(sale.id, waiter.user_id, 1).await.unwrap();
        assert!(matches!(joined, WaitOutcome::Joined(_)), "{joined:?}");
        backends.cancel(sale.id, buyers[0].order_id).await;
        assert_eq!(backends.reserve(sale.id, &[claim(4, 1), claim(5, 1)]).await, [SOLD_OUT; 2]);
        let facts = backends.facts();
        let bucket = Bucket::whole(sale.id);
        assert_eq!(facts.facts(&[bucket]).await.unwrap()[0].1.waited_units, 1);

        // Redis loses everything, and the sale is loaded again.
        backends.redis.unload(bucket).await.unwrap();
        backends.stock_sync().step().await.unwrap();
        assert_eq!(backends.redis.free_units(&sale).await.unwrap().units, 1);
        assert_eq!(backends.reserve(sale.id, &[claim(4, 1)]).await, [SOLD_OUT]);

        for _ in 0..2 {
            for offered in
                [backends.redis.offer(&sale, &[waiter]).await, backends.database.offer(&sale, &[waiter]).await]
            {
                let decision = offered.unwrap()[0];
                let of_waiter = matches!(decision, Decision::Repeated(hold) if hold.order_id == waiter.order_id);
                assert!(of_waiter || matches!(decision, Decision::Granted(_)), "{decision:?}");
            }
        }
        backends.change(sale.id, SaleChange::TopUp { units: 1, request: None }).await;
        assert_eq!(backends.reserve(sale.id, &[claim(4, 1)]).await, [SOLD_OUT], "added units are waited for");
        backends.change(sale.id, SaleChange::TopUp { units: 1, request: None }).await;
        let decided = backends.reserve(sale.id, &[claim(6, 1), claim(7, 1)]).await;
        assert!(matches!(decided[..], [Decision::Granted(_), SOLD_OUT]), "as many are kept as are waited for");

        // The last waiting account leaves.
        assert!(backends.store.waitlists().leave(sale.id, waiter.user_id).await.unwrap());
        backends.redis.follow_waitlist(&sale).await.unwrap();
        let stranger = claim(4, 1);
        assert!(matches!(backends.reserve(sale.id, &[stranger]).await[..], [Decision::Granted(_)]));
    }

    /// The order of a called shopper is still on its way to the database long after the turn.
    #[tokio::test]
    async fn turn_is_not_missed_and_its_place_stays_while_the_account_holds_units() {
        let backends = StockPair::at(Clock::manual(Clock::system().now())).await;
        let (store, clock) = (&backends.store, &backends.clock);
        let plan = WaitingRoomPlan { prequeue_s: 0, gather_s: 0, seat_s: 10 };
        let sale = backends.sale_of(SaleMode::WaitingRoom(plan), 2, 1, ALWAYS).await;
        let secret = ShopSecret::from(SecretString::from("s".repeat(64)));
        let eligibility = Arc::new(Eligibility::new(store.clone(), backends.catalogue.clone(), 100, &secret));
        let stock = Arc::new(backends.redis.clone());
        let (catalogue, metrics) = (backends.catalogue.clone(), Arc::<Metrics>::default());
        let rooms =
            WaitingRooms::new(store.clone(), catalogue, eligibility, (stock, None), 100, &secret, metrics.clone());
        let (buyer, idler) = (claim(1, 1), claim(2, 1));
        for shopper in [buyer, idler] {
            assert!(rooms.join(sale.id, shopper.user_id, None).await.unwrap().is_new);
        }
        clock.advance(Duration::from_secs(1));
        WaitingRoomSteps::new(store.clone(), None, metrics).step().await.unwrap();
        let own = async |of: Claim| rooms.own(&sale, of.user_id, clock.now()).await.unwrap().unwrap();
        assert_eq!([own(buyer).await.state, own(idler).await.state], [TurnState::Called; 2]);
        assert_granted(backends.in_redis(sale.id, buyer).await);

        clock.advance(Duration::from_secs(3600));
        assert_eq!((own(buyer).await.state, own(buyer).await.order), (TurnState::Bought, Some(buyer.order_id)));
        let place = own(buyer).await.place;
        let again = rooms.join(sale.id, buyer.user_id, None).await.unwrap();
        assert_eq!((again.place, again.state, again.is_new), (place, TurnState::Bought, false));
        assert_eq!(own(idler).await.state, TurnState::Missed);
        assert!(rooms.join(sale.id, idler.user_id, None).await.unwrap().is_new, "a new place at the end");

        // A hold whose order has ended is about to be released.
        store.orders().persist_orders(&[buyer.reservation(sale.id)], HOUR).await.unwrap();
        store.orders().cancel(sale.id, &[buyer.order_id], "by_owner", LockPatience::Long).await.unwrap();
        assert_eq!(own(buyer).await.state, TurnState::Missed);
    }

    /// A hold may have other units than its order, or be no hold at all, and the count of units may be wrong.
    #[tokio::test]
    async fn wrong_units_and_counts_are_repaired_and_unreadable_holds_are_named() {
        let backends = StockPair::new().await;
        let sale = backends.sale(5, 5, ALWAYS).await;
        let (bucket, claims) = (Bucket::whole(sale.id), [claim(1, 2), claim(2, 1)]);
        backends.reserve(sale.id, &claims).await;
        let mut connection = backends.redis.connection();
        let hold: String = connection.hget(keys::holders(bucket), ShortId::of(claims[0].user_id.0)).await.unwrap();
        let one = hold.replace(":2", ":1");
        let _: () = connection.hset(keys::holders(bucket), ShortId::of(claims[0].user_id.0), one).await.unwrap();
        let _: () = connection.hset(keys::hash(bucket), "Booked", 4).await.unwrap();
        let stock_sync = backends.stock_sync();
        // Data control compares single holds once the counts differ twice in a row.
        for _ in 0..4 {
            stock_sync.reconcile().await.unwrap();
        }
        let repaired: String = connection.hget(keys::holders(bucket), ShortId::of(claims[0].user_id.0)).await.unwrap();
        assert_eq!((repaired, backends.booked(sale.id).await), (hold, 3));

        let _: () = connection.hset(keys::holders(bucket), "x", "y\n").await.unwrap();
        let audit = Audit {
            store: backends.store.clone(),
            stock_sync: Some(Arc::new(stock_sync)),
            packet_sync: None,
            monitor: None,
            clock: backends.clock.clone(),
            recent: None,
            rows_read: Arc::default(),
        };
        let violations: Vec<String> =
            audit.check_once().await.unwrap().into_iter().flat_map(|check| check.violations).collect();
        assert_eq!(violations, [format!("sale {bucket}: not a hold: x: y\\n")]);
    }

    /// The database answers that no account waits. Before the answer arrives, an account may have joined and a unit
    /// come back.
    #[tokio::test]
    async fn mark_of_a_bucket_outlives_an_answer_that_is_older() {
        let backends = StockPair::new().await;
        let sale = backends.sale(1, 1, ALWAYS).await;
        let script = redis::Script::new(include_str!("../../src/engine/stock/lua/waited.lua"));
        let key = keys::hash(Bucket::whole(sale.id));
        let note = async |units: i64, read: &str| -> i64 {
            script.key(&key).arg(units).arg(read).invoke_async(&mut backends.redis.connection()).await.unwrap()
        };
        assert_eq!(note(1, "").await, 1);
        assert_eq!(note(1, "").await, 1);
        assert_eq!(note(0, "1:1").await, 0, "read before the second mark");
        assert_eq!(backends.in_redis(sale.id, claim(1, 1)).await, SOLD_OUT);
        assert_eq!(note(0, "1:2").await, 1);
        assert_granted(backends.in_redis(sale.id, claim(1, 1)).await);
        let unknown = keys::hash(Bucket::whole(SaleId(999_999_999)));
        let noted: i64 =
            script.key(&unknown).arg(1).arg("").invoke_async(&mut backends.redis.connection()).await.unwrap();
        assert_eq!(noted, 0, "a sale that is not loaded gets no mark");
    }

    /// Cached lists of winners are valid as long as this counter is unchanged.
    #[tokio::test]
    async fn grant_counter_rises_with_every_new_hold() {
        let backends = StockPair::new().await;
        let sale = backends.sale(5, 5, ALWAYS).await;
        let bucket = Bucket::whole(sale.id);
        let facts = backends.facts();
        let granted = async || facts.facts(&[bucket]).await.unwrap()[0].1.granted;
        let fresh = granted().await;
        backends.in_redis(sale.id, claim(1, 1)).await;
        let bought = granted().await;
        let Claim { user_id, order_id, quantity } = claim(2, 1);
        let hold = HeldUnits { order_id, sale_id: sale.id, user_id, quantity };
        assert_eq!(backends.redis.repair(bucket, 1, &[HoldRepair::AddHold(hold)]).await.unwrap(), 1);
        let repaired = granted().await;
        assert_eq!((bought - fresh, repaired - bought), (1, 1));
        backends.redis.unload(bucket).await.unwrap();
        let options = LoadOptions { epoch: 2, booked: 2, ..LoadOptions::default() };
        assert!(backends.redis.load(&sale, bucket, options).await.unwrap());
        assert!(granted().await > repaired);
        backends.in_redis(sale.id, claim(3, 1)).await;
        assert!(granted().await > repaired + 1);
    }

    /// With a backlog in the outbox the counts differ legitimately.
    #[tokio::test]
    async fn holds_are_not_compared_again_while_their_orders_are_in_the_outbox() {
        let backends = StockPair::new().await;
        let sale = backends.sale(5, 5, ALWAYS).await;
        let (redis, clock) = (backends.redis.clone(), backends.clock.clone());
        let stock_sync =
            StockSync::new(redis, backends.store.clone(), backends.catalogue.clone(), None, clock, Arc::default());
        let outbox = async |word: &str| -> i64 {
            let mut command = redis::cmd(word);
            command.arg(format!("goods{{{}}}:outbox", sale.id));
            command.query_async(&mut backends.redis.connection()).await.unwrap()
        };
        let long_ago = Uuid::new_v7(uuid::Timestamp::from_unix(uuid::NoContext, 1_000, 0));
        let old = Claim { order_id: OrderId(long_ago), ..claim(1, 1) };
        backends.in_redis(sale.id, old).await;
        for _ in 0..2 {
            stock_sync.reconcile().await.unwrap();
        }
        // The holds have been compared. A loss that the counts do not show is found at the next comparison.
        assert_eq!(outbox("DEL").await, 1);
        stock_sync.reconcile().await.unwrap();
        assert_eq!(outbox("XLEN").await, 0);
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(60)).await;
        tokio::time::resume();
        stock_sync.reconcile().await.unwrap();
        assert_eq!(outbox("XLEN").await, 1);
    }

    impl StockPair {
        fn stock_sync(&self) -> StockSync {
            let (redis, clock) = (self.redis.clone(), self.clock.clone());
            StockSync::new(redis, self.store.clone(), self.catalogue.clone(), None, clock, self.metrics.clone())
        }
    }

    /// One hold too few and one too many leave the count of units correct. So does a master that forgets its last
    /// moment, in which an order was cancelled and another one granted.
    #[tokio::test]
    async fn opposite_errors_are_repaired_although_the_counts_agree() {
        let backends = StockPair::new().await;
        let sale = backends.sale(5, 1, ALWAYS).await;
        let bucket = Bucket::whole(sale.id);
        let swap = async |cancelled: &Claim, forgotten: &Claim| {
            let orders = [cancelled.order_id];
            backends.store.orders().cancel(sale.id, &orders, "by_owner", LockPatience::Long).await.unwrap();
            backends.store.orders().delete_releases(&orders).await.unwrap();
            let mut lose = redis::pipe();
            lose.del(keys::outbox(bucket));
            lose.hdel(keys::holders(bucket), ShortId::of(forgotten.user_id.0));
            lose.hincr(keys::hash(bucket), "Booked", -1);
            lose.exec_async(&mut backends.redis.connection()).await.unwrap();
        };
        let order_held =
            async |user: UserId| backends.redis.hold(sale.id, user).await.unwrap().map(|hold| hold.order_id);
        let claims = [1, 2, 3, 4].map(|user| claim(user, 1));
        backends.reserve(sale.id, &claims).await;
        let stock_sync = backends.stock_sync();
        swap(&claims[0], &claims[1]).await;
        // A process trusts counts that agree only once it has compared the holds itself.
        for _ in 0..2 {
            stock_sync.reconcile().await.unwrap();
        }
        assert_eq!(order_held(claims[1].user_id).await, Some(claims[1].order_id));
        assert_eq!(order_held(claims[0].user_id).await, None, "the hold of an order that has ended is released");
        for _ in 0..3 {
            stock_sync.reconcile().await.unwrap();
        }

        swap(&claims[2], &claims[3]).await;
        stock_sync.reconcile().await.unwrap();
        assert_eq!(order_held(claims[3].user_id).await, None, "counts that agree are believed for a while");
        tokio::time::pause();
        tokio::time::advance(HOUR).await;
        tokio::time::resume();
        stock_sync.reconcile().await.unwrap();
        assert_eq!(order_held(claims[3].user_id).await, Some(claims[3].order_id));
    }

    /// PostgreSQL has lost a change in a failover.
    #[tokio::test]
    async fn sale_that_redis_has_a_newer_definition_of_stops_when_the_database_says_so() {
        let backends = StockPair::new().await;
        let sale = backends.sale(5, 5, ALWAYS).await;
        let ahead = Sale { version: sale.version + 3, ..sale.clone() };
        backends.redis.define_bucket(&ahead, Bucket::whole(sale.id)).await.unwrap();
        let pause = SaleChange::Move(SaleMove::Pause);
        let paused = backends.store.sales().change(sale.id, &pause, "test", backends.clock.now()).await.unwrap();
        assert!(paused.version < ahead.version);
        let stock_sync = backends.stock_sync();
        for _ in 0..2 {
            stock_sync.step().await.unwrap();
        }
        assert_eq!(backends.in_redis(sale.id, claim(1, 1)).await, Decision::Refused(Refusal::NotOpen));
    }

    #[tokio::test]
    async fn keys_that_a_retired_sale_left_behind_are_deleted() {
        let backends = StockPair::new().await;
        let sale = backends.sale(5, 5, ALWAYS).await;
        let now = backends.clock.now();
        backends.store.sales().change(sale.id, &SaleChange::Move(SaleMove::Stop), "test", now).await.unwrap();
        // The process that retired the sale died before it deleted the keys.
        backends.store.sales().retire(sale.id, now).await.unwrap();
        backends.stock_sync().step().await.unwrap();
        assert_eq!(backends.keys(sale.id).await, [""; 0]);
    }

    /// Its unpaid orders are the database's alone, because none of its units is sold again.
    #[tokio::test]
    async fn ended_sale_leaves_redis_once_all_its_orders_are_in_the_database() {
        let backends = StockPair::new().await;
        let sale = backends.sale(5, 1, ALWAYS).await;
        let bucket = Bucket::whole(sale.id);
        let claims = [1, 2].map(|user| claim(user, 1));
        backends.reserve(sale.id, &claims).await;
        let an_hour_ago = backends.clock.now() - HOUR;
        backends.store.sales().change(sale.id, &SaleChange::Move(SaleMove::Stop), "test", an_hour_ago).await.unwrap();
        let mut connection = backends.redis.connection();
        let mut remains = async |command: &mut redis::Cmd| {
            backends.stock_sync().step().await.unwrap();
            let keys = backends.keys(sale.id).await.len();
            assert!(backends.metrics.encode().contains("seckill_ended_units 2\n"));
            command.exec_async(&mut connection).await.unwrap();
            keys > 0
        };
        assert!(remains(redis::cmd("DEL").arg(keys::outbox(bucket))).await, "an order is in the outbox");
        backends.store.processes().report("other").await.unwrap();
        backends.forget_server(sale.id).await;
        assert!(remains(&mut redis::cmd("PING")).await, "the other process may know of an order that Redis has lost");
        backends.store.processes().remove("other", HOUR).await.unwrap();
        remains(&mut redis::cmd("PING")).await;
        assert!(!remains(&mut redis::cmd("PING")).await);
        backends.stock_sync().step().await.unwrap();
        assert!(backends.metrics.encode().contains("seckill_ended_units 0\n"));

        backends.store.orders().cancel(sale.id, &[claims[0].order_id], "unpaid", LockPatience::Long).await.unwrap();
        backends.store.orders().delete_releases_of_retired_sales().await.unwrap();
        assert_eq!(backends.store.orders().pending_releases(10).await.unwrap(), []);
        assert_eq!(backends.store.sales().get(sale.id).await.unwrap().unwrap().sold, 1);
    }

    #[tokio::test]
    async fn ended_sale_stays_in_redis_for_a_minute() {
        let backends = StockPair::at(Clock::manual(Clock::system().now())).await;
        let sale = backends.sale(5, 1, ALWAYS).await;
        let stop = SaleChange::Move(SaleMove::Stop);
        backends.store.sales().change(sale.id, &stop, "test", backends.clock.now()).await.unwrap();
        let remains = async || {
            for _ in 0..2 {
                backends.stock_sync().step().await.unwrap();
            }
            !backends.keys(sale.id).await.is_empty()
        };
        backends.clock.advance(Duration::from_secs(59));
        assert!(remains().await);
        backends.clock.advance(Duration::from_secs(2));
        assert!(!remains().await);
    }

    /// A master with another history grants nothing until it is opened. The holds of its users stay known.
    #[tokio::test]
    async fn master_that_may_have_lost_grants_sells_nothing() {
        let backends = StockPair::new().await;
        let sale = backends.sale(5, 1, ALWAYS).await;
        let first = claim(1, 1);
        assert_granted(backends.in_redis(sale.id, first).await);
        backends.forget_server(sale.id).await;
        assert_eq!(backends.in_redis(sale.id, claim(2, 1)).await, Decision::NotLoaded);
        assert_eq!(backends.redis.hold(sale.id, first.user_id).await.unwrap().unwrap().order_id, first.order_id);
        assert!(backends.redis.hold(sale.id, claim(2, 1).user_id).await.is_err(), "unknown until the replay");
        // A process that reports but has not replayed its grants keeps the master closed.
        backends.store.processes().report("other").await.unwrap();
        let stock_sync = backends.stock_sync();
        stock_sync.step().await.unwrap();
        assert_eq!(backends.in_redis(sale.id, claim(2, 1)).await, Decision::NotLoaded);
        backends.store.processes().remove("other", HOUR).await.unwrap();
        stock_sync.step().await.unwrap();
        assert_granted(backends.in_redis(sale.id, claim(2, 1)).await);
    }
}
