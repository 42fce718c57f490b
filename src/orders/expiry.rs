//! Expiry: unpaid orders are cancelled after the payment window, and the units of ended orders are released.

use std::collections::BTreeMap;
use std::sync::Arc;

use tracing::info;

use crate::clock::Clock;
use crate::domain::{OrderId, SaleId};
use crate::metrics::Metrics;
use crate::stock::Stock;
use crate::store::Store;

/// Orders or releases of one step. Small, so that the sale's lock is held for a short time only.
const MAX_BATCH: i64 = 500;

/// The expiry jobs of the role `control`.
#[derive(Clone)]
pub struct Expiry {
    pub store: Store,
    pub stock: Arc<dyn Stock>,
    pub clock: Clock,
    pub metrics: Arc<Metrics>,
}

impl Expiry {
    /// Cancels one bounded batch of overdue orders. Returns their number; a full batch means that more may be due.
    pub async fn cancel_overdue(&self) -> anyhow::Result<usize> {
        let now = self.clock.now();
        let mut by_sale: BTreeMap<SaleId, Vec<OrderId>> = BTreeMap::new();
        for (sale, order) in self.store.overdue_orders(now, MAX_BATCH).await? {
            by_sale.entry(sale).or_default().push(order);
        }
        let mut count = 0;
        for (sale, orders) in by_sale {
            let cancelled = self.store.cancel_orders(sale, &orders, "unpaid", now).await?;
            count += cancelled.len();
            self.metrics.cancelled.inc_by(cancelled.len() as u64);
            info!(%sale, orders = cancelled.len(), "orders cancelled: not paid in time");
        }
        Ok(count)
    }

    /// Releases one bounded batch of units that ended orders hold. Units that the stock backend cannot release now are
    /// retried later.
    pub async fn release(&self) -> anyhow::Result<usize> {
        let releases = self.store.pending_releases(MAX_BATCH).await?;
        if releases.is_empty() {
            return Ok(0);
        }
        let done = self.stock.release(&releases).await?;
        self.store.delete_releases(&done).await?;
        self.metrics.released.inc_by(done.len() as u64);
        Ok(done.len())
    }
}
