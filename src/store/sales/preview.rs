//! What a change would make of a sale, without making it.

use super::changes::{SaleChange, SaleRefusal};
use crate::domain::{Sale, SaleState};
use crate::store::Store;

impl Store {
    /// The sale after a change, or why the change would be refused now. `planned` are other sales as they will be when the change
    /// is made, such as those of the same batch.
    pub async fn preview_change(
        &self,
        sale: &Sale,
        change: &SaleChange,
        planned: &[Sale],
    ) -> Result<Sale, SaleRefusal> {
        let after = change.apply(sale, self.now().await?)?;
        if change.needs_goods() {
            let goods = self.goods(after.goods_id).await?.ok_or(SaleRefusal::NoSuchGoods)?;
            if goods.is_archived() {
                return Err(SaleRefusal::GoodsArchived);
            }
        }
        if change.refuses_overlap() {
            let is_same = |other: &&Sale| other.goods_id == after.goods_id && other.window.overlaps(&after.window);
            let of_plan = planned.iter().find(is_same).map(|other| other.id);
            if let Some(other) = of_plan.or(self.overlapping(&after).await?) {
                return Err(SaleRefusal::Overlap(other));
            }
        }
        Ok(after)
    }
}

/// Whether a sale could be deleted now.
pub fn preview_deletion(sale: &Sale) -> Result<(), SaleRefusal> {
    if sale.state == SaleState::Draft { Ok(()) } else { Err(SaleRefusal::NotADraft) }
}
