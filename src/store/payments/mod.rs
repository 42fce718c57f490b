//! Payments on the shop's side. A provider's report is applied once, in one transaction with the order or wallet that
//! it pays for.

mod purge;
pub(super) mod records;
pub(super) mod sandbox;

use jiff::Timestamp;
use sqlx::any::AnyRow;
use sqlx::{AssertSqlSafe, Row};

use super::orders::{add_events, read};
use super::wallet::{Posted, lock, post};
use super::{Store, StoreError, Tx, next_attempt, row};
use crate::domain::wallet::{LedgerAccount, Transfer, TransferKind, money};
use crate::domain::wire::wire_enum;
use crate::domain::{Money, OrderId, OrderStatus, PaymentId, UserId};
use crate::store::accounts;

/// The provider name of payments from a wallet.
pub const WALLET: &str = "wallet";

wire_enum! {
    /// The status of a payment.
    pub enum PaymentStatus {
        Created = "created",
        Captured = "captured",
        RefundPending = "refund_pending",
        Refunded = "refunded",
    }
}

/// What a payment is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PaymentPurpose {
    Order(OrderId),
    /// A top-up of a user's wallet.
    TopUp(UserId),
}

/// One attempt to pay an order or to top up a wallet.
#[derive(Debug, Clone)]
pub struct Payment {
    pub id: PaymentId,
    pub purpose: PaymentPurpose,
    /// The provider that moves the money; [`WALLET`] for the shop itself.
    pub provider: String,
    pub amount: Money,
    pub status: PaymentStatus,
}

/// The outcome of a report that money was captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaptureOutcome {
    /// The order is paid.
    Paid(OrderId),
    /// The money was added to the wallet.
    ToppedUp(UserId),
    /// The order had ended or was paid already, or the wallet's owner deleted the account: the money is refunded.
    Refunding,
    /// This report, or another one about the same payment, was applied before.
    AlreadyApplied,
    NoSuchPayment,
}

/// The outcome of paying an order from a wallet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WalletPaymentOutcome {
    Paid(PaymentId),
    /// The order was paid from the wallet before, by this payment.
    AlreadyPaid(PaymentId),
    /// The balance is too low.
    NotEnough,
    /// The order is not waiting to be paid, or is not in the currency of wallets.
    NotPayable,
}

macro_rules! columns {
    () => {
        "id, order_id, user_id, provider, amount, currency, status"
    };
}
use columns;

fn purpose(row: &AnyRow) -> Result<PaymentPurpose, sqlx::Error> {
    match row.try_get::<Option<String>, _>("order_id")? {
        Some(_) => Ok(PaymentPurpose::Order(row::parsed(row, "order_id")?)),
        None => Ok(PaymentPurpose::TopUp(row::parsed(row, "user_id")?)),
    }
}

fn payment(row: &AnyRow) -> Result<Payment, sqlx::Error> {
    Ok(Payment {
        id: row::parsed(row, "id")?,
        purpose: purpose(row)?,
        provider: row::text(row, "provider")?,
        amount: row::money(row, "amount")?,
        status: row::parsed(row, "status")?,
    })
}

impl Store {
    pub async fn add_payment(
        &self,
        id: PaymentId,
        purpose: PaymentPurpose,
        amount: Money,
        provider: &'static str,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let (order, user) = match purpose {
            PaymentPurpose::Order(order) => (Some(order.to_string()), None),
            PaymentPurpose::TopUp(user) => (None, Some(user.to_string())),
        };
        sqlx::query(
            "INSERT INTO payments (id, order_id, user_id, provider, amount, currency, status, created_at_ms)
             VALUES ($1, $2, $3, $4, $5, $6, 'created', $7)",
        )
        .bind(id.to_string())
        .bind(order)
        .bind(user)
        .bind(provider)
        .bind(amount.amount)
        .bind(amount.currency.as_str().to_owned())
        .bind(now.as_millisecond())
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// Applies the report that a payment was captured: the order becomes `paid`, or the wallet is filled, or the
    /// payment is marked for refund. Atomic, and applied once per webhook and once per payment.
    pub async fn apply_capture(
        &self,
        webhook_id: &str,
        payment: PaymentId,
        now: Timestamp,
    ) -> Result<CaptureOutcome, StoreError> {
        let mut tx = self.begin().await?;
        if !record_webhook(&mut tx, webhook_id, payment, now).await? {
            return Ok(CaptureOutcome::AlreadyApplied);
        }
        let captured = "UPDATE payments SET status = 'captured', captured_at_ms = $2
             WHERE id = $1 AND status = 'created' RETURNING order_id, user_id, amount";
        let captured = sqlx::query(captured).bind(payment.to_string()).bind(now.as_millisecond());
        let Some(row) = captured.fetch_optional(&mut *tx).await? else {
            let known = sqlx::query("SELECT 1 FROM payments WHERE id = $1").bind(payment.to_string());
            let exists = known.fetch_optional(&mut *tx).await?.is_some();
            tx.commit().await?;
            return Ok(if exists { CaptureOutcome::AlreadyApplied } else { CaptureOutcome::NoSuchPayment });
        };
        let outcome = match purpose(&row)? {
            PaymentPurpose::Order(order) => pay(&mut tx, order, now).await?,
            PaymentPurpose::TopUp(user) => top_up(&mut tx, payment, user, row::int(&row, "amount")?, now).await?,
        };
        if outcome == CaptureOutcome::Refunding {
            let sql = "UPDATE payments SET status = 'refund_pending' WHERE id = $1";
            sqlx::query(sql).bind(payment.to_string()).execute(&mut *tx).await?;
        }
        tx.commit().await?;
        Ok(outcome)
    }

    /// Pays an order from its owner's wallet: the order, the payment `id` and the ledger change in one transaction.
    pub async fn pay_from_wallet(&self, id: PaymentId, order: OrderId) -> Result<WalletPaymentOutcome, StoreError> {
        let mut tx = self.begin().await?;
        let now = tx.now;
        if !move_order(&mut tx, order, OrderStatus::Unpaid, OrderStatus::Paid, now).await? {
            let sql = "SELECT id FROM payments WHERE order_id = $1 AND provider = $2 AND status = 'captured'";
            let row = sqlx::query(sql).bind(order.to_string()).bind(WALLET).fetch_optional(&mut *tx).await?;
            let known = row.map(|row| row::parsed(&row, "id")).transpose()?;
            return Ok(known.map_or(WalletPaymentOutcome::NotPayable, WalletPaymentOutcome::AlreadyPaid));
        }
        let order = read(&mut tx, order).await?.ok_or(sqlx::Error::RowNotFound)?;
        let amount = order.amount.amount;
        if order.pay_by <= now || order.amount != money(amount) {
            return Ok(WalletPaymentOutcome::NotPayable);
        }
        sqlx::query(
            "INSERT INTO payments (id, order_id, provider, amount, currency, status, created_at_ms, captured_at_ms)
             VALUES ($1, $2, $3, $4, $5, 'captured', $6, $6)",
        )
        .bind(id.to_string())
        .bind(order.id.to_string())
        .bind(WALLET)
        .bind(amount)
        .bind(order.amount.currency.as_str().to_owned())
        .bind(now.as_millisecond())
        .execute(&mut *tx)
        .await?;
        // A free order moves no money, and transfers of nothing are not allowed.
        if amount > 0 {
            let paid = Transfer::simple(
                TransferKind::Pay,
                order.id,
                amount,
                LedgerAccount::User(order.user_id),
                LedgerAccount::Shop,
            );
            if post(&mut tx, &[paid], now).await? == Posted::NotEnough {
                return Ok(WalletPaymentOutcome::NotEnough);
            }
        }
        tx.commit().await?;
        Ok(WalletPaymentOutcome::Paid(id))
    }

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

    /// Puts the next attempt of a refund off, by a second at first and by about four minutes at most.
    pub async fn postpone_refund(&self, id: PaymentId) -> Result<(), StoreError> {
        let sql = format!("UPDATE payments SET {} WHERE id = $2", next_attempt(1000, 8));
        let now = self.now().await?.as_millisecond();
        sqlx::query(AssertSqlSafe(sql)).bind(now).bind(id.to_string()).execute(&self.pool).await?;
        Ok(())
    }

    /// Records that a payment was refunded. A payment from a wallet is refunded by this call itself. The order becomes
    /// `refunded` once none of its payments is pending.
    pub async fn apply_refund(&self, of: &Payment, now: Timestamp) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        let sql = "UPDATE payments SET status = 'refunded', refunded_at_ms = $2
             WHERE id = $1 AND status = 'refund_pending'";
        sqlx::query(sql).bind(of.id.to_string()).bind(now.as_millisecond()).execute(&mut *tx).await?;
        if let PaymentPurpose::Order(order) = of.purpose {
            let pending = "SELECT 1 FROM payments WHERE order_id = $1 AND status = 'refund_pending'";
            let more = sqlx::query(pending).bind(order.to_string()).fetch_optional(&mut *tx).await?;
            if more.is_none() {
                move_order(&mut tx, order, OrderStatus::RefundPending, OrderStatus::Refunded, now).await?;
            }
            if of.provider == WALLET && of.amount.amount > 0 {
                let owner = read(&mut tx, order).await?.ok_or(sqlx::Error::RowNotFound)?.user_id;
                let refund = Transfer::simple(
                    TransferKind::Refund,
                    order,
                    of.amount.amount,
                    LedgerAccount::Shop,
                    LedgerAccount::User(owner),
                );
                post(&mut tx, &[refund], now).await?;
            }
        }
        Ok(tx.commit().await?)
    }

    /// Describes disagreements between payments, orders and the sandbox provider. Empty when every captured payment has
    /// its paid order and every paid order its payment.
    pub async fn money_mismatches(&self) -> Result<Vec<String>, StoreError> {
        let query = sqlx::query(
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
        );
        self.report(query, |row| row::text(row, "problem")).await
    }
}

/// Records a webhook. `false` when it was received before.
async fn record_webhook(
    tx: &mut Tx,
    webhook_id: &str,
    payment: PaymentId,
    now: Timestamp,
) -> Result<bool, sqlx::Error> {
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

async fn pay(tx: &mut Tx, order: OrderId, now: Timestamp) -> Result<CaptureOutcome, sqlx::Error> {
    if move_order(tx, order, OrderStatus::Unpaid, OrderStatus::Paid, now).await? {
        return Ok(CaptureOutcome::Paid(order));
    }
    move_order(tx, order, OrderStatus::Cancelled, OrderStatus::RefundPending, now).await?;
    Ok(CaptureOutcome::Refunding)
}

/// Fills a wallet. Deleting an account locks the balance too, so the money reaches an owner or is refunded.
async fn top_up(
    tx: &mut Tx,
    payment: PaymentId,
    user: UserId,
    amount: i64,
    now: Timestamp,
) -> Result<CaptureOutcome, sqlx::Error> {
    lock(tx, &[LedgerAccount::User(user).to_string()]).await?;
    if accounts::read(tx, user).await?.is_some_and(|user| user.deleted_at.is_some()) {
        return Ok(CaptureOutcome::Refunding);
    }
    let filled =
        Transfer::simple(TransferKind::TopUp, payment, amount, LedgerAccount::Provider, LedgerAccount::User(user));
    post(tx, &[filled], now).await?;
    Ok(CaptureOutcome::ToppedUp(user))
}

/// Changes an order's status from `from` to `to`. `false` when its status is not `from`.
async fn move_order(
    tx: &mut Tx,
    order: OrderId,
    from: OrderStatus,
    to: OrderStatus,
    now: Timestamp,
) -> Result<bool, sqlx::Error> {
    debug_assert!(from.may_become(to), "{from} never becomes {to}");
    let updated = sqlx::query("UPDATE orders SET status = $3 WHERE id = $1 AND status = $2")
        .bind(order.to_string())
        .bind(from.as_str())
        .bind(to.as_str())
        .execute(&mut **tx)
        .await?;
    if updated.rows_affected() == 1 {
        add_events(tx, &[order], to, now).await?;
    }
    Ok(updated.rows_affected() == 1)
}
