//! How orders come into the database: of many sales by several consumers at once, and on threads of their own.

mod stack {
    use std::time::Duration;

    use domain::{OrderId, Reservation, SaleId, UserId};
    use futures::future::join_all;
    use jiff::Timestamp;
    use rand::rngs::StdRng;
    use rand::seq::SliceRandom;
    use rand::{RngExt, SeedableRng};
    use sqlx::postgres::PgConnection;
    use sqlx::{AssertSqlSafe, Connection};
    use store::Store;
    use uuid::Uuid;

    use crate::plans::rows::DRAW_RULES;
    use crate::support::{Fixture, NewSale, Plan, Process, Rung, Shop, WAITS_FOR_A_LOCK, seed, sessions, until};

    const SALES: i64 = 300;
    const CONSUMERS: u64 = 4;
    const BATCHES: usize = 25;
    /// Reservations of one batch.
    const BATCH: usize = 400;
    const WINDOW: Duration = Duration::from_secs(1800);
    const TIMEOUT: Duration = Duration::from_secs(30);

    /// Creates sales with enough units. PostgreSQL looks for deadlocks before a wait for a lock is given up.
    async fn prepare(url: &str) {
        let mut database = PgConnection::connect(url).await.unwrap();
        let sql = format!(
            "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET deadlock_timeout = ''10ms''', current_database()); END $$;
             INSERT INTO goods (id, name_zh, name_en, description_zh, description_en, updated_at_ms)
               VALUES (1, 'x', 'x', '', '', 1);
             INSERT INTO sales (id, goods_id, price, currency, total, sold, per_user_limit, opens_at_ms, closes_at_ms,
               state, version, created_at_ms)
             SELECT i, 1, 100, 'CNY', 1000000, 0, 1, 0, 4102444800000, 'live', 1, 1 FROM generate_series(1, {SALES}) i"
        );
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut database).await.unwrap();
    }

    /// Persists a batch as often as a consumer does: until it is written. Panics at a deadlock.
    async fn persist(store: &Store, batch: &[Reservation]) {
        while let Err(error) = store.orders().persist_orders(batch, WINDOW).await {
            let text = format!("{error:?}");
            assert!(!text.contains("40P01") && !text.contains("deadlock"), "{text}");
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn consumers_write_orders_of_the_same_sales_in_any_order_without_a_deadlock() {
        let fixture = Fixture::new(Rung::Postgres).await;
        let url = &fixture.settings["SECKILL_DATABASE_URL"];
        Store::open(url).unwrap().migrate().await.unwrap();
        prepare(url).await;
        let seed = seed();
        join_all((0..CONSUMERS).map(async |consumer| {
            let store = Store::open(url).unwrap();
            let mut rng = StdRng::seed_from_u64(seed + consumer);
            for _ in 0..BATCHES {
                let mut sales: Vec<i64> = (1..=SALES).collect();
                sales.shuffle(&mut rng);
                sales.truncate(rng.random_range(2..=SALES as usize));
                let one = |n: usize| Reservation {
                    order_id: OrderId(Uuid::now_v7()),
                    sale_id: SaleId(sales[n % sales.len()]),
                    user_id: UserId(Uuid::now_v7()),
                    quantity: 1,
                    reserved_at: Timestamp::UNIX_EPOCH,
                };
                let batch: Vec<Reservation> = (0..BATCH).map(one).collect();
                persist(&store, &batch).await;
            }
        }))
        .await;
        let mut database = PgConnection::connect(url).await.unwrap();
        let sold: i64 =
            sqlx::query_scalar("SELECT CAST(SUM(sold) AS BIGINT) FROM sales").fetch_one(&mut database).await.unwrap();
        assert_eq!(sold, (CONSUMERS as usize * BATCHES * BATCH) as i64);
    }

    /// Runs a change while another session has locked what `first` locks. `free` checks that the change holds nothing that
    /// other changes lock after that, because one of them would be a deadlock.
    async fn waits_without_later_locks(
        url: &str,
        first: &str,
        change: impl Future<Output = ()>,
        free: impl AsyncFnOnce(&mut PgConnection),
    ) {
        let (mut other, mut watch) =
            (PgConnection::connect(url).await.unwrap(), PgConnection::connect(url).await.unwrap());
        sqlx::raw_sql(AssertSqlSafe(format!("BEGIN; {first}"))).execute(&mut other).await.unwrap();
        let holding = async {
            let waiting = async || sessions(&mut watch, WAITS_FOR_A_LOCK).await;
            until("the change waits", TIMEOUT, waiting, |sessions| *sessions > 0).await;
            free(&mut other).await;
            sqlx::raw_sql("COMMIT").execute(&mut other).await.unwrap();
        };
        tokio::join!(change, holding);
    }

    #[tokio::test]
    async fn changes_lock_sale_catalogue_and_list_in_this_order() {
        let fixture = Fixture::new(Rung::Postgres).await;
        let url = &fixture.settings["SECKILL_DATABASE_URL"];
        prepare(url).await;
        let (store, sale) = (Store::open(url).unwrap(), SaleId(1));
        let locked = "SELECT 1 FROM sales WHERE id = 1 FOR UPDATE";
        let touch = "UPDATE catalogue SET revision = revision + 1";
        let raise = async || store.sales().raise_version(sale, 1).await.unwrap();
        waits_without_later_locks(url, locked, raise(), async |other| {
            let touch = format!("SET LOCAL lock_timeout = '500ms'; {touch}");
            sqlx::raw_sql(AssertSqlSafe(touch)).execute(other).await.expect("the catalogue is free");
        })
        .await;

        let draw = format!(
            "INSERT INTO draws (sale_id, state, secret, rules, lock_at_ms) VALUES (1, 'drawn', '{}', '{DRAW_RULES}', 1)",
            "00".repeat(32)
        );
        let mut database = PgConnection::connect(url).await.unwrap();
        sqlx::raw_sql(AssertSqlSafe(draw)).execute(&mut database).await.unwrap();
        // A step gives up after a second, and is repeated.
        let settle = async || while !store.draws().offer_units(sale).await.is_ok_and(|step| step.is_settled) {};
        waits_without_later_locks(url, touch, settle(), async |other| {
            let lists = "SELECT COUNT(*) FROM pg_locks WHERE locktype = 'advisory'
                 AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
            assert_eq!(sqlx::query_scalar::<_, i64>(lists).fetch_one(other).await.unwrap(), 0, "the list is free");
        })
        .await;
    }

    /// Threads of the process with this name.
    fn threads(process: &Process, name: &str) -> usize {
        let all = std::fs::read_dir(format!("/proc/{}/task", process.id())).unwrap().flatten();
        all.filter(|thread| std::fs::read_to_string(thread.path().join("comm")).is_ok_and(|of| of.trim() == name))
            .count()
    }

    async fn stores_an_order(shop: &Shop) {
        let sale = shop.open(NewSale::of(1)).await;
        let shopper = shop.shopper(1);
        shopper.unpaid_order(&sale).await;
    }

    #[tokio::test]
    async fn pipeline_beside_serve_has_as_many_threads_as_the_setting_says() {
        for (rung, setting, expected) in [(Rung::Rabbit, "3", 3), (Rung::Redis, "0", 0)] {
            let shop = Plan::on(rung).await.set("SECKILL_PIPELINE_THREADS", setting).start().await;
            stores_an_order(&shop).await;
            // Threads that look up a name for a moment have the same name.
            let read = async || threads(&shop.processes[0], "pipeline");
            until("the threads of the pipeline", TIMEOUT, read, |found| *found == expected).await;
        }
    }
}
