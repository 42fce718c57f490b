//! Sales before they begin and after they are over: entering and deleting them, which overlap, the calendar and the past.

use jiff::Timestamp;
use sqlx::AssertSqlSafe;

use crate::domain::{GoodsId, Sale, SaleId, SaleState};
use crate::store::audit_log::log;
use crate::store::sales::revision::{next_id, touch};
use crate::store::sales::{columns, demand_goods, entered_state, lock, sale};
use crate::store::{Overlap, SaleDraft, SaleRefusal, SaveOptions, Store, StoreError, Tx, list};

/// Which of the ended sales to show.
#[derive(Debug, Clone, Default)]
pub struct PastPage {
    /// Those that closed before: the closing time in milliseconds and the id of the last one seen.
    pub before: Option<(i64, SaleId)>,
    /// Of these goods only.
    pub goods: Option<Vec<GoodsId>>,
    /// Or the sale with this number.
    pub number: Option<SaleId>,
    pub most: i64,
}

impl Store {
    /// As [`Store::enter_sale`], as everything is by default.
    pub async fn create_sale(&self, draft: &SaleDraft, actor: &str, now: Timestamp) -> Result<Sale, SaleRefusal> {
        self.enter_sale(draft, &SaveOptions::default(), actor, now).await
    }

    /// Creates a sale. Whoever sends the same form again gets the sale that it made.
    pub async fn enter_sale(
        &self,
        draft: &SaleDraft,
        filing: &SaveOptions,
        actor: &str,
        now: Timestamp,
    ) -> Result<Sale, SaleRefusal> {
        let mut tx = self.begin().await?;
        // From here on all changes of the catalogue wait for this one: what is looked up below stays true.
        let id = SaleId(next_id(&mut tx, "last_sale_id").await?);
        if let Some(made) = made_by(&mut tx, filing.form_key.as_deref()).await? {
            return Ok(made);
        }
        demand_goods(&mut tx, draft.goods_id).await?;
        let created = Sale {
            id,
            goods_id: draft.goods_id,
            price: draft.price,
            list_price: draft.list_price,
            total: draft.total,
            sold: 0,
            granted: 0,
            per_user_limit: draft.per_user_limit,
            window: draft.window,
            rush: draft.rush,
            state: entered_state(draft, filing.announce),
            version: 1,
            epoch: 0,
            shadow: filing.shadow,
        };
        if filing.overlap == Overlap::Refused {
            refuse_overlap(&mut tx, &created).await?;
        }
        insert(&mut tx, &created, filing.form_key.as_deref(), now).await?;
        log(&mut tx, actor, "create", &format!("sale {id}"), None::<&Sale>, Some(&created), now).await?;
        tx.commit().await?;
        Ok(created)
    }

    /// Deletes a draft; nothing was ever sold in one. The answer is what it was.
    pub async fn delete_draft(&self, id: SaleId, actor: &str, now: Timestamp) -> Result<Sale, SaleRefusal> {
        let mut tx = self.begin().await?;
        touch(&mut tx).await?;
        let before = lock(&mut tx, id).await?.ok_or(SaleRefusal::NoSuchSale)?;
        if before.state != SaleState::Draft {
            return Err(SaleRefusal::NotADraft);
        }
        sqlx::query("DELETE FROM sale_buckets WHERE sale_id = $1").bind(id.0).execute(&mut *tx).await?;
        sqlx::query("DELETE FROM sales WHERE id = $1").bind(id.0).execute(&mut *tx).await?;
        log(&mut tx, actor, "delete", &format!("sale {id}"), Some(&before), None, now).await?;
        tx.commit().await?;
        Ok(before)
    }

    /// Another sale of the same goods at the same time, for a sale that is announced.
    pub async fn overlapping(&self, sale: &Sale) -> Result<Option<SaleId>, StoreError> {
        if !announced(sale) {
            return Ok(None);
        }
        let rows = sqlx::query(RIVALS).bind(sale.goods_id.0).bind(sale.id.0).fetch_all(&self.pool).await?;
        Ok(rival(sale, &rows)?)
    }

    /// Sales that have not ended, newest first.
    pub async fn current_sales(&self) -> Result<Vec<Sale>, StoreError> {
        self.sales_where(concat!("SELECT ", columns!(), " FROM sales WHERE state <> 'ended' ORDER BY id DESC")).await
    }

    /// Ended sales without rehearsals, the last to close first.
    pub async fn past_sales(&self, page: &PastPage) -> Result<Vec<Sale>, StoreError> {
        let (closed, id) = page.before.unwrap_or((i64::MAX, SaleId(i64::MAX)));
        let goods = page.goods.as_deref().unwrap_or_default();
        let mut sql = String::from(concat!(
            "SELECT ",
            columns!(),
            " FROM sales WHERE state = 'ended' AND shadow = 0 AND (closes_at_ms < $1 OR (closes_at_ms = $1 AND id < $2))"
        ));
        if page.goods.is_some() {
            // No goods are called so: then only the number counts.
            let ids = if goods.is_empty() { "(-1)".to_owned() } else { list(goods.len(), 4) };
            sql.push_str(&format!(" AND (id = $4 OR goods_id IN {ids})"));
        }
        sql.push_str(" ORDER BY closes_at_ms DESC, id DESC LIMIT $3");
        let mut query = sqlx::query(AssertSqlSafe(sql)).bind(closed).bind(id.0).bind(page.most);
        if page.goods.is_some() {
            query = query.bind(page.number.map_or(-1, |number| number.0));
        }
        for id in goods {
            query = query.bind(id.0);
        }
        let rows = query.fetch_all(&self.pool).await?;
        Ok(rows.iter().map(sale).collect::<Result<_, _>>()?)
    }

    /// Sales whose window touches the time from `from` until before `to`, without rehearsals. One without an end counts where it opens.
    pub async fn sales_between(&self, from: Timestamp, to: Timestamp) -> Result<Vec<Sale>, StoreError> {
        let sql = concat!(
            "SELECT ",
            columns!(),
            " FROM sales WHERE opens_at_ms < $2 AND (closes_at_ms > $1 OR opens_at_ms >= $1) AND shadow = 0
              ORDER BY opens_at_ms, id"
        );
        let query = sqlx::query(sql).bind(from.as_millisecond()).bind(to.as_millisecond());
        let rows = query.fetch_all(&self.pool).await?;
        Ok(rows.iter().map(sale).collect::<Result<_, _>>()?)
    }
}

/// Sales that another one of the same goods must not meet; a rehearsal is none. One that runs without a closing time is ended by hand, before
/// the next one begins; it does not stand in the way of a plan.
const RIVALS: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM sales WHERE goods_id = $1 AND id <> $2 AND shadow = 0 AND (state = 'scheduled' OR (state IN ('live', 'paused') AND closes_at_ms IS NOT NULL)) ORDER BY id"
);

fn announced(sale: &Sale) -> bool {
    !matches!(sale.state, SaleState::Draft | SaleState::Ended)
}

fn rival(sale: &Sale, rows: &[sqlx::any::AnyRow]) -> Result<Option<SaleId>, sqlx::Error> {
    for row in rows {
        let other = crate::store::sales::sale(row)?;
        if sale.window.overlaps(&other.window) {
            return Ok(Some(other.id));
        }
    }
    Ok(None)
}

/// Refuses a sale whose goods are on sale elsewhere at the same time. The caller has locked the catalogue's row.
pub(super) async fn refuse_overlap(tx: &mut Tx, sale: &Sale) -> Result<(), SaleRefusal> {
    if !announced(sale) {
        return Ok(());
    }
    let rows = sqlx::query(RIVALS).bind(sale.goods_id.0).bind(sale.id.0).fetch_all(&mut **tx).await?;
    rival(sale, &rows)?.map_or(Ok(()), |other| Err(SaleRefusal::Overlap(other)))
}

/// The sale that a form has made already.
async fn made_by(tx: &mut Tx, form_key: Option<&str>) -> Result<Option<Sale>, sqlx::Error> {
    let Some(key) = form_key else { return Ok(None) };
    let sql = concat!("SELECT ", columns!(), " FROM sales WHERE form_key = $1");
    let row = sqlx::query(sql).bind(key).fetch_optional(&mut **tx).await?;
    row.as_ref().map(sale).transpose()
}

async fn insert(tx: &mut Tx, sale: &Sale, form_key: Option<&str>, now: Timestamp) -> Result<(), sqlx::Error> {
    sqlx::query(
        "INSERT INTO sales (goods_id, price, list_price, currency, total, per_user_limit, opens_at_ms, closes_at_ms,
           state, version, id, created_at_ms, form_key, buckets, lot, spread_ms, shadow)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)",
    )
    .bind(sale.goods_id.0)
    .bind(sale.price.amount)
    .bind(sale.list_price.map(|p| p.amount))
    .bind(sale.price.currency.as_str().to_owned())
    .bind(sale.total)
    .bind(sale.per_user_limit)
    .bind(sale.window.opens_at.map(Timestamp::as_millisecond))
    .bind(sale.window.closes_at.map(Timestamp::as_millisecond))
    .bind(sale.state.as_str())
    .bind(sale.version)
    .bind(sale.id.0)
    .bind(now.as_millisecond())
    .bind(form_key.map(str::to_owned))
    .bind(i64::from(sale.rush.buckets))
    .bind(sale.rush.lot)
    .bind(sale.rush.spread_ms)
    .bind(i64::from(sale.shadow))
    .execute(&mut **tx)
    .await?;
    Ok(())
}
