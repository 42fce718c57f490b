//! The console's page of payments that need attention.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use uuid::Uuid;

use crate::payment_cases::view::PaymentCasesPage;
use crate::{StaffVisit, StaffVisitTo};
use domain::{OrderId, RefundId};
use orders::support::{StaffActionOutcome, StaffActionReason};
use payments::staff_refunds::RefundAnswer;
use store::{CaseAction, IfDisputed, PaymentCase, RefundRefusal, StaffRefund};
use web::Shop;
use web::extract::session::{SupportShoppers, ViewConsole};
use web::extract::visitor::Visitor;
use web::extract::{Form, PathIds, Query};
use web::problem::{Code, Problem};
use web::shared::negotiation::{personal, see_other};
use web::shared::pagination::{Cursor, DEFAULT_PAGE_SIZE};
use web::shared::paths::console_link;

pub(super) const PATH: &str = "/admin/orders?show=payments";

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct CasesQuery {
    before: Cursor,
    /// Lists the settled cases if it has a value.
    settled: String,
    /// The action that the page reports as done.
    done: String,
}

pub async fn list(
    (State(shop), staff, visitor): StaffVisit<ViewConsole>,
    Query(query): Query<CasesQuery>,
) -> Result<Response, Problem> {
    let t = &words::text(visitor.locale).cases;
    let notice = match query.done.as_str() {
        "refund" => Some(t.done_refund),
        "settle" => Some(t.done_settle),
        "asked" => Some(words::text(visitor.locale).approvals.asked),
        _ => None,
    };
    let before = query.before.read::<Uuid>("before")?.map(|id| id.to_string());
    let may_act = staff.may::<SupportShoppers>();
    let state =
        PageState { status: StatusCode::OK, settled: !query.settled.is_empty(), may_act, notice, warning: None };
    page(&shop, &visitor, before.as_deref(), state).await
}

/// What the page shows besides the cases.
struct PageState {
    status: StatusCode,
    settled: bool,
    may_act: bool,
    notice: Option<&'static str>,
    warning: Option<&'static str>,
}

async fn page(shop: &Shop, visitor: &Visitor, before: Option<&str>, state: PageState) -> Result<Response, Problem> {
    let found = shop.payments.cases(state.settled, before, DEFAULT_PAGE_SIZE).await?;
    let settled = if state.settled { "&settled=true" } else { "" };
    let orders: Vec<OrderId> = found.items.iter().filter_map(PaymentCase::order).collect();
    let page = PaymentCasesPage {
        numbers: shop.store.orders().numbers_of(&orders).await?,
        chrome: visitor.chrome_at(format!("{PATH}&lang={}{}", visitor.locale, settled)),
        settled: state.settled,
        cases: found.items,
        older: found.next,
        is_later: before.is_some(),
        may_act: state.may_act,
        notice: state.notice,
        warning: state.warning,
    };
    personal(state.status, &page)
}

/// The form of an action on a case.
#[derive(Deserialize)]
pub struct CaseForm {
    #[serde(default)]
    reason: String,
    #[serde(default)]
    confirm: String,
}

pub async fn refund(
    visit: StaffVisitTo<SupportShoppers, Uuid>,
    Form(form): Form<CaseForm>,
) -> Result<Response, Problem> {
    act(visit, CaseAction::Refund, form).await
}

pub async fn settle(
    visit: StaffVisitTo<SupportShoppers, Uuid>,
    Form(form): Form<CaseForm>,
) -> Result<Response, Problem> {
    act(visit, CaseAction::Settle, form).await
}

async fn act(
    (State(shop), staff, visitor, PathIds(id)): StaffVisitTo<SupportShoppers, Uuid>,
    action: CaseAction,
    form: CaseForm,
) -> Result<Response, Problem> {
    let case = shop.store.payments().payment_case(&id.to_string()).await?.filter(PaymentCase::is_open);
    let case = case.ok_or(Code::NotFound)?;
    let t = &words::text(visitor.locale).cases;
    let refuse = async |status, warning| {
        let state = PageState { status, settled: false, may_act: true, notice: None, warning: Some(warning) };
        page(&shop, &visitor, None, state).await
    };
    let reason = match StaffActionReason::check(&form.reason, "") {
        Ok(reason) if form.confirm == "yes" => reason,
        _ => return refuse(StatusCode::UNPROCESSABLE_ENTITY, t.incomplete).await,
    };
    let (by, reason) = (staff.session.user_id, reason.by(staff.actor()));
    let path = console_link(PATH, visitor.locale);
    if action == CaseAction::Refund {
        let refund = RefundId(Uuid::now_v7());
        return match shop.staff_refunds.refund(refund, StaffRefund::Case(&case), by, reason, IfDisputed::Refuse).await?
        {
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
