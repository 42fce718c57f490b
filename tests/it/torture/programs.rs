//! Programs of another shop, which reserve for its customers, extend, confirm and release while everything breaks, and ask
//! again when an answer is lost.
//!
//! What was answered once is never undone: a confirmed reservation is never given away, one that has expired or was
//! released is never confirmed, and none expires before its time. Their units are those of the shoppers' sales, so they
//! count in what the verdict adds up.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use axum::http::Method;
use domain::ReservationStatus;
use futures::future::join_all;
use jiff::Timestamp;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::customer::{THINK_MS, patiently};
use super::verdict::{SETTLE_TIMEOUT, Verdict};
use crate::support::{Answer, OtherShop, pause};

/// Programs at the same time. Each serves one customer after the other.
const PROGRAMS: u64 = 12;
/// Seconds of one extension: within and beyond the short window.
const EXTENSION_S: std::ops::Range<u64> = 2..40;
/// Reservations of one page of the list.
const PAGE: usize = 100;
/// Refusals of requests about a reservation, which say where it is.
const ENDS: [(&str, ReservationStatus); 3] = [
    ("reservation_confirmed", ReservationStatus::Confirmed),
    ("reservation_expired", ReservationStatus::Expired),
    ("reservation_released", ReservationStatus::Released),
];
/// Refusals that may be answered at any time of a fault, and tell nothing about a reservation.
const REFUSALS: [&str; 6] = ["sold_out", "not_open", "busy", "rate_limited", "overloaded", "unavailable"];

/// What the program was told about a reservation.
struct ToldReservation {
    id: String,
    customer: String,
    status: ReservationStatus,
    /// The units are held until then at least: for the window or an extension, from before the request.
    held_until: Instant,
    /// The latest end that the database has told.
    expires_at: Option<Timestamp>,
    /// Whether a confirmation, or a release, was sent, answered or not.
    confirming: bool,
    releasing: bool,
}

impl ToldReservation {
    /// Whether the reservation may be in this status by now.
    fn may_become(&self, status: ReservationStatus) -> bool {
        use ReservationStatus::{Confirmed, Expired, Held, Rejected, Released};
        match (self.status, status) {
            (from, to) if from == to => true,
            (Held, Confirmed) => self.confirming,
            (Held, Expired) => Instant::now() >= self.held_until,
            (Held, Released) => self.releasing,
            // The program that granted it was frozen or lost while others went on.
            (Held | Released, Rejected) => self.expires_at.is_none(),
            _ => false,
        }
    }
}

/// A program with every answer that it got about one sale.
pub struct Program {
    server: OtherShop,
    n: u64,
    sale: String,
    /// Whether the present customer was named.
    is_named: bool,
    customers: u64,
    told: Vec<ToldReservation>,
    pub answers: BTreeMap<String, u32>,
    untrue: Vec<String>,
}

/// The programs of a shop, which sell from these sales.
pub fn all(server: &OtherShop, sales: &[String], seed: u64) -> Vec<Program> {
    let mut random = StdRng::seed_from_u64(seed ^ 0x5eed);
    let program = |n| Program {
        server: server.clone(),
        n,
        sale: sales.choose(&mut random).expect("a sale").clone(),
        is_named: false,
        customers: 0,
        told: Vec::new(),
        answers: BTreeMap::new(),
        untrue: Vec::new(),
    };
    (0..PROGRAMS).map(program).collect()
}

impl Program {
    /// Serves customers until `end`.
    pub async fn live(mut self, seed: u64, window: Duration, end: Instant) -> Program {
        let mut random = StdRng::seed_from_u64(seed ^ (self.n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        while Instant::now() < end {
            self.act(&mut random, window).await;
            pause(random.random_range(THINK_MS)).await;
        }
        self
    }

    async fn act(&mut self, random: &mut StdRng, window: Duration) {
        let present = self.told.iter().rposition(|told| told.customer == self.customer());
        let Some(n) = present else { return self.reserve(window).await };
        match (self.told[n].status, random.random_range(0..100)) {
            // What has ended stays so, whatever is asked.
            (_, 0..6) => self.confirm(random.random_range(0..self.told.len())).await,
            (_, 6..12) => self.release_ended(random).await,
            (ReservationStatus::Held, 12..22) => self.reserve(window).await,
            (ReservationStatus::Held, 22..40) => self.extend(n, random.random_range(EXTENSION_S)).await,
            (ReservationStatus::Held, 40..54) => self.confirm(n).await,
            (ReservationStatus::Held, 54..66) => self.release(n).await,
            (ReservationStatus::Released | ReservationStatus::Expired, 12..60) => self.reserve(window).await,
            (ReservationStatus::Confirmed | ReservationStatus::Rejected, 12..60) => {
                (self.customers, self.is_named) = (self.customers + 1, false);
            }
            _ => self.read(random.random_range(0..self.told.len())).await,
        }
    }

    fn customer(&self) -> String {
        format!("customer-{}-{}", self.n, self.customers)
    }

    fn path(&self, n: usize) -> String {
        format!("/api/v1/sales/{}/reservations/{}", self.sale, self.told[n].id)
    }

    /// Names the customer if needed, and reserves.
    async fn reserve(&mut self, window: Duration) {
        let customer = self.customer();
        if !self.is_named {
            let named = self.ask(Method::POST, "/api/v1/shoppers", json!({"id": customer})).await;
            self.is_named = named.is_some_and(|answer| matches!(answer.status, 200 | 201));
            return;
        }
        let began = Instant::now();
        let path = format!("/api/v1/sales/{}/reservations", self.sale);
        let Some(answer) = self.ask(Method::POST, &path, json!({"shopper": customer, "quantity": 1})).await else {
            return;
        };
        if !matches!(answer.status, 200 | 201) {
            return;
        }
        let json = answer.json()["reservation"].take();
        let id = json["id"].as_str().unwrap_or_default().to_owned();
        if let Some(n) = self.told.iter().position(|told| told.id == id) {
            let status = json["status"].as_str().unwrap_or_default().parse();
            // While the database is slow, `held` says no more than that the units have not come back yet.
            if answer.status == 201 || status != Ok(ReservationStatus::Held) {
                self.saw(n, &answer);
            }
            return;
        }
        let others = self.told.iter().filter(|told| told.customer == customer);
        let live: Vec<&str> = others.filter(|told| !may_be_over(told)).map(|told| told.id.as_str()).collect();
        if !live.is_empty() {
            self.untrue.push(format!("{customer} holds {live:?} in sale {}, and then {json}", self.sale));
        }
        // The first answer may have been lost.
        let held_until = if answer.status == 201 { began + window } else { began };
        self.told.push(ToldReservation {
            id,
            customer,
            status: ReservationStatus::Held,
            held_until,
            expires_at: None,
            confirming: false,
            releasing: false,
        });
    }

    async fn extend(&mut self, n: usize, seconds: u64) {
        let began = Instant::now();
        let path = format!("{}/extend", self.path(n));
        let Some(answer) = self.ask(Method::POST, &path, json!({"seconds": seconds})).await else { return };
        self.saw(n, &answer);
        if answer.status == 200 {
            let told = &mut self.told[n];
            told.held_until = told.held_until.max(began + Duration::from_secs(seconds));
        }
    }

    async fn confirm(&mut self, n: usize) {
        self.told[n].confirming |= self.told[n].status == ReservationStatus::Held;
        let reference = json!({"reference": format!("order of {}", self.told[n].id)});
        let answer = self.ask(Method::POST, &format!("{}/confirm", self.path(n)), reference).await;
        answer.iter().for_each(|answer| self.saw(n, answer));
    }

    async fn release(&mut self, n: usize) {
        self.told[n].releasing = true;
        let answer = self.ask(Method::POST, &format!("{}/release", self.path(n)), Value::Null).await;
        answer.iter().for_each(|answer| self.saw(n, answer));
    }

    /// Asks for the units of a reservation that was confirmed, or that holds none any more.
    async fn release_ended(&mut self, random: &mut StdRng) {
        let ended = (0..self.told.len()).filter(|n| self.told[*n].status != ReservationStatus::Held);
        if let Some(n) = ended.collect::<Vec<_>>().choose(random) {
            self.release(*n).await;
        }
    }

    async fn read(&mut self, n: usize) {
        let answer = self.ask(Method::GET, &self.path(n), Value::Null).await;
        answer.iter().for_each(|answer| self.saw(n, answer));
    }

    /// Compares an answer about a reservation with the earlier ones.
    fn saw(&mut self, n: usize, answer: &Answer) {
        let code = answer.code();
        let json = if answer.status < 300 { answer.json()["reservation"].take() } else { Value::Null };
        let end = ENDS.iter().find(|(refusal, _)| *refusal == code).map(|(_, end)| *end);
        let Some(mut status) = json["status"].as_str().and_then(|status| status.parse().ok()).or(end) else { return };
        let told = &mut self.told[n];
        // The refusals have one word for both.
        if end == Some(ReservationStatus::Released) && !told.releasing {
            status = ReservationStatus::Rejected;
        }
        if !told.may_become(status) {
            let (id, was) = (&told.id, told.status);
            self.untrue.push(format!("reservation {id} of sale {} was {was} and then {}", self.sale, answer.text()));
        }
        let expires_at: Option<Timestamp> = json["expires_at"].as_str().and_then(|end| end.parse().ok());
        if status == ReservationStatus::Held && told.expires_at > expires_at {
            let earlier = format!("reservation {}: held until {:?}, and then {json}", told.id, told.expires_at);
            self.untrue.push(earlier);
        }
        (told.status, told.expires_at) = (status, expires_at.max(told.expires_at));
    }

    /// Sends a request, counts its answer, and checks that the shop documents it.
    async fn ask(&mut self, method: Method, path: &str, body: Value) -> Option<Answer> {
        let what = format!("{method} {path}");
        let Some(answer) = patiently(self.server.ask(method, path, &body)).await else {
            *self.answers.entry("program: lost".into()).or_default() += 1;
            return None;
        };
        let code = answer.code();
        *self.answers.entry(format!("program: {} {code}", answer.status).trim_end().to_owned()).or_default() += 1;
        let is_known = REFUSALS.contains(&code.as_str()) || ENDS.iter().any(|(refusal, _)| *refusal == code);
        let is_told_when = !matches!(answer.status, 429 | 503) || !answer.header("retry-after").is_empty();
        if answer.status >= 300 && !(is_known && is_told_when) {
            self.untrue.push(format!("{what}: {} {}", answer.status, answer.text()));
        }
        Some(answer)
    }
}

/// Whether the customer may hold other units by now.
fn may_be_over(told: &ToldReservation) -> bool {
    use ReservationStatus::{Expired, Rejected, Released};
    [Expired, Released, Rejected].into_iter().any(|end| told.may_become(end))
}

/// Ends every reservation, now that the faults are lifted: every other one is confirmed.
pub async fn settle(programs: &mut [Program]) {
    join_all(programs.iter_mut().map(async |program| {
        let deadline = Instant::now() + SETTLE_TIMEOUT;
        for n in 0..program.told.len() {
            while program.told[n].status == ReservationStatus::Held && Instant::now() < deadline {
                if n % 2 == 0 {
                    program.confirm(n).await
                } else {
                    program.release(n).await
                }
                pause(100).await;
            }
            if program.told[n].status == ReservationStatus::Held {
                program.untrue.push(format!("reservation {} of sale {} has no end", program.told[n].id, program.sale));
            }
        }
    }))
    .await;
}

/// Reads everything once more, after all has been sold. What the answers said must still be so.
pub async fn judge(programs: &mut [Program], verdict: &mut Verdict) {
    for program in programs.iter_mut() {
        for n in 0..program.told.len() {
            program.read(n).await;
            *verdict.ends.entry(format!("reservation {}", program.told[n].status)).or_default() += 1;
        }
        verdict.broken.append(&mut program.untrue);
    }
    let sales: BTreeSet<&String> = programs.iter().map(|program| &program.sale).collect();
    for sale in sales {
        verdict.broken.extend(compare_list(sale, programs).await.unwrap_or_else(|error| vec![error]));
    }
}

/// Compares the list of a sale with what its programs were told. Reservations whose answers were lost are in it, too.
async fn compare_list(sale: &str, programs: &[Program]) -> Result<Vec<String>, String> {
    let (mut broken, mut after) = (Vec::new(), String::new());
    let mut live: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let told = |id: &str| programs.iter().flat_map(|program| &program.told).find(|told| told.id == id);
    loop {
        let path = format!("/api/v1/sales/{sale}/reservations?limit={PAGE}&after={after}");
        let page = programs[0].server.ask(Method::GET, &path, &Value::Null).await?;
        if page.status != 200 {
            return Err(format!("{path}: {} {}", page.status, page.text()));
        }
        let page = page.json();
        for listed in page["reservations"].as_array().into_iter().flatten() {
            let text = |name: &str| listed[name].as_str().unwrap_or_default().to_owned();
            let (id, status) = (text("id"), text("status"));
            let confirmed_unasked = status == "confirmed" && !told(&id).is_some_and(|told| told.confirming);
            if confirmed_unasked || told(&id).is_some_and(|told| told.status.as_str() != status) {
                broken
                    .push(format!("sale {sale}: the list has {listed}, told {:?}", told(&id).map(|told| told.status)));
            }
            if matches!(status.as_str(), "held" | "confirmed") {
                live.entry(text("shopper")).or_default().push(id);
            }
        }
        match page["next"].as_str() {
            Some(next) => after = next.to_owned(),
            None => break,
        }
    }
    let twice = live.into_iter().filter(|(_, held)| held.len() > 1);
    broken.extend(twice.map(|(customer, held)| format!("sale {sale}: {customer} holds {held:?}")));
    Ok(broken)
}
