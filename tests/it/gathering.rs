//! Places that Redis gives while the list of a waiting room is open.

mod stack {
    use std::collections::HashMap;
    use std::time::Duration;

    use base::clock::Clock;
    use base::config::{ServiceAddress, sqlite_in};
    use base::metrics::Metrics;
    use control::waiting_rooms::WaitingRoomSteps;
    use domain::draw::EntryId;
    use domain::sale::SaleMove;
    use domain::{Bilingual, Currency, Money, SaleId, SaleMode, UserId, WaitingRoomPlan, Window};
    use engine::batching::{Batch, BatchHandler};
    use engine::redis::replay::Replay;
    use engine::redis::{connection, keys};
    use engine::waiting_rooms::places::{Gathered, Gathering, HANDED_OVER_AFTER, JoinDecision, Joins, OpenList};
    use redis::AsyncCommands;
    use redis::aio::MultiplexedConnection;
    use store::{GatheredPlace, GoodsDraft, JoinOutcome, Joining, SaleChange, SaleDraft, Store};
    use uuid::Uuid;

    use crate::support::{Fixture, Rung, joining as request, redis_at};

    const HOUR: Duration = Duration::from_secs(3600);

    /// Data control opens the list a second before it takes in shoppers, or earlier.
    const JOINING_IN: Duration = Duration::from_secs(2);

    /// The list of a sale that opens in an hour.
    struct List {
        gathering: Gathering,
        queues: WaitingRoomSteps,
        store: Store,
        sale: SaleId,
        redis: MultiplexedConnection,
        clock: Clock,
        _fixture: Fixture,
    }

    fn users<const N: usize>() -> [UserId; N] {
        std::array::from_fn(|_| UserId(Uuid::now_v7()))
    }

    impl List {
        /// A list that takes in shoppers.
        async fn open() -> List {
            let list = List::announced().await;
            list.step().await;
            assert_eq!(list.ask(&[request(users::<1>()[0])]).await, Some(vec![Some(Gathered::Early)]));
            tokio::time::sleep(JOINING_IN).await;
            list
        }

        async fn announced() -> List {
            let fixture = Fixture::new(Rung::Redis).await;
            let address = fixture.settings["SECKILL_REDIS_URL"].as_str();
            let redis = redis_at(address).await;
            let master = connection::shared(&ServiceAddress::from(address)).unwrap();
            let store = Store::open(&sqlite_in(fixture.dir())).unwrap();
            store.migrate().await.unwrap();
            let clock = Clock::system();
            let text = Bilingual::new("手机", "Phone");
            let draft = GoodsDraft { name: Some(text.clone()), description: Some(text), ..GoodsDraft::default() };
            let goods = store.goods().put(None, draft, "test", clock.now()).await.unwrap().unwrap().id;
            let prequeue_s = (HOUR - JOINING_IN).as_secs() as i64;
            let draft = SaleDraft {
                goods_id: goods,
                price: Money::new(100, Currency::CNY),
                total: 1,
                per_user_limit: 1,
                window: Window { opens_at: Some(clock.now() + HOUR), closes_at: None },
                mode: SaleMode::WaitingRoom(WaitingRoomPlan { prequeue_s, gather_s: 0, seat_s: 60 }),
                ..SaleDraft::blank()
            };
            let sale = store.sales().create(&draft, "test", clock.now()).await.unwrap().id;
            let gathering = Gathering::new(master, store.clone());
            let queues = WaitingRoomSteps::new(store.clone(), Some(gathering.clone()), Default::default());
            List { gathering, queues, store, sale, redis, clock, _fixture: fixture }
        }

        async fn change(&self, change: SaleChange) {
            self.store.sales().change(self.sale, &change, "test", self.clock.now()).await.unwrap();
        }

        async fn step(&self) {
            self.queues.step().await.unwrap();
        }

        fn batch(&self, requests: &[Joining]) -> Batch<Joining> {
            Batch { bucket: Gathering::bucket(self.sale), claims: requests.to_vec() }
        }

        /// Asks Redis for places; `None` if it has no list.
        async fn ask(&self, requests: &[Joining]) -> Option<Vec<Option<Gathered>>> {
            self.gathering.take(&[self.batch(requests)]).await.remove(0).ok()
        }

        /// Decides as a process does that has read the sale.
        async fn decide(&self, requests: &[Joining]) -> Vec<JoinDecision> {
            let joins = Joins { store: self.store.clone(), gathering: Some(self.gathering.clone()) };
            joins.decide(&[self.batch(requests)]).await.remove(0).unwrap()
        }

        /// Takes a place for each account, or reads the one that it has.
        async fn take_for(&self, users: &[UserId]) -> Vec<GatheredPlace> {
            let requests: Vec<Joining> = users.iter().copied().map(request).collect();
            let answers = self.ask(&requests).await.expect("the list is open");
            let place = |answer| match answer {
                Some(Gathered::New(place) | Gathered::Known(place)) => place,
                Some(Gathered::Early) | None => panic!("the list is not open"),
            };
            answers.into_iter().map(place).collect()
        }

        /// The rows of these accounts' places.
        async fn rows(&self, users: &[UserId]) -> HashMap<UserId, GatheredPlace> {
            let mut rows = HashMap::new();
            for &user_id in users {
                if let Some(row) = self.store.waiting_rooms().place(self.sale, user_id).await.unwrap() {
                    assert_eq!(row.place.segment, 0);
                    rows.insert(user_id, GatheredPlace { user_id, entry: row.entry, joined_at: row.joined_at });
                }
            }
            rows
        }

        async fn assert_rows_are(&self, given: &[GatheredPlace]) {
            let users: Vec<UserId> = given.iter().map(|place| place.user_id).collect();
            let expected: HashMap<UserId, GatheredPlace> = given.iter().map(|place| (place.user_id, *place)).collect();
            assert_eq!(self.rows(&users).await, expected);
        }

        async fn joined(&self) -> i64 {
            self.store.waiting_rooms().get(self.sale).await.unwrap().unwrap().joined
        }

        /// The list's keys in Redis.
        async fn keys(&self) -> Vec<String> {
            self.redis.clone().keys(format!("queue{{{}}}*", self.sale)).await.unwrap()
        }

        /// Redis loses the list.
        async fn lose_keys(&mut self) {
            let keys = self.keys().await;
            let () = self.redis.del(keys).await.unwrap();
        }

        async fn replay(&self) {
            Replay::new(&self.gathering, "test").check(&Metrics::default()).await.unwrap();
        }
    }

    /// Fails unless the database knows the account with this entry.
    #[track_caller]
    fn assert_knows(decisions: &[JoinDecision], entry: EntryId) {
        assert!(
            matches!(decisions, [JoinDecision::Database(JoinOutcome::Joined { place, is_new: false, .. })]
                if place.entry == entry),
            "{decisions:?}"
        );
    }

    #[tokio::test]
    async fn account_has_one_place_which_becomes_a_row() {
        let list = List::open().await;
        let [one, two] = users();
        let requests = [request(one), request(two), request(one)];
        let answers = list.ask(&requests).await.unwrap();
        let [Some(Gathered::New(first)), Some(Gathered::New(second)), Some(Gathered::Known(again))] = answers[..]
        else {
            panic!("{answers:?}")
        };
        assert_eq!(first, again);
        assert_eq!([first.entry, second.entry], [requests[0].entry, requests[1].entry]);
        assert_eq!(list.rows(&[one, two]).await, HashMap::new());
        let given = [first, second];
        for _ in 0..2 {
            assert_eq!(list.take_for(&[two, one]).await, [given[1], given[0]], "another device gets the same place");
            list.step().await;
            list.assert_rows_are(&given).await;
        }
        assert_eq!(list.joined().await, 2);
    }

    #[tokio::test]
    async fn entry_of_a_pass_is_kept() {
        let list = List::open().await;
        let [user] = users();
        let lost = EntryId::new(rand::random());
        let answers = list.ask(&[Joining { signed: Some((lost, 0)), ..request(user) }]).await.unwrap();
        assert!(matches!(answers[..], [Some(Gathered::New(place))] if place.entry == lost), "{answers:?}");
    }

    #[tokio::test]
    async fn account_keeps_its_place_when_the_opening_is_postponed() {
        let list = List::open().await;
        let [one, two] = users();
        let given = list.take_for(&[one]).await;
        let from = list.clock.now() + HOUR;
        let later = OpenList { from, until: from + HOUR, epoch: None };
        assert!(list.gathering.open(list.sale, later).await.unwrap());
        let answers = list.ask(&[request(one), request(two)]).await.unwrap();
        assert_eq!(answers, [Some(Gathered::Known(given[0])), Some(Gathered::Early)]);
    }

    #[tokio::test]
    async fn batch_that_cannot_be_parsed_is_set_aside_and_keeps_no_list_open() {
        let mut list = List::open().await;
        let bucket = Gathering::bucket(list.sale);
        let before = list.take_for(&users::<1>()).await;
        let () =
            list.redis.xadd(keys::outbox(bucket), "*", &[("places", "neither an account nor a place")]).await.unwrap();
        let after = list.take_for(&users::<1>()).await;
        list.change(SaleChange::Start { at: list.clock.now() }).await;
        list.step().await;
        assert!(list.store.waiting_rooms().get(list.sale).await.unwrap().unwrap().root.is_some(), "the list is locked");
        list.assert_rows_are(&[before[0], after[0]]).await;
        let dead: usize = list.redis.xlen(keys::dead(bucket)).await.unwrap();
        assert_eq!((dead, list.keys().await), (1, vec![keys::dead(bucket)]));
    }

    #[tokio::test]
    async fn list_of_a_server_that_may_have_lost_places_is_written_and_stays_closed() {
        let mut list = List::open().await;
        let [one, two] = users();
        let given = list.take_for(&[one]).await;
        let hash = keys::hash(Gathering::bucket(list.sale));
        let () = list.redis.hset(hash, "Server", "0".repeat(40)).await.unwrap();
        assert_eq!(list.ask(&[request(two)]).await, None);
        for _ in 0..2 {
            list.step().await;
            list.assert_rows_are(&given).await;
            assert_eq!(list.keys().await, Vec::<String>::new());
        }
        assert_eq!(list.ask(&[request(two)]).await, None, "Redis does not know the account with the row");
    }

    #[tokio::test]
    async fn closed_list_tells_each_account_the_place_that_it_has() {
        let list = List::open().await;
        let [one, two] = users();
        let given = list.take_for(&[one]).await;
        assert!(!list.gathering.close(list.sale).await.unwrap().is_written);
        let decisions = list.decide(&[request(two), request(one)]).await;
        let [JoinDecision::Database(JoinOutcome::Joined { place, is_new: true, .. }), known] = decisions[..] else {
            panic!("{decisions:?}")
        };
        assert_eq!(known, JoinDecision::Redis(Gathered::Known(given[0])));
        list.step().await;
        list.assert_rows_are(&[
            given[0],
            GatheredPlace { user_id: two, entry: place.entry, joined_at: place.joined_at },
        ])
        .await;
    }

    #[tokio::test]
    async fn no_second_entry_is_told_while_processes_write_what_redis_lost() {
        let mut list = List::open().await;
        let [one, two] = users();
        let given = list.take_for(&[one, two]).await;
        list.lose_keys().await;
        let unknown = JoinDecision::Database(JoinOutcome::Unknown);
        assert_eq!(list.decide(&[request(one), request(users::<1>()[0])]).await, [unknown, unknown]);
        let with_pass = Joining { signed: Some((given[1].entry, 0)), ..request(two) };
        for request in [with_pass, request(two)] {
            let decisions = list.decide(&[request]).await;
            let [JoinDecision::Database(JoinOutcome::Joined { place, .. })] = decisions[..] else {
                panic!("{decisions:?}")
            };
            assert_eq!(place.entry, given[1].entry);
        }
        list.replay().await;
        let decisions = list.decide(&[request(one)]).await;
        assert_knows(&decisions, given[0].entry);
    }

    #[tokio::test]
    async fn place_that_redis_has_forgotten_is_written_by_the_process_that_told_it() {
        let mut list = List::open().await;
        let given = list.take_for(&users::<3>()).await;
        list.lose_keys().await;
        list.replay().await;
        list.assert_rows_are(&given).await;
        list.step().await;
        assert_eq!(list.ask(&[request(users::<1>()[0])]).await, None);
    }

    #[tokio::test]
    async fn list_that_redis_has_forgotten_is_locked_once_the_processes_have_written_it() {
        let mut list = List::open().await;
        let given = list.take_for(&users::<3>()).await;
        list.step().await;
        let unwritten = list.take_for(&users::<5>()).await;
        list.lose_keys().await;
        list.change(SaleChange::Start { at: list.clock.now() }).await;
        // Another process takes over data control.
        let other = WaitingRoomSteps::new(list.store.clone(), Some(list.gathering.clone()), Default::default());
        for control in [&list.queues, &other] {
            control.step().await.unwrap();
            assert_eq!(list.store.waiting_rooms().get(list.sale).await.unwrap().unwrap().locked_at, None);
        }
        list.replay().await;
        list.assert_rows_are(&[&given[..], &unwritten].concat()).await;
        tokio::time::sleep(HANDED_OVER_AFTER).await;
        other.step().await.unwrap();
        let decisions = list.decide(&[request(users::<1>()[0])]).await;
        assert!(
            matches!(decisions[..], [JoinDecision::Database(JoinOutcome::Joined { is_new: true, .. })]),
            "{decisions:?}"
        );
        let queue = list.store.waiting_rooms().get(list.sale).await.unwrap().unwrap();
        let segments = list.store.waiting_rooms().waiting_segments(list.sale).await.unwrap();
        assert!(queue.root.is_some() && !queue.gathers);
        // One of the shoppers was called.
        assert_eq!(segments.iter().map(|segment| segment.places).collect::<Vec<_>>(), [8]);
    }

    #[tokio::test]
    async fn list_that_was_not_open_when_shoppers_could_join_is_left_to_the_database() {
        let list = List::announced().await;
        tokio::time::sleep(JOINING_IN).await;
        list.step().await;
        assert_eq!(list.ask(&[request(users::<1>()[0])]).await, None);
        list.change(SaleChange::Start { at: list.clock.now() }).await;
        list.step().await;
        assert!(
            list.store.waiting_rooms().get(list.sale).await.unwrap().unwrap().locked_at.is_some(),
            "nothing is waited for"
        );
    }

    #[tokio::test]
    async fn list_is_locked_with_every_place_that_was_given() {
        /// More places than a step writes while a list is open.
        const USERS: usize = 12_000;
        let list = List::open().await;
        let users: Vec<UserId> = (0..USERS).map(|_| UserId(Uuid::now_v7())).collect();
        let mut given = Vec::new();
        for some in users.chunks(100) {
            given.extend(list.take_for(some).await);
        }
        list.change(SaleChange::Start { at: list.clock.now() }).await;
        list.step().await;
        assert!(list.store.waiting_rooms().get(list.sale).await.unwrap().unwrap().root.is_some(), "the list is locked");
        list.assert_rows_are(&given).await;
        assert_eq!((list.joined().await, list.keys().await), (USERS as i64, Vec::new()));
        assert_eq!(list.ask(&[request(users[0])]).await, None);
        let decisions = list.decide(&[request(users[0])]).await;
        assert_knows(&decisions, given[0].entry);
    }

    #[tokio::test]
    async fn redis_gives_no_places_of_a_sale_that_was_stopped_or_is_a_draft_again() {
        for to in [SaleMove::Stop, SaleMove::Unschedule] {
            let list = List::open().await;
            let given = list.take_for(&users::<1>()).await;
            list.change(SaleChange::Move(to)).await;
            list.step().await;
            assert_eq!(list.ask(&[request(users::<1>()[0])]).await, None, "{to}");
            list.assert_rows_are(&given).await;
        }
    }
}
