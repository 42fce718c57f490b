//! What other shops request, and where they send their customers.

use std::sync::Arc;

use axum::Router;

use crate::{decisions, line, reservations, shoppers, stock};
use web::Shop;
use web::document::Api;
use web::router::{Operations, Routes, get};

pub fn routes(shop: &Arc<Shop>) -> Routes {
    let pages = Router::new()
        .route("/enter", get(shoppers::enter))
        .route("/line/{sale}", get(line::enter))
        .route("/line/{sale}/pass", get(line::leave))
        .route("/.well-known/jwks.json", get(line::keys));
    OPERATIONS.iter().map(|(_, routes)| routes(shop)).fold(pages, Router::merge)
}

/// Adds every operation to the document of the API.
pub fn document(api: &mut Api) {
    OPERATIONS.iter().for_each(|(document, _)| document(api));
}

const OPERATIONS: [Operations; 5] = [
    (decisions::document, decisions::routes),
    (line::document, line::routes),
    (reservations::document, reservations::routes),
    (shoppers::document, shoppers::routes),
    (stock::document, stock::routes),
];
