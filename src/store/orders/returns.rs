//! Returns of delivered orders. A step locks the order's row, so it comes before or after a refund, a step of the
//! parcel and another step of the return, and the second transaction sees the first. The rule is [`decide`]. The goods
//! are received in the transaction that begins their refund ([`crate::payments::staff_refunds`]).

use boxed::boxed;
use serde_json::json;
use sqlx::any::AnyRow;

use super::HeldUnits;
use super::parcels::{self, ParcelActor};
use super::staff_actions::{self, AuditReason, StaffAction};
use crate::payments::refunds::RefundRefusal;
use crate::payments::refunds::{self, NewPartialRefund, captured};
use crate::pool::Connection;
use crate::{OrderStore, StoreResult, Tx, mail, pair, row, sales};
use domain::returns::{ReturnAnswer, ReturnReceipt, ReturnRefusal, ReturnRequest, ReturnStep, decide};
use domain::{
    AuditAction, GoodsReturn, MailKind, Money, OrderId, OrderStatus, ParcelLabel, RefundId, RefundTarget, ReturnPolicy,
    SaleId, ShopSettings, UserId,
};

/// What staff decide about the goods of an accepted return that came back.
#[derive(Debug, Clone, Copy)]
pub struct ReceivedReturn {
    pub sale: SaleId,
    pub order: OrderId,
    /// The money that goes back. `None`: all that is left of the payment.
    pub amount: Option<Money>,
    /// Whether the units go back on sale, which ends the order. Otherwise the order stays paid and its units stay sold.
    pub restock: bool,
}

/// Selects a return with its refund, which is a partial one or a whole payment.
const RETURN: &str =
    "SELECT o.return_state, r.reason, r.note, r.asked_at_ms, r.answer, r.answered_by, r.answered_at_ms,
       r.carrier, r.number, r.received_by, r.received_at_ms, r.restocked,
       COALESCE(f.amount, p.amount - p.refunded_in_parts) AS refund, COALESCE(f.currency, p.currency) AS currency,
       COALESCE(f.refunded_at_ms, p.refunded_at_ms) AS refunded_at_ms
     FROM goods_returns r JOIN orders o ON o.id = r.order_id LEFT JOIN partial_refunds f ON f.id = r.refund_id
     LEFT JOIN payments p ON p.id = r.refund_id WHERE r.order_id = $1";

#[boxed]
impl OrderStore<'_> {
    /// The return of an order, if one was asked for.
    pub async fn return_of(self, order: OrderId) -> StoreResult<Option<GoodsReturn>> {
        Ok(read(&mut self.pool.acquire().await?, order).await?)
    }

    /// Carries out a step, or says why not. What is so already stays as it is.
    pub async fn move_return(
        self,
        id: OrderId,
        step: &ReturnStep,
        actor: ParcelActor<'_>,
        (policy, shop): (&ReturnPolicy, &ShopSettings),
    ) -> StoreResult<Result<(), ReturnRefusal>> {
        let mut tx = self.begin().await?;
        let sql = "UPDATE orders SET reason = reason WHERE id = $1 RETURNING sale_id, user_id, status";
        let of = |row: &AnyRow| Ok((row::get(row, "sale_id")?, row::get(row, "user_id")?, row::get(row, "status")?));
        let locked: Option<(SaleId, UserId, OrderStatus)> = tx.optional(query!(sql; id), of).await?;
        let Some((sale, owner, status)) = locked else { return Ok(Err(ReturnRefusal::NoSuchOrder)) };
        if matches!(actor, ParcelActor::Owner(user) if user != owner) {
            return Ok(Err(ReturnRefusal::NoSuchOrder));
        }
        let until = policy.until(parcels::parcels(&mut tx, &[id]).await?.get(&id), shop.zone());
        let known = read(&mut tx, id).await?;
        let to = match decide((status, until, tx.now), known.as_ref(), step) {
            Ok(Some(to)) => to,
            Ok(None) => return Ok(Ok(())),
            Err(refusal) => return Ok(Err(refusal)),
        };
        tx.run(query!("UPDATE orders SET return_state = $2 WHERE id = $1"; id, to)).await?;
        write(&mut tx, id, step, actor).await?;
        let told = match step {
            ReturnStep::Accept(words) => Some((AuditAction::AcceptReturn, MailKind::ReturnAccepted, words)),
            ReturnStep::Refuse(words) => Some((AuditAction::RefuseReturn, MailKind::ReturnRefused, words)),
            _ => None,
        };
        if let (Some((action, kind, words)), ParcelActor::Staff(name)) = (told, actor) {
            tx.log(name, action, &format!("order {id}"), None, Some(&json!({"message": words})), tx.now).await?;
            mail::notify(&mut tx, owner, kind, json!({"sale": sale, "order": id, "words": words})).await?;
        }
        tx.changes.edited(id);
        tx.commit_and(Ok(())).await
    }
}

async fn write(tx: &mut Tx, id: OrderId, step: &ReturnStep, actor: ParcelActor<'_>) -> sqlx::Result<()> {
    let now = tx.now.as_millisecond();
    let query = match step {
        ReturnStep::Ask(ReturnRequest { reason, note }) => {
            let sql = "INSERT INTO goods_returns (order_id, reason, note, asked_at_ms) VALUES ($1, $2, $3, $4)
                 ON CONFLICT (order_id) DO UPDATE SET reason = excluded.reason, note = excluded.note,
                   asked_at_ms = excluded.asked_at_ms";
            query!(sql; id, reason, note, now)
        }
        ReturnStep::Send(label) => {
            let sql = "UPDATE goods_returns SET carrier = $2, number = $3 WHERE order_id = $1";
            query!(sql; id, &label.carrier, &label.number)
        }
        ReturnStep::Accept(words) | ReturnStep::Refuse(words) => {
            let ParcelActor::Staff(name) = actor else { return Ok(()) };
            let sql = "UPDATE goods_returns SET answer = $2, answered_by = $3, answered_at_ms = $4 WHERE order_id = $1";
            query!(sql; id, words, name, now)
        }
        ReturnStep::Withdraw => return Ok(()),
    };
    tx.run(query).await
}

/// The money that would go back for the goods and whether it is all that is left, or why the order does not allow it.
pub(crate) async fn check(tx: &mut Tx, of: &ReceivedReturn) -> sqlx::Result<Result<(Money, bool), RefundRefusal>> {
    let sql = "SELECT 1 FROM orders WHERE id = $1 AND status = 'paid' AND return_state = 'accepted'";
    let is_accepted = tx.exists(query!(sql; of.order)).await?;
    let (true, Some(payment)) = (is_accepted, captured(tx, of.order).await?) else {
        return Ok(Err(RefundRefusal::WrongStatus));
    };
    let left = payment.refundable();
    let amount = of.amount.unwrap_or(left);
    let is_part = amount.currency == left.currency && (1..=left.amount).contains(&amount.amount);
    // Nothing may be left after refunds in parts. The units can still go back on sale.
    let is_possible = is_part || of.restock && amount == left;
    Ok(if is_possible { Ok((amount, amount == left)) } else { Err(RefundRefusal::Exceeds(left)) })
}

/// Takes the goods of an accepted return back and begins their refund. Has the order's units if they go back on sale. The
/// caller must drop the transaction if it is refused.
pub(crate) async fn receive(
    tx: &mut Tx,
    id: RefundId,
    of: &ReceivedReturn,
    reason: AuditReason<'_>,
) -> sqlx::Result<Result<Option<HeldUnits>, RefundRefusal>> {
    let now = tx.now;
    if of.restock {
        // Before the order, as in every refund that puts units back on sale.
        sales::lock(tx, of.sale).await?;
    }
    tx.run(query!("UPDATE orders SET reason = reason WHERE id = $1"; of.order)).await?;
    let (amount, is_rest) = match check(tx, of).await? {
        Ok(checked) => checked,
        Err(refusal) => return Ok(Err(refusal)),
    };
    parcels::take_back(tx, of.order, reason.actor).await?;
    let action = if of.restock && is_rest {
        StaffAction::Refund
    } else {
        let part = NewPartialRefund { id, order: of.order, amount, to: RefundTarget::Payer };
        if let Err(refusal) = refunds::begin_partial(tx, &part, reason).await? {
            return Ok(Err(refusal));
        }
        end(tx, of.order, (id, amount, of.restock), reason).await?;
        StaffAction::EndReturned
    };
    if !of.restock {
        return Ok(Ok(None));
    }
    let held = staff_actions::apply(tx, (of.sale, of.order), action, reason, now).await?;
    Ok(held.map(Some).ok_or(RefundRefusal::WrongStatus))
}

/// Ends an open return with a refund that begins in the same transaction, whichever way staff ask for it: the goods are in
/// the shop. Does nothing if there is none.
pub(super) async fn end(
    tx: &mut Tx,
    id: OrderId,
    (refund, amount, restocked): (RefundId, Money, bool),
    reason: AuditReason<'_>,
) -> sqlx::Result<()> {
    let sql = "UPDATE orders SET return_state = 'received' WHERE id = $1 AND return_state IN ('asked', 'accepted')
         RETURNING sale_id, user_id";
    let ended: Option<(SaleId, UserId)> = tx.optional(query!(sql; id), pair("sale_id", "user_id")).await?;
    let Some((sale, owner)) = ended else { return Ok(()) };
    let sql = "UPDATE goods_returns SET received_by = $2, received_at_ms = $3, restocked = $4, refund_id = $5
         WHERE order_id = $1";
    tx.run(query!(sql; id, reason.actor, tx.now, restocked, refund)).await?;
    let after = json!({"amount": amount, "restocked": restocked, "reason": reason.note, "message": reason.message});
    tx.log(reason.actor, AuditAction::ReceiveReturn, &format!("order {id}"), None, Some(&after), tx.now).await?;
    let facts = json!({"sale": sale, "order": id, "words": amount.to_string()});
    mail::notify(tx, owner, MailKind::ReturnRefunded, facts).await?;
    tx.changes.edited(id);
    Ok(())
}

async fn read(connection: &mut Connection, id: OrderId) -> sqlx::Result<Option<GoodsReturn>> {
    connection.optional(query!(RETURN; id), goods_return).await
}

fn goods_return(row: &AnyRow) -> sqlx::Result<GoodsReturn> {
    let answer = row::get::<Option<_>>(row, "answered_at_ms")?
        .map(|at| read!(row => ReturnAnswer { words: "answer", by: "answered_by", at = at }));
    let receipt = row::get::<Option<_>>(row, "received_at_ms")?.map(|at| {
        read!(row => ReturnReceipt { by: "received_by", at = at, restocked, refund, refunded_at: "refunded_at_ms" })
    });
    read!(row => GoodsReturn {
        state: "return_state", request = read!(row => ReturnRequest { reason, note })?, asked_at: "asked_at_ms",
        answer = answer.transpose()?, label = read!(row => ParcelLabel { carrier, number })?,
        receipt = receipt.transpose()?,
    })
}
