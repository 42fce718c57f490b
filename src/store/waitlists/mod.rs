//! Waitlists: the waiting accounts of each sale ([`line`]) and the offers to the first of them ([`offers`]).
//!
//! A transaction that adds an account locks the waitlist's row in share mode, and exclusively if it begins a segment. A
//! transaction that calls accounts locks it exclusively. Each reads the time after that. So an account is on the
//! waitlist before its segment is called, or it is in a later segment.

pub(super) mod line;
pub(super) mod offers;

use jiff::Timestamp;

use super::{Tx, WaitlistStore, row};
use domain::{SaleId, WaitlistSeed, waitlist};

/// The segment that accounts join now.
struct RunningSegment {
    seed: WaitlistSeed,
    began: Timestamp,
    now: Timestamp,
}

impl WaitlistStore<'_> {
    /// Begins a segment unless one is running, and locks the row of the waitlist in share mode, so that no account is
    /// called until the end of the transaction. Reads the time after the lock was taken. On SQLite a writing
    /// transaction is alone anyway.
    async fn share_waitlist(self, tx: &mut Tx, sale: SaleId) -> Result<RunningSegment, sqlx::Error> {
        // Before the lock in share mode: two transactions that have it could not both get this one.
        let over = (self.time_in(tx).await? - waitlist::SEGMENT).as_millisecond();
        let sql = "UPDATE waitlists SET segment_ms = segment_ms WHERE sale_id = $1 AND segment_ms <= $2";
        let is_first = sqlx::query(sql).bind(sale.0).bind(over).execute(&mut **tx).await?.rows_affected() == 1;
        let sql = match self.shares_clock() {
            true => "SELECT seed, segment_ms FROM waitlists WHERE sale_id = $1",
            false => "SELECT seed, segment_ms FROM waitlists WHERE sale_id = $1 FOR SHARE",
        };
        let found = sqlx::query(sql).bind(sale.0).fetch_one(&mut **tx).await?;
        let (seed, mut began, now) =
            (row::parsed(&found, "seed")?, row::time(&found, "segment_ms")?, self.time_in(tx).await?);
        if is_first {
            began = now;
            let sql = "UPDATE waitlists SET segment_ms = $2 WHERE sale_id = $1";
            sqlx::query(sql).bind(sale.0).bind(now.as_millisecond()).execute(&mut **tx).await?;
        }
        Ok(RunningSegment { seed, began, now })
    }

    /// Locks a waitlist exclusively, so that no account joins or is called until the end of the transaction. Returns
    /// the time after the lock was taken, and the place below which accounts have their turn; `None` if there is no such
    /// waitlist.
    async fn lock_waitlist(self, tx: &mut Tx, sale: SaleId) -> Result<Option<(Timestamp, i64)>, sqlx::Error> {
        let sql = "UPDATE waitlists SET seed = seed WHERE sale_id = $1 RETURNING segment_ms";
        let Some(found) = sqlx::query(sql).bind(sale.0).fetch_optional(&mut **tx).await? else { return Ok(None) };
        let now = self.time_in(tx).await?;
        Ok(Some((now, waitlist::due_below(row::time(&found, "segment_ms")?, now))))
    }
}
