//! `seckill rehearse` against running shops: it ends with a verdict and removes what it made.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use domain::SaleId;
use serde_json::Value;
use sqlx::AssertSqlSafe;

use crate::support::{Nginx, PROGRAM, Plan, Rung, Shop, eventually, free_address, pause, program, run, until};

const TIMEOUT: Duration = Duration::from_secs(60);
/// Limits that no machine exceeds, because these tests do not judge its speed.
const LENIENT_LIMITS: [&str; 6] = ["--p99", "1m", "--landed", "1m", "--errors", "1000"];
const SMALL_REHEARSAL: [&str; 11] =
    ["rehearse", "--shoppers", "300", "--units", "20", "--rps", "200", "--ramp", "3s", "--bots", "3"];

/// Row counts of every table that a rehearsal writes to, except the audit log, which keeps its entries.
async fn rows(shop: &Shop) -> Vec<(&'static str, i64)> {
    const TABLES: [&str; 15] = [
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
        "sale_alarms",
        "addresses",
        "revocations",
    ];
    let mut connection = shop.database().await;
    let mut all = Vec::new();
    for table in TABLES {
        let sql = AssertSqlSafe(format!("SELECT COUNT(*) FROM {table}"));
        all.push((table, sqlx::query_scalar(sql).fetch_one(&mut connection).await.unwrap()));
    }
    all
}

/// All keys in Redis except heartbeats, which expire by themselves.
async fn redis_keys(shop: &Shop) -> Vec<String> {
    if !shop.processes[0].settings().contains_key("SECKILL_REDIS_URL") {
        return Vec::new();
    }
    let mut connection = shop.redis().await;
    let keys: Vec<String> = redis::cmd("KEYS").arg("*").query_async(&mut connection).await.unwrap();
    keys.into_iter().filter(|key| !key.starts_with("seckill:heartbeat:")).collect()
}

/// A rehearsal in a process beside the test.
struct RunningRehearsal(Child);

impl RunningRehearsal {
    fn start(shop: &Shop, words: &[&str]) -> RunningRehearsal {
        let mut settings = shop.processes[0].settings().clone();
        settings.remove(PROGRAM);
        let mut command: Command = program(&settings, shop.dir(), words);
        RunningRehearsal(command.stdout(Stdio::null()).spawn().unwrap())
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

impl Drop for RunningRehearsal {
    fn drop(&mut self) {
        // The process has usually ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits until a rehearsal has sold a unit, and returns its sale.
async fn wait_for_first_sale(shop: &Shop) -> SaleId {
    let store = shop.store();
    eventually("the rehearsal has sold something", TIMEOUT, async || {
        let sales = store.sales().rehearsed_sales().await.unwrap();
        let sale = sales.first().ok_or("no sale")?;
        if sale.sold > 0 { Ok(sale.id) } else { Err("nothing sold".into()) }
    })
    .await
}

async fn small_rehearsal_is_a_go_and_removes_itself(rung: Rung) {
    let shop = Plan::on(rung).await.one_role_per_process().start().await;
    shop.goods().await;
    let before = rows(&shop).await;
    let (json, page) = (shop.dir().join("report.json"), shop.dir().join("report.html"));
    let files = ["--json", json.to_str().unwrap(), "--report", page.to_str().unwrap()];
    let mut rehearsal = RunningRehearsal::start(&shop, &[&SMALL_REHEARSAL[..], &LENIENT_LIMITS, &files].concat());
    let sale = wait_for_first_sale(&shop).await;
    let client = shop.client();
    for path in [format!("/en/sales/{sale}"), format!("/api/sales/{sale}/button")] {
        client.get(&path).await.expect(200);
    }
    assert_eq!(client.get("/api/sales").await.expect(200).json()["sales"], serde_json::json!([]));
    assert!(!client.get("/en/").await.expect(200).text().contains(&format!("/sales/{sale}")));
    let console = shop.admin().await.get("/admin?lang=en").await.expect(200).text();
    assert!(console.contains("Rehearsal"), "the console marks it as a rehearsal");
    assert_eq!(rehearsal.ended().await, Some(0));

    let report: Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    assert_eq!(report["go"], true, "{report}");
    assert_eq!(report["setting"]["units"], 20, "{report}");
    assert_eq!(report["funnel"][0][1], 300, "{report}");
    let units = report["people"]["units"].as_u64().unwrap() + report["bots"]["units"].as_u64().unwrap();
    assert_eq!(units, 20, "{report}");
    assert!(report["bots"]["rate_limited"].as_u64().unwrap() > 0, "bots are rate-limited: {report}");
    let html = std::fs::read_to_string(page).unwrap();
    assert!(html.contains(">Go<") && html.contains("<svg"));

    assert_eq!(rows(&shop).await, before);
    assert_eq!(redis_keys(&shop).await, Vec::<String>::new());
    let read = async || client.get(&format!("/en/sales/{sale}")).await;
    until("its page is gone", TIMEOUT, read, |page| page.status == 404).await;
    shop.audit_is_clean().await;
}

/// A shop with a rehearsal that has sold something, and its rows before.
async fn rehearsing(rung: Rung) -> (Shop, Vec<(&'static str, i64)>, RunningRehearsal) {
    let shop = Shop::start(rung).await;
    shop.goods().await;
    let before = rows(&shop).await;
    let rehearsal = RunningRehearsal::start(&shop, &SMALL_REHEARSAL);
    wait_for_first_sale(&shop).await;
    (shop, before, rehearsal)
}

async fn next_run_removes_a_killed_rehearsal(rung: Rung) {
    let (shop, before, mut rehearsal) = rehearsing(rung).await;
    rehearsal.signal("-KILL");
    assert_eq!(rehearsal.ended().await, None);
    assert_ne!(rows(&shop).await, before);
    let clean = shop.run(&["rehearse", "--clean"]).await;
    assert!(clean.status.success(), "{}", String::from_utf8_lossy(&clean.stderr));
    assert!(String::from_utf8_lossy(&clean.stdout).contains("removed 1 rehearsal"), "{clean:?}");
    assert_eq!(rows(&shop).await, before);
    assert_eq!(redis_keys(&shop).await, Vec::<String>::new());
}

async fn interrupted_rehearsal_removes_itself(rung: Rung) {
    let (shop, before, mut rehearsal) = rehearsing(rung).await;
    rehearsal.signal("-INT");
    assert_eq!(rehearsal.ended().await, Some(2));
    assert_eq!(rows(&shop).await, before);
    assert_eq!(redis_keys(&shop).await, Vec::<String>::new());
}

/// Fails unless the rehearsal ends with exit code 2 and this message.
async fn assert_cannot_run(settings: &crate::support::Settings, dir: &std::path::Path, words: &[&str], why: &str) {
    let done = run(settings, dir, &[&["rehearse"], words].concat()).await;
    let message = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.code() == Some(2) && message.contains(why), "{words:?}: {} {message}", done.status);
}

mod sqlite {
    use super::*;

    cases! { super::small_rehearsal_is_a_go_and_removes_itself: small_rehearsal_is_a_go_and_removes_itself: Rung::Sqlite, }
    cases! { super::next_run_removes_a_killed_rehearsal: next_run_removes_a_killed_rehearsal: Rung::Sqlite, }
    cases! { super::interrupted_rehearsal_removes_itself: interrupted_rehearsal_removes_itself: Rung::Sqlite, }

    #[tokio::test]
    async fn exceeded_limit_is_a_no_go() {
        let shop = Shop::start(Rung::Sqlite).await;
        shop.goods().await;
        let words = ["rehearse", "--shoppers", "30", "--units", "5", "--ramp", "500ms", "--bots", "0", "--p99", "1ms"];
        let done = shop.run(&words).await;
        let output = String::from_utf8_lossy(&done.stdout);
        assert_eq!(done.status.code(), Some(1), "{output}");
        assert!(output.contains("NO GO"), "{output}");
        assert!(output.contains("FAIL  response times are within the limit"), "{output}");
        let mut files = std::fs::read_dir(shop.setting("SECKILL_DATA_DIR")).unwrap().flatten();
        assert!(files.any(|file| file.file_name().to_string_lossy().starts_with("rehearsal-")));
    }

    #[tokio::test]
    async fn unsuitable_shop_is_named() {
        let shop = Shop::start(Rung::Sqlite).await;
        let mut settings = shop.processes[0].settings().clone();
        let dir = shop.dir();
        assert_cannot_run(&settings, dir, &[], "no goods").await;
        shop.goods().await;
        assert_cannot_run(&settings, dir, &["--url", "http://127.0.0.1:1"], "no shop answers at http://127.0.0.1:1")
            .await;
        assert_cannot_run(&settings, dir, &["--rps", "0"], "--rps").await;
        // First another shop at the address, then this shop with another secret.
        let other = Shop::start(Rung::Sqlite).await;
        let mut foreign = settings.clone();
        foreign.insert("SECKILL_PUBLIC_URL".into(), other.origins()[0].clone());
        assert_cannot_run(&foreign, dir, &[], "does it run with the same SECKILL_DATABASE_URL?").await;
        settings.insert("SECKILL_SECRET".into(), "x".repeat(64));
        assert_cannot_run(&settings, dir, &[], "SECKILL_SECRET").await;
        assert!(shop.store().sales().rehearsed_sales().await.unwrap().is_empty());
        // Without configuration and without a database, no database is created.
        let nowhere = tempfile::tempdir().unwrap();
        assert_cannot_run(&Default::default(), nowhere.path(), &[], "there is no shop database at ./data").await;
        assert!(!nowhere.path().join("data").exists());
    }

    #[tokio::test]
    async fn second_rehearsal_waits_for_the_first() {
        let shop = Shop::start(Rung::Sqlite).await;
        shop.goods().await;
        let mut rehearsal =
            RunningRehearsal::start(&shop, &[&SMALL_REHEARSAL[..], &["--seed", "2"], &LENIENT_LIMITS].concat());
        let sale = wait_for_first_sale(&shop).await;
        let second = RunningRehearsal::start(&shop, &["rehearse", "--clean"]);
        pause(1000).await;
        assert!(
            shop.store().sales().get(sale).await.unwrap().is_some(),
            "a second process does not remove a running rehearsal"
        );
        drop(second);
        assert_eq!(rehearsal.ended().await, Some(0));
        let misplaced = shop.run(&["audit", "--shoppers", "5"]).await;
        assert!(!misplaced.status.success() && String::from_utf8_lossy(&misplaced.stderr).contains("--shoppers"));
    }
}

mod stack {
    use super::*;

    cases! { small_rehearsal_is_a_go_and_removes_itself:
        postgres: Rung::Postgres,
        redis: Rung::Redis,
        rabbit: Rung::Rabbit,
    }
    cases! { super::next_run_removes_a_killed_rehearsal: next_run_removes_a_killed_rehearsal: Rung::Rabbit, }
    cases! { super::interrupted_rehearsal_removes_itself: interrupted_rehearsal_removes_itself: Rung::Rabbit, }

    const ROLES: [&str; 5] = ["serve", "serve", "relay", "consume", "control"];

    /// nginx is in front of two servers. While shoppers buy, processes are stopped and started one after the other: the
    /// index of each, and the program that it runs from then on, if it is not this version's. They drain for a second
    /// longer than nginx keeps an idle connection: otherwise a request may meet a connection that is being closed, and nginx
    /// answers it with 503, because it may not send it twice. Requests in progress then have six seconds to end.
    async fn restarts_are_a_go(plan: Plan, [shoppers, units]: [&str; 2], restarts: &[(usize, Option<&str>)]) {
        let address = free_address();
        let plan = plan.roles(&ROLES).set("SECKILL_PUBLIC_URL", &format!("http://{address}"));
        let plan = plan.set("SECKILL_TRUSTED_PROXIES", "127.0.0.1").set("SECKILL_DRAIN", "3s");
        let mut shop = plan.start().await;
        shop.goods().await;
        let (dir, pages) = (tempfile::tempdir().unwrap(), Path::new(shop.setting("SECKILL_DATA_DIR")).join("pages"));
        let servers = [shop.processes[0].listen, shop.processes[1].listen];
        let _nginx = Nginx::start(dir.path(), address, &servers, &pages, "");
        let (site, report) = (format!("http://{address}"), shop.dir().join("report.json"));
        // The rehearsal is of this version, so it needs this version's schema.
        assert!(shop.run(&["migrate"]).await.status.success());
        let crowd =
            ["rehearse", "--shoppers", shoppers, "--units", units, "--rps", "80", "--ramp", "15s", "--bots", "0"];
        let limits = ["--p99", "1m", "--landed", "1m", "--json", report.to_str().unwrap()];
        let mut rehearsal = RunningRehearsal::start(&shop, &[&crowd[..], &limits, &["--url", &site]].concat());
        wait_for_first_sale(&shop).await;
        for (n, version) in restarts {
            shop.processes[*n].terminate();
            assert!(shop.processes[*n].ended(TIMEOUT).await.success());
            match version {
                Some(version) => shop.processes[*n].set(PROGRAM, version),
                None => shop.processes[*n].unset(PROGRAM),
            }
            shop.processes[*n].start();
            shop.wait_until_ready().await;
        }
        assert!(rehearsal.0.try_wait().unwrap().is_none(), "shoppers still buy");
        assert_eq!(rehearsal.ended().await, Some(0), "{}", std::fs::read_to_string(report).unwrap_or_default());
        shop.audit_is_clean().await;
    }

    #[tokio::test]
    async fn restart_of_both_servers_is_a_go() {
        // More who pay at once would only show how slow a debug build is on a busy machine.
        restarts_are_a_go(Plan::on(Rung::Rabbit).await, ["1000", "80"], &[(0, None), (1, None)]).await;
    }

    /// All processes are rolled from the version before the latest migration to this one, and back.
    #[tokio::test]
    async fn versions_rolled_forward_and_back_are_a_go() {
        let earlier = std::env::var("SECKILL_TEST_EARLIER_PROGRAM").expect("the program that scripts/test long builds");
        let program = earlier.clone();
        let plan = Plan::on(Rung::Rabbit).await.each_process(move |_, _, settings| {
            settings.insert(PROGRAM.to_owned(), program.clone());
        });
        let both_ways = [None, Some(earlier.as_str())].into_iter();
        let restarts: Vec<_> = both_ways.flat_map(|version| (0..ROLES.len()).map(move |n| (n, version))).collect();
        restarts_are_a_go(plan, ["6000", "300"], &restarts).await;
    }
}
