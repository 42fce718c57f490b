//! The console's page of the books.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

use crate::StaffVisit;
use crate::books::query::BooksQuery;
use crate::books::view::BooksPage;
use web::extract::Query;
use web::extract::session::ViewBooks;
use web::problem::Problem;
use web::shared::negotiation::personal;

pub async fn show(
    (State(shop), _, visitor): StaffVisit<ViewBooks>,
    Query(query): Query<BooksQuery>,
) -> Result<Response, Problem> {
    let (status, period, lines, errors) = match query.period(shop.clock.now(), &shop.catalogue.settings().zone()) {
        Ok(period) => (StatusCode::OK, Some(period), shop.store.books().trial_balance(period).await?, Vec::new()),
        Err(errors) => (StatusCode::UNPROCESSABLE_ENTITY, None, Vec::new(), errors),
    };
    let chrome = visitor.chrome_at(format!("/admin/orders/books?lang={}", visitor.locale));
    personal(status, &BooksPage { chrome, query, period, lines, errors })
}
