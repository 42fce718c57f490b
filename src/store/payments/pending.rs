//! Counts of items that wait for the staff or for payers. They are few among many rows, so they are counted along their
//! indexes, up to a bound.

use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

use crate::orders::search::NOT_REHEARSED;
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
        // Orders of rehearsals wait for nobody.
        let orders = |name: &str, condition: &str| {
            let rows = format!("SELECT 1 FROM orders WHERE {condition} AND {NOT_REHEARSED} LIMIT $1");
            format!("(SELECT COUNT(*) FROM ({rows}) AS counted) AS {name}")
        };
        let [unpaid, to_pack, refunds, returns] = [
            orders("unpaid_orders", "status = 'unpaid'"),
            orders(
                "to_pack",
                "status = 'paid' AND parcel IS NULL
                   AND (SELECT order_id FROM reservations WHERE order_id = orders.id) IS NULL",
            ),
            orders("refunds", "status = 'refund_pending'"),
            orders("returns", "return_state = 'asked'"),
        ];
        let sql = format!(
            "SELECT {unpaid}, {to_pack}, {refunds}, {returns},
               (SELECT COUNT(*) FROM (SELECT 1 FROM staff_refunds WHERE approval = 'pending' AND expires_at_ms > $2
                  LIMIT $1) AS counted) AS approvals,
               (SELECT COUNT(*) FROM (SELECT 1 FROM payment_cases WHERE settled_at_ms IS NULL LIMIT $1) AS counted) AS cases,
               (SELECT COUNT(*) FROM (SELECT 1 FROM questions WHERE status = 'open' LIMIT $1) AS counted) AS questions"
        );
        let query = sqlx::query(AssertSqlSafe(sql)).bind(MAX_COUNTED_PENDING).bind(self.now().await?.as_millisecond());
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
