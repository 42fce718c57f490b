//! Background tasks: a step at a fixed interval until the process stops, and logs of when it begins and ceases to fail.

use std::fmt::Display;
use std::time::Duration;

use tokio::time::{Instant, Interval, MissedTickBehavior};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

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

/// Runs `task` again, `delay` after each failure, until `stop` is cancelled. For tasks that hold connections and end only
/// when one is lost.
pub async fn restart_on_error<F>(
    delay: Duration,
    stop: &CancellationToken,
    task: &'static str,
    mut run: impl FnMut() -> F,
) where
    F: Future<Output = anyhow::Result<()>>,
{
    while !stop.is_cancelled() {
        if let Err(error) = run().await {
            warn!(
                task,
                error = format!("{error:#}"),
                delay_ms = delay.as_millis() as u64,
                "task failed; restarting it"
            );
            stop.run_until_cancelled(tokio::time::sleep(delay)).await;
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

    /// Takes note of one attempt.
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
