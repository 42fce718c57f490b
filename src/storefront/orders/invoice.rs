//! The receipt of an order, and the invoice that its owner asks for.

use axum::response::IntoResponse;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::orders::page::{self, OrderPageForms};
use crate::{OrderCall, OrderVisit};
use domain::invoice::InvoiceTitle;
use domain::{OrderId, SaleId, UserId};
use store::InvoiceOutcome;
use web::extract::{Form, Json, PathIds, SignedIn, State};
use web::shared::orders::InvoiceJson;
use web::shared::paths::order_path;
use web::{Answer, Code, FieldError, Problem, Shop, receipts, see_other};

/// To whom an invoice is made out.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InvoiceRequest {
    #[schemars(length(min = 1, max = 100))]
    title: String,
    /// The unified social credit code of a company, 18 characters with a right check digit. Left out for a person.
    #[serde(default)]
    tax_number: String,
}

#[derive(Serialize, JsonSchema)]
struct InvoiceAnswer {
    invoice: InvoiceJson,
}

/// Asks for an invoice of a paid order of the user.
async fn ask(shop: &Shop, user: UserId, (sale, id): (SaleId, OrderId), to: &InvoiceTitle) -> Result<(), Problem> {
    let order = shop.orders.find_persisted(user, sale, id).await?;
    match shop.store.orders().ask_invoice(order.id, user, to).await? {
        InvoiceOutcome::Asked => Ok(()),
        InvoiceOutcome::Issued => Err(Code::InvoiceIssued.into()),
        InvoiceOutcome::NotPaid => Err(Code::NotPaid.into()),
    }
}

pub async fn put(
    (State(shop), SignedIn(session), PathIds((sale, id))): OrderCall,
    Json(request): Json<InvoiceRequest>,
) -> Answer {
    let to = InvoiceTitle::check(&request.title, &request.tax_number).map_err(Problem::invalid)?;
    ask(&shop, session.user_id, (sale, id), &to).await?;
    let invoice = shop.store.orders().invoice_of(id).await?.ok_or(Code::NotFound)?.into();
    Ok(Json(InvoiceAnswer { invoice }).into_response())
}

/// The form of an invoice, as entered.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct InvoiceFormState {
    pub title: String,
    pub tax_number: String,
    #[serde(skip)]
    pub errors: Vec<FieldError>,
}

pub async fn ask_by_form(
    (State(shop), SignedIn(session), visitor, PathIds((sale, id))): OrderVisit,
    Form(form): Form<InvoiceFormState>,
) -> Answer {
    let path = order_path(visitor.locale, sale, id);
    let to = match InvoiceTitle::check(&form.title, &form.tax_number) {
        Ok(to) => to,
        Err(errors) => {
            let errors = errors.into_iter().map(|(field, code)| FieldError { field, code }).collect();
            let forms = OrderPageForms { invoice: InvoiceFormState { errors, ..form }, ..OrderPageForms::default() };
            return page::page(&shop, &session, &visitor, (sale, id), forms).await;
        }
    };
    ask(&shop, session.user_id, (sale, id), &to).await.map_err(|problem| problem.back(path.clone()))?;
    Ok(see_other(&format!("{path}#invoice")))
}

pub async fn receipt((State(shop), SignedIn(session), visitor, PathIds((sale, id))): OrderVisit) -> Answer {
    let order = shop.orders.find_persisted(session.user_id, sale, id).await?;
    let back = order_path(visitor.locale, sale, id);
    let invoice = shop.orders.invoice(&order).await?;
    receipts::page(&shop, &visitor, (order, invoice), &format!("{back}/receipt"), back.clone()).await
}

web::operations! { "orders"
    /// Ask for an invoice (发票) of a paid order, or change its title
    PUT "/api/sales/{sale}/orders/{order}/invoice" askInvoice = put;
        200 InvoiceAnswer, "Asked for. It can be changed until the shop marks it as issued.";
        refuses NotPaid NotPayable InvoiceIssued;
}
