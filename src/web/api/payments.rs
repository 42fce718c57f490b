//! Paying, and what payment providers report.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::domain::{OrderId, PaymentId, SaleId};
use crate::error::Problem;
use crate::web::Shop;
use crate::web::input::{Ids, MOST_BYTES, body};
use crate::web::order_pages::{order_path, payable};
use crate::web::session::SignedIn;
use crate::web::visitor::locale;

#[derive(Serialize)]
struct Started {
    payment: StartedPayment,
    checkout_url: String,
}

#[derive(Serialize)]
struct StartedPayment {
    id: PaymentId,
}

/// Begins a payment. From the checkout the payer returns to the order's page, in the language of `?lang=` or of the
/// browser.
pub async fn start(
    State(shop): State<Arc<Shop>>,
    SignedIn(session): SignedIn,
    Ids((sale, order)): Ids<(SaleId, OrderId)>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let order = payable(shop.orders.find(session.user_id, sale, order).await?)?;
    let return_path = order_path(locale(&uri, &headers), sale, order.id);
    let (id, checkout_url) = shop.payments.start(&order, return_path).await?;
    Ok((StatusCode::CREATED, Json(Started { payment: StartedPayment { id }, checkout_url })).into_response())
}

/// A report from the provider: signed, so nothing is read before the signature over the raw bytes is checked.
pub async fn webhook(State(shop): State<Arc<Shop>>, headers: HeaderMap, content: Body) -> Result<StatusCode, Problem> {
    let bytes = body(&headers, content, MOST_BYTES).await?;
    shop.payments.receive(&headers, &bytes).await?;
    Ok(StatusCode::NO_CONTENT)
}
