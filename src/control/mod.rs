//! Data control (数据控制模块): keeps the stock backend in step with the database. One of several processes works at a time,
//! under a lease. Every step is idempotent, so a process that works on after losing the lease does no harm.
//!
//! [`stock_sync`] loads sales into Redis, recovers what Redis lost and keeps definitions and counters in step; [`allot`] hands
//! out the units of split sales to their buckets; [`reconcile`] compares holds with orders. For administrators,
//! [`sales_admin`] changes goods and sales, [`checklist`] reports what to verify before a sale begins, and [`audit`] checks
//! the invariants.

pub mod sales_admin;
pub mod stock_sync;

pub mod allot;
pub mod audit;
pub mod checklist;
pub mod reconcile;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::clock::Clock;
use crate::metrics::Metrics;
use crate::orders::expiry::Expiry;
use crate::packets::settle::PacketSettler;
use crate::pages::publish::Publisher;
use crate::payments::Payments;
use crate::periodic::Periodic;
use crate::pipeline::rabbit::Monitor;
use crate::stock::Stock;
use crate::store::Store;
use allot::Allotter;
use stock_sync::StockSync;

pub(crate) const LEASE: &str = "control";
/// Several renewals fit into the duration of the lease.
const LEASE_DURATION: Duration = Duration::from_secs(5);
const LEASE_RENEWAL_INTERVAL: Duration = Duration::from_secs(1);
/// How often schedules are read. An opening within the interval is waited for, so it is met to the millisecond.
const SCHEDULE_INTERVAL: Duration = Duration::from_millis(500);
const STOCK_SYNC_INTERVAL: Duration = Duration::from_millis(200);
/// For overdue orders, releases, refunds and webhooks.
const ORDERS_INTERVAL: Duration = Duration::from_millis(500);
/// How soon a bucket that has sold its lot gets another one.
const ALLOT_INTERVAL: Duration = Duration::from_millis(100);
/// Each step surveys every packet that is not settled.
const PACKETS_INTERVAL: Duration = Duration::from_millis(500);
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
    pub expiry: Expiry,
    pub payments: Payments,
    pub packets: PacketSettler,
    pub monitor: Option<Arc<Monitor>>,
    pub clock: Clock,
    pub metrics: Arc<Metrics>,
    /// Unique among all processes.
    pub member: String,
}

impl Control {
    /// Runs every task until it is stopped.
    pub async fn run(self, stop: CancellationToken) -> anyhow::Result<()> {
        let leased = AtomicBool::new(false);
        let schedule =
            LeasedTask { interval: SCHEDULE_INTERVAL, pause_factor: 0, name: "schedule", leased: &leased, stop: &stop };
        let stock_sync = LeasedTask { interval: STOCK_SYNC_INTERVAL, name: "stock sync", ..schedule };
        let allot = LeasedTask { interval: ALLOT_INTERVAL, name: "allotment", ..schedule };
        let orders = LeasedTask { interval: ORDERS_INTERVAL, name: "overdue orders", ..schedule };
        let payments = LeasedTask { interval: ORDERS_INTERVAL, name: "payments", ..schedule };
        let packets = LeasedTask { interval: PACKETS_INTERVAL, name: "red packets", ..schedule };
        let queues = LeasedTask { interval: LEASE_RENEWAL_INTERVAL, name: "queue depths", ..schedule };
        let reconcile = LeasedTask {
            interval: RECONCILE_INTERVAL,
            pause_factor: RECONCILE_PAUSE_FACTOR,
            name: "reconciliation",
            ..schedule
        };
        tokio::join!(
            self.renew_lease(&leased, &stop),
            schedule.run(|| self.follow_schedule()),
            stock_sync.run(|| self.sync_stock()),
            allot.run(|| self.allot()),
            orders.run(|| self.end_orders()),
            payments.run(|| self.settle_payments()),
            packets.run(|| self.packets.step()),
            queues.run(|| self.measure_queues()),
            // A comparison may take long, and an interrupted one leaves nothing half done.
            reconcile.run(|| async { stop.run_until_cancelled(self.reconcile()).await.unwrap_or(Ok(())) }),
        );
        Ok(self.store.release_lease(LEASE, &self.member).await?)
    }

    async fn renew_lease(&self, leased: &AtomicBool, stop: &CancellationToken) {
        let mut periodic = Periodic::new("lease of data control", LEASE_RENEWAL_INTERVAL, stop);
        while periodic.tick().await {
            let lease = self.store.acquire_lease(LEASE, &self.member, self.clock.now(), LEASE_DURATION).await;
            // Without the database the holder is unknown, and no task could work anyway.
            let held = lease.as_ref().is_ok_and(Option::is_some);
            periodic.record(lease.map(|_| ()));
            if leased.swap(held, Ordering::Relaxed) != held {
                info!(held, "the lease of data control was acquired or lost");
            }
        }
    }

    async fn follow_schedule(&self) -> anyhow::Result<()> {
        self.open_and_close_sales().await?;
        let now = self.clock.now();
        if let Some(next) = self.store.next_opening().await?
            && let Ok(wait) = Duration::try_from(next.duration_since(now))
            && wait < SCHEDULE_INTERVAL
        {
            tokio::time::sleep(wait).await;
            self.open_and_close_sales().await?;
        }
        Ok(())
    }

    async fn open_and_close_sales(&self) -> anyhow::Result<()> {
        for sale in self.store.follow_schedule(self.clock.now()).await? {
            info!(sale = %sale.id, state = %sale.state, "a sale changed state by its schedule");
            if let Some(error) = self.stock.define(&sale).await.failure {
                warn!(sale = %sale.id, %error, "cannot pass a change on to every part of the stock; stock sync will");
            }
        }
        Ok(())
    }

    async fn sync_stock(&self) -> anyhow::Result<()> {
        match &self.stock_sync {
            Some(stock_sync) => stock_sync.step().await,
            None => {
                for sale in self.store.retirable_sales(self.clock.now() - stock_sync::RETIRE_AFTER).await? {
                    self.store.retire_sale(sale, self.clock.now()).await?;
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

    async fn end_orders(&self) -> anyhow::Result<()> {
        while self.expiry.cancel_overdue().await? > 0 {}
        while self.expiry.release().await? > 0 {}
        Ok(())
    }

    async fn settle_payments(&self) -> anyhow::Result<()> {
        while self.payments.refund_due().await? > 0 {}
        self.payments.sandbox().deliver_due().await?;
        Ok(())
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
    catalogue: Arc<crate::catalogue::Catalogue>,
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

/// Renders the pages of all public sales.
pub fn publish(catalogue: &crate::catalogue::Catalogue, pages: &Publisher) -> anyhow::Result<()> {
    let sales: Vec<_> = catalogue.public().iter().map(|e| (e.sale.clone(), e.goods.clone())).collect();
    let report = pages.publish(&sales)?;
    if report.written + report.removed > 0 {
        info!(written = report.written, unchanged = report.unchanged, removed = report.removed, "pages rendered");
    }
    Ok(())
}

/// Repeats a step while this process holds the lease.
#[derive(Clone, Copy)]
struct LeasedTask<'a> {
    interval: Duration,
    /// A step is followed by a pause of at least this multiple of its duration.
    pause_factor: u32,
    name: &'static str,
    leased: &'a AtomicBool,
    stop: &'a CancellationToken,
}

impl LeasedTask<'_> {
    async fn run<F: Future<Output = anyhow::Result<()>>>(self, step: impl Fn() -> F) {
        let mut periodic = Periodic::new(self.name, self.interval, self.stop);
        while periodic.tick().await {
            if !self.leased.load(Ordering::Relaxed) {
                continue;
            }
            let started = Instant::now();
            periodic.record(step().await);
            let duration = started.elapsed();
            self.stop.run_until_cancelled(tokio::time::sleep(duration * self.pause_factor)).await;
        }
    }
}
