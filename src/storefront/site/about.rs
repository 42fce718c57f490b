//! The page with the shop's own texts.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

use crate::sign_in::page::payment_minutes;
use crate::site::about_view::AboutPage;
use web::Shop;
use web::extract::visitor::Visitor;
use web::problem::Problem;
use web::shared::onward::current_sales;
use web::shared::response::personal;

pub async fn show(State(shop): State<Arc<Shop>>, visitor: Visitor) -> Result<Response, Problem> {
    let mut pages = shop.store.shop_pages().list().await?;
    // A page may be written in one language so far.
    pages.retain(|page| !page.text.get(visitor.locale).trim().is_empty());
    pages.sort_by_key(|page| page.name);
    let (payment_minutes, onward) = (payment_minutes(&shop), current_sales(&shop.catalogue, visitor.locale));
    personal(StatusCode::OK, &AboutPage { chrome: visitor.chrome(), pages, payment_minutes, onward })
}
