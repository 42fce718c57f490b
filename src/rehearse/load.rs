//! The load: starts every shopper at its drawn instant, whether or not earlier ones have been answered.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior};

use super::bot;
use super::measure::{LoadRecorder, Milestone, Step};
use super::shopper::{LoadContext, TestAccount, visit};
use crate::outcome::AccountRecord;

/// Bots start this long before the opening.
const BOT_LEAD: Duration = Duration::from_secs(2);
/// Bots go on for at least this long after the opening, or until the last shopper has arrived.
const MIN_BOT_TIME: Duration = Duration::from_secs(5);

/// Who arrives when.
pub struct LoadPlan {
    /// Each shopper with the time from the beginning to its arrival, in order.
    pub shoppers: Vec<(Duration, TestAccount)>,
    pub bots: Vec<TestAccount>,
    /// Time from the beginning until the sale opens.
    pub opens: Duration,
    /// How long after the opening an account may have to wait for its turn.
    pub wait: Duration,
}

impl LoadPlan {
    /// Time from the beginning until the last shopper arrives.
    pub fn last_arrival(&self) -> Duration {
        self.shoppers.last().map_or(Duration::ZERO, |(at, _)| *at)
    }
}

/// The records of all accounts.
pub struct LoadResult {
    pub shoppers: Vec<AccountRecord>,
    pub bots: Vec<AccountRecord>,
}

/// Runs the plan until every shopper and bot is done.
pub async fn run(context: Arc<LoadContext>, plan: LoadPlan, began: Instant) -> LoadResult {
    let until = began + plan.last_arrival().max(plan.opens + MIN_BOT_TIME.max(plan.wait));
    let from = began + plan.opens.saturating_sub(BOT_LEAD);
    let mut bots = JoinSet::new();
    for account in plan.bots {
        bots.spawn(bot::run(context.clone(), account, from, until));
    }
    let mut visits = JoinSet::new();
    for (number, (at, account)) in plan.shoppers.into_iter().enumerate() {
        tokio::time::sleep_until(began + at).await;
        visits.spawn(visit(context.clone(), account, number as u64, began + at));
    }
    LoadResult { shoppers: visits.join_all().await, bots: bots.join_all().await }
}

/// Prints a line each second until it is dropped.
pub async fn print_progress(recorder: Arc<LoadRecorder>, began: Instant, opens: Duration) {
    let mut ticks = tokio::time::interval_at(began + Duration::from_secs(1), Duration::from_secs(1));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    print_line(&format!("{:>5} {}", "s", HEAD.map(|(name, width)| format!("{name:>width$}")).join(" ")));
    let mut announced = false;
    loop {
        ticks.tick().await;
        let now = began.elapsed();
        if now >= opens && !std::mem::replace(&mut announced, true) {
            print_line("      the sale opens");
        }
        print_line(&line(&recorder, now));
    }
}

/// Columns of a progress line, with their widths.
const HEAD: [(&str, usize); 9] = [
    ("arrived", 8),
    ("pressed", 8),
    ("granted", 8),
    ("orders", 7),
    ("paid", 6),
    ("answers/s", 10),
    ("refused/s", 10),
    ("errors", 7),
    ("p99 ms", 8),
];

fn line(recorder: &LoadRecorder, now: Duration) -> String {
    let measured = recorder.snapshot();
    // The last complete second.
    let second = (now.as_secs() as usize).checked_sub(1).and_then(|n| measured.seconds.get(n));
    let errors: u64 = Step::ALL.iter().map(|step| measured.of(*step).errors).sum();
    let p99 = second.filter(|second| !second.times.is_empty());
    let p99 = p99.map_or("–".into(), |second| format!("{:.0}", second.times.value_at_quantile(0.99) as f64 / 1000.0));
    let cells = [
        measured.at(Milestone::Arrived).to_string(),
        measured.at(Milestone::Pressed).to_string(),
        measured.at(Milestone::Granted).to_string(),
        measured.at(Milestone::Persisted).to_string(),
        measured.at(Milestone::Paid).to_string(),
        second.map_or(0, |second| second.good + second.refused + second.errors).to_string(),
        second.map_or(0, |second| second.refused).to_string(),
        errors.to_string(),
        p99,
    ];
    let cells: Vec<String> = cells.iter().zip(HEAD).map(|(cell, (_, width))| format!("{cell:>width$}")).collect();
    format!("{:>5} {}", now.as_secs(), cells.join(" "))
}

/// Prints a line. A closed standard output is no reason to stop.
pub fn print_line(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}
