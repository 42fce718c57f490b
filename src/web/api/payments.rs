//! Paying, and what payment providers report.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};

use crate::domain::{OrderId, PaymentId, SaleId};
use crate::store::PaymentStatus;
use crate::web::Shop;
use crate::web::extract::session::SignedIn;
use crate::web::extract::visitor::locale;
use crate::web::extract::{MOST_BYTES, PathIds, body, from_json};
use crate::web::pages::orders::{order_path, payable};
use crate::web::problem::Problem;

/// A payment, and where it is made.
#[derive(Serialize)]
pub struct Started {
    payment: StartedPayment,
    checkout_url: String,
}

impl Started {
    pub fn new(id: PaymentId, checkout_url: String) -> Started {
        Started { payment: StartedPayment { id }, checkout_url }
    }
}

/// A payment that is over already.
#[derive(Serialize)]
struct Paid {
    payment: StartedPayment,
    status: &'static str,
}

#[derive(Serialize)]
struct StartedPayment {
    id: PaymentId,
}

/// Where the money comes from: the body may be left out, or say `{"from":"wallet"}`.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Wanted {
    #[serde(default)]
    from: From,
}

#[derive(Deserialize, Default, PartialEq)]
#[serde(rename_all = "snake_case")]
enum From {
    #[default]
    Provider,
    Wallet,
}

/// Begins a payment, or pays at once from the wallet; that again is 200 with the first payment. From the checkout the payer returns to the order's page, in the language of `?lang=` or of the
/// browser.
pub async fn start(
    State(shop): State<Arc<Shop>>,
    SignedIn(session): SignedIn,
    PathIds((sale, order)): PathIds<(SaleId, OrderId)>,
    uri: Uri,
    headers: HeaderMap,
    content: Body,
) -> Result<Response, Problem> {
    let bytes = body(&headers, content, MOST_BYTES).await?;
    let wanted: Wanted = if bytes.is_empty() { Wanted::default() } else { from_json(&bytes)? };
    let order = payable(shop.orders.find(session.user_id, sale, order).await?)?;
    if wanted.from == From::Wallet {
        let (id, again) = shop.payments.pay_from_wallet(&order).await?;
        let status = if again { StatusCode::OK } else { StatusCode::CREATED };
        let paid = Paid { payment: StartedPayment { id }, status: PaymentStatus::Captured.as_str() };
        return Ok((status, Json(paid)).into_response());
    }
    let return_path = order_path(locale(&uri, &headers), sale, order.id);
    let (id, checkout_url) = shop.payments.start(&order, return_path).await?;
    Ok((StatusCode::CREATED, Json(Started::new(id, checkout_url))).into_response())
}

/// A report from the provider: signed, so nothing is read before the signature over the raw bytes is checked.
pub async fn webhook(State(shop): State<Arc<Shop>>, headers: HeaderMap, content: Body) -> Result<StatusCode, Problem> {
    let bytes = body(&headers, content, MOST_BYTES).await?;
    shop.payments.receive(&headers, &bytes).await?;
    Ok(StatusCode::NO_CONTENT)
}
