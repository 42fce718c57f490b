//! A scripted account: asks for a token and for units many times a second, from before the start until the last shopper
//! has come, and never waits for an answer.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Deserialize;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::http::Question;
use super::measure::{Step, Worth};
use super::shopper::{Scene, TestAccount, follow, order_in};
use crate::rehearse::outcome::{Ending, Outcome};

/// Between two tries of one account: four times as often as the shop lets one user ask by default.
const EVERY: Duration = Duration::from_millis(50);
/// Tries of one account under way at a time; a script that floods itself gets nothing either.
const UNDER_WAY: usize = 40;

/// What the tries of one account have in common.
#[derive(Default)]
struct Loot {
    token: Option<String>,
    /// The first order and when it was heard of.
    order: Option<(crate::domain::OrderId, Instant)>,
    story: Option<Outcome>,
    sold_out: bool,
}

#[derive(Deserialize)]
struct Token {
    token: String,
}

/// Tries from `from` until `until`, or until there is an order.
pub async fn hammer(scene: Arc<Scene>, me: TestAccount, from: Instant, until: Instant) -> Outcome {
    let loot = Arc::new(Mutex::new(Loot { story: Some(Outcome::of(me.user)), ..Loot::default() }));
    let mut tries = JoinSet::new();
    let mut due = from;
    while due < until && lock(&loot).order.is_none() {
        tokio::time::sleep_until(due).await;
        while tries.try_join_next().is_some() {}
        if tries.len() < UNDER_WAY {
            tries.spawn(one_try(scene.clone(), me.clone(), due, loot.clone()));
        }
        due += EVERY;
    }
    while tries.join_next().await.is_some() {}
    let (order, story, sold_out) = {
        let mut loot = lock(&loot);
        (loot.order, loot.story.take(), loot.sold_out)
    };
    let mut story = story.unwrap_or_else(|| Outcome::of(me.user));
    story.fate = if sold_out { Ending::SoldOut } else { Ending::GaveUp };
    if let Some((order, at)) = order {
        story.fate = Ending::OutboxItem;
        follow(&scene, &me, order, at, &mut story).await;
    }
    story
}

fn lock(loot: &Mutex<Loot>) -> std::sync::MutexGuard<'_, Loot> {
    loot.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Asks for units, with a made-up token as long as there is none.
async fn one_try(scene: Arc<Scene>, me: TestAccount, due: Instant, loot: Arc<Mutex<Loot>>) {
    let sale = scene.sale;
    let known = lock(&loot).token.clone();
    let token = match known {
        Some(token) => token,
        None => {
            let path = format!("/api/sales/{sale}/token");
            let answer = scene.http.ask(Step::Bot, due, Question::post(&path, &me.cookie, "{}".into())).await;
            let token = answer.read::<Token>().filter(|_| answer.worth == Worth::Good).map(|answer| answer.token);
            lock(&loot).token.clone_from(&token);
            token.unwrap_or_else(|| "made-up".into())
        }
    };
    let path = format!("/api/sales/{sale}/orders");
    let body = format!(r#"{{"quantity":1,"token":"{token}"}}"#);
    let answer = scene.http.ask(Step::Bot, due, Question::post(&path, &me.cookie, body)).await;
    let mut loot = lock(&loot);
    loot.sold_out |= answer.code == "sold_out";
    if let Some(order) = order_in(&answer) {
        loot.order.get_or_insert((order, Instant::now()));
        if let Some(story) = &mut loot.story {
            story.has_order(order);
        }
    }
}
