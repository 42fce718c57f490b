//! Shoppers who buy, buy again, cancel, pay and read, and who record every answer.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::http::Method;
use domain::OrderStatus;
use futures::future::join;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::support::{Answer, Shopper, pause};

/// How long a shopper waits for an answer. Hanging up is one of the things that shoppers do.
const PATIENCE: Duration = Duration::from_secs(6);
/// Time between two requests.
pub const THINK_MS: std::ops::Range<u64> = 60..500;
/// Refusals with these codes may be answered at any time of a fault.
const REFUSALS: [&str; 19] = [
    "sold_out",
    "not_open",
    "busy",
    "rate_limited",
    "overloaded",
    "unavailable",
    "not_cancellable",
    "not_payable",
    "not_found",
    // A server whose clock is wrong does not accept the others' signatures.
    "bad_token",
    "not_signed_in",
    // Refusals in sales whose shoppers wait.
    "ended",
    "not_called",
    "by_draw",
    "not_in_queue",
    "not_entered",
    "not_waiting",
    "not_sold_out",
    "has_order",
];

/// The answers that a shopper got about an order.
#[derive(Debug, Clone)]
pub struct ToldOrder {
    pub sale: String,
    pub id: String,
    /// An instant before the grant: when the request that got the 202 began. `None` if that answer was lost.
    pub before: Option<Instant>,
    /// The receipt of the 202, if the shop gives one. It is the last copy of the promise if every other is lost.
    pub receipt: Option<String>,
    pub last: Option<OrderStatus>,
    /// Whether the order outlives the run: winners of a draw have a day to pay.
    pub is_lasting: bool,
    pub cancelled: bool,
    /// Payments that the cashier accepted.
    pub payments: Vec<String>,
}

impl ToldOrder {
    fn new(sale: String, id: String) -> ToldOrder {
        let (before, receipt, last, payments) = (None, None, None, Vec::new());
        ToldOrder { sale, id, before, receipt, last, is_lasting: false, cancelled: false, payments }
    }
}

/// Every answer that one shopper got.
pub struct Diary {
    pub n: u64,
    pub shopper: Shopper,
    pub orders: Vec<ToldOrder>,
    /// Answers by their code or status; `lost` if there was none.
    pub answers: BTreeMap<String, u32>,
    /// Orders that were answered before and then 404, though they may have come back.
    pub missing: u32,
    /// Answers that cannot be true, whatever broke.
    pub untrue: Vec<String>,
}

impl Diary {
    pub fn new(n: u64, shopper: Shopper) -> Diary {
        let (orders, answers) = (Vec::new(), BTreeMap::new());
        Diary { n, shopper, orders, answers, missing: 0, untrue: Vec::new() }
    }

    /// Shops until `end`, or until an order is paid.
    async fn live(&mut self, home: &str, random: &mut StdRng, window: Duration, end: Instant) {
        while Instant::now() < end && !self.orders.iter().any(|order| order.last == Some(OrderStatus::Paid)) {
            self.act(home, random, window).await;
            pause(random.random_range(THINK_MS)).await;
        }
    }

    async fn act(&mut self, home: &str, random: &mut StdRng, window: Duration) {
        let live =
            self.orders.iter().rposition(|order| order.last.is_none_or(OrderStatus::is_live) && !order.cancelled);
        let Some(n) = live else { return self.buy(home).await };
        match random.random_range(0..100) {
            0..12 => self.buy(home).await,
            12..18 => self.buy_twice(home).await,
            18..28 => self.cancel(n).await,
            28..38 => self.pay(n).await,
            38..46 => self.read(random.random_range(0..self.orders.len()), window).await,
            _ => self.read(n, window).await,
        }
    }

    pub async fn buy(&mut self, sale: &str) {
        let began = Instant::now();
        let answer = patiently(self.shopper.try_buy(sale, 1)).await;
        self.bought(sale, began, answer);
    }

    /// Two clicks at the same moment.
    async fn buy_twice(&mut self, sale: &str) {
        let began = Instant::now();
        let click = || patiently(self.shopper.try_buy(sale, 1));
        let (one, other) = join(click(), click()).await;
        self.bought(sale, began, one);
        self.bought(sale, began, other);
    }

    fn bought(&mut self, sale: &str, began: Instant, answer: Option<Answer>) {
        let Some(answer) = self.keep("buy", answer) else { return };
        if answer.code() == "bad_token" {
            self.shopper.forget_token(sale);
        }
        if !matches!(answer.status, 200 | 202) {
            return;
        }
        let json = answer.json();
        let id = json["order"]["id"].as_str().unwrap_or_default().to_owned();
        if answer.status == 200 && json["repeated"] != true && json["order"].is_object() {
            self.untrue.push(format!("shopper {}: 200 for a first purchase: {json}", self.n));
        }
        // The answer to a token's request has no order.
        if !id.is_empty() && !self.orders.iter().any(|order| order.id == id) {
            let (sale, before) = (sale.to_owned(), Some(began).filter(|_| answer.status == 202));
            let receipt = json["receipt"].as_str().map(str::to_owned);
            self.orders.push(ToldOrder { before, receipt, ..ToldOrder::new(sale, id) });
        }
    }

    /// Records an order that the shopper's turn brought, without a purchase.
    pub fn learn(&mut self, sale: &str, order: &str, is_lasting: bool) {
        if !self.orders.iter().any(|known| known.id == order) {
            self.orders.push(ToldOrder { is_lasting, ..ToldOrder::new(sale.to_owned(), order.to_owned()) });
        }
    }

    pub async fn read(&mut self, n: usize, window: Duration) {
        let answer = patiently(self.shopper.client.request(Method::GET, &self.page(n)).try_send()).await;
        let Some(answer) = self.keep("read", answer) else { return };
        match answer.status {
            200 => self.saw(n, &answer.json()["order"], window),
            404 => self.missing += 1,
            _ => {}
        }
    }

    /// Compares an order with the earlier answers about it.
    fn saw(&mut self, n: usize, json: &Value, window: Duration) {
        let order = &mut self.orders[n];
        let Ok(status) = json["status"].as_str().unwrap_or_default().parse::<OrderStatus>() else {
            return self.untrue.push(format!("order {}: no status in {json}", order.id));
        };
        if let Some(before) = order.last
            && !may_reach(before, status)
        {
            self.untrue.push(format!("order {} was {before} and then {status}: {json}", order.id));
        }
        let lived = order.before.map(|before| before.elapsed());
        if status == OrderStatus::Cancelled
            && json["reason"] == "unpaid"
            && let Some(after) = lived.filter(|lived| *lived < window)
        {
            self.untrue.push(format!("order {} was cancelled as unpaid after {after:?} of {window:?}", order.id));
        }
        order.last = Some(status);
    }

    pub async fn cancel(&mut self, n: usize) {
        let path = format!("{}/cancel", self.path(n));
        let request = self.shopper.client.request(Method::POST, &path).json(&json!({}));
        let answer = patiently(request.try_send()).await;
        if self.keep("cancel", answer).is_some_and(|answer| answer.status == 200) {
            self.orders[n].cancelled = true;
        }
    }

    pub async fn pay(&mut self, n: usize) {
        let path = format!("{}/payments", self.path(n));
        let request = self.shopper.client.request(Method::POST, &path).json(&json!({}));
        let Some(begun) = self.keep("begin payment", patiently(request.try_send()).await) else { return };
        if begun.status != 201 {
            return;
        }
        let json = begun.json();
        let (payment, checkout) = (json["payment"]["id"].as_str(), json["checkout_url"].as_str());
        let (Some(payment), Some(checkout)) = (payment, checkout) else {
            return self.untrue.push(format!("a payment without id or address: {json}"));
        };
        let request = self.shopper.client.request(Method::POST, &format!("{checkout}/pay")).form(&[]);
        let paid = patiently(request.try_send()).await;
        if self.keep("pay", paid).is_some_and(|answer| answer.status == 303) {
            self.orders[n].payments.push(payment.to_owned());
        }
    }

    /// The address at which the owner reads an order, with the receipt if there is one.
    pub fn page(&self, n: usize) -> String {
        let receipt = self.orders[n].receipt.as_ref().map(|receipt| format!("?receipt={receipt}"));
        self.path(n) + &receipt.unwrap_or_default()
    }

    fn path(&self, n: usize) -> String {
        format!("/api/sales/{}/orders/{}", self.orders[n].sale, self.orders[n].id)
    }

    /// Counts an answer, and checks that the shop documents it.
    pub fn keep(&mut self, request: &str, answer: Option<Answer>) -> Option<Answer> {
        let Some(answer) = answer else {
            *self.answers.entry("lost".into()).or_default() += 1;
            return None;
        };
        let code = answer.code();
        let name = if code.is_empty() { answer.status.to_string() } else { format!("{} {code}", answer.status) };
        let refused = answer.status >= 400;
        // The cashier answers with a page. It refuses a payment that has ended.
        let known = REFUSALS.contains(&code.as_str()) || (request == "pay" && matches!(answer.status, 409 | 503));
        let documented = !refused || (known && (answer.status < 500 || answer.status == 503));
        let retryable = matches!(answer.status, 429 | 503);
        if !documented || (refused && retryable == answer.header("retry-after").is_empty()) {
            self.untrue.push(format!("shopper {}: {request}: {} {}", self.n, answer.status, answer.text()));
        }
        *self.answers.entry(name).or_default() += 1;
        Some(answer)
    }
}

/// One shopper after the other until `end`. A shopper who has paid makes room for the next, so that orders are always
/// under way. The numbers of the shoppers are `first`, `first + step` and so on.
pub async fn shop_until(
    shoppers: impl Fn(u64) -> Diary,
    (first, step): (u64, u64),
    (sales, seed): (Vec<String>, u64),
    window: Duration,
    end: Instant,
) -> Vec<Diary> {
    let mut random = StdRng::seed_from_u64(seed ^ first.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut diaries = Vec::new();
    while Instant::now() < end {
        let mut diary = shoppers(first + step * diaries.len() as u64);
        let home = sales.choose(&mut random).expect("a sale");
        diary.live(home, &mut random, window, end).await;
        diaries.push(diary);
    }
    diaries
}

/// The answer, unless it is lost or takes too long.
pub async fn patiently(answer: impl Future<Output = Result<Answer, String>>) -> Option<Answer> {
    tokio::time::timeout(PATIENCE, answer).await.ok()?.ok()
}

/// Whether an order may be in the status `to` some time after `from`.
pub fn may_reach(from: OrderStatus, to: OrderStatus) -> bool {
    // A refund that fails leads back, so each status is looked at once.
    let mut reached = vec![from];
    for n in 0..OrderStatus::ALL.len() {
        let Some(&status) = reached.get(n) else { break };
        let next = OrderStatus::ALL.into_iter().filter(|next| status.may_become(*next) && !reached.contains(next));
        reached.append(&mut next.collect());
    }
    reached.contains(&to)
}
