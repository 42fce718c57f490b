//! Whether every answer was true, once the faults are lifted and the shop has settled.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use axum::http::Method;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::{Bucket, OrderStatus, SaleId, UserId};
use engine::redis::keys;
use futures::future::join_all;
use futures::stream::{self, StreamExt};
use redis::AsyncCommands;
use serde_json::Value;
use sqlx::{AnyConnection, Connection, Row};
use tokio::time::Instant;
use uuid::Uuid;

use super::admin::AdminDiary;
use super::customer::{Diary, ToldOrder, may_reach};
use crate::support::{Answer, Client, Shop, Shopper, pause};

/// How long the shop may take to settle once the faults are lifted. A reload of lost keys takes up to a minute by
/// itself.
pub const SETTLE_TIMEOUT: Duration = Duration::from_secs(120);
/// How long a process may take to reach all services again, on a busy machine.
const READY_TIMEOUT: Duration = Duration::from_secs(45);
/// Patience of checks that follow a broken answer. They tell more about it, but need not wait for what will not come.
const BROKEN_PATIENCE: Duration = Duration::from_secs(15);
const READ_TIMEOUT: Duration = Duration::from_secs(8);
const CONCURRENT_READS: usize = 16;
/// How many more shoppers come late than there are units left.
const LATE_SHOPPERS: u64 = 5;

/// The findings.
#[derive(Default)]
pub struct Verdict {
    /// Empty if every answer was true.
    pub broken: Vec<String>,
    /// The orders and reservations in answers, counted by their end.
    pub ends: BTreeMap<String, u32>,
    /// How long settling took.
    pub settled_after: Duration,
}

/// Looks until nothing is found, for this time at most. Returns what was found last.
pub async fn until_none(within: Duration, interval_ms: u64, mut look: impl AsyncFnMut() -> Vec<String>) -> Vec<String> {
    let deadline = Instant::now() + within;
    loop {
        let found = look().await;
        if found.is_empty() || Instant::now() >= deadline {
            return found;
        }
        pause(interval_ms).await;
    }
}

/// Waits until every process is ready. Returns the ones that are not.
pub async fn wait_until_ready(shop: &Shop) -> Vec<String> {
    let look = async || {
        let mut waiting = Vec::new();
        for n in 0..shop.processes.len() {
            let name = format!("process {n} {:?} is not ready", shop.processes[n].role);
            match shop.ops(n).request(Method::GET, "/healthz").try_send().await {
                Ok(answer) if answer.status == 200 => {}
                Ok(answer) => waiting.push(format!("{name}: {}", answer.text())),
                Err(error) => waiting.push(format!("{name}: {error}")),
            }
        }
        waiting
    };
    until_none(READY_TIMEOUT, 200, look).await
}

/// Judges a shop whose faults are lifted. Orders that are still unpaid when `window` is over must expire. Sales in
/// `compared` have no units for late shoppers.
pub async fn judge(
    shop: &Shop,
    (sales, compared): (&[String], &[String]),
    diaries: &[&Diary],
    window: Option<Duration>,
) -> Verdict {
    let (mut verdict, began) = (Verdict::default(), Instant::now());
    let mut ends = Ends::default();
    ends.wait(diaries, window, &mut verdict).await;
    verdict.settled_after = began.elapsed();
    for diary in diaries {
        verdict.broken.extend(diary.untrue.iter().cloned());
        for order in &diary.orders {
            if let Some(json) = ends.0.get(&order.id) {
                check_end(diary, order, json, &mut verdict);
            }
        }
    }
    // Reconciliation compares every five seconds. It repairs a difference that it has seen twice.
    let all = [sales, compared].concat();
    agree(shop, &all, &mut verdict).await;
    everything_sells(shop, sales, window, &mut verdict).await;
    agree(shop, &all, &mut verdict).await;
    verdict.broken.extend(payments_end(shop, diaries).await.unwrap_or_else(|error| vec![format!("payments: {error}")]));
    audit(shop, &mut verdict).await;
    verdict
}

/// The answers about orders that have settled, by order.
#[derive(Default)]
struct Ends(HashMap<String, Value>);

impl Ends {
    /// Asks until every order has an end that its owner can read.
    async fn wait(&mut self, diaries: &[&Diary], window: Option<Duration>, verdict: &mut Verdict) {
        let deadline = Instant::now() + SETTLE_TIMEOUT + window.unwrap_or_default();
        loop {
            let open = diaries.iter().flat_map(|diary| (0..diary.orders.len()).map(move |n| (diary, n)));
            let open = open.filter(|(diary, n)| !self.0.contains_key(&diary.orders[*n].id));
            let asked: Vec<_> =
                stream::iter(open.map(|(diary, n)| ask(diary, n, window.is_some() && !diary.orders[n].is_lasting)))
                    .buffer_unordered(CONCURRENT_READS)
                    .collect()
                    .await;
            let mut waiting = Vec::new();
            for answer in asked {
                match answer {
                    Ok((id, order)) => drop(self.0.insert(id, order)),
                    Err(why) => waiting.push(why),
                }
            }
            if waiting.is_empty() {
                return;
            }
            if Instant::now() >= deadline {
                verdict.broken.extend(waiting);
                return;
            }
            pause(400).await;
        }
    }
}

/// Asks about one order. Returns its id and its end, or why it has none.
async fn ask(diary: &Diary, n: usize, expires: bool) -> Result<(String, Value), String> {
    let order = &diary.orders[n];
    let what = format!("order {} of shopper {} in sale {}", order.id, diary.n, order.sale);
    let answer = read(&diary.shopper.client, &diary.page(n)).await.map_err(|error| format!("{what}: {error}"))?;
    if answer.status != 200 {
        return Err(format!("{what}: {} {}, told {:?}", answer.status, answer.code(), order.last));
    }
    let json = answer.json()["order"].take();
    let status = json["status"].as_str().unwrap_or_default();
    let moves = matches!(status, "reserved" | "refund_pending") || (expires && status == "unpaid");
    // A payment that was accepted reaches the order a moment later.
    if moves || (!order.payments.is_empty() && matches!(status, "unpaid" | "cancelled")) {
        return Err(format!("{what} is still {status}: {json}"));
    }
    Ok((order.id.clone(), json))
}

async fn read(client: &Client, path: &str) -> Result<Answer, String> {
    let answer = client.request(Method::GET, path).try_send();
    tokio::time::timeout(READ_TIMEOUT, answer).await.unwrap_or_else(|_| Err("no answer".into()))
}

/// Checks that the end of an order agrees with every earlier answer about it.
fn check_end(diary: &Diary, order: &ToldOrder, json: &Value, verdict: &mut Verdict) {
    let mut broken = |what: String| {
        verdict.broken.push(format!("order {} of shopper {} in sale {}: {what}: {json}", order.id, diary.n, order.sale))
    };
    let status = |value: &Value| value.as_str().unwrap_or_default().parse::<OrderStatus>().ok();
    let Some(end) = status(&json["status"]) else { return broken("no status".into()) };
    if let Some(last) = order.last
        && !may_reach(last, end)
    {
        broken(format!("it was told as {last} and is {end}"));
    }
    if order.cancelled && !may_reach(OrderStatus::Cancelled, end) {
        broken("its cancellation was confirmed".into());
    }
    let steps: Vec<Option<OrderStatus>> =
        json["history"].as_array().into_iter().flatten().map(|event| status(&event["status"])).collect();
    let allowed = steps.windows(2).all(|pair| matches!(pair, [Some(a), Some(b)] if a.may_become(*b)));
    if !allowed || steps.first() != Some(&Some(OrderStatus::Reserved)) || steps.last() != Some(&Some(end)) {
        broken("its history is none".into());
    }
    let reason = json["reason"].as_str().map(|reason| format!(" {reason}")).unwrap_or_default();
    *verdict.ends.entry(format!("{end}{reason}")).or_default() += 1;
}

/// With enough demand every unit is sold, and each late shopper gets an order or reads that the sale is sold out. If
/// orders expire, the units of earlier orders may be sold once more.
async fn everything_sells(shop: &Shop, sales: &[String], window: Option<Duration>, verdict: &mut Verdict) {
    let mut first = 0;
    for sale in sales {
        let Ok(Some(before)) = shop.store().sales().get(sale_id(sale)).await else {
            return verdict.broken.push(format!("sale {sale} cannot be read"));
        };
        let left = (before.total - before.sold).max(0) as u64;
        let patience = if verdict.broken.is_empty() { SETTLE_TIMEOUT } else { BROKEN_PATIENCE };
        let shoppers = (first..first + left + LATE_SHOPPERS).map(|n| shop.shopper(n));
        first += left + LATE_SHOPPERS;
        let late = join_all(shoppers.map(|shopper| buy_late(shopper, sale, patience))).await;
        let orders: Vec<_> = late.iter().filter_map(|end| end.as_ref().ok()).collect();
        let sold = orders.len() as u64;
        if sold < left || (sold > left && window.is_none()) {
            let mut refusals: BTreeMap<&str, u32> = BTreeMap::new();
            late.iter().filter_map(|end| end.as_ref().err()).for_each(|why| *refusals.entry(why).or_default() += 1);
            verdict.broken.push(format!("sale {sale}: {sold} of {left} units left were sold: {refusals:?}"));
        }
        let settling = orders.into_iter().map(async |(shopper, order)| {
            let path = format!("/api/sales/{sale}/orders/{order}");
            settles(&shopper.client, &path, window.is_some(), patience).await
        });
        verdict.broken.extend(join_all(settling).await.into_iter().flatten());
    }
}

/// Buys until there is an order or the sale is sold out. Returns the order, or the last refusal.
async fn buy_late(shopper: Shopper, sale: &str, patience: Duration) -> Result<(Shopper, String), String> {
    let deadline = Instant::now() + patience;
    loop {
        let answer = tokio::time::timeout(READ_TIMEOUT, shopper.try_buy(sale, 1)).await;
        let why = match answer.unwrap_or_else(|_| Err("no answer".into())) {
            Ok(answer) if matches!(answer.status, 200 | 202) => {
                let order = answer.order_id();
                return Ok((shopper, order));
            }
            Ok(answer) => answer.code(),
            Err(_) => "lost".to_owned(),
        };
        if why == "sold_out" || Instant::now() >= deadline {
            return Err(why);
        }
        pause(250).await;
    }
}

/// Waits until an order of a quiet shop is in the database and, if orders expire, has expired.
async fn settles(client: &Client, path: &str, expires: bool, patience: Duration) -> Option<String> {
    let wanted = if expires { "cancelled" } else { "unpaid" };
    let deadline = Instant::now() + patience;
    loop {
        let seen = match read(client, path).await {
            Ok(answer) if answer.text().contains(&format!("\"status\":\"{wanted}\"")) => return None,
            Ok(answer) if answer.text().contains("\"status\":\"rejected\"") => {
                return Some(format!("a late order, {path}, is rejected: {}", answer.text()));
            }
            Ok(answer) => format!("{} {}", answer.status, answer.text()),
            Err(error) => error,
        };
        if Instant::now() >= deadline {
            return Some(format!("a late order, {path}, is not {wanted}: {seen}"));
        }
        pause(500).await;
    }
}

/// Checks that sold units, live orders, holders and `Booked` agree, order by order, and that every outbox is empty.
async fn agree(shop: &Shop, sales: &[String], verdict: &mut Verdict) {
    let patience = if verdict.broken.is_empty() { SETTLE_TIMEOUT } else { BROKEN_PATIENCE };
    let look = async || {
        let mut broken = Vec::new();
        for sale in sales {
            broken
                .extend(disagreements(shop, sale).await.unwrap_or_else(|error| vec![format!("sale {sale}: {error}")]));
        }
        broken
    };
    verdict.broken.extend(until_none(patience, 500, look).await);
}

async fn disagreements(shop: &Shop, sale: &str) -> anyhow::Result<Vec<String>> {
    let (store, mut broken) = (shop.store(), Vec::new());
    let row = store.sales().get(sale_id(sale)).await?.ok_or_else(|| anyhow::anyhow!("it is gone"))?;
    let live = store.orders().live_orders(row.id, None, 100_000).await?;
    let units: i64 = live.iter().map(|order| i64::from(order.quantity)).sum();
    if row.sold != units || units > row.total {
        broken.push(format!("sale {sale}: {} sold, {units} in live orders, of {}", row.sold, row.total));
    }
    let users: HashSet<UserId> = live.iter().map(|order| order.user_id).collect();
    if users.len() != live.len() {
        broken.push(format!("sale {sale}: {} live orders of {} users", live.len(), users.len()));
    }
    if !shop.rung().has_redis() {
        return Ok(broken);
    }
    let (mut booked, mut held) = (0, HashMap::new());
    for bucket in Bucket::of_sale(&row) {
        let mut master = master(shop).await?;
        let state: Option<String> = master.hget(keys::hash(bucket), "State").await?;
        if state.as_deref() != Some(row.state.as_str()) {
            broken.push(format!("sale {sale}: {} in the database, {state:?} in bucket {bucket}", row.state));
        }
        booked += master.hget::<_, _, Option<i64>>(keys::hash(bucket), "Booked").await?.unwrap_or(-1);
        held.extend(master.hgetall::<_, HashMap<String, String>>(keys::holders(bucket)).await?);
        let waiting: i64 = master.xlen(keys::outbox(bucket)).await?;
        let dead: i64 = master.xlen(keys::dead(bucket)).await?;
        if waiting + dead > 0 {
            broken.push(format!("sale {sale}: {waiting} entries in the outbox of {bucket}, {dead} set aside"));
        }
    }
    if booked != units {
        broken.push(format!("sale {sale}: {booked} booked, {units} in live orders"));
    }
    for order in live {
        let wanted = format!("{}:{}", short(order.order_id.0), order.quantity);
        let found = held.remove(&short(order.user_id.0));
        if found.as_ref() != Some(&wanted) {
            broken.push(format!("sale {sale}: order {} is live, its owner's hold is {found:?}", order.order_id));
        }
    }
    broken
        .extend(held.into_iter().map(|(user, hold)| format!("sale {sale}: user {user} holds {hold} without an order")));
    Ok(broken)
}

/// Checks that every confirmed top-up counts once, and a top-up without an answer at most once.
pub async fn totals(shop: &Shop, sales: &[String], units: i64, admin: &AdminDiary) -> Vec<String> {
    let mut broken = Vec::new();
    for sale in sales {
        let least = units + admin.added.get(sale).copied().unwrap_or_default();
        let most = least + admin.perhaps.get(sale).copied().unwrap_or_default();
        match shop.store().sales().get(sale_id(sale)).await {
            Ok(Some(row)) if (least..=most).contains(&row.total) => {}
            Ok(Some(row)) => {
                broken.push(format!("sale {sale}: {} units in total, {least} to {most} were told", row.total))
            }
            other => broken.push(format!("sale {sale} cannot be read: {other:?}")),
        }
    }
    broken
}

/// The tests' own connection to the master, or to the cluster.
async fn master(shop: &Shop) -> anyhow::Result<engine::redis::connection::RedisConnection> {
    engine::redis::connection::shared(&shop.setting("SECKILL_REDIS_URL").into())
}

/// An id as Redis has it.
fn short(id: Uuid) -> String {
    URL_SAFE_NO_PAD.encode(id.as_bytes())
}

/// Checks that every payment that the cashier accepted ends in a paid order or is refunded.
async fn payments_end(shop: &Shop, diaries: &[&Diary]) -> anyhow::Result<Vec<String>> {
    let mut broken = Vec::new();
    let mut database = AnyConnection::connect(&shop.database_url()).await?;
    for (diary, order) in diaries.iter().flat_map(|diary| diary.orders.iter().map(move |order| (diary, order))) {
        for payment in &order.payments {
            let sql = "SELECT payments.status AS payment, orders.status AS order_status FROM payments
                 JOIN orders ON orders.id = payments.order_id WHERE payments.id = $1";
            let row = sqlx::query(sql).bind(payment).fetch_optional(&mut database).await?;
            let found = row.map(|row| (row.get::<String, _>("payment"), row.get::<String, _>("order_status")));
            let true_end = matches!(&found, Some((payment, order)) if payment == "refunded" || (payment == "captured" && order == "paid"));
            if !true_end {
                broken.push(format!("payment {payment} of order {} of shopper {}: {found:?}", order.id, diary.n));
            }
        }
    }
    Ok(broken)
}

async fn audit(shop: &Shop, verdict: &mut Verdict) {
    let audit = shop.run(&["audit"]).await;
    if !audit.status.success() {
        let text = String::from_utf8_lossy(&audit.stdout).into_owned() + &String::from_utf8_lossy(&audit.stderr);
        let lines = text.lines().filter(|line| !line.starts_with("ok")).map(|line| format!("audit: {line}"));
        verdict.broken.extend(lines);
    }
}

pub fn sale_id(sale: &str) -> SaleId {
    SaleId(sale.parse().expect("a sale's id"))
}
