//! Sales: their definition and their state transitions. Every change raises the catalogue's revision, which every
//! process polls.

pub(super) mod buckets;
pub(super) mod counters;
pub(super) mod drafts;
pub(super) mod rehearsals;
pub(super) mod revision;

use jiff::Timestamp;
use sqlx::any::AnyRow;
use sqlx::{AssertSqlSafe, Row};

use super::{Store, StoreError, Tx, row};
use crate::domain::sale::{SaleMove, WrongState};
use crate::domain::{GoodsId, Money, Rush, Sale, SaleId, SaleState, Window};
use crate::store::audit_log::log;
use revision::touch;

/// The definition of a new or edited sale.
#[derive(Debug, Clone)]
pub struct SaleDraft {
    pub goods_id: GoodsId,
    pub price: Money,
    pub list_price: Option<Money>,
    pub total: i64,
    pub per_user_limit: i64,
    pub window: Window,
    pub rush: Rush,
}

/// How a sale is saved.
#[derive(Debug, Clone, Default)]
pub struct SaveOptions {
    pub announce: Announce,
    pub overlap: OverlapPolicy,
    /// The idempotency key of a rendered form: submitted twice, it creates one sale.
    pub form_key: Option<String>,
    /// The version that was edited. An edit of an outdated version is refused.
    pub version: Option<i64>,
    /// Whether the sale belongs to a rehearsal. Edits do not change it.
    pub shadow: bool,
}

/// Whether shoppers see the sale after saving.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Announce {
    /// Scheduled if it has an opening time, otherwise a draft.
    #[default]
    ByWindow,
    Draft,
    Schedule,
}

/// Whether the same goods may be in two sales at the same time. Windows without an opening time, drafts, ended sales,
/// and sales that run until they are stopped by hand overlap with nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OverlapPolicy {
    #[default]
    Allow,
    Refuse,
}

/// A change to a sale.
#[derive(Debug, Clone)]
pub enum SaleChange {
    /// Opens the sale at `at`, regardless of its opening time.
    Start {
        at: Timestamp,
    },
    Move(SaleMove),
    TopUp {
        units: i64,
    },
    /// Announces a draft.
    Schedule(OverlapPolicy),
    /// Replaces the definition of a sale that has not begun.
    Edit(SaleDraft, SaveOptions),
}

/// Why a change was refused. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum SaleRefusal {
    #[error("there is no such sale")]
    NoSuchSale,
    #[error("there are no such goods")]
    NoSuchGoods,
    #[error("the goods are archived")]
    GoodsArchived,
    #[error(transparent)]
    WrongState(#[from] WrongState),
    #[error("a sale that has begun can only be topped up")]
    HasBegun,
    #[error("the closing time has passed")]
    HasClosed,
    #[error("the opening time has passed")]
    InPast,
    #[error("the same goods are on sale at that time in sale {0}")]
    Overlap(SaleId),
    #[error("the sale was changed meanwhile")]
    ChangedMeanwhile,
    #[error("a sale that is loaded keeps its buckets")]
    SplitFixed,
    #[error("only a draft can be deleted")]
    NotADraft,
    #[error("too many units")]
    TooMany,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<sqlx::Error> for SaleRefusal {
    fn from(error: sqlx::Error) -> Self {
        SaleRefusal::Store(error.into())
    }
}

/// The largest number of units of one sale. Sums of units stay far below an overflow of `i64`.
pub const MAX_SALE_UNITS: i64 = 1_000_000_000;

macro_rules! columns {
    () => {
        "id, goods_id, price, list_price, currency, total, sold, granted, per_user_limit, opens_at_ms, closes_at_ms, \
         state, version, epoch, buckets, lot, spread_ms, shadow"
    };
}
pub(super) use columns;

pub(super) fn sale(row: &AnyRow) -> Result<Sale, sqlx::Error> {
    let price = row::money(row, "price")?;
    let list_price: Option<i64> = row.try_get("list_price")?;
    Ok(Sale {
        id: SaleId(row::int(row, "id")?),
        goods_id: GoodsId(row::int(row, "goods_id")?),
        price,
        list_price: list_price.map(|amount| Money { amount, ..price }),
        total: row::int(row, "total")?,
        sold: row::int(row, "sold")?,
        granted: row::int(row, "granted")?,
        per_user_limit: row::int(row, "per_user_limit")?,
        window: Window {
            opens_at: row::optional_time(row, "opens_at_ms")?,
            closes_at: row::optional_time(row, "closes_at_ms")?,
        },
        rush: Rush {
            // A constraint of the table limits it to 64.
            buckets: row::int(row, "buckets")? as u8,
            lot: row::int(row, "lot")?,
            spread_ms: row::int(row, "spread_ms")?,
        },
        state: row::parsed(row, "state")?,
        version: row::int(row, "version")?,
        epoch: row::int(row, "epoch")?,
        shadow: row::int(row, "shadow")? == 1,
    })
}

/// Reads a sale and locks its row until the end of the transaction.
pub(super) async fn lock(tx: &mut Tx, id: SaleId) -> Result<Option<Sale>, sqlx::Error> {
    let row = sqlx::query(concat!("UPDATE sales SET sold = sold WHERE id = $1 RETURNING ", columns!()))
        .bind(id.0)
        .fetch_optional(&mut **tx)
        .await?;
    row.as_ref().map(sale).transpose()
}

/// Adds units to a sale's `sold`. `false` when fewer are left. A negative number returns units.
pub(super) async fn add_sold(tx: &mut Tx, sale: SaleId, units: i64) -> Result<bool, sqlx::Error> {
    let sql = "UPDATE sales SET sold = sold + $2, granted = granted + $3 WHERE id = $1 AND sold + $2 <= total";
    let done = sqlx::query(sql).bind(sale.0).bind(units).bind(units.max(0)).execute(&mut **tx).await?;
    Ok(done.rows_affected() == 1)
}

/// Checks that the goods exist and are not archived. The catalogue's lock keeps that true until the end of the
/// transaction.
pub(super) async fn check_goods(tx: &mut Tx, id: GoodsId) -> Result<(), SaleRefusal> {
    let found =
        sqlx::query("SELECT archived_at_ms FROM goods WHERE id = $1").bind(id.0).fetch_optional(&mut **tx).await?;
    let archived = row::optional_time(&found.ok_or(SaleRefusal::NoSuchGoods)?, "archived_at_ms")?;
    if archived.is_some() { Err(SaleRefusal::GoodsArchived) } else { Ok(()) }
}

impl Store {
    /// Every sale that is not retired.
    pub async fn active_sales(&self) -> Result<Vec<Sale>, StoreError> {
        self.sales_where(concat!("SELECT ", columns!(), " FROM sales WHERE retired_at_ms IS NULL ORDER BY id")).await
    }

    /// Every sale, newest first.
    pub async fn all_sales(&self) -> Result<Vec<Sale>, StoreError> {
        self.sales_where(concat!("SELECT ", columns!(), " FROM sales ORDER BY id DESC")).await
    }

    pub(super) async fn sales_where(&self, sql: &'static str) -> Result<Vec<Sale>, StoreError> {
        let rows = sqlx::query(sql).fetch_all(&self.pool).await?;
        Ok(rows.iter().map(sale).collect::<Result<_, _>>()?)
    }

    pub async fn sale(&self, id: SaleId) -> Result<Option<Sale>, StoreError> {
        let row = sqlx::query(concat!("SELECT ", columns!(), " FROM sales WHERE id = $1"))
            .bind(id.0)
            .fetch_optional(&self.pool)
            .await?;
        Ok(row.as_ref().map(sale).transpose()?)
    }

    /// Changes a sale and logs the actor. Returns the changed sale.
    pub async fn change_sale(
        &self,
        id: SaleId,
        change: &SaleChange,
        actor: &str,
        now: Timestamp,
    ) -> Result<Sale, SaleRefusal> {
        let mut tx = self.begin().await?;
        touch(&mut tx).await?;
        let before = lock(&mut tx, id).await?.ok_or(SaleRefusal::NoSuchSale)?;
        let after = changed(&before, change, now)?;
        if matches!(change, SaleChange::Start { .. } | SaleChange::Schedule(_) | SaleChange::Edit(..)) {
            check_goods(&mut tx, after.goods_id).await?;
        }
        if refuses_overlap(change) {
            drafts::refuse_overlap(&mut tx, &after).await?;
        }
        sqlx::query(
            "UPDATE sales SET goods_id = $1, price = $2, list_price = $3, currency = $4, total = $5,
               per_user_limit = $6, opens_at_ms = $7, closes_at_ms = $8, state = $9, version = $10,
               buckets = $12, lot = $13, spread_ms = $14 WHERE id = $11",
        )
        .bind(after.goods_id.0)
        .bind(after.price.amount)
        .bind(after.list_price.map(|p| p.amount))
        .bind(after.price.currency.as_str().to_owned())
        .bind(after.total)
        .bind(after.per_user_limit)
        .bind(after.window.opens_at.map(Timestamp::as_millisecond))
        .bind(after.window.closes_at.map(Timestamp::as_millisecond))
        .bind(after.state.as_str())
        .bind(after.version)
        .bind(id.0)
        .bind(i64::from(after.rush.buckets))
        .bind(after.rush.lot)
        .bind(after.rush.spread_ms)
        .execute(&mut *tx)
        .await?;
        log(&mut tx, actor, audit_name(change), &format!("sale {id}"), Some(&before), Some(&after), now).await?;
        tx.commit().await?;
        Ok(after)
    }

    /// Opens and closes the sales that are due. Returns those that changed.
    pub async fn follow_schedule(&self, now: Timestamp) -> Result<Vec<Sale>, StoreError> {
        let due = sqlx::query(
            "SELECT id, CASE WHEN closes_at_ms <= $1 THEN 1 ELSE 0 END AS over FROM sales
             WHERE retired_at_ms IS NULL AND ((state = 'scheduled' AND opens_at_ms <= $1)
               OR (state IN ('scheduled', 'live', 'paused') AND closes_at_ms <= $1)) ORDER BY id",
        )
        .bind(now.as_millisecond())
        .fetch_all(&self.pool)
        .await?;
        let mut changed = Vec::new();
        for row in &due {
            let id = SaleId(row::int(row, "id")?);
            let action = if row::int(row, "over")? == 1 { SaleMove::Stop } else { SaleMove::Start };
            match self.change_sale(id, &SaleChange::Move(action), "schedule", now).await {
                Ok(sale) => changed.push(sale),
                Err(SaleRefusal::Store(error)) => return Err(error),
                // Staff changed the sale in the meantime.
                Err(_) => {}
            }
        }
        Ok(changed)
    }

    /// The next time at which a scheduled sale opens.
    pub async fn next_opening(&self) -> Result<Option<Timestamp>, StoreError> {
        let row = sqlx::query("SELECT MIN(opens_at_ms) AS next FROM sales WHERE state = 'scheduled'")
            .fetch_one(&self.pool)
            .await?;
        Ok(row::optional_time(&row, "next")?)
    }

    /// Starts a new epoch of a sale's keys in Redis. Returns the sale with the new epoch.
    pub async fn next_epoch(&self, id: SaleId) -> Result<Sale, StoreError> {
        let sql = concat!("UPDATE sales SET epoch = epoch + 1 WHERE id = $1 RETURNING ", columns!());
        let row = sqlx::query(sql).bind(id.0).fetch_one(&self.pool).await?;
        Ok(sale(&row)?)
    }

    /// Marks an ended sale as retired: no order or release of it is under way any more.
    pub async fn retire_sale(&self, id: SaleId, now: Timestamp) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        touch(&mut tx).await?;
        sqlx::query("UPDATE sales SET retired_at_ms = $2 WHERE id = $1 AND state = 'ended'")
            .bind(id.0)
            .bind(now.as_millisecond())
            .execute(&mut *tx)
            .await?;
        // A refund may have added a release since the check; both transactions lock the sale's row.
        sqlx::query("DELETE FROM releases WHERE sale_id = $1").bind(id.0).execute(&mut *tx).await?;
        Ok(tx.commit().await?)
    }

    /// Sales that ended before `before` and have no unpaid order and no pending release.
    pub async fn retirable_sales(&self, before: Timestamp) -> Result<Vec<SaleId>, StoreError> {
        let rows = sqlx::query(
            "SELECT id FROM sales WHERE retired_at_ms IS NULL AND state = 'ended'
               AND (closes_at_ms IS NULL OR closes_at_ms <= $1)
               AND NOT EXISTS (SELECT 1 FROM orders WHERE sale_id = sales.id AND status = 'unpaid')
               AND NOT EXISTS (SELECT 1 FROM releases WHERE sale_id = sales.id)",
        )
        .bind(before.as_millisecond())
        .fetch_all(&self.pool)
        .await?;
        Ok(rows.iter().map(|row| Ok(SaleId(row::int(row, "id")?))).collect::<Result<_, sqlx::Error>>()?)
    }

    /// Sales whose `sold` differs from the units in their live orders, as (sale, sold, counted).
    pub async fn miscounted_sales(&self) -> Result<Vec<(SaleId, i64, i64)>, StoreError> {
        let sql = "SELECT sales.id AS id, sales.sold AS sold,
               CAST(COALESCE(SUM(orders.quantity), 0) AS BIGINT) AS counted
             FROM sales LEFT JOIN orders ON orders.sale_id = sales.id AND orders.status IN ('unpaid', 'paid')
             GROUP BY sales.id, sales.sold HAVING COALESCE(SUM(orders.quantity), 0) <> sales.sold";
        let rows = sqlx::query(AssertSqlSafe(sql)).fetch_all(&self.pool).await?;
        let read = |row| Ok((SaleId(row::int(row, "id")?), row::int(row, "sold")?, row::int(row, "counted")?));
        Ok(rows.iter().map(read).collect::<Result<_, sqlx::Error>>()?)
    }
}

/// The change's name in the audit log.
fn audit_name(change: &SaleChange) -> &'static str {
    match change {
        SaleChange::Start { .. } => "start",
        SaleChange::Move(action) => action.as_str(),
        SaleChange::TopUp { .. } => "top-up",
        SaleChange::Schedule(_) => SaleMove::Schedule.as_str(),
        SaleChange::Edit(..) => "edit",
    }
}

/// Whether the change is refused if the sale would overlap with another one.
fn refuses_overlap(change: &SaleChange) -> bool {
    match change {
        SaleChange::Schedule(overlap) => *overlap == OverlapPolicy::Refuse,
        SaleChange::Edit(_, options) => options.overlap == OverlapPolicy::Refuse,
        _ => false,
    }
}

/// The state in which a draft is saved.
pub(super) fn saved_state(draft: &SaleDraft, announce: Announce) -> SaleState {
    match announce {
        Announce::ByWindow if draft.window.opens_at.is_some() => SaleState::Scheduled,
        Announce::Schedule => SaleState::Scheduled,
        Announce::ByWindow | Announce::Draft => SaleState::Draft,
    }
}

/// The sale after a change, or why the change is refused.
fn changed(before: &Sale, change: &SaleChange, now: Timestamp) -> Result<Sale, SaleRefusal> {
    let mut after = before.clone();
    after.version += 1;
    match change {
        SaleChange::Start { at } => {
            after.state = before.state.after(SaleMove::Start)?;
            after.window.opens_at = Some(before.window.opens_at.map_or(*at, |opens| opens.min(*at)));
            if after.window.closes_at.is_some_and(|closes| closes <= now) {
                return Err(SaleRefusal::HasClosed);
            }
        }
        SaleChange::Move(action) => {
            after.state = before.state.after(*action)?;
            if after.state == SaleState::Ended {
                after.window.closes_at = Some(before.window.closes_at.map_or(now, |closes| closes.min(now)));
            }
        }
        SaleChange::TopUp { units } => {
            if before.state == SaleState::Ended {
                return Err(WrongState { from: before.state, action: SaleMove::Resume }.into());
            }
            after.total = before.total.saturating_add(*units);
            if after.total > MAX_SALE_UNITS {
                return Err(SaleRefusal::TooMany);
            }
        }
        SaleChange::Schedule(_) => {
            after.state = before.state.after(SaleMove::Schedule)?;
            if after.window.closes_at.is_some_and(|closes| closes <= now) {
                return Err(SaleRefusal::HasClosed);
            }
            if after.window.opens_at.is_some_and(|opens| opens <= now) {
                return Err(SaleRefusal::InPast);
            }
        }
        SaleChange::Edit(draft, options) => {
            if !before.state.is_planned() {
                return Err(SaleRefusal::HasBegun);
            }
            let draft = draft.clone();
            // `ByWindow` must not undo a deliberate choice: a draft that has an opening time, or a scheduled sale
            // without one.
            let same_kind = before.window.opens_at.is_some() == draft.window.opens_at.is_some();
            if options.announce != Announce::ByWindow || !same_kind {
                after.state = saved_state(&draft, options.announce);
            }
            after.goods_id = draft.goods_id;
            after.price = draft.price;
            after.list_price = draft.list_price;
            after.total = draft.total;
            after.per_user_limit = draft.per_user_limit;
            after.window = draft.window;
            after.rush = draft.rush;
            if after.rush.buckets != before.rush.buckets && before.epoch > 0 {
                return Err(SaleRefusal::SplitFixed);
            }
            // A form that is submitted twice meets its own change; an identical definition is not a conflict.
            let is_outdated = options.version.is_some_and(|version| version != before.version);
            if is_outdated && *before != (Sale { version: before.version, ..after.clone() }) {
                return Err(SaleRefusal::ChangedMeanwhile);
            }
        }
    }
    Ok(after)
}
