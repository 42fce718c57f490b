//! Refunds that wait for a second person.

use axum::Json as Answer;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{StaffCall, StaffCallTo};
use domain::{ApprovalStatus, Money, OrderId, RefundId, RefundKind, RefundTarget};
use orders::support::StaffActionReason;
use payments::staff_refunds::DecisionAnswer;
use store::{Approval, ApprovalDecision};
use web::Shop;
use web::cache_policy::Cache;
use web::extract::session::{SupportShoppers, ViewConsole};
use web::extract::{Json, PathIds, Query};
use web::problem::{Code, Problem};
use web::shared::pagination::{Cursor, LARGE_PAGE_SIZE};

/// A request as the API shows it.
#[derive(Serialize, JsonSchema)]
pub struct ApprovalJson {
    id: RefundId,
    /// All that is left of an order; a part of it; the payment of a case.
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
        }
    }
}

#[derive(Deserialize, JsonSchema)]
pub struct ApprovalsQuery {
    /// Whether to list the requests that no longer wait, instead of the waiting ones.
    #[serde(default)]
    decided: bool,
    #[serde(default)]
    before: Cursor,
}

#[derive(Serialize, JsonSchema)]
struct ApprovalList {
    approvals: Vec<ApprovalJson>,
    /// For `?before=`; `null` on the last page.
    next: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct OneApproval {
    approval: ApprovalJson,
}

/// Waiting requests, or requests that no longer wait, newest first.
pub async fn list(
    (State(shop), _): StaffCall<ViewConsole>,
    Query(query): Query<ApprovalsQuery>,
) -> Result<Response, Problem> {
    let before = query.before.read::<RefundId>("before")?.map(|id| id.to_string());
    let page = shop.staff_refunds.approvals(query.decided, before.as_deref(), LARGE_PAGE_SIZE).await?;
    let approvals = page.items.into_iter().map(ApprovalJson::from).collect();
    Ok((Cache::Private, Answer(ApprovalList { approvals, next: page.next })).into_response())
}

pub async fn show((State(shop), _, PathIds(id)): StaffCallTo<ViewConsole, RefundId>) -> Result<Response, Problem> {
    answer(existing(&shop, id).await?)
}

async fn existing(shop: &Shop, id: RefundId) -> Result<Approval, Problem> {
    shop.store.payments().approval(id).await?.ok_or(Code::NotFound.into())
}

fn answer(approval: Approval) -> Result<Response, Problem> {
    Ok((Cache::Private, Answer(OneApproval { approval: approval.into() })).into_response())
}

/// The answer to a request for a refund that waits for a second person.
pub(crate) async fn accepted(shop: &Shop, id: RefundId) -> Result<Response, Problem> {
    let location = [(LOCATION, format!("/api/admin/approvals/{id}"))];
    Ok((StatusCode::ACCEPTED, location, answer(existing(shop, id).await?)?).into_response())
}

/// Approves a request and begins its refund.
pub async fn approve(
    (State(shop), staff, PathIds(id)): StaffCallTo<SupportShoppers, RefundId>,
) -> Result<Response, Problem> {
    let approval = existing(&shop, id).await?;
    let outcome = shop.staff_refunds.approve(&approval, staff.session.user_id, staff.actor()).await?;
    decided(&shop, id, outcome).await
}

/// Why a request is declined. All staff read it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeclineRequest {
    /// Read by the person who asked.
    #[schemars(length(max = 500))]
    reason: String,
}

/// Declines a request, or withdraws one's own.
pub async fn decline(
    (State(shop), staff, PathIds(id)): StaffCallTo<SupportShoppers, RefundId>,
    Json(request): Json<DeclineRequest>,
) -> Result<Response, Problem> {
    let approval = existing(&shop, id).await?;
    let reason = StaffActionReason::check(&request.reason, "").map_err(Problem::invalid)?;
    let outcome = shop.staff_refunds.decline(&approval, staff.session.user_id, reason.by(staff.actor())).await?;
    decided(&shop, id, outcome).await
}

async fn decided(shop: &Shop, id: RefundId, outcome: DecisionAnswer) -> Result<Response, Problem> {
    match outcome {
        DecisionAnswer::Done => answer(existing(shop, id).await?),
        DecisionAnswer::Closed => {
            Err(Problem::new(Code::ChangedMeanwhile).detail("The request was decided before, or has expired."))
        }
        DecisionAnswer::Void => Err(Problem::new(Code::NotRefundable).detail(
            "The order or payment has changed, so that this refund is no longer possible. The request is void.",
        )),
        DecisionAnswer::OwnRequest => {
            Err(Problem::new(Code::Yourself)
                .detail("You asked for this refund. Another member of the staff approves it."))
        }
        DecisionAnswer::OwnPayment => {
            Err(Problem::new(Code::Yourself).detail("The payment is your own. Another member of the staff decides."))
        }
    }
}

web::operations! { "administrators"
    /// Refunds that wait for a second person, newest first
    GET "/api/admin/approvals" listApprovals = list;
        200 ApprovalList;
    /// One request
    GET "/api/admin/approvals/{approval}" showApproval = show;
        200 OneApproval;
    /// Approve a request; its refund begins, once
    POST "/api/admin/approvals/{approval}/approve" approveRefund = approve;
        200 OneApproval;
        refuses StepUpNeeded BadRequest RequestTimeout ChangedMeanwhile NotRefundable Yourself TooLarge;
    /// Decline a request, or withdraw one's own
    POST "/api/admin/approvals/{approval}/decline" declineRefund = decline;
        200 OneApproval;
        refuses ChangedMeanwhile Yourself;
}
