//! The console's pages about orders: the search, one order with its history and payments, and its cancellation or
//! refund.

use crate::linked_accounts::holds::HoldFormState;
use crate::lists::saved_views::list_bar;
use crate::orders::parcels::ParcelForm;
use crate::orders::returns::ReturnForm;
use crate::orders::reveal_recipient;
use crate::orders::search::OrderSearchQuery;
use crate::orders::view::{AdminOrderPage, AdminOrdersPage};
use crate::prelude::*;
use domain::invoice::Invoice;
use domain::{Address, RefundTarget};
use orders::support::{StaffActionOutcome, StaffActionReason, check_reveal_reason};
use payments::staff_refunds::RefundAnswer;
use store::{NewPartialRefund, RefundRefusal, StaffAction, StaffRefund};
use web::views::AddressView;

pub async fn list(
    (State(shop), staff, visitor): StaffVisit<ViewConsole>,
    RawQuery(raw): RawQuery,
    Query(mut query): Query<OrderSearchQuery>,
) -> Answer {
    let bar = list_bar(&shop, staff.session.user_id, visitor.locale, ConsoleList::Orders, raw.as_deref()).await?;
    let mut totals = None;
    let (status, found, errors) = match query.read(&shop.store).await? {
        Ok(parsed) => {
            if let Some(search) = parsed.search.as_ref().filter(|_| !query.given().is_empty()) {
                totals = Some(shop.store.orders().sum(search).await?);
            }
            let found = shop.orders.search(parsed.search.as_ref(), parsed.limit).await?;
            (StatusCode::OK, found, Vec::new())
        }
        Err(errors) => (StatusCode::UNPROCESSABLE_ENTITY, Page { items: Vec::new(), next: None }, errors),
    };
    let sales = shop.catalogue.entries();
    let sales = sales.iter().map(|entry| (entry.sale.id, entry.goods.name.get(visitor.locale).to_owned())).collect();
    let chrome = visitor.chrome_at(format!("/admin/orders?lang={}", visitor.locale));
    if query.user.trim().is_empty() {
        query.user = std::mem::take(&mut query.username);
    }
    let older = found.next.map(|id| id.to_string());
    personal(
        status,
        &AdminOrdersPage {
            chrome,
            rows: found.items,
            older,
            sales,
            query,
            errors,
            bar,
            totals,
            may_act: staff.may::<SupportShoppers>(),
        },
    )
}

pub async fn show(
    (State(shop), staff, visitor, PathIds(id)): StaffVisitTo<ViewConsole, OrderId>,
    Query(NoticeQuery { done }): Query<NoticeQuery>,
) -> Answer {
    let order = shop.store.orders().order_with_id(id).await?.ok_or(Code::NotFound)?;
    let state = OrderPageState { done, may_act: staff.may::<SupportShoppers>(), ..OrderPageState::default() };
    page(&shop, &visitor, order, StatusCode::OK, state).await
}

/// What the page shows besides the order.
#[derive(Debug, Default)]
pub(crate) struct OrderPageState {
    /// The action that the page reports as done: `cancel`, `refund`, `refund-part`, `asked`.
    pub(crate) done: String,
    pub(crate) may_act: bool,
    pub(crate) form: StaffActionForm,
    pub(crate) hold_form: HoldFormState,
    pub(crate) part: PartialRefundForm,
    pub(crate) parcel: ParcelForm,
    pub(crate) returned: ReturnForm,
    pub(crate) reveal: RevealForm,
    /// The recipient in full, shown only in this answer.
    pub(crate) recipient: Option<Address>,
}

impl OrderPageState {
    /// The page for a member of the staff who may act, before a form is shown on it again.
    pub(crate) fn acting() -> OrderPageState {
        OrderPageState { may_act: true, ..OrderPageState::default() }
    }
}

pub(crate) async fn page(
    shop: &Shop,
    visitor: &Visitor,
    mut order: Order,
    status: StatusCode,
    state: OrderPageState,
) -> Answer {
    order.mask_recipient();
    let order_id = order.id;
    let entry = shop.catalogue.entry(order.sale_id).await?;
    let chrome = visitor.chrome_at(format!("/admin/orders/{}?lang={}", order.id, visitor.locale));
    let page = AdminOrderPage {
        chrome,
        goods_name: goods_name_and_cover(entry.as_deref(), visitor.locale).0,
        username: shop.store.accounts().user(order.user_id).await?.map(|user| user.username),
        steps: shop.store.orders().steps(&order).await?,
        is_disputed: !shop.store.payments().disputed_among(&[order.id]).await?.is_empty(),
        payments: shop.store.payments().payments_of(order.id).await?,
        cases: shop.store.payments().cases_of(order.id).await?,
        approvals: shop.store.payments().approvals_of(order.id).await?,
        is_own: visitor.session.as_ref().is_some_and(|session| session.user_id == order.user_id),
        address: state.recipient.as_ref().or(order.address.as_deref()).map(|at| AddressView::of(at, visitor.locale)),
        order,
        holds: shop.store.orders().holds_of(order_id).await?,
        parcel: shop.store.orders().parcel_of(order_id).await?,
        returned: shop.store.orders().return_of(order_id).await?,
        invoice: shop.store.orders().invoice_of(order_id).await?.map(Invoice::masked),
        shown: state,
        reference: shop.store.orders().reference_of(order_id).await?,
    };
    personal(status, &page)
}

inputs! {
    /// The form that reveals the recipient.
    RevealForm {
        reason,
        /// The code that says what is wrong with the reason.
        #[serde(skip)]
        error: Option<&'static str>,
    }
    /// The form of a cancellation or refund.
    StaffActionForm {
        reason, message, confirm,
        /// Whether a refund is made although the payment is disputed.
        disputed,
        #[serde(skip)]
        errors: Vec<FieldError>,
        /// The order was no longer in a state that allows the action.
        #[serde(skip)]
        changed: bool,
        /// Another refund of the order waits for a second person.
        #[serde(skip)]
        waits: bool,
    }
    /// The form of a partial refund.
    PartialRefundForm {
        amount, to, reason, message, confirm, disputed,
        #[serde(skip)]
        errors: Vec<FieldError>,
    }
}

/// The page with the recipient in full. The audit log records the reason.
pub async fn recipient(
    (State(shop), staff, visitor, PathIds(id)): StaffVisitTo<ReadAddresses, OrderId>,
    ClientAddress(client): ClientAddress,
    Form(form): Form<RevealForm>,
) -> Answer {
    let order = shop.store.orders().order_with_id(id).await?.ok_or(Code::NotFound)?;
    let mut state = OrderPageState { may_act: staff.may::<SupportShoppers>(), ..OrderPageState::default() };
    match check_reveal_reason(&form.reason) {
        Ok(checked) => state.recipient = reveal_recipient(&shop, &staff, client, &order, &checked).await?,
        Err(code) => {
            state.reveal = RevealForm { error: Some(code), ..form };
            return page(&shop, &visitor, order, StatusCode::UNPROCESSABLE_ENTITY, state).await;
        }
    }
    page(&shop, &visitor, order, StatusCode::OK, state).await
}

/// What is wrong with a form that moves money: the amount as entered, if it is wrong, its texts, and its confirmation.
pub(crate) fn form_errors(
    wrong_amount: Option<&str>,
    texts: Option<Vec<(&'static str, &'static str)>>,
    confirm: &str,
) -> Vec<FieldError> {
    let amount = wrong_amount.map(|typed| ("amount", if typed.trim().is_empty() { "required" } else { "bad_amount" }));
    let sure = (confirm != "yes").then_some(("sure", "not_confirmed"));
    let all = amount.into_iter().chain(texts.unwrap_or_default()).chain(sure);
    all.map(|(field, code)| FieldError { field, code }).collect()
}

type Visit = StaffVisitTo<SupportShoppers, OrderId>;

handlers! {
    act(visit: Visit, repeatable: Repeatable, form: Form<StaffActionForm>)
    cancel StaffAction::Cancel;
    refund StaffAction::Refund;
}

pub async fn refund_part(
    (State(shop), staff, visitor, PathIds(id)): Visit,
    repeatable: Repeatable,
    Form(mut form): Form<PartialRefundForm>,
) -> Answer {
    let order = shop.store.orders().order_with_id(id).await?.ok_or(Code::NotFound)?;
    let amount = price(&form.amount, order.amount.currency).filter(|amount| amount.amount > 0);
    let reason = StaffActionReason::check(&form.reason, &form.message);
    let show_again = async |part: PartialRefundForm, order: Order| {
        let state = OrderPageState { part, ..OrderPageState::acting() };
        page(&shop, &visitor, order, StatusCode::UNPROCESSABLE_ENTITY, state).await
    };
    let (amount, reason) = match (amount, reason) {
        (Some(amount), Ok(reason)) if form.confirm == "yes" => (amount, reason),
        (amount, reason) => {
            let wrong_amount = amount.is_none().then_some(form.amount.as_str());
            form.errors = form_errors(wrong_amount, reason.err(), &form.confirm);
            return show_again(form, order).await;
        }
    };
    let (refund, to) = (repeatable.refund(), form.to.parse().unwrap_or(RefundTarget::Payer));
    let what = StaffRefund::Part(NewPartialRefund { id: refund, order: id, amount, to });
    let (by, if_disputed) = (staff.session.user_id, (form.disputed == "yes").into());
    let answer = shop.staff_refunds.refund(refund, what, by, reason.by(staff.actor()), if_disputed).await?;
    let (field, code) = match answer {
        RefundAnswer::Refused(RefundRefusal::Disputed) => ("disputed", "not_confirmed"),
        RefundAnswer::Refused(RefundRefusal::Exceeds(_)) => ("amount", "exceeds_payment"),
        RefundAnswer::Refused(RefundRefusal::NotTaken) => ("amount", "not_taken"),
        RefundAnswer::Refused(RefundRefusal::NoWallet) => ("to", "no_wallet"),
        answer => {
            let state = OrderPageState { part: form, ..OrderPageState::acting() };
            return refunded(&shop, &visitor, id, answer, "refund-part", state).await;
        }
    };
    form.errors.push(FieldError::new(field, code));
    show_again(form, order).await
}

/// The answer to a refund without a wrong field. `done` names it on the page; `state` has what was entered.
pub(crate) async fn refunded(
    shop: &Shop,
    visitor: &Visitor,
    id: OrderId,
    answer: RefundAnswer,
    done: &str,
    mut state: OrderPageState,
) -> Answer {
    let path = format!("/admin/orders/{id}?lang={}", visitor.locale);
    match answer {
        RefundAnswer::Begun => return Ok(see_other(&format!("{path}&done={done}"))),
        RefundAnswer::Waits(_) => return Ok(see_other(&format!("{path}&done=asked"))),
        RefundAnswer::OwnPayment => return Err(Problem::new(Code::Yourself).back(path)),
        RefundAnswer::OtherWaits => state.form.waits = true,
        RefundAnswer::Refused(_) => state.form.changed = true,
    }
    let order = shop.store.orders().order_with_id(id).await?.ok_or(Code::NotFound)?;
    page(shop, visitor, order, StatusCode::CONFLICT, state).await
}

async fn act(
    (State(shop), staff, visitor, PathIds(id)): Visit,
    repeatable: Repeatable,
    Form(mut form): Form<StaffActionForm>,
    action: StaffAction,
) -> Answer {
    let order = shop.store.orders().order_with_id(id).await?.ok_or(Code::NotFound)?;
    let is_held = shop.orders.hold(&order).await?.is_some();
    let checked = StaffActionReason::check(&form.reason, &form.message);
    let checked = checked.and_then(|reason| reason.with_message_if(is_held));
    let show_again = async |form: StaffActionForm, order: Order, status: StatusCode| {
        page(&shop, &visitor, order, status, OrderPageState { form, ..OrderPageState::acting() }).await
    };
    let reason = match checked {
        Ok(reason) if form.confirm == "yes" => reason,
        checked => {
            form.errors = form_errors(None, checked.err(), &form.confirm);
            return show_again(form, order, StatusCode::UNPROCESSABLE_ENTITY).await;
        }
    };
    let (by, reason) = (staff.session.user_id, reason.by(staff.actor()));
    if action == StaffAction::Refund {
        let (refund, what) = (repeatable.refund(), StaffRefund::Order(order.sale_id, id));
        let if_disputed = (form.disputed == "yes").into();
        let answer = shop.staff_refunds.refund(refund, what, by, reason, if_disputed).await?;
        if answer == RefundAnswer::Refused(RefundRefusal::Disputed) {
            form.errors.push(FieldError::new("disputed", "not_confirmed"));
            return show_again(form, order, StatusCode::CONFLICT).await;
        }
        let state = OrderPageState { form, ..OrderPageState::acting() };
        return refunded(&shop, &visitor, id, answer, "refund", state).await;
    }
    let path = format!("/admin/orders/{id}?lang={}", visitor.locale);
    match shop.orders.cancel_for_staff(&order, by, reason).await? {
        StaffActionOutcome::Done => Ok(see_other(&format!("{path}&done=cancel"))),
        StaffActionOutcome::OwnOrder => Err(Problem::new(Code::Yourself).back(path)),
        StaffActionOutcome::WrongStatus => {
            let order = shop.store.orders().order_with_id(id).await?.ok_or(Code::NotFound)?;
            form.changed = true;
            show_again(form, order, StatusCode::CONFLICT).await
        }
    }
}
