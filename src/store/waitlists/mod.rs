//! Waitlists: the waiting accounts of each sale ([`line`]) and the offers to the first of them ([`offers`]).
//!
//! A transaction that adds an account locks the waitlist's row in share mode, and a transaction that calls accounts
//! locks it exclusively. Each reads the time after that. So an account is on the waitlist before its segment is called,
//! or it is in a later segment.

pub(super) mod line;
pub(super) mod offers;

use jiff::Timestamp;

use super::{Tx, WaitlistStore, row};
use domain::{SaleId, WaitlistSeed};

impl WaitlistStore<'_> {
    /// Locks the row of a waitlist in share mode, so that no account is called until the end of the transaction.
    /// Returns the seed, and the time after the lock was taken. On SQLite a writing transaction is alone anyway.
    async fn share_waitlist(self, tx: &mut Tx, sale: SaleId) -> Result<(WaitlistSeed, Timestamp), sqlx::Error> {
        let sql = match self.shares_clock() {
            true => "SELECT seed FROM waitlists WHERE sale_id = $1",
            false => "SELECT seed FROM waitlists WHERE sale_id = $1 FOR SHARE",
        };
        let found = sqlx::query(sql).bind(sale.0).fetch_one(&mut **tx).await?;
        Ok((row::parsed(&found, "seed")?, self.time_in(tx).await?))
    }

    /// Locks a waitlist exclusively, so that no account joins or is called until the end of the transaction. Returns
    /// the time after the lock was taken; `None` if there is no such waitlist.
    async fn lock_waitlist(self, tx: &mut Tx, sale: SaleId) -> Result<Option<Timestamp>, sqlx::Error> {
        let sql = "UPDATE waitlists SET seed = seed WHERE sale_id = $1";
        if sqlx::query(sql).bind(sale.0).execute(&mut **tx).await?.rows_affected() == 0 {
            return Ok(None);
        }
        Ok(Some(self.time_in(tx).await?))
    }
}
