//! Sales: their definitions and their state transitions. Every change raises the catalogue's revision, for which every
//! process polls.

pub(super) mod buckets;
pub(super) mod changes;
pub(crate) mod drafts;
pub(super) mod rehearsals;
pub(super) mod reports;

use std::time::Duration;

use boxed::boxed;
use jiff::Timestamp;
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

use super::{Bound, LockPatience, SaleStore, StoreResult, Tx, Value, bound, column, pair, row};
use crate::idempotency::{made_before, record_made};
use changes::{SaleChange, SaleRefusal, touch};
use domain::ledger::money;
use domain::{
    DrawPlan, EligibilityRules, GoodsId, ModeName, Money, Rush, Sale, SaleId, SaleMode, SpreadSeed, WaitingRoomPlan,
    Window,
};

/// The columns that staff define, in the order of [`definition_values`].
macro_rules! definition {
    () => {
        "goods_id, price, list_price, currency, total, per_user_limit, opens_at_ms, closes_at_ms, state, version, \
         buckets, lot, spread_ms, spread_seed, mode, queue_prequeue_s, queue_gather_s, queue_seat_s, draw_window_s, \
         draw_review_s, draw_beacon, accounts_before_ms, verified_contact, one_per_contact, one_per_address, \
         invitation, deposit"
    };
}
macro_rules! columns {
    () => {
        concat!("id, sold, granted, epoch, shadow, ", $crate::sales::definition!())
    };
}
pub(super) use {columns, definition};

/// Whether a sale is over: it is retired and has no unpaid order. From then on only staff change it. A draw is retired once
/// it is settled.
macro_rules! is_over {
    () => {
        "(sales.retired_at_ms IS NOT NULL AND (sales.mode = 'draw' OR NOT EXISTS
           (SELECT 1 FROM orders WHERE orders.sale_id = sales.id AND orders.status = 'unpaid')))"
    };
}
pub(crate) use is_over;

pub(super) fn sale(row: &AnyRow) -> sqlx::Result<Sale> {
    let price: Money = row::get(row, "price")?;
    let list_price: Option<i64> = row::get(row, "list_price")?;
    read!(row => Sale {
        id, goods_id, price = price, list_price = list_price.map(|amount| Money { amount, ..price }), total, sold,
        granted, per_user_limit, window = window(row)?, rush = read!(row => Rush { buckets, lot, spread_ms })?,
        mode = mode(row)?, eligibility = eligibility(row)?, state, version, epoch, shadow, spread_seed,
    })
}

pub(super) fn window(row: &AnyRow) -> sqlx::Result<Window> {
    read!(row => Window { opens_at: "opens_at_ms", closes_at: "closes_at_ms" })
}

/// The plan of a sale with a waiting room.
pub(super) fn waiting_room_plan(row: &AnyRow) -> sqlx::Result<WaitingRoomPlan> {
    read!(row => WaitingRoomPlan { prequeue_s: "queue_prequeue_s", gather_s: "queue_gather_s", seat_s: "queue_seat_s" })
}

fn mode(row: &AnyRow) -> sqlx::Result<SaleMode> {
    Ok(match row::get(row, "mode")? {
        ModeName::Rush => SaleMode::Rush,
        ModeName::WaitingRoom => SaleMode::WaitingRoom(waiting_room_plan(row)?),
        ModeName::Draw => {
            let beacon = row::get(row, "draw_beacon")?;
            let (window_s, review_s) = (row::int(row, "draw_window_s")?, row::int(row, "draw_review_s")?);
            SaleMode::Draw(DrawPlan { window_s, review_s, beacon })
        }
    })
}

fn eligibility(row: &AnyRow) -> sqlx::Result<EligibilityRules> {
    read!(row => EligibilityRules {
        accounts_before: "accounts_before_ms", verified_contact, one_per_contact, one_per_address, invitation,
        deposit = row::get::<Option<i64>>(row, "deposit")?.map(money),
    })
}

/// The values of the columns of [`definition!`].
fn definition_values(sale: &Sale) -> [Value; 27] {
    let Sale { goods_id, price, list_price, total, per_user_limit, window, state, version, rush, spread_seed, .. } =
        sale;
    let (queue, draw) = (sale.mode.waiting_room_plan(), sale.mode.draw_plan());
    let EligibilityRules { accounts_before, verified_contact, one_per_contact, one_per_address, invitation, deposit } =
        sale.eligibility;
    values![
        goods_id,
        price.amount,
        list_price.map(|p| p.amount),
        price.currency,
        total,
        per_user_limit,
        window.opens_at,
        window.closes_at,
        state,
        version,
        rush.buckets,
        rush.lot,
        rush.spread_ms,
        spread_seed,
        sale.mode.name(),
        queue.map(|plan| plan.prequeue_s),
        queue.map(|plan| plan.gather_s),
        queue.map(|plan| plan.seat_s),
        draw.map(|plan| plan.window_s),
        draw.map(|plan| plan.review_s),
        draw.and_then(|plan| plan.beacon),
        accounts_before,
        verified_contact,
        one_per_contact,
        one_per_address,
        invitation,
        deposit.map(|deposit| deposit.amount)
    ]
}

/// A seed for the spread of one sale.
fn random_seed() -> SpreadSeed {
    SpreadSeed::new(rand::random())
}

/// Reads a sale and locks its row until the end of the transaction.
pub(super) async fn lock(tx: &mut Tx, id: SaleId) -> sqlx::Result<Option<Sale>> {
    let sql = concat!("UPDATE sales SET sold = sold WHERE id = $1 RETURNING ", columns!());
    tx.optional(query!(sql; id), sale).await
}

/// Reads a sale without locking it.
pub(super) async fn read(tx: &mut Tx, id: SaleId) -> sqlx::Result<Option<Sale>> {
    let sql = select!(columns, "FROM sales WHERE id = $1");
    tx.optional(query!(sql; id), sale).await
}

/// Adds units to a sale's `sold`. Returns `false` if fewer are left. A negative number returns units.
pub(super) async fn add_sold(tx: &mut Tx, sale: SaleId, units: i64) -> sqlx::Result<bool> {
    let sql = "UPDATE sales SET sold = sold + $2, granted = granted + $3 WHERE id = $1 AND sold + $2 <= total";
    Ok(tx.changed(query!(sql; sale, units, units.max(0))).await? == 1)
}

/// Checks that the goods exist and are not archived. The catalogue's lock keeps that true until the end of the
/// transaction.
pub(super) async fn check_goods(tx: &mut Tx, id: GoodsId) -> Result<(), SaleRefusal> {
    let query = query!("SELECT archived_at_ms FROM goods WHERE id = $1"; id);
    let archived: Option<Option<Timestamp>> = tx.optional(query, column("archived_at_ms")).await?;
    match archived.ok_or(SaleRefusal::NoSuchGoods)? {
        Some(_) => Err(SaleRefusal::GoodsArchived),
        None => Ok(()),
    }
}

/// A change that is written and not committed. Its transaction locks the sale and the catalogue.
pub struct PendingChange {
    tx: Tx,
    before: Sale,
    after: Sale,
}

#[boxed]
impl PendingChange {
    /// The sale as it will be.
    pub fn sale(&self) -> &Sale {
        &self.after
    }

    /// Whether units are taken from a sale that may be selling them at this moment.
    pub fn takes_units(&self) -> bool {
        self.after.total < self.before.total && !self.before.state.is_planned()
    }

    pub async fn commit(self) -> StoreResult<Sale> {
        self.tx.commit().await?;
        Ok(self.after)
    }
}

/// Applies a change to a locked sale.
async fn apply_change(
    mut tx: Tx,
    before: Sale,
    change: &SaleChange,
    actor: &str,
    now: Timestamp,
) -> Result<PendingChange, SaleRefusal> {
    let id = before.id;
    let mut after = change.apply(&before, now)?;
    // A sale from an earlier version of the shop gets its seed with its first change, at the latest when it opens.
    after.spread_seed = after.spread_seed.or_else(|| Some(random_seed()));
    touch(&mut tx).await?;
    if change.needs_goods() {
        check_goods(&mut tx, after.goods_id).await?;
    }
    if after.total < before.total && !before.state.is_planned() && buckets::allotted(&mut tx, id).await? > after.total {
        return Err(SaleRefusal::UnitsAllotted);
    }
    if before.mode.is_waiting_room()
        && !after.mode.is_waiting_room()
        && crate::waiting_rooms::places::has_places(&mut tx, &before).await?
    {
        return Err(SaleRefusal::Invalid(vec![("mode", "mode_has_places")]));
    }
    if change.refuses_overlap() {
        drafts::refuse_overlap(&mut tx, &after).await?;
    }
    let columns: Vec<&str> = definition!().split(", ").collect();
    let values = columns.iter().enumerate().map(|(n, column)| format!("{column} = ${}", n + 1));
    let sql = format!("UPDATE sales SET {} WHERE id = ${}", Vec::from_iter(values).join(", "), columns.len() + 1);
    tx.run(bound(bound(query!(AssertSqlSafe(sql)), definition_values(&after)), [id.value()])).await?;
    crate::draws::follow_sale(&mut tx, Some(&before), &after).await?;
    crate::waiting_rooms::places::follow_sale(&mut tx, &after).await?;
    tx.log(actor, change.audit_action(), &format!("sale {id}"), Some(&before), Some(&after), now).await?;
    Ok(PendingChange { tx, before, after })
}

#[boxed]
impl SaleStore<'_> {
    /// Gives a seed to sales from an earlier version of the shop that have not begun, so that their commitments are
    /// public in time.
    pub(super) async fn give_spread_seeds(self) -> StoreResult<()> {
        let sql = "SELECT id FROM sales WHERE spread_seed IS NULL AND state IN ('draft', 'scheduled') ORDER BY id";
        let sales: Vec<i64> = self.all(query!(sql), column("id")).await?;
        if sales.is_empty() {
            return Ok(());
        }
        let mut tx = self.begin().await?;
        for id in sales {
            let sql = "UPDATE sales SET spread_seed = $2 WHERE id = $1 AND spread_seed IS NULL";
            tx.run(query!(sql; id, random_seed().to_hex())).await?;
        }
        touch(&mut tx).await?;
        Ok(tx.commit().await?)
    }

    /// Every sale whose units are in the stock backend: sales that are not retired and not draws. Only the database
    /// gives the units of draws.
    pub async fn active(self) -> StoreResult<Vec<Sale>> {
        let sql = select!(columns, "FROM sales WHERE retired_at_ms IS NULL AND mode <> 'draw' ORDER BY id");
        self.all(query!(sql), sale).await
    }

    /// Sales that were retired at this time or later.
    pub async fn sales_retired_since(self, since: Timestamp) -> StoreResult<Vec<Sale>> {
        let sql = select!(columns, "FROM sales WHERE retired_at_ms >= $1 ORDER BY id");
        self.all(query!(sql; since), sale).await
    }

    /// Raises the version of a sale above another one, so that its definition counts as newer.
    pub async fn raise_version(self, id: SaleId, above: i64) -> StoreResult<()> {
        let mut tx = self.begin().await?;
        lock(&mut tx, id).await?;
        touch(&mut tx).await?;
        tx.run(query!("UPDATE sales SET version = $2 + 1 WHERE id = $1 AND version <= $2"; id, above)).await?;
        Ok(tx.commit().await?)
    }

    /// Sales before `before`, newest first.
    pub async fn sales_before(self, before: Option<SaleId>, limit: i64) -> StoreResult<Vec<Sale>> {
        let sql = select!(columns, "FROM sales WHERE id < $1 ORDER BY id DESC LIMIT $2");
        self.all(query!(sql; before.map_or(i64::MAX, |id| id.0), limit), sale).await
    }

    /// Every sale, newest first.
    pub async fn list(self) -> StoreResult<Vec<Sale>> {
        self.all(query!(select!(columns, "FROM sales ORDER BY id DESC")), sale).await
    }

    /// The live and paused sales, each with its units in live orders.
    pub async fn sold_units(self) -> StoreResult<Vec<(SaleId, i64)>> {
        let sql = "SELECT id, sold FROM sales WHERE state IN ('live', 'paused')";
        self.all(query!(sql), pair("id", "sold")).await
    }

    pub async fn get(self, id: SaleId) -> StoreResult<Option<Sale>> {
        self.optional(query!(select!(columns, "FROM sales WHERE id = $1"); id), sale).await
    }

    /// Changes a sale and logs the actor. Returns the changed sale. If an earlier attempt of the request has changed
    /// it, returns the sale as it is now.
    pub async fn change(
        self,
        id: SaleId,
        change: &SaleChange,
        actor: &str,
        now: Timestamp,
    ) -> Result<Sale, SaleRefusal> {
        Ok(self.begin_change(id, change, actor, now).await?.commit().await?)
    }

    /// As [`SaleStore::change`], up to the commit.
    pub async fn begin_change(
        self,
        id: SaleId,
        change: &SaleChange,
        actor: &str,
        now: Timestamp,
    ) -> Result<PendingChange, SaleRefusal> {
        let mut tx = self.begin().await?;
        let made = made_before(&mut tx, change.request()).await?;
        let before = lock(&mut tx, id).await?.ok_or(SaleRefusal::NoSuchSale)?;
        if made.is_some() {
            return Ok(PendingChange { tx, after: before.clone(), before });
        }
        record_made(&mut tx, change.request(), "").await?;
        apply_change(tx, before, change, actor, now).await
    }

    /// Sales that are due to open or to close, by the database's clock.
    pub async fn due(self) -> StoreResult<Vec<SaleId>> {
        let sql = "SELECT id FROM sales WHERE retired_at_ms IS NULL AND ((state = 'scheduled' AND opens_at_ms <= $1)
               OR (state IN ('scheduled', 'live', 'paused') AND closes_at_ms <= $1)) ORDER BY id";
        self.all(query!(sql; self.ask_time().await?), column("id")).await
    }

    /// Opens or closes a sale that is due. Does not wait for a locked sale. `None` if it is not due any more, because
    /// staff have changed it or another process was faster.
    pub async fn follow_schedule(self, id: SaleId) -> Result<Option<Sale>, SaleRefusal> {
        let mut tx = self.begin_with(LockPatience::Short).await?;
        let Some(before) = lock(&mut tx, id).await? else { return Ok(None) };
        let Some(action) = before.due_move(tx.now) else { return Ok(None) };
        let now = tx.now;
        let pending = apply_change(tx, before, &SaleChange::Move(action), "schedule", now).await?;
        Ok(Some(pending.commit().await?))
    }

    /// The time until the next scheduled sale opens; zero if one is due.
    pub async fn time_to_next_opening(self) -> StoreResult<Option<Duration>> {
        let sql = "SELECT MIN(opens_at_ms) AS next FROM sales WHERE state = 'scheduled'";
        let Some(next) = self.one(query!(sql), column::<Option<Timestamp>>("next")).await? else { return Ok(None) };
        Ok(Some(Duration::try_from(next.duration_since(self.ask_time().await?)).unwrap_or_default()))
    }

    /// Starts a new epoch of a sale's keys in Redis. Returns the sale with the new epoch.
    pub async fn next_epoch(self, id: SaleId) -> StoreResult<Sale> {
        let sql = concat!("UPDATE sales SET epoch = epoch + 1 WHERE id = $1 RETURNING ", columns!());
        self.one(query!(sql; id), sale).await
    }

    /// Marks an ended sale as retired: every order is in the database, and the stock backend no longer has its units.
    pub async fn retire(self, id: SaleId, now: Timestamp) -> StoreResult<()> {
        let mut tx = self.begin().await?;
        lock(&mut tx, id).await?;
        touch(&mut tx).await?;
        tx.run(query!("UPDATE sales SET retired_at_ms = $2 WHERE id = $1 AND state = 'ended'"; id, now)).await?;
        // A refund may have added a release since the check; both transactions lock the sale's row.
        tx.run(query!("DELETE FROM releases WHERE sale_id = $1"; id)).await?;
        Ok(tx.commit().await?)
    }

    /// Sales that ended before `before` and have no pending release. Their unpaid orders are the database's alone, because no
    /// unit is sold again. A draw is retired once it is settled.
    pub async fn retirable_sales(self, before: Timestamp) -> StoreResult<Vec<SaleId>> {
        let sql = "SELECT id FROM sales WHERE retired_at_ms IS NULL AND state = 'ended' AND mode <> 'draw'
               AND (closes_at_ms IS NULL OR closes_at_ms <= $1)
               AND NOT EXISTS (SELECT 1 FROM releases WHERE sale_id = sales.id)";
        self.all(query!(sql; before), column("id")).await
    }
}
