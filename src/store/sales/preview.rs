//! Previews: computes the effect of changes on sales without making them.

use std::collections::HashMap;

use jiff::Timestamp;
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

use super::changes::{SaleChange, SaleRefusal};
use super::drafts::{OVERLAP_CANDIDATES, is_announced};
use super::{columns, sale};
use crate::{SaleStore, StoreError, list, padded, row};
use domain::{Bilingual, GoodsId, Sale, SaleId};

/// The present facts that decide about changes of several sales.
#[derive(Debug)]
pub struct PreviewFacts {
    now: Timestamp,
    sales: HashMap<SaleId, Sale>,
    goods: HashMap<GoodsId, PreviewGoods>,
    /// Sales of the same goods with which one of the sales may overlap.
    announced: Vec<Sale>,
}

/// The goods of a sale.
#[derive(Debug)]
pub struct PreviewGoods {
    pub name: Bilingual,
    is_archived: bool,
}

impl SaleStore<'_> {
    /// Reads the facts. The number of statements does not depend on the number of sales. Sales that do not exist are
    /// missing.
    pub async fn preview_facts(self, ids: &[SaleId]) -> Result<PreviewFacts, StoreError> {
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
        let (mut announced, mut goods) = (Vec::new(), HashMap::new());
        for chunk in padded(&of) {
            let sql = format!(
                concat!("SELECT ", columns!(), " FROM sales WHERE goods_id IN {} AND {} ORDER BY id"),
                list(chunk.len(), 0),
                OVERLAP_CANDIDATES
            );
            let query = chunk.iter().fold(sqlx::query(AssertSqlSafe(sql)), |query, id| query.bind(id.0));
            announced.extend(self.all(query, sale).await?);
            let sql =
                format!("SELECT id, name_zh, name_en, archived_at_ms FROM goods WHERE id IN {}", list(chunk.len(), 0));
            let query = chunk.iter().fold(sqlx::query(AssertSqlSafe(sql)), |query, id| query.bind(id.0));
            goods.extend(self.all(query, preview_goods).await?);
        }
        Ok(PreviewFacts { now, sales, goods, announced })
    }
}

fn preview_goods(row: &AnyRow) -> Result<(GoodsId, PreviewGoods), sqlx::Error> {
    let name = Bilingual::new(row::text(row, "name_zh")?, row::text(row, "name_en")?);
    let is_archived = row::optional_time(row, "archived_at_ms")?.is_some();
    Ok((GoodsId(row::int(row, "id")?), PreviewGoods { name, is_archived }))
}

impl PreviewFacts {
    /// The time of the preview, by the database's clock.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    pub fn sale(&self, id: SaleId) -> Option<&Sale> {
        self.sales.get(&id)
    }

    pub fn goods(&self, id: GoodsId) -> Option<&PreviewGoods> {
        self.goods.get(&id)
    }

    /// The sale after a change, or why the change would be refused now. `planned` are other sales as they will be when
    /// the change is made, such as sales in the same batch.
    pub fn change(&self, sale: &Sale, change: &SaleChange, planned: &[Sale]) -> Result<Sale, SaleRefusal> {
        let after = change.apply(sale, self.now)?;
        if change.needs_goods() && self.goods(after.goods_id).ok_or(SaleRefusal::NoSuchGoods)?.is_archived {
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
