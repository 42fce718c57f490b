//! Refunds of payments.

use jiff::Timestamp;
use sqlx::AssertSqlSafe;

use super::{Payment, PaymentPurpose, WALLET, columns, move_order, payment};
use crate::domain::wallet::{LedgerAccount, Transfer, TransferKind};
use crate::domain::{OrderStatus, PaymentId};
use crate::store::orders::read;
use crate::store::wallet::post;
use crate::store::{Store, StoreError, Tx, next_attempt, row};

impl Store {
    /// Payments whose refund is pending and due, those that have waited longest first.
    pub async fn refunds_due(&self, limit: i64) -> Result<Vec<Payment>, StoreError> {
        let query = sqlx::query(concat!(
            "SELECT ",
            columns!(),
            " FROM payments WHERE status = 'refund_pending' AND next_attempt_at_ms <= $1
             ORDER BY next_attempt_at_ms, id LIMIT $2"
        ))
        .bind(self.now().await?.as_millisecond())
        .bind(limit);
        self.all(query, payment).await
    }

    /// Puts the next attempt of a refund off, by a second at first and by about four minutes at most. Returns the number of
    /// attempts.
    pub async fn postpone_refund(&self, id: PaymentId) -> Result<i64, StoreError> {
        let sql = format!("UPDATE payments SET {} WHERE id = $2 RETURNING attempts", next_attempt(1000, 8));
        let now = self.now().await?.as_millisecond();
        let query = sqlx::query(AssertSqlSafe(sql)).bind(now).bind(id.to_string());
        Ok(self.optional(query, |row| row::int(row, "attempts")).await?.unwrap_or_default())
    }

    /// Records that a payment was refunded. A payment from a wallet is refunded by this call itself. The order becomes
    /// `refunded` once none of its payments is pending. `false` when it was recorded before.
    pub async fn apply_refund(&self, of: &Payment, now: Timestamp) -> Result<bool, StoreError> {
        let mut tx = self.begin().await?;
        let is_first = refund(&mut tx, of, now).await?;
        settle_refunded(&mut tx, of.id, now).await?;
        tx.commit().await?;
        Ok(is_first)
    }
}

pub(super) async fn refund(tx: &mut Tx, of: &Payment, now: Timestamp) -> Result<bool, sqlx::Error> {
    let sql =
        "UPDATE payments SET status = 'refunded', refunded_at_ms = $2 WHERE id = $1 AND status = 'refund_pending'";
    let query = sqlx::query(sql).bind(of.id.to_string()).bind(now.as_millisecond());
    let is_first = query.execute(&mut **tx).await?.rows_affected() == 1;
    if let PaymentPurpose::Order(order) = of.purpose {
        let pending = "SELECT 1 FROM payments WHERE order_id = $1 AND status = 'refund_pending'";
        let more = sqlx::query(pending).bind(order.to_string()).fetch_optional(&mut **tx).await?;
        if more.is_none() {
            move_order(tx, order, OrderStatus::RefundPending, OrderStatus::Refunded, now).await?;
        }
        if of.provider == WALLET && of.amount.amount > 0 {
            let owner = read(tx, order).await?.ok_or(sqlx::Error::RowNotFound)?.user_id;
            let (from, to) = (LedgerAccount::Shop, LedgerAccount::User(owner));
            let refund = Transfer::simple(TransferKind::Refund, order, of.amount.amount, from, to);
            post(tx, &[refund], now).await?;
        }
    }
    Ok(is_first)
}

/// Makes the next attempt of a refund due at once. `false` when no refund is pending and none is to begin.
pub(super) async fn refund_again(tx: &mut Tx, payment: &str) -> Result<bool, sqlx::Error> {
    let sql = "UPDATE payments SET status = 'refund_pending', attempts = 0, next_attempt_at_ms = 0
         WHERE id = $1 AND (status = 'refund_pending' OR status = 'created' AND mismatched_at_ms IS NOT NULL)";
    Ok(sqlx::query(sql).bind(payment.to_owned()).execute(&mut **tx).await?.rows_affected() == 1)
}

/// Stops the attempts of a refund until the staff begin them again.
pub(super) async fn stop_refund(tx: &mut Tx, payment: &str) -> Result<(), sqlx::Error> {
    let sql = "UPDATE payments SET next_attempt_at_ms = $2 WHERE id = $1 AND status = 'refund_pending'";
    sqlx::query(sql).bind(payment.to_owned()).bind(i64::MAX).execute(&mut **tx).await?;
    Ok(())
}

/// Settles the cases that wait for the refund of a payment.
async fn settle_refunded(tx: &mut Tx, id: PaymentId, now: Timestamp) -> Result<(), sqlx::Error> {
    let sql = "UPDATE payment_cases SET settled_at_ms = $2, settled_by = ''
         WHERE payment_id = $1 AND settled_at_ms IS NULL AND kind IN ('mismatched', 'refund_failed', 'refund_delayed')";
    sqlx::query(sql).bind(id.to_string()).bind(now.as_millisecond()).execute(&mut **tx).await?;
    Ok(())
}
