//! Holds of orders and the appeals of their owners. Each change is one transaction with its line in the audit log and
//! its message to the owner.
//!
//! **Races.** Every change locks the order's row while the order is `unpaid` or `paid`. So it comes before or after a
//! payment, a cancellation, the expiry or a refund, and the second transaction sees the first.
//!
//! **Ends.** Staff end a hold by a release, or by ending the order ([`staff_actions`](super::staff_actions)). If the
//! owner cancels the order, or it expires, the hold ends too. Reading derives this from the order's status, so these
//! paths write nothing more.

use std::collections::HashMap;

use boxed::boxed;
use jiff::Timestamp;
use serde_json::json;
use sqlx::any::AnyRow;
use uuid::Uuid;

use crate::{AuditReason, OrderStore, StoreResult, Tx, column, mail, pair, row};
use domain::order::{Answer, HoldEnd};
use domain::wire::wire_enum;
use domain::{Appeal, AppealAnswer, AuditAction, HoldOutcome, MailKind, OrderHold, OrderId, SaleId, UserId};

wire_enum! {
    /// The outcome of a change of a hold.
    pub enum HoldChange {
        Done = "done",
        /// There was nothing to change: the order was held already, is not held, or no appeal waits.
        Unchanged = "unchanged",
        /// The order is neither unpaid nor paid.
        OrderEnded = "order_ended",
    }
}

/// The outcome of an appeal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AppealOutcome {
    Sent,
    /// An earlier appeal still waits for its answer.
    AnotherWaits,
    /// The user has no such order, or it is not held.
    NotHeld,
}

column_list!(columns: "id, order_id, reason, held_by, held_at_ms, outcome, ended_by, ended_at_ms, end_reason");

fn hold(row: &AnyRow) -> sqlx::Result<OrderHold> {
    let end = row::get::<Option<_>>(row, "outcome")?.map(
        |outcome| read!(row => HoldEnd { outcome = outcome, by: "ended_by", at: "ended_at_ms", reason: "end_reason" }),
    );
    read!(row => OrderHold { id, reason, held_by, held_at: "held_at_ms", end = end.transpose()?, appeals = Vec::new() })
}

fn appeal(row: &AnyRow) -> sqlx::Result<(String, Appeal)> {
    let answer = row::get::<Option<_>>(row, "answer")?.map(|answer| {
        read!(row => Answer { answer = answer, by: "answered_by", at: "answered_at_ms", reason: "answer_reason" })
    });
    let appeal = read!(row => Appeal { text, sent_at: "sent_at_ms", answer = answer.transpose()? })?;
    Ok((row::text(row, "hold_id")?, appeal))
}

#[boxed]
impl OrderStore<'_> {
    /// Every hold of an order with its appeals, oldest first.
    pub async fn holds_of(self, order: OrderId) -> StoreResult<Vec<OrderHold>> {
        let sql = select!(columns, "FROM order_holds WHERE order_id = $1 ORDER BY id");
        let holds = self.all(query!(sql; order), hold).await?;
        self.with_appeals(holds).await
    }

    /// The holds of these orders that have not ended. Orders that are neither unpaid nor paid have none.
    pub async fn lasting_holds(self, orders: &[OrderId]) -> StoreResult<HashMap<OrderId, OrderHold>> {
        let (mut ids, mut holds) = (HashMap::new(), Vec::new());
        let sql = select!(
            columns,
            "FROM order_holds WHERE order_id IN $ids AND ended_at_ms IS NULL
               AND EXISTS (SELECT 1 FROM orders WHERE orders.id = order_id AND status IN ('unpaid', 'paid'))"
        );
        let read = |row: &AnyRow| Ok((hold(row)?, row::get::<OrderId>(row, "order_id")?));
        for (hold, order) in self.all_of::<_, Vec<_>>(sql, &[], orders, read).await? {
            ids.insert(hold.id.clone(), order);
            holds.push(hold);
        }
        let holds = self.with_appeals(holds).await?;
        Ok(holds.into_iter().filter_map(|hold| Some((*ids.get(&hold.id)?, hold))).collect())
    }

    async fn with_appeals(self, mut holds: Vec<OrderHold>) -> StoreResult<Vec<OrderHold>> {
        let ids: Vec<String> = holds.iter().map(|hold| hold.id.clone()).collect();
        let mut appeals: HashMap<String, Vec<Appeal>> = HashMap::new();
        let sql =
            "SELECT hold_id, text, sent_at_ms, answer, answered_by, answered_at_ms, answer_reason FROM hold_appeals
             WHERE hold_id IN $ids ORDER BY hold_id, id";
        for (hold, appeal) in self.all_of::<_, Vec<_>>(sql, &[], &ids, appeal).await? {
            appeals.entry(hold).or_default().push(appeal);
        }
        for hold in &mut holds {
            hold.appeals = appeals.remove(&hold.id).unwrap_or_default();
        }
        Ok(holds)
    }

    /// Holds an unpaid or paid order.
    pub async fn hold(self, id: OrderId, reason: AuditReason<'_>) -> StoreResult<HoldChange> {
        let mut tx = self.begin().await?;
        let Some((sale, owner)) = lock_live(&mut tx, id).await? else { return Ok(HoldChange::OrderEnded) };
        let added = "INSERT INTO order_holds (id, order_id, sale_id, reason, held_by, held_at_ms)
             VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING";
        if tx.changed(query!(added; Uuid::now_v7(), id, sale, reason.note, reason.actor, tx.now)).await? == 0 {
            return Ok(HoldChange::Unchanged);
        }
        finish(tx, (sale, id, owner), true, (AuditAction::Hold, MailKind::OrderHeld), reason).await
    }

    /// Releases a held order, which also answers a waiting appeal.
    pub async fn release(self, id: OrderId, reason: AuditReason<'_>) -> StoreResult<HoldChange> {
        let mut tx = self.begin().await?;
        let Some((sale, owner)) = lock_live(&mut tx, id).await? else { return Ok(HoldChange::OrderEnded) };
        if !end(&mut tx, id, HoldOutcome::Released, reason.actor, Some(reason.note)).await? {
            return Ok(HoldChange::Unchanged);
        }
        finish(tx, (sale, id, owner), false, (AuditAction::ReleaseHold, MailKind::HoldReleased), reason).await
    }

    /// Answers an appeal: the hold stays.
    pub async fn uphold(self, id: OrderId, reason: AuditReason<'_>) -> StoreResult<HoldChange> {
        let mut tx = self.begin().await?;
        let Some((sale, owner)) = lock_live(&mut tx, id).await? else { return Ok(HoldChange::OrderEnded) };
        let Some(held) = lasting_hold(&mut tx, id).await? else { return Ok(HoldChange::Unchanged) };
        if !answer(&mut tx, &held, AppealAnswer::Upheld, reason.actor, Some(reason.note)).await? {
            return Ok(HoldChange::Unchanged);
        }
        finish(tx, (sale, id, owner), true, (AuditAction::UpholdHold, MailKind::HoldUpheld), reason).await
    }

    /// Stores an appeal of a held order's owner.
    pub async fn appeal(self, id: OrderId, owner: UserId, text: &str) -> StoreResult<AppealOutcome> {
        let mut tx = self.begin().await?;
        match lock_live(&mut tx, id).await? {
            Some((_, user)) if user == owner => {}
            _ => return Ok(AppealOutcome::NotHeld),
        }
        let Some(held) = lasting_hold(&mut tx, id).await? else { return Ok(AppealOutcome::NotHeld) };
        let sql =
            "INSERT INTO hold_appeals (id, hold_id, text, sent_at_ms) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING";
        if tx.changed(query!(sql; Uuid::now_v7(), held, text, tx.now)).await? == 0 {
            return Ok(AppealOutcome::AnotherWaits);
        }
        tx.commit_and(AppealOutcome::Sent).await
    }
}

/// Ends the hold of an order that staff cancel or refund, within their transaction, and sends the owner a message.
/// Returns `false` and does nothing if the order is not held.
pub(super) async fn end_with_order(
    tx: &mut Tx,
    (sale, id, owner): (SaleId, OrderId, UserId),
    outcome: HoldOutcome,
    reason: AuditReason<'_>,
) -> sqlx::Result<bool> {
    if !end(tx, id, outcome, reason.actor, reason.message).await? {
        return Ok(false);
    }
    let kind = match outcome {
        HoldOutcome::Released => MailKind::HoldReleased,
        HoldOutcome::Refunded => MailKind::HoldRefunded,
        HoldOutcome::Cancelled => MailKind::HoldCancelled,
    };
    mail::notify(tx, owner, kind, json!({"sale": sale, "order": id, "reason": reason.message})).await?;
    Ok(true)
}

/// Locks an order that is unpaid or paid. Returns its sale and its owner.
async fn lock_live(tx: &mut Tx, id: OrderId) -> sqlx::Result<Option<(SaleId, UserId)>> {
    let sql =
        "UPDATE orders SET reason = reason WHERE id = $1 AND status IN ('unpaid', 'paid') RETURNING sale_id, user_id";
    tx.optional(query!(sql; id), pair("sale_id", "user_id")).await
}

/// The hold of an order that has not ended.
pub(super) async fn lasting_hold(tx: &mut Tx, id: OrderId) -> sqlx::Result<Option<String>> {
    let sql = "SELECT id FROM order_holds WHERE order_id = $1 AND ended_at_ms IS NULL";
    tx.optional(query!(sql; id), column("id")).await
}

/// Ends the order's hold and answers its appeal. Returns `false` if the order is not held.
async fn end(tx: &mut Tx, id: OrderId, outcome: HoldOutcome, by: &str, reason: Option<&str>) -> sqlx::Result<bool> {
    let sql = "UPDATE order_holds SET outcome = $2, ended_by = $3, ended_at_ms = $4, end_reason = $5
         WHERE order_id = $1 AND ended_at_ms IS NULL RETURNING id";
    let held: Option<String> = tx.optional(query!(sql; id, outcome, by, tx.now, reason), column("id")).await?;
    let Some(held) = held else { return Ok(false) };
    let given = match outcome {
        HoldOutcome::Released => AppealAnswer::Released,
        HoldOutcome::Refunded => AppealAnswer::Refunded,
        HoldOutcome::Cancelled => AppealAnswer::Cancelled,
    };
    answer(tx, &held, given, by, reason).await?;
    Ok(true)
}

/// Answers the waiting appeal. Returns `false` if there is none.
async fn answer(tx: &mut Tx, hold: &str, given: AppealAnswer, by: &str, reason: Option<&str>) -> sqlx::Result<bool> {
    let sql = "UPDATE hold_appeals SET answer = $2, answered_by = $3, answered_at_ms = $4, answer_reason = $5
         WHERE hold_id = $1 AND answered_at_ms IS NULL";
    Ok(tx.changed(query!(sql; hold, given, by, tx.now, reason)).await? > 0)
}

/// Writes the line of the audit log, the message to the owner and the change of the order, and commits.
async fn finish(
    mut tx: Tx,
    (sale, id, owner): (SaleId, OrderId, UserId),
    is_held: bool,
    (action, kind): (AuditAction, MailKind),
    reason: AuditReason<'_>,
) -> StoreResult<HoldChange> {
    let after = json!({"held": is_held, "reason": reason.note});
    let facts = json!({"sale": sale, "order": id, "reason": reason.note});
    let now: Timestamp = tx.now;
    tx.log(reason.actor, action, &format!("order {id}"), None, Some(&after), now).await?;
    mail::notify(&mut tx, owner, kind, facts).await?;
    tx.changes.edited(id);
    tx.commit_and(HoldChange::Done).await
}
