//! Waitlists: the line of each sale ([`line`]) and the offers to its first ([`offers`]).
//!
//! A transaction that adds an account to a line holds the waitlist's row in share, one that calls accounts holds it alone,
//! and each reads the time after that. So an account is in the line before its segment is called, or in a later segment.

pub(super) mod line;
pub(super) mod offers;

use jiff::Timestamp;

use super::{Store, Tx, row};
use domain::{SaleId, WaitlistSeed};

impl Store {
    /// The row of a waitlist, kept from being called until the end of the transaction, and the time after that. On SQLite a
    /// writing transaction is alone anyway.
    async fn share_waitlist(&self, tx: &mut Tx, sale: SaleId) -> Result<(WaitlistSeed, Timestamp), sqlx::Error> {
        let sql = match self.shares_clock() {
            true => "SELECT seed FROM waitlists WHERE sale_id = $1",
            false => "SELECT seed FROM waitlists WHERE sale_id = $1 FOR SHARE",
        };
        let found = sqlx::query(sql).bind(sale.0).fetch_one(&mut **tx).await?;
        Ok((row::parsed(&found, "seed")?, self.time_in(tx).await?))
    }

    /// Keeps a waitlist from growing and from being called until the end of the transaction. Returns the time after that;
    /// `None` when there is no such waitlist.
    async fn lock_waitlist(&self, tx: &mut Tx, sale: SaleId) -> Result<Option<Timestamp>, sqlx::Error> {
        let sql = "UPDATE waitlists SET seed = seed WHERE sale_id = $1";
        if sqlx::query(sql).bind(sale.0).execute(&mut **tx).await?.rows_affected() == 0 {
            return Ok(None);
        }
        Ok(Some(self.time_in(tx).await?))
    }
}
