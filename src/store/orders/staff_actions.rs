//! What staff may do to an order: cancel it or refund it, each in one transaction with its line in the audit log.

use boxed::boxed;
use jiff::Timestamp;
use serde_json::json;

use super::{HeldUnits, add_events, add_releases, close_payments_of, held_columns, held_units, holds, returns};
use crate::payments::refunds::{Refund, captured};
use crate::sales::add_sold;
use crate::{OrderStore, StoreResult, Tx, sales};
use domain::{AuditAction, HoldOutcome, Money, OrderId, OrderStatus, RefundId, SaleId};

/// An action of staff on an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StaffAction {
    /// `unpaid → cancelled`.
    Cancel,
    /// `paid → refund_pending`. The refund job then returns the money. The units go back on sale, so the parcel has to be
    /// with the shop.
    Refund,
    /// Like `Cancel` and `Refund`, but only if the order is held at this moment.
    CancelHeld,
    RefundHeld,
    /// Like `Refund`, but the caller begins a refund of a part, and the shop keeps the rest: the goods of a return came
    /// back and go on sale again.
    EndReturned,
}

impl StaffAction {
    fn edge(self) -> (OrderStatus, OrderStatus) {
        match self {
            StaffAction::Cancel | StaffAction::CancelHeld => (OrderStatus::Unpaid, OrderStatus::Cancelled),
            StaffAction::Refund | StaffAction::RefundHeld | StaffAction::EndReturned => {
                (OrderStatus::Paid, OrderStatus::RefundPending)
            }
        }
    }

    /// How the action ends a hold of the order.
    fn hold_outcome(self) -> HoldOutcome {
        match self {
            StaffAction::Cancel | StaffAction::CancelHeld => HoldOutcome::Cancelled,
            StaffAction::Refund | StaffAction::RefundHeld | StaffAction::EndReturned => HoldOutcome::Refunded,
        }
    }

    fn needs_hold(self) -> bool {
        matches!(self, StaffAction::CancelHeld | StaffAction::RefundHeld)
    }

    /// The action's name in the audit log. A return has a line of its own.
    fn audit_action(self) -> Option<AuditAction> {
        match self {
            StaffAction::Cancel | StaffAction::CancelHeld => Some(AuditAction::Cancel),
            StaffAction::Refund | StaffAction::RefundHeld => Some(AuditAction::Refund),
            StaffAction::EndReturned => None,
        }
    }
}

/// Which member of staff acts, and why.
#[derive(Debug, Clone, Copy)]
pub struct AuditReason<'a> {
    pub actor: &'a str,
    /// Shown to staff only.
    pub note: &'a str,
    /// Shown verbatim to the owner of the order.
    pub message: Option<&'a str>,
}

#[boxed]
impl OrderStore<'_> {
    /// Cancels or refunds an order. The status, the sale's units, the payment, the release and the audit log change in
    /// one transaction. Returns the units that the order held, or `None` if its status does not allow the action.
    pub async fn apply_staff_action(
        self,
        (sale, id): (SaleId, OrderId),
        action: StaffAction,
        reason: AuditReason<'_>,
        now: Timestamp,
    ) -> StoreResult<Option<HeldUnits>> {
        let mut tx = self.begin().await?;
        let Some(held) = apply(&mut tx, (sale, id), action, reason, now).await? else { return Ok(None) };
        tx.commit_and(Some(held)).await
    }
}

/// Like [`OrderStore::apply_staff_action`], but within a transaction. The caller commits it, or drops it if this returns
/// `None`.
pub(crate) async fn apply(
    tx: &mut Tx,
    (sale, id): (SaleId, OrderId),
    action: StaffAction,
    reason: AuditReason<'_>,
    now: Timestamp,
) -> sqlx::Result<Option<HeldUnits>> {
    sales::lock(tx, sale).await?;
    let (from, to) = action.edge();
    debug_assert!(from.may_become(to), "{from} never becomes {to}");
    let sql = concat!(
        "UPDATE orders SET status = $1, reason = 'by_shop', message = $2
         WHERE id = $3 AND sale_id = $4 AND status = $5
           AND (parcel IS NULL OR parcel IN ('packed', 'returned')) RETURNING ",
        held_columns!()
    );
    let query = query!(sql; to, reason.message, id, sale, from);
    let Some(held) = tx.optional(query, held_units).await? else { return Ok(None) };
    // The order's row is locked, so the hold cannot be released in between.
    let was_held = holds::end_with_order(tx, (sale, id, held.user_id), action.hold_outcome(), reason).await?;
    if action.needs_hold() && !was_held {
        return Ok(None);
    }
    tx.changes.moved((sale, id), (from, to), held.quantity.into());
    match action {
        StaffAction::Cancel | StaffAction::CancelHeld => close_payments_of(tx, &[id]).await?,
        // The money is in the other shop.
        StaffAction::Refund | StaffAction::RefundHeld if is_confirmed_elsewhere(tx, id).await? => {
            end_without_money(tx, (sale, id), held.quantity).await?;
        }
        StaffAction::Refund | StaffAction::RefundHeld => {
            let (refund, left) = request_refund(tx, id).await?;
            returns::end(tx, id, (refund, left, true), reason).await?;
        }
        StaffAction::EndReturned => {}
    }
    add_sold(tx, sale, -i64::from(held.quantity)).await?;
    if !is_retired(tx, sale).await? {
        add_releases(tx, &[held]).await?;
    }
    add_step(tx, id, to, reason, now).await?;
    let before = json!({"status": from, "sale_id": sale, "user_id": held.user_id});
    let after = json!({"status": to, "sale_id": sale, "user_id": held.user_id, "reason": reason.note,
        "message": reason.message});
    let subject = format!("order {id}");
    if let Some(action) = action.audit_action() {
        tx.log(reason.actor, action, &subject, Some(&before), Some(&after), now).await?;
    }
    Ok(Some(held))
}

/// Whether another shop has the money for the order, and this one has none.
pub(crate) async fn is_confirmed_elsewhere(tx: &mut Tx, order: OrderId) -> sqlx::Result<bool> {
    tx.exists(query!("SELECT 1 FROM reservations WHERE order_id = $1"; order)).await
}

/// Ends an order whose refund has nothing to move here.
async fn end_without_money(tx: &mut Tx, (sale, id): (SaleId, OrderId), units: u32) -> sqlx::Result<()> {
    let (from, to) = (OrderStatus::RefundPending, OrderStatus::Refunded);
    tx.run(query!("UPDATE orders SET status = 'refunded' WHERE id = $1"; id)).await?;
    tx.changes.moved((sale, id), (from, to), units.into());
    add_events(tx, &[id], to, tx.now).await
}

/// Marks the captured payment of a paid order for refund. A paid order always has one; otherwise the transaction fails.
/// Returns the id of the refund, and what is left to be refunded.
async fn request_refund(tx: &mut Tx, order: OrderId) -> sqlx::Result<(RefundId, Money)> {
    let Some(payment) = captured(tx, order).await? else {
        return Err(sqlx::Error::Protocol(format!("order {order} is paid without a captured payment")));
    };
    let sql = "UPDATE payments SET status = 'refund_pending' WHERE order_id = $1 AND status = 'captured'";
    tx.run(query!(sql; order)).await?;
    let refund = Refund::whole(payment);
    Ok((refund.id, refund.amount))
}

/// Whether the sale is retired or a draw. Redis then holds no units of it, and there is nothing to release.
async fn is_retired(tx: &mut Tx, sale: SaleId) -> sqlx::Result<bool> {
    let sql = "SELECT 1 FROM sales WHERE id = $1 AND retired_at_ms IS NULL AND mode <> 'draw'";
    Ok(!tx.exists(query!(sql; sale)).await?)
}

pub(super) async fn add_step(
    tx: &mut Tx,
    order: OrderId,
    status: OrderStatus,
    reason: AuditReason<'_>,
    now: Timestamp,
) -> sqlx::Result<()> {
    let sql = "INSERT INTO order_events (order_id, status, at_ms, actor, note) VALUES ($1, $2, $3, $4, $5)";
    tx.run(query!(sql; order, status, now, reason.actor, reason.note)).await
}
