//! Reads requests for refunds that need a second person ([`super::staff_refunds`]).

use boxed::boxed;
use jiff::Timestamp;
use sqlx::any::AnyRow;

use crate::{AFTER_ALL, PaymentStore, RequestedPacket, StoreResult, row};
use domain::{ApprovalStatus, Money, OrderId, RefundId, RefundKind, RefundTarget, UserId};

/// The decision of a second person.
#[derive(Debug, Clone)]
pub struct ApprovalDecision {
    pub at: Timestamp,
    pub by: String,
    /// Why the refund was declined.
    pub note: Option<String>,
}

/// A refund that needs, or needed, a second person.
#[derive(Debug, Clone)]
pub struct Approval {
    pub id: RefundId,
    pub kind: RefundKind,
    /// The subject in the audit log.
    pub(super) subject: String,
    /// The order; `None` if the payment of a case is for no order.
    pub order: Option<OrderId>,
    pub case: Option<String>,
    pub amount: Money,
    pub to: RefundTarget,
    pub requested_by: UserId,
    /// The name of the account `requested_by`.
    pub requester: String,
    pub note: String,
    pub message: Option<String>,
    pub requested_at: Timestamp,
    pub expires_at: Timestamp,
    pub status: ApprovalStatus,
    /// For the refund of a return: whether the units go back on sale. `None` for any other refund.
    pub restock: Option<bool>,
    /// The packet that is given when it is approved.
    pub packet: Option<RequestedPacket>,
    pub decision: Option<ApprovalDecision>,
}

macro_rules! columns {
    () => {
        "id, kind, subject, order_id, case_id, amount, currency, target, requested_by, actor, note, message, \
         requested_at_ms, approval, expires_at_ms, decided_at_ms, decided_by, decision_note, \
         packet_id, packet_key, packet, restock"
    };
}
pub(super) use columns;

#[boxed]
impl PaymentStore<'_> {
    /// A request, if the refund needed a second person.
    pub async fn approval(self, id: RefundId) -> StoreResult<Option<Approval>> {
        let now = self.now().await?;
        let sql = select!(columns, "FROM staff_refunds WHERE id = $1 AND approval <> 'not_needed'");
        self.optional(query!(sql; id), |row| approval(row, now)).await
    }

    /// Waiting requests, or requests that do not wait any more, newest first. The page begins after the request
    /// `before`.
    pub async fn approvals(self, decided: bool, before: Option<&str>, limit: i64) -> StoreResult<Vec<Approval>> {
        let sql = match decided {
            false => select!(
                columns,
                "FROM staff_refunds WHERE approval = 'pending' AND expires_at_ms > $3 AND id < $1
                 ORDER BY id DESC LIMIT $2"
            ),
            true => select!(
                columns,
                "FROM staff_refunds WHERE approval <> 'not_needed' AND (approval <> 'pending' OR expires_at_ms <= $3)
                 AND id < $1 ORDER BY id DESC LIMIT $2"
            ),
        };
        let now = self.now().await?;
        self.all(query!(sql; before.unwrap_or(AFTER_ALL), limit, now), |row| approval(row, now)).await
    }

    /// The requests about an order, oldest first.
    pub async fn approvals_of(self, order: OrderId) -> StoreResult<Vec<Approval>> {
        let sql = select!(columns, "FROM staff_refunds WHERE order_id = $1 AND approval <> 'not_needed' ORDER BY id");
        let now = self.now().await?;
        self.all(query!(sql; order), |row| approval(row, now)).await
    }
}

fn approval(row: &AnyRow, now: Timestamp) -> sqlx::Result<Approval> {
    let expires_at: Timestamp = row::get(row, "expires_at_ms")?;
    let status = match row::get(row, "approval")? {
        ApprovalStatus::Pending if expires_at <= now => ApprovalStatus::Expired,
        status => status,
    };
    let packet = row::get::<Option<String>>(row, "packet")?
        .map(|request| read!(row => RequestedPacket { id: "packet_id", key: "packet_key", request = request }));
    let decided_at: Option<Timestamp> = row::get(row, "decided_at_ms")?;
    let (decided, note) = (decided_at.zip(row::get(row, "decided_by")?), row::get(row, "decision_note")?);
    read!(row => Approval {
        id, kind, subject, order = row::get::<Option<String>>(row, "order_id")?.and_then(|id| id.parse().ok()),
        case: "case_id", amount, to: "target", requested_by, requester: "actor", note, message,
        requested_at: "requested_at_ms", expires_at = expires_at, status = status, restock,
        packet = packet.transpose()?, decision = decided.map(|(at, by)| ApprovalDecision { at, by, note }),
    })
}
