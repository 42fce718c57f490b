//! The console's page of refunds and packets that wait for a second person.

use std::collections::HashMap;

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use crate::approvals::decisions;
use crate::{ConfirmForm, StaffVisit, StaffVisitTo, Tab};
use domain::{ApprovalStatus, OrderId, OrderNumber, RefundId, RefundTarget};
use orders::support::StaffActionReason;
use pages::{Chrome, filters};
use payments::staff_refunds::DecisionAnswer;
use store::Approval;
use web::Shop;
use web::extract::session::{DecideApprovals, ManageSales, Permission, SupportShoppers, ViewConsole};
use web::extract::visitor::Visitor;
use web::extract::{Form, PathIds, Query};
use web::problem::{Code, Problem};
use web::shared::negotiation::{personal, see_other};
use web::shared::pagination::{Cursor, DEFAULT_PAGE_SIZE};
use web::shared::paths::console_link;

const PATH: &str = "/admin/orders?show=approvals";

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct ApprovalsQuery {
    before: Cursor,
    /// Lists the decided requests if it has a value.
    decided: String,
    /// The action that the page reports as done.
    done: String,
}

pub async fn list(
    (State(shop), staff, visitor): StaffVisit<ViewConsole>,
    Query(query): Query<ApprovalsQuery>,
) -> Result<Response, Problem> {
    let t = &words::text(visitor.locale).approvals;
    let notice = match query.done.as_str() {
        "approve" => Some(t.done_approve),
        "decline" => Some(t.done_decline),
        "packet" => Some(t.asked_packet),
        _ => None,
    };
    let before = query.before.read::<RefundId>("before")?.map(|id| id.to_string());
    let (decided, may_act) = (!query.decided.is_empty(), staff.may::<DecideApprovals>());
    let state = PageState { status: StatusCode::OK, decided, may_act, notice, warning: None };
    page(&shop, &visitor, before.as_deref(), state).await
}

/// What the page shows besides the requests.
struct PageState {
    status: StatusCode,
    decided: bool,
    may_act: bool,
    notice: Option<&'static str>,
    warning: Option<&'static str>,
}

async fn page(shop: &Shop, visitor: &Visitor, before: Option<&str>, state: PageState) -> Result<Response, Problem> {
    let found = shop.staff_refunds.approvals(state.decided, before, DEFAULT_PAGE_SIZE).await?;
    let decided = if state.decided { "&decided=true" } else { "" };
    let orders: Vec<OrderId> = found.items.iter().filter_map(|approval| approval.order).collect();
    let page = ApprovalsPage {
        numbers: shop.store.orders().numbers_of(&orders).await?,
        chrome: visitor.chrome_at(format!("{PATH}&lang={}{decided}", visitor.locale)),
        decided: state.decided,
        approvals: found.items,
        older: found.next,
        is_later: before.is_some(),
        may_act: state.may_act,
        notice: state.notice,
        warning: state.warning,
    };
    personal(state.status, &page)
}

/// The page again, after a form that could not be carried out.
async fn refuse(
    shop: &Shop,
    visitor: &Visitor,
    status: StatusCode,
    warning: &'static str,
) -> Result<Response, Problem> {
    page(shop, visitor, None, PageState { status, decided: false, may_act: true, notice: None, warning: Some(warning) })
        .await
}

pub async fn approve(
    (State(shop), staff, visitor, PathIds(id)): StaffVisitTo<DecideApprovals, RefundId>,
    Form(form): Form<ConfirmForm>,
) -> Result<Response, Problem> {
    let approval = shop.store.payments().approval(id).await?.ok_or(Code::NotFound)?;
    if !form.is_confirmed() {
        let unsure = words::problem("not_confirmed").text(visitor.locale);
        return refuse(&shop, &visitor, StatusCode::UNPROCESSABLE_ENTITY, unsure).await;
    }
    let outcome = decisions::approve(&shop, &staff, &approval).await?;
    answer(&shop, &visitor, outcome, "approve").await
}

/// The form that declines a request.
#[derive(Deserialize)]
pub struct DeclineForm {
    #[serde(default)]
    reason: String,
    #[serde(default)]
    confirm: String,
}

pub async fn decline(
    (State(shop), staff, visitor, PathIds(id)): StaffVisitTo<DecideApprovals, RefundId>,
    Form(form): Form<DeclineForm>,
) -> Result<Response, Problem> {
    let approval = shop.store.payments().approval(id).await?.ok_or(Code::NotFound)?;
    let reason = match StaffActionReason::check(&form.reason, "") {
        Ok(reason) if form.confirm == "yes" => reason,
        _ => {
            let incomplete = words::text(visitor.locale).cases.incomplete;
            return refuse(&shop, &visitor, StatusCode::UNPROCESSABLE_ENTITY, incomplete).await;
        }
    };
    let outcome = decisions::decline(&shop, &staff, &approval, &reason).await?;
    answer(&shop, &visitor, outcome, "decline").await
}

async fn answer(shop: &Shop, visitor: &Visitor, outcome: DecisionAnswer, action: &str) -> Result<Response, Problem> {
    let t = &words::text(visitor.locale).approvals;
    match outcome {
        DecisionAnswer::Done => Ok(see_other(&format!("{PATH}&lang={}&done={action}", visitor.locale))),
        DecisionAnswer::Closed => refuse(shop, visitor, StatusCode::CONFLICT, t.closed).await,
        DecisionAnswer::Void => refuse(shop, visitor, StatusCode::CONFLICT, t.void).await,
        DecisionAnswer::Disputed => {
            refuse(shop, visitor, StatusCode::CONFLICT, words::problem("payment_disputed").text(visitor.locale)).await
        }
        DecisionAnswer::OwnRequest | DecisionAnswer::OwnPayment => {
            Err(Problem::new(Code::Yourself).back(console_link(PATH, visitor.locale)))
        }
    }
}

/// The waiting requests with the forms that approve or decline them, or the decided requests.
#[derive(Debug, Template)]
#[template(path = "approvals/approvals.html")]
pub struct ApprovalsPage {
    pub chrome: Chrome,
    /// Whether these are the decided requests.
    pub decided: bool,
    pub approvals: Vec<Approval>,
    /// The numbers of their orders.
    pub numbers: HashMap<OrderId, OrderNumber>,
    /// A cursor for `before`; `None` on the last page.
    pub older: Option<String>,
    pub is_later: bool,
    pub may_act: bool,
    pub notice: Option<&'static str>,
    pub warning: Option<&'static str>,
}

impl ApprovalsPage {
    fn number_of(&self, order: &OrderId) -> String {
        self.numbers.get(order).map(ToString::to_string).unwrap_or_default()
    }

    /// The lists of waiting and of decided requests.
    fn states(&self) -> [Tab; 2] {
        let t = &self.chrome.text().approvals;
        let tab = |path: &str, name, is_here| Tab::new(&self.chrome, path, name, is_here);
        [tab(PATH, t.tab_open, !self.decided), tab(&format!("{PATH}&decided=true"), t.tab_decided, self.decided)]
    }

    /// Whether the member of the staff who reads the page made the request.
    fn is_own(&self, approval: &Approval) -> bool {
        self.chrome.username.as_ref() == Some(&approval.requester)
    }

    /// The forms of a request: last segment of the path, label, explanation, and the label of the reason if it takes
    /// one.
    fn actions(&self, approval: &Approval) -> Vec<(&'static str, &'static str, &'static str, &'static str)> {
        let t = &self.chrome.text().approvals;
        let roles = if approval.packet.is_some() { ManageSales::ROLES } else { SupportShoppers::ROLES };
        if !roles.contains(&self.chrome.role) {
            return Vec::new();
        }
        if self.is_own(approval) {
            return vec![("decline", t.withdraw, t.withdraw_text, t.why)];
        }
        let about = if approval.packet.is_some() { t.approve_packet_text } else { t.approve_text };
        vec![("approve", t.approve, about, ""), ("decline", t.decline, t.decline_text, t.why)]
    }
}
