//! The program: start, refusals to start, commands, health and metrics.

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use axum::http::Method;
use base::clock::Clock;
use serde_json::Value;

use crate::support::{NewSale, Plan, Rung, SECRET, Shop, eventually, program, run, until};

const TIMEOUT: Duration = Duration::from_secs(15);

#[tokio::test]
async fn invalid_setting_ends_the_start_and_is_named() {
    // One of the settings that `config` checks with all others, and two whose folders cannot be used.
    let wrong = [
        ("SECKILL_PAYMENT_WINDOW", "soon"),
        ("SECKILL_DATABASE_URL", "sqlite:///no/such/folder/shop.sqlite"),
        ("SECKILL_DATA_DIR", "/proc/no"),
    ];
    for (name, value) in wrong {
        let mut shop = Plan::on(Rung::Sqlite).await.set(name, value).launch();
        let status = shop.processes[0].ended(TIMEOUT).await;
        let log = shop.processes[0].log();
        assert!(status.code() == Some(2) && log.contains(name), "{name}={value}: {status}\n{log}");
        assert!(!log.contains("panicked"), "{log}");
    }
}

#[tokio::test]
async fn secret_is_required_beyond_loopback() {
    for (name, value) in [("SECKILL_LISTEN", "0.0.0.0:0"), ("SECKILL_LISTEN", "[::]:0")] {
        let mut shop = Plan::on(Rung::Sqlite).await.unset("SECKILL_SECRET").launch();
        shop.processes[0].set(name, value);
        shop.processes[0].restart();
        let status = shop.processes[0].ended(TIMEOUT).await;
        let log = shop.processes[0].log();
        assert!(!status.success() && log.contains("SECKILL_SECRET"), "{value}: {log}");
    }
}

#[tokio::test]
async fn weak_secret_is_refused_beyond_loopback() {
    let weak = "password".repeat(8);
    let mut shop = Plan::on(Rung::Sqlite).await.set("SECKILL_SECRET", &weak).launch();
    shop.processes[0].set("SECKILL_LISTEN", "0.0.0.0:0");
    shop.processes[0].restart();
    let status = shop.processes[0].ended(TIMEOUT).await;
    let log = shop.processes[0].log();
    assert!(status.code() == Some(2) && log.contains("SECKILL_SECRET") && !log.contains(&weak), "{log}");
}

#[tokio::test]
async fn values_in_files_are_used_and_a_new_secret_signs_nobody_out() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, value: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, format!("{value}\n")).unwrap();
        path.display().to_string()
    };
    let (old, new) = (file("old", SECRET), file("new", &"b".repeat(64)));
    let plan = Plan::on(Rung::Sqlite).await.unset("SECKILL_SECRET").set("SECKILL_SECRET_FILE", &old);
    let mut shop = plan.start().await;
    let client = shop.client();
    let account = serde_json::json!({"username": "mei", "password": "correct horse"});
    client.post("/api/register", account).await.expect(201);
    for (previous, status) in [(old.as_str(), 200), ("", 401)] {
        shop.processes[0].set("SECKILL_SECRET_FILE", &new);
        shop.processes[0].set("SECKILL_SECRET_PREVIOUS_FILE", previous);
        shop.processes[0].restart();
        shop.wait_until_ready().await;
        client.get("/api/me").await.expect(status);
    }
}

#[tokio::test]
async fn sandbox_behind_https_has_to_be_asked_for() {
    let https = async || Plan::on(Rung::Sqlite).await.set("SECKILL_PUBLIC_URL", "https://shop.example");
    let shop = https().await.start().await;
    assert!(shop.processes[0].log().contains("no provider takes payments"));
    shop.client().get("/sandbox/cashier/0190163d-8694-739b-aea5-966c26f8ad91").await.expect(404);
    let shop = https().await.set("SECKILL_PAYMENTS", "sandbox").start().await;
    assert!(shop.processes[0].log().contains("without money"));
}

#[tokio::test]
async fn address_in_use_names_its_variable() {
    let shop = Shop::start(Rung::Sqlite).await;
    for (name, taken) in [("SECKILL_LISTEN", shop.processes[0].listen), ("SECKILL_OPS_LISTEN", shop.processes[0].ops)] {
        let mut second = Plan::on(Rung::Sqlite).await.launch();
        second.processes[0].set(name, &taken.to_string());
        second.processes[0].restart();
        let status = second.processes[0].ended(TIMEOUT).await;
        let log = second.processes[0].log();
        assert!(!status.success() && log.contains(name) && log.contains(&taken.to_string()), "{name}: {log}");
    }
}

#[tokio::test]
async fn impossible_roles_and_unknown_arguments_are_refused() {
    let shop = Shop::start(Rung::Sqlite).await;
    for (words, named) in [
        (&["relay"][..], "SECKILL_AMQP_URL"),
        (&["consume"], "SECKILL_REDIS_URL"),
        (&["sell"], "sell"),
        (&["audit", "serve"], "audit"),
        (&["--no-such-flag"], "--no-such-flag"),
        (&["--config", "/no/such/file.toml"], "/no/such/file.toml"),
        (&["rehearse", "--config", "/no/such/file.toml"], "/no/such/file.toml"),
    ] {
        let done = shop.run(words).await;
        let text = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.code() == Some(2) && text.contains(named), "{words:?}: {} {text}", done.status);
    }
    let help = shop.run(&["--help"]).await;
    assert!(help.status.success() && String::from_utf8_lossy(&help.stdout).contains("--payment-window"));
}

#[tokio::test]
async fn flags_override_the_environment_and_both_override_the_file() {
    let shop = Shop::start(Rung::Sqlite).await;
    let file = tempfile::NamedTempFile::new().unwrap();
    let path = file.path().to_str().unwrap();
    let settings = shop.processes[0].settings().clone();
    let try_with = async |toml: &str, flags: &[&str]| {
        std::fs::write(path, toml).unwrap();
        let words = [&["migrate", "--config", path], flags].concat();
        let done = run(&settings, std::path::Path::new("/"), &words).await;
        (done.status.success(), String::from_utf8_lossy(&done.stderr).into_owned())
    };
    // The environment has a valid secret, so the invalid one in the file is not read.
    assert!(try_with("secret = 'short'", &[]).await.0);
    let (started, words) = try_with("", &["--secret", "short"]).await;
    assert!(!started && words.contains("SECKILL_SECRET"), "{words}");
    let (started, words) = try_with("payment_window = 'soon'", &[]).await;
    assert!(!started && words.contains("SECKILL_PAYMENT_WINDOW"), "{words}");
    let (started, words) = try_with("no_such_key = 1", &[]).await;
    assert!(!started && words.contains("no_such_key"), "{words}");
}

#[tokio::test]
async fn fresh_start_shows_the_demo_shop() {
    let names = ["SECKILL_DATA_DIR", "SECKILL_SECRET", "SECKILL_ADMIN_PASSWORD", "SECKILL_DEMO"];
    let plan = names.into_iter().fold(Plan::on(Rung::Sqlite).await, Plan::unset);
    let mut shop = plan.start().await;
    let sales = shop.client().get("/api/sales").await.expect(200).json();
    let listed = sales["sales"].as_array().unwrap();
    assert!(listed.len() >= 3 && listed.iter().any(|sale| sale["phase"] == "open"), "{sales}");
    for (locale, name) in [("zh", "手机"), ("en", "phone")] {
        let page = eventually("the list is there", TIMEOUT, async || {
            let page = shop.client().get(&format!("/{locale}/")).await;
            if page.status == 200 { Ok(page.text()) } else { Err(page.text()) }
        })
        .await;
        assert!(page.contains(name), "{page}");
        for picture in page.split(['"', ' ']).filter(|part| part.starts_with("/static/goods/")) {
            shop.client().get(picture).await.expect(200);
        }
    }
    let log = shop.processes[0].log();
    let password = log.split("with the password \"").nth(1).and_then(|rest| rest.split('"').next()).unwrap().to_owned();
    let who = serde_json::json!({"username": "admin", "password": password});
    shop.client().post("/api/login", who.clone()).await.expect(200);
    let secret = shop.dir().join("data/secret");
    assert_eq!(std::fs::metadata(&secret).unwrap().permissions().mode() & 0o777, 0o600);

    // A second start finds the same data and does not print the password again.
    shop.processes[0].restart();
    shop.wait_until_ready().await;
    assert_eq!(shop.client().get("/api/sales").await.json()["sales"].as_array().unwrap().len(), listed.len());
    assert_eq!(shop.processes[0].log().matches("with the password").count(), 1);
    shop.client().post("/api/login", who).await.expect(200);
}

#[tokio::test]
async fn configured_data_directory_has_no_demo() {
    let shop = Plan::on(Rung::Sqlite).await.unset("SECKILL_DEMO").start().await;
    assert_eq!(shop.client().get("/api/sales").await.expect(200).json()["sales"], serde_json::json!([]));
    let shown = Plan::on(Rung::Sqlite).await.set("SECKILL_DEMO", "true").start().await;
    let sales: Value = shown.client().get("/api/sales").await.expect(200).json();
    assert!(sales["sales"].as_array().unwrap().len() >= 3, "{sales}");
}

#[tokio::test]
async fn health_and_metrics_are_served_on_the_ops_address() {
    let (shop, sale) = Shop::selling(Rung::Sqlite, NewSale::of(2)).await;
    let order = shop.shopper(1).buy_one(&sale).await;
    shop.shopper(1).cancel(&sale, &order).await.expect(200);
    shop.shopper(2).buy_one(&sale).await;
    let ops = shop.ops(0);
    ops.get("/livez").await.expect(200);
    ops.get("/readyz").await.expect(200);
    let ready = ops.get("/healthz").await.expect(200).json();
    assert_eq!((&ready["ready"], &ready["parts"][0]["name"]), (&true.into(), &"database".into()));
    let metrics = ops.get("/metrics").await.expect(200).text();
    let number = |name: &str| {
        let line = metrics.lines().find_map(|line| line.strip_prefix(&format!("{name} ")));
        line.unwrap_or_else(|| panic!("no {name} in {metrics}")).parse::<f64>().unwrap()
    };
    assert_eq!(number("seckill_purchases_asked_total"), 2.0);
    assert_eq!(number("seckill_purchases_reserved_total"), 2.0);
    assert_eq!(number("seckill_orders_cancelled_total"), 1.0);
    assert!(number("seckill_button_reads_total") >= 1.0);
    assert!(metrics.contains("seckill_facts_replicas_left 0"), "{metrics}");
    assert!(metrics.contains("seckill_payment_cases_total{kind=\"mismatched\"} 0"), "{metrics}");
    assert!(metrics.contains("seckill_purchases_refused_total{reason=\"sold_out\"} 0"), "{metrics}");
    assert!(metrics.contains("seckill_reserve_batch_size_count"), "{metrics}");
    assert!(metrics.ends_with("# EOF\n"));
    // None of these paths exists on the shop's address.
    for path in ["/metrics", "/readyz", "/healthz", "/livez"] {
        shop.client().get(path).await.expect(404);
    }
}

/// A load balancer sends shoppers to a server as soon as `/readyz` is 200.
#[tokio::test]
async fn ready_process_answers_shoppers() {
    let mut shop = Shop::start(Rung::Sqlite).await;
    for _ in 0..10 {
        shop.processes[0].restart();
        let (ops, client) = (shop.ops(0), shop.client());
        let deadline = Instant::now() + TIMEOUT;
        // Without a pause, so that the request follows readiness at once.
        while !ops.request(Method::GET, "/readyz").try_send().await.is_ok_and(|answer| answer.status == 200) {
            assert!(Instant::now() < deadline, "it does not become ready");
        }
        client.get("/en/").await.expect(200);
    }
}

/// Redis and RabbitMQ are away; `1` is no port of theirs.
#[tokio::test]
async fn process_without_redis_and_rabbitmq_serves_pages_and_log_in() {
    let away = [("SECKILL_REDIS_URL", "redis://127.0.0.1:1"), ("SECKILL_AMQP_URL", "amqp://guest:sesame@127.0.0.1:1")];
    let plan = Plan::on(Rung::Sqlite).await.set("SECKILL_DEMO", "true");
    let mut shop = away.iter().fold(plan, |plan, (name, url)| plan.set(name, url)).launch();
    eventually("it is ready", TIMEOUT, async || {
        shop.processes[0].check();
        let answer = shop.ops(0).request(Method::GET, "/readyz").try_send().await?;
        if answer.status == 200 { Ok(()) } else { Err(answer.text()) }
    })
    .await;
    let client = shop.client();
    client.get("/en/").await.expect(200);
    let sales = client.get("/api/sales").await.expect(200).json();
    let sale = sales["sales"].as_array().unwrap().iter().find(|sale| sale["mode"] == "rush").unwrap();
    let button = client.get(&format!("/api/sales/{}/button", sale["id"].as_str().unwrap())).await.expect(200).json();
    assert!(button["phase"] != "open" && button["total"].as_i64() > Some(0), "{button}");
    let account = serde_json::json!({"username": "mei", "password": "correct horse"});
    client.post("/api/register", account.clone()).await.expect(201);
    client.post("/api/login", account).await.expect(200);
    client.get("/api/orders").await.expect(200);
    let health = shop.ops(0).get("/healthz").await.expect(503).json();
    let away_parts = health["parts"].as_array().unwrap().iter().filter(|part| part["ok"] == false).count();
    assert_eq!(away_parts, 2, "{health}");
    let log = shop.processes[0].log();
    assert!(away.iter().all(|(name, _)| log.contains(&format!("({name}) is away"))), "{log}");
    assert!(!log.contains("sesame") && !log.contains('\u{1b}'), "no secrets and no colours: {log}");
}

/// A process whose start waits, and what it says about that at both of its addresses.
async fn waits_for(shop: &mut Shop, reason: &str) {
    eventually("it says what it waits for", TIMEOUT, async || {
        shop.processes[0].check();
        let ready = shop.ops(0).request(Method::GET, "/readyz").try_send().await?;
        if ready.status == 503 && ready.text().contains(reason) { Ok(()) } else { Err(ready.text()) }
    })
    .await;
    shop.ops(0).get("/livez").await.expect(200);
    shop.ops(0).request(Method::GET, "/healthz").send().await.expect(503);
    let client = shop.client();
    let page =
        eventually("the shop answers", TIMEOUT, async || client.request(Method::GET, "/zh/").try_send().await).await;
    let page = page.expect(503);
    assert!(page.headers.contains_key("retry-after"), "{page:?}");
    for words in ["商店的某项服务暂时不可用，你", "One of our services is down. Y"] {
        assert!(page.text().contains(words), "{}", page.text());
    }
    client.request(Method::GET, "/api/sales").send().await.expect_problem(503, "unavailable");
}

/// A start that waits for the database can be seen, and ended at once. `1` is no port of a database.
#[tokio::test]
async fn process_without_database_says_what_it_waits_for_and_ends_at_once() {
    let url = "postgres://shop:sesame@127.0.0.1:1/shop";
    let mut shop = Plan::on(Rung::Sqlite).await.set("SECKILL_DATABASE_URL", url).launch();
    waits_for(&mut shop, "waiting for the database (SECKILL_DATABASE_URL)").await;
    let ready = shop.ops(0).request(Method::GET, "/readyz").send().await.text();
    assert!(!ready.contains("sesame"), "{ready}");
    shop.processes[0].terminate();
    assert!(shop.processes[0].ended(TIMEOUT).await.success());
    assert!(shop.processes[0].log().contains("signal received during the start"));
}

#[tokio::test]
async fn process_that_waits_for_migrations_says_so_and_then_opens() {
    let mut shop = Plan::on(Rung::Sqlite).await.set("SECKILL_MIGRATE", "wait").launch();
    waits_for(&mut shop, "run: seckill migrate").await;
    assert!(shop.run(&["migrate"]).await.status.success());
    shop.wait_until_ready().await;
    shop.client().get("/en/").await.expect(200);
}

/// A program of an older version goes on until a migration says that it cannot.
#[tokio::test]
async fn newer_schema_is_named_and_stops_only_those_that_cannot_work_with_it() {
    let mut shop = Shop::start(Rung::Sqlite).await;
    shop.processes[0].kill();
    let mut connection = shop.database().await;
    let newer = "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
                 VALUES (9999, 'later', 1, X'00', 1)";
    sqlx::query(newer).execute(&mut connection).await.unwrap();
    shop.processes[0].start();
    shop.wait_until_ready().await;
    assert!(shop.processes[0].log().contains("a newer program has migrated the database"));
    let doctor = shop.run(&["doctor"]).await;
    let text = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(doctor.status.success() && text.contains("applied migration 9999"), "{text}");

    sqlx::query("UPDATE schema_floor SET version = 9999").execute(&mut connection).await.unwrap();
    for (command, code) in [("migrate", 2), ("doctor", 1), ("serve", 2)] {
        let done = shop.run(&[command]).await;
        let text = String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned();
        assert!(done.status.code() == Some(code) && text.contains("start the newer version"), "{command}: {text}");
    }
}

#[tokio::test]
async fn migrations_can_be_listed_and_left_to_a_job() {
    let shop = Plan::on(Rung::Sqlite).await.set("SECKILL_MIGRATE", "off").launch();
    let run = async |words: &[&str]| {
        let done = shop.run(words).await;
        (done.status.code(), String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned())
    };
    let (code, text) = run(&["serve"]).await;
    assert!(code == Some(2) && text.contains("run: seckill migrate"), "{text}");
    let (code, text) = run(&["migrate", "--dry-run"]).await;
    assert!(code == Some(0) && text.contains("pending: 1 shop") && !text.contains("\n0 migrations"), "{text}");
    assert_eq!(run(&["migrate"]).await.0, Some(0));
    assert_eq!(run(&["migrate", "--dry-run"]).await, (Some(0), "0 migrations are pending\n".to_owned()));
    assert_eq!(run(&["serve", "--dry-run"]).await.0, Some(2));
}

/// What a doctor says stands alone: no line of a driver before it.
#[tokio::test]
async fn doctor_says_in_plain_words_what_is_wrong() {
    let shop = Shop::start(Rung::Sqlite).await;
    let settings = shop.processes[0].settings().clone();
    let doctor = async |changes: &[(&str, &str)]| {
        let mut settings = settings.clone();
        settings.extend(changes.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        let done = run(&settings, std::path::Path::new("/"), &["doctor"]).await;
        assert_eq!(String::from_utf8_lossy(&done.stderr), "");
        (done.status.code(), String::from_utf8_lossy(&done.stdout).into_owned())
    };
    let healthy = doctor(&[]).await;
    assert_eq!(healthy.0, Some(0), "{}", healthy.1);
    let other = doctor(&[("SECKILL_SECRET", "0123456789abcdef".repeat(4).as_str())]).await;
    assert!(other.0 == Some(1) && other.1.contains("another secret"), "{}", other.1);
    let https = ("SECKILL_PUBLIC_URL", "https://shop.example");
    let unnamed = doctor(&[https]).await;
    assert!(unnamed.0 == Some(1) && unnamed.1.contains("name its address in SECKILL_TRUSTED_PROXIES"), "{}", unnamed.1);
    let named = doctor(&[https, ("SECKILL_TRUSTED_PROXIES", "127.0.0.1")]).await;
    assert!(named.0 == Some(0) && named.1.contains("ok    proxy"), "{}", named.1);
    let away = [
        ("SECKILL_DATABASE_URL", "postgres://127.0.0.1:1/shop"),
        ("SECKILL_REDIS_URL", "redis://127.0.0.1:1"),
        ("SECKILL_AMQP_URL", "amqp://u:sesame@127.0.0.1:1,amqp://u:sesame@127.0.0.1:2"),
    ];
    let (code, text) = doctor(&away).await;
    let named =
        ["database: nothing listens at 127.0.0.1:1;", "redis master: nothing listens", "rabbitmq: nothing listens"];
    assert!(code == Some(1) && named.iter().all(|words| text.contains(words)), "{text}");
    assert!(text.matches("rabbitmq: ").count() == 2 && !text.contains("sesame"), "{text}");

    let mut few = std::process::Command::new("sh");
    few.args(["-c", "ulimit -n 256; exec \"$0\" doctor"]);
    few.arg(program(&settings, std::path::Path::new("/"), &[]).get_program()).env_clear().envs(&settings);
    let few = tokio::task::spawn_blocking(move || few.output()).await.unwrap().unwrap();
    let text = String::from_utf8_lossy(&few.stdout);
    assert!(few.status.code() == Some(1) && text.contains("could hold only 64 connections"), "{text}");

    shop.open(NewSale::of(1)).await;
    let mut connection = shop.database().await;
    let elsewhere =
        "INSERT INTO pictures (name, width, height, placeholder, touched_at_ms) VALUES ('u-0', 0, 0, '', 0);
                     INSERT INTO goods_pictures (goods_id, place, picture) SELECT id, 9, 'u-0' FROM goods";
    sqlx::raw_sql(elsewhere).execute(&mut connection).await.unwrap();
    let (code, text) = doctor(&[]).await;
    assert!(code == Some(1) && text.contains("1 uploaded pictures are not in "), "{text}");
}

#[tokio::test]
async fn maintenance_commands_succeed() {
    let shop = Shop::start(Rung::Sqlite).await;
    shop.open(NewSale::of(2)).await;
    shop.audit_is_clean().await;
    for command in ["migrate", "doctor"] {
        let done = shop.run(&[command]).await;
        assert!(done.status.success(), "{command}: {done:?}");
    }
    let pages = shop.dir().join("data/pages");
    std::fs::remove_dir_all(&pages).unwrap();
    assert!(shop.run(&["render"]).await.status.success());
    assert!(pages.join("zh/index.html").exists() && pages.join("en/index.html.br").exists());
}

#[tokio::test]
async fn audit_finds_a_violation() {
    let (shop, sale) = Shop::selling(Rung::Sqlite, NewSale::of(5)).await;
    shop.shopper(1).buy_one(&sale).await;
    let mut connection = shop.database().await;
    sqlx::query("UPDATE sales SET sold = 3").execute(&mut connection).await.unwrap();
    let audit = shop.run(&["audit"]).await;
    let text = String::from_utf8_lossy(&audit.stdout);
    assert_eq!(audit.status.code(), Some(1), "{text}");
    assert!(text.contains("FAIL") && text.contains("sale 1: 3 sold, 1 in live orders"), "{text}");
    let today = &Clock::system().now().to_string()[..10];
    let audit = shop.run(&["audit", "--since", today]).await;
    let text = String::from_utf8_lossy(&audit.stdout);
    assert_eq!(audit.status.code(), Some(1), "{text}");
    for part in ["since 20", "(sales that changed)", "FAIL", "sale 1: 3 sold, 1 in live orders"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    for wrong in [&["--since", "2000-01-01"][..], &["--since", today, "--resume"]] {
        let refused = shop.run(&[&["audit"], wrong].concat()).await;
        assert_eq!(refused.status.code(), Some(2), "{wrong:?}");
    }
}

#[tokio::test]
async fn draining_server_is_not_ready_and_still_sells() {
    let (mut shop, sale) = Plan::on(Rung::Sqlite).await.set("SECKILL_DRAIN", "3s").open(NewSale::of(10)).await;
    let (early, late) = (shop.shopper(1), shop.shopper(2));
    early.buy_one(&sale).await;
    shop.processes[0].terminate();
    shop.ops(0).wait_for("/readyz", 503, TIMEOUT).await;
    // An open connection notices at its next check, within a second.
    let read = async || shop.client().get("/api/ping").await.expect(204);
    until("answers end their connections", TIMEOUT, read, |answer| answer.header("connection") == "close").await;
    late.buy_one(&sale).await;
    assert!(shop.processes[0].ended(TIMEOUT).await.success());
}
