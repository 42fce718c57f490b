//! Sales whose shoppers wait for their turn: a waiting room, a draw, and the waitlist of a rush with few units. They
//! join, press out of turn, give units back and come again while everything breaks.
//!
//! A place or an entry that was answered stays, no unit is granted before its turn, and once the faults are lifted
//! every unit goes to a waiting shopper. The audit recomputes the order itself. Taking part costs a deposit
//! ([`super::deposits`]), except in three of four waiting rooms: there Redis gives the places; with a deposit the
//! database does.

use std::time::Duration;

use axum::http::Method;
use domain::OrderStatus;
use futures::future::join_all;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::customer::{Diary, THINK_MS, patiently};
use super::deposits::DEPOSIT;
use super::verdict::{SETTLE_TIMEOUT, sale_id, until_none};
use crate::support::{Answer, NewSale, Shop, pause};

/// The units of each sale. Fewer than there are shoppers.
const UNITS: i64 = 4;
/// The shoppers of each sale.
const SHOPPERS: u64 = 8;
/// The number of the first shopper.
const FIRST_SHOPPER: u64 = 3_000_000;
/// When the waiting rooms open. Joining ends then, and begins late enough for Redis to give the places
/// ([`NewSale::prequeue`]).
const QUEUE_OPENS_IN: Duration = Duration::from_secs(10);
const PREQUEUE_S: i64 = 7;
/// When the draw opens for entries.
const DRAW_OPENS_IN: Duration = Duration::from_secs(2);
const DRAW_CLOSES_IN: Duration = Duration::from_secs(14);
/// How long a called shopper may buy ([`NewSale::queue`]). A turn cannot be missed within that time.
const SEAT: Duration = Duration::from_secs(20);

/// The kind of turn that a shopper waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wait {
    WaitingRoom,
    Draw,
    Waitlist,
}

impl Wait {
    const ALL: [Wait; 3] = [Wait::WaitingRoom, Wait::Draw, Wait::Waitlist];

    fn sale(self, random: &mut StdRng) -> NewSale {
        let sale = NewSale::of(UNITS);
        match self {
            Wait::WaitingRoom => {
                let sale = sale.opens_in(QUEUE_OPENS_IN).queue().prequeue(PREQUEUE_S);
                let has_deposit = random.random_ratio(1, 4);
                let giver = if has_deposit { "the database" } else { "Redis" };
                println!("          {giver} gives the places of the waiting room");
                if has_deposit { sale.deposit(DEPOSIT) } else { sale }
            }
            Wait::Draw => sale.deposit(DEPOSIT).opens_in(DRAW_OPENS_IN).closes_in(DRAW_CLOSES_IN).draw(),
            Wait::Waitlist => sale.deposit(DEPOSIT),
        }
    }

    /// The last part of the address of an account's own place, and its name in the answer.
    fn place(self) -> (&'static str, &'static str) {
        match self {
            Wait::WaitingRoom => ("place", "place"),
            Wait::Draw => ("entry", "entry"),
            Wait::Waitlist => ("waitlist", "waitlist"),
        }
    }
}

/// A place that was answered.
struct ToldPlace {
    /// The part that never changes; empty for a waitlist, whose places have no name.
    id: String,
    /// Proof of a place in a waiting room.
    pass: Value,
    /// The start of the last request whose answer said that the turn is still to come.
    waiting_since: Option<Instant>,
}

/// A shopper who waits, with every answer.
pub struct Waiter {
    wait: Wait,
    pub sale: String,
    pub diary: Diary,
    place: Option<ToldPlace>,
}

/// Fills the wallets and creates the sales. Their shoppers begin at once.
pub async fn open_all(shop: &Shop, random: &mut StdRng) -> Vec<Waiter> {
    let (mut waiters, shoppers) = (Vec::new(), shop.shoppers());
    let crowds: Vec<(Wait, u64)> = Wait::ALL.into_iter().zip((FIRST_SHOPPER..).step_by(1_000)).collect();
    let all = crowds.iter().flat_map(|(_, first)| *first..*first + SHOPPERS);
    join_all(all.map(async |n| shoppers(n).top_up(DEPOSIT).await)).await;
    for (wait, first) in crowds {
        let sale = match wait {
            Wait::Waitlist => shop.open(wait.sale(random)).await,
            Wait::WaitingRoom | Wait::Draw => shop.create(wait.sale(random)).await,
        };
        waiters.extend((first..first + SHOPPERS).map(|n| {
            let diary = Diary::new(n, shoppers(n));
            Waiter { wait, sale: sale.clone(), diary, place: None }
        }));
    }
    waiters
}

/// The sales whose units are in Redis, too. A draw's units never are.
pub fn sales_in_redis(waiters: &[Waiter]) -> Vec<String> {
    let mut sales: Vec<String> =
        waiters.iter().filter(|waiter| waiter.wait != Wait::Draw).map(|waiter| waiter.sale.clone()).collect();
    sales.dedup();
    sales
}

impl Waiter {
    /// Waits, presses and gives back until `end`.
    pub async fn live(mut self, seed: u64, window: Duration, end: Instant) -> Waiter {
        let mut random = StdRng::seed_from_u64(seed ^ self.diary.n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        while Instant::now() < end {
            let live = self.live_order();
            match (random.random_range(0..100), live) {
                (0..8, Some(n)) => self.diary.cancel(n).await,
                (8..12, Some(n)) => self.diary.pay(n).await,
                (12..60, Some(n)) => self.diary.read(n, window).await,
                (0..30, None) => self.join().await,
                (30..60, _) => self.press().await,
                _ => self.look().await,
            }
            pause(random.random_range(THINK_MS)).await;
        }
        self
    }

    fn live_order(&self) -> Option<usize> {
        let is_live = |last: Option<OrderStatus>| last.is_none_or(OrderStatus::is_live);
        self.diary.orders.iter().rposition(|order| is_live(order.last) && !order.cancelled)
    }

    fn path(&self) -> String {
        format!("/api/sales/{}/{}", self.sale, self.wait.place().0)
    }

    /// Takes a place, or gets the same one again.
    async fn join(&mut self) {
        let pass = self.place.as_ref().map_or(Value::Null, |place| place.pass.clone());
        let body = if self.wait == Wait::WaitingRoom { json!({ "pass": pass }) } else { json!({}) };
        let began = Instant::now();
        let answer =
            patiently(self.diary.shopper.client.request(Method::POST, &self.path()).json(&body).try_send()).await;
        self.told(began, answer);
    }

    /// Reads the shopper's place, and learns of an order that came with the turn.
    async fn look(&mut self) {
        let began = Instant::now();
        let answer = patiently(self.diary.shopper.client.request(Method::GET, &self.path()).try_send()).await;
        self.told(began, answer);
    }

    /// Presses, even before the turn.
    async fn press(&mut self) {
        let known = self.diary.orders.len();
        let sale = self.sale.clone();
        // A token belongs to one turn.
        self.diary.shopper.forget_token(&sale);
        self.diary.buy(&sale).await;
        if self.diary.orders.len() == known {
            return;
        }
        match self.wait {
            Wait::Draw => self.untrue("a draw granted a purchase".into()),
            Wait::WaitingRoom => self.check_turn().await,
            Wait::Waitlist => {}
        }
    }

    /// Checks that the place was called, because a purchase was granted.
    async fn check_turn(&mut self) {
        let answer = patiently(self.diary.shopper.client.request(Method::GET, &self.path()).try_send()).await;
        let Some(place) = answer.filter(|answer| answer.status == 200).map(|answer| answer.json()["place"].take())
        else {
            return;
        };
        let is_known = self.place.as_ref().is_some_and(|known| place["entry"] == *known.id);
        if is_known && place["called_at"].is_null() {
            self.untrue(format!("bought out of turn: {place}"));
        }
    }

    fn untrue(&mut self, what: String) {
        let untrue = format!("shopper {} in sale {} ({:?}): {what}", self.diary.n, self.sale, self.wait);
        self.diary.untrue.push(untrue);
    }

    /// Compares an answer about the shopper's place with earlier answers.
    fn told(&mut self, began: Instant, answer: Option<Answer>) {
        let Some(answer) = self.diary.keep("wait", answer) else { return };
        if matches!(answer.code().as_str(), "not_in_queue" | "not_entered" | "not_waiting") && self.place.is_some() {
            return self.untrue(format!("the place is gone: {}", answer.text()));
        }
        if !matches!(answer.status, 200 | 201) {
            return;
        }
        let json = answer.json();
        let place = &json[self.wait.place().1];
        let id = match self.wait {
            Wait::WaitingRoom => place["entry"].as_str(),
            Wait::Draw => place["id"].as_str(),
            Wait::Waitlist => Some(""),
        };
        let Some(id) = id else { return self.untrue(format!("a place without a name: {json}")) };
        if let Some(known) = self.place.as_ref().filter(|known| known.id != id) {
            // A turn that was missed costs the place.
            let may_be_missed =
                self.wait == Wait::WaitingRoom && known.waiting_since.is_none_or(|since| since.elapsed() > SEAT);
            if !may_be_missed {
                return self.untrue(format!("the place {} became {place}", known.id));
            }
        }
        let waiting_since = Some(began).filter(|_| place["state"] == "waiting");
        self.place = Some(ToldPlace { id: id.to_owned(), pass: json["pass"].clone(), waiting_since });
        if let Some(order) = place["order_id"].as_str() {
            self.diary.learn(&self.sale, order, self.wait == Wait::Draw);
        }
    }
}

/// Waits, now that the faults are lifted, until every unit is sold or had its chance to be. Returns the sales that have
/// not sold.
pub async fn settle(shop: &Shop, waiters: &mut [Waiter], window: Duration) -> Vec<String> {
    let look = async || {
        let mut missing = Vec::new();
        for of_sale in waiters.chunk_by_mut(|one, other| one.sale == other.sale) {
            missing.extend(sells(shop, of_sale, window).await);
        }
        missing
    };
    let missing = until_none(SETTLE_TIMEOUT, 500, look).await;
    // From now on they get no more offers.
    join_all(waiters.iter_mut().filter(|waiter| waiter.wait == Wait::Waitlist).map(Waiter::leave)).await;
    missing
}

/// One more round of a sale's shoppers. `None` once all units were sold at one moment, or each shopper had an order.
async fn sells(shop: &Shop, waiters: &mut [Waiter], window: Duration) -> Option<String> {
    join_all(waiters.iter_mut().map(|waiter| waiter.come_again(window))).await;
    let (wait, sale) = (waiters[0].wait, waiters[0].sale.clone());
    let row = match shop.store().sales().get(sale_id(&sale)).await {
        Ok(Some(row)) => row,
        other => return Some(format!("sale {sale} ({wait:?}) cannot be read: {other:?}")),
    };
    let entered = waiters.iter().filter(|waiter| waiter.place.is_some()).count();
    let had_order = waiters.iter().filter(|waiter| !waiter.diary.orders.is_empty()).count();
    // If no shopper could enter a draw in time, there is nothing to sell.
    let everyone_had_one = wait == Wait::Draw && had_order == entered;
    let sold =
        format!("sale {sale} ({wait:?}): {} of {UNITS} units sold, {had_order} of {entered} had an order", row.sold);
    (row.sold < UNITS && !everyone_had_one).then_some(sold)
}

impl Waiter {
    /// Joins, presses and looks, like a shopper who does not give up.
    async fn come_again(&mut self, window: Duration) {
        if let Some(n) = self.live_order() {
            self.diary.read(n, window).await;
        }
        if self.live_order().is_none() {
            self.join().await;
            self.press().await;
        }
        self.look().await;
    }

    async fn leave(&mut self) {
        let deadline = Instant::now() + SETTLE_TIMEOUT;
        while Instant::now() < deadline {
            let request = self.diary.shopper.client.request(Method::DELETE, &self.path());
            let answer = patiently(request.try_send()).await;
            if answer.is_some_and(|answer| matches!(answer.status, 204 | 404 | 409)) {
                return;
            }
            pause(300).await;
        }
    }
}
