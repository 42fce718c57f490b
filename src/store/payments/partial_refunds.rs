//! Partial refunds: money of a paid order goes back while the order stays paid and its units stay sold. All of the
//! money may go back in this way, which is a refund without restocking. The money goes where it came from or, as a
//! gesture, into the wallet of the order's owner.
//!
//! A payment has the sum of its requested refunds, so that all of them together never exceed the paid amount.

use jiff::Timestamp;
use serde_json::json;
use sqlx::Row;
use sqlx::any::AnyRow;

use super::refunds::{Refund, RefundRefusal};
use super::{Payment, WALLET};
use crate::audit_log::log;
use crate::{AuditReason, PaymentStore, StoreError, Tx, row};
use domain::{AuditAction, Money, OrderId, PaymentId, RefundId, RefundTarget, ledger};

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

macro_rules! columns {
    () => {
        "id, payment_id, order_id, via, amount, currency, requested_at_ms, actor, note, message, refunded_at_ms"
    };
}

/// Selects partial refunds with their payments. The payments were captured, so their status is the one in the table.
macro_rules! refunds {
    () => {
        "SELECT r.id AS refund_id, r.amount AS refund_amount, r.via, p.id, p.order_id, p.user_id, p.provider, p.amount, \
         p.currency, p.refunded_in_parts, p.reference, p.expires_at_ms, p.status, (SELECT COUNT(*) FROM failed_refunds f WHERE f.refund_id = r.id) AS attempt \
         FROM partial_refunds r JOIN payments p ON p.id = r.payment_id "
    };
}

impl PaymentStore<'_> {
    /// The partial refunds of an order, oldest first.
    pub async fn partial_refunds_of(self, order: OrderId) -> Result<Vec<PartialRefund>, StoreError> {
        let sql = concat!("SELECT ", columns!(), " FROM partial_refunds WHERE order_id = $1 ORDER BY id");
        self.all(sqlx::query(sql).bind(order.to_string()), partial_refund).await
    }

    /// A partial refund as the refund job sees it; `None` if there is none with this id.
    pub async fn partial_refund(self, id: RefundId) -> Result<Option<Refund>, StoreError> {
        let sql = concat!(refunds!(), "WHERE r.id = $1");
        self.optional(sqlx::query(sql).bind(id.to_string()), refund).await
    }

    /// A partial refund of the payment, if it is under way.
    pub(super) async fn pending_partial_refund(
        self,
        of: PaymentId,
        id: RefundId,
    ) -> Result<Option<Refund>, StoreError> {
        let sql = concat!(refunds!(), "WHERE r.id = $1 AND r.payment_id = $2 AND r.refunded_at_ms IS NULL");
        self.optional(sqlx::query(sql).bind(id.to_string()).bind(of.to_string()), refund).await
    }

    pub(super) async fn partial_refunds_due(self, limit: i64) -> Result<Vec<Refund>, StoreError> {
        let sql = concat!(
            refunds!(),
            "WHERE r.refunded_at_ms IS NULL AND r.next_attempt_at_ms <= $1 ORDER BY r.next_attempt_at_ms, r.id LIMIT $2"
        );
        let query = sqlx::query(sql).bind(self.now().await?.as_millisecond()).bind(limit);
        self.all(query, refund).await
    }
}

/// The payment of which a part would be refunded, or why the order does not allow the refund.
pub(super) async fn check(tx: &mut Tx, new: &NewPartialRefund) -> Result<Result<Payment, RefundRefusal>, sqlx::Error> {
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
pub(crate) async fn captured(tx: &mut Tx, order: OrderId) -> Result<Option<Payment>, sqlx::Error> {
    let sql = concat!("SELECT ", super::columns!(), " FROM payments WHERE order_id = $1 AND status = 'captured'");
    let row = sqlx::query(sql).bind(order.to_string()).fetch_optional(&mut **tx).await?;
    row.as_ref().map(super::payment).transpose()
}

/// Begins a partial refund, with a line in the audit log. The refund job then moves the money. Writes nothing if the
/// refund is refused, or was begun before under the same id.
pub(crate) async fn begin(
    tx: &mut Tx,
    new: &NewPartialRefund,
    reason: AuditReason<'_>,
) -> Result<Result<(), RefundRefusal>, sqlx::Error> {
    let (now, order) = (tx.now, new.order.to_string());
    let lock = sqlx::query("UPDATE orders SET status = status WHERE id = $1").bind(order.clone());
    lock.execute(&mut **tx).await?;
    let known = sqlx::query("SELECT 1 FROM partial_refunds WHERE id = $1").bind(new.id.to_string());
    if known.fetch_optional(&mut **tx).await?.is_some() {
        return Ok(Ok(()));
    }
    let of = match check(tx, new).await? {
        Ok(of) => of,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let sql = "UPDATE payments SET refunded_in_parts = refunded_in_parts + $2 WHERE id = $1";
    sqlx::query(sql).bind(of.id.to_string()).bind(new.amount.amount).execute(&mut **tx).await?;
    let via = if new.to == RefundTarget::Wallet { WALLET } else { &of.provider };
    sqlx::query(
        "INSERT INTO partial_refunds (id, payment_id, order_id, via, amount, currency, requested_at_ms, actor, note,
           message)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
    )
    .bind(new.id.to_string())
    .bind(of.id.to_string())
    .bind(order)
    .bind(via.to_owned())
    .bind(new.amount.amount)
    .bind(new.amount.currency.as_str().to_owned())
    .bind(now.as_millisecond())
    .bind(reason.actor.to_owned())
    .bind(reason.note.to_owned())
    .bind(reason.message.map(str::to_owned))
    .execute(&mut **tx)
    .await?;
    tx.changes.edited(new.order);
    let subject = format!("order {}", new.order);
    let after = json!({"refund": new.id, "amount": new.amount, "via": via, "reason": reason.note,
        "message": reason.message});
    log(tx, reason.actor, AuditAction::RefundPart, &subject, None, Some(&after), now).await?;
    Ok(Ok(()))
}

fn refund(row: &AnyRow) -> Result<Refund, sqlx::Error> {
    let of = super::payment(row)?;
    let amount = Money { amount: row::int(row, "refund_amount")?, ..of.amount };
    let (via, attempt) = (row::text(row, "via")?, row::int(row, "attempt")?);
    Ok(Refund { id: row::parsed(row, "refund_id")?, of, amount, via, attempt })
}

fn partial_refund(row: &AnyRow) -> Result<PartialRefund, sqlx::Error> {
    Ok(PartialRefund {
        id: row::parsed(row, "id")?,
        payment: row::parsed(row, "payment_id")?,
        amount: row::money(row, "amount")?,
        via: row::text(row, "via")?,
        requested_at: row::time(row, "requested_at_ms")?,
        actor: row::text(row, "actor")?,
        note: row::text(row, "note")?,
        message: row.try_get("message")?,
        refunded_at: row::optional_time(row, "refunded_at_ms")?,
    })
}
