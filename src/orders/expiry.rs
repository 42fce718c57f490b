//! Unpaid orders end, and dead orders let go of their units.

use std::collections::BTreeMap;
use std::sync::Arc;

use tracing::info;

use crate::clock::Clock;
use crate::domain::{OrderId, SaleId};
use crate::metrics::Metrics;
use crate::stock::Stock;
use crate::store::Store;

/// Orders and releases of one step: small enough that nobody waits long for a sale's lock.
const BATCH: i64 = 500;

#[derive(Clone)]
pub struct Expiry {
    pub store: Store,
    pub stock: Arc<dyn Stock>,
    pub clock: Clock,
    pub metrics: Arc<Metrics>,
}

impl Expiry {
    /// Cancels what is overdue, one bounded batch. The answer is how many; a full batch means that more may wait.
    pub async fn cancel_overdue(&self) -> anyhow::Result<usize> {
        let now = self.clock.now();
        let mut by_sale: BTreeMap<SaleId, Vec<OrderId>> = BTreeMap::new();
        for (sale, order) in self.store.overdue(now, BATCH).await? {
            by_sale.entry(sale).or_default().push(order);
        }
        let mut count = 0;
        for (sale, orders) in by_sale {
            let cancelled = self.store.cancel(sale, &orders, "unpaid", now).await?;
            count += cancelled.len();
            self.metrics.cancelled.inc_by(cancelled.len() as u64);
            info!(%sale, orders = cancelled.len(), "cancelled: not paid in time");
        }
        Ok(count)
    }

    /// Gives units back that dead orders still hold, one bounded batch. What the backend of stock cannot take now stays
    /// for later.
    pub async fn release(&self) -> anyhow::Result<usize> {
        let releases = self.store.releases(BATCH).await?;
        if releases.is_empty() {
            return Ok(0);
        }
        let done = self.stock.release(&releases).await?;
        self.store.releases_done(&done).await?;
        self.metrics.released.inc_by(done.len() as u64);
        Ok(done.len())
    }
}
