//! Data control (数据控制模块): keeps the stock backend in step with the database. One of several processes works at a time,
//! under a lease: the program hands [`Control`] its [`Job`]s. Every step is guarded where it writes, so a process that
//! works on after losing the lease does no harm (`docs/decisions/0025`). Jobs go on past an item that fails: one sale's or
//! one payment's trouble is its own.
//!
//! [`stock_sync`] loads sales into Redis, recovers what Redis lost and keeps definitions and counters in step; [`allot`]
//! hands out the units of split sales to their buckets; [`reconcile`] compares holds with orders. For administrators,
//! [`sales_admin`] changes goods and sales and says what depends on a sale, [`today`] sums up what they see first,
//! [`checklist`] reports what to verify before a sale begins, and [`audit`] checks the invariants. [`schedule`] opens and
//! closes sales and returns the deposits of those that are over, [`waiting_rooms`] calls shoppers from waiting rooms and
//! keeps their turns while a sale stands still, [`draws`] holds draws, [`waitlists`] gives units that come back to the next
//! who waits.

pub mod cockpit;

pub mod sales_admin;
pub mod stock_sync;

pub mod allot;
pub mod audit;
pub mod checklist;
pub mod draws;
pub mod reconcile;
pub mod schedule;
pub mod today;
pub mod waiting_rooms;
pub mod waitlists;

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use boxed::boxed;
use futures::future::{BoxFuture, join_all};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use base::locked;
use base::periodic::Periodic;
use engine::catalogue::Catalogue;
use pages::publish::Publisher;
use store::{Store, WATCHED_JOBS};

pub const LEASE: &str = "control";
/// Several renewals fit into the duration of the lease.
const LEASE_DURATION: Duration = Duration::from_secs(5);
const LEASE_RENEWAL_INTERVAL: Duration = Duration::from_secs(1);
/// How often a job is repeated while the shop rests.
const REST_INTERVAL: Duration = Duration::from_secs(2);
/// How often the database is asked which of the [`WATCHED_JOBS`] have something to do.
const WATCH_INTERVAL: Duration = Duration::from_millis(500);
/// A watched job is run after this time even if nothing seems due: its metrics say how much waits, and keys of red
/// packets that are settled leave Redis.
const WATCHED_INTERVAL: Duration = Duration::from_secs(10);

/// Between the first steps of two jobs. Jobs that always wake together would each need a connection of the pool, most of
/// which would then be tested before each use.
const STAGGER: Duration = Duration::from_millis(20);

/// A step of data control that is repeated while this process holds the lease.
pub struct Job {
    pub name: &'static str,
    pub interval: Duration,
    /// A step is followed by a pause of at least this multiple of its duration.
    pub pause_factor: u32,
    /// Whether a stop of the process interrupts a step. Such a step leaves nothing half done.
    pub interruptible: bool,
    /// A step is left out while this is false.
    is_needed: Condition,
    /// While this is true, steps are [`REST_INTERVAL`] apart. The [`WATCHED_JOBS`] rest whenever nothing is due.
    is_resting: Condition,
    step: Step,
}

type Condition = Box<dyn Fn() -> bool + Send + Sync>;
type Step = Box<dyn Fn() -> BoxFuture<'static, anyhow::Result<()>> + Send + Sync>;

impl Job {
    /// Each step is called with a clone of `part`, which is a handle such as an `Arc`. What it returns is dropped.
    pub fn new<T, F, R, E>(name: &'static str, interval: Duration, part: T, step: fn(T) -> F) -> Job
    where
        T: Clone + Send + Sync + 'static,
        F: Future<Output = Result<R, E>> + Send + 'static,
        R: 'static,
        E: Into<anyhow::Error> + 'static,
    {
        let step: Step = Box::new(move || {
            let step = step(part.clone());
            Box::pin(async move { step.await.map(drop).map_err(Into::into) })
        });
        let (is_needed, is_resting): (Condition, Condition) = (Box::new(|| true), Box::new(|| false));
        Job { name, interval, pause_factor: 0, interruptible: false, is_needed, is_resting, step }
    }

    /// Runs a step only if this is true at that time.
    pub fn only_if(self, is_needed: impl Fn() -> bool + Send + Sync + 'static) -> Job {
        Job { is_needed: Box::new(is_needed), ..self }
    }

    /// Repeats a step only every two seconds while this is true.
    pub fn resting_while(self, is_resting: impl Fn() -> bool + Send + Sync + 'static) -> Job {
        Job { is_resting: Box::new(is_resting), ..self }
    }

    pub fn interruptible(self) -> Job {
        Job { interruptible: true, ..self }
    }

    pub fn with_pause(self, factor: u32) -> Job {
        Job { pause_factor: factor, ..self }
    }

    async fn run(&self, leased: &LeaseHeld, due: &watch::Sender<HashSet<&'static str>>, stop: &CancellationToken) {
        let mut periodic = Periodic::new(self.name, self.interval, stop);
        let mut last: Option<Instant> = None;
        let (is_watched, mut due) = (WATCHED_JOBS.contains(&self.name), due.subscribe());
        loop {
            let goes_on = tokio::select! {
                goes_on = periodic.tick() => goes_on,
                // What has become due is done at once, not at the next tick.
                changed = due.changed(), if is_watched => changed.is_ok(),
            };
            if !goes_on || !self.wait_for_lease(leased, stop).await {
                break;
            }
            let rested = |interval| last.is_none_or(|since| since.elapsed() >= interval);
            let is_due = match is_watched {
                true => due.borrow().contains(self.name) || rested(WATCHED_INTERVAL),
                false => !(self.is_resting)() || rested(REST_INTERVAL),
            };
            if !is_due || !(self.is_needed)() {
                continue;
            }
            let started = Instant::now();
            last = Some(started);
            let step = (self.step)();
            let done = if self.interruptible { stop.run_until_cancelled(step).await } else { Some(step.await) };
            periodic.record(done.unwrap_or(Ok(())));
            let duration = started.elapsed();
            stop.run_until_cancelled(tokio::time::sleep(duration * self.pause_factor)).await;
        }
    }

    /// `false` once the process stops. A step that is due without the lease follows it at once: the next tick may be an hour
    /// away.
    async fn wait_for_lease(&self, leased: &LeaseHeld, stop: &CancellationToken) -> bool {
        while !leased.is_held() {
            let pause = tokio::time::sleep(self.interval.min(LEASE_RENEWAL_INTERVAL));
            if stop.run_until_cancelled(pause).await.is_none() {
                return false;
            }
        }
        true
    }
}

/// Data control: its jobs, and the lease that lets one of several processes run them.
pub struct Control {
    pub store: Store,
    pub jobs: Vec<Job>,
    /// Unique among all processes.
    pub member: String,
}

#[boxed]
impl Control {
    /// Runs every job until it is stopped.
    pub async fn run(self, stop: CancellationToken) -> anyhow::Result<()> {
        let (leased, due) = (LeaseHeld::default(), watch::Sender::default());
        let jobs = join_all((0_u32..).zip(&self.jobs).map(async |(place, job)| {
            stop.run_until_cancelled(tokio::time::sleep(STAGGER * place)).await;
            job.run(&leased, &due, &stop).await;
        }));
        tokio::join!(self.renew_lease(&leased, &stop), self.watch(&leased, &due, &stop), jobs);
        // If that fails, the lease expires by itself.
        if let Err(error) = self.store.leases().release(LEASE, &self.member).await {
            warn!(%error, "the lease of data control could not be given back");
        }
        Ok(())
    }

    /// Keeps `due` up to date. While that fails, every job may have something to do.
    async fn watch(&self, leased: &LeaseHeld, due: &watch::Sender<HashSet<&'static str>>, stop: &CancellationToken) {
        let mut periodic = Periodic::new("what is due", WATCH_INTERVAL, stop);
        while periodic.tick().await {
            if leased.is_held() {
                let found = self.store.jobs_due().await;
                let now = found.as_ref().map_or_else(|_| WATCHED_JOBS.into(), Clone::clone);
                due.send_if_modified(|due| std::mem::replace(due, now.clone()) != now);
                periodic.record(found.map(drop));
            }
        }
    }

    async fn renew_lease(&self, leased: &LeaseHeld, stop: &CancellationToken) {
        let mut periodic = Periodic::new("lease of data control", LEASE_RENEWAL_INTERVAL, stop);
        while periodic.tick().await {
            let asked = Instant::now();
            let lease = self.store.leases().acquire(LEASE, &self.member, LEASE_DURATION).await;
            // Without the database the holder is unknown, and no task could work anyway.
            let held = *lease.as_ref().unwrap_or(&false);
            periodic.record(lease.map(drop));
            if leased.set(held.then(|| asked + LEASE_DURATION)) != held {
                info!(held, "the lease of data control was acquired or lost");
            }
        }
    }
}

/// Renders pages into this machine's data directory whenever goods or sales change, until it is stopped.
#[boxed]
pub async fn render_on_change(
    catalogue: Arc<Catalogue>,
    pages: Arc<Publisher>,
    stop: CancellationToken,
) -> anyhow::Result<()> {
    let mut changes = catalogue.changes();
    changes.mark_changed();
    while let Some(Ok(())) = stop.run_until_cancelled(changes.changed()).await {
        changes.borrow_and_update();
        let (catalogue, pages) = (catalogue.clone(), pages.clone());
        tokio::task::spawn_blocking(move || publish(&catalogue, &pages)).await??;
    }
    Ok(())
}

/// Renders the pages and writes them, and the assets, where other servers serve them.
pub fn publish(catalogue: &Catalogue, pages: &Publisher) -> anyhow::Result<()> {
    // First, because this program's server shows them even if nothing can be written.
    publish_pages(catalogue, pages)?;
    pages.publish_assets()
}

/// Renders the pages of all public sales and of categories.
pub fn publish_pages(catalogue: &Catalogue, pages: &Publisher) -> anyhow::Result<()> {
    let sales: Vec<_> = catalogue.public().iter().map(|e| (e.sale.clone(), e.goods.clone())).collect();
    let report = pages.publish(
        &sales,
        &catalogue.categories(),
        &catalogue.answers(),
        &catalogue.shipping(),
        &catalogue.settings(),
    )?;
    if report.written + report.removed > 0 {
        info!(written = report.written, unchanged = report.unchanged, removed = report.removed, "pages rendered");
    }
    Ok(())
}

/// Until when this process holds the lease. Measured from the moment before it was asked for, so that a process that was
/// frozen begins no step when it wakes.
#[derive(Default)]
struct LeaseHeld(Mutex<Option<Instant>>);

impl LeaseHeld {
    /// Returns whether the lease was held before.
    fn set(&self, until: Option<Instant>) -> bool {
        std::mem::replace(&mut *locked(&self.0), until).is_some()
    }

    fn is_held(&self) -> bool {
        locked(&self.0).is_some_and(|until| Instant::now() < until)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn step_of_an_hourly_job_follows_the_lease() {
        let (leased, stop, steps) = (LeaseHeld::default(), CancellationToken::new(), Arc::new(AtomicUsize::new(0)));
        let job = Job::new("test", Duration::from_secs(3600), steps.clone(), |steps| async move {
            steps.fetch_add(1, Ordering::Relaxed);
            anyhow::Ok(())
        });
        let lease = async {
            tokio::time::sleep(LEASE_DURATION).await;
            assert_eq!(steps.load(Ordering::Relaxed), 0, "the lease is not held");
            leased.set(Some(Instant::now() + LEASE_DURATION));
            tokio::time::sleep(LEASE_RENEWAL_INTERVAL * 2).await;
            stop.cancel();
        };
        let due = watch::Sender::default();
        tokio::join!(job.run(&leased, &due, &stop), lease);
        assert_eq!(steps.load(Ordering::Relaxed), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn job_of_a_resting_shop_is_repeated_every_two_seconds_and_wakes_at_once() {
        let (leased, stop, steps) = (LeaseHeld::default(), CancellationToken::new(), Arc::new(AtomicUsize::new(0)));
        leased.set(Some(Instant::now() + Duration::from_secs(3600)));
        let resting = Arc::new(AtomicBool::new(true));
        let job = Job::new("test", Duration::from_millis(200), steps.clone(), |steps| async move {
            steps.fetch_add(1, Ordering::Relaxed);
            anyhow::Ok(())
        });
        let is_resting = resting.clone();
        let job = job.resting_while(move || is_resting.load(Ordering::Relaxed));
        let clock = async {
            tokio::time::sleep(Duration::from_millis(9_900)).await;
            assert_eq!(steps.load(Ordering::Relaxed), 5, "at 0, 2, 4, 6 and 8 seconds");
            resting.store(false, Ordering::Relaxed);
            tokio::time::sleep(Duration::from_secs(1)).await;
            assert_eq!(steps.load(Ordering::Relaxed), 10, "five a second");
            stop.cancel();
        };
        let due = watch::Sender::default();
        tokio::join!(job.run(&leased, &due, &stop), clock);
    }

    #[tokio::test(start_paused = true)]
    async fn watched_job_runs_as_soon_as_something_is_due_and_rarely_else() {
        let (leased, stop, steps) = (LeaseHeld::default(), CancellationToken::new(), Arc::new(AtomicUsize::new(0)));
        leased.set(Some(Instant::now() + Duration::from_secs(3600)));
        let (due, name) = (watch::Sender::default(), WATCHED_JOBS[0]);
        let job = Job::new(name, Duration::from_millis(500), steps.clone(), |steps| async move {
            steps.fetch_add(1, Ordering::Relaxed);
            anyhow::Ok(())
        });
        let clock = async {
            tokio::time::sleep(Duration::from_millis(19_900)).await;
            assert_eq!(steps.load(Ordering::Relaxed), 2, "at 0 and 10 seconds");
            tokio::time::sleep(Duration::from_millis(5_200)).await;
            due.send_replace(HashSet::from(["another job"]));
            due.send_replace(HashSet::from([name]));
            tokio::time::sleep(Duration::from_millis(1)).await;
            assert_eq!(steps.load(Ordering::Relaxed), 4, "at 20 seconds, and at once");
            tokio::time::sleep(Duration::from_secs(1)).await;
            assert_eq!(steps.load(Ordering::Relaxed), 6, "at its interval while something is due");
            due.send_replace(HashSet::new());
            tokio::time::sleep(Duration::from_secs(5)).await;
            assert_eq!(steps.load(Ordering::Relaxed), 6);
            stop.cancel();
        };
        tokio::join!(job.run(&leased, &due, &stop), clock);
    }
}
