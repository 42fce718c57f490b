//! Data control (数据控制模块): keeps the backend of stock in step with the database. Of several processes one works at a
//! time, under a lease; everything it does may be done twice, so a late one does no harm.
//!
//! [`ledger`] loads sales into Redis and keeps definitions and counters in step, [`allot`] hands the units of split sales
//! out to their buckets, [`reconcile`] compares single holds with
//! orders, [`sales_admin`] is what administrators do, [`checklist`] what they should look at before a sale begins, [`audit`]
//! checks the invariants for them.

pub mod sales_admin;
pub mod stock_sync;

pub mod allot;
pub mod audit;
pub mod checklist;
pub mod reconcile;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::clock::Clock;
use crate::metrics::Metrics;
use crate::orders::expiry::Expiry;
use crate::packets::settle::PacketSettler;
use crate::pages::publish::Publisher;
use crate::payments::Payments;
use crate::pipeline::rabbit::Monitor;
use crate::stock::Stock;
use crate::store::Store;
use allot::Allotter;
use stock_sync::StockSync;

pub(crate) const LEASE: &str = "control";
/// The lease is prolonged several times before it would end.
const LEASE_TIME: Duration = Duration::from_secs(5);
const LEASE_EVERY: Duration = Duration::from_secs(1);
/// Schedules are looked at so often; a known opening is met to the millisecond.
const SCHEDULE_EVERY: Duration = Duration::from_millis(500);
const LEDGER_EVERY: Duration = Duration::from_millis(200);
/// Access counters, overdue orders, releases and refunds.
const ORDERS_EVERY: Duration = Duration::from_millis(500);
/// How soon a bucket that has sold its lot gets another one.
const ALLOT_EVERY: Duration = Duration::from_millis(100);
/// Red packets to load and to settle; each look asks Redis about every packet that is not settled.
const PACKETS_EVERY: Duration = Duration::from_millis(500);
const RECONCILE_EVERY: Duration = Duration::from_secs(5);
/// After a comparison of much, so many times as long as it took: Redis and the database have others to serve, and most of
/// the time it took was rest, too.
const RECONCILE_REST: u32 = 5;

/// Everything that data control works with.
#[derive(Clone)]
pub struct Control {
    pub store: Store,
    pub stock: Arc<dyn Stock>,
    /// Redis as the backend of stock; without it there is nothing to keep in step.
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
    /// Works until it is stopped.
    pub async fn run(self, stop: CancellationToken) -> anyhow::Result<()> {
        let mine = Arc::new(AtomicBool::new(false));
        let schedule = Repeat { every: SCHEDULE_EVERY, rest: 0, what: "the schedule", mine: &mine, stop: &stop };
        let stock_sync = Repeat { every: LEDGER_EVERY, what: "stock sync", ..schedule };
        let allot = Repeat { every: ALLOT_EVERY, what: "allotting", ..schedule };
        let orders = Repeat { every: ORDERS_EVERY, what: "overdue orders", ..schedule };
        let money = Repeat { every: ORDERS_EVERY, what: "payments", ..schedule };
        let packets = Repeat { every: PACKETS_EVERY, what: "red packets", ..schedule };
        let gauges = Repeat { every: LEASE_EVERY, what: "the queues", ..schedule };
        let reconcile = Repeat { every: RECONCILE_EVERY, rest: RECONCILE_REST, what: "reconciliation", ..schedule };
        tokio::join!(
            self.keep_lease(&mine, &stop),
            schedule.run(|| self.follow_schedule()),
            stock_sync.run(|| self.tend_ledger()),
            allot.run(|| self.allot()),
            orders.run(|| self.end_orders()),
            money.run(|| self.move_money()),
            packets.run(|| self.packets.tend()),
            gauges.run(|| self.look_at_queues()),
            // It may take a while, and begins anew as well as it goes on.
            reconcile.run(|| async { stop.run_until_cancelled(self.reconcile()).await.unwrap_or(Ok(())) }),
        );
        Ok(self.store.give_back(LEASE, &self.member).await?)
    }

    async fn keep_lease(&self, mine: &AtomicBool, stop: &CancellationToken) {
        let mut tick = tokio::time::interval(LEASE_EVERY);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while stop.run_until_cancelled(tick.tick()).await.is_some() {
            let lease = self.store.lease(LEASE, &self.member, self.clock.now(), LEASE_TIME).await;
            // Who cannot reach the database does not know who holds the lease, and cannot work anyway.
            let held = lease.as_ref().is_ok_and(Option::is_some);
            if mine.swap(held, Ordering::Relaxed) != held {
                info!(held, "data control changed hands");
            }
        }
    }

    async fn follow_schedule(&self) -> anyhow::Result<()> {
        self.open_and_close().await?;
        let now = self.clock.now();
        if let Some(next) = self.store.next_opening().await?
            && let Ok(wait) = Duration::try_from(next.duration_since(now))
            && wait < SCHEDULE_EVERY
        {
            tokio::time::sleep(wait).await;
            self.open_and_close().await?;
        }
        Ok(())
    }

    async fn open_and_close(&self) -> anyhow::Result<()> {
        for sale in self.store.follow_schedule(self.clock.now()).await? {
            info!(sale = %sale.id, state = %sale.state, "by schedule");
            self.stock.define(&sale).await?;
        }
        Ok(())
    }

    async fn tend_ledger(&self) -> anyhow::Result<()> {
        match &self.stock_sync {
            Some(stock_sync) => stock_sync.tend().await,
            None => {
                for sale in self.store.retirable(self.clock.now() - stock_sync::RETIRE_AFTER).await? {
                    self.store.retire(sale, self.clock.now()).await?;
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

    async fn move_money(&self) -> anyhow::Result<()> {
        while self.payments.refund_due().await? > 0 {}
        self.payments.sandbox().deliver_due().await?;
        Ok(())
    }

    async fn look_at_queues(&self) -> anyhow::Result<()> {
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

/// Renders pages whenever goods or sales change, into the data directory of this machine, until it is stopped.
pub async fn keep_pages(
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

/// Renders what has a page now.
pub fn publish(catalogue: &crate::catalogue::Catalogue, pages: &Publisher) -> anyhow::Result<()> {
    let sales: Vec<_> = catalogue.public().iter().map(|e| (e.sale.clone(), e.goods.clone())).collect();
    let report = pages.publish(&sales)?;
    if report.written + report.removed > 0 {
        info!(written = report.written, unchanged = report.unchanged, removed = report.removed, "pages rendered");
    }
    Ok(())
}

/// A step that is repeated while the lease is ours. A failure is logged when it begins and when it ends.
#[derive(Clone, Copy)]
struct Repeat<'a> {
    every: Duration,
    /// At least so many times as long as a step took there is none.
    rest: u32,
    what: &'static str,
    mine: &'a AtomicBool,
    stop: &'a CancellationToken,
}

impl Repeat<'_> {
    async fn run<F: Future<Output = anyhow::Result<()>>>(self, step: impl Fn() -> F) {
        let mut tick = tokio::time::interval(self.every);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut failing = false;
        while self.stop.run_until_cancelled(tick.tick()).await.is_some() {
            if !self.mine.load(Ordering::Relaxed) {
                continue;
            }
            let began = Instant::now();
            let done = step().await;
            let took = began.elapsed();
            match done {
                Ok(()) if std::mem::take(&mut failing) => info!(what = self.what, "works again"),
                Ok(()) => {}
                Err(error) if !std::mem::replace(&mut failing, true) => {
                    warn!(what = self.what, error = format!("{error:#}"), "failed; trying again");
                }
                Err(_) => {}
            }
            self.stop.run_until_cancelled(tokio::time::sleep(took * self.rest)).await;
        }
    }
}
