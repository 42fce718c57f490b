//! What staff see first: the money of the day, the next sale, and open work.

use std::sync::Arc;
use std::time::Duration;

use super::checklist::ChecklistItem;
use super::sales_admin::{Overview, SaleRow, SalesAdmin};
use base::revalidating_cache::ComputationError;
use domain::{Money, SaleState};
use store::{PendingCounts, StoreError};

#[derive(Debug, Clone)]
pub struct Today {
    /// What the shop earned since its day began, less what it gave back or away, by currency. `None` while it is summed
    /// up for the first time.
    pub revenue: Option<Arc<Vec<Money>>>,
    /// The time zone that decides when the day begins.
    pub zone: String,
    /// The announced sale that opens first, and its checklist.
    pub next: Option<(SaleRow, Vec<ChecklistItem>)>,
    pub pending: PendingCounts,
    /// Messages that could not be processed; `None` without RabbitMQ or while it does not answer.
    pub dead_letters: Option<i64>,
}

impl SalesAdmin {
    /// `current` are the sales that have not ended. Waits up to `patience` for the revenue.
    pub async fn today(&self, current: &Overview, patience: Duration) -> Result<Today, ComputationError<StoreError>> {
        let revenue = self.revenue.of_today(patience).await?;
        let announced = current.sales.iter().filter(|row| row.sale.state == SaleState::Scheduled);
        let next =
            announced.filter(|row| row.sale.window.opens_at.is_some()).min_by_key(|row| row.sale.window.opens_at);
        let next = match next {
            Some(row) => Some((row.clone(), self.checklist(&row.sale).await?)),
            None => None,
        };
        let dead_letters = match &self.monitor {
            Some(monitor) => monitor.depths().await.ok().map(|depths| depths.dead.into()),
            None => None,
        };
        let zone = self.revenue.zone().to_owned();
        Ok(Today { revenue, zone, next, pending: self.store.payments().pending_counts().await?, dead_letters })
    }
}
