//! What changes would make of sales, without making them.

use std::collections::HashMap;

use jiff::Timestamp;
use sqlx::AssertSqlSafe;

use super::changes::{SaleChange, SaleRefusal};
use super::drafts::{OVERLAP_CANDIDATES, is_announced};
use super::{columns, sale};
use crate::domain::{Goods, GoodsId, Sale, SaleId};
use crate::store::{Store, StoreError, list, padded};

/// What decides about changes of several sales, as it is now.
#[derive(Debug)]
pub struct PreviewFacts {
    now: Timestamp,
    sales: HashMap<SaleId, Sale>,
    goods: HashMap<GoodsId, Goods>,
    /// Sales of the same goods with which one of the sales may overlap.
    announced: Vec<Sale>,
}

impl Store {
    /// Reads it in a number of statements that does not depend on the number of sales. Sales that do not exist are missing.
    pub async fn preview_facts(&self, ids: &[SaleId]) -> Result<PreviewFacts, StoreError> {
        let now = self.now().await?;
        let mut sales = HashMap::new();
        for chunk in padded(ids) {
            let sql = format!(concat!("SELECT ", columns!(), " FROM sales WHERE id IN {}"), list(chunk.len(), 0));
            let query = chunk.iter().fold(sqlx::query(AssertSqlSafe(sql)), |query, id| query.bind(id.0));
            sales.extend(self.all(query, sale).await?.into_iter().map(|sale| (sale.id, sale)));
        }
        let mut of: Vec<GoodsId> = sales.values().map(|sale| sale.goods_id).collect();
        of.sort();
        of.dedup();
        let mut announced = Vec::new();
        for chunk in padded(&of) {
            let sql = format!(
                concat!("SELECT ", columns!(), " FROM sales WHERE goods_id IN {} AND {} ORDER BY id"),
                list(chunk.len(), 0),
                OVERLAP_CANDIDATES
            );
            let query = chunk.iter().fold(sqlx::query(AssertSqlSafe(sql)), |query, id| query.bind(id.0));
            announced.extend(self.all(query, sale).await?);
        }
        let goods = self.all_goods().await?.into_iter().map(|goods| (goods.id, goods));
        Ok(PreviewFacts { now, sales, goods: goods.filter(|(id, _)| of.contains(id)).collect(), announced })
    }
}

impl PreviewFacts {
    /// The time of the preview, by the database's clock.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    pub fn sale(&self, id: SaleId) -> Option<&Sale> {
        self.sales.get(&id)
    }

    pub fn goods(&self, id: GoodsId) -> Option<&Goods> {
        self.goods.get(&id)
    }

    /// The sale after a change, or why the change would be refused now. `planned` are other sales as they will be when the change
    /// is made, such as those of the same batch.
    pub fn change(&self, sale: &Sale, change: &SaleChange, planned: &[Sale]) -> Result<Sale, SaleRefusal> {
        let after = change.apply(sale, self.now)?;
        if change.needs_goods() && self.goods(after.goods_id).ok_or(SaleRefusal::NoSuchGoods)?.is_archived() {
            return Err(SaleRefusal::GoodsArchived);
        }
        if change.refuses_overlap() {
            let is_overlap = |other: &&Sale| {
                other.goods_id == after.goods_id && other.id != after.id && other.window.overlaps(&after.window)
            };
            let announced = self.announced.iter().filter(|_| is_announced(&after));
            if let Some(other) = planned.iter().chain(announced).find(is_overlap) {
                return Err(SaleRefusal::Overlap(other.id));
            }
        }
        Ok(after)
    }
}
