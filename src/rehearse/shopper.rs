//! One simulated shopper, who does what the page's script does (`static/sale.js`, `static/rush.js`): waits for the button,
//! fetches a token, presses, asks again while the shop is busy, follows the order, pays or does not. People who click twice,
//! leave early or forget to pay are among them; the seed decides who.

use std::sync::Arc;
use std::time::Duration;

use axum::http::HeaderValue;
use jiff::Timestamp;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde::Deserialize;
use tokio::time::Instant;

use super::arrivals::exponential;
use super::http::{Answer, Http, Question};
use super::measure::{Measure, Milestone, Step, Worth};
use crate::domain::{Locale, OrderId, OrderStatus, Phase, SaleId, UserId};
use crate::rehearse::outcome::{Ending, Outcome};

/// How long somebody presses again and again before they give up.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long an order is waited for; the limit for a "go" is usually lower.
const WAIT_FOR_ORDER: Duration = Duration::from_secs(60);
/// Looks for units that come back, after all were gone.
const LAST_LOOKS: u32 = 2;

/// Somebody with an account and a session.
#[derive(Debug, Clone)]
pub struct TestAccount {
    pub user: UserId,
    pub cookie: HeaderValue,
}

/// Where everybody plays.
pub struct Scene {
    pub http: Http,
    pub measure: Arc<Measure>,
    pub sale: SaleId,
    /// When the sale opens.
    pub opens: Instant,
    pub seed: u64,
}

/// What somebody is like.
struct Character {
    locale: Locale,
    leaves_early: bool,
    double_clicks: bool,
    watches_on: bool,
    pays: bool,
}

impl Character {
    fn drawn(dice: &mut StdRng) -> Character {
        Character {
            locale: if dice.random_bool(0.7) { Locale::Zh } else { Locale::En },
            leaves_early: dice.random_bool(0.06),
            double_clicks: dice.random_bool(0.15),
            watches_on: dice.random_bool(0.25),
            pays: dice.random_bool(0.7),
        }
    }
}

/// What the button says.
#[derive(Deserialize)]
struct Button {
    phase: Phase,
    opens_at: Option<Timestamp>,
    now: Timestamp,
    poll_after_ms: u64,
    spread_ms: u32,
}

#[derive(Deserialize)]
struct Token {
    token: String,
}

/// An answer about an order, as far as it matters here.
#[derive(Deserialize)]
struct AboutOrder {
    order: OrderSaid,
    #[serde(default)]
    repeated: bool,
}

#[derive(Deserialize)]
struct OrderSaid {
    id: OrderId,
    status: String,
}

impl AboutOrder {
    fn status(&self) -> Option<OrderStatus> {
        self.order.status.parse().ok()
    }
}

#[derive(Deserialize)]
struct Checkout {
    checkout_url: String,
}

/// What pressing led to.
enum Pressed {
    OutboxItem(OrderId, Instant),
    Gone,
    NotOpen,
    GaveUp,
}

struct Shopper<'a> {
    scene: &'a Scene,
    me: TestAccount,
    dice: StdRng,
    character: Character,
    token: Option<String>,
    story: Outcome,
}

/// Everything that one shopper does, from the instant of their arrival on.
pub async fn visit(scene: Arc<Scene>, me: TestAccount, number: u64, due: Instant) -> Outcome {
    let mut dice = StdRng::seed_from_u64(scene.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(number + 1));
    let character = Character::drawn(&mut dice);
    let story = Outcome::of(me.user);
    let mut shopper = Shopper { scene: &scene, me, dice, character, token: None, story };
    shopper.story.fate = shopper.shop(due).await;
    shopper.story
}

impl Shopper<'_> {
    async fn shop(&mut self, due: Instant) -> Ending {
        let (sale, locale) = (self.scene.sale, self.character.locale);
        self.scene.measure.reached(Milestone::Arrived);
        let page = self.get(Step::Page, due, &format!("/{locale}/sales/{sale}")).await;
        if page.worth != Worth::Good {
            return Ending::GaveUp;
        }
        self.scene.measure.reached(Milestone::SawPage);
        let mut pressed = false;
        let mut looks = LAST_LOOKS;
        let deadline = Instant::now().max(self.scene.opens) + 2 * PATIENCE;
        while Instant::now() < deadline {
            if let Some(fate) = self.wait_until_open(&mut looks, deadline).await {
                return fate;
            }
            if !std::mem::replace(&mut pressed, true) {
                self.scene.measure.reached(Milestone::Pressed);
            }
            match self.rush().await {
                Pressed::OutboxItem(order, at) => {
                    self.scene.measure.reached(Milestone::OutboxItem);
                    follow(self.scene, &self.me, order, at, &mut self.story).await;
                    if self.story.landed.is_some() {
                        self.scene.measure.reached(Milestone::Landed);
                        if self.character.pays {
                            self.pay(order).await;
                        }
                    }
                    return Ending::OutboxItem;
                }
                Pressed::Gone if !self.character.watches_on => return Ending::SoldOut,
                Pressed::Gone | Pressed::NotOpen => {}
                Pressed::GaveUp => return Ending::GaveUp,
            }
        }
        Ending::GaveUp
    }

    /// Looks at the button as often as it says. `None` once it is open; otherwise how it ends here.
    async fn wait_until_open(&mut self, looks: &mut u32, deadline: Instant) -> Option<Ending> {
        let path = format!("/api/sales/{}/button", self.scene.sale);
        let mut due = Instant::now();
        let mut failures = 0;
        while due < deadline {
            let answer = self.get(Step::Button, due, &path).await;
            let Some(button) = answer.read::<Button>().filter(|_| answer.worth == Worth::Good) else {
                failures += 1;
                if failures > 5 {
                    return Some(Ending::GaveUp);
                }
                due = self.after(1500, 1500);
                continue;
            };
            let mut pause = button.poll_after_ms.max(250) as f64 * (1.0 + self.dice.random::<f64>());
            match button.phase {
                Phase::Open => return None,
                Phase::Upcoming => {
                    if self.character.leaves_early {
                        return Some(Ending::Left);
                    }
                    if let Some(opens) = button.opens_at {
                        let left = (opens.as_millisecond() - button.now.as_millisecond()).max(0) as f64;
                        if left > 0.0 && pause >= left {
                            pause = left + f64::from(button.spread_ms) * self.dice.random::<f64>();
                        }
                    }
                }
                Phase::SoldOut => {
                    if !self.character.watches_on || *looks == 0 {
                        return Some(Ending::SoldOut);
                    }
                    *looks -= 1;
                }
                Phase::Paused | Phase::Ended => return Some(Ending::Closed),
            }
            due = Instant::now() + Duration::from_secs_f64(pause / 1000.0);
        }
        Some(Ending::GaveUp)
    }

    /// Fetches a token as the page does when the button opens, presses when a finger has found it, and asks again until
    /// that is settled.
    async fn rush(&mut self) -> Pressed {
        let opened = Instant::now();
        let reaction = Duration::from_secs_f64((0.2 + 0.5 * exponential(&mut self.dice)).min(4.0));
        let mut due = self.after(0, 300).min(opened + reaction);
        let deadline = opened + PATIENCE;
        let mut backoff = 640.0;
        loop {
            let answer = match self.fetch_token(due).await {
                Err(refusal) => refusal,
                Ok(()) => match self.press((opened + reaction).max(Instant::now())).await {
                    Ok((order, at)) => return Pressed::OutboxItem(order, at),
                    Err(refusal) => refusal,
                },
            };
            match (answer.status, answer.code.as_str()) {
                (409, "sold_out") => return Pressed::Gone,
                (409, "not_open") => return Pressed::NotOpen,
                (403, "bad_token") => self.token = None,
                (0 | 429 | 500.., _) => {}
                _ => return Pressed::GaveUp,
            }
            let told = answer.retry_after.unwrap_or_default().as_millis() as f64;
            let pause = told.max(backoff / 2.0) + backoff / 2.0 * self.dice.random::<f64>();
            backoff = (backoff * 1.6).min(8000.0);
            due = Instant::now() + Duration::from_secs_f64(pause / 1000.0);
            if due > deadline {
                return Pressed::GaveUp;
            }
        }
    }

    async fn fetch_token(&mut self, due: Instant) -> Result<(), Answer> {
        if self.token.is_some() {
            tokio::time::sleep_until(due).await;
            return Ok(());
        }
        let path = format!("/api/sales/{}/token", self.scene.sale);
        let answer = self.post(Step::Token, due, &path, "{}".into()).await;
        match answer.read::<Token>().filter(|_| answer.worth == Worth::Good) {
            Some(Token { token }) => {
                self.token = Some(token);
                Ok(())
            }
            None => Err(answer),
        }
    }

    /// One press, or two for those who click twice. Both must lead to the same order.
    async fn press(&mut self, due: Instant) -> Result<(OrderId, Instant), Answer> {
        let path = format!("/api/sales/{}/orders", self.scene.sale);
        let body = format!(r#"{{"quantity":1,"token":"{}"}}"#, self.token.as_deref().unwrap_or_default());
        // Whoever clicks twice does so once.
        let twice = std::mem::take(&mut self.character.double_clicks);
        let gap = Duration::from_millis(self.dice.random_range(60..180));
        let first = self.post(Step::Buy, due, &path, body.clone());
        let (first, second) = match twice {
            true => {
                let second = self.post(Step::Repeat, due + gap, &path, body);
                let (first, second) = tokio::join!(first, second);
                (first, Some(second))
            }
            false => (first.await, None),
        };
        let at = Instant::now();
        let heard: Vec<AboutOrder> = [Some(&first), second.as_ref()].into_iter().flatten().filter_map(said).collect();
        heard.iter().for_each(|heard| self.story.has_order(heard.order.id));
        if heard.len() == 2 && heard.iter().all(|heard| !heard.repeated) {
            self.story.broken.push("a double click was accepted twice".into());
        }
        if let (Some(won), Some(second)) = (said(&first), &second)
            && second.status == 409
        {
            self.story.broken.push(format!("order {} was denied when asked for again", won.order.id));
        }
        match self.story.orders.first() {
            Some(order) => Ok((*order, at)),
            None => Err(first),
        }
    }

    /// Pays at the cashier, after a look at the order.
    async fn pay(&mut self, order: OrderId) {
        let of_order = format!("/api/sales/{}/orders/{order}", self.scene.sale);
        let due = self.after(300, 1700);
        let begun = self.post(Step::Pay, due, &format!("{of_order}/payments"), "{}".into()).await;
        let Some(Checkout { checkout_url }) = begun.read() else {
            self.story.broken.push(format!("order {order} could not be paid: {} {}", begun.status, begun.code));
            return;
        };
        let path = format!("{checkout_url}/pay");
        let due = self.after(200, 800);
        self.post(Step::Pay, due, &path, "{}".into()).await;
        let mut paid = false;
        let deadline = Instant::now() + WAIT_FOR_ORDER;
        let mut due = Instant::now();
        while !paid && Instant::now() < deadline {
            let answer = self.get(Step::Status, due, &of_order).await;
            paid = said(&answer).is_some_and(|about| about.status() == Some(OrderStatus::Paid));
            due = Instant::now() + Duration::from_secs(1);
        }
        self.story.payment = Some(paid);
        if paid {
            self.scene.measure.reached(Milestone::Paid);
        }
    }

    /// An instant so many milliseconds from now, and up to so many more.
    fn after(&mut self, ms: u64, more: u64) -> Instant {
        let more = self.dice.random_range(0..=more);
        Instant::now() + Duration::from_millis(ms + more)
    }

    async fn get(&self, step: Step, due: Instant, path: &str) -> Answer {
        self.scene.http.ask(step, due, Question::get(path, &self.me.cookie)).await
    }

    async fn post(&self, step: Step, due: Instant, path: &str, json: String) -> Answer {
        self.scene.http.ask(step, due, Question::post(path, &self.me.cookie, json)).await
    }
}

/// The order that a good answer is about.
fn said(answer: &Answer) -> Option<AboutOrder> {
    answer.read().filter(|_| answer.worth == Worth::Good)
}

/// The order that an answer to a purchase gives, if it gives one.
pub fn order_in(answer: &Answer) -> Option<OrderId> {
    said(answer).map(|about| about.order.id)
}

/// Looks at an order until it is in the database, counted from the instant of the 202.
pub async fn follow(scene: &Scene, me: &TestAccount, order: OrderId, won: Instant, story: &mut Outcome) {
    let path = format!("/api/sales/{}/orders/{order}", scene.sale);
    let mut due = Instant::now();
    let mut pause = Duration::from_millis(150);
    while won.elapsed() < WAIT_FOR_ORDER {
        let answer = scene.http.ask(Step::Status, due, Question::get(&path, &me.cookie)).await;
        match said(&answer).and_then(|about| about.status()) {
            Some(OrderStatus::Unpaid | OrderStatus::Paid) => {
                story.landed = Some(won.elapsed());
                scene.measure.landed(won.elapsed());
                return;
            }
            Some(OrderStatus::Reserved) | None => {}
            Some(other) => return story.broken.push(format!("order {order} was promised and is {other}")),
        }
        due = Instant::now() + pause;
        pause = (pause * 3 / 2).min(Duration::from_secs(2));
    }
    story.broken.push(format!("order {order} was promised and never came"));
}
