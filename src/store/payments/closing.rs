//! The end of payments that were not captured.

use std::time::Duration;

use crate::domain::{OrderId, PaymentId};
use crate::store::{Store, StoreError, row};

/// When a payment is closed again after an attempt that failed.
const RETRY_INTERVAL: Duration = Duration::from_secs(10);

impl Store {
    /// Payments that are to be closed by now, those that have waited longest first.
    pub async fn payments_to_close(&self, limit: i64) -> Result<Vec<PaymentId>, StoreError> {
        let sql = "SELECT id FROM payments WHERE close_at_ms <= $1 ORDER BY close_at_ms, id LIMIT $2";
        let query = sqlx::query(sql).bind(self.now().await?.as_millisecond()).bind(limit);
        self.all(query, |row| row::parsed(row, "id")).await
    }

    /// The payments of an order that the provider still takes.
    pub async fn open_payments(&self, order: OrderId) -> Result<Vec<PaymentId>, StoreError> {
        let sql = "SELECT id FROM payments WHERE order_id = $1 AND close_at_ms IS NOT NULL ORDER BY id";
        self.all(sqlx::query(sql).bind(order.to_string()), |row| row::parsed(row, "id")).await
    }

    /// Records that the provider has closed a payment.
    pub async fn close_payment(&self, id: PaymentId) -> Result<(), StoreError> {
        let sql = "UPDATE payments SET close_at_ms = NULL, closed_at_ms = $2 WHERE id = $1 AND close_at_ms IS NOT NULL";
        let now = self.now().await?.as_millisecond();
        sqlx::query(sql).bind(id.to_string()).bind(now).execute(&self.pool).await?;
        Ok(())
    }

    /// Records that a payer's attempt failed, and lets the payment be closed at once.
    pub async fn decline_payment(&self, id: PaymentId) -> Result<(), StoreError> {
        let sql = "UPDATE payments SET close_at_ms = 0, declined_at_ms = $2 WHERE id = $1 AND close_at_ms IS NOT NULL";
        let now = self.now().await?.as_millisecond();
        sqlx::query(sql).bind(id.to_string()).bind(now).execute(&self.pool).await?;
        Ok(())
    }

    /// Whether the last payment of an order was declined.
    pub async fn is_declined(&self, order: OrderId) -> Result<bool, StoreError> {
        let sql = "SELECT COUNT(declined_at_ms) AS declined FROM payments
                   WHERE id = (SELECT MAX(id) FROM payments WHERE order_id = $1)";
        let declined = self.optional(sqlx::query(sql).bind(order.to_string()), |row| row::int(row, "declined")).await?;
        Ok(declined == Some(1))
    }

    /// Puts the next attempt to close a payment off.
    pub async fn postpone_close(&self, id: PaymentId) -> Result<(), StoreError> {
        let sql = "UPDATE payments SET close_at_ms = $2 WHERE id = $1 AND close_at_ms IS NOT NULL";
        let next = self.now().await? + RETRY_INTERVAL;
        sqlx::query(sql).bind(id.to_string()).bind(next.as_millisecond()).execute(&self.pool).await?;
        Ok(())
    }
}
