//! The tables of the sandbox payment provider. They stand for a foreign system's database; the shop's own statements do
//! not read them, apart from the audit.

use jiff::Timestamp;
use sqlx::any::AnyRow;

use crate::domain::{Money, PaymentId};
use crate::store::{Store, StoreError, row};

/// A charge at the provider.
#[derive(Debug, Clone)]
pub struct SandboxPayment {
    pub id: PaymentId,
    pub amount: Money,
    /// The shop's path to which the payer returns.
    pub return_path: String,
    /// `open`, `captured`, `declined` or `refunded`.
    pub status: String,
}

/// A queued webhook that the shop has not accepted yet.
#[derive(Debug, Clone)]
pub struct SandboxWebhook {
    pub id: String,
    pub body: String,
    pub attempts: i64,
}

fn webhook(row: &AnyRow) -> Result<SandboxWebhook, sqlx::Error> {
    Ok(SandboxWebhook {
        id: row::text(row, "id")?,
        body: row::text(row, "body")?,
        attempts: row::int(row, "attempts")?,
    })
}

impl Store {
    pub async fn sandbox_open(&self, payment: &SandboxPayment) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO sandbox_payments (id, amount, currency, return_path, status) VALUES ($1, $2, $3, $4, 'open')",
        )
        .bind(payment.id.to_string())
        .bind(payment.amount.amount)
        .bind(payment.amount.currency.as_str().to_owned())
        .bind(&payment.return_path)
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    pub async fn sandbox_payment(&self, id: PaymentId) -> Result<Option<SandboxPayment>, StoreError> {
        let sql = "SELECT id, amount, currency, return_path, status FROM sandbox_payments WHERE id = $1";
        self.optional(sqlx::query(sql).bind(id.to_string()), |row| {
            Ok(SandboxPayment {
                id,
                amount: row::money(row, "amount")?,
                return_path: row::text(row, "return_path")?,
                status: row::text(row, "status")?,
            })
        })
        .await
    }

    /// Settles an open payment and queues the webhook about it. `false` when it was settled before.
    pub async fn sandbox_settle(
        &self,
        id: PaymentId,
        status: &'static str,
        webhook: &SandboxWebhook,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let mut tx = self.begin().await?;
        let settled = sqlx::query("UPDATE sandbox_payments SET status = $2 WHERE id = $1 AND status = 'open'")
            .bind(id.to_string())
            .bind(status)
            .execute(&mut *tx)
            .await?;
        if settled.rows_affected() == 0 {
            return Ok(false);
        }
        sqlx::query("INSERT INTO sandbox_webhooks (id, body, next_at_ms) VALUES ($1, $2, $3)")
            .bind(&webhook.id)
            .bind(&webhook.body)
            .bind(now.as_millisecond())
            .execute(&mut *tx)
            .await?;
        tx.commit().await?;
        Ok(true)
    }

    /// Refunds a captured payment. Idempotent. `false` when the payment was never captured.
    pub async fn sandbox_refund(&self, id: PaymentId) -> Result<bool, StoreError> {
        let done = sqlx::query(
            "UPDATE sandbox_payments SET status = 'refunded' WHERE id = $1 AND status IN ('captured', 'refunded')",
        )
        .bind(id.to_string())
        .execute(&self.pool)
        .await?;
        Ok(done.rows_affected() == 1)
    }

    pub async fn sandbox_webhooks_due(&self, limit: i64) -> Result<Vec<SandboxWebhook>, StoreError> {
        let query = sqlx::query(
            "SELECT id, body, attempts FROM sandbox_webhooks WHERE next_at_ms <= $1 ORDER BY next_at_ms LIMIT $2",
        )
        .bind(self.now().await?.as_millisecond())
        .bind(limit);
        self.all(query, webhook).await
    }

    pub async fn sandbox_webhook_delivered(&self, id: &str) -> Result<(), StoreError> {
        sqlx::query("DELETE FROM sandbox_webhooks WHERE id = $1").bind(id).execute(&self.pool).await?;
        Ok(())
    }

    pub async fn sandbox_webhook_failed(&self, id: &str, next: Timestamp) -> Result<(), StoreError> {
        sqlx::query("UPDATE sandbox_webhooks SET attempts = attempts + 1, next_at_ms = $2 WHERE id = $1")
            .bind(id)
            .bind(next.as_millisecond())
            .execute(&self.pool)
            .await?;
        Ok(())
    }
}
