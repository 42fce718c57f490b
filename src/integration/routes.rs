//! Every address of other shops: what their servers send, and where they send their customers.

use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn_with_state;

use crate::{decisions, line, reservations, shoppers, stock};
use web::document::Api;
use web::router::{Routes, get, post, put};
use web::{Shop, idempotency};

pub fn routes(shop: &Arc<Shop>) -> Routes {
    let repeatable = Router::new()
        .route("/api/v1/sales/{sale}/reservations", post(reservations::create))
        .route("/api/v1/sales/{sale}/stock", post(stock::add))
        .route_layer(from_fn_with_state(shop.clone(), idempotency::repeatable));
    Router::new()
        .merge(repeatable)
        .route("/api/v1/shoppers", post(shoppers::name))
        .route("/api/v1/sales/{sale}/reservations", get(reservations::list))
        .route("/api/v1/sales/{sale}/reservations/{id}", get(reservations::show))
        .route("/api/v1/sales/{sale}/reservations/{id}/confirm", post(reservations::confirm))
        .route("/api/v1/sales/{sale}/reservations/{id}/release", post(reservations::release))
        .route("/api/v1/sales/{sale}/reservations/{id}/extend", post(reservations::extend))
        .route("/api/v1/sales/{sale}/decisions", post(decisions::tell))
        .route("/api/v1/sales/{sale}/decisions/differences", get(decisions::differences))
        .route("/api/v1/sales/{sale}/stock", get(stock::show).merge(put(stock::replace)))
        .route("/enter", get(shoppers::enter))
        .route("/line/{sale}", get(line::enter))
        .route("/line/{sale}/pass", get(line::leave))
        .route("/.well-known/jwks.json", get(line::keys))
        .route("/api/v1/passes/redeem", post(line::redeem))
        .route("/api/v1/passes/check", get(line::check))
}

/// Adds every operation to the document of the API.
pub fn document(api: &mut Api) {
    decisions::document(api);
    line::document(api);
    reservations::document(api);
    shoppers::document(api);
    stock::document(api);
}
