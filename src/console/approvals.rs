//! Refunds and packets that wait for a second person: for programs, and the console's page. Who decides needs the
//! permission for what is decided.

use crate::prelude::*;
use domain::{ApprovalStatus, RefundId, RefundKind, RefundTarget};
use orders::support::StaffActionReason;
use payments::staff_refunds::DecisionAnswer;
use store::Approval;
use web::extract::{DecideApprovals, Permission};
use web::shared::approvals::{self, ApprovalJson, OneApproval};

type Decider = Staff<DecideApprovals>;

fn check_permission(staff: &Decider, of: &Approval) -> Result<(), Problem> {
    let may = match of.kind {
        RefundKind::Packet => staff.may::<ManageSales>(),
        RefundKind::Order | RefundKind::Part | RefundKind::Case => staff.may::<SupportShoppers>(),
    };
    if may { Ok(()) } else { Err(Code::NotAllowed.into()) }
}

async fn approve_as(shop: &Shop, staff: &Decider, of: &Approval) -> Result<DecisionAnswer, Problem> {
    check_permission(staff, of)?;
    let by = staff.session.user_id;
    if of.kind != RefundKind::Packet {
        return Ok(shop.staff_refunds.approve(of, by, staff.actor()).await?);
    }
    if of.requested_by == by {
        return Ok(DecisionAnswer::OwnRequest);
    }
    let outcome = shop.packets.approve(of, by, staff.actor()).await?;
    Ok(shop.staff_refunds.answer(outcome).await?)
}

async fn decline_as(
    shop: &Shop,
    staff: &Decider,
    of: &Approval,
    reason: &StaffActionReason,
) -> Result<DecisionAnswer, Problem> {
    check_permission(staff, of)?;
    Ok(shop.staff_refunds.decline(of, staff.session.user_id, reason.by(staff.actor())).await?)
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ApprovalsQuery {
    /// Whether to list the requests that no longer wait, instead of the waiting ones.
    decided: bool,
    before: Cursor,
}

answers! {
    ApprovalList { approvals: Vec<ApprovalJson>; next: String }
}

/// Waiting requests, or requests that no longer wait, newest first.
pub async fn list((State(shop), _): StaffCall<ViewConsole>, Query(query): Query<ApprovalsQuery>) -> Answer {
    let before = query.before.read::<RefundId>("before")?.map(|id| id.to_string());
    let page = shop.staff_refunds.approvals(query.decided, before.as_deref(), LARGE_PAGE_SIZE).await?;
    let approvals = page.items.into_iter().map(ApprovalJson::from).collect();
    Ok(private(ApprovalList { approvals, next: page.next }))
}

pub async fn show((State(shop), _, PathIds(id)): StaffCallTo<ViewConsole, RefundId>) -> Answer {
    approvals::answer(&shop, id).await
}

/// Approves a request, and begins its refund or gives its packet.
pub async fn approve((State(shop), staff, PathIds(id)): StaffCallTo<DecideApprovals, RefundId>) -> Answer {
    let approval = approvals::existing(&shop, id).await?;
    let outcome = approve_as(&shop, &staff, &approval).await?;
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
) -> Answer {
    let approval = approvals::existing(&shop, id).await?;
    let reason = StaffActionReason::check(&request.reason, "").map_err(Problem::invalid)?;
    let outcome = decline_as(&shop, &staff, &approval, &reason).await?;
    decided(&shop, id, outcome).await
}

async fn decided(shop: &Shop, id: RefundId, outcome: DecisionAnswer) -> Answer {
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

const PATH: &str = "/admin/orders?show=approvals";

inputs! {
    ApprovalsPageQuery {
        before: Cursor,
        /// Lists the decided requests if it has a value.
        decided,
        /// The action that the page reports as done.
        done,
    }
}

pub async fn page(
    (State(shop), staff, visitor): StaffVisit<ViewConsole>,
    Query(query): Query<ApprovalsPageQuery>,
) -> Answer {
    let t = &words::text(visitor.locale).approvals;
    let notice = match query.done.as_str() {
        "approve" => Some(t.done_approve),
        "decline" => Some(t.done_decline),
        "packet" => Some(t.asked_packet),
        _ => None,
    };
    let before = query.before.read::<RefundId>("before")?.map(|id| id.to_string());
    let (decided, may_act) = (!query.decided.is_empty(), staff.may::<DecideApprovals>());
    let state = PageState { status: StatusCode::OK, decided, may_act, notice, warning: None, again: None };
    render(&shop, &visitor, before.as_deref(), state).await
}

/// What the page shows besides the requests.
#[derive(Debug)]
struct PageState {
    status: StatusCode,
    /// Whether these are the decided requests.
    decided: bool,
    may_act: bool,
    notice: Option<&'static str>,
    warning: Option<&'static str>,
    again: Option<RefusedForm>,
}

async fn render(shop: &Shop, visitor: &Visitor, before: Option<&str>, state: PageState) -> Answer {
    let mut found = shop.staff_refunds.approvals(state.decided, before, DEFAULT_PAGE_SIZE).await?;
    if let Some(RefusedForm(id, ..)) = &state.again
        && found.items.iter().all(|approval| approval.id.to_string() != *id)
    {
        // It stands on a later page.
        let approval = approvals::existing(shop, id.parse().map_err(|_| Code::NotFound)?).await?;
        if approval.status == ApprovalStatus::Pending {
            found.items.insert(0, approval);
        }
    }
    let decided = if state.decided { "&decided=true" } else { "" };
    let orders: Vec<OrderId> = found.items.iter().filter_map(|approval| approval.order).collect();
    let page = ApprovalsPage {
        numbers: shop.store.orders().numbers_of(&orders).await?,
        chrome: visitor.chrome_at(format!("{PATH}&lang={}{decided}", visitor.locale)),
        approvals: found.items,
        older: found.next,
        is_later: before.is_some(),
        state,
    };
    personal(page.state.status, &page)
}

/// The page again, after a form that could not be carried out.
async fn refuse(
    shop: &Shop,
    visitor: &Visitor,
    status: StatusCode,
    warning: &'static str,
    again: Option<RefusedForm>,
) -> Answer {
    let state = PageState { status, decided: false, may_act: true, notice: None, warning: Some(warning), again };
    render(shop, visitor, None, state).await
}

pub async fn approve_by_form(
    (State(shop), staff, visitor, PathIds(id)): StaffVisitTo<DecideApprovals, RefundId>,
    Form(form): Form<ConfirmForm>,
) -> Answer {
    let approval = shop.store.payments().approval(id).await?.ok_or(Code::NotFound)?;
    if !form.is_confirmed() {
        let unsure = words::problem("not_confirmed").text(visitor.locale);
        return refuse(&shop, &visitor, StatusCode::UNPROCESSABLE_ENTITY, unsure, None).await;
    }
    let outcome = approve_as(&shop, &staff, &approval).await?;
    answer(&shop, &visitor, outcome, "approve").await
}

pub async fn decline_by_form(
    (State(shop), staff, visitor, PathIds(id)): StaffVisitTo<DecideApprovals, RefundId>,
    Form(form): Form<ReasonForm>,
) -> Answer {
    let approval = shop.store.payments().approval(id).await?.ok_or(Code::NotFound)?;
    let reason = match StaffActionReason::check(&form.reason, "") {
        Ok(reason) if form.confirm == "yes" => reason,
        _ => {
            let incomplete = words::text(visitor.locale).cases.incomplete;
            let again = Some(RefusedForm(id.to_string(), "decline", form.reason));
            return refuse(&shop, &visitor, StatusCode::UNPROCESSABLE_ENTITY, incomplete, again).await;
        }
    };
    let outcome = decline_as(&shop, &staff, &approval, &reason).await?;
    answer(&shop, &visitor, outcome, "decline").await
}

async fn answer(shop: &Shop, visitor: &Visitor, outcome: DecisionAnswer, action: &str) -> Answer {
    let t = &words::text(visitor.locale).approvals;
    match outcome {
        DecisionAnswer::Done => Ok(see_other(&format!("{PATH}&lang={}&done={action}", visitor.locale))),
        DecisionAnswer::Closed => refuse(shop, visitor, StatusCode::CONFLICT, t.closed, None).await,
        DecisionAnswer::Void => refuse(shop, visitor, StatusCode::CONFLICT, t.void, None).await,
        DecisionAnswer::Disputed => refuse(shop, visitor, StatusCode::CONFLICT, t.disputed, None).await,
        DecisionAnswer::OwnRequest | DecisionAnswer::OwnPayment => {
            Err(Problem::new(Code::Yourself).back(console_link(PATH, visitor.locale)))
        }
    }
}

/// The waiting requests with the forms that approve or decline them, or the decided requests.
#[derive(Debug, Template)]
#[template(path = "approvals/approvals.html")]
struct ApprovalsPage {
    chrome: Chrome,
    state: PageState,
    approvals: Vec<Approval>,
    /// The numbers of their orders.
    numbers: HashMap<OrderId, OrderNumber>,
    /// A cursor for `before`; `None` on the last page.
    older: Option<String>,
    is_later: bool,
}

impl ApprovalsPage {
    fn number_of(&self, order: &OrderId) -> String {
        self.numbers.get(order).map(ToString::to_string).unwrap_or_default()
    }

    /// The lists of waiting and of decided requests.
    fn states(&self) -> [Tab; 2] {
        let (t, decided) = (&self.chrome.text().approvals, self.state.decided);
        let tab = |path: &str, name, is_here| Tab::new(&self.chrome, path, name, is_here);
        [tab(PATH, t.tab_open, !decided), tab(&format!("{PATH}&decided=true"), t.tab_decided, decided)]
    }

    fn entered(&self, approval: &Approval, verb: &str) -> Option<&str> {
        self.state.again.as_ref()?.entered(&approval.id.to_string(), verb)
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
