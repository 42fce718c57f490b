//! What depends on a sale that is about to end, or that shoppers are about to lose sight of, and whether it can.

use super::sales_admin::{SaleCommand, SalesAdmin};
use crate::domain::{OrderStatus, Sale};
use crate::store::{SaleRefusal, StoreError};

/// Counts of a sale. Those of lines and entries end at a maximum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SaleStakes {
    /// Units that no user holds.
    pub unsold: i64,
    pub unpaid: i64,
    /// Places in the waiting room that were not called.
    pub in_line: i64,
    pub on_waitlist: i64,
    /// Entries of the draw.
    pub entries: i64,
    pub reminders: i64,
}

impl SalesAdmin {
    /// The sale after a command, or why the command would be refused now. `planned` are sales as they will be by then.
    pub async fn preview(&self, sale: &Sale, command: SaleCommand, planned: &[Sale]) -> Result<Sale, SaleRefusal> {
        let now = self.store.now().await?;
        self.store.preview_change(sale, &command.at(now), planned).await
    }

    pub async fn stakes(&self, sale: &Sale) -> Result<SaleStakes, StoreError> {
        let orders = self.store.order_totals(&[sale.id]).await?;
        let queue = self.store.queue(sale.id).await?;
        let booked = self.gate.status(sale.id).and_then(|status| status.booked);
        Ok(SaleStakes {
            unsold: (sale.total - booked.unwrap_or(sale.sold)).max(0),
            unpaid: orders.get(&sale.id).map_or(0, |totals| totals.of(OrderStatus::Unpaid).orders),
            in_line: queue.map_or(0, |queue| (queue.joined - queue.called).max(0)),
            on_waitlist: self.store.count_waiters(sale.id).await?,
            entries: if sale.mode.is_draw() { self.store.count_entries(sale.id).await? } else { 0 },
            reminders: self.store.count_reminders(sale.id).await?,
        })
    }
}
