//! Payments on the shop's side. A provider's report is applied once, in one transaction with the order or wallet that
//! it pays for.

pub(super) mod approvals;
pub(super) mod cases;
mod closing;
pub(super) mod records;
pub(super) mod refunds;
pub(super) mod sandbox;
pub(super) mod settlements;
pub(super) mod staff_refunds;

use std::fmt;

use boxed::boxed;
use jiff::Timestamp;
use sqlx::any::AnyRow;

use super::orders::{add_events, close_payments_of, read};
use super::wallet::{Posted, lock, post};
use super::{PaymentStore, StoreResult, Tx, column, deposits, pair, row};
use crate::accounts;
use cases::NewCase;
use domain::ledger::{LedgerAccount, Transfer, TransferKind, money};
use domain::settlement::{MAX_HELD_AMOUNT, MAX_REPORTED_AMOUNT};
use domain::{CaseKind, Money, OrderId, OrderStatus, PaymentId, PaymentStatus, UserId};

/// The provider name of payments from a wallet.
pub const WALLET: &str = "wallet";

/// Top-ups of one wallet that can be paid at a time. Each is open for half an hour, so a wallet starts no more than 40 an
/// hour.
const MAX_OPEN_TOP_UPS: i64 = 20;
/// Payments of one order. A shopper who changes their mind starts a few.
const MAX_PAYMENTS_OF_ORDER: i64 = 50;

/// What a payment is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PaymentPurpose {
    Order(OrderId),
    /// A top-up of a user's wallet.
    TopUp(UserId),
}

/// For logs.
impl fmt::Display for PaymentPurpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PaymentPurpose::Order(order) => write!(f, "order {order}"),
            PaymentPurpose::TopUp(user) => write!(f, "top-up of {user}"),
        }
    }
}

/// A payment that begins.
#[derive(Debug, Clone, Copy)]
pub struct NewPayment {
    pub id: PaymentId,
    pub purpose: PaymentPurpose,
    pub amount: Money,
    pub provider: &'static str,
}

/// One attempt to pay an order or to top up a wallet.
#[derive(Debug, Clone)]
pub struct Payment {
    pub id: PaymentId,
    pub purpose: PaymentPurpose,
    /// The provider that moves the money; [`WALLET`] for the shop itself.
    pub provider: String,
    pub amount: Money,
    /// The sum of the payment's partial refunds, made or under way, in minor units.
    pub refunded_in_parts: i64,
    pub status: PaymentStatus,
    /// The provider's own name of the payment. `None` if the provider needs none, or if its answer never came: then
    /// no payer knows where to pay.
    pub reference: Option<String>,
    /// `None` for payments from wallets.
    pub expires_at: Option<Timestamp>,
}

/// Where a payment is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Checkout {
    /// At this address, on a path of the shop itself or at the provider.
    Redirect(String),
    /// With the provider's app on a phone, which scans this text as a QR code.
    Scan { text: String, expires_at: Timestamp },
}

impl Payment {
    /// The amount that can still be refunded.
    pub fn refundable(&self) -> Money {
        Money { amount: self.amount.amount - self.refunded_in_parts, ..self.amount }
    }

    /// Whether a refund of the whole payment can be begun, or tried again, at the provider.
    fn takes_refund(&self) -> bool {
        matches!(self.status, PaymentStatus::Mismatched | PaymentStatus::RefundPending)
    }
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
    /// This report, or another one that says the same about the payment, was applied before.
    AlreadyApplied,
    /// There is no such payment, or it has another amount or currency. A case for the staff was opened.
    Case(CaseKind),
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

// Closed and mismatched payments are stored as created with a time of their own, because older versions know neither
// status.
macro_rules! columns {
    () => {
        "id, order_id, user_id, provider, amount, currency, refunded_in_parts, reference, \
         expires_at_ms, CASE WHEN status <> 'created' THEN status WHEN mismatched_at_ms IS NOT NULL THEN 'mismatched' \
         WHEN closed_at_ms IS NOT NULL THEN 'closed' ELSE status END AS status"
    };
}
use columns;

fn purpose(row: &AnyRow) -> sqlx::Result<PaymentPurpose> {
    match row::get(row, "order_id")? {
        Some(order) => Ok(PaymentPurpose::Order(order)),
        None => row::get(row, "user_id").map(PaymentPurpose::TopUp),
    }
}

fn payment(row: &AnyRow) -> sqlx::Result<Payment> {
    read!(row => Payment {
        id, purpose = purpose(row)?, provider, amount, refunded_in_parts, status, reference,
        expires_at: "expires_at_ms",
    })
}

#[boxed]
impl PaymentStore<'_> {
    /// Adds a payment that becomes due for closing at `expires_at`. Returns `false` if the wallet has
    /// [`MAX_OPEN_TOP_UPS`], or the order has [`MAX_PAYMENTS_OF_ORDER`] already; requests that overlap may exceed these by
    /// their number.
    pub async fn add(self, payment: &NewPayment, expires_at: Timestamp, now: Timestamp) -> StoreResult<bool> {
        let (order, user) = match payment.purpose {
            PaymentPurpose::Order(order) => (Some(order), None),
            PaymentPurpose::TopUp(user) => (None, Some(user)),
        };
        let sql = "INSERT INTO payments (id, order_id, user_id, provider, amount, currency, status, created_at_ms,
               close_at_ms, expires_at_ms, ask_at_ms)
             SELECT $1, CAST($2 AS TEXT), CAST($3 AS TEXT), $4, CAST($5 AS BIGINT), $6, 'created', CAST($7 AS BIGINT),
               CAST($8 AS BIGINT), CAST($8 AS BIGINT), CAST($11 AS BIGINT)
             WHERE (SELECT COUNT(*) FROM payments WHERE user_id = $3 AND close_at_ms IS NOT NULL) < $9
               AND (SELECT COUNT(*) FROM payments WHERE order_id = $2) < $10";
        let query = query!(sql; payment.id, order, user, payment.provider, payment.amount.amount,
            payment.amount.currency, now, expires_at, MAX_OPEN_TOP_UPS, MAX_PAYMENTS_OF_ORDER,
            closing::first_question(now, expires_at));
        Ok(self.changed(query).await? == 1)
    }

    /// Records where a payment is made, and the provider's name of it. Returns `false` if the payment was closed in the
    /// meantime. Then do not tell the payer where it is made.
    pub async fn set_checkout(self, id: PaymentId, checkout: &Checkout, reference: Option<&str>) -> StoreResult<bool> {
        let (text, scan_until) = match checkout {
            Checkout::Redirect(url) => (url, None),
            Checkout::Scan { text, expires_at } => (text, Some(expires_at.as_millisecond())),
        };
        let sql = "UPDATE payments SET checkout_url = $2, scan_until_ms = $3, reference = $4 WHERE id = $1
             RETURNING CASE WHEN close_at_ms IS NULL THEN 0 ELSE 1 END AS is_open";
        let is_open = self.optional(query!(sql; id, text, scan_until, reference), column("is_open")).await?;
        Ok(is_open == Some(true))
    }

    pub async fn get(self, id: PaymentId) -> StoreResult<Option<Payment>> {
        let sql = select!(columns, "FROM payments WHERE id = $1");
        self.optional(query!(sql; id), payment).await
    }

    /// Applies the report that this amount was captured for a payment: the order becomes `paid`, or the wallet is
    /// filled, or the payment is marked for refund. Atomic, and applied once per webhook and once per payment. A wrong
    /// amount opens a case and pays for nothing, and a report of the right amount may follow.
    pub async fn apply_capture(
        self,
        webhook_id: &str,
        payment: PaymentId,
        captured: Money,
        now: Timestamp,
    ) -> StoreResult<CaptureOutcome> {
        let mut tx = self.begin().await?;
        if !record_webhook(&mut tx, webhook_id, &payment.to_string(), now).await? {
            return Ok(CaptureOutcome::AlreadyApplied);
        }
        let due = lock_order_of(&mut tx, payment).await?;
        // After a report of a wrong amount this is the right one, and what the wrong one said is not held any more.
        let sql =
            "UPDATE payments SET status = 'captured', captured_at_ms = $2, close_at_ms = NULL, mismatched_at_ms = NULL,
               unheld_at_ms = CASE WHEN held_at_ms IS NOT NULL AND kept_at_ms IS NULL THEN CAST($2 AS BIGINT) END
             WHERE id = $1 AND status = 'created' AND amount = $3 AND currency = $4
             RETURNING order_id, user_id";
        let query = query!(sql; payment, now, captured.amount, captured.currency);
        let Some(purpose) = tx.optional(query, purpose).await? else {
            let outcome = refuse_capture(&mut tx, payment, captured, now).await?;
            return tx.commit_and(outcome).await;
        };
        let outcome = match purpose {
            // With another address the order may cost another amount than when the payment began.
            PaymentPurpose::Order(order) => pay(&mut tx, order, due == Some(captured.amount), now).await?,
            PaymentPurpose::TopUp(user) => top_up(&mut tx, payment, user, captured.amount, now).await?,
        };
        if outcome == CaptureOutcome::Refunding {
            tx.run(query!("UPDATE payments SET status = 'refund_pending' WHERE id = $1"; payment)).await?;
        }
        tx.commit_and(outcome).await
    }

    /// Pays an order from its owner's wallet: the order, the payment `id` and the ledger change in one transaction.
    pub async fn pay_from_wallet(self, id: PaymentId, order: OrderId) -> StoreResult<WalletPaymentOutcome> {
        let mut tx = self.begin().await?;
        let now = tx.now;
        if !move_order(&mut tx, order, OrderStatus::Unpaid, OrderStatus::Paid, now).await? {
            let sql = "SELECT id FROM payments WHERE order_id = $1 AND provider = $2 AND status = 'captured'";
            let known = tx.optional(query!(sql; order, WALLET), column("id")).await?;
            return Ok(known.map_or(WalletPaymentOutcome::NotPayable, WalletPaymentOutcome::AlreadyPaid));
        }
        let order = read(&mut tx, order).await?.ok_or(sqlx::Error::RowNotFound)?;
        close_payments_of(&mut tx, &[order.id]).await?;
        let amount = order.amount.amount;
        if order.pay_by <= now || order.amount != money(amount) {
            return Ok(WalletPaymentOutcome::NotPayable);
        }
        let sql =
            "INSERT INTO payments (id, order_id, provider, amount, currency, status, created_at_ms, captured_at_ms)
             VALUES ($1, $2, $3, $4, $5, 'captured', $6, $6)";
        tx.run(query!(sql; id, order.id, WALLET, amount, order.amount.currency, now)).await?;
        // The deposit comes back in the same call, so it can be used to pay.
        let mut transfers = take_back_deposit(&mut tx, order.id).await?;
        // A free order moves no money, and empty transfers are not allowed.
        if amount > 0 {
            let (from, to) = (LedgerAccount::User(order.user_id), LedgerAccount::Shop);
            transfers.push(Transfer::simple(TransferKind::Pay, order.id, amount, from, to));
        }
        if post(&mut tx, &transfers, now).await? == Posted::NotEnough {
            return Ok(WalletPaymentOutcome::NotEnough);
        }
        tx.commit_and(WalletPaymentOutcome::Paid(id)).await
    }
}

/// Locks the order before its payments, like a cancellation. Returns what is to be paid for it.
async fn lock_order_of(tx: &mut Tx, payment: PaymentId) -> sqlx::Result<Option<i64>> {
    let sql = "UPDATE orders SET status = status WHERE id = (SELECT order_id FROM payments WHERE id = $1)
         RETURNING amount";
    tx.optional(query!(sql; payment), column("amount")).await
}

/// Decides about a capture that could not change a payment to `captured`.
async fn refuse_capture(tx: &mut Tx, id: PaymentId, captured: Money, now: Timestamp) -> sqlx::Result<CaptureOutcome> {
    let sql = select!(columns, "FROM payments WHERE id = $1");
    let kind = match tx.optional(query!(sql; id), payment).await? {
        None => CaseKind::UnknownPayment,
        Some(known) if known.amount == captured => return Ok(CaptureOutcome::AlreadyApplied),
        Some(_) => CaseKind::Mismatched,
    };
    // Only a created payment becomes mismatched. A captured payment was paid by another report, and stays captured.
    let mark = "UPDATE payments SET mismatched_at_ms = $2, close_at_ms = NULL WHERE id = $1 AND status = 'created'";
    tx.run(query!(mark; id, now)).await?;
    hold(tx, id, captured, now).await?;
    let (payment, details) = (id.to_string(), format!("captured {captured}"));
    let case = NewCase { amount: Some(captured).filter(is_possible), ..NewCase::about(kind, &payment, &details) };
    let is_new = cases::open(tx, &case, now).await?.is_some();
    Ok(if is_new { CaptureOutcome::Case(kind) } else { CaptureOutcome::AlreadyApplied })
}

fn is_possible(amount: &Money) -> bool {
    (0..=MAX_REPORTED_AMOUNT).contains(&amount.amount)
}

/// Records for the books which amount was captured instead of the payment's amount. Only the first such report counts,
/// because money moves once. An amount
/// that is too large to be real is left to the case.
async fn hold(tx: &mut Tx, id: PaymentId, captured: Money, now: Timestamp) -> sqlx::Result<()> {
    let sql = "UPDATE payments SET held_amount = $2, held_currency = $3, held_at_ms = $4
         WHERE id = $1 AND status = 'created' AND held_at_ms IS NULL AND CAST($2 AS BIGINT) BETWEEN 1 AND $5";
    tx.run(query!(sql; id, captured.amount, captured.currency, now, MAX_HELD_AMOUNT)).await
}

/// Records a webhook. Returns `false` if it was received before.
async fn record_webhook(tx: &mut Tx, webhook_id: &str, payment: &str, now: Timestamp) -> sqlx::Result<bool> {
    let sql = "INSERT INTO webhook_events (webhook_id, received_at_ms, payment_id) VALUES ($1, $2, $3)
         ON CONFLICT DO NOTHING";
    Ok(tx.changed(query!(sql; webhook_id, now, payment)).await? == 1)
}

/// `is_due`: the payment has the amount that the order costs now.
async fn pay(tx: &mut Tx, order: OrderId, is_due: bool, now: Timestamp) -> sqlx::Result<CaptureOutcome> {
    if is_due && move_order(tx, order, OrderStatus::Unpaid, OrderStatus::Paid, now).await? {
        close_payments_of(tx, &[order]).await?;
        let returned = take_back_deposit(tx, order).await?;
        // A ledger account of deposits has the sum of its rows, so there is enough money.
        post(tx, &returned, now).await?;
        return Ok(CaptureOutcome::Paid(order));
    }
    move_order(tx, order, OrderStatus::Cancelled, OrderStatus::RefundPending, now).await?;
    Ok(CaptureOutcome::Refunding)
}

/// The transfer that returns the deposit of an order that is being paid, if there is one. The caller must post it.
pub(crate) async fn take_back_deposit(tx: &mut Tx, order: OrderId) -> sqlx::Result<Vec<Transfer>> {
    let held = deposits::of_order(tx, order).await?;
    deposits::mark_returned(tx, held.as_slice()).await?;
    Ok(deposits::transfers(held.as_slice()))
}

/// Fills a wallet. Deleting an account locks the balance too, so the money either reaches its owner or is refunded.
async fn top_up(
    tx: &mut Tx,
    payment: PaymentId,
    user: UserId,
    amount: i64,
    now: Timestamp,
) -> sqlx::Result<CaptureOutcome> {
    lock(tx, &[LedgerAccount::User(user).to_string()]).await?;
    if accounts::read(tx, user).await?.is_some_and(|user| user.deleted_at.is_some()) {
        return Ok(CaptureOutcome::Refunding);
    }
    let filled =
        Transfer::simple(TransferKind::TopUp, payment, amount, LedgerAccount::Provider, LedgerAccount::User(user));
    post(tx, &[filled], now).await?;
    Ok(CaptureOutcome::ToppedUp(user))
}

/// Changes an order's status from `from` to `to`. Returns `false` if its status is not `from`.
async fn move_order(
    tx: &mut Tx,
    order: OrderId,
    from: OrderStatus,
    to: OrderStatus,
    now: Timestamp,
) -> sqlx::Result<bool> {
    debug_assert!(from.may_become(to), "{from} never becomes {to}");
    let sql = "UPDATE orders SET status = $3 WHERE id = $1 AND status = $2 RETURNING sale_id, quantity";
    let moved = tx.optional(query!(sql; order, from, to), pair("sale_id", "quantity")).await?;
    let Some((sale, units)) = moved else { return Ok(false) };
    tx.changes.moved((sale, order), (from, to), units);
    add_events(tx, &[order], to, now).await?;
    Ok(true)
}
