//! Clusters of a sale with their orders, for staff. They are computed when they are asked for.

use super::Orders;
use crate::domain::cluster::clusters;
use crate::domain::{Cluster, Money, OrderHold, OrderId, OrderStatus, SaleId, UserId};
use crate::store::{FoundOrder, StoreError};

/// A cluster with its orders.
#[derive(Debug)]
pub struct ReviewedCluster {
    pub cluster: Cluster,
    /// Newest first.
    pub orders: Vec<ReviewedOrder>,
}

/// An order of a cluster, and its hold if it lasts.
#[derive(Debug)]
pub struct ReviewedOrder {
    pub found: FoundOrder,
    pub hold: Option<OrderHold>,
}

/// What the orders of a cluster are together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClusterTotals {
    /// Unpaid and paid orders, and their units.
    pub orders: usize,
    pub units: u64,
    /// Of the paid ones. `None` for orders in several currencies, or none.
    pub paid: Option<Money>,
    pub held: usize,
    /// Appeals that wait for an answer.
    pub appeals: usize,
}

impl ReviewedCluster {
    /// The account that stands for the cluster in addresses.
    pub fn id(&self) -> UserId {
        self.cluster.members[0]
    }

    pub fn totals(&self) -> ClusterTotals {
        let live = || self.orders.iter().filter(|order| order.is_live());
        let paid = live().map(|order| &order.found.order).filter(|order| order.status == OrderStatus::Paid);
        ClusterTotals {
            orders: live().count(),
            units: live().map(|order| u64::from(order.found.order.quantity)).sum(),
            paid: paid.map(|order| order.amount).try_fold(None, add).flatten(),
            held: live().filter(|order| order.hold.is_some()).count(),
            appeals: live().filter(|order| order.open_appeal().is_some()).count(),
        }
    }
}

/// The sum so far and an amount; `None` when they differ in their currency or are too large.
fn add(sum: Option<Money>, amount: Money) -> Option<Option<Money>> {
    match sum {
        None => Some(Some(amount)),
        Some(sum) if sum.currency == amount.currency => {
            Some(Some(Money::new(sum.amount.checked_add(amount.amount)?, sum.currency)))
        }
        Some(_) => None,
    }
}

impl ReviewedOrder {
    pub fn is_live(&self) -> bool {
        self.found.order.status.is_live()
    }

    pub fn open_appeal(&self) -> Option<&crate::domain::Appeal> {
        self.hold.as_ref()?.open_appeal()
    }
}

impl Orders {
    /// The clusters of a sale, the largest first, and those of one page with their orders.
    pub async fn clusters(
        &self,
        sale: SaleId,
        after: usize,
        limit: usize,
    ) -> Result<(usize, Vec<ReviewedCluster>), StoreError> {
        let all = self.compute(sale).await?;
        let count = all.len();
        let mut page = Vec::new();
        for cluster in all.into_iter().skip(after).take(limit) {
            page.push(self.with_orders(sale, cluster).await?);
        }
        Ok((count, page))
    }

    /// The cluster of an account in a sale. `None` when the account stands alone.
    pub async fn cluster_of(&self, sale: SaleId, user: UserId) -> Result<Option<ReviewedCluster>, StoreError> {
        let all = self.compute(sale).await?;
        match all.into_iter().find(|cluster| cluster.members.contains(&user)) {
            Some(cluster) => Ok(Some(self.with_orders(sale, cluster).await?)),
            None => Ok(None),
        }
    }

    /// On a thread for long computations: a large sale has hundreds of thousands of signals.
    async fn compute(&self, sale: SaleId) -> Result<Vec<Cluster>, StoreError> {
        let signals = self.store.shared_signals(sale).await?;
        let computed = tokio::task::spawn_blocking(move || clusters(&signals)).await;
        Ok(computed.unwrap_or_else(|failed| std::panic::resume_unwind(failed.into_panic())))
    }

    async fn with_orders(&self, sale: SaleId, cluster: Cluster) -> Result<ReviewedCluster, StoreError> {
        let mut found = self.store.orders_of_accounts(sale, &cluster.members).await?;
        found.sort_by_key(|found| std::cmp::Reverse(found.order.id));
        found.iter_mut().for_each(|found| found.order.mask_recipient());
        let ids: Vec<OrderId> = found.iter().map(|found| found.order.id).collect();
        let mut holds = self.store.lasting_holds(&ids).await?;
        let orders = found.into_iter().map(|found| ReviewedOrder { hold: holds.remove(&found.order.id), found });
        Ok(ReviewedCluster { cluster, orders: orders.collect() })
    }
}
