//! The tables of the sandbox payment provider. They stand for a foreign system's database; the shop's own statements do
//! not read them, apart from the audit.

use boxed::boxed;
use jiff::Timestamp;
use sqlx::any::AnyRow;

use crate::{SandboxStore, StoreResult, pair};
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

fn webhook(row: &AnyRow) -> sqlx::Result<SandboxWebhook> {
    read!(row => SandboxWebhook { id, body, attempts })
}

#[boxed]
impl SandboxStore<'_> {
    /// Opens a payment. Idempotent.
    pub async fn open_payment(self, payment: &SandboxPayment) -> StoreResult<()> {
        let sql = "INSERT INTO sandbox_payments (id, amount, currency, return_path, status, expires_at_ms)
             VALUES ($1, $2, $3, $4, 'open', $5) ON CONFLICT DO NOTHING";
        let query = query!(sql; payment.id, payment.amount.amount, payment.amount.currency, &payment.return_path,
            payment.expires_at);
        self.run(query).await
    }

    pub async fn payment(self, id: PaymentId) -> StoreResult<Option<SandboxPayment>> {
        let sql = "SELECT id, amount, currency, return_path, status, expires_at_ms FROM sandbox_payments WHERE id = $1";
        self.optional(
            query!(sql; id),
            |row| read!(row => SandboxPayment { id = id, amount, return_path, status, expires_at: "expires_at_ms" }),
        )
        .await
    }

    /// Closes a payment that was neither made nor declined. The expiry is set before every instant, because a decision
    /// under way may have read the clock already.
    pub async fn close_payment(self, id: PaymentId) -> StoreResult<()> {
        self.run(query!("UPDATE sandbox_payments SET expires_at_ms = 0 WHERE id = $1 AND status = 'open'"; id)).await
    }

    /// Settles an open payment and queues the webhook about it. Returns `false` if it was settled or ended before.
    pub async fn settle(self, id: PaymentId, status: &'static str, webhook: &SandboxWebhook) -> StoreResult<bool> {
        let mut tx = self.begin().await?;
        let sql = "UPDATE sandbox_payments SET status = $2
             WHERE id = $1 AND status = 'open' AND (expires_at_ms IS NULL OR expires_at_ms > $3)";
        if tx.changed(query!(sql; id, status, tx.now)).await? == 0 {
            return Ok(false);
        }
        let sql = "INSERT INTO sandbox_webhooks (id, body, next_at_ms) VALUES ($1, $2, $3)";
        tx.run(query!(sql; &webhook.id, &webhook.body, tx.now)).await?;
        tx.commit_and(true).await
    }

    /// Refunds an amount of a captured payment, or all that is left. Idempotent by the refund's id; a payment that was
    /// refunded as a whole needs no further refund. Returns `false` if less is left, or if it was never captured.
    pub async fn refund(self, refund: RefundId, payment: PaymentId, amount: Option<Money>) -> StoreResult<bool> {
        let mut tx = self.begin().await?;
        let sql = "UPDATE sandbox_payments SET status = status WHERE id = $1 AND status IN ('captured', 'refunded')
             RETURNING status, amount - refunded AS remaining";
        let state: Option<(String, i64)> = tx.optional(query!(sql; payment), pair("status", "remaining")).await?;
        let Some((status, remaining)) = state else { return Ok(false) };
        let amount = amount.map_or(remaining, |amount| amount.amount);
        if status == "refunded" || tx.exists(query!("SELECT 1 FROM sandbox_refunds WHERE id = $1"; refund)).await? {
            return Ok(true);
        }
        if amount > remaining {
            return Ok(false);
        }
        let sql = "INSERT INTO sandbox_refunds (id, payment_id, amount) VALUES ($1, $2, $3)";
        tx.run(query!(sql; refund, payment, amount)).await?;
        let sql = "UPDATE sandbox_payments SET refunded = refunded + $2,
               status = CASE WHEN refunded + $2 = amount THEN 'refunded' ELSE status END WHERE id = $1";
        tx.run(query!(sql; payment, amount)).await?;
        tx.commit_and(true).await
    }

    pub async fn webhooks_due(self, limit: i64) -> StoreResult<Vec<SandboxWebhook>> {
        let sql = "SELECT id, body, attempts FROM sandbox_webhooks WHERE next_at_ms <= $1 ORDER BY next_at_ms LIMIT $2";
        self.all(query!(sql; self.now().await?, limit), webhook).await
    }

    pub async fn webhook_delivered(self, id: &str) -> StoreResult<()> {
        self.run(query!("DELETE FROM sandbox_webhooks WHERE id = $1"; id)).await
    }

    pub async fn webhook_failed(self, id: &str, next: Timestamp) -> StoreResult<()> {
        let sql = "UPDATE sandbox_webhooks SET attempts = attempts + 1, next_at_ms = $2 WHERE id = $1";
        self.run(query!(sql; id, next)).await
    }
}
