//! Tests of one scenario, or of one promise on several databases, as tables.

/// One test for each case of a scenario.
macro_rules! cases {
    ($scenario:path: $($name:ident: $case:expr,)+) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                $scenario($case).await;
            }
        )+
    };
}

/// One test for each promise of a file about the store. A promise is a function of the database's address.
macro_rules! database_tests {
    (sqlite, $file:ident: $($promise:ident),+ $(,)?) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $promise() {
                let dir = tempfile::tempdir().unwrap();
                crate::$file::$promise(&base::config::sqlite_in(dir.path())).await;
            }
        )+
    };
    (postgres, $($tests:tt)+) => {
        database_tests!(crate::support::Fixture::new(crate::support::Rung::Postgres), $($tests)+);
    };
    (postgres_without_schema, $($tests:tt)+) => {
        database_tests!(crate::support::Fixture::without_schema(), $($tests)+);
    };
    ($fixture:expr, $file:ident: $($promise:ident),+ $(,)?) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $promise() {
                let fixture = $fixture.await;
                crate::$file::$promise(&fixture.settings["SECKILL_DATABASE_URL"]).await;
            }
        )+
    };
}
