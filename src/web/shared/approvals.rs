//! Requests that wait for a second person, as the API shows them.

use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::response::IntoResponse;
use boxed::boxed;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{Answer, Code, Problem, Shop, private};
use domain::{ApprovalStatus, Money, OrderId, PacketId, RefundId, RefundKind, RefundTarget};
use engine::packets::GiveRequest;
use store::{Approval, ApprovalDecision, RequestedPacket};

/// A request as the API shows it.
#[derive(Serialize, JsonSchema)]
pub struct ApprovalJson {
    id: RefundId,
    /// All that is left of an order; a part of it; the payment of a case; a red packet from the shop's purse.
    kind: RefundKind,
    /// `void`: the order or payment had changed, so that the refund was no longer possible.
    status: ApprovalStatus,
    /// `null` for a top-up of a wallet.
    order_id: Option<OrderId>,
    /// The payment case that it is about.
    #[schemars(extend("format" = "uuid"))]
    case_id: Option<String>,
    amount: Money,
    to: RefundTarget,
    reason: String,
    message: Option<String>,
    requested_by: String,
    requested_at: Timestamp,
    expires_at: Timestamp,
    /// `null` while it waits, and when nothing was decided in time.
    decided: Option<DecisionJson>,
    /// For the goods of a return: whether their units go back on sale. Left out for other requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    restock: Option<bool>,
    /// The packet that is asked for. Left out for refunds.
    #[serde(skip_serializing_if = "Option::is_none")]
    packet: Option<RequestedPacketJson>,
}

#[derive(Serialize, JsonSchema)]
struct RequestedPacketJson {
    id: PacketId,
    count: i64,
    greeting: String,
}

#[derive(Serialize, JsonSchema)]
struct DecisionJson {
    at: Timestamp,
    by: String,
    /// Why it was declined.
    reason: Option<String>,
}

impl From<Approval> for ApprovalJson {
    fn from(approval: Approval) -> Self {
        let decided = approval.decision.map(|ApprovalDecision { at, by, note }| DecisionJson { at, by, reason: note });
        ApprovalJson {
            id: approval.id,
            kind: approval.kind,
            status: approval.status,
            order_id: approval.order,
            case_id: approval.case,
            amount: approval.amount,
            to: approval.to,
            reason: approval.note,
            message: approval.message,
            requested_by: approval.requester,
            requested_at: approval.requested_at,
            expires_at: approval.expires_at,
            decided,
            restock: approval.restock,
            packet: approval.packet.and_then(|packet| {
                let GiveRequest { count, greeting, .. } = requested(&packet)?;
                Some(RequestedPacketJson { id: packet.id, count, greeting })
            }),
        }
    }
}

/// What was asked for. `None` if a later version of the program wrote it.
pub fn requested(packet: &RequestedPacket) -> Option<GiveRequest> {
    serde_json::from_str(&packet.request).ok()
}

#[boxed]
pub async fn existing(shop: &Shop, id: RefundId) -> Result<Approval, Problem> {
    shop.store.payments().approval(id).await?.ok_or(Code::NotFound.into())
}

#[derive(Serialize, JsonSchema)]
pub struct OneApproval {
    approval: ApprovalJson,
}

#[boxed]
pub async fn answer(shop: &Shop, id: RefundId) -> Answer {
    let approval = existing(shop, id).await?.into();
    Ok(private(OneApproval { approval }))
}

/// The answer to a request that waits for a second person.
#[boxed]
pub async fn accepted(shop: &Shop, id: RefundId) -> Answer {
    let location = [(LOCATION, format!("/api/admin/approvals/{id}"))];
    Ok((StatusCode::ACCEPTED, location, answer(shop, id).await?).into_response())
}
