//! `seckill rehearse` against running shops: it ends with a verdict, and with nothing left.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use seckill::domain::SaleId;
use serde_json::Value;
use sqlx::{AnyConnection, AssertSqlSafe, Connection};

use crate::support::{Plan, Rung, Shop, eventually, pause, program, run};

const SOON: Duration = Duration::from_secs(60);
/// How fast this machine is at this moment is no part of the test.
const PATIENT: [&str; 6] = ["--p99", "1m", "--landed", "1m", "--errors", "1000"];
const SMALL: [&str; 11] =
    ["rehearse", "--shoppers", "300", "--units", "20", "--rps", "200", "--ramp", "3s", "--bots", "3"];

/// Rows of every table that a rehearsal writes to; the log stays, for it says what was done.
async fn rows(shop: &Shop) -> Vec<(&'static str, i64)> {
    const TABLES: [&str; 14] = [
        "sales",
        "sale_buckets",
        "orders",
        "order_events",
        "users",
        "sessions",
        "payments",
        "sandbox_payments",
        "sandbox_webhooks",
        "webhook_events",
        "releases",
        "tallies",
        "addresses",
        "revocations",
    ];
    let sqlite = || format!("sqlite://{}/seckill.sqlite", shop.setting("SECKILL_DATA_DIR"));
    let url = shop.processes[0].settings().get("SECKILL_DATABASE_URL").cloned().unwrap_or_else(sqlite);
    sqlx::any::install_default_drivers();
    let mut connection = AnyConnection::connect(&url).await.unwrap();
    let mut all = Vec::new();
    for table in TABLES {
        let sql = AssertSqlSafe(format!("SELECT COUNT(*) FROM {table}"));
        all.push((table, sqlx::query_scalar(sql).fetch_one(&mut connection).await.unwrap()));
    }
    all
}

/// The names of everything in Redis.
async fn redis_keys(shop: &Shop) -> Vec<String> {
    if !shop.processes[0].settings().contains_key("SECKILL_REDIS_URL") {
        return Vec::new();
    }
    let client = redis::Client::open(shop.setting("SECKILL_REDIS_URL")).unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.unwrap();
    redis::cmd("KEYS").arg("*").query_async(&mut connection).await.unwrap()
}

/// A rehearsal that runs beside the test.
struct Running(Child);

impl Running {
    fn start(shop: &Shop, words: &[&str]) -> Running {
        let mut command: Command = program(shop.processes[0].settings(), shop.dir(), words);
        Running(command.stdout(Stdio::null()).spawn().unwrap())
    }

    fn signal(&self, signal: &str) {
        let done = Command::new("kill").args([signal, &self.0.id().to_string()]).status().unwrap();
        assert!(done.success());
    }

    async fn ended(&mut self) -> Option<i32> {
        let status = eventually("the rehearsal ends", Duration::from_secs(120), async || {
            self.0.try_wait().unwrap().ok_or_else(|| "it runs".to_owned())
        });
        status.await.code()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has usually ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits until a rehearsal has sold something; the answer is its sale.
async fn has_begun(shop: &Shop) -> SaleId {
    let store = shop.store();
    eventually("the rehearsal has sold something", SOON, async || {
        let sales = store.rehearsed_sales().await.unwrap();
        let sale = sales.first().ok_or("no sale")?;
        if sale.sold > 0 { Ok(sale.id) } else { Err("nothing sold".into()) }
    })
    .await
}

async fn a_small_rehearsal_is_a_go_and_leaves_nothing(rung: Rung) {
    let shop = Plan::on(rung).await.apart().start().await;
    shop.goods().await;
    let before = rows(&shop).await;
    let (json, page) = (shop.dir().join("report.json"), shop.dir().join("report.html"));
    let files = ["--json", json.to_str().unwrap(), "--report", page.to_str().unwrap()];
    let mut rehearsal = Running::start(&shop, &[&SMALL[..], &PATIENT, &files].concat());
    let sale = has_begun(&shop).await;
    let client = shop.client();
    for path in [format!("/en/sales/{sale}"), format!("/api/sales/{sale}/button")] {
        client.get(&path).await.expect(200);
    }
    assert_eq!(client.get("/api/sales").await.expect(200).json()["sales"], serde_json::json!([]));
    assert!(!client.get("/en/").await.expect(200).text().contains(&format!("/sales/{sale}")));
    let desk = shop.admin().await.get("/admin?lang=en").await.expect(200).text();
    assert!(desk.contains("Rehearsal"), "staff see what it is");
    assert_eq!(rehearsal.ended().await, Some(0));

    let report: Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    assert_eq!(report["go"], true, "{report}");
    assert_eq!((&report["setting"]["units"], &report["funnel"][0][1]), (&20.into(), &300.into()), "{report}");
    let units = report["people"]["units"].as_u64().unwrap() + report["bots"]["units"].as_u64().unwrap();
    assert_eq!(units, 20, "{report}");
    assert!(report["bots"]["rate_limited"].as_u64().unwrap() > 0, "scripts are slowed down: {report}");
    let html = std::fs::read_to_string(page).unwrap();
    assert!(html.contains(">Go<") && html.contains("<svg"));

    assert_eq!(rows(&shop).await, before);
    assert_eq!(redis_keys(&shop).await, Vec::<String>::new());
    eventually("its page is gone", SOON, async || {
        let page = client.get(&format!("/en/sales/{sale}")).await;
        if page.status == 404 { Ok(()) } else { Err(page.status.to_string()) }
    })
    .await;
    shop.audit_is_clean().await;
}

async fn what_a_killed_one_has_left_goes_with_the_next(rung: Rung) {
    let shop = Shop::start(rung).await;
    shop.goods().await;
    let before = rows(&shop).await;
    let mut rehearsal = Running::start(&shop, &SMALL);
    has_begun(&shop).await;
    rehearsal.signal("-KILL");
    assert_eq!(rehearsal.ended().await, None);
    assert_ne!(rows(&shop).await, before);
    let clean = shop.run(&["rehearse", "--clean"]).await;
    assert!(clean.status.success(), "{}", String::from_utf8_lossy(&clean.stderr));
    assert!(String::from_utf8_lossy(&clean.stdout).contains("removed 1 rehearsal"), "{clean:?}");
    assert_eq!(rows(&shop).await, before);
    assert_eq!(redis_keys(&shop).await, Vec::<String>::new());
}

async fn an_interrupted_one_removes_itself(rung: Rung) {
    let shop = Shop::start(rung).await;
    shop.goods().await;
    let before = rows(&shop).await;
    let mut rehearsal = Running::start(&shop, &SMALL);
    has_begun(&shop).await;
    rehearsal.signal("-INT");
    assert_eq!(rehearsal.ended().await, Some(2));
    assert_eq!(rows(&shop).await, before);
    assert_eq!(redis_keys(&shop).await, Vec::<String>::new());
}

/// What the program says when it could not be held: exit code 2 and these words.
async fn cannot(settings: &crate::support::Settings, dir: &std::path::Path, words: &[&str], why: &str) {
    let done = run(settings, dir, &[&["rehearse"], words].concat()).await;
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.code() == Some(2) && said.contains(why), "{words:?}: {} {said}", done.status);
}

mod sqlite {
    use super::*;

    #[tokio::test]
    async fn a_small_rehearsal_is_a_go_and_leaves_nothing() {
        super::a_small_rehearsal_is_a_go_and_leaves_nothing(Rung::Sqlite).await;
    }

    #[tokio::test]
    async fn what_a_killed_one_has_left_goes_with_the_next() {
        super::what_a_killed_one_has_left_goes_with_the_next(Rung::Sqlite).await;
    }

    #[tokio::test]
    async fn an_interrupted_one_removes_itself() {
        super::an_interrupted_one_removes_itself(Rung::Sqlite).await;
    }

    #[tokio::test]
    async fn a_limit_that_is_not_kept_is_no_go() {
        let shop = Shop::start(Rung::Sqlite).await;
        shop.goods().await;
        let words = ["rehearse", "--shoppers", "30", "--units", "5", "--ramp", "500ms", "--bots", "0", "--p99", "1ms"];
        let done = shop.run(&words).await;
        let told = String::from_utf8_lossy(&done.stdout);
        assert_eq!(done.status.code(), Some(1), "{told}");
        assert!(told.contains("NO GO") && told.contains("BROKEN answers come in time"), "{told}");
        let mut written = std::fs::read_dir(shop.setting("SECKILL_DATA_DIR")).unwrap().flatten();
        assert!(written.any(|file| file.file_name().to_string_lossy().starts_with("rehearsal-")));
    }

    #[tokio::test]
    async fn a_shop_that_it_cannot_rehearse_with_is_named() {
        let shop = Shop::start(Rung::Sqlite).await;
        let mut settings = shop.processes[0].settings().clone();
        let dir = shop.dir();
        cannot(&settings, dir, &[], "no goods").await;
        shop.goods().await;
        cannot(&settings, dir, &["--url", "http://127.0.0.1:1"], "no shop answers at http://127.0.0.1:1").await;
        cannot(&settings, dir, &["--rps", "0"], "--rps").await;
        // Somebody else's shop at the address, and ours with another secret.
        let other = Shop::start(Rung::Sqlite).await;
        let mut strange = settings.clone();
        strange.insert("SECKILL_PUBLIC_URL".into(), other.origins()[0].clone());
        cannot(&strange, dir, &[], "does it run with the same SECKILL_DATABASE_URL?").await;
        settings.insert("SECKILL_SECRET".into(), "x".repeat(64));
        cannot(&settings, dir, &[], "SECKILL_SECRET").await;
        assert!(shop.store().rehearsed_sales().await.unwrap().is_empty());
        // Nothing is configured, nothing is there, and nothing is made.
        let nowhere = tempfile::tempdir().unwrap();
        cannot(&Default::default(), nowhere.path(), &[], "there is no shop's database at ./data").await;
        assert!(!nowhere.path().join("data").exists());
    }

    #[tokio::test]
    async fn one_at_a_time() {
        let shop = Shop::start(Rung::Sqlite).await;
        shop.goods().await;
        let mut rehearsal = Running::start(&shop, &[&SMALL[..], &["--seed", "2"], &PATIENT].concat());
        let sale = has_begun(&shop).await;
        let second = Running::start(&shop, &["rehearse", "--clean"]);
        pause(1000).await;
        assert!(shop.store().sale(sale).await.unwrap().is_some(), "nobody clears away what is running");
        drop(second);
        assert_eq!(rehearsal.ended().await, Some(0));
        let misplaced = shop.run(&["audit", "--shoppers", "5"]).await;
        assert!(!misplaced.status.success() && String::from_utf8_lossy(&misplaced.stderr).contains("--shoppers"));
    }
}

mod stack {
    use super::*;

    #[tokio::test]
    async fn postgres() {
        a_small_rehearsal_is_a_go_and_leaves_nothing(Rung::Postgres).await;
    }

    #[tokio::test]
    async fn redis() {
        a_small_rehearsal_is_a_go_and_leaves_nothing(Rung::Redis).await;
    }

    #[tokio::test]
    async fn rabbit() {
        a_small_rehearsal_is_a_go_and_leaves_nothing(Rung::Rabbit).await;
    }

    #[tokio::test]
    async fn what_a_killed_one_has_left_goes_with_the_next() {
        super::what_a_killed_one_has_left_goes_with_the_next(Rung::Rabbit).await;
    }

    #[tokio::test]
    async fn an_interrupted_one_removes_itself() {
        super::an_interrupted_one_removes_itself(Rung::Rabbit).await;
    }
}
