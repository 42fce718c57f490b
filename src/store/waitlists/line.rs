//! The waitlist of a sale: joining it, leaving it, and reading it.

use std::collections::HashMap;

use jiff::Timestamp;
use sqlx::any::AnyRow;
use sqlx::{AssertSqlSafe, Row};

use super::RunningSegment;
use crate::pool::Connection;
use crate::{StoreError, Tx, WaitlistStore, deposits, list, padded, row, sales};
use domain::{OrderId, Phase, SaleId, UserId, Waiter, WaiterState, WaitlistSeed, waitlist};

/// Accounts are counted up to this number.
pub const MAX_COUNTED_WAITERS: i64 = 10_000;

/// The outcome of a request to join.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WaitOutcome {
    Joined(Waiter),
    /// The account was on the waitlist already. Its place and its quantity stay.
    Known(Waiter),
    /// The account has a live order of the sale.
    HasOrder(OrderId),
    OverLimit,
    /// The wallet's balance is below the deposit.
    DepositNeeded,
    /// The sale has no waitlist in this phase.
    Closed(Phase),
    /// There is no such sale, or it is not a rush.
    NoWaitlist,
}

macro_rules! columns {
    () => {
        "user_id, quantity, joined_at_ms, place, state, order_id"
    };
}

fn waiter(row: &AnyRow) -> Result<Waiter, sqlx::Error> {
    let order: Option<String> = row.try_get("order_id")?;
    Ok(Waiter {
        user_id: row::parsed(row, "user_id")?,
        quantity: row::int(row, "quantity")? as u32,
        joined_at: row::time(row, "joined_at_ms")?,
        place: row::int(row, "place")?,
        state: row::parsed(row, "state")?,
        order_id: order.map(|id| id.parse().map_err(|_| row::undecodable("order_id"))).transpose()?,
    })
}

const OWN: &str = concat!("SELECT ", columns!(), " FROM waiters WHERE sale_id = $1 AND user_id = $2");

/// Counts accounts for which units of a sale are kept, and the units that they want.
const WAITED: &str = "SELECT COUNT(*) AS accounts, CAST(COALESCE(SUM(quantity), 0) AS BIGINT) AS units
     FROM (SELECT quantity FROM waiters WHERE sale_id = $1 AND state = 'waiting' AND (rejoined = 0 OR place < $2)
       ORDER BY place LIMIT $3) AS waiting";

impl WaitlistStore<'_> {
    pub async fn waiter(self, sale: SaleId, user: UserId) -> Result<Option<Waiter>, StoreError> {
        self.optional(sqlx::query(OWN).bind(sale.0).bind(user.to_string()), waiter).await
    }

    /// The places of an account on all waitlists, for its export.
    pub async fn waiters_of(self, user: UserId) -> Result<Vec<(SaleId, Waiter)>, StoreError> {
        let sql = concat!("SELECT sale_id, ", columns!(), " FROM waiters WHERE user_id = $1 ORDER BY sale_id");
        let read = |row: &AnyRow| Ok((SaleId(row::int(row, "sale_id")?), waiter(row)?));
        self.all(sqlx::query(sql).bind(user.to_string()), read).await
    }

    /// The waitlists on which an account waits. The one that it joined last comes first.
    pub async fn waits_of(self, user: UserId, limit: i64) -> Result<Vec<SaleId>, StoreError> {
        let sql = "SELECT sale_id FROM waiters WHERE user_id = $1 AND state = 'waiting'
             ORDER BY joined_at_ms DESC, sale_id DESC LIMIT $2";
        let query = sqlx::query(sql).bind(user.to_string()).bind(limit);
        self.all(query, |row| Ok(SaleId(row::int(row, "sale_id")?))).await
    }

    /// Accounts that wait before this one, at most [`MAX_COUNTED_WAITERS`].
    pub async fn waiters_ahead(self, sale: SaleId, of: &Waiter) -> Result<i64, StoreError> {
        let sql = "SELECT COUNT(*) AS n FROM (SELECT 1 FROM waiters WHERE sale_id = $1 AND state = 'waiting'
               AND place <= $2 AND (place < $2 OR user_id < $3) ORDER BY place LIMIT $4) AS ahead";
        let query = sqlx::query(sql).bind(sale.0).bind(of.place).bind(of.user_id.to_string());
        let row = query.bind(MAX_COUNTED_WAITERS).fetch_one(&self.pool).await?;
        Ok(row::int(&row, "n")?)
    }

    /// Accounts that wait, at most [`MAX_COUNTED_WAITERS`].
    pub async fn count_waiters(self, sale: SaleId) -> Result<i64, StoreError> {
        let sql = "SELECT COUNT(*) AS n FROM (SELECT 1 FROM waiters WHERE sale_id = $1 AND state = 'waiting'
               ORDER BY place LIMIT $2) AS line";
        let row = sqlx::query(sql).bind(sale.0).bind(MAX_COUNTED_WAITERS).fetch_one(&self.pool).await?;
        Ok(row::int(&row, "n")?)
    }

    /// Whether accounts wait for units of a sale.
    pub async fn is_waited_for(self, sale: SaleId) -> Result<bool, StoreError> {
        let sql = "SELECT 1 FROM waiters WHERE sale_id = $1 AND state = 'waiting' LIMIT 1";
        Ok(self.optional(sqlx::query(sql).bind(sale.0), |_| Ok(())).await?.is_some())
    }

    /// Units of a sale that only accounts on its waitlist get.
    pub async fn waited_units(self, sale: SaleId) -> Result<i64, StoreError> {
        let now = self.now().await?;
        Ok(waited_units(&mut self.pool.acquire().await?, sale, now).await?)
    }

    /// The sales among these for which accounts wait, with their [`waited_units`](WaitlistStore::waited_units).
    pub async fn waited_for(self, sales: &[SaleId]) -> Result<HashMap<SaleId, i64>, StoreError> {
        let mut waited = HashMap::new();
        for chunk in padded(sales) {
            let sql = format!(
                "SELECT sale_id FROM waitlists WHERE sale_id IN {} AND EXISTS (SELECT 1 FROM waiters
                   WHERE waiters.sale_id = waitlists.sale_id AND state = 'waiting')",
                list(chunk.len(), 0)
            );
            let query = chunk.iter().fold(sqlx::query(AssertSqlSafe(sql)), |query, sale| query.bind(sale.0));
            for sale in self.all(query, |row| Ok(SaleId(row::int(row, "sale_id")?))).await? {
                waited.insert(sale, self.waited_units(sale).await?);
            }
        }
        Ok(waited)
    }

    /// Puts an account on the waitlist of a sale. If it waits already, its place stays. If it left, or its offer is
    /// over, it gets a new place. The caller has found the sale sold out.
    pub async fn join(self, id: SaleId, user: UserId, quantity: u32) -> Result<WaitOutcome, StoreError> {
        if let Some(known) = self.waiter(id, user).await?.filter(|known| known.state == WaiterState::Waiting) {
            return Ok(WaitOutcome::Known(known));
        }
        let mut tx = self.begin().await?;
        let Some(sale) = sales::read(&mut tx, id).await?.filter(|sale| sale.mode.has_waitlist()) else {
            return Ok(WaitOutcome::NoWaitlist);
        };
        let sql = "INSERT INTO waitlists (sale_id, seed) VALUES ($1, $2) ON CONFLICT DO NOTHING";
        let seed = WaitlistSeed::new(rand::random()).to_hex();
        sqlx::query(sql).bind(id.0).bind(seed).execute(&mut *tx).await?;
        let RunningSegment { seed, began, now } = self.share_waitlist(&mut tx, id).await?;
        let phase = sale.phase(now);
        if !matches!(phase, Phase::Open | Phase::SoldOut) {
            return Ok(WaitOutcome::Closed(phase));
        }
        if i64::from(quantity) > sale.per_user_limit {
            return Ok(WaitOutcome::OverLimit);
        }
        if let Some(order) = live_order(&mut tx, id, user).await? {
            return Ok(WaitOutcome::HasOrder(order));
        }
        let sql = "INSERT INTO waiters (sale_id, user_id, quantity, joined_at_ms, since_ms, place, state)
             VALUES ($1, $2, $3, $4, $4, $5, 'waiting') ON CONFLICT (sale_id, user_id) DO UPDATE SET
               quantity = excluded.quantity, joined_at_ms = excluded.joined_at_ms, since_ms = excluded.since_ms,
               place = excluded.place, state = 'waiting', called_at_ms = NULL, order_id = NULL,
               rejoined = CASE WHEN waiters.place < $6 THEN 1 ELSE waiters.rejoined END
             WHERE waiters.state <> 'waiting'";
        let query = sqlx::query(sql).bind(id.0).bind(user.to_string()).bind(i64::from(quantity));
        let query = query.bind(now.as_millisecond()).bind(waitlist::place(&seed, began, user));
        let query = query.bind(waitlist::first_place(began));
        let is_new = query.execute(&mut *tx).await?.rows_affected() == 1;
        let row = sqlx::query(OWN).bind(id.0).bind(user.to_string()).fetch_one(&mut *tx).await?;
        let own = waiter(&row)?;
        if !deposits::take(&mut tx, id, sale.eligibility.deposit_amount(), &[user]).await?.is_empty() {
            return Ok(WaitOutcome::DepositNeeded);
        }
        tx.commit().await?;
        Ok(if is_new { WaitOutcome::Joined(own) } else { WaitOutcome::Known(own) })
    }

    /// Takes an account off the waitlist. Safe to repeat. Returns `false` if the account never was on it. An order that
    /// is on its way still arrives, and can be cancelled.
    pub async fn leave(self, sale: SaleId, user: UserId) -> Result<bool, StoreError> {
        let mut tx = self.begin().await?;
        let sql = "UPDATE waiters SET state = 'left' WHERE sale_id = $1 AND user_id = $2 AND state = 'waiting'";
        let left = sqlx::query(sql).bind(sale.0).bind(user.to_string()).execute(&mut *tx).await?.rows_affected();
        if left == 1 {
            deposits::returns::withdraw(&mut tx, sale, user).await?;
        }
        tx.commit().await?;
        Ok(left == 1 || self.waiter(sale, user).await?.is_some())
    }
}

/// Units of a sale that only accounts on its waitlist get. In a transaction it is read after the sale's row is locked, so
/// that it sees every account that joined before a unit came back.
pub(crate) async fn waited_units(
    connection: &mut Connection,
    sale: SaleId,
    now: Timestamp,
) -> Result<i64, sqlx::Error> {
    let sql = "SELECT segment_ms FROM waitlists WHERE sale_id = $1";
    let found = sqlx::query(sql).bind(sale.0).fetch_optional(&mut *connection).await?;
    let Some(began) = found.map(|row| row::time(&row, "segment_ms")).transpose()? else { return Ok(0) };
    let query = sqlx::query(WAITED).bind(sale.0).bind(waitlist::due_below(began, now));
    let found = query.bind(waitlist::MAX_KEEPING_WAITERS).fetch_one(&mut *connection).await?;
    Ok(waitlist::units_kept(row::int(&found, "accounts")?, row::int(&found, "units")?))
}

async fn live_order(tx: &mut Tx, sale: SaleId, user: UserId) -> Result<Option<OrderId>, sqlx::Error> {
    let sql = "SELECT id FROM orders WHERE sale_id = $1 AND user_id = $2 AND status IN ('unpaid', 'paid')";
    let found = sqlx::query(sql).bind(sale.0).bind(user.to_string()).fetch_optional(&mut **tx).await?;
    found.map(|row| row::parsed(&row, "id")).transpose()
}
