//! One simulated shopper, and one scripted account. The shopper does what the page's script does (`static/sale.js`,
//! `static/purchase.js`): polls the button, fetches a token, presses, tries again while the shop is busy, follows the
//! order, and pays or does not. A share of the shoppers clicks twice, leaves early or does not pay; the seed decides which.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::http::HeaderValue;
use boxed::boxed;
use jiff::Timestamp;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::http::{
    ApiClient, ApiRequest, ApiResponse, ButtonResponse, EntryResponse, OrderResponse, PaymentResponse, TokenResponse,
    TooEarlyResponse,
};
use super::measure::{LoadRecorder, Milestone, ResponseClass, Step};
use crate::load::{exponential, page_spread_ms};
use crate::measure::{AccountRecord, VisitOutcome};
use base::clock::Clock;
use base::locked;
use domain::{Locale, ModeName, OrderId, OrderStatus, Phase, Refusal, RefusalClass, SaleId, UserId};

/// How long a shopper presses again before giving up.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long an order is polled for; the limit for a "go" is usually lower.
const ORDER_TIMEOUT: Duration = Duration::from_secs(60);
/// Polls of the button after the sale sold out, for units that return.
const POLLS_AFTER_SOLD_OUT: u32 = 2;
/// Failed polls of the button in a row before giving up.
const MAX_POLL_FAILURES: u32 = 5;

/// A test account with a session, made for one rehearsal.
#[derive(Debug, Clone)]
pub struct TestAccount {
    pub user: UserId,
    pub cookie: HeaderValue,
}

/// What all shoppers and bots of a rehearsal share.
pub struct LoadContext {
    pub client: ApiClient,
    pub recorder: Arc<LoadRecorder>,
    pub sale: SaleId,
    pub units: i64,
    /// When the sale opens.
    pub opens: Instant,
    pub mode: ModeName,
    /// How long after the opening an account may have to wait for its turn.
    pub wait: Duration,
    /// The shop's clock, to convert the times in responses.
    pub clock: Clock,
    pub seed: u64,
}

/// The habits of one shopper.
pub(super) struct ShopperProfile {
    locale: Locale,
    pub(super) leaves_early: bool,
    double_clicks: bool,
    waits_for_returns: bool,
    pays: bool,
}

impl ShopperProfile {
    fn draw(dice: &mut StdRng) -> ShopperProfile {
        ShopperProfile {
            locale: if dice.random_bool(0.7) { Locale::Zh } else { Locale::En },
            leaves_early: dice.random_bool(0.06),
            double_clicks: dice.random_bool(0.15),
            waits_for_returns: dice.random_bool(0.25),
            pays: dice.random_bool(0.7),
        }
    }
}

/// How a run of presses ended.
pub(super) enum PressOutcome {
    Granted(OrderId, Instant),
    SoldOut,
    NotOpen,
    GaveUp,
}

pub(super) struct SimulatedShopper<'a> {
    pub(super) context: &'a LoadContext,
    account: TestAccount,
    pub(super) dice: StdRng,
    pub(super) profile: ShopperProfile,
    token: Option<String>,
    /// The account's own moment, as far as it is known.
    own_moment: Option<Instant>,
    pub(super) record: AccountRecord,
}

/// The whole visit of one shopper, from its arrival at `due`.
#[boxed]
pub async fn visit(context: Arc<LoadContext>, account: TestAccount, number: u64, due: Instant) -> AccountRecord {
    let mut dice = StdRng::seed_from_u64(context.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(number + 1));
    let profile = ShopperProfile::draw(&mut dice);
    let record = AccountRecord::new(account.user);
    let mut shopper =
        SimulatedShopper { context: &context, account, dice, profile, token: None, own_moment: None, record };
    shopper.record.outcome = shopper.shop(due).await;
    shopper.record
}

impl SimulatedShopper<'_> {
    async fn shop(&mut self, due: Instant) -> VisitOutcome {
        let (sale, locale) = (self.context.sale, self.profile.locale);
        self.context.recorder.reached(Milestone::Arrived);
        let page = self.get(Step::Page, due, &format!("/{locale}/sales/{sale}")).await;
        if page.class != ResponseClass::Good {
            return VisitOutcome::GaveUp;
        }
        self.context.recorder.reached(Milestone::SawPage);
        let deadline = Instant::now().max(self.context.opens) + 2 * PATIENCE + self.context.wait;
        match self.context.mode {
            ModeName::Rush => self.race(deadline).await,
            ModeName::WaitingRoom => self.wait_for_call(deadline).await,
            ModeName::Draw => self.enter_draw(deadline).await,
        }
    }

    /// Buys when the sale is open, as fast as people do.
    async fn race(&mut self, deadline: Instant) -> VisitOutcome {
        let mut polls_left = POLLS_AFTER_SOLD_OUT;
        let mut pressed = false;
        while Instant::now() < deadline {
            if let Some(outcome) = self.wait_until_open(&mut polls_left, deadline).await {
                return outcome;
            }
            if !std::mem::replace(&mut pressed, true) {
                self.context.recorder.reached(Milestone::Pressed);
            }
            match self.press_until_settled().await {
                PressOutcome::Granted(order, at) => return self.take(order, at).await,
                PressOutcome::SoldOut if !self.profile.waits_for_returns => return VisitOutcome::SoldOut,
                PressOutcome::SoldOut | PressOutcome::NotOpen => {}
                PressOutcome::GaveUp => return VisitOutcome::GaveUp,
            }
        }
        VisitOutcome::GaveUp
    }

    /// Follows the order that was granted, and pays it or does not.
    pub(super) async fn take(&mut self, order: OrderId, at: Instant) -> VisitOutcome {
        self.context.recorder.reached(Milestone::Granted);
        follow(self.context, &self.account, order, at, &mut self.record).await;
        if self.record.persisted_after.is_some() {
            self.context.recorder.reached(Milestone::Persisted);
            if self.profile.pays {
                self.pay(order).await;
            }
        }
        VisitOutcome::Granted
    }

    /// Polls the button at the interval that it asks for. `None` once it is open; otherwise how the visit ends here.
    pub(super) async fn wait_until_open(&mut self, polls_left: &mut u32, deadline: Instant) -> Option<VisitOutcome> {
        let path = format!("/api/sales/{}/button", self.context.sale);
        let mut due = Instant::now();
        let mut failures = 0;
        while due < deadline {
            let response = self.get(Step::Button, due, &path).await;
            let Some(button) = response.good::<ButtonResponse>() else {
                failures += 1;
                if failures > MAX_POLL_FAILURES {
                    return Some(VisitOutcome::GaveUp);
                }
                due = self.after(1500, 1500);
                continue;
            };
            let mut pause = button.poll_after_ms.max(250) as f64 * (1.0 + self.dice.random::<f64>());
            match button.phase {
                Phase::Open => return None,
                Phase::Upcoming => {
                    if self.profile.leaves_early {
                        return Some(VisitOutcome::Left);
                    }
                    if let Some(opens) = button.opens_at {
                        let left = (opens.as_millisecond() - button.now.as_millisecond()).max(0) as f64;
                        if left > 0.0 && pause >= left {
                            pause = left + page_spread_ms(button.spread_ms) * self.dice.random::<f64>();
                        }
                    }
                }
                Phase::SoldOut => {
                    if !self.profile.waits_for_returns || *polls_left == 0 {
                        return Some(VisitOutcome::SoldOut);
                    }
                    *polls_left -= 1;
                }
                Phase::Paused | Phase::Ended => return Some(VisitOutcome::Closed),
            }
            due = Instant::now() + Duration::from_secs_f64(pause / 1000.0);
        }
        Some(VisitOutcome::GaveUp)
    }

    /// Fetches a token as the page does when the button opens, presses after a human reaction time, and tries again
    /// with exponential backoff until the purchase is granted or refused for good.
    pub(super) async fn press_until_settled(&mut self) -> PressOutcome {
        let opened = Instant::now();
        let reaction = Duration::from_secs_f64((0.2 + 0.5 * exponential(&mut self.dice)).min(4.0));
        let mut due = self.after(0, 300).min(opened + reaction);
        // As on the page, waiting for the account's own moment does not use up patience.
        let deadline = opened + PATIENCE + self.context.wait;
        let mut backoff_ms = 640.0;
        loop {
            let refusal = match self.fetch_token(due).await {
                Err(refusal) => refusal,
                Ok(()) => {
                    let moment = self.own_moment.unwrap_or(opened).max(opened + reaction);
                    match self.press(moment.max(Instant::now())).await {
                        Ok((order, at)) => return PressOutcome::Granted(order, at),
                        Err(refusal) => refusal,
                    }
                }
            };
            match refusal.code.parse() {
                Ok(Refusal::SoldOut) => return PressOutcome::SoldOut,
                Ok(Refusal::NotOpen) => return PressOutcome::NotOpen,
                // The waiting room can show that the turn has come before every process has read the call.
                Ok(Refusal::NotCalled) => {}
                Ok(Refusal::BadToken) => self.token = None,
                Ok(Refusal::TooEarly) => {
                    let told = refusal.read().and_then(|TooEarlyResponse { not_before }| not_before);
                    self.own_moment = told.map(|moment| self.instant(moment));
                }
                Ok(known) if known.class() == RefusalClass::Transient => {}
                _ if matches!(refusal.status, 0 | 429 | 500..) => {}
                _ => return PressOutcome::GaveUp,
            }
            let retry_after_ms = refusal.retry_after.unwrap_or_default().as_millis() as f64;
            let pause = retry_after_ms.max(backoff_ms / 2.0) + backoff_ms / 2.0 * self.dice.random::<f64>();
            backoff_ms = (backoff_ms * 1.6).min(8000.0);
            due = Instant::now() + Duration::from_secs_f64(pause / 1000.0);
            if due > deadline {
                return PressOutcome::GaveUp;
            }
        }
    }

    async fn fetch_token(&mut self, due: Instant) -> Result<(), ApiResponse> {
        if self.token.is_some() {
            tokio::time::sleep_until(due).await;
            return Ok(());
        }
        let path = format!("/api/sales/{}/token", self.context.sale);
        let response = self.post(Step::Token, due, &path, "{}".into()).await;
        match response.good::<TokenResponse>() {
            Some(TokenResponse { token, not_before }) => {
                self.token = Some(token);
                self.own_moment = not_before.map(|moment| self.instant(moment));
                Ok(())
            }
            None => Err(response),
        }
    }

    /// One press, or two for a shopper who clicks twice. Both must lead to the same order.
    async fn press(&mut self, due: Instant) -> Result<(OrderId, Instant), ApiResponse> {
        let path = format!("/api/sales/{}/orders", self.context.sale);
        let body = format!(r#"{{"quantity":1,"token":"{}"}}"#, self.token.as_deref().unwrap_or_default());
        // Only the first press of a visit is doubled.
        let twice = std::mem::take(&mut self.profile.double_clicks);
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
        let granted: Vec<OrderResponse> =
            [Some(&first), second.as_ref()].into_iter().flatten().filter_map(ApiResponse::good).collect();
        granted.iter().for_each(|granted| self.record.add_order(granted.order.id));
        if granted.len() == 2 && granted.iter().all(|granted| !granted.repeated) {
            self.record.violations.push("a double click was accepted twice".into());
        }
        if let (Some(granted), Some(second)) = (first.good::<OrderResponse>(), &second)
            && second.status == 409
        {
            self.record.violations.push(format!("order {} was denied when asked for again", granted.order.id));
        }
        match self.record.orders.first() {
            Some(order) => Ok((*order, at)),
            None => Err(first),
        }
    }

    /// Pays at the checkout, and polls the order until it is paid.
    async fn pay(&mut self, order: OrderId) {
        let order_path = format!("/api/sales/{}/orders/{order}", self.context.sale);
        let due = self.after(300, 1700);
        let started = self.post(Step::Pay, due, &format!("{order_path}/payments"), "{}".into()).await;
        let Some(PaymentResponse { checkout_url }) = started.read() else {
            self.record.payment_refused = Some(format!("{} {}", started.status, started.code));
            return;
        };
        let path = format!("{checkout_url}/pay");
        let due = self.after(200, 800);
        self.post(Step::Pay, due, &path, "{}".into()).await;
        let mut paid = false;
        let deadline = Instant::now() + ORDER_TIMEOUT;
        let mut due = Instant::now();
        while !paid && Instant::now() < deadline {
            let response = self.get(Step::Status, due, &order_path).await;
            paid = response.good::<OrderResponse>().is_some_and(|body| body.order.status == OrderStatus::Paid);
            due = Instant::now() + Duration::from_secs(1);
        }
        self.record.paid = Some(paid);
        if paid {
            self.context.recorder.reached(Milestone::Paid);
        }
    }

    /// When the shop's clock shows this time.
    fn instant(&self, at: Timestamp) -> Instant {
        let ms = at.as_millisecond() - self.context.clock.now().as_millisecond();
        Instant::now() + Duration::from_millis(u64::try_from(ms).unwrap_or(0))
    }

    /// The instant `ms` milliseconds from now, plus a random part of up to `spread_ms`.
    pub(super) fn after(&mut self, ms: u64, spread_ms: u64) -> Instant {
        let spread = self.dice.random_range(0..=spread_ms);
        Instant::now() + Duration::from_millis(ms + spread)
    }

    pub(super) async fn get(&self, step: Step, due: Instant, path: &str) -> ApiResponse {
        self.context.client.send(step, due, ApiRequest::get(path, &self.account.cookie)).await
    }

    pub(super) async fn post(&self, step: Step, due: Instant, path: &str, json: String) -> ApiResponse {
        self.context.client.send(step, due, ApiRequest::post(path, &self.account.cookie, json)).await
    }
}

/// Polls an order until it is in the database. The time counts from `granted`, the instant of the 202.
#[boxed]
pub async fn follow(
    context: &LoadContext,
    account: &TestAccount,
    order: OrderId,
    granted: Instant,
    record: &mut AccountRecord,
) {
    let path = format!("/api/sales/{}/orders/{order}", context.sale);
    let mut due = Instant::now();
    let mut pause = Duration::from_millis(150);
    while granted.elapsed() < ORDER_TIMEOUT {
        let response = context.client.send(Step::Status, due, ApiRequest::get(&path, &account.cookie)).await;
        match response.good().map(|body: OrderResponse| body.order.status) {
            Some(OrderStatus::Unpaid | OrderStatus::Paid) => {
                record.persisted_after = Some(granted.elapsed());
                context.recorder.order_persisted(granted.elapsed());
                return;
            }
            Some(OrderStatus::Reserved) | None => {}
            Some(other) => return record.violations.push(format!("order {order} was promised and is {other}")),
        }
        due = Instant::now() + pause;
        pause = (pause * 3 / 2).min(Duration::from_secs(2));
    }
    record.violations.push(format!("order {order} was promised and never persisted"));
}

// A scripted account. It asks for a token and for units many times a second, from before the opening until the last
// shopper has arrived and the turns are over, and waits neither for responses nor for its own moment. In a waiting
// room or a draw it asks for a place or an entry with every try, as if it came from many browsers.

/// Time between two tries of one account: four times the rate that the shop allows one user by default.
const TRY_INTERVAL: Duration = Duration::from_millis(50);
/// Tries of one account in flight. Beyond this a try is skipped, so that a bot does not flood the generator.
const MAX_TRIES_IN_FLIGHT: usize = 40;

/// What the tries of one account share.
struct BotState {
    token: Option<String>,
    /// The first order, and when its response came.
    order: Option<(OrderId, Instant)>,
    record: AccountRecord,
    sold_out: bool,
}

/// Tries from `from` until `until`, or until there is an order.
#[boxed]
pub async fn run_bot(context: Arc<LoadContext>, account: TestAccount, from: Instant, until: Instant) -> AccountRecord {
    let record = AccountRecord::new(account.user);
    let state = Arc::new(Mutex::new(BotState { token: None, order: None, record, sold_out: false }));
    let mut tries = JoinSet::new();
    let mut due = from;
    while due < until && locked(&state).order.is_none() {
        tokio::time::sleep_until(due).await;
        while tries.try_join_next().is_some() {}
        if tries.len() < MAX_TRIES_IN_FLIGHT {
            tries.spawn(try_once(context.clone(), account.clone(), due, state.clone()));
        }
        due += TRY_INTERVAL;
    }
    while tries.join_next().await.is_some() {}
    let (order, mut record, sold_out) = {
        let state = locked(&state);
        (state.order, state.record.clone(), state.sold_out)
    };
    record.outcome = if sold_out { VisitOutcome::SoldOut } else { VisitOutcome::GaveUp };
    if let Some((order, at)) = order {
        record.outcome = VisitOutcome::Granted;
        follow(&context, &account, order, at, &mut record).await;
    }
    record
}

/// Joins if the sale has a waiting room or a draw, then asks for units, with a made-up token as long as there is none.
async fn try_once(context: Arc<LoadContext>, account: TestAccount, due: Instant, state: Arc<Mutex<BotState>>) {
    let post = async |what: &str, json: String| {
        let path = format!("/api/sales/{}/{what}", context.sale);
        context.client.send(Step::Bot, due, ApiRequest::post(&path, &account.cookie, json)).await
    };
    match context.mode {
        ModeName::Rush => {}
        ModeName::WaitingRoom => drop(post("place", "{}".into()).await),
        ModeName::Draw => {
            let response = post("entry", "{}".into()).await;
            if let Some(order) = response.good().and_then(|answer: EntryResponse| answer.entry.order_id) {
                won(&mut locked(&state), order);
            }
            return;
        }
    }
    let known = locked(&state).token.clone();
    let token = match known {
        Some(token) => token,
        None => {
            let response = post("token", "{}".into()).await;
            let token = response.good().map(|body: TokenResponse| body.token);
            locked(&state).token.clone_from(&token);
            token.unwrap_or_else(|| "made-up".into())
        }
    };
    let response = post("orders", format!(r#"{{"quantity":1,"token":"{token}"}}"#)).await;
    let mut state = locked(&state);
    state.sold_out |= response.code == "sold_out";
    if let Some(granted) = response.good::<OrderResponse>() {
        won(&mut state, granted.order.id);
    }
}

fn won(state: &mut BotState, order: OrderId) {
    state.order.get_or_insert((order, Instant::now()));
    state.record.add_order(order);
}
