//! Waiting rooms that several processes fill at once, and the ranks of a draw.

mod stack {
    use std::collections::{HashMap, HashSet};
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    use domain::draw::EntryId;
    use domain::{SaleId, UserId, WaitingRoomPlace};
    use futures::future::join_all;
    use sqlx::Connection;
    use sqlx::postgres::PgConnection;
    use store::{JoinOutcome, Joining, Store};
    use uuid::Uuid;

    use crate::support::{Fixture, Rung, WAITS_FOR_A_LOCK, joining, sessions, until};

    const SALE: SaleId = SaleId(1);
    const PROCESSES: usize = 4;
    const BATCH: usize = 50;
    /// Shorter than PostgreSQL lets a session wait for a lock.
    const TIMEOUT: Duration = Duration::from_secs(4);

    /// A sale that is open and whose list is due to be locked.
    async fn prepare() -> (Fixture, Vec<Store>) {
        let fixture = Fixture::new(Rung::Postgres).await;
        let url = &fixture.settings["SECKILL_DATABASE_URL"];
        let stores: Vec<Store> = (0..PROCESSES).map(|_| Store::open(url).unwrap()).collect();
        stores[0].migrate().await.unwrap();
        let sql = format!(
            "INSERT INTO goods (id, name_zh, name_en, description_zh, description_en, updated_at_ms)
               VALUES (1, 'x', 'x', '', '', 1);
             INSERT INTO sales (id, goods_id, price, currency, total, sold, per_user_limit, opens_at_ms, closes_at_ms, state,
               version, created_at_ms, mode, queue_prequeue_s, queue_gather_s, queue_seat_s)
               VALUES (1, 1, 100, 'CNY', 10, 0, 1, 1000, 4102444800000, 'live', 1, 1, 'queue', 60, 0, 600);
             INSERT INTO queues (sale_id, seed) VALUES (1, '{}')",
            "5a".repeat(32)
        );
        let mut database = PgConnection::connect(url).await.unwrap();
        sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(&mut database).await.unwrap();
        (fixture, stores)
    }

    async fn join(store: &Store, users: impl Iterator<Item = UserId>) -> HashMap<UserId, WaitingRoomPlace> {
        let requests: Vec<Joining> = users.map(joining).collect();
        let outcomes = store.waiting_rooms().join(SALE, &requests).await.unwrap();
        let place = |(request, outcome): (&Joining, JoinOutcome)| match outcome {
            JoinOutcome::Joined { place, .. } => (request.user_id, place),
            other => panic!("{other:?}"),
        };
        requests.iter().zip(outcomes).map(place).collect()
    }

    fn accounts() -> Vec<UserId> {
        (0..BATCH).map(|_| UserId(Uuid::new_v4())).collect()
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn account_that_joins_through_several_processes_at_once_has_one_place() {
        let (_fixture, stores) = prepare().await;
        for round in 1..=20 {
            let users = accounts();
            let told = join_all(stores.iter().enumerate().map(|(n, store)| {
                let mut users = users.clone();
                users.rotate_left(n * BATCH / PROCESSES);
                async move { join(store, users.into_iter()).await }
            }))
            .await;
            for user in &users {
                let kept = stores[0].waiting_rooms().place(SALE, *user).await.unwrap().unwrap();
                assert!(told.iter().all(|places| places[user].entry == kept.entry), "{user} was told of another place");
            }
            assert_eq!(stores[0].waiting_rooms().get(SALE).await.unwrap().unwrap().joined, round * BATCH as i64);
        }
    }

    /// A shopper whose place is being written while the list is locked is in that list.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn list_is_locked_after_the_joins_that_are_under_way() {
        let (fixture, stores) = prepare().await;
        let url = &fixture.settings["SECKILL_DATABASE_URL"];
        let (mut rival, mut watch) =
            (PgConnection::connect(url).await.unwrap(), PgConnection::connect(url).await.unwrap());
        let user = UserId(Uuid::new_v4());
        // The join waits until this row's transaction ends.
        let sql = format!(
            "BEGIN; INSERT INTO queue_places (sale_id, user_id, entry, segment, number, joined_at_ms)
               VALUES (1, '{user}', '{}', 0, 1, 1)",
            "00".repeat(16)
        );
        sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(&mut rival).await.unwrap();
        let mut waiting = async |expected: i64| {
            let found = async || sessions(&mut watch, WAITS_FOR_A_LOCK).await;
            until(&format!("{expected} sessions wait for a lock"), TIMEOUT, found, |found| *found == expected).await;
        };
        let (first, second) = (stores[0].clone(), stores[1].clone());
        let joining = tokio::spawn(async move { join(&first, [user].into_iter()).await[&user] });
        waiting(1).await;
        let locking = tokio::spawn(async move {
            assert!(second.waiting_rooms().lock(SALE).await.unwrap().is_some());
            second.waiting_rooms().segment_entries(SALE, 0).await.unwrap()
        });
        waiting(2).await;
        sqlx::raw_sql("ROLLBACK").execute(&mut rival).await.unwrap();
        let (own, list) = (joining.await.unwrap(), locking.await.unwrap());
        assert_eq!(own.place.segment, 0);
        assert_eq!(list.into_iter().map(|(_, entry)| entry).collect::<Vec<_>>(), [own.entry]);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn list_is_locked_while_a_crowd_joins_and_nobody_slips_in_later() {
        let (_fixture, stores) = prepare().await;
        let is_locked = AtomicBool::new(false);
        let crowd = join_all(stores.iter().map(async |store| {
            let mut told = Vec::new();
            let mut batches_after = 0;
            while batches_after < 3 {
                batches_after += usize::from(is_locked.load(Ordering::SeqCst));
                told.extend(join(store, accounts().into_iter()).await.into_values());
            }
            told
        }));
        let control = async {
            let has_crowd =
                async || stores[0].waiting_rooms().get(SALE).await.unwrap().unwrap().joined > 20 * BATCH as i64;
            while !has_crowd().await {
                tokio::task::yield_now().await;
            }
            assert!(stores[0].waiting_rooms().lock(SALE).await.unwrap().is_some());
            let entries = stores[0].waiting_rooms().segment_entries(SALE, 0).await.unwrap();
            is_locked.store(true, Ordering::SeqCst);
            entries
        };
        let (told, entries) = tokio::join!(crowd, control);
        let told: Vec<WaitingRoomPlace> = told.into_iter().flatten().collect();
        let of_list: HashSet<_> = told.iter().filter(|own| own.place.segment == 0).map(|own| own.entry).collect();
        let locked: HashSet<_> = entries.into_iter().map(|(_, entry)| entry).collect();
        assert_eq!(of_list, locked);
        assert!(locked.len() < told.len(), "latecomers are in later segments");
    }

    /// Writing all ranks reads each entry about once. PostgreSQL prefers to read the whole list of a sale for each
    /// part.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn ranks_of_a_draw_are_written_along_its_list() {
        const ENTRIES: i64 = 20_000;
        let (fixture, stores) = prepare().await;
        let mut database = PgConnection::connect(&fixture.settings["SECKILL_DATABASE_URL"]).await.unwrap();
        let fill = format!(
            "INSERT INTO draws (sale_id, state, secret, rules, lock_at_ms) VALUES (1, 'locked', '{}', '', 1);
             INSERT INTO draw_entries (sale_id, user_id, entry, entered_at_ms, state)
               SELECT 1, CAST(n AS TEXT), md5(CAST(n AS TEXT)), 1, 'in' FROM generate_series(1, {ENTRIES}) n",
            "5a".repeat(32)
        );
        sqlx::raw_sql(sqlx::AssertSqlSafe(fill)).execute(&mut database).await.unwrap();
        let sql = "SELECT entry FROM draw_entries ORDER BY user_id";
        let order: Vec<String> = sqlx::query_scalar(sql).fetch_all(&mut database).await.unwrap();
        let order: Vec<EntryId> = order.iter().map(|entry| entry.parse().unwrap()).collect();
        let read = "SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_user_tables WHERE relname = 'draw_entries'";
        database.close().await.unwrap();
        stores[0].draws().write_ranks(SALE, &order).await.unwrap();
        // A session that ends reports what it has read.
        join_all(stores.iter().map(Store::close)).await;

        let mut database = PgConnection::connect(&fixture.settings["SECKILL_DATABASE_URL"]).await.unwrap();
        let rows: i64 = sqlx::query_scalar(read).fetch_one(&mut database).await.unwrap();
        assert!((ENTRIES..3 * ENTRIES).contains(&rows), "{rows} rows were read for {ENTRIES} ranks");
        let sql = "SELECT entry FROM draw_entries ORDER BY rank";
        let ranked: Vec<String> = sqlx::query_scalar(sql).fetch_all(&mut database).await.unwrap();
        assert_eq!(ranked, order.iter().map(EntryId::to_string).collect::<Vec<_>>());
    }
}
