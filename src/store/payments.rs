//! Payments as the shop knows them. What a provider reports is applied once, together with the order it is for.

use jiff::Timestamp;
use sqlx::any::AnyRow;

use super::orders::add_events;
use super::{Store, StoreError, Tx, row};
use crate::domain::{Money, Order, OrderId, OrderStatus, PaymentId};

/// Where a payment stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PaymentStatus {
    Created,
    Captured,
    RefundPending,
    Refunded,
}

impl PaymentStatus {
    pub fn as_str(self) -> &'static str {
        match self {
            PaymentStatus::Created => "created",
            PaymentStatus::Captured => "captured",
            PaymentStatus::RefundPending => "refund_pending",
            PaymentStatus::Refunded => "refunded",
        }
    }
}

impl std::str::FromStr for PaymentStatus {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        use PaymentStatus::*;
        [Created, Captured, RefundPending, Refunded].into_iter().find(|s| s.as_str() == text).ok_or(())
    }
}

/// One attempt to pay one order.
#[derive(Debug, Clone)]
pub struct Payment {
    pub id: PaymentId,
    pub order_id: OrderId,
    pub amount: Money,
    pub status: PaymentStatus,
}

/// What a report of captured money led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Captured {
    /// The order is paid.
    Paid(OrderId),
    /// The order was over or paid already: the money goes back.
    GoesBack(OrderId),
    /// The report, or another one about the same payment, had been applied before.
    Known,
    NoSuchPayment,
}

pub(super) fn payment(row: &AnyRow) -> Result<Payment, sqlx::Error> {
    Ok(Payment {
        id: row::parsed(row, "id")?,
        order_id: row::parsed(row, "order_id")?,
        amount: row::money(row, "amount")?,
        status: row::parsed(row, "status")?,
    })
}

impl Store {
    pub async fn add_payment(
        &self,
        id: PaymentId,
        order: &Order,
        provider: &'static str,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO payments (id, order_id, provider, amount, currency, status, created_at_ms)
             VALUES ($1, $2, $3, $4, $5, 'created', $6)",
        )
        .bind(id.to_string())
        .bind(order.id.to_string())
        .bind(provider)
        .bind(order.amount.amount)
        .bind(order.amount.currency.as_str().to_owned())
        .bind(now.as_millisecond())
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// Applies the report that a payment was captured: `unpaid → paid`, or the money goes back. All or nothing, once
    /// per webhook and once per payment.
    pub async fn captured(&self, webhook_id: &str, payment: PaymentId, now: Timestamp) -> Result<Captured, StoreError> {
        let mut tx = self.begin().await?;
        if !first_time(&mut tx, webhook_id, payment, now).await? {
            return Ok(Captured::Known);
        }
        let captured = "UPDATE payments SET status = 'captured', captured_at_ms = $2
             WHERE id = $1 AND status = 'created' RETURNING order_id";
        let captured = sqlx::query(captured).bind(payment.to_string()).bind(now.as_millisecond());
        let Some(row) = captured.fetch_optional(&mut *tx).await? else {
            let known = sqlx::query("SELECT 1 FROM payments WHERE id = $1").bind(payment.to_string());
            let exists = known.fetch_optional(&mut *tx).await?.is_some();
            tx.commit().await?;
            return Ok(if exists { Captured::Known } else { Captured::NoSuchPayment });
        };
        let order: OrderId = row::parsed(&row, "order_id")?;
        let outcome = if move_order(&mut tx, order, OrderStatus::Unpaid, OrderStatus::Paid, now).await? {
            Captured::Paid(order)
        } else {
            move_order(&mut tx, order, OrderStatus::Cancelled, OrderStatus::RefundPending, now).await?;
            let back = "UPDATE payments SET status = 'refund_pending' WHERE id = $1";
            sqlx::query(back).bind(payment.to_string()).execute(&mut *tx).await?;
            Captured::GoesBack(order)
        };
        tx.commit().await?;
        Ok(outcome)
    }

    /// Payments whose money is to go back.
    pub async fn refunds_due(&self, most: i64) -> Result<Vec<Payment>, StoreError> {
        let rows = sqlx::query(
            "SELECT id, order_id, amount, currency, status FROM payments WHERE status = 'refund_pending'
             ORDER BY id LIMIT $1",
        )
        .bind(most)
        .fetch_all(&self.pool)
        .await?;
        Ok(rows.iter().map(payment).collect::<Result<_, _>>()?)
    }

    /// The provider has given the money back. The order follows unless another payment has paid it.
    pub async fn refunded(&self, of: &Payment, now: Timestamp) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        let back = "UPDATE payments SET status = 'refunded', refunded_at_ms = $2
             WHERE id = $1 AND status = 'refund_pending'";
        sqlx::query(back).bind(of.id.to_string()).bind(now.as_millisecond()).execute(&mut *tx).await?;
        let pending = "SELECT 1 FROM payments WHERE order_id = $1 AND status = 'refund_pending'";
        let more = sqlx::query(pending).bind(of.order_id.to_string()).fetch_optional(&mut *tx).await?;
        if more.is_none() {
            move_order(&mut tx, of.order_id, OrderStatus::RefundPending, OrderStatus::Refunded, now).await?;
        }
        Ok(tx.commit().await?)
    }

    /// What shop and provider disagree about, in words; empty when every charge has its order and every order its money.
    pub async fn money_mismatches(&self) -> Result<Vec<String>, StoreError> {
        let rows = sqlx::query(
            "SELECT 'order ' || orders.id || ' is paid without exactly one captured payment' AS problem FROM orders
               WHERE orders.status = 'paid' AND 1 <> (SELECT COUNT(*) FROM payments
                 WHERE payments.order_id = orders.id AND payments.status = 'captured'
                   AND payments.amount = orders.amount)
             UNION ALL
             SELECT 'payment ' || payments.id || ' was captured for an order that is ' || orders.status FROM payments
               JOIN orders ON orders.id = payments.order_id
               WHERE payments.status = 'captured' AND orders.status <> 'paid'
             UNION ALL
             SELECT 'payment ' || payments.id || ' is ' || payments.status || ' here and ' || sandbox_payments.status
               || ' at the provider' FROM payments JOIN sandbox_payments ON sandbox_payments.id = payments.id
               WHERE (payments.status = 'refunded') <> (sandbox_payments.status = 'refunded')",
        )
        .fetch_all(&self.pool)
        .await?;
        Ok(rows.iter().map(|row| row::text(row, "problem")).collect::<Result<_, _>>()?)
    }
}

async fn first_time(tx: &mut Tx, webhook_id: &str, payment: PaymentId, now: Timestamp) -> Result<bool, sqlx::Error> {
    let done = sqlx::query(
        "INSERT INTO webhook_events (webhook_id, received_at_ms, payment_id) VALUES ($1, $2, $3)
         ON CONFLICT DO NOTHING",
    )
    .bind(webhook_id)
    .bind(now.as_millisecond())
    .bind(payment.to_string())
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Moves an order along one edge, if it stands at its beginning.
async fn move_order(
    tx: &mut Tx,
    order: OrderId,
    from: OrderStatus,
    to: OrderStatus,
    now: Timestamp,
) -> Result<bool, sqlx::Error> {
    debug_assert!(from.may_become(to), "{from} never becomes {to}");
    let moved = sqlx::query("UPDATE orders SET status = $3 WHERE id = $1 AND status = $2")
        .bind(order.to_string())
        .bind(from.as_str())
        .bind(to.as_str())
        .execute(&mut **tx)
        .await?;
    if moved.rows_affected() == 1 {
        add_events(tx, &[order], to, now).await?;
    }
    Ok(moved.rows_affected() == 1)
}
