//! Counts of items that wait for the staff or for payers. They are few among many rows, so they are counted along their
//! indexes, up to a bound.

use sqlx::any::AnyRow;

use crate::{PaymentStore, StoreError, row};

/// Items are counted up to this number.
pub const MAX_COUNTED_PENDING: i64 = 1_000;

/// The number of waiting items, each up to [`MAX_COUNTED_PENDING`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PendingCounts {
    pub unpaid_orders: i64,
    /// Paid orders of which nothing was packed.
    pub to_pack: i64,
    /// Orders whose money is on its way back.
    pub refunds: i64,
    /// Refunds that wait for a second person.
    pub approvals: i64,
    /// Payments that need attention.
    pub cases: i64,
    /// Returns that wait for an answer.
    pub returns: i64,
    /// Questions of shoppers without an answer.
    pub questions: i64,
}

impl PaymentStore<'_> {
    pub async fn pending_counts(self) -> Result<PendingCounts, StoreError> {
        let sql = "SELECT
               (SELECT COUNT(*) FROM (SELECT 1 FROM orders WHERE status = 'unpaid' LIMIT $1) AS counted) AS unpaid_orders,
               (SELECT COUNT(*) FROM (SELECT 1 FROM orders WHERE status = 'paid' AND parcel IS NULL
                  AND NOT EXISTS (SELECT 1 FROM reservations WHERE order_id = orders.id) LIMIT $1) AS counted) AS to_pack,
               (SELECT COUNT(*) FROM (SELECT 1 FROM orders WHERE status = 'refund_pending' LIMIT $1) AS counted) AS refunds,
               (SELECT COUNT(*) FROM (SELECT 1 FROM staff_refunds WHERE approval = 'pending' AND expires_at_ms > $2
                  LIMIT $1) AS counted) AS approvals,
               (SELECT COUNT(*) FROM (SELECT 1 FROM payment_cases WHERE settled_at_ms IS NULL LIMIT $1) AS counted) AS cases,
               (SELECT COUNT(*) FROM (SELECT 1 FROM orders WHERE return_state = 'asked' LIMIT $1) AS counted) AS returns,
               (SELECT COUNT(*) FROM (SELECT 1 FROM questions WHERE status = 'open' LIMIT $1) AS counted) AS questions";
        let query = sqlx::query(sql).bind(MAX_COUNTED_PENDING).bind(self.now().await?.as_millisecond());
        let read = |row: &AnyRow| {
            Ok(PendingCounts {
                unpaid_orders: row::int(row, "unpaid_orders")?,
                to_pack: row::int(row, "to_pack")?,
                refunds: row::int(row, "refunds")?,
                approvals: row::int(row, "approvals")?,
                cases: row::int(row, "cases")?,
                returns: row::int(row, "returns")?,
                questions: row::int(row, "questions")?,
            })
        };
        Ok(self.optional(query, read).await?.unwrap_or_default())
    }
}
