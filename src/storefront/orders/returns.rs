//! The return of an order that its owner asks for: asked, withdrawn, sent back.

use axum::response::IntoResponse;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::orders::page::{self, OrderPageForms};
use crate::{OrderCall, OrderVisit};
use domain::returns::{ReturnRequest, ReturnStep};
use domain::{OrderId, ParcelLabel, ReturnReason, SaleId, UserId};
use web::extract::{Form, Json, PathIds, SignedIn, State};
use web::shared::orders::ReturnJson;
use web::shared::paths::order_path;
use web::{Answer, Code, FieldError, Problem, Shop, see_other};

type Wrong = Vec<(&'static str, &'static str)>;

/// Why the goods shall go back.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReturnBody {
    reason: ReturnReason,
    /// Needed for the reason `other`.
    #[serde(default)]
    #[schemars(length(max = 500))]
    note: String,
}

/// Who carries the goods back.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReturnParcelBody {
    /// The code or a name of a carrier that the shop knows, or the name of another one.
    #[schemars(length(min = 1, max = 40))]
    carrier: String,
    number: String,
}

#[derive(Serialize, JsonSchema)]
struct OwnReturn {
    r#return: ReturnJson,
}

async fn step(shop: &Shop, user: UserId, order: (SaleId, OrderId), step: &ReturnStep) -> Result<(), Problem> {
    Ok(shop.orders.move_own_return(user, order, step).await??)
}

async fn answer(shop: &Shop, user: UserId, order: (SaleId, OrderId), asked: &ReturnStep) -> Answer {
    step(shop, user, order, asked).await?;
    let known = shop.store.orders().return_of(order.1).await?.ok_or(Code::NotFound)?;
    Ok(Json(OwnReturn { r#return: known.into() }).into_response())
}

pub async fn ask(
    (State(shop), SignedIn(session), PathIds(order)): OrderCall,
    Json(ReturnBody { reason, note }): Json<ReturnBody>,
) -> Answer {
    let request = ReturnRequest::check(reason.as_str(), &note).map_err(Problem::invalid)?;
    answer(&shop, session.user_id, order, &ReturnStep::Ask(request)).await
}

pub async fn withdraw((State(shop), SignedIn(session), PathIds(order)): OrderCall) -> Answer {
    answer(&shop, session.user_id, order, &ReturnStep::Withdraw).await
}

pub async fn set_parcel(
    (State(shop), SignedIn(session), PathIds(order)): OrderCall,
    Json(ReturnParcelBody { carrier, number }): Json<ReturnParcelBody>,
) -> Answer {
    let label = whole_label(&carrier, &number).map_err(Problem::invalid)?;
    answer(&shop, session.user_id, order, &ReturnStep::Send(label)).await
}

/// A label with carrier and number.
fn whole_label(carrier: &str, number: &str) -> Result<ParcelLabel, Wrong> {
    let label = ParcelLabel::check(carrier, number)?;
    let missing = [("carrier", label.carrier.is_none()), ("number", label.number.is_none())];
    let missing: Wrong = missing.iter().filter(|(_, is)| *is).map(|(field, _)| (*field, "required")).collect();
    if missing.is_empty() { Ok(label) } else { Err(missing) }
}

/// The forms of the return, as entered.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ReturnForm {
    pub reason: String,
    pub note: String,
    pub carrier: String,
    pub number: String,
    #[serde(skip)]
    pub errors: Vec<FieldError>,
}

pub async fn ask_by_form(visit: OrderVisit, Form(form): Form<ReturnForm>) -> Answer {
    let read = ReturnRequest::check(&form.reason, &form.note).map(ReturnStep::Ask);
    step_by_form(visit, form, read).await
}

pub async fn withdraw_by_form(visit: OrderVisit) -> Answer {
    step_by_form(visit, ReturnForm::default(), Ok(ReturnStep::Withdraw)).await
}

pub async fn set_parcel_by_form(visit: OrderVisit, Form(form): Form<ReturnForm>) -> Answer {
    let read = whole_label(&form.carrier, &form.number).map(ReturnStep::Send);
    step_by_form(visit, form, read).await
}

async fn step_by_form(
    (State(shop), SignedIn(session), visitor, PathIds(order)): OrderVisit,
    form: ReturnForm,
    read: Result<ReturnStep, Wrong>,
) -> Answer {
    let path = order_path(visitor.locale, order.0, order.1);
    match read {
        Ok(asked) => {
            step(&shop, session.user_id, order, &asked).await.map_err(|problem| problem.back(path.clone()))?;
            Ok(see_other(&format!("{path}#return")))
        }
        Err(errors) => {
            let errors = errors.into_iter().map(|(field, code)| FieldError { field, code }).collect();
            let forms = OrderPageForms { returned: ReturnForm { errors, ..form }, ..OrderPageForms::default() };
            page::page(&shop, &session, &visitor, order, forms).await
        }
    }
}

web::operations! { "orders"
    /// Ask to return a delivered order
    ///
    /// Within the days of `SECKILL_RETURN_DAYS`, once, or again after it was withdrawn. Safe to repeat.
    POST "/api/sales/{sale}/orders/{order}/return" askReturn = ask;
        200 OwnReturn, "Asked for. It waits for the shop's answer.";
        refuses NotReturnable WrongReturnState NotPayable;
    /// Withdraw a return before the shop accepts it
    POST "/api/sales/{sale}/orders/{order}/return/withdraw" withdrawReturn = withdraw;
        200 OwnReturn, "Withdrawn. It may be asked for again.";
        refuses WrongReturnState NotPayable;
    /// Say who carries the goods of an accepted return back
    PUT "/api/sales/{sale}/orders/{order}/return/parcel" sendReturn = set_parcel;
        200 OwnReturn, "The shop waits for the parcel. It can be corrected until then.";
        refuses WrongReturnState NotPayable;
}
