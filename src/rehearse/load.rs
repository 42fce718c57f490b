//! Letting the crowd in: everybody at their instant, whatever became of those before.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior};

use super::bot;
use super::measure::{Measure, Milestone, Step};
use super::shopper::{Scene, TestAccount, visit};
use crate::rehearse::outcome::Outcome;

/// Scripts begin so long before the start.
const BOTS_COME_EARLY: Duration = Duration::from_secs(2);
/// And go on for so long after it, or until the last shopper has come.
const BOTS_STAY: Duration = Duration::from_secs(5);

/// Who comes when.
pub struct Crowd {
    /// Each with the time from the beginning to their arrival, in order.
    pub shoppers: Vec<(Duration, TestAccount)>,
    pub bots: Vec<TestAccount>,
    /// From the beginning until the sale opens.
    pub opens: Duration,
}

/// What everybody told.
pub struct Told {
    pub shoppers: Vec<Outcome>,
    pub bots: Vec<Outcome>,
}

/// Runs until everybody has left.
pub async fn hold(scene: Arc<Scene>, crowd: Crowd, began: Instant) -> Told {
    let last = crowd.shoppers.last().map_or(Duration::ZERO, |(at, _)| *at);
    let until = began + last.max(crowd.opens + BOTS_STAY);
    let from = began + crowd.opens.saturating_sub(BOTS_COME_EARLY);
    let mut bots = JoinSet::new();
    for me in crowd.bots {
        bots.spawn(bot::hammer(scene.clone(), me, from, until));
    }
    let mut visits = JoinSet::new();
    for (number, (at, me)) in crowd.shoppers.into_iter().enumerate() {
        tokio::time::sleep_until(began + at).await;
        visits.spawn(visit(scene.clone(), me, number as u64, began + at));
    }
    Told { shoppers: visits.join_all().await, bots: bots.join_all().await }
}

/// Prints a line each second until it is dropped.
pub async fn tell_progress(measure: Arc<Measure>, began: Instant, opens: Duration) {
    let mut ticks = tokio::time::interval_at(began + Duration::from_secs(1), Duration::from_secs(1));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    say(&format!("{:>5} {}", "s", HEAD.map(|(name, width)| format!("{name:>width$}")).join(" ")));
    let mut announced = false;
    loop {
        ticks.tick().await;
        let now = began.elapsed();
        if now >= opens && !std::mem::replace(&mut announced, true) {
            say("      the sale opens");
        }
        say(&line(&measure, now));
    }
}

const HEAD: [(&str, usize); 9] = [
    ("arrived", 8),
    ("pressed", 8),
    ("won", 6),
    ("orders", 7),
    ("paid", 6),
    ("answers/s", 10),
    ("refused/s", 10),
    ("errors", 7),
    ("p99 ms", 8),
];

fn line(measure: &Measure, now: Duration) -> String {
    let numbers = measure.numbers();
    // The second that is complete.
    let second = (now.as_secs() as usize).checked_sub(1).and_then(|n| numbers.seconds.get(n));
    let errors: u64 = Step::ALL.iter().map(|step| numbers.of(*step).errors).sum();
    let p99 = second.filter(|second| !second.times.is_empty());
    let p99 = p99.map_or("–".into(), |second| format!("{:.0}", second.times.value_at_quantile(0.99) as f64 / 1000.0));
    let cells = [
        numbers.at(Milestone::Arrived).to_string(),
        numbers.at(Milestone::Pressed).to_string(),
        numbers.at(Milestone::OutboxItem).to_string(),
        numbers.at(Milestone::Landed).to_string(),
        numbers.at(Milestone::Paid).to_string(),
        second.map_or(0, |second| second.good + second.refused + second.errors).to_string(),
        second.map_or(0, |second| second.refused).to_string(),
        errors.to_string(),
        p99,
    ];
    let cells: Vec<String> = cells.iter().zip(HEAD).map(|(cell, (_, width))| format!("{cell:>width$}")).collect();
    format!("{:>5} {}", now.as_secs(), cells.join(" "))
}

/// A line for whoever watches. Nobody may be there any more; that is no reason to stop.
pub fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}
