//! How much waits for the staff or for payers. Few of many rows, counted along their indexes up to a bound.

use sqlx::AssertSqlSafe;

use crate::store::{Store, StoreError, row};

/// No more are counted.
pub const MAX_COUNTED_PENDING: i64 = 1_000;

/// What waits, each up to [`MAX_COUNTED_PENDING`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PendingCounts {
    pub unpaid_orders: i64,
    /// Orders whose money is on its way back.
    pub refunds: i64,
    /// Refunds that wait for a second person.
    pub approvals: i64,
    /// Payments that need attention.
    pub cases: i64,
}

impl Store {
    pub async fn pending_counts(&self) -> Result<PendingCounts, StoreError> {
        let now = self.now().await?.as_millisecond();
        let count = async |from: &str| {
            let sql =
                format!("SELECT COUNT(*) AS pending FROM (SELECT 1 FROM {from} LIMIT $1) AS counted WHERE $2 > 0");
            let query = sqlx::query(AssertSqlSafe(sql)).bind(MAX_COUNTED_PENDING).bind(now);
            Ok::<_, StoreError>(self.optional(query, |row| row::int(row, "pending")).await?.unwrap_or_default())
        };
        Ok(PendingCounts {
            unpaid_orders: count("orders WHERE status = 'unpaid'").await?,
            refunds: count("orders WHERE status = 'refund_pending'").await?,
            approvals: count("staff_refunds WHERE approval = 'pending' AND expires_at_ms > $2").await?,
            cases: count("payment_cases WHERE settled_at_ms IS NULL").await?,
        })
    }
}
