//! Payments that need attention.

use axum::Json as Answer;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{StaffCall, StaffCallTo};
use domain::{CaseKind, DisputeState, Money, OrderId, PaymentId, PaymentStatus, RefundId};
use orders::support::{StaffActionOutcome, StaffActionReason};
use payments::staff_refunds::RefundAnswer;
use store::{Dispute, Payment, PaymentCase, RefundRefusal, Settlement, StaffRefund};
use web::Shop;
use web::cache_policy::Cache;
use web::extract::session::{SupportShoppers, ViewConsole};
use web::extract::{Json, PathIds, Query};
use web::idempotency::Repeatable;
use web::problem::{Code, Problem};
use web::shared::approvals;
use web::shared::pagination::{Cursor, LARGE_PAGE_SIZE};

/// A case as the API shows it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct CaseJson {
    #[schemars(extend("format" = "uuid"))]
    id: String,
    kind: CaseKind,
    /// As the provider reported it; it need not be a payment of the shop.
    payment_id: String,
    /// The partial refund that the case is about.
    refund_id: Option<RefundId>,
    reported: Option<Money>,
    details: String,
    /// How far the dispute is, if the case is about one and the provider tells it.
    #[serde(skip_serializing_if = "Option::is_none")]
    dispute: Option<DisputeJson>,
    opened_at: Timestamp,
    /// `null` if the shop has no such payment.
    payment: Option<CasePayment>,
    /// `null` while it is open.
    settled: Option<SettledJson>,
}

/// The shop's payment that a case is about.
#[derive(Serialize, JsonSchema)]
struct CasePayment {
    id: PaymentId,
    /// `null` for a top-up of a wallet.
    order_id: Option<OrderId>,
    provider: String,
    status: PaymentStatus,
    amount: Money,
}

#[derive(Serialize, JsonSchema)]
struct DisputeJson {
    /// The provider's own name of it.
    id: String,
    state: DisputeState,
    /// Until when the provider takes an answer to it.
    respond_by: Option<Timestamp>,
}

#[derive(Serialize, JsonSchema)]
struct SettledJson {
    at: Timestamp,
    /// `null` if refunding the money, or winning the dispute, settled the case.
    by: Option<String>,
    reason: Option<String>,
}

impl From<PaymentCase> for CaseJson {
    fn from(case: PaymentCase) -> Self {
        let order_id = case.order();
        let payment = case.payment.map(|Payment { id, provider, amount, status, .. }| CasePayment {
            id,
            order_id,
            provider,
            status,
            amount,
        });
        let settled = case.settlement.map(|Settlement { at, by, note }| SettledJson { at, by, reason: note });
        CaseJson {
            id: case.id,
            kind: case.kind,
            payment_id: case.payment_id,
            refund_id: case.part,
            reported: case.reported,
            details: case.details,
            dispute: case.dispute.map(|Dispute { id, state, respond_by }| DisputeJson { id, state, respond_by }),
            opened_at: case.opened_at,
            payment,
            settled,
        }
    }
}

#[derive(Deserialize, JsonSchema)]
pub struct CasesQuery {
    /// Whether to list the settled cases instead of the open ones.
    #[serde(default)]
    settled: bool,
    #[serde(default)]
    before: Cursor,
}

#[derive(Serialize, JsonSchema)]
struct CaseList {
    cases: Vec<CaseJson>,
    /// For `?before=`; `null` on the last page.
    next: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct OneCase {
    case: CaseJson,
}

/// Open cases, or settled ones, newest first.
pub async fn list(
    (State(shop), _): StaffCall<ViewConsole>,
    Query(query): Query<CasesQuery>,
) -> Result<Response, Problem> {
    let before = query.before.read::<Uuid>("before")?.map(|id| id.to_string());
    let page = shop.payments.cases(query.settled, before.as_deref(), LARGE_PAGE_SIZE).await?;
    let cases = page.items.into_iter().map(CaseJson::from).collect();
    Ok((Cache::Private, Answer(CaseList { cases, next: page.next })).into_response())
}

pub async fn show((State(shop), _, PathIds(id)): StaffCallTo<ViewConsole, Uuid>) -> Result<Response, Problem> {
    answer(existing_case(&shop, id).await?)
}

async fn existing_case(shop: &Shop, id: Uuid) -> Result<PaymentCase, Problem> {
    shop.store.payments().payment_case(&id.to_string()).await?.ok_or(Code::NotFound.into())
}

fn answer(case: PaymentCase) -> Result<Response, Problem> {
    Ok((Cache::Private, Answer(OneCase { case: case.into() })).into_response())
}

/// The reason. Only staff read it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CaseRequest {
    /// Kept with the case and in the audit log.
    #[schemars(length(min = 1, max = 500))]
    reason: String,
    /// Of a refund: whether it is made although the payment is disputed.
    #[serde(default)]
    disputed: bool,
}

/// Asks the provider for a refund, or asks once more. Money about which nothing was decided yet may need a second
/// person.
pub async fn refund(
    (State(shop), staff, PathIds(id)): StaffCallTo<SupportShoppers, Uuid>,
    repeatable: Repeatable,
    Json(request): Json<CaseRequest>,
) -> Result<Response, Problem> {
    let case = existing_case(&shop, id).await?;
    let reason = StaffActionReason::check(&request.reason, "").map_err(Problem::invalid)?;
    let (by, what) = (staff.session.user_id, StaffRefund::Case(&case));
    let if_disputed = request.disputed.into();
    match shop.staff_refunds.refund(repeatable.refund(), what, by, reason.by(staff.actor()), if_disputed).await? {
        RefundAnswer::Begun => answer(existing_case(&shop, id).await?),
        RefundAnswer::Waits(id) => approvals::accepted(&shop, id).await,
        RefundAnswer::OtherWaits => Err(Code::AwaitsApproval.into()),
        RefundAnswer::OwnPayment => Err(Problem::new(Code::Yourself).detail(OWN_PAYMENT)),
        RefundAnswer::Refused(RefundRefusal::Disputed) => Err(Code::PaymentDisputed.into()),
        RefundAnswer::Refused(_) => Err(Problem::new(Code::ChangedMeanwhile).detail(WRONG_STATUS)),
    }
}

/// Settles a case. A failed refund then counts as made.
pub async fn settle(
    (State(shop), staff, PathIds(id)): StaffCallTo<SupportShoppers, Uuid>,
    Json(request): Json<CaseRequest>,
) -> Result<Response, Problem> {
    let case = existing_case(&shop, id).await?;
    let reason = StaffActionReason::check(&request.reason, "").map_err(Problem::invalid)?;
    match shop.payments.settle_case(&case, staff.session.user_id, reason.by(staff.actor())).await? {
        StaffActionOutcome::Done => answer(existing_case(&shop, id).await?),
        StaffActionOutcome::OwnOrder => Err(Problem::new(Code::Yourself).detail(OWN_PAYMENT)),
        StaffActionOutcome::WrongStatus => Err(Problem::new(Code::ChangedMeanwhile).detail(WRONG_STATUS)),
    }
}

const OWN_PAYMENT: &str = "The payment is your own. Another member of the staff has to do this.";
const WRONG_STATUS: &str = "The case is settled, or its payment is in no state for this. Load it again.";

web::operations! { "administrators"
    /// Payments that need attention, newest first
    GET "/api/admin/payment-cases" listPaymentCases = list;
        200 CaseList;
    /// One case
    GET "/api/admin/payment-cases/{case}" showPaymentCase = show;
        200 OneCase;
    /// Ask the provider for a refund, or once more
    POST "/api/admin/payment-cases/{case}/refund" refundPaymentCase = refund, located;
        200 OneCase;
        202 approvals::OneApproval, "Beyond what one person refunds alone within a day: it waits for a second one.";
        refuses StepUpNeeded ChangedMeanwhile Yourself PaymentDisputed AwaitsApproval;
    /// Settle a case; a refund that failed counts as made
    POST "/api/admin/payment-cases/{case}/settle" settlePaymentCase = settle, repeatable;
        200 OneCase;
        refuses ChangedMeanwhile Yourself;
}
