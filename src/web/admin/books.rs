//! The console's page of the books.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

use super::StaffVisit;
use crate::extract::Query;
use crate::extract::session::ViewBooks;
use crate::problem::Problem;
use crate::shared::books_query::BooksQuery;
use crate::shared::response::personal;
use crate::views::BooksPage;

pub async fn show(
    (State(shop), _, visitor): StaffVisit<ViewBooks>,
    Query(query): Query<BooksQuery>,
) -> Result<Response, Problem> {
    let (status, period, lines, errors) = match query.period(shop.clock.now()) {
        Ok(period) => (StatusCode::OK, Some(period), shop.store.trial_balance(period).await?, Vec::new()),
        Err(errors) => (StatusCode::UNPROCESSABLE_ENTITY, None, Vec::new(), errors),
    };
    let chrome = visitor.chrome_at(format!("/admin/orders/books?lang={}", visitor.locale));
    personal(status, &BooksPage { chrome, query, period, lines, errors })
}
