//! Refunds of all that is left of a payment, or of a part of it. Both are due, postponed and recorded in the same way.
//!
//! With a partial refund money of a paid order goes back while the order stays paid and its units stay sold. All of the
//! money may go back in this way, which is a refund without restocking. The money goes where it came from or, as a
//! gesture, into the wallet of the order's owner. A payment has the sum of its requested refunds, so that all of them
//! together never exceed the paid amount.

use std::collections::HashMap;

use boxed::boxed;
use jiff::Timestamp;
use serde_json::json;
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

use crate::orders::read;
use crate::payments::{Payment, PaymentPurpose, WALLET, columns, lock_order_of, move_order, payment};
use crate::wallet::post;
use crate::{AuditReason, PaymentStore, StoreResult, Tx, column, next_attempt, pair, row};
use domain::ledger::{LedgerAccount, Transfer, TransferKind};
use domain::{AuditAction, Money, OrderId, OrderStatus, PaymentId, RefundId, RefundTarget, ledger};

/// Money that goes back to a payer.
#[derive(Debug, Clone)]
pub struct Refund {
    pub id: RefundId,
    pub of: Payment,
    /// The amount. Zero if all of the payment went back in parts.
    pub amount: Money,
    /// Who moves the money: the provider of the payment, or [`WALLET`].
    pub via: String,
    /// How often it has failed. A provider that would repeat its answer is asked for another refund then.
    pub attempt: i64,
}

/// A refund that failed.
#[derive(Debug, Clone, Copy)]
pub struct FailedRefund {
    pub id: RefundId,
    /// Which attempt failed, if the provider tells it. What is told about an earlier attempt is old.
    pub attempt: Option<i64>,
}

/// Why a refund does not begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RefundRefusal {
    /// The order is not paid. Or the case is not open, or its payment's status allows no refund.
    #[error("wrong status")]
    WrongStatus,
    #[error("only {0} is left")]
    Exceeds(Money),
    /// The payment's provider cannot move exactly this part, or what it would leave of the payment.
    #[error("an amount that the provider does not take")]
    NotTaken,
    #[error("wallets hold another currency")]
    NoWallet,
    /// The payer or the payer's bank took the money back, or tries to: a refund may pay twice.
    #[error("disputed")]
    Disputed,
}

impl Refund {
    /// The refund of all that is left of a payment.
    pub fn whole(of: Payment) -> Refund {
        Refund { id: RefundId(of.id.0), amount: of.refundable(), via: of.provider.clone(), attempt: 0, of }
    }

    /// Whether the payment stays captured, and its order paid.
    pub fn is_part(&self) -> bool {
        self.id.0 != self.of.id.0
    }

    /// The amount to request from the provider. `None` requests everything, which may be more or less than the
    /// payment's amount.
    pub fn asked(&self) -> Option<Money> {
        (self.is_part() || self.of.refunded_in_parts > 0).then_some(self.amount)
    }

    fn table(&self) -> &'static str {
        if self.is_part() { "partial_refunds" } else { "payments" }
    }
}

/// How often a refund has failed.
macro_rules! attempt {
    ($refund:literal) => {
        concat!(", (SELECT COUNT(*) FROM failed_refunds f WHERE f.refund_id = ", $refund, ") AS attempt")
    };
}

fn whole(row: &AnyRow) -> sqlx::Result<Refund> {
    Ok(Refund { attempt: row::int(row, "attempt")?, ..Refund::whole(payment(row)?) })
}

#[boxed]
impl PaymentStore<'_> {
    /// Refunds that are pending and due. Refunds that have waited longest come first, partial refunds before the
    /// others.
    pub async fn refunds_due(self, limit: i64) -> StoreResult<Vec<Refund>> {
        let sql = select!(
            columns,
            attempt!("payments.id"),
            " FROM payments WHERE status = 'refund_pending' AND next_attempt_at_ms <= $1
             ORDER BY next_attempt_at_ms, id LIMIT $2"
        );
        let query = query!(sql; self.now().await?, limit);
        let mut due = self.partial_refunds_due(limit).await?;
        due.extend(self.all(query, whole).await?);
        Ok(due)
    }

    /// The refund of a whole payment, and the amount that it returns: all that is left of the payment, or the wrong amount
    /// that was captured.
    pub async fn whole_refund(self, id: PaymentId) -> StoreResult<Option<(Refund, Money)>> {
        let sql = select!(
            columns,
            attempt!("payments.id"),
            ", CASE WHEN mismatched_at_ms IS NULL THEN NULL ELSE held_amount END AS held_amount, held_currency
             FROM payments WHERE id = $1"
        );
        self.optional(query!(sql; id), |row| {
            let refund = whole(row)?;
            let held: Option<i64> = row::get(row, "held_amount")?;
            let held = held.zip(row::get(row, "held_currency")?).map(|(amount, currency)| Money::new(amount, currency));
            let amount = held.unwrap_or(refund.amount);
            Ok((refund, amount))
        })
        .await
    }

    /// The refunded money of each order that had refunds, in parts or as a whole, in minor units. Refunds under way do
    /// not count. Captures of a wrong amount do not count either, because they paid for nothing.
    pub async fn refunded_amounts(self, orders: &[OrderId]) -> StoreResult<HashMap<OrderId, i64>> {
        let sql = "SELECT order_id, CAST(SUM(amount) AS BIGINT) AS refunded FROM (
               SELECT order_id, amount FROM partial_refunds WHERE order_id IN $ids AND refunded_at_ms IS NOT NULL
               UNION ALL SELECT order_id, amount - refunded_in_parts AS amount FROM payments
               WHERE order_id IN $ids AND status = 'refunded' AND mismatched_at_ms IS NULL) AS back
             GROUP BY order_id";
        self.all_of(sql, &[], orders, pair("order_id", "refunded")).await
    }

    /// Postpones the next attempt of a refund, by a second at first and by up to about four minutes. Returns the number
    /// of attempts.
    pub async fn postpone_refund(self, of: &Refund) -> StoreResult<i64> {
        let sql = format!("UPDATE {} SET {} WHERE id = $2 RETURNING attempts", of.table(), next_attempt(1000, 8));
        let now = self.now().await?.as_millisecond();
        Ok(self.optional(query!(AssertSqlSafe(sql); now, of.id), column("attempts")).await?.unwrap_or_default())
    }

    /// Records that a refund was made. A refund into a wallet is made by this call itself. An order whose money goes
    /// back becomes `refunded` once none of its refunds is pending. Returns `false` if the refund was recorded before.
    pub async fn apply_refund(self, of: &Refund, now: Timestamp) -> StoreResult<bool> {
        let mut tx = self.begin().await?;
        let is_first = record_refund(&mut tx, of, now).await?;
        settle_refunded(&mut tx, of, now).await?;
        tx.commit_and(is_first).await
    }
}

pub(super) async fn record_refund(tx: &mut Tx, of: &Refund, now: Timestamp) -> sqlx::Result<bool> {
    // The last two refunds of an order may be recorded at once. The lock makes one of them the last, which ends the
    // order.
    lock_order_of(tx, of.of.id).await?;
    let sql = match of.is_part() {
        true => "UPDATE partial_refunds SET refunded_at_ms = $2 WHERE id = $1 AND refunded_at_ms IS NULL",
        false => {
            "UPDATE payments SET status = 'refunded', refunded_at_ms = $2 WHERE id = $1 AND status = 'refund_pending'"
        }
    };
    let is_first = tx.changed(query!(sql; of.id, now)).await? == 1;
    let PaymentPurpose::Order(order) = of.of.purpose else { return Ok(is_first) };
    if is_first {
        tx.changes.edited(order);
    }
    if !is_refund_pending(tx, order).await? {
        move_order(tx, order, OrderStatus::RefundPending, OrderStatus::Refunded, now).await?;
    }
    if is_first && of.via == WALLET && of.amount.amount > 0 {
        let owner = read(tx, order).await?.ok_or(sqlx::Error::RowNotFound)?.user_id;
        let (from, to) = (LedgerAccount::Shop, LedgerAccount::User(owner));
        let whole = Transfer::simple(TransferKind::Refund, order, of.amount.amount, from, to);
        let id = if of.is_part() { format!("{}:{}", whole.id, of.id) } else { whole.id.clone() };
        post(tx, &[Transfer { id, ..whole }], now).await?;
    }
    Ok(is_first)
}

async fn is_refund_pending(tx: &mut Tx, order: OrderId) -> sqlx::Result<bool> {
    let sql = "SELECT 1 FROM payments WHERE order_id = $1 AND status = 'refund_pending'
         UNION ALL SELECT 1 FROM partial_refunds WHERE order_id = $1 AND refunded_at_ms IS NULL";
    tx.exists(query!(sql; order)).await
}

/// Makes the next attempt of a refund due at once. Returns `false` if the refund is neither pending nor about to begin.
pub(super) async fn refund_again(tx: &mut Tx, of: &Refund) -> sqlx::Result<bool> {
    let sql = match of.is_part() {
        true => {
            "UPDATE partial_refunds SET attempts = 0, next_attempt_at_ms = 0 WHERE id = $1 AND refunded_at_ms IS NULL"
        }
        false => {
            "UPDATE payments SET status = 'refund_pending', attempts = 0, next_attempt_at_ms = 0
             WHERE id = $1 AND (status = 'refund_pending' OR status = 'created' AND mismatched_at_ms IS NOT NULL)"
        }
    };
    Ok(tx.changed(query!(sql; of.id)).await? == 1)
}

/// Stops the attempts of a partial refund until the staff begin them again.
pub(super) async fn stop_part(tx: &mut Tx, payment: &str, part: RefundId) -> sqlx::Result<()> {
    let sql = "UPDATE partial_refunds SET next_attempt_at_ms = $1 WHERE id = $3 AND payment_id = $2";
    tx.run(query!(sql; i64::MAX, payment, part)).await
}

/// Stops all refunds of a payment to its payer until the staff begin them again. Returns the partial ones that were under way.
pub(super) async fn stop_all(tx: &mut Tx, payment: &str) -> sqlx::Result<Vec<RefundId>> {
    let sql = "UPDATE payments SET next_attempt_at_ms = $1 WHERE id = $2 AND status = 'refund_pending'";
    tx.run(query!(sql; i64::MAX, payment)).await?;
    let sql = "UPDATE partial_refunds SET next_attempt_at_ms = $1
         WHERE payment_id = $2 AND refunded_at_ms IS NULL AND via <> 'wallet' AND next_attempt_at_ms < $1 RETURNING id";
    tx.all(query!(sql; i64::MAX, payment), column("id")).await
}

/// Records that a refund failed, and stops it until the staff begin it again. One that had counted as made is pending again,
/// and so is its order: the money came back to the shop. Returns `false` if it is known, or if staff have settled it.
pub(super) async fn fail(tx: &mut Tx, payment: &str, of: FailedRefund) -> sqlx::Result<bool> {
    let lock = "UPDATE orders SET status = status WHERE id = (SELECT order_id FROM payments WHERE id = $1)";
    tx.run(query!(lock; payment)).await?;
    let is_part = of.id.to_string() != payment;
    let sql = if is_part { FAILING_PART } else { FAILING_PAYMENT };
    let Some(found) = tx.fetch_optional(query!(sql; of.id, payment, i64::MAX)).await? else { return Ok(false) };
    let attempt = row::int(&found, "attempt")?;
    if of.attempt.is_some_and(|failed| failed < attempt) {
        return Ok(false);
    }
    let made_at: Option<i64> = row::get(&found, "refunded_at_ms")?;
    let sql = match is_part {
        true => "UPDATE partial_refunds SET refunded_at_ms = NULL, next_attempt_at_ms = $2 WHERE id = $1",
        false => {
            "UPDATE payments SET status = 'refund_pending', refunded_at_ms = NULL, next_attempt_at_ms = $2 WHERE id = $1"
        }
    };
    tx.run(query!(sql; of.id, i64::MAX)).await?;
    let order: Option<OrderId> = row::get::<Option<String>>(&found, "order_id")?.and_then(|id| id.parse().ok());
    let (now, amount): (_, Money) = (tx.now, row::get(&found, "moved")?);
    let sql =
        "INSERT INTO failed_refunds (refund_id, attempt, payment_id, order_id, account, amount, currency, made_at_ms,
           failed_at_ms) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
    let query = query!(sql; of.id, attempt, payment, order, row::text(&found, "account")?, amount.amount,
        amount.currency, made_at, now);
    tx.run(query).await?;
    if let Some(order) = order {
        tx.changes.edited(order);
        if made_at.is_some() {
            move_order(tx, order, OrderStatus::Refunded, OrderStatus::RefundPending, now).await?;
        }
    }
    Ok(true)
}

/// A refund that can fail: it is under way and not stopped, or counts as made because the provider said so, not the staff.
macro_rules! failing {
    ($columns:literal, $from:literal, $is_under_way:literal, $is_made:literal) => {
        concat!(
            "SELECT ",
            $columns,
            attempt!("r.id"),
            " FROM ",
            $from,
            " WHERE r.id = $1 AND (",
            $is_under_way,
            " AND r.next_attempt_at_ms < $3 OR ",
            $is_made,
            " AND NOT EXISTS (SELECT 1 FROM payment_cases c WHERE c.payment_id = $2 AND c.settled_by <> ''
                AND c.settled_at_ms = r.refunded_at_ms AND c.kind IN ('refund_failed', 'refund_delayed')
                AND COALESCE(c.refund_id, c.payment_id) = $1))"
        )
    };
}
/// The amount is what the books have of it: `payments` of a wrong amount that is held, or what is left of a payment.
const FAILING_PAYMENT: &str = failing!(
    "r.order_id, r.refunded_at_ms,
       CASE WHEN r.captured_at_ms IS NULL AND r.held_at_ms IS NOT NULL AND r.kept_at_ms IS NULL THEN 'held' ELSE 'shop' END
         AS account,
       CASE WHEN r.captured_at_ms IS NOT NULL THEN r.amount - r.refunded_in_parts
         WHEN r.held_at_ms IS NOT NULL THEN r.held_amount ELSE 0 END AS moved,
       CASE WHEN r.captured_at_ms IS NULL AND r.held_at_ms IS NOT NULL THEN r.held_currency ELSE r.currency END AS currency",
    "payments r",
    "r.id = $2 AND r.status = 'refund_pending'",
    "r.id = $2 AND r.status = 'refunded' AND r.provider <> 'wallet'"
);
const FAILING_PART: &str = failing!(
    "r.order_id, r.refunded_at_ms, 'shop' AS account, r.amount AS moved, r.currency",
    "partial_refunds r",
    "r.payment_id = $2 AND r.refunded_at_ms IS NULL",
    "r.payment_id = $2 AND r.refunded_at_ms IS NOT NULL AND r.via <> 'wallet'"
);

/// Settles the cases that wait for a refund.
async fn settle_refunded(tx: &mut Tx, of: &Refund, now: Timestamp) -> sqlx::Result<()> {
    let sql = "UPDATE payment_cases SET settled_at_ms = $2, settled_by = ''
         WHERE payment_id = $1 AND settled_at_ms IS NULL AND kind IN ('mismatched', 'refund_failed', 'refund_delayed')
           AND COALESCE(refund_id, payment_id) = $3 AND (kind <> 'refund_failed' OR refund_id IS NOT NULL OR EXISTS
             (SELECT 1 FROM failed_refunds WHERE refund_id = $3 AND failed_at_ms = payment_cases.opened_at_ms))";
    tx.run(query!(sql; of.of.id, now, of.id)).await
}

/// A partial refund that staff ask for.
#[derive(Debug, Clone, Copy)]
pub struct NewPartialRefund {
    /// The id stays the same for all attempts of one request.
    pub id: RefundId,
    pub order: OrderId,
    pub amount: Money,
    pub to: RefundTarget,
}

/// A partial refund of an order.
#[derive(Debug, Clone)]
pub struct PartialRefund {
    pub id: RefundId,
    pub payment: PaymentId,
    pub amount: Money,
    /// The provider that moves the money; [`WALLET`] for the shop itself.
    pub via: String,
    pub requested_at: Timestamp,
    /// The member of the staff who asked for the refund.
    pub actor: String,
    /// The reason, shown to staff only.
    pub note: String,
    /// Shown verbatim to the owner of the order.
    pub message: Option<String>,
    /// `None` as long as the refund is under way.
    pub refunded_at: Option<Timestamp>,
}

impl PartialRefund {
    pub fn to(&self) -> RefundTarget {
        if self.via == WALLET { RefundTarget::Wallet } else { RefundTarget::Payer }
    }
}

column_list!(partial_columns: "id, payment_id, order_id, via, amount, currency, requested_at_ms, actor, note, message,
     refunded_at_ms");

/// Selects partial refunds with their payments. The payments were captured, so their status is the one in the table.
macro_rules! refunds {
    () => {
        "SELECT r.id AS refund_id, r.amount AS refund_amount, r.via, p.id, p.order_id, p.user_id, p.provider, p.amount, \
         p.currency, p.refunded_in_parts, p.reference, p.expires_at_ms, p.status, (SELECT COUNT(*) FROM failed_refunds f WHERE f.refund_id = r.id) AS attempt \
         FROM partial_refunds r JOIN payments p ON p.id = r.payment_id "
    };
}

#[boxed]
impl PaymentStore<'_> {
    /// The partial refunds of an order, oldest first.
    pub async fn partial_refunds_of(self, order: OrderId) -> StoreResult<Vec<PartialRefund>> {
        let sql = select!(partial_columns, "FROM partial_refunds WHERE order_id = $1 ORDER BY id");
        self.all(query!(sql; order), partial_refund).await
    }

    /// A partial refund as the refund job sees it; `None` if there is none with this id.
    pub async fn partial_refund(self, id: RefundId) -> StoreResult<Option<Refund>> {
        let sql = concat!(refunds!(), "WHERE r.id = $1");
        self.optional(query!(sql; id), refund).await
    }

    /// A partial refund of the payment, if it is under way.
    pub(super) async fn pending_partial_refund(self, of: PaymentId, id: RefundId) -> StoreResult<Option<Refund>> {
        let sql = concat!(refunds!(), "WHERE r.id = $1 AND r.payment_id = $2 AND r.refunded_at_ms IS NULL");
        self.optional(query!(sql; id, of), refund).await
    }

    async fn partial_refunds_due(self, limit: i64) -> StoreResult<Vec<Refund>> {
        let sql = concat!(
            refunds!(),
            "WHERE r.refunded_at_ms IS NULL AND r.next_attempt_at_ms <= $1 ORDER BY r.next_attempt_at_ms, r.id LIMIT $2"
        );
        self.all(query!(sql; self.now().await?, limit), refund).await
    }
}

/// The payment of which a part would be refunded, or why the order does not allow the refund.
pub(super) async fn check_partial(tx: &mut Tx, new: &NewPartialRefund) -> sqlx::Result<Result<Payment, RefundRefusal>> {
    let Some(of) = captured(tx, new.order).await? else { return Ok(Err(RefundRefusal::WrongStatus)) };
    if new.to == RefundTarget::Wallet && of.amount.currency != ledger::CURRENCY {
        return Ok(Err(RefundRefusal::NoWallet));
    }
    let left = of.refundable();
    if new.amount.currency != left.currency || !(1..=left.amount).contains(&new.amount.amount) {
        return Ok(Err(RefundRefusal::Exceeds(left)));
    }
    Ok(Ok(of))
}

/// The payment of a paid order.
pub(crate) async fn captured(tx: &mut Tx, order: OrderId) -> sqlx::Result<Option<Payment>> {
    let sql = select!(columns, "FROM payments WHERE order_id = $1 AND status = 'captured'");
    tx.optional(query!(sql; order), payment).await
}

/// Begins a partial refund, with a line in the audit log. The refund job then moves the money. Writes nothing if the
/// refund is refused, or was begun before under the same id.
pub(crate) async fn begin_partial(
    tx: &mut Tx,
    new: &NewPartialRefund,
    reason: AuditReason<'_>,
) -> sqlx::Result<Result<(), RefundRefusal>> {
    let (now, order) = (tx.now, new.order.to_string());
    tx.run(query!("UPDATE orders SET status = status WHERE id = $1"; &order)).await?;
    if tx.exists(query!("SELECT 1 FROM partial_refunds WHERE id = $1"; new.id)).await? {
        return Ok(Ok(()));
    }
    let of = match check_partial(tx, new).await? {
        Ok(of) => of,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let sql = "UPDATE payments SET refunded_in_parts = refunded_in_parts + $2 WHERE id = $1";
    tx.run(query!(sql; of.id, new.amount.amount)).await?;
    let via = if new.to == RefundTarget::Wallet { WALLET } else { &of.provider };
    let sql =
        "INSERT INTO partial_refunds (id, payment_id, order_id, via, amount, currency, requested_at_ms, actor, note,
           message)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
    let query = query!(sql; new.id, of.id, order, via, new.amount.amount, new.amount.currency, now, reason.actor,
        reason.note, reason.message);
    tx.run(query).await?;
    tx.changes.edited(new.order);
    let subject = format!("order {}", new.order);
    let after = json!({"refund": new.id, "amount": new.amount, "via": via, "reason": reason.note,
        "message": reason.message});
    tx.log(reason.actor, AuditAction::RefundPart, &subject, None, Some(&after), now).await?;
    Ok(Ok(()))
}

fn refund(row: &AnyRow) -> sqlx::Result<Refund> {
    let of = payment(row)?;
    let amount = Money { amount: row::int(row, "refund_amount")?, ..of.amount };
    let (via, attempt) = (row::text(row, "via")?, row::int(row, "attempt")?);
    Ok(Refund { id: row::get(row, "refund_id")?, of, amount, via, attempt })
}

fn partial_refund(row: &AnyRow) -> sqlx::Result<PartialRefund> {
    read!(row => PartialRefund {
        id, payment: "payment_id", amount, via, requested_at: "requested_at_ms", actor, note, message,
        refunded_at: "refunded_at_ms",
    })
}
