//! The torture with real providers: three stand-ins that keep state in files, that lie and die with `kill -9` like every
//! process of the shop, while customers pay, cancel, pay twice and are refunded. At the end the shop's books are those of the
//! stand-ins to the cent, and the bills agree with the books.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::http::Method;
use base::clock::Clock;
use futures::StreamExt;
use jiff::tz::Offset;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Row};
use store::{AuditReason, CaseAction, Store};

use super::Options;
use crate::support::{Client, NewSale, Plan, Rung, Shop, Shopper, eventually, free_address, pause, seed};

const ORDERS: u64 = 480;
/// Customers at the same time.
const CONCURRENCY: usize = 40;
/// The share of requests that a stand-in answers with a lie.
const LIES: &str = "0.1";
const SETTLE_TIMEOUT: Duration = Duration::from_secs(240);
const V3_KEY: &str = "0123456789abcdef0123456789abcdef";
/// The bills are a day early, so that they are of a day that is over.
const BILL_AGO: Duration = Duration::from_secs(24 * 3600);

/// A stand-in. What it knows outlives its process.
struct Fake {
    name: &'static str,
    arguments: &'static [&'static str],
    port: u16,
    state: PathBuf,
    child: Mutex<Option<Child>>,
    lines: Mutex<Option<(ChildStdin, BufReader<ChildStdout>)>>,
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/providers")
}

impl Fake {
    fn all(dir: &Path) -> [Arc<Fake>; 3] {
        let arguments: [(&str, &[&str]); 3] = [
            ("stripe", &["sk_test_0123456789", "whsec_0123456789"]),
            ("wechatpay", &["1900000001", "wx0123456789abcdef", "1DDE55AD98ED71D6", V3_KEY]),
            ("alipay", &["2021000000000001", "2088000000000001"]),
        ];
        arguments.map(|(name, arguments)| {
            let (port, state) = (free_address().port(), dir.join(format!("{name}.state")));
            Arc::new(Fake { name, arguments, port, state, child: Mutex::default(), lines: Mutex::default() })
        })
    }

    fn api(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    fn start(&self) {
        let mut command = Command::new("node");
        command.arg(folder().join(format!("{}.mjs", self.name))).args(self.arguments);
        command
            .env("STAND_IN_PORT", self.port.to_string())
            .env("STAND_IN_STATE", &self.state)
            .env("STAND_IN_LIES", LIES);
        command.env("STAND_IN_BILL_AGO", BILL_AGO.as_secs().to_string());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("node is not installed");
        let (input, mut output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        *locked(&self.child) = Some(child);
        let mut port = String::new();
        let _ = output.read_line(&mut port);
        *locked(&self.lines) = Some((input, output));
    }

    /// Sends `kill -9`.
    fn kill(&self) {
        if let Some(mut child) = locked(&self.child).take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// `None`: its process was killed, and whether it did what it was told is not known.
    async fn ask(self: &Arc<Fake>, command: Value) -> Option<Value> {
        let fake = self.clone();
        let asked = move || {
            let mut lines = locked(&fake.lines);
            let (input, output) = lines.as_mut()?;
            let mut answer = String::new();
            writeln!(input, "{command}").ok()?;
            output.read_line(&mut answer).ok()?;
            serde_json::from_str(&answer).ok()
        };
        tokio::task::spawn_blocking(asked).await.ok()?
    }

    /// Asks until there is an answer.
    async fn insist(self: &Arc<Fake>, command: Value) -> Value {
        loop {
            match self.ask(command.clone()).await {
                Some(answer) => return answer,
                None => pause(100).await,
            }
        }
    }

    /// What it has of each payment of the shop after refunds.
    async fn books(self: &Arc<Fake>) -> BTreeMap<String, i64> {
        let state = self.insist(json!({"do": "state"})).await;
        assert_eq!(state["faults"], json!([]), "{}: the shop's requests differ from the client's", self.name);
        let list = |name: &str| state[name].as_array().cloned().unwrap_or_default();
        let number = |value: &Value| value.as_i64().unwrap_or_default();
        let id = |value: &Value| {
            let text = value.as_str().unwrap_or_default();
            text.parse::<uuid::Uuid>().map_or_else(|_| text.to_owned(), |id| id.to_string())
        };
        let entry = |row: &Value| match self.name {
            "stripe" => {
                let intent = &row["payment_intent"];
                let back = list("refunds")
                    .iter()
                    .filter(|made| made["payment_intent"] == *intent)
                    .map(|made| number(&made["amount"]))
                    .sum::<i64>();
                let paid = if row["payment_status"] == "paid" { number(&row["amount_total"]) - back } else { 0 };
                (id(&row["client_reference_id"]), paid)
            }
            "wechatpay" => {
                let is_paid = matches!(row["trade_state"].as_str(), Some("SUCCESS" | "REFUND"));
                let paid = number(&row["asked"]["amount"]["total"]) - number(&row["refunded"]);
                (id(&row["asked"]["out_trade_no"]), if is_paid { paid } else { 0 })
            }
            _ => {
                let is_paid = row["trade_status"] == "TRADE_SUCCESS";
                (id(&row["out_trade_no"]), if is_paid { number(&row["amount"]) - number(&row["refunded"]) } else { 0 })
            }
        };
        let rows = [list("sessions"), list("orders"), list("trades")].concat();
        rows.iter().map(entry).filter(|(_, amount)| *amount != 0).collect()
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The settings of a shop that is paid at the stand-ins.
fn settings(fakes: &[Arc<Fake>; 3]) -> Vec<(&'static str, String)> {
    let [stripe, wechatpay, alipay] = fakes;
    let key = |name: &str| folder().join("keys").join(name).display().to_string();
    let text = |text: &str| text.to_owned();
    vec![
        ("SECKILL_PAYMENTS", text("stripe,wechatpay,alipay")),
        ("SECKILL_STRIPE_SECRET_KEY", text("sk_test_0123456789")),
        ("SECKILL_STRIPE_WEBHOOK_SECRET", text("whsec_0123456789")),
        ("SECKILL_STRIPE_API", stripe.api()),
        ("SECKILL_WECHATPAY_MCHID", text("1900000001")),
        ("SECKILL_WECHATPAY_APPID", text("wx0123456789abcdef")),
        ("SECKILL_WECHATPAY_SERIAL", text("1DDE55AD98ED71D6")),
        ("SECKILL_WECHATPAY_KEY_FILE", key("merchant.key")),
        ("SECKILL_WECHATPAY_V3_KEY", text(V3_KEY)),
        ("SECKILL_WECHATPAY_API", wechatpay.api()),
        ("SECKILL_ALIPAY_APP_ID", text("2021000000000001")),
        ("SECKILL_ALIPAY_SELLER_ID", text("2088000000000001")),
        ("SECKILL_ALIPAY_KEY_FILE", key("merchant.key")),
        ("SECKILL_ALIPAY_PUBLIC_KEY_FILE", key("platform_a.pem")),
        ("SECKILL_ALIPAY_API", alipay.api()),
    ]
}

/// What customers and payers use while everything dies.
struct World {
    sale: String,
    client: Client,
    admin: Client,
    fakes: [Arc<Fake>; 3],
}

/// A payment that was begun, and its name at the stand-in.
struct Begun(Arc<Fake>, String);

impl World {
    async fn customer(&self, n: u64, shopper: Shopper, mut random: StdRng) {
        let Some(order) = shopper.insist_on_a_unit(&self.sale).await else { return };
        let path = format!("/api/sales/{}/orders/{order}", self.sale);
        let Some(begun) = self.begin(&shopper, &path, n).await else { return };
        let cancel = format!("{path}/cancel");
        match n / 3 % 10 {
            0 => {}
            1 => {
                shopper.client.insist(&cancel, &Value::Null).await;
                self.pay(&begun, &mut random, 0.5).await;
            }
            // Every notice is lost.
            2 => self.pay(&begun, &mut random, 1.0).await,
            3 => {
                let cancelled = shopper.client.insist(&cancel, &Value::Null);
                tokio::join!(self.pay(&begun, &mut random, 0.3), cancelled);
            }
            4 => {
                let other = self.begin(&shopper, &path, n + 1).await;
                self.pay(&begun, &mut random, 0.5).await;
                if let Some(other) = other {
                    self.pay(&other, &mut random, 0.5).await;
                }
            }
            5 | 6 => {
                self.pay(&begun, &mut random, 0.1).await;
                let part = json!({"amount": {"amount": 500, "currency": "CNY"}, "to": "payer", "reason": "scratched"});
                self.admin.insist(&format!("/api/admin/orders/{order}/refund-part"), &part).await;
                if n.is_multiple_of(2) {
                    self.admin.insist(&format!("/api/admin/orders/{order}/refund"), &json!({"reason": "x"})).await;
                }
            }
            _ => self.pay(&begun, &mut random, 0.2).await,
        }
    }

    /// Begins a payment, once the order can be paid.
    async fn begin(&self, shopper: &Shopper, path: &str, provider: u64) -> Option<Begun> {
        let fake = &self.fakes[(provider % 3) as usize];
        for _ in 0..60 {
            let (status, begun) =
                shopper.client.insist(&format!("{path}/payments"), &json!({"provider": fake.name})).await;
            if status != 201 {
                pause(100).await;
                continue;
            }
            let url = begun["checkout_url"].as_str().unwrap_or_default();
            let name = match fake.name {
                "stripe" => url.rsplit('/').next().unwrap_or_default().to_owned(),
                "wechatpay" => begun["scan"]["text"].as_str()?.rsplit('=').next()?.to_owned(),
                _ => {
                    let trade = fake.insist(json!({"do": "open", "url": url})).await;
                    trade["out_trade_no"].as_str()?.to_owned()
                }
            };
            return Some(Begun(fake.clone(), name));
        }
        None
    }

    /// The payer pays, and the provider tells the shop: late, twice, in another order, or not at all.
    async fn pay(&self, Begun(fake, payment): &Begun, random: &mut StdRng, lost: f64) {
        let paid = fake.insist(json!({"do": "pay", "payment": payment})).await;
        let mut events = paid["events"].as_array().cloned().unwrap_or_default();
        if random.random_bool(0.3) {
            events.extend(events.clone());
        }
        events.shuffle(random);
        for event in events.into_iter().filter(|_| !random.random_bool(lost)).collect::<Vec<_>>() {
            pause(random.random_range(0..400)).await;
            let command = json!({"do": "sign", "event": event, "at": Clock::system().now().as_second()});
            let signed = fake.insist(command).await;
            let Some(headers) = signed["headers"].as_object() else { continue };
            let path = format!("/api/webhooks/payments/{}", fake.name);
            let mut request = self.client.request(Method::POST, &path);
            for name in HEADERS {
                request = match headers.get(name).and_then(Value::as_str) {
                    Some(value) => request.header(name, value),
                    None => request,
                };
            }
            let kind = headers["content-type"].as_str().unwrap_or_default();
            let kind = if kind.contains("form") {
                "application/x-www-form-urlencoded; charset=utf-8"
            } else {
                "application/json"
            };
            let body = signed["body"].as_str().unwrap_or_default().to_owned();
            let _ = request.body(kind, body).try_send().await;
        }
    }
}

const HEADERS: [&str; 5] =
    ["stripe-signature", "wechatpay-timestamp", "wechatpay-nonce", "wechatpay-serial", "wechatpay-signature"];

async fn kill_fakes_until(fakes: &[Arc<Fake>; 3], seed: u64, ended: &Cell<bool>) -> u32 {
    let (mut random, mut kills) = (StdRng::seed_from_u64(seed ^ 1), 0);
    while !ended.get() {
        pause(random.random_range(500..3000)).await;
        let fake = fakes[random.random_range(0..3)].clone();
        let down = Duration::from_millis(random.random_range(0..1500));
        let restart = move || {
            fake.kill();
            std::thread::sleep(down);
            fake.start();
        };
        tokio::task::spawn_blocking(restart).await.expect("a stand-in starts");
        kills += 1;
    }
    kills
}

/// Staff refund what can be refunded, and settle the rest. Returns the number of cases.
pub async fn decide(store: &Store) -> Result<usize, String> {
    let reason = AuditReason { actor: "li", note: "seen", message: None };
    let cases = store.payments().payment_cases(false, None, 200).await.map_err(|error| error.to_string())?;
    for case in &cases {
        let action = if case.takes_refund() { CaseAction::Refund } else { CaseAction::Settle };
        store.payments().apply_case_action(case, action, reason).await.map_err(|error| error.to_string())?;
    }
    Ok(cases.len())
}

async fn rows(shop: &Shop, sql: &str) -> Vec<(String, i64)> {
    let mut connection = shop.database().await;
    let rows = sqlx::query(AssertSqlSafe(sql.to_owned())).fetch_all(&mut connection).await.unwrap();
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}

/// One run. Returns what differs.
async fn run(seed: u64) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    let fakes = Fake::all(dir.path());
    fakes.iter().for_each(|fake| fake.start());
    let roles = ["serve", "serve", "relay", "relay", "consume", "consume", "control", "control"];
    let mut plan = Plan::on(Rung::Rabbit).await.roles(&roles).set("SECKILL_PAYMENT_WINDOW", "20s");
    plan = plan.set("SECKILL_USER_RATE", "1000").set("SECKILL_SECOND_PERSON_ABOVE", "off");
    for (name, value) in settings(&fakes) {
        plan = plan.set(name, &value);
    }
    let (mut shop, sale) = plan.open(NewSale::of(ORDERS as i64)).await;
    let shoppers = shop.shoppers();
    let admin = shop.admin().await.cookie().unwrap();
    let world = World { sale, client: shop.client(), admin: shop.client().with_cookie(&admin), fakes };
    let ended = Cell::new(false);
    let customers = async {
        let random = |n| StdRng::seed_from_u64(seed ^ (n << 8));
        let all = futures::stream::iter(1..=ORDERS).map(|n| world.customer(n, shoppers(n), random(n)));
        all.buffer_unordered(CONCURRENCY).collect::<Vec<()>>().await;
        ended.set(true);
    };
    let ((), processes, stand_ins) =
        tokio::join!(customers, shop.kill_until(seed, 100..1500, &ended), kill_fakes_until(&world.fakes, seed, &ended));
    shop.wait_until_ready().await;

    let store = shop.store();
    let open = "SELECT 'open', (SELECT COUNT(*) FROM orders WHERE status IN ('unpaid', 'refund_pending'))
        + (SELECT COUNT(*) FROM payments WHERE status = 'refund_pending' OR close_at_ms IS NOT NULL)
        + (SELECT COUNT(*) FROM partial_refunds WHERE refunded_at_ms IS NULL)";
    eventually("every payment has ended", SETTLE_TIMEOUT, async || {
        let cases = decide(&store).await?;
        match rows(&shop, open).await[0].1 {
            0 if cases == 0 => Ok(()),
            left => Err(format!("{left} orders, payments or refunds and {cases} cases are open")),
        }
    })
    .await;
    let mut wrong = compare(&shop, &world.fakes).await;
    wrong.extend(settle(&shop, &world.fakes).await);
    let paid = rows(&shop, "SELECT status, COUNT(*) FROM orders GROUP BY status ORDER BY status").await;
    println!(
        "seed {seed}: {processes} processes and {stand_ins} stand-ins were killed; orders {paid:?}; {} differences",
        wrong.len()
    );
    shop.audit_is_clean().await;
    wrong
}

/// The books of the shop against those of the stand-ins, payment by payment.
async fn compare(shop: &Shop, fakes: &[Arc<Fake>; 3]) -> Vec<String> {
    let mut wrong = Vec::new();
    for fake in fakes {
        let sql = format!(
            "SELECT id, amount - refunded_in_parts FROM payments
             WHERE provider = '{}' AND status = 'captured' AND amount > refunded_in_parts",
            fake.name
        );
        let (here, there) = (rows(shop, &sql).await.into_iter().collect::<BTreeMap<_, _>>(), fake.books().await);
        let ids = here.keys().chain(there.keys().filter(|id| !here.contains_key(*id)));
        let differs = ids.filter(|id| here.get(*id) != there.get(*id));
        wrong.extend(
            differs.map(|id| format!("{} {id}: here {:?}, there {:?}", fake.name, here.get(id), there.get(id))),
        );
        assert!(there.len() > 10, "there was little to see at {}", fake.name);
    }
    // Each paid order is paid once, and no other keeps money.
    let sql = "SELECT o.id || ' ' || o.status, COUNT(p.id) FROM orders o
         LEFT JOIN payments p ON p.order_id = o.id AND p.status = 'captured'
         GROUP BY o.id, o.status HAVING COUNT(p.id) <> CASE WHEN o.status = 'paid' THEN 1 ELSE 0 END";
    wrong.extend(rows(shop, sql).await.into_iter().map(|(order, paid)| format!("order {order} is paid {paid} times")));
    wrong
}

/// The bills against the books. The stand-ins still lie, so it is tried again.
async fn settle(shop: &Shop, fakes: &[Arc<Fake>; 3]) -> Vec<String> {
    let mut wrong = Vec::new();
    for fake in fakes {
        let zone = Offset::constant(if fake.name == "stripe" { 0 } else { 8 });
        let day = zone.to_datetime(Clock::system().now() - BILL_AGO).date().to_string();
        for attempt in 1.. {
            let done = shop.run(&["settle", "--day", &day, "--provider", fake.name]).await;
            let text = String::from_utf8_lossy(&done.stdout).into_owned();
            match done.status.code() {
                Some(0) => println!("{text}"),
                Some(2) if attempt < 30 => continue,
                _ => wrong.push(format!("{text}{}", String::from_utf8_lossy(&done.stderr))),
            }
            break;
        }
    }
    let listed = shop.admin().await.get("/api/admin/settlements").await.json();
    for fake in fakes {
        let settled = listed["settlements"].as_array().into_iter().flatten().find(|day| day["provider"] == fake.name);
        let status = settled.map(|day| day["status"].clone());
        wrong.extend((status != Some("agreed".into())).then(|| format!("{} is listed as {status:?}", fake.name)));
        let has = fake.insist(json!({"do": "state"})).await["sums"].clone();
        let sum = |kind: &str| {
            let sums = settled.and_then(|day| day["sums"].as_array()).into_iter().flatten();
            sums.filter(|sum| sum["kind"] == kind).filter_map(|sum| sum["there"]["amount"].as_i64()).sum::<i64>()
        };
        let billed = [("captured", sum("charge")), ("refunded", sum("refund"))];
        let differs = billed.into_iter().filter(|(name, amount)| has[name] != *amount);
        wrong
            .extend(differs.map(|(name, amount)| format!("{} has {name} {}, the bill {amount}", fake.name, has[name])));
    }
    wrong
}

pub async fn torture() {
    let (options, first) = (Options::from_environment(0), seed());
    let mut broken = Vec::new();
    for seed in (first..).take(options.runs as usize) {
        let wrong = run(seed).await;
        wrong.iter().for_each(|wrong| println!("!! {wrong}"));
        if !wrong.is_empty() {
            broken.push(seed);
        }
    }
    println!("{} runs, {} with differences", options.runs, broken.len());
    assert!(broken.is_empty(), "broken seeds: {broken:?}");
}
