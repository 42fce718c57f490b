//! Refunds and packets that wait for a second person.

use axum::Json as Answer;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::approvals::decisions;
use crate::{StaffCall, StaffCallTo};
use domain::RefundId;
use orders::support::StaffActionReason;
use payments::staff_refunds::DecisionAnswer;
use web::Shop;
use web::cache_policy::Cache;
use web::extract::session::{DecideApprovals, ViewConsole};
use web::extract::{Json, PathIds, Query};
use web::problem::{Code, Problem};
use web::shared::approvals::{self, ApprovalJson, OneApproval};
use web::shared::pagination::{Cursor, LARGE_PAGE_SIZE};

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
    approvals::answer(&shop, id).await
}

/// Approves a request, and begins its refund or gives its packet.
pub async fn approve(
    (State(shop), staff, PathIds(id)): StaffCallTo<DecideApprovals, RefundId>,
) -> Result<Response, Problem> {
    let approval = approvals::existing(&shop, id).await?;
    let outcome = decisions::approve(&shop, &staff, &approval).await?;
    decided(&shop, id, outcome).await
}

/// Why a request is declined. All staff read it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeclineRequest {
    /// Read by the person who asked.
    #[schemars(length(min = 1, max = 500))]
    reason: String,
}

/// Declines a request, or withdraws one's own.
pub async fn decline(
    (State(shop), staff, PathIds(id)): StaffCallTo<DecideApprovals, RefundId>,
    Json(request): Json<DeclineRequest>,
) -> Result<Response, Problem> {
    let approval = approvals::existing(&shop, id).await?;
    let reason = StaffActionReason::check(&request.reason, "").map_err(Problem::invalid)?;
    let outcome = decisions::decline(&shop, &staff, &approval, &reason).await?;
    decided(&shop, id, outcome).await
}

async fn decided(shop: &Shop, id: RefundId, outcome: DecisionAnswer) -> Result<Response, Problem> {
    match outcome {
        DecisionAnswer::Done => approvals::answer(shop, id).await,
        DecisionAnswer::Closed => {
            Err(Problem::new(Code::ChangedMeanwhile).detail("The request was decided before, or has expired."))
        }
        DecisionAnswer::Void => Err(Problem::new(Code::NotRefundable)
            .detail("Things have changed, so that this is no longer possible. The request is void.")),
        DecisionAnswer::Disputed => Err(Code::PaymentDisputed.into()),
        DecisionAnswer::OwnRequest => {
            Err(Problem::new(Code::Yourself).detail("You asked for this. Another member of the staff approves it."))
        }
        DecisionAnswer::OwnPayment => {
            Err(Problem::new(Code::Yourself).detail("The payment is your own. Another member of the staff decides."))
        }
    }
}

web::operations! { "administrators"
    /// Refunds and packets that wait for a second person, newest first
    GET "/api/admin/approvals" listApprovals = list;
        200 ApprovalList;
    /// One request
    GET "/api/admin/approvals/{approval}" showApproval = show;
        200 OneApproval;
    /// Approve a request; its refund begins or its packet is given, once
    POST "/api/admin/approvals/{approval}/approve" approveRefund = approve;
        200 OneApproval;
        refuses StepUpNeeded BadRequest RequestTimeout ChangedMeanwhile NotRefundable PaymentDisputed Yourself TooLarge;
    /// Decline a request, or withdraw one's own
    POST "/api/admin/approvals/{approval}/decline" declineRefund = decline;
        200 OneApproval;
        refuses ChangedMeanwhile Yourself;
}
