//! Returns of orders: staff accept or refuse them, and receive the goods with a refund.

use crate::orders::api::{OneOrder, detail, existing_order, refund_for};
use crate::orders::page::{OrderPageState, form_errors, page, refunded};
use crate::prelude::*;
use domain::returns::{ReturnStep, check_answer};
use orders::support::StaffActionReason;
use payments::staff_refunds::RefundAnswer;
use store::{ReceivedReturn, RefundRefusal, StaffRefund};
use web::shared::approvals;

/// The answer to a return. The owner of the order reads it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReturnAnswerRequest {
    /// Where to send the goods, or why they are not taken back.
    #[schemars(length(min = 1, max = 500))]
    words: String,
}

type Call = StaffCallTo<SupportShoppers, OrderId>;

handlers! {
    answer(call: Call, request: Json<ReturnAnswerRequest>)
    accept ReturnStep::Accept;
    refuse ReturnStep::Refuse;
}

async fn answer(
    (State(shop), staff, PathIds(id)): Call,
    Json(request): Json<ReturnAnswerRequest>,
    step: fn(String) -> ReturnStep,
) -> Answer {
    let words = check_answer(&request.words).map_err(|code| Problem::invalid_field("words", code))?;
    let order = existing_order(&shop, id).await?;
    shop.orders.answer_return(&order, &step(words), (staff.session.user_id, staff.actor())).await??;
    detail(&shop, id).await
}

/// The arrival of the goods of an accepted return, and their refund.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReceiveRequest {
    /// Left out: all that is left of what was paid.
    amount: Option<Money>,
    /// Whether the units go back on sale, which ends the order. Otherwise it stays paid, and its units stay sold.
    restock: bool,
    /// Visible to staff only.
    #[schemars(length(min = 1, max = 500))]
    reason: String,
    /// Shown to the owner of the order.
    #[serde(default)]
    #[schemars(length(max = 300))]
    message: String,
    #[serde(default)]
    disputed: bool,
}

/// The message is required for a held order that ends, as for every refund.
async fn check_reason(
    shop: &Shop,
    of: &Order,
    restock: bool,
    (reason, message): (&str, &str),
) -> Result<Result<StaffActionReason, Vec<(&'static str, &'static str)>>, Problem> {
    let ends_hold = restock && shop.orders.hold(of).await?.is_some();
    let checked = StaffActionReason::check(reason, message);
    Ok(checked.and_then(|reason| reason.with_message_if(ends_hold)))
}

pub async fn receive(
    (State(shop), staff, PathIds(id)): Call,
    repeatable: Repeatable,
    Json(request): Json<ReceiveRequest>,
) -> Answer {
    let order = existing_order(&shop, id).await?;
    let texts = (request.reason.as_str(), request.message.as_str());
    let reason = check_reason(&shop, &order, request.restock, texts).await?.map_err(Problem::invalid)?;
    let ReceiveRequest { amount, restock, disputed, .. } = request;
    let what = StaffRefund::Return(ReceivedReturn { sale: order.sale_id, order: id, amount, restock });
    refund_for(&shop, (id, repeatable), what, &staff, (&reason, disputed.into())).await
}

inputs! {
    /// The forms of a return, as entered.
    ReturnForm {
        words, amount, restock, reason, message, confirm, disputed,
        #[serde(skip)]
        errors: Vec<FieldError>,
        /// The form that has the errors: `accept`, `refuse` or `receive`.
        #[serde(skip)]
        verb: &'static str,
    }
}

type Visit = StaffVisitTo<SupportShoppers, OrderId>;

handlers! {
    answer_by_form(visit: Visit, form: Form<ReturnForm>)
    accept_by_form ("accept", ReturnStep::Accept);
    refuse_by_form ("refuse", ReturnStep::Refuse);
}

async fn answer_by_form(
    visit: Visit,
    Form(mut form): Form<ReturnForm>,
    (verb, step): (&'static str, fn(String) -> ReturnStep),
) -> Answer {
    let (State(shop), staff, visitor, PathIds(id)) = &visit;
    let order = existing_order(shop, *id).await?;
    let words = match check_answer(&form.words) {
        Ok(words) => words,
        Err(code) => {
            form.errors.push(FieldError::new("words", code));
            return show_again(&visit, order, form, verb).await;
        }
    };
    let path = format!("/admin/orders/{id}?lang={}", visitor.locale);
    let answered = shop.orders.answer_return(&order, &step(words), (staff.session.user_id, staff.actor())).await?;
    answered.map_err(|refusal| Problem::from(refusal).back(path.clone()))?;
    Ok(see_other(&format!("{path}&done=return")))
}

async fn show_again(
    (State(shop), _, visitor, _): &Visit,
    order: Order,
    form: ReturnForm,
    verb: &'static str,
) -> Answer {
    let state = OrderPageState { returned: ReturnForm { verb, ..form }, ..OrderPageState::acting() };
    page(shop, visitor, order, StatusCode::UNPROCESSABLE_ENTITY, state).await
}

pub async fn receive_by_form(visit: Visit, repeatable: Repeatable, Form(mut form): Form<ReturnForm>) -> Answer {
    let (State(shop), staff, visitor, PathIds(id)) = &visit;
    let order = existing_order(shop, *id).await?;
    let restock = form.restock == "yes";
    let checked = check_reason(shop, &order, restock, (&form.reason, &form.message)).await?;
    let amount = price(&form.amount, order.amount.currency);
    let (amount, reason) = match (amount, checked) {
        (Some(amount), Ok(reason)) if form.confirm == "yes" => (amount, reason),
        (amount, checked) => {
            let wrong_amount = amount.is_none().then_some(form.amount.as_str());
            form.errors = form_errors(wrong_amount, checked.err(), &form.confirm);
            return show_again(&visit, order, form, "receive").await;
        }
    };
    let what = StaffRefund::Return(ReceivedReturn { sale: order.sale_id, order: *id, amount: Some(amount), restock });
    let if_disputed = (form.disputed == "yes").into();
    let (refund, by) = (repeatable.refund(), staff.session.user_id);
    let (field, code) = match shop.staff_refunds.refund(refund, what, by, reason.by(staff.actor()), if_disputed).await?
    {
        RefundAnswer::Refused(RefundRefusal::Disputed) => ("disputed", "not_confirmed"),
        RefundAnswer::Refused(RefundRefusal::Exceeds(_)) => ("amount", "exceeds_payment"),
        RefundAnswer::Refused(RefundRefusal::NotTaken) => ("amount", "not_taken"),
        answer => {
            let returned = ReturnForm { verb: "receive", ..form };
            let state = OrderPageState { returned, ..OrderPageState::acting() };
            return refunded(shop, visitor, *id, answer, "received", state).await;
        }
    };
    form.errors.push(FieldError::new(field, code));
    show_again(&visit, order, form, "receive").await
}

web::operations! { "administrators"
    /// Accept the return of an order
    ///
    /// Its owner gets the words by mail and notification: where to send the goods. Safe to repeat.
    POST "/api/admin/orders/{order}/return/accept" acceptReturn = accept;
        200 OneOrder, "The order with its return.";
        refuses WrongReturnState Yourself;
    /// Refuse the return of an order
    ///
    /// Also after it was accepted, if the goods do not come or are other ones. Its owner gets the words by mail and
    /// notification. Safe to repeat.
    POST "/api/admin/orders/{order}/return/refuse" refuseReturn = refuse;
        200 OneOrder, "The order with its return.";
        refuses WrongReturnState Yourself;
    /// Receive the goods of an accepted return, and refund them as a whole or in part
    POST "/api/admin/orders/{order}/return/receive" receiveReturn = receive, located;
        200 OneOrder, "The order with its return. The refund is under way.";
        202 approvals::OneApproval, "Beyond what one person refunds alone within a day: it waits for a second one.";
        refuses StepUpNeeded WrongReturnState PaymentDisputed AwaitsApproval Yourself;
}
