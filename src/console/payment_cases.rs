//! Payments that need attention: for programs, and the console's page.

use std::collections::HashSet;

use crate::orders::page::StaffActionForm;
use crate::prelude::*;
use domain::{CaseKind, DisputeState, PaymentId, RefundId};
use orders::support::{StaffActionOutcome, StaffActionReason};
use payments::staff_refunds::RefundAnswer;
use store::{CaseAction, Dispute, Payment, PaymentCase, RefundRefusal, Settlement, StaffRefund};
use web::shared::approvals;
use words::CasesText;

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

#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CasesQuery {
    /// Whether to list the settled cases instead of the open ones.
    settled: bool,
    before: Cursor,
}

answers! {
    CaseList { cases: Vec<CaseJson>; next: String }
    OneCase { case: CaseJson }
}

/// Open cases, or settled ones, newest first.
pub async fn list((State(shop), _): StaffCall<ViewConsole>, Query(query): Query<CasesQuery>) -> Answer {
    let before = query.before.read::<Uuid>("before")?.map(|id| id.to_string());
    let page = shop.payments.cases(query.settled, before.as_deref(), LARGE_PAGE_SIZE).await?;
    let cases = page.items.into_iter().map(CaseJson::from).collect();
    Ok(private(CaseList { cases, next: page.next }))
}

pub async fn show((State(shop), _, PathIds(id)): StaffCallTo<ViewConsole, Uuid>) -> Answer {
    answer(existing_case(&shop, id).await?)
}

async fn existing_case(shop: &Shop, id: Uuid) -> Result<PaymentCase, Problem> {
    shop.store.payments().payment_case(&id.to_string()).await?.ok_or(Code::NotFound.into())
}

fn answer(case: PaymentCase) -> Answer {
    Ok(private(OneCase { case: case.into() }))
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
) -> Answer {
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
) -> Answer {
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

pub(super) const PATH: &str = "/admin/orders?show=payments";

inputs! {
    CasesPageQuery {
        before: Cursor,
        /// Lists the settled cases if it has a value.
        settled,
        /// The action that the page reports as done.
        done,
    }
}

pub async fn page(
    (State(shop), staff, visitor): StaffVisit<ViewConsole>,
    Query(query): Query<CasesPageQuery>,
) -> Answer {
    let t = &words::text(visitor.locale).cases;
    let notice = match query.done.as_str() {
        "refund" => Some(t.done_refund),
        "settle" => Some(t.done_settle),
        "asked" => Some(words::text(visitor.locale).approvals.asked),
        _ => None,
    };
    let before = query.before.read::<Uuid>("before")?.map(|id| id.to_string());
    let may_act = staff.may::<SupportShoppers>();
    let settled = !query.settled.is_empty();
    let state = PageState { status: StatusCode::OK, settled, may_act, notice, warning: None, again: None };
    render(&shop, &visitor, before.as_deref(), state).await
}

/// What the page shows besides the cases.
#[derive(Debug)]
struct PageState {
    status: StatusCode,
    /// Whether these are the settled cases.
    settled: bool,
    may_act: bool,
    notice: Option<&'static str>,
    warning: Option<&'static str>,
    again: Option<RefusedForm>,
}

async fn render(shop: &Shop, visitor: &Visitor, before: Option<&str>, state: PageState) -> Answer {
    let mut found = shop.payments.cases(state.settled, before, DEFAULT_PAGE_SIZE).await?;
    if let Some(RefusedForm(id, ..)) = &state.again
        && found.items.iter().all(|case| case.id != *id)
    {
        // It stands on a later page.
        let case = shop.store.payments().payment_case(id).await?;
        found.items.splice(0..0, case.filter(PaymentCase::is_open));
    }
    let settled = if state.settled { "&settled=true" } else { "" };
    let orders: Vec<OrderId> = found.items.iter().filter_map(PaymentCase::order).collect();
    let page = PaymentCasesPage {
        disputed: shop.store.payments().disputed_among(&orders).await?,
        numbers: shop.store.orders().numbers_of(&orders).await?,
        chrome: visitor.chrome_at(format!("{PATH}&lang={}{}", visitor.locale, settled)),
        cases: found.items,
        older: found.next,
        is_later: before.is_some(),
        state,
    };
    personal(page.state.status, &page)
}

type Visit = StaffVisitTo<SupportShoppers, Uuid>;

handlers! {
    act(visit: Visit, form: Form<StaffActionForm>)
    refund_by_form CaseAction::Refund;
    settle_by_form CaseAction::Settle;
}

async fn act(
    (State(shop), staff, visitor, PathIds(id)): Visit,
    Form(form): Form<StaffActionForm>,
    action: CaseAction,
) -> Answer {
    let case = shop.store.payments().payment_case(&id.to_string()).await?.filter(PaymentCase::is_open);
    let case = case.ok_or(Code::NotFound)?;
    let t = &words::text(visitor.locale).cases;
    let refuse = async |status, warning| {
        let verb = if action == CaseAction::Refund { "refund" } else { "settle" };
        let again = Some(RefusedForm(case.id.clone(), verb, form.reason.clone()));
        let state = PageState { status, settled: false, may_act: true, notice: None, warning: Some(warning), again };
        render(&shop, &visitor, None, state).await
    };
    let reason = match StaffActionReason::check(&form.reason, "") {
        Ok(reason) if form.confirm == "yes" => reason,
        _ => return refuse(StatusCode::UNPROCESSABLE_ENTITY, t.incomplete).await,
    };
    let (by, reason) = (staff.session.user_id, reason.by(staff.actor()));
    let path = console_link(PATH, visitor.locale);
    if action == CaseAction::Refund {
        let (refund, if_disputed) = (RefundId(Uuid::now_v7()), (form.disputed == "yes").into());
        return match shop.staff_refunds.refund(refund, StaffRefund::Case(&case), by, reason, if_disputed).await? {
            RefundAnswer::Begun => Ok(see_other(&format!("{path}&done=refund"))),
            RefundAnswer::Waits(_) => Ok(see_other(&format!("{path}&done=asked"))),
            RefundAnswer::OwnPayment => Err(Problem::new(Code::Yourself).back(path)),
            RefundAnswer::OtherWaits => {
                refuse(StatusCode::CONFLICT, words::problem("awaits_approval").text(visitor.locale)).await
            }
            RefundAnswer::Refused(RefundRefusal::Disputed) => {
                refuse(StatusCode::CONFLICT, words::problem("payment_disputed").text(visitor.locale)).await
            }
            RefundAnswer::Refused(_) => refuse(StatusCode::CONFLICT, t.changed).await,
        };
    }
    match shop.payments.settle_case(&case, by, reason).await? {
        StaffActionOutcome::Done => Ok(see_other(&format!("{path}&done=settle"))),
        StaffActionOutcome::OwnOrder => Err(Problem::new(Code::Yourself).back(path)),
        StaffActionOutcome::WrongStatus => refuse(StatusCode::CONFLICT, t.changed).await,
    }
}

/// The open cases, with the forms that ask for a refund or settle them, or the settled cases.
#[derive(Debug, Template)]
#[template(path = "payment_cases/payment_cases.html")]
struct PaymentCasesPage {
    chrome: Chrome,
    state: PageState,
    cases: Vec<PaymentCase>,
    /// Their orders of which a payment was disputed.
    disputed: HashSet<OrderId>,
    /// The numbers of their orders.
    numbers: HashMap<OrderId, OrderNumber>,
    /// A cursor for `before`; `None` on the last page.
    older: Option<String>,
    is_later: bool,
}

impl PaymentCasesPage {
    fn number_of(&self, order: &OrderId) -> String {
        self.numbers.get(order).map(ToString::to_string).unwrap_or_default()
    }

    fn entered(&self, case: &PaymentCase, verb: &str) -> Option<&str> {
        self.state.again.as_ref()?.entered(&case.id, verb)
    }

    /// Whether an action has to be confirmed because the payment is or was disputed.
    fn asks(&self, case: &PaymentCase, verb: &str) -> bool {
        verb == "refund" && case.order_in_question().is_some_and(|order| self.disputed.contains(&order))
    }

    /// The lists of open and of settled cases.
    fn states(&self) -> [Tab; 2] {
        let (t, settled) = (&self.chrome.text().cases, self.state.settled);
        let tab = |path: &str, name, is_here| Tab::new(&self.chrome, path, name, is_here);
        [tab(PATH, t.tab_open, !settled), tab(&format!("{PATH}&settled=true"), t.tab_settled, settled)]
    }
}

/// The actions on a case: last segment of the path, label, explanation.
pub(crate) fn actions(t: &CasesText, case: &PaymentCase) -> Vec<(&'static str, &'static str, &'static str)> {
    let refund = case.takes_refund().then_some(("refund", t.refund, t.refund_text));
    let text = if case.settles_as_refunded() { t.settle_failed_text } else { t.settle_text };
    refund.into_iter().chain([("settle", t.settle, text)]).collect()
}

/// What settled a case that no member of the staff has settled.
pub(crate) fn settled_by_itself(t: &CasesText, case: &PaymentCase) -> &'static str {
    if case.kind == CaseKind::Disputed { t.by_win } else { t.by_refund }
}

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
