//! Expiry: unpaid orders are cancelled after the payment window, and the units of ended orders are released. The
//! database's clock decides what is overdue. If a sale fails, it is tried again at growing intervals and delays no
//! other sale.

use std::collections::BTreeMap;
use std::future::ready;
use std::sync::Arc;

use boxed::boxed;
use futures::{Stream, StreamExt};
use tracing::info;

use base::metrics::Metrics;
use base::periodic::Backoff;
use domain::{OrderId, SaleId};
use engine::stock::Stock;
use store::{HeldUnits, LockPatience, Store, StoreResult};

/// Orders or releases per batch. The number is small, so that the sale's lock is held only for a short time.
const MAX_BATCH: i64 = 500;
/// Batches per step. The limit lets a step end, so that the process can stop.
const MAX_BATCHES: usize = 20;
/// Sales that are worked on at the same time.
const CONCURRENCY: usize = 4;

/// The expiry jobs of the role `control`.
pub struct Expiry {
    store: Store,
    stock: Arc<dyn Stock>,
    metrics: Arc<Metrics>,
    /// Sales whose overdue orders could not be cancelled. A lock may keep their rows from being changed, so the time of
    /// the next attempt is kept here and not in the rows.
    cancelling: Backoff<SaleId>,
    releasing: Backoff<SaleId>,
}

#[boxed]
impl Expiry {
    pub fn new(store: Store, stock: Arc<dyn Stock>, metrics: Arc<Metrics>) -> Expiry {
        let cancelling = Backoff::new("expiry of a sale's orders");
        Expiry { store, stock, metrics, cancelling, releasing: Backoff::new("release of a sale's units") }
    }

    /// Cancels overdue orders. Returns their number.
    pub async fn cancel_overdue(&self) -> StoreResult<usize> {
        let mut count = 0;
        for _ in 0..MAX_BATCHES {
            let overdue = self.store.orders().overdue_orders(&self.cancelling.waiting(), MAX_BATCH).await?;
            let is_last = overdue.len() < MAX_BATCH as usize;
            let by_sale = group(overdue);
            let cancel = |(sale, orders)| self.cancel(sale, orders);
            count += sum(futures::stream::iter(by_sale).map(cancel).buffer_unordered(CONCURRENCY)).await;
            if is_last {
                break;
            }
        }
        Ok(count)
    }

    async fn cancel(&self, sale: SaleId, orders: Vec<OrderId>) -> usize {
        let outcome = self.store.orders().expire(sale, &orders, LockPatience::Short).await;
        let count = outcome.as_ref().map_or(0, Vec::len);
        if count > 0 {
            self.metrics.cancelled.inc_by(count as u64);
            info!(%sale, orders = count, "orders cancelled: not paid in time");
        }
        self.cancelling.record(sale, outcome.map(drop));
        count
    }

    /// Releases units that ended orders hold. Returns the number of orders.
    pub async fn release(&self) -> StoreResult<usize> {
        self.store.orders().delete_releases_of_retired_sales().await?;
        let mut count = 0;
        for _ in 0..MAX_BATCHES {
            let due = self.store.orders().due_releases(MAX_BATCH).await?;
            let is_last = due.len() < MAX_BATCH as usize;
            let by_sale = group(due.into_iter().map(|held| (held.sale_id, held)).collect());
            let release = |(sale, releases)| self.release_sale(sale, releases);
            count += sum(futures::stream::iter(by_sale).map(release).buffer_unordered(CONCURRENCY)).await;
            if is_last {
                break;
            }
        }
        Ok(count)
    }

    async fn release_sale(&self, sale: SaleId, releases: Vec<HeldUnits>) -> usize {
        let outcome = self.release_units(releases).await;
        let count = outcome.as_ref().copied().unwrap_or_default();
        self.metrics.released.inc_by(count as u64);
        self.releasing.record(sale, outcome.map(drop));
        count
    }

    /// Releases units of one sale. Units that the stock backend cannot release now wait for the next attempt.
    async fn release_units(&self, releases: Vec<HeldUnits>) -> anyhow::Result<usize> {
        let outcome = self.stock.release(&releases).await;
        let done = outcome.as_deref().unwrap_or_default();
        self.store.orders().delete_releases(done).await?;
        let left: Vec<OrderId> =
            releases.iter().map(|held| held.order_id).filter(|order| !done.contains(order)).collect();
        if !left.is_empty() {
            self.store.orders().postpone_releases(&left).await?;
        }
        let done = outcome?.len();
        anyhow::ensure!(
            left.is_empty(),
            "the sale or a part of it is not loaded or does not answer; {} orders still hold units",
            left.len()
        );
        Ok(done)
    }
}

fn group<T>(items: Vec<(SaleId, T)>) -> BTreeMap<SaleId, Vec<T>> {
    let mut by_sale: BTreeMap<SaleId, Vec<T>> = BTreeMap::new();
    for (sale, item) in items {
        by_sale.entry(sale).or_default().push(item);
    }
    by_sale
}

async fn sum(counts: impl Stream<Item = usize>) -> usize {
    counts.fold(0, |sum, count| ready(sum + count)).await
}
