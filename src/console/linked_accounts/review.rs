//! What staff do with one held order in the console: hold, release, answer to an appeal. Its refund uses the same form
//! as for any order.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use crate::StaffVisitTo;
use crate::linked_accounts::review_view::ReviewFormState;
use crate::orders::page::{OrderPageState, page};
use crate::orders::view::StaffActionFormState;
use domain::OrderId;
use orders::review::{ReviewAction, ReviewOutcome};
use store::AuditReason;
use web::extract::session::SupportShoppers;
use web::extract::{Form, PathIds};
use web::problem::{Code, Problem};
use web::shared::response::see_other;

#[derive(Deserialize)]
pub struct OrderReviewForm {
    #[serde(default)]
    reason: String,
    #[serde(default)]
    confirm: String,
}

type Visit = StaffVisitTo<SupportShoppers, OrderId>;

pub async fn hold(visit: Visit, Form(form): Form<OrderReviewForm>) -> Result<Response, Problem> {
    act(visit, ("hold", ReviewAction::Hold), form).await
}

pub async fn release(visit: Visit, Form(form): Form<OrderReviewForm>) -> Result<Response, Problem> {
    act(visit, ("release", ReviewAction::Release), form).await
}

pub async fn uphold(visit: Visit, Form(form): Form<OrderReviewForm>) -> Result<Response, Problem> {
    act(visit, ("uphold", ReviewAction::Uphold), form).await
}

async fn act(
    (State(shop), staff, visitor, PathIds(id)): Visit,
    (name, action): (&'static str, ReviewAction),
    form: OrderReviewForm,
) -> Result<Response, Problem> {
    let order = shop.store.orders().order_with_id(id).await?.ok_or(Code::NotFound)?;
    let reason = match ReviewFormState::check(name, form.reason, &form.confirm) {
        Ok(reason) => reason,
        Err(review) => {
            let state = OrderPageState::of_review(review);
            return page(&shop, &visitor, order, StatusCode::UNPROCESSABLE_ENTITY, state).await;
        }
    };
    let reason = AuditReason { actor: staff.actor(), note: &reason, message: Some(&reason) };
    let path = format!("/admin/orders/{id}?lang={}", visitor.locale);
    match shop.orders.review(&order, action, staff.session.user_id, reason).await? {
        ReviewOutcome::Done => Ok(see_other(&format!("{path}&done={name}"))),
        ReviewOutcome::OwnOrder => Err(Problem::new(Code::Yourself).back(path)),
        ReviewOutcome::Unchanged | ReviewOutcome::OrderEnded | ReviewOutcome::Waits => {
            let order = shop.store.orders().order_with_id(id).await?.ok_or(Code::NotFound)?;
            let form = StaffActionFormState { changed: true, ..Default::default() };
            page(&shop, &visitor, order, StatusCode::CONFLICT, OrderPageState::of(form)).await
        }
    }
}
