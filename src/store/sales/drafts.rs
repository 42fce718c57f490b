//! Sales before they begin and after they end: creation and deletion, overlaps, the calendar, and ended sales.

use std::collections::HashMap;

use boxed::boxed;
use jiff::Timestamp;
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

use crate::sales::changes::{SaleChange, SaleRefusal, next_id, saved_state, touch};
use crate::sales::{check_goods, columns, definition, definition_values, lock, random_seed, sale};
use crate::{
    AnyQuery, Bound, OverlapPolicy, SaleDraft, SaleStore, SaveOptions, StoreResult, Tx, bound, column, deposits,
    eligibility, list, placeholders, row,
};
use domain::{AuditAction, Bilingual, GoodsId, Sale, SaleId, SaleState};

/// Ended sales are counted up to this number.
pub const MAX_COUNTED_PAST: i64 = 1_000;

/// The condition of ended sales that the console lists.
const PAST: &str = "state = 'ended' AND shadow = 0";

/// A page of ended sales.
#[derive(Debug, Clone, Default)]
pub struct PastPage {
    /// Keyset: closing time in milliseconds and id of the last sale of the previous page.
    pub before: Option<(i64, SaleId)>,
    /// Only sales of these goods …
    pub goods: Option<Vec<GoodsId>>,
    /// … or the sale with this number.
    pub number: Option<SaleId>,
    pub limit: i64,
}

impl PastPage {
    /// The condition on number and goods. Its parameters begin with `$first`. If no goods match, only the number can.
    fn of_goods(&self, first: usize) -> String {
        let Some(goods) = &self.goods else { return String::new() };
        let ids = if goods.is_empty() { "(-1)".to_owned() } else { list(goods.len(), first) };
        format!(" AND (id = ${first} OR goods_id IN {ids})")
    }

    fn bind_goods<'q>(&self, query: AnyQuery<'q>) -> AnyQuery<'q> {
        let Some(goods) = &self.goods else { return query };
        let number = self.number.map_or(-1, |number| number.0);
        bound(query, std::iter::once(number.value()).chain(goods.iter().map(Bound::value)))
    }
}

#[boxed]
impl SaleStore<'_> {
    /// Creates a sale with default options.
    pub async fn create(self, draft: &SaleDraft, actor: &str, now: Timestamp) -> Result<Sale, SaleRefusal> {
        self.create_with(draft, &SaveOptions::default(), actor, now).await
    }

    /// Creates a sale. A form that is submitted again returns the sale that it created.
    pub async fn create_with(
        self,
        draft: &SaleDraft,
        options: &SaveOptions,
        actor: &str,
        now: Timestamp,
    ) -> Result<Sale, SaleRefusal> {
        let mut tx = self.begin().await?;
        // This locks the catalogue, so that the checks below stay true until the commit.
        let id = SaleId(next_id(&mut tx, "last_sale_id").await?);
        if let Some(created) = created_by_form(&mut tx, options.form_key.as_deref()).await? {
            return Ok(created);
        }
        let created = create_in(&mut tx, id, draft, options, actor, now).await?;
        tx.commit_and(created).await
    }

    /// Deletes a draft, which never sold anything. Returns the deleted sale.
    pub async fn delete_draft(self, id: SaleId, actor: &str, now: Timestamp) -> Result<Sale, SaleRefusal> {
        let mut tx = self.begin().await?;
        let before = lock(&mut tx, id).await?.ok_or(SaleRefusal::NoSuchSale)?;
        touch(&mut tx).await?;
        preview_deletion(&before)?;
        tx.run(query!("DELETE FROM sale_buckets WHERE sale_id = $1"; id)).await?;
        crate::draws::delete(&mut tx, &before).await?;
        crate::waiting_rooms::places::delete(&mut tx, &before).await?;
        eligibility::delete(&mut tx, id).await?;
        deposits::delete(&mut tx, id).await?;
        tx.run(query!("DELETE FROM sales WHERE id = $1"; id)).await?;
        tx.log(actor, AuditAction::Delete, &format!("sale {id}"), Some(&before), None, now).await?;
        tx.commit_and(before).await
    }

    /// Another sale of the same goods at the same time. Always `None` for a sale that is not announced.
    pub async fn overlapping(self, sale: &Sale) -> StoreResult<Option<SaleId>> {
        if !is_announced(sale) {
            return Ok(None);
        }
        let others = self.all(query!(OTHERS_THAT_OVERLAP; sale.goods_id, sale.id), crate::sales::sale).await?;
        Ok(find_overlap(sale, &others))
    }

    /// Sales that have not ended, newest first.
    pub async fn current_sales(self) -> StoreResult<Vec<Sale>> {
        self.all(query!(select!(columns, "FROM sales WHERE state <> 'ended' ORDER BY id DESC")), sale).await
    }

    /// Ended sales without rehearsals, the last to close first.
    pub async fn past_sales(self, page: &PastPage) -> StoreResult<Vec<Sale>> {
        let (closed, id) = page.before.unwrap_or((i64::MAX, SaleId(i64::MAX)));
        let sql = format!(
            select!(
                columns,
                "FROM sales WHERE {}{} AND (closes_at_ms < $1 OR (closes_at_ms = $1 AND id < $2))
                  ORDER BY closes_at_ms DESC, id DESC LIMIT $3"
            ),
            PAST,
            page.of_goods(4)
        );
        self.all(page.bind_goods(query!(AssertSqlSafe(sql); closed, id, page.limit)), sale).await
    }

    /// How many ended sales there are on all pages, at most [`MAX_COUNTED_PAST`].
    pub async fn count_past_sales(self, page: &PastPage) -> StoreResult<i64> {
        let goods = page.of_goods(2);
        let sql = format!("SELECT COUNT(*) AS n FROM (SELECT 1 FROM sales WHERE {PAST}{goods} LIMIT $1) AS counted");
        let query = query!(AssertSqlSafe(sql); MAX_COUNTED_PAST);
        Ok(self.optional(page.bind_goods(query), column("n")).await?.unwrap_or_default())
    }

    /// Sales whose window overlaps `from..to`, without rehearsals. A sale without a closing time counts where it opens.
    pub async fn sales_between(self, from: Timestamp, to: Timestamp) -> StoreResult<Vec<Sale>> {
        let sql = select!(
            columns,
            "FROM sales WHERE opens_at_ms < $2 AND (closes_at_ms > $1 OR opens_at_ms >= $1) AND shadow = 0
              ORDER BY opens_at_ms, id"
        );
        self.all(query!(sql; from, to), sale).await
    }
}

/// The condition for sales with which another sale of the same goods may overlap. Rehearsals are excluded. Running
/// sales without a closing time are excluded as well, because staff end them by hand before the next sale begins.
macro_rules! overlap_candidates {
    () => {
        "shadow = 0 AND (state = 'scheduled' OR (state IN ('live', 'paused') AND closes_at_ms IS NOT NULL))"
    };
}

const OTHERS_THAT_OVERLAP: &str =
    select!(columns, "FROM sales WHERE goods_id = $1 AND id <> $2 AND ", overlap_candidates!(), " ORDER BY id");

/// Whether a sale could be deleted now.
pub fn preview_deletion(sale: &Sale) -> Result<(), SaleRefusal> {
    if sale.state == SaleState::Draft { Ok(()) } else { Err(SaleRefusal::NotADraft) }
}

pub(super) fn is_announced(sale: &Sale) -> bool {
    !matches!(sale.state, SaleState::Draft | SaleState::Ended)
}

fn find_overlap(sale: &Sale, others: &[Sale]) -> Option<SaleId> {
    others.iter().find(|other| sale.window.overlaps(&other.window)).map(|other| other.id)
}

/// Refuses a sale that overlaps with another one of the same goods. The caller holds the catalogue's lock.
pub(super) async fn refuse_overlap(tx: &mut Tx, sale: &Sale) -> Result<(), SaleRefusal> {
    if !is_announced(sale) {
        return Ok(());
    }
    let others = tx.all(query!(OTHERS_THAT_OVERLAP; sale.goods_id, sale.id), crate::sales::sale).await?;
    find_overlap(sale, &others).map_or(Ok(()), |other| Err(SaleRefusal::Overlap(other)))
}

/// Creates a sale with an id that the catalogue has given, which locks it.
pub(crate) async fn create_in(
    tx: &mut Tx,
    id: SaleId,
    draft: &SaleDraft,
    options: &SaveOptions,
    actor: &str,
    now: Timestamp,
) -> Result<Sale, SaleRefusal> {
    check_goods(tx, draft.goods_id).await?;
    let created = Sale {
        shadow: options.shadow,
        spread_seed: Some(random_seed()),
        ..draft.sale(id, saved_state(draft, options.announce))
    };
    if options.overlap == OverlapPolicy::Refuse {
        refuse_overlap(tx, &created).await?;
    }
    insert(tx, &created, options.form_key.as_deref(), now).await?;
    crate::draws::follow_sale(tx, None, &created).await?;
    crate::waiting_rooms::places::follow_sale(tx, &created).await?;
    tx.log(actor, AuditAction::Create, &format!("sale {id}"), None::<&Sale>, Some(&created), now).await?;
    Ok(created)
}

/// The sale that was created with this form key.
async fn created_by_form(tx: &mut Tx, form_key: Option<&str>) -> sqlx::Result<Option<Sale>> {
    let Some(key) = form_key else { return Ok(None) };
    let sql = select!(columns, "FROM sales WHERE form_key = $1");
    tx.optional(query!(sql; key), sale).await
}

async fn insert(tx: &mut Tx, sale: &Sale, form_key: Option<&str>, now: Timestamp) -> sqlx::Result<()> {
    let sql = format!(
        concat!("INSERT INTO sales (", definition!(), ", id, created_at_ms, form_key, shadow) VALUES {}"),
        placeholders(1, definition!().split(", ").count() + 4)
    );
    let query = bound(query!(AssertSqlSafe(sql)), definition_values(sale));
    tx.run(bound(query, values![sale.id, now, form_key, sale.shadow])).await
}

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

#[boxed]
impl SaleStore<'_> {
    /// Reads the facts. The number of statements does not depend on the number of sales. Sales that do not exist are
    /// missing.
    pub async fn preview_facts(self, ids: &[SaleId]) -> StoreResult<PreviewFacts> {
        let now = self.now().await?;
        let by_id = |row: &AnyRow| sale(row).map(|sale| (sale.id, sale));
        let sql = select!(columns, "FROM sales WHERE id IN $ids");
        let sales: HashMap<SaleId, Sale> = self.all_of(sql, &[], ids, by_id).await?;
        let mut of: Vec<i64> = sales.values().map(|sale| sale.goods_id.0).collect();
        of.sort();
        of.dedup();
        let sql = select!(columns, "FROM sales WHERE goods_id IN $ids AND ", overlap_candidates!(), " ORDER BY id");
        let announced = self.all_of(sql, &[], &of, sale).await?;
        let sql = "SELECT id, name_zh, name_en, archived_at_ms FROM goods WHERE id IN $ids";
        let goods = self.all_of(sql, &[], &of, preview_goods).await?;
        Ok(PreviewFacts { now, sales, goods, announced })
    }
}

fn preview_goods(row: &AnyRow) -> sqlx::Result<(GoodsId, PreviewGoods)> {
    let goods = read!(row => PreviewGoods { name, is_archived = row::has(row, "archived_at_ms")? })?;
    Ok((row::get(row, "id")?, goods))
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
