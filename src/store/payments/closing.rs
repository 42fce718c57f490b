//! The end of payments that were not captured.

use std::collections::HashSet;
use std::time::Duration;

use sqlx::AssertSqlSafe;

use crate::{PaymentStore, StoreError, bind_ids, list, row};
use domain::{OrderId, PaymentId};

/// How long after a failed attempt a payment is closed again.
const RETRY_INTERVAL: Duration = Duration::from_secs(10);

impl PaymentStore<'_> {
    /// Payments that are due for closing. Payments that have waited longest come first.
    pub async fn payments_to_close(self, limit: i64) -> Result<Vec<PaymentId>, StoreError> {
        let sql = "SELECT id FROM payments WHERE close_at_ms <= $1 ORDER BY close_at_ms, id LIMIT $2";
        let query = sqlx::query(sql).bind(self.now().await?.as_millisecond()).bind(limit);
        self.all(query, |row| row::parsed(row, "id")).await
    }

    /// The payments of an order that can still be made at the provider.
    pub async fn open_payments(self, order: OrderId) -> Result<Vec<PaymentId>, StoreError> {
        let sql = "SELECT id FROM payments WHERE order_id = $1 AND close_at_ms IS NOT NULL ORDER BY id";
        self.all(sqlx::query(sql).bind(order.to_string()), |row| row::parsed(row, "id")).await
    }

    /// Records that the provider has closed a payment.
    pub async fn close(self, id: PaymentId) -> Result<(), StoreError> {
        let sql = "UPDATE payments SET close_at_ms = NULL, closed_at_ms = $2 WHERE id = $1 AND close_at_ms IS NOT NULL";
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

    /// Postpones the next attempt to close a payment.
    pub async fn postpone_close(self, id: PaymentId) -> Result<(), StoreError> {
        let sql = "UPDATE payments SET close_at_ms = $2 WHERE id = $1 AND close_at_ms IS NOT NULL";
        let next = self.now().await? + RETRY_INTERVAL;
        sqlx::query(sql).bind(id.to_string()).bind(next.as_millisecond()).execute(&self.pool).await?;
        Ok(())
    }
}
