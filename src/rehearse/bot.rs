//! A scripted account. It asks for a token and for units many times a second, from before the opening until the last
//! shopper has arrived and the turns are over, and waits neither for responses nor for its own moment. In a waiting
//! room or a draw it asks for a place or an entry with every try, as if it came from many browsers.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::Instant;

use super::http::{ApiRequest, EntryResponse, TokenResponse, order_in};
use super::measure::{ResponseClass, Step};
use super::shopper::{LoadContext, TestAccount, follow};
use crate::measure::{AccountRecord, VisitOutcome};
use domain::{ModeName, OrderId};

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
pub async fn run(context: Arc<LoadContext>, account: TestAccount, from: Instant, until: Instant) -> AccountRecord {
    let record = AccountRecord::new(account.user);
    let state = Arc::new(Mutex::new(BotState { token: None, order: None, record, sold_out: false }));
    let mut tries = JoinSet::new();
    let mut due = from;
    while due < until && lock(&state).order.is_none() {
        tokio::time::sleep_until(due).await;
        while tries.try_join_next().is_some() {}
        if tries.len() < MAX_TRIES_IN_FLIGHT {
            tries.spawn(try_once(context.clone(), account.clone(), due, state.clone()));
        }
        due += TRY_INTERVAL;
    }
    while tries.join_next().await.is_some() {}
    let (order, mut record, sold_out) = {
        let state = lock(&state);
        (state.order, state.record.clone(), state.sold_out)
    };
    record.outcome = if sold_out { VisitOutcome::SoldOut } else { VisitOutcome::GaveUp };
    if let Some((order, at)) = order {
        record.outcome = VisitOutcome::Granted;
        follow(&context, &account, order, at, &mut record).await;
    }
    record
}

fn lock(state: &Mutex<BotState>) -> std::sync::MutexGuard<'_, BotState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Joins if the sale has a waiting room or a draw, then asks for units, with a made-up token as long as there is none.
async fn try_once(context: Arc<LoadContext>, account: TestAccount, due: Instant, state: Arc<Mutex<BotState>>) {
    let sale = context.sale;
    let [place, entry] = ["place", "entry"].map(|what| format!("/api/sales/{sale}/{what}"));
    match context.mode {
        ModeName::Rush => {}
        ModeName::WaitingRoom => {
            let request = ApiRequest::post(&place, &account.cookie, "{}".into());
            context.client.send(Step::Bot, due, request).await;
        }
        ModeName::Draw => {
            let request = ApiRequest::post(&entry, &account.cookie, "{}".into());
            let response = context.client.send(Step::Bot, due, request).await;
            let good = response.read::<EntryResponse>().filter(|_| response.class == ResponseClass::Good);
            if let Some(order) = good.and_then(|answer| answer.entry.order_id) {
                won(&mut lock(&state), order);
            }
            return;
        }
    }
    let known = lock(&state).token.clone();
    let token = match known {
        Some(token) => token,
        None => {
            let path = format!("/api/sales/{sale}/token");
            let request = ApiRequest::post(&path, &account.cookie, "{}".into());
            let response = context.client.send(Step::Bot, due, request).await;
            let good = response.read::<TokenResponse>().filter(|_| response.class == ResponseClass::Good);
            let token = good.map(|body| body.token);
            lock(&state).token.clone_from(&token);
            token.unwrap_or_else(|| "made-up".into())
        }
    };
    let path = format!("/api/sales/{sale}/orders");
    let body = format!(r#"{{"quantity":1,"token":"{token}"}}"#);
    let response = context.client.send(Step::Bot, due, ApiRequest::post(&path, &account.cookie, body)).await;
    let mut state = lock(&state);
    state.sold_out |= response.code == "sold_out";
    if let Some(order) = order_in(&response) {
        won(&mut state, order);
    }
}

fn won(state: &mut BotState, order: OrderId) {
    state.order.get_or_insert((order, Instant::now()));
    state.record.add_order(order);
}
