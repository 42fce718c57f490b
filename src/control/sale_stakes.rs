//! Shows staff what depends on the sales that a command is about to end or hide from shoppers, and whether the command
//! is possible.

use super::sales_admin::{SaleCommand, SalesAdmin};
use domain::{Bilingual, OrderStatus, Sale, SaleId};
use store::{PreviewFacts, SaleRefusal, StoreError, WaitingCounts, preview_deletion};

/// Counts of a sale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SaleStakes {
    /// Units that no user holds.
    pub unsold: i64,
    pub unpaid: i64,
    pub waiting: WaitingCounts,
}

/// A sale of a batch, and what the batch would do to it.
#[derive(Debug)]
pub struct SalePreview {
    pub sale: Sale,
    pub goods_name: Option<Bilingual>,
    /// What depends on the sale, or why it would stay as it is.
    pub outcome: Result<SaleStakes, SaleRefusal>,
}

impl SalesAdmin {
    /// What a command would do to each of these sales, in the given order. Without a command, previews the deletion of
    /// drafts. `None` for a sale that does not exist. The number of statements does not grow with the number of sales.
    pub async fn preview_batch(
        &self,
        ids: &[SaleId],
        command: Option<&SaleCommand>,
    ) -> Result<Vec<Option<SalePreview>>, StoreError> {
        let facts = self.store.sales().preview_facts(ids).await?;
        let orders = self.store.orders().order_totals(ids).await?;
        let waiting = self.store.sales().waiting_counts(ids).await?;
        let stakes = |sale: &Sale| {
            let booked = self.gate.status(sale.id).and_then(|status| status.booked);
            SaleStakes {
                unsold: (sale.total - booked.unwrap_or(sale.sold)).max(0),
                unpaid: orders.get(&sale.id).map_or(0, |totals| totals.of(OrderStatus::Unpaid).orders),
                waiting: waiting.get(&sale.id).copied().unwrap_or_default(),
            }
        };
        // Two drafts of the same goods at the same time cannot both be announced.
        let mut planned = Vec::new();
        let preview = |id: &SaleId| {
            let sale = facts.sale(*id)?.clone();
            let goods_name = facts.goods(sale.goods_id).map(|goods| goods.name.clone());
            let outcome = after(&facts, &sale, command, &planned).map(|after| {
                planned.extend(after);
                stakes(&sale)
            });
            Some(SalePreview { sale, goods_name, outcome })
        };
        Ok(ids.iter().map(preview).collect())
    }
}

/// The sale after the command; `None` after its deletion.
fn after(
    facts: &PreviewFacts,
    sale: &Sale,
    command: Option<&SaleCommand>,
    planned: &[Sale],
) -> Result<Option<Sale>, SaleRefusal> {
    match command {
        Some(command) => facts.change(sale, &command.clone().at(facts.now()), planned).map(Some),
        None => preview_deletion(sale).map(|()| None),
    }
}
