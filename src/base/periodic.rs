//! Background tasks: a step at a fixed interval until the process stops, and logs of when it begins and ceases to fail.

use std::collections::HashMap;
use std::fmt::Display;
use std::hash::Hash;
use std::sync::Mutex;
use std::time::Duration;

use tokio::time::{Instant, Interval, MissedTickBehavior};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::locked;

/// Runs `step` every `interval`, the first time at once, until `stop` is cancelled. A step that has begun is finished.
pub async fn run_every<F, E>(
    interval: Duration,
    stop: &CancellationToken,
    task: &'static str,
    mut step: impl FnMut() -> F,
) where
    F: Future<Output = Result<(), E>>,
    E: Display,
{
    let mut periodic = Periodic::new(task, interval, stop);
    while periodic.tick().await {
        periodic.record(step().await);
    }
}

/// Delay before the next attempt after a failure.
pub const RETRY_DELAY: Duration = Duration::from_millis(500);

/// Runs `task` again, [`RETRY_DELAY`] after each failure, until `stop` is cancelled. For tasks that hold connections and
/// end only when one is lost.
pub async fn restart_on_error<F>(stop: &CancellationToken, task: &'static str, mut run: impl FnMut() -> F)
where
    F: Future<Output = anyhow::Result<()>>,
{
    while !stop.is_cancelled() {
        if let Err(error) = run().await {
            let (error, delay_ms) = (format!("{error:#}"), RETRY_DELAY.as_millis() as u64);
            warn!(task, error, delay_ms, "task failed; restarting it");
            stop.run_until_cancelled(tokio::time::sleep(RETRY_DELAY)).await;
        }
    }
}

/// As [`run_every`], for steps that keep state between ticks.
pub struct Periodic<'a> {
    ticks: Interval,
    stop: &'a CancellationToken,
    failures: FailureLog,
}

impl Periodic<'_> {
    pub fn new<'a>(task: &'static str, interval: Duration, stop: &'a CancellationToken) -> Periodic<'a> {
        let mut ticks = tokio::time::interval(interval);
        // A step that takes longer than the interval is followed by one at once, never by a burst.
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Periodic { ticks, stop, failures: FailureLog::new(task) }
    }

    /// Waits until the next step is due; `false` once the process stops.
    pub async fn tick(&mut self) -> bool {
        self.stop.run_until_cancelled(self.ticks.tick()).await.is_some()
    }

    /// See [`FailureLog::record`].
    pub fn record(&mut self, outcome: Result<(), impl Display>) {
        self.failures.record(outcome);
    }
}

/// Logs when a repeated task begins to fail and when it works again, rather than every attempt.
#[derive(Debug)]
pub struct FailureLog {
    task: &'static str,
    failing: Option<Failing>,
}

#[derive(Debug)]
struct Failing {
    since: Instant,
    attempts: u64,
}

impl FailureLog {
    pub fn new(task: &'static str) -> FailureLog {
        FailureLog { task, failing: None }
    }

    /// Records one attempt.
    pub fn record(&mut self, outcome: Result<(), impl Display>) {
        match (outcome, &mut self.failing) {
            (Ok(()), None) => {}
            (Ok(()), Some(Failing { since, attempts })) => {
                let seconds = since.elapsed().as_secs_f64();
                info!(task = self.task, attempts, seconds, "task works again");
                self.failing = None;
            }
            (Err(error), None) => {
                warn!(task = self.task, error = format!("{error:#}"), "task failed; trying again at its interval");
                self.failing = Some(Failing { since: Instant::now(), attempts: 1 });
            }
            (Err(_), Some(failing)) => failing.attempts += 1,
        }
    }
}

/// The first wait of an item that failed; doubled after every further failure.
const MIN_BACKOFF: Duration = Duration::from_millis(500);
/// An item that works again is noticed this soon.
const MAX_BACKOFF: Duration = Duration::from_secs(8);
/// An item that was not tried for this long no longer exists.
const FORGET_AFTER: Duration = Duration::from_secs(600);

/// The items of a repeated task that failed at their last attempt. Each waits for its next attempt, so that it delays
/// no other item. Logs when an item begins to fail and when it works again. The state is lost with the process: after a
/// restart everything is tried at once.
#[derive(Debug)]
pub struct Backoff<K> {
    task: &'static str,
    failing: Mutex<HashMap<K, FailingItem>>,
}

#[derive(Debug)]
struct FailingItem {
    since: Instant,
    attempts: u64,
    wait: Duration,
    next: Instant,
}

impl<K: Copy + Eq + Hash + Display> Backoff<K> {
    pub fn new(task: &'static str) -> Backoff<K> {
        Backoff { task, failing: Mutex::default() }
    }

    /// Whether the item failed at its last attempt.
    pub fn is_failing(&self, item: &K) -> bool {
        locked(&self.failing).contains_key(item)
    }

    /// Whether the item failed and its next attempt is not due.
    pub fn is_waiting(&self, item: &K) -> bool {
        locked(&self.failing).get(item).is_some_and(|failing| failing.next > Instant::now())
    }

    /// The items whose next attempt is not due.
    pub fn waiting(&self) -> Vec<K> {
        let now = Instant::now();
        locked(&self.failing).iter().filter(|(_, failing)| failing.next > now).map(|(item, _)| *item).collect()
    }

    /// Records one attempt.
    pub fn record(&self, item: K, outcome: Result<(), impl Display>) {
        let mut items = locked(&self.failing);
        items.retain(|_, failing| failing.next.elapsed() < FORGET_AFTER);
        match outcome {
            Ok(()) => {
                if let Some(FailingItem { since, attempts, .. }) = items.remove(&item) {
                    let seconds = since.elapsed().as_secs_f64();
                    info!(task = self.task, %item, attempts, seconds, "an item that failed works again");
                }
            }
            Err(error) => {
                let now = Instant::now();
                let fresh = || FailingItem { since: now, attempts: 0, wait: MIN_BACKOFF / 2, next: now };
                let failing = items.entry(item).or_insert_with(fresh);
                failing.attempts += 1;
                failing.wait = (failing.wait * 2).min(MAX_BACKOFF);
                failing.next = now + failing.wait;
                if failing.attempts == 1 {
                    let error = format!("{error:#}");
                    warn!(task = self.task, %item, error, "an item failed; trying it again later, the others go on");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_step_runs_at_once_and_at_every_interval_until_the_stop() {
        let stop = CancellationToken::new();
        let mut steps = 0;
        run_every(Duration::from_secs(10), &stop, "test", || {
            steps += 1;
            if steps == 3 {
                stop.cancel();
            }
            std::future::ready(if steps == 2 { Err("fails once") } else { Ok(()) })
        })
        .await;
        assert_eq!(steps, 3);
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_step_is_not_followed_by_a_burst() {
        let stop = CancellationToken::new();
        let mut periodic = Periodic::new("test", Duration::from_secs(1), &stop);
        let mut waits = Vec::new();
        for work in [0, 5, 0, 0] {
            let began = Instant::now();
            assert!(periodic.tick().await);
            waits.push(began.elapsed().as_secs());
            tokio::time::sleep(Duration::from_secs(work)).await;
        }
        assert_eq!(waits, [0, 1, 0, 1]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_failing_item_waits_longer_and_longer_and_delays_no_other() {
        let backoff = Backoff::new("test");
        for wait_ms in [500, 1_000, 2_000, 4_000, 8_000, 8_000] {
            backoff.record(1, Err("fails"));
            tokio::time::advance(Duration::from_millis(wait_ms - 1)).await;
            assert!(backoff.is_waiting(&1) && !backoff.is_waiting(&2), "{wait_ms} ms");
            tokio::time::advance(Duration::from_millis(1)).await;
            assert!(!backoff.is_waiting(&1) && backoff.is_failing(&1), "{wait_ms} ms");
        }
        backoff.record(1, Ok::<(), &str>(()));
        backoff.record(1, Err("fails again"));
        assert_eq!(backoff.waiting(), [1]);
        tokio::time::advance(Duration::from_millis(500)).await;
        assert!(backoff.waiting().is_empty());
    }

    #[test]
    fn a_success_ends_the_failure() {
        let mut log = FailureLog::new("test");
        log.record(Err("first"));
        log.record(Err("second"));
        assert_eq!(log.failing.as_ref().map(|failing| failing.attempts), Some(2));
        log.record(Ok::<_, &str>(()));
        assert!(log.failing.is_none());
    }
}
