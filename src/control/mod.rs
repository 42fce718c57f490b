//! Data control (数据控制模块): keeps the stock backend in step with the database. One of several processes works at a time,
//! under a lease. Every step is guarded where it writes, so a process that works on after losing the lease does no harm
//! (`docs/decisions/0025`). Tasks go on past an item that fails: one sale's or one payment's trouble is its own.
//!
//! [`stock_sync`] loads sales into Redis, recovers what Redis lost and keeps definitions and counters in step; [`allot`] hands
//! out the units of split sales to their buckets; [`reconcile`] compares holds with orders. For administrators,
//! [`sales_admin`] changes goods and sales, [`sale_stakes`] says what depends on a sale, [`today`] sums up what they see first, [`checklist`] reports what to verify before a sale begins, and [`audit`] checks
//! the invariants. [`schedule`] opens and closes sales, [`queues`] calls shoppers from waiting rooms, [`turns`] keeps their turns while a sale stands still, [`draws`] holds draws,
//! [`waitlists`] gives units that come back to the next who waits, [`deposits`] returns what sales set aside, [`digests`] keeps what the reports of sales need.

pub mod sales_admin;
pub mod stock_sync;

pub mod allot;
pub mod audit;
pub mod audit_file;
pub mod checklist;
pub mod deposits;
pub mod digests;
pub mod draws;
pub mod queues;
pub mod reconcile;
pub mod revenue;
pub mod sale_stakes;
pub mod schedule;
pub mod today;
pub mod turns;
pub mod waitlists;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::catalogue::Catalogue;
use crate::mail::Mailer;
use crate::mail::push::Pusher;
use crate::metrics::Metrics;
use crate::orders::expiry::Expiry;
use crate::packets::settle::PacketSettler;
use crate::pages::publish::Publisher;
use crate::payments::{Payments, Sandbox};
use crate::periodic::Periodic;
use crate::pipeline::rabbit::Monitor;
use crate::stock::Stock;
use crate::store::Store;
use allot::Allotter;
use deposits::Deposits;
use digests::Digests;
use draws::Draws;
use queues::Queues;
use schedule::Schedule;
use stock_sync::StockSync;
use turns::Turns;
use waitlists::Waitlists;

pub(crate) const LEASE: &str = "control";
/// Several renewals fit into the duration of the lease.
const LEASE_DURATION: Duration = Duration::from_secs(5);
const LEASE_RENEWAL_INTERVAL: Duration = Duration::from_secs(1);
/// How often schedules are read. An opening within the interval is waited for, so it is met to the millisecond.
const SCHEDULE_INTERVAL: Duration = Duration::from_millis(500);
const STOCK_SYNC_INTERVAL: Duration = Duration::from_millis(200);
/// For overdue orders, releases, refunds, closings and webhooks; each a task of its own.
const ORDERS_INTERVAL: Duration = Duration::from_millis(500);
/// How soon a bucket that has sold its lot gets another one.
const ALLOT_INTERVAL: Duration = Duration::from_millis(100);
/// Each step looks at packets that are over and at a sample of the others.
const PACKETS_INTERVAL: Duration = Duration::from_millis(500);
/// How soon a message is sent.
const MAIL_INTERVAL: Duration = Duration::from_millis(500);
/// How soon a start, or the end of the time to pay, that has come near is noticed. Each step writes a row.
const NOTICES_INTERVAL: Duration = Duration::from_secs(10);
/// How soon a list is locked, a draw held, or a returned unit given to the next.
const DRAWS_INTERVAL: Duration = Duration::from_millis(500);
/// How soon the next in a waiting room is called.
const QUEUES_INTERVAL: Duration = Duration::from_millis(500);
/// How soon a unit that came back is offered to the next who waits.
const WAITLISTS_INTERVAL: Duration = Duration::from_millis(500);
/// How soon the deposits of a sale that is over go back.
const DEPOSITS_INTERVAL: Duration = Duration::from_secs(1);
/// For rows that nothing needs any more.
const PURGE_INTERVAL: Duration = Duration::from_secs(60);
/// Totals of orders are wrong only after an older version changed orders beside this one.
const TOTALS_INTERVAL: Duration = Duration::from_secs(3600);
/// How soon after a sale was retired its digest is kept.
const DIGESTS_INTERVAL: Duration = Duration::from_secs(60);
const RECONCILE_INTERVAL: Duration = Duration::from_secs(5);
/// A multiple of a comparison's duration: a long one must leave Redis and the database to shoppers for most of the time.
const RECONCILE_PAUSE_FACTOR: u32 = 5;

/// The tasks of data control and what they work with.
pub struct Control {
    pub store: Store,
    pub stock: Arc<dyn Stock>,
    /// `None` where the database keeps the stock.
    pub stock_sync: Option<Arc<StockSync>>,
    pub allotter: Option<Arc<Allotter>>,
    pub schedule: Schedule,
    pub queues: Queues,
    pub turns: Turns,
    pub draws: Draws,
    pub waitlists: Waitlists,
    pub deposits: Deposits,
    pub digests: Arc<Digests>,
    pub expiry: Expiry,
    pub payments: Payments,
    /// The sandbox provider, if it is on.
    pub sandbox: Option<Arc<Sandbox>>,
    pub packets: PacketSettler,
    pub mailer: Arc<Mailer>,
    pub pusher: Arc<Pusher>,
    pub monitor: Option<Arc<Monitor>>,
    pub metrics: Arc<Metrics>,
    /// Unique among all processes.
    pub member: String,
}

impl Control {
    /// Runs every task until it is stopped.
    pub async fn run(self, stop: CancellationToken) -> anyhow::Result<()> {
        let leased = LeaseHeld::default();
        let schedule =
            LeasedTask { interval: SCHEDULE_INTERVAL, pause_factor: 0, name: "schedule", leased: &leased, stop: &stop };
        let stock_sync = LeasedTask { interval: STOCK_SYNC_INTERVAL, name: "stock sync", ..schedule };
        let allot = LeasedTask { interval: ALLOT_INTERVAL, name: "allotment", ..schedule };
        let orders = LeasedTask { interval: ORDERS_INTERVAL, name: "overdue orders", ..schedule };
        let releases = LeasedTask { interval: ORDERS_INTERVAL, name: "releases", ..schedule };
        let refunds = LeasedTask { interval: ORDERS_INTERVAL, name: "refunds", ..schedule };
        let closings = LeasedTask { interval: ORDERS_INTERVAL, name: "closing of payments", ..schedule };
        let webhooks = LeasedTask { interval: ORDERS_INTERVAL, name: "webhooks", ..schedule };
        let packets = LeasedTask { interval: PACKETS_INTERVAL, name: "red packets", ..schedule };
        let waiting_rooms = LeasedTask { interval: QUEUES_INTERVAL, name: "waiting rooms", ..schedule };
        let turns = LeasedTask { interval: QUEUES_INTERVAL, name: "turns", ..schedule };
        let draws = LeasedTask { interval: DRAWS_INTERVAL, name: "draws", ..schedule };
        let waitlists = LeasedTask { interval: WAITLISTS_INTERVAL, name: "waitlists", ..schedule };
        let deposits = LeasedTask { interval: DEPOSITS_INTERVAL, name: "deposits", ..schedule };
        let mail = LeasedTask { interval: MAIL_INTERVAL, name: "mail", ..schedule };
        let push = LeasedTask { interval: MAIL_INTERVAL, name: "push", ..schedule };
        let notices = LeasedTask { interval: NOTICES_INTERVAL, name: "notices", ..schedule };
        let purge = LeasedTask { interval: PURGE_INTERVAL, name: "purge", ..schedule };
        let totals = LeasedTask { interval: TOTALS_INTERVAL, name: "totals of orders", ..schedule };
        let books = LeasedTask { interval: TOTALS_INTERVAL, name: "books", ..schedule };
        let digests = LeasedTask { interval: DIGESTS_INTERVAL, name: "digests of sales", ..schedule };
        let queues = LeasedTask { interval: LEASE_RENEWAL_INTERVAL, name: "queue depths", ..schedule };
        let reconcile = LeasedTask {
            interval: RECONCILE_INTERVAL,
            pause_factor: RECONCILE_PAUSE_FACTOR,
            name: "reconciliation",
            ..schedule
        };
        tokio::join!(
            self.renew_lease(&leased, &stop),
            schedule.run(|| async { Ok(self.schedule.step(SCHEDULE_INTERVAL).await?) }),
            stock_sync.run(|| self.sync_stock()),
            allot.run(|| self.allot()),
            orders.run(|| async { Ok(self.expiry.cancel_overdue().await.map(drop)?) }),
            releases.run(|| async { Ok(self.expiry.release().await.map(drop)?) }),
            refunds.run(|| async { Ok(self.payments.refund_due().await.map(drop)?) }),
            closings.run(|| async { Ok(self.payments.close_due().await.map(drop)?) }),
            webhooks.run(|| self.deliver_webhooks()),
            packets.run(|| self.packets.step()),
            waiting_rooms.run(|| async { Ok(self.queues.step().await?) }),
            turns.run(|| async { Ok(self.turns.step().await?) }),
            draws.run(|| async { Ok(self.draws.step().await?) }),
            waitlists.run(|| async { Ok(self.waitlists.step().await?) }),
            deposits.run(|| async { Ok(self.deposits.step().await?) }),
            mail.run(|| async { stop.run_until_cancelled(self.send_mail()).await.unwrap_or(Ok(())) }),
            push.run(|| async { stop.run_until_cancelled(self.send_pushes()).await.unwrap_or(Ok(())) }),
            notices.run(|| async { stop.run_until_cancelled(self.write_notices()).await.unwrap_or(Ok(())) }),
            purge.run(|| async { stop.run_until_cancelled(self.purge()).await.unwrap_or(Ok(())) }),
            books.run(|| async { stop.run_until_cancelled(self.close_books()).await.unwrap_or(Ok(())) }),
            totals.run(|| async { stop.run_until_cancelled(self.correct_totals()).await.unwrap_or(Ok(())) }),
            digests.run(|| async { stop.run_until_cancelled(self.keep_digests()).await.unwrap_or(Ok(())) }),
            queues.run(|| self.measure_queues()),
            // A comparison may take long, and an interrupted one leaves nothing half done.
            reconcile.run(|| async { stop.run_until_cancelled(self.reconcile()).await.unwrap_or(Ok(())) }),
        );
        Ok(self.store.release_lease(LEASE, &self.member).await?)
    }

    async fn renew_lease(&self, leased: &LeaseHeld, stop: &CancellationToken) {
        let mut periodic = Periodic::new("lease of data control", LEASE_RENEWAL_INTERVAL, stop);
        while periodic.tick().await {
            let asked = Instant::now();
            let lease = self.store.acquire_lease(LEASE, &self.member, LEASE_DURATION).await;
            // Without the database the holder is unknown, and no task could work anyway.
            let held = *lease.as_ref().unwrap_or(&false);
            periodic.record(lease.map(drop));
            if leased.set(held.then(|| asked + LEASE_DURATION)) != held {
                info!(held, "the lease of data control was acquired or lost");
            }
        }
    }

    async fn deliver_webhooks(&self) -> anyhow::Result<()> {
        if let Some(sandbox) = &self.sandbox {
            sandbox.deliver_due().await?;
        }
        Ok(())
    }

    async fn sync_stock(&self) -> anyhow::Result<()> {
        match &self.stock_sync {
            Some(stock_sync) => stock_sync.step().await,
            None => {
                let now = self.store.now().await?;
                for sale in self.store.retirable_sales(now - stock_sync::RETIRE_AFTER).await? {
                    self.store.retire_sale(sale, now).await?;
                }
                Ok(())
            }
        }
    }

    async fn allot(&self) -> anyhow::Result<()> {
        if let Some(allotter) = &self.allotter {
            allotter.step().await?;
        }
        Ok(())
    }

    async fn send_mail(&self) -> anyhow::Result<()> {
        Ok(self.mailer.step().await.map(drop)?)
    }

    async fn send_pushes(&self) -> anyhow::Result<()> {
        Ok(self.pusher.step().await.map(drop)?)
    }

    /// Tells of sales that start soon and of payments that end soon, in bounded transactions.
    async fn write_notices(&self) -> anyhow::Result<()> {
        for sale in self.store.sales_about_to_start().await? {
            while self.store.tell_of_start(sale).await? {}
        }
        while self.store.tell_of_payment_end().await? {}
        Ok(())
    }

    /// Deletes rows that nothing needs any more, a bounded number at a time.
    async fn purge(&self) -> anyhow::Result<()> {
        while self.store.purge_answers().await? {}
        while self.store.purge_webhooks().await? {}
        while self.store.purge_sandbox().await? {}
        while self.store.purge_security_events().await? {}
        while self.store.purge_order_changes().await? {}
        while self.store.purge_mails().await? {}
        while self.store.purge_reminders().await? {}
        while self.store.purge_groups().await? {}
        while self.store.purge_signals().await? {}
        Ok(())
    }

    async fn correct_totals(&self) -> anyhow::Result<()> {
        let corrected = self.store.correct_order_totals().await?;
        if corrected > 0 {
            warn!(corrected, "totals of orders were wrong and have been corrected");
        }
        Ok(())
    }

    /// Sums up the days that are over, one after the other.
    async fn close_books(&self) -> anyhow::Result<()> {
        while self.store.close_books().await? {}
        Ok(())
    }

    async fn keep_digests(&self) -> anyhow::Result<()> {
        Ok(self.digests.keep().await?)
    }

    async fn measure_queues(&self) -> anyhow::Result<()> {
        if let Some(monitor) = &self.monitor {
            let depths = monitor.depths().await?;
            self.metrics.queue_ready.set(depths.ready.into());
            self.metrics.dead_letters.set(depths.dead.into());
        }
        Ok(())
    }

    async fn reconcile(&self) -> anyhow::Result<()> {
        match &self.stock_sync {
            Some(stock_sync) => stock_sync.reconcile().await,
            None => Ok(()),
        }
    }
}

/// Renders pages into this machine's data directory whenever goods or sales change, until it is stopped.
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

/// Renders the pages of all public sales, and those of categories.
pub fn publish_pages(catalogue: &Catalogue, pages: &Publisher) -> anyhow::Result<()> {
    let sales: Vec<_> = catalogue.public().iter().map(|e| (e.sale.clone(), e.goods.clone())).collect();
    let report = pages.publish(&sales, &catalogue.categories(), &catalogue.answers())?;
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
        std::mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), until).is_some()
    }

    fn is_held(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some_and(|until| Instant::now() < until)
    }
}

/// Repeats a step while this process holds the lease.
#[derive(Clone, Copy)]
struct LeasedTask<'a> {
    interval: Duration,
    /// A step is followed by a pause of at least this multiple of its duration.
    pause_factor: u32,
    name: &'static str,
    leased: &'a LeaseHeld,
    stop: &'a CancellationToken,
}

impl LeasedTask<'_> {
    async fn run<F: Future<Output = anyhow::Result<()>>>(self, step: impl Fn() -> F) {
        let mut periodic = Periodic::new(self.name, self.interval, self.stop);
        while periodic.tick().await && self.wait_for_lease().await {
            let started = Instant::now();
            periodic.record(step().await);
            let duration = started.elapsed();
            self.stop.run_until_cancelled(tokio::time::sleep(duration * self.pause_factor)).await;
        }
    }

    /// `false` once the process stops. A step that is due without the lease follows it at once: the next tick may be an hour
    /// away.
    async fn wait_for_lease(&self) -> bool {
        while !self.leased.is_held() {
            let pause = tokio::time::sleep(self.interval.min(LEASE_RENEWAL_INTERVAL));
            if self.stop.run_until_cancelled(pause).await.is_none() {
                return false;
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn step_of_an_hourly_task_follows_the_lease() {
        let (leased, stop, steps) = (LeaseHeld::default(), CancellationToken::new(), Cell::new(0));
        let task =
            LeasedTask { interval: TOTALS_INTERVAL, pause_factor: 0, name: "test", leased: &leased, stop: &stop };
        let work = task.run(|| async {
            steps.set(steps.get() + 1);
            Ok(())
        });
        let lease = async {
            tokio::time::sleep(LEASE_DURATION).await;
            assert_eq!(steps.get(), 0, "the lease is not held");
            leased.set(Some(Instant::now() + LEASE_DURATION));
            tokio::time::sleep(LEASE_RENEWAL_INTERVAL * 2).await;
            stop.cancel();
        };
        tokio::join!(work, lease);
        assert_eq!(steps.get(), 1);
    }
}
