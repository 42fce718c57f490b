//! No page reads a table that grows. An owner, and a shopper with many orders, request every page and list of the shop,
//! and every link in it once. Every statement that the database gets is explained. So there is no list of statements
//! that could become outdated, and a new table has to be filled here first.
//!
//! SQLite keeps no statistics: its plans are the same for few rows, and they name every scan. PostgreSQL reports the
//! plans that it ran (`auto_explain`), and how many rows it read for them.

mod crawl;
pub mod rows;
mod statements;

use base::config::Config;
use seckill::app::Services;
use sqlx::{AnyConnection, AssertSqlSafe, Connection, Row};

use crawl::Crawl;
use statements::Statements;

/// Tables that stay short, or of which a page needs only a few rows.
const SHORT: &[&str] = &[
    "_sqlx_migrations",
    "book_days",
    "books",
    "catalogue",
    "categories",
    "draws",
    "event_cursor",
    "event_endpoints",
    "event_sales",
    "failed_refunds",
    "waitlists",
    "goods",
    "goods_pictures",
    "invitation_batches",
    "leases",
    "order_days",
    "order_feed",
    "order_totals",
    "pictures",
    "payment_notices",
    "processes",
    "queue_joins",
    "push_keys",
    "queue_segments",
    "queues",
    "registration_contacts",
    "releases",
    "reminder_counts",
    "revocation_count",
    "api_tokens",
    "sale_alarms",
    "sale_buckets",
    "sale_fronts",
    "sale_reports",
    "sales",
    "sandbox_webhooks",
    "saved_views",
    "shop_settings",
    "schema_floor",
    "settlements",
    "shipping",
    "shop_pages",
    "shop_settings",
    "shop_secret",
    "spent_proofs",
    "sqlite_sequence",
    "staff_policy",
    "tallies",
];

/// A shop in this process, without a socket.
struct Shop {
    parts: Services,
    url: String,
}

impl Shop {
    /// `traced` is the address under which the shop knows the database at `url`.
    async fn open(dir: &std::path::Path, url: &str, traced: &str) -> Shop {
        let mut config = Config::defaults();
        config.data_dir = dir.to_owned();
        config.database_url = traced.to_owned();
        config.web.user_rate = 100_000;
        let parts = Services::build(&config).await.unwrap();
        Shop { parts, url: url.to_owned() }
    }

    async fn database(&self) -> AnyConnection {
        AnyConnection::connect(&self.url).await.unwrap()
    }

    /// Fills every table that grows with `count` rows, and checks that no table was left out.
    async fn fill(&self, count: i64) {
        let mut database = self.database().await;
        for sql in rows::statements(count) {
            sqlx::query(AssertSqlSafe(sql.clone()))
                .execute(&mut database)
                .await
                .unwrap_or_else(|e| panic!("{sql}: {e}"));
        }
        sqlx::query("ANALYZE").execute(&mut database).await.unwrap();
        let sqlite = self.url.starts_with("sqlite");
        let tables = match sqlite {
            true => "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_stat%'",
            false => "SELECT CAST(tablename AS TEXT) AS name FROM pg_tables WHERE schemaname = 'public'",
        };
        for row in sqlx::query(tables).fetch_all(&mut database).await.unwrap() {
            let name: String = row.get("name");
            let sql = AssertSqlSafe(format!("SELECT COUNT(*) FROM {name}"));
            let rows: i64 = sqlx::query_scalar(sql).fetch_one(&mut database).await.unwrap();
            assert!(rows >= count / 2 || SHORT.contains(&name.as_str()), "{name} has {rows} rows: fill it in rows.rs");
        }
        if sqlite {
            // Statistics would show SQLite how small the tables are.
            sqlx::query("DELETE FROM sqlite_stat1").execute(&mut database).await.unwrap();
        }
        while self.parts.store.books().close().await.unwrap() {}
        // Reads what every process reads at its start.
        self.parts.catalogue.refresh().await.unwrap();
        self.parts.directory.refresh().await.unwrap();
    }

    /// Requests all pages. Returns the statements that the database got.
    async fn statements(&self, count: i64) -> Vec<String> {
        let password = self.parts.accounts().ensure_admin(None).await.unwrap().unwrap();
        let crawl = Crawl::new(self.parts.router());
        let owner = crawl.session("/api/login", "admin", &password).await;
        let shopper = crawl.session("/api/register", "mei", "correct horse").await;
        self.fill(count).await;
        self.parts.gate.refresh().await;
        let statements = Statements::begin();
        for session in [&owner, &shopper] {
            crawl.visit_all(session).await;
        }
        for action in ["schedule", "stop"] {
            crawl.summarize(&owner, action, 1..=3).await;
        }
        assert_eq!(
            orders::parcels::deliver_overdue(&self.parts.store, 1).await.unwrap() as i64,
            (count / 100).min(100)
        );
        statements.end()
    }
}

#[tokio::test]
async fn pages_read_along_indexes_of_sqlite() {
    let dir = tempfile::tempdir().unwrap();
    let url = base::config::sqlite_in(dir.path());
    let shop = Shop::open(dir.path(), &url, &url).await;
    let sent = shop.statements(400).await;
    assert!(sent.len() > 60, "only {} statements were seen", sent.len());
    let mut database = AnyConnection::connect(&url).await.unwrap();
    let mut wrong = Vec::new();
    for sql in &sent {
        let explain = AssertSqlSafe(format!("EXPLAIN QUERY PLAN {sql}"));
        let plan = sqlx::query(explain).fetch_all(&mut database).await.unwrap_or_else(|e| panic!("{sql}: {e}"));
        let plan: Vec<String> = plan.iter().map(|row| row.get("detail")).collect();
        for line in plan.iter().filter(|line| is_scan(line, sql, &plan)) {
            if !is_over_a_few(line, &mut database).await {
                wrong.push(format!("{line}: {sql}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[tokio::test]
async fn summary_of_fifty_sales_takes_as_many_statements_as_that_of_two() {
    let dir = tempfile::tempdir().unwrap();
    let url = base::config::sqlite_in(dir.path());
    let shop = Shop::open(dir.path(), &url, &url).await;
    let password = shop.parts.accounts().ensure_admin(None).await.unwrap().unwrap();
    let crawl = Crawl::new(shop.parts.router());
    let owner = crawl.session("/api/login", "admin", &password).await;
    // Some of the rows belong to this account.
    crawl.session("/api/register", "mei", "correct horse").await;
    shop.fill(400).await;
    crawl.summarize(&owner, "stop", 51..=52).await;
    for action in ["schedule", "stop", "delete"] {
        let mut sent = Vec::new();
        for count in [2, 50] {
            let statements = Statements::begin();
            let page = crawl.summarize(&owner, action, 51..=50 + count).await;
            sent.push(statements.all());
            assert_eq!(page.matches("class=\"main-cell outcome\"").count() as i64, count, "each sale is named: {page}");
        }
        assert_eq!(sent[0].len(), sent[1].len(), "{action}: {:#?} and {:#?}", sent[0], sent[1]);
    }
}

/// Whether a line of SQLite's plan reads all of a table that grows. Reading the newest rows along an index does not
/// count.
fn is_scan(line: &str, sql: &str, plan: &[String]) -> bool {
    let Some(what) = line.strip_prefix("SCAN ") else { return false };
    let name = what.split(' ').next().unwrap_or_default();
    let is_page =
        what.contains("USING") && sql.contains("LIMIT") && !plan.iter().any(|line| line.contains("TEMP B-TREE"));
    // A short name is an alias.
    let grows = rows::GROWING.contains(&name) || name.len() <= 2;
    grows && !is_page
}

/// Whether the scan is along a partial index with only a few rows.
async fn is_over_a_few(line: &str, database: &mut AnyConnection) -> bool {
    let index = line.split(" INDEX ").nth(1).unwrap_or_default();
    let sql = "SELECT tbl_name, sql FROM sqlite_master WHERE type = 'index' AND name = $1 AND sql LIKE '% WHERE %'";
    let Some(row) = sqlx::query(sql).bind(index).fetch_optional(&mut *database).await.unwrap() else { return false };
    let (table, definition): (String, String) = (row.get("tbl_name"), row.get("sql"));
    let condition = definition.split_once(" WHERE ").unwrap().1;
    let count = AssertSqlSafe(format!("SELECT COUNT(*) FROM {table} WHERE {condition}"));
    sqlx::query_scalar::<_, i64>(count).fetch_one(database).await.unwrap() <= 5
}

mod stack {
    mod postgres {
        use super::super::*;
        use crate::support::{Fixture, Rung};

        /// Rows of each table that grows.
        const ROWS: i64 = 20_000;
        /// The most rows that a step of a plan may read: a page of the export has a thousand orders.
        const MAX_ROWS_READ: f64 = 5_000.0;

        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn pages_read_along_indexes_of_postgresql() {
            let fixture = Fixture::new(Rung::Postgres).await;
            let url = &fixture.settings["SECKILL_DATABASE_URL"];
            let traced = format!(
                "{url}?options[session_preload_libraries]=auto_explain&options[auto_explain.log_min_duration]=0\
                 &options[auto_explain.log_analyze]=on&options[auto_explain.log_timing]=off\
                 &options[auto_explain.log_format]=json&options[auto_explain.log_level]=notice\
                 &options[random_page_cost]=1.1"
            );
            let shop = Shop::open(fixture.dir(), url, &traced).await;
            let sent = shop.statements(ROWS).await;
            let plans: Vec<serde_json::Value> = sent
                .iter()
                .filter_map(|text| {
                    serde_json::from_str(&text[text.find('{').filter(|_| text.contains("plan:"))?..]).ok()
                })
                .collect();
            assert!(plans.len() > 60, "only {} plans were seen", plans.len());
            let mut wrong = Vec::new();
            for plan in &plans {
                let mut found = Vec::new();
                check(&plan["Plan"], &mut found);
                wrong.extend(found.iter().map(|step| format!("{step}: {}", plan["Query Text"])));
            }
            wrong.sort();
            wrong.dedup();
            assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
        }

        /// Describes the steps of a plan that read many rows of a table.
        fn check(step: &serde_json::Value, found: &mut Vec<String>) {
            let number = |name: &str| step[name].as_f64().unwrap_or_default();
            let read =
                number("Actual Rows") + number("Rows Removed by Filter") + number("Rows Removed by Index Recheck");
            let read = read * number("Actual Loops");
            if step["Relation Name"].is_string() && read > MAX_ROWS_READ {
                found.push(format!("{} of {} reads {read} rows", step["Node Type"], step["Relation Name"]));
            }
            for part in step["Plans"].as_array().into_iter().flatten() {
                check(part, found);
            }
        }
    }
}
