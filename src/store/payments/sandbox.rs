//! The tables of the sandbox payment provider. They stand for a foreign system's database; the shop's own statements do
//! not read them, apart from the audit.

use boxed::boxed;
use jiff::Timestamp;
use sqlx::any::AnyRow;

use crate::{SandboxStore, StoreError, row};
use domain::{Money, PaymentId, RefundId};

/// A charge at the provider.
#[derive(Debug, Clone)]
pub struct SandboxPayment {
    pub id: PaymentId,
    pub amount: Money,
    /// The shop's path to which the payer returns.
    pub return_path: String,
    /// `open`, `captured`, `declined` or `refunded`.
    pub status: String,
    /// From then on the payment cannot be made. `None` if an older version opened it; it then never expires.
    pub expires_at: Option<Timestamp>,
}

impl SandboxPayment {
    /// Whether the payment waits for the payer's decision.
    pub fn is_open(&self, now: Timestamp) -> bool {
        self.status == "open" && self.expires_at.is_none_or(|end| end > now)
    }
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

#[boxed]
impl SandboxStore<'_> {
    /// Opens a payment. Idempotent.
    pub async fn open_payment(self, payment: &SandboxPayment) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO sandbox_payments (id, amount, currency, return_path, status, expires_at_ms)
             VALUES ($1, $2, $3, $4, 'open', $5) ON CONFLICT DO NOTHING",
        )
        .bind(payment.id.to_string())
        .bind(payment.amount.amount)
        .bind(payment.amount.currency.as_str())
        .bind(&payment.return_path)
        .bind(payment.expires_at.map(Timestamp::as_millisecond))
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    pub async fn payment(self, id: PaymentId) -> Result<Option<SandboxPayment>, StoreError> {
        let sql = "SELECT id, amount, currency, return_path, status, expires_at_ms FROM sandbox_payments WHERE id = $1";
        self.optional(sqlx::query(sql).bind(id.to_string()), |row| {
            Ok(SandboxPayment {
                id,
                amount: row::money(row, "amount")?,
                return_path: row::text(row, "return_path")?,
                status: row::text(row, "status")?,
                expires_at: row::optional_time(row, "expires_at_ms")?,
            })
        })
        .await
    }

    /// Closes a payment that was neither made nor declined. The expiry is set before every instant, because a decision
    /// under way may have read the clock already.
    pub async fn close_payment(self, id: PaymentId) -> Result<(), StoreError> {
        let sql = "UPDATE sandbox_payments SET expires_at_ms = 0 WHERE id = $1 AND status = 'open'";
        sqlx::query(sql).bind(id.to_string()).execute(&self.pool).await?;
        Ok(())
    }

    /// Settles an open payment and queues the webhook about it. Returns `false` if it was settled or ended before.
    pub async fn settle(
        self,
        id: PaymentId,
        status: &'static str,
        webhook: &SandboxWebhook,
    ) -> Result<bool, StoreError> {
        let mut tx = self.begin().await?;
        let now = tx.now.as_millisecond();
        let sql = "UPDATE sandbox_payments SET status = $2
             WHERE id = $1 AND status = 'open' AND (expires_at_ms IS NULL OR expires_at_ms > $3)";
        let settled = sqlx::query(sql).bind(id.to_string()).bind(status).bind(now).execute(&mut *tx).await?;
        if settled.rows_affected() == 0 {
            return Ok(false);
        }
        let sql = "INSERT INTO sandbox_webhooks (id, body, next_at_ms) VALUES ($1, $2, $3)";
        sqlx::query(sql).bind(&webhook.id).bind(&webhook.body).bind(now).execute(&mut *tx).await?;
        tx.commit().await?;
        Ok(true)
    }

    /// Refunds an amount of a captured payment, or all that is left. Idempotent by the refund's id; a payment that was
    /// refunded as a whole needs no further refund. Returns `false` if less is left, or if it was never captured.
    pub async fn refund(self, refund: RefundId, payment: PaymentId, amount: Option<Money>) -> Result<bool, StoreError> {
        let mut tx = self.begin().await?;
        let sql = "UPDATE sandbox_payments SET status = status WHERE id = $1 AND status IN ('captured', 'refunded')
             RETURNING status, amount - refunded AS remaining";
        let query = sqlx::query(sql).bind(payment.to_string());
        let Some(row) = query.fetch_optional(&mut *tx).await? else { return Ok(false) };
        let (status, remaining) = (row::text(&row, "status")?, row::int(&row, "remaining")?);
        let amount = amount.map_or(remaining, |amount| amount.amount);
        let known = sqlx::query("SELECT 1 FROM sandbox_refunds WHERE id = $1").bind(refund.to_string());
        if status == "refunded" || known.fetch_optional(&mut *tx).await?.is_some() {
            return Ok(true);
        }
        if amount > remaining {
            return Ok(false);
        }
        let sql = "INSERT INTO sandbox_refunds (id, payment_id, amount) VALUES ($1, $2, $3)";
        sqlx::query(sql).bind(refund.to_string()).bind(payment.to_string()).bind(amount).execute(&mut *tx).await?;
        let sql = "UPDATE sandbox_payments SET refunded = refunded + $2,
               status = CASE WHEN refunded + $2 = amount THEN 'refunded' ELSE status END WHERE id = $1";
        sqlx::query(sql).bind(payment.to_string()).bind(amount).execute(&mut *tx).await?;
        tx.commit().await?;
        Ok(true)
    }

    pub async fn webhooks_due(self, limit: i64) -> Result<Vec<SandboxWebhook>, StoreError> {
        let sql = "SELECT id, body, attempts FROM sandbox_webhooks WHERE next_at_ms <= $1 ORDER BY next_at_ms LIMIT $2";
        let query = sqlx::query(sql).bind(self.now().await?.as_millisecond()).bind(limit);
        self.all(query, webhook).await
    }

    pub async fn webhook_delivered(self, id: &str) -> Result<(), StoreError> {
        sqlx::query("DELETE FROM sandbox_webhooks WHERE id = $1").bind(id).execute(&self.pool).await?;
        Ok(())
    }

    pub async fn webhook_failed(self, id: &str, next: Timestamp) -> Result<(), StoreError> {
        let sql = "UPDATE sandbox_webhooks SET attempts = attempts + 1, next_at_ms = $2 WHERE id = $1";
        sqlx::query(sql).bind(id).bind(next.as_millisecond()).execute(&self.pool).await?;
        Ok(())
    }
}
