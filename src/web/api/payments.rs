//! Payments of orders, and the webhooks of payment providers.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};

use super::UserCall;
use crate::domain::{OrderId, PaymentId, SaleId};
use crate::store::PaymentStatus;
use crate::web::Shop;
use crate::web::extract::session::SignedIn;
use crate::web::extract::visitor::locale;
use crate::web::extract::{MAX_BODY_BYTES, PathIds, body, from_json};
use crate::web::problem::{Code, Problem};
use crate::web::shared::paths::order_path;

/// A payment that was begun, and the address at which it is made.
#[derive(Serialize)]
pub struct CheckoutJson {
    payment: PaymentRef,
    checkout_url: String,
}

impl CheckoutJson {
    pub fn new(id: PaymentId, checkout_url: String) -> CheckoutJson {
        CheckoutJson { payment: PaymentRef { id }, checkout_url }
    }
}

/// A payment from the wallet, which is complete.
#[derive(Serialize)]
struct WalletPaymentJson {
    payment: PaymentRef,
    status: &'static str,
}

#[derive(Serialize)]
struct PaymentRef {
    id: PaymentId,
}

/// The source of the money. The body may be missing, which means the provider, or be `{"from":"wallet"}`.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct PaymentBody {
    #[serde(default)]
    from: PaymentSource,
}

#[derive(Deserialize, Default, PartialEq)]
#[serde(rename_all = "snake_case")]
enum PaymentSource {
    #[default]
    Provider,
    Wallet,
}

/// Begins a payment at the provider, or pays from the wallet at once. Paying from the wallet again is 200 with the first
/// payment. The checkout returns the payer to the order's page, in the language of `?lang=` or of the browser.
pub async fn start(
    (State(shop), SignedIn(session)): UserCall,
    PathIds((sale, order)): PathIds<(SaleId, OrderId)>,
    uri: Uri,
    headers: HeaderMap,
    content: Body,
) -> Result<Response, Problem> {
    let bytes = body(&headers, content, MAX_BODY_BYTES).await?;
    let content: PaymentBody = if bytes.is_empty() { PaymentBody::default() } else { from_json(&bytes)? };
    let order = shop.orders.find_persisted(session.user_id, sale, order).await?;
    if content.from == PaymentSource::Wallet {
        let (id, repeated) = shop.payments.pay_from_wallet(&order).await?;
        let status = if repeated { StatusCode::OK } else { StatusCode::CREATED };
        let paid = WalletPaymentJson { payment: PaymentRef { id }, status: PaymentStatus::Captured.as_str() };
        return Ok((status, Json(paid)).into_response());
    }
    let return_path = order_path(locale(&uri, &headers), sale, order.id);
    let (id, checkout_url) = shop.payments.start(&order, return_path).await?;
    Ok((StatusCode::CREATED, Json(CheckoutJson::new(id, checkout_url))).into_response())
}

/// A webhook of the provider. Its signature covers the raw bytes, so nothing is parsed before it is verified.
pub async fn webhook(State(shop): State<Arc<Shop>>, headers: HeaderMap, content: Body) -> Result<StatusCode, Problem> {
    if shop.sandbox.is_none() {
        return Err(Code::NotFound.into());
    }
    let bytes = body(&headers, content, MAX_BODY_BYTES).await?;
    shop.payments.receive(&headers, &bytes).await?;
    Ok(StatusCode::NO_CONTENT)
}
