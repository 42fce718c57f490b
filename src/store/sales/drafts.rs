//! Sales before they begin and after they end: creation and deletion, overlaps, the calendar, and ended sales.

use std::collections::HashMap;

use boxed::boxed;
use jiff::Timestamp;
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

use crate::audit_log::log;
use crate::sales::changes::{SaleChange, SaleRefusal, next_id, saved_state, touch};
use crate::sales::{bind_definition, check_goods, columns, definition, lock, random_seed, sale};
use crate::{
    AnyQuery, OverlapPolicy, SaleDraft, SaleStore, SaveOptions, StoreError, Tx, deposits, eligibility, for_numbers,
    list, placeholders, row,
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
        let query = query.bind(self.number.map_or(-1, |number| number.0));
        goods.iter().fold(query, |query, id| query.bind(id.0))
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
        tx.commit().await?;
        Ok(created)
    }

    /// Deletes a draft, which never sold anything. Returns the deleted sale.
    pub async fn delete_draft(self, id: SaleId, actor: &str, now: Timestamp) -> Result<Sale, SaleRefusal> {
        let mut tx = self.begin().await?;
        let before = lock(&mut tx, id).await?.ok_or(SaleRefusal::NoSuchSale)?;
        touch(&mut tx).await?;
        preview_deletion(&before)?;
        sqlx::query("DELETE FROM sale_buckets WHERE sale_id = $1").bind(id.0).execute(&mut *tx).await?;
        crate::draws::delete(&mut tx, &before).await?;
        crate::waiting_rooms::places::delete(&mut tx, &before).await?;
        eligibility::delete(&mut tx, id).await?;
        deposits::delete(&mut tx, id).await?;
        sqlx::query("DELETE FROM sales WHERE id = $1").bind(id.0).execute(&mut *tx).await?;
        log(&mut tx, actor, AuditAction::Delete, &format!("sale {id}"), Some(&before), None, now).await?;
        tx.commit().await?;
        Ok(before)
    }

    /// Another sale of the same goods at the same time. Always `None` for a sale that is not announced.
    pub async fn overlapping(self, sale: &Sale) -> Result<Option<SaleId>, StoreError> {
        if !is_announced(sale) {
            return Ok(None);
        }
        let rows = sqlx::query(OTHERS_THAT_OVERLAP).bind(sale.goods_id.0).bind(sale.id.0).fetch_all(&self.pool).await?;
        Ok(find_overlap(sale, &rows)?)
    }

    /// Sales that have not ended, newest first.
    pub async fn current_sales(self) -> Result<Vec<Sale>, StoreError> {
        self.sales_where(select!(columns, "FROM sales WHERE state <> 'ended' ORDER BY id DESC")).await
    }

    /// Ended sales without rehearsals, the last to close first.
    pub async fn past_sales(self, page: &PastPage) -> Result<Vec<Sale>, StoreError> {
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
        self.all(page.bind_goods(sqlx::query(AssertSqlSafe(sql)).bind(closed).bind(id.0).bind(page.limit)), sale).await
    }

    /// How many ended sales there are on all pages, at most [`MAX_COUNTED_PAST`].
    pub async fn count_past_sales(self, page: &PastPage) -> Result<i64, StoreError> {
        let goods = page.of_goods(2);
        let sql = format!("SELECT COUNT(*) AS n FROM (SELECT 1 FROM sales WHERE {PAST}{goods} LIMIT $1) AS counted");
        let query = sqlx::query(AssertSqlSafe(sql)).bind(MAX_COUNTED_PAST);
        Ok(self.optional(page.bind_goods(query), |row| row::int(row, "n")).await?.unwrap_or_default())
    }

    /// Sales whose window overlaps `from..to`, without rehearsals. A sale without a closing time counts where it opens.
    pub async fn sales_between(self, from: Timestamp, to: Timestamp) -> Result<Vec<Sale>, StoreError> {
        let sql = select!(
            columns,
            "FROM sales WHERE opens_at_ms < $2 AND (closes_at_ms > $1 OR opens_at_ms >= $1) AND shadow = 0
              ORDER BY opens_at_ms, id"
        );
        self.all(sqlx::query(sql).bind(from.as_millisecond()).bind(to.as_millisecond()), sale).await
    }
}

/// The condition for sales with which another sale of the same goods may overlap. Rehearsals are excluded. Running
/// sales without a closing time are excluded as well, because staff end them by hand before the next sale begins.
macro_rules! overlap_candidates {
    () => {
        "shadow = 0 AND (state = 'scheduled' OR (state IN ('live', 'paused') AND closes_at_ms IS NOT NULL))"
    };
}

const OTHERS_THAT_OVERLAP: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM sales WHERE goods_id = $1 AND id <> $2 AND ",
    overlap_candidates!(),
    " ORDER BY id"
);

/// Whether a sale could be deleted now.
pub fn preview_deletion(sale: &Sale) -> Result<(), SaleRefusal> {
    if sale.state == SaleState::Draft { Ok(()) } else { Err(SaleRefusal::NotADraft) }
}

pub(super) fn is_announced(sale: &Sale) -> bool {
    !matches!(sale.state, SaleState::Draft | SaleState::Ended)
}

fn find_overlap(sale: &Sale, rows: &[sqlx::any::AnyRow]) -> Result<Option<SaleId>, sqlx::Error> {
    for row in rows {
        let other = crate::sales::sale(row)?;
        if sale.window.overlaps(&other.window) {
            return Ok(Some(other.id));
        }
    }
    Ok(None)
}

/// Refuses a sale that overlaps with another one of the same goods. The caller holds the catalogue's lock.
pub(super) async fn refuse_overlap(tx: &mut Tx, sale: &Sale) -> Result<(), SaleRefusal> {
    if !is_announced(sale) {
        return Ok(());
    }
    let rows = sqlx::query(OTHERS_THAT_OVERLAP).bind(sale.goods_id.0).bind(sale.id.0).fetch_all(&mut **tx).await?;
    find_overlap(sale, &rows)?.map_or(Ok(()), |other| Err(SaleRefusal::Overlap(other)))
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
    log(tx, actor, AuditAction::Create, &format!("sale {id}"), None::<&Sale>, Some(&created), now).await?;
    Ok(created)
}

/// The sale that was created with this form key.
async fn created_by_form(tx: &mut Tx, form_key: Option<&str>) -> Result<Option<Sale>, sqlx::Error> {
    let Some(key) = form_key else { return Ok(None) };
    let sql = select!(columns, "FROM sales WHERE form_key = $1");
    tx.optional(sqlx::query(sql).bind(key), sale).await
}

async fn insert(tx: &mut Tx, sale: &Sale, form_key: Option<&str>, now: Timestamp) -> Result<(), sqlx::Error> {
    let sql = format!(
        concat!("INSERT INTO sales (", definition!(), ", id, created_at_ms, form_key, shadow) VALUES {}"),
        placeholders(1, definition!().split(", ").count() + 4)
    );
    let query = bind_definition(sqlx::query(AssertSqlSafe(sql)), sale).bind(sale.id.0).bind(now.as_millisecond());
    query.bind(form_key).bind(i64::from(sale.shadow)).execute(&mut **tx).await?;
    Ok(())
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
    pub async fn preview_facts(self, ids: &[SaleId]) -> Result<PreviewFacts, StoreError> {
        let now = self.now().await?;
        let mut sales = HashMap::new();
        let ids: Vec<i64> = ids.iter().map(|id| id.0).collect();
        for query in for_numbers(select!(columns, "FROM sales WHERE id IN $ids"), &[], &ids) {
            sales.extend(self.all(query, sale).await?.into_iter().map(|sale| (sale.id, sale)));
        }
        let mut of: Vec<i64> = sales.values().map(|sale| sale.goods_id.0).collect();
        of.sort();
        of.dedup();
        let (mut announced, mut goods) = (Vec::new(), HashMap::new());
        let sql = concat!(
            "SELECT ",
            columns!(),
            " FROM sales WHERE goods_id IN $ids AND ",
            overlap_candidates!(),
            " ORDER BY id"
        );
        for query in for_numbers(sql, &[], &of) {
            announced.extend(self.all(query, sale).await?);
        }
        let sql = "SELECT id, name_zh, name_en, archived_at_ms FROM goods WHERE id IN $ids";
        for query in for_numbers(sql, &[], &of) {
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
