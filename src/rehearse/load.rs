//! The load: starts every shopper at its drawn instant, whether or not earlier ones have been answered.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use boxed::boxed;
use rand::RngExt;
use rand::rngs::StdRng;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior};

use crate::measure::{AccountRecord, LoadRecorder, Milestone, Step};
use crate::shopper;
use crate::shopper::{LoadContext, TestAccount, visit};
use domain::Rush;

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
    pub(crate) fn last_arrival(&self) -> Duration {
        self.shoppers.last().map_or(Duration::ZERO, |(at, _)| *at)
    }
}

/// The records of all accounts.
pub struct LoadResult {
    pub shoppers: Vec<AccountRecord>,
    pub bots: Vec<AccountRecord>,
}

/// Runs the plan until every shopper and bot is done.
#[boxed]
pub async fn run(context: Arc<LoadContext>, plan: LoadPlan, began: Instant) -> LoadResult {
    let until = began + plan.last_arrival().max(plan.opens + MIN_BOT_TIME.max(plan.wait));
    let from = began + plan.opens.saturating_sub(BOT_LEAD);
    let mut bots = JoinSet::new();
    for account in plan.bots {
        bots.spawn(shopper::run_bot(context.clone(), account, from, until));
    }
    let mut visits = JoinSet::new();
    for (number, (at, account)) in plan.shoppers.into_iter().enumerate() {
        tokio::time::sleep_until(began + at).await;
        visits.spawn(visit(context.clone(), account, number as u64, began + at));
    }
    LoadResult { shoppers: visits.join_all().await, bots: bots.join_all().await }
}

/// Prints a line each second until it is dropped.
pub(crate) async fn print_progress(recorder: Arc<LoadRecorder>, began: Instant, opens: Duration) {
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
pub(crate) fn print_line(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

// When shoppers arrive: a Poisson process whose rate rises linearly and then stays. The instants are drawn before the
// first request is sent and do not depend on responses, so a slow shop does not slow its shoppers.

/// Number and rate of arrivals.
#[derive(Debug, Clone, Copy)]
pub struct ArrivalProfile {
    pub shoppers: u32,
    /// Arrivals per second once the ramp is over.
    pub rps: u32,
    pub ramp: Duration,
}

/// The instants, counted from the beginning, in order.
pub fn arrivals(profile: ArrivalProfile, dice: &mut StdRng) -> Vec<Duration> {
    let mut expected = 0.0;
    let instants = (0..profile.shoppers).map(|_| {
        // The expected number of arrivals grows by an exponential step from one arrival to the next.
        expected += exponential(dice);
        profile.instant_of(expected)
    });
    instants.collect()
}

/// The time over which pages spread their first requests, as in `static/spread.js`: a longer spread is enforced by the
/// shop, and a page only has to ask for its moment early enough.
pub fn page_spread_ms(spread_ms: u32) -> f64 {
    let enforced = i64::from(spread_ms) >= Rush::MIN_ENFORCED_SPREAD_MS;
    if enforced { Rush::default().spread_ms as f64 } else { f64::from(spread_ms) }
}

/// A draw from the exponential distribution with mean 1.
pub fn exponential(dice: &mut StdRng) -> f64 {
    -(1.0 - dice.random::<f64>()).ln()
}

impl ArrivalProfile {
    /// The instant by which this number of arrivals is expected: the inverse of the rate's integral.
    fn instant_of(self, expected: f64) -> Duration {
        let (rate, ramp) = (f64::from(self.rps), self.ramp.as_secs_f64());
        let during_ramp = rate * ramp / 2.0;
        let seconds = if expected <= during_ramp {
            (2.0 * ramp * expected / rate).sqrt()
        } else {
            ramp + (expected - during_ramp) / rate
        };
        Duration::from_secs_f64(seconds)
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    const PROFILE: ArrivalProfile = ArrivalProfile { shoppers: 20_000, rps: 1_000, ramp: Duration::from_secs(10) };

    fn drawn(seed: u64) -> Vec<Duration> {
        arrivals(PROFILE, &mut StdRng::seed_from_u64(seed))
    }

    #[test]
    fn pages_spread_what_the_shop_does_not() {
        let widths = [0, 999, 1_000, 30_000, 600_000].map(page_spread_ms);
        assert_eq!(widths, [0.0, 999.0, 600.0, 600.0, 600.0]);
    }

    #[test]
    fn same_seed_gives_same_arrivals() {
        assert_eq!(drawn(7), drawn(7));
        assert_ne!(drawn(7), drawn(8));
    }

    #[test]
    fn arrivals_are_in_order_and_follow_the_ramp() {
        let instants = drawn(1);
        assert_eq!(instants.len(), 20_000);
        assert!(instants.is_sorted());
        let between = |from: u64, to: u64| {
            let window = Duration::from_secs(from)..Duration::from_secs(to);
            instants.iter().filter(|at| window.contains(*at)).count() as f64
        };
        // The counts are within five standard deviations of a Poisson count.
        for (from, to, expected) in [(0, 2, 200.0), (4, 6, 1_000.0), (8, 10, 1_800.0), (12, 14, 2_000.0)] {
            let found = between(from, to);
            assert!((found - expected).abs() < 5.0 * f64::sqrt(expected), "{from}–{to}: {found}, not {expected}");
        }
    }

    #[test]
    fn gaps_after_the_ramp_are_exponential() {
        let instants = drawn(3);
        let late: Vec<f64> = instants.windows(2).skip(8_000).map(|two| (two[1] - two[0]).as_secs_f64()).collect();
        let mean = late.iter().sum::<f64>() / late.len() as f64;
        let spread = (late.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / late.len() as f64).sqrt();
        assert!((spread / mean - 1.0).abs() < 0.05, "exponential gaps spread as wide as their mean: {mean} {spread}");
    }

    #[test]
    fn ramp_may_outlast_the_arrivals() {
        let few = ArrivalProfile { shoppers: 3, rps: 1, ramp: Duration::from_secs(600) };
        assert!(arrivals(few, &mut StdRng::seed_from_u64(1)).iter().all(|at| *at < Duration::from_secs(300)));
    }
}
