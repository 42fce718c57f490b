//! The end of payments that were not captured.

use std::collections::HashSet;
use std::time::Duration;

use jiff::Timestamp;
use sqlx::AssertSqlSafe;

use super::{Payment, columns, payment};
use crate::{PaymentStore, StoreError, bind_ids, list, row};
use domain::{OrderId, PaymentId};

/// The shortest pause before a payment that could not be closed is closed again. The pause grows with the time that it
/// has been due.
const MIN_CLOSE_PAUSE: Duration = Duration::from_secs(10);
const MAX_CLOSE_PAUSE: Duration = Duration::from_secs(3600);
/// How long a notice may take before the provider is asked. Each further pause is as long as all before it.
const FIRST_QUESTION: Duration = Duration::from_secs(15);
/// The last question comes this long before a payment expires, so that an order that was paid for is not cancelled only
/// because the provider is slow at that moment.
const LAST_QUESTION: Duration = Duration::from_secs(15);

/// When the provider is first asked about a payment. `None`: the payment is closed before that.
pub(super) fn first_question(now: Timestamp, expires_at: Timestamp) -> Option<i64> {
    let first = now + FIRST_QUESTION;
    (first + LAST_QUESTION <= expires_at).then(|| first.as_millisecond())
}

impl PaymentStore<'_> {
    /// Payments that are due for closing. Payments that have waited longest come first.
    pub async fn payments_to_close(self, limit: i64) -> Result<Vec<Payment>, StoreError> {
        let sql =
            concat!("SELECT ", columns!(), " FROM payments WHERE close_at_ms <= $1 ORDER BY close_at_ms, id LIMIT $2");
        let query = sqlx::query(sql).bind(self.now().await?.as_millisecond()).bind(limit);
        self.all(query, payment).await
    }

    /// Payments about which the provider shall be asked now, before they are due for closing. Sets when each is asked
    /// about again: the pauses double, and the last question comes shortly before the payment expires.
    pub async fn payments_to_ask(self, limit: i64) -> Result<Vec<Payment>, StoreError> {
        let sql = concat!(
            "UPDATE payments SET ask_at_ms = CASE WHEN 2 * $1 - created_at_ms < expires_at_ms - $3
                 THEN 2 * $1 - created_at_ms WHEN $1 < expires_at_ms - $3 THEN expires_at_ms - $3 END
             WHERE id IN (SELECT id FROM payments WHERE ask_at_ms <= $1 AND close_at_ms IS NOT NULL AND close_at_ms > $1
               ORDER BY ask_at_ms, id LIMIT $2)
             RETURNING ",
            columns!()
        );
        let query = sqlx::query(sql).bind(self.now().await?.as_millisecond()).bind(limit);
        self.all(query.bind(LAST_QUESTION.as_millis() as i64), payment).await
    }

    /// The payments of an order that can still be made at the provider.
    pub async fn open_payments(self, order: OrderId) -> Result<Vec<Payment>, StoreError> {
        let sql = concat!(
            "SELECT ",
            columns!(),
            " FROM payments WHERE order_id = $1 AND close_at_ms IS NOT NULL ORDER BY id"
        );
        self.all(sqlx::query(sql).bind(order.to_string()), payment).await
    }

    /// Records that the provider has closed a payment.
    pub async fn close(self, id: PaymentId) -> Result<(), StoreError> {
        let sql = "UPDATE payments SET close_at_ms = NULL, closed_at_ms = $2 WHERE id = $1 AND close_at_ms IS NOT NULL";
        let now = self.now().await?.as_millisecond();
        sqlx::query(sql).bind(id.to_string()).bind(now).execute(&self.pool).await?;
        Ok(())
    }

    /// Postpones the closing of a payment that can still be made to the moment when it expires. Returns `false` if it has
    /// expired.
    pub async fn close_at_expiry(self, id: PaymentId) -> Result<bool, StoreError> {
        let sql = "UPDATE payments SET close_at_ms = expires_at_ms
             WHERE id = $1 AND close_at_ms IS NOT NULL AND expires_at_ms > $2";
        let query = sqlx::query(sql).bind(id.to_string()).bind(self.now().await?.as_millisecond());
        Ok(query.execute(&self.pool).await?.rows_affected() == 1)
    }

    /// Makes the next question about a payment due at once, because its payer says that it is made.
    pub async fn ask_now(self, id: PaymentId) -> Result<(), StoreError> {
        let sql = "UPDATE payments SET ask_at_ms = $2 WHERE id = $1 AND ask_at_ms > $2";
        let now = self.now().await?.as_millisecond();
        sqlx::query(sql).bind(id.to_string()).bind(now).execute(&self.pool).await?;
        Ok(())
    }

    /// Records that a payer's attempt failed, and makes the payment due for closing at once.
    pub async fn decline(self, id: PaymentId) -> Result<(), StoreError> {
        let sql = "UPDATE payments SET close_at_ms = 0, declined_at_ms = $2 WHERE id = $1 AND close_at_ms IS NOT NULL";
        let now = self.now().await?.as_millisecond();
        sqlx::query(sql).bind(id.to_string()).bind(now).execute(&self.pool).await?;
        Ok(())
    }

    /// The orders among these whose last payment was declined.
    pub async fn declined_among(self, orders: &[OrderId]) -> Result<HashSet<OrderId>, StoreError> {
        if orders.is_empty() {
            return Ok(HashSet::new());
        }
        let of = list(orders.len(), 0);
        let sql = format!(
            "SELECT order_id FROM payments WHERE declined_at_ms IS NOT NULL
             AND id IN (SELECT MAX(id) FROM payments WHERE order_id IN {of} GROUP BY order_id)"
        );
        let query = bind_ids(sqlx::query(AssertSqlSafe(sql)), orders);
        Ok(self.all(query, |row| row::parsed(row, "order_id")).await?.into_iter().collect())
    }

    /// Postpones the next attempt to close a payment, by half the time that it has been due.
    pub async fn postpone_close(self, id: PaymentId) -> Result<(), StoreError> {
        let due = "($2 - COALESCE(expires_at_ms, $2)) / 2";
        let sql = format!(
            "UPDATE payments SET close_at_ms = $2 + CASE WHEN {due} < $3 THEN $3 WHEN {due} > $4 THEN $4 ELSE {due} END
             WHERE id = $1 AND close_at_ms IS NOT NULL"
        );
        let query = sqlx::query(AssertSqlSafe(sql)).bind(id.to_string()).bind(self.now().await?.as_millisecond());
        let query = query.bind(MIN_CLOSE_PAUSE.as_millis() as i64).bind(MAX_CLOSE_PAUSE.as_millis() as i64);
        query.execute(&self.pool).await?;
        Ok(())
    }
}
