//! Payments of orders, and the webhooks of payment providers.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::UserCall;
use domain::PaymentStatus;
use domain::{Money, OrderId, PaymentId, SaleId};
use payments::Notice;
use store::{OwnPayment, PaymentPurpose};
use web::Shop;
use web::cache_policy::Cache;
use web::extract::session::SignedIn;
use web::extract::visitor::locale;
use web::extract::{MAX_BODY_BYTES, PathIds, body, from_json};
use web::problem::{Code, Problem};
use web::shared::paths::order_path;
use web::shared::response::created;

/// A payment that was begun, and the address at which it is made.
#[derive(Serialize, JsonSchema)]
pub struct CheckoutJson {
    payment: PaymentRef,
    #[schemars(extend("format" = "uri-reference"))]
    checkout_url: String,
}

impl CheckoutJson {
    pub fn new(id: PaymentId, checkout_url: String) -> CheckoutJson {
        CheckoutJson { payment: PaymentRef { id }, checkout_url }
    }
}

/// A payment that was begun: at a provider with the address at which it is made, from the wallet already captured.
#[derive(Serialize, JsonSchema)]
struct StartedPayment {
    payment: PaymentRef,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "uri-reference"))]
    checkout_url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<PaymentStatus>,
}

#[derive(Serialize, JsonSchema)]
struct PaymentRef {
    id: PaymentId,
}

/// The source of the money. The body may be missing, which means the provider, or be `{"from":"wallet"}`.
#[derive(Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PaymentBody {
    #[serde(default)]
    from: PaymentSource,
}

#[derive(Deserialize, Serialize, Default, PartialEq, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum PaymentSource {
    #[default]
    Provider,
    Wallet,
}

/// Begins a payment at the provider, or pays from the wallet at once, if the password was entered within 12 hours.
/// Paying from the wallet again gets 200 with the first payment. The checkout returns the payer to the order's page, in
/// the language of `?lang=` or of the browser.
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
        shop.accounts.check_spending(&session).await?;
        let (id, repeated) = shop.payments.pay_from_wallet(&order).await?;
        let payment = PaymentRef { id };
        let paid = StartedPayment { payment, checkout_url: None, status: Some(PaymentStatus::Captured) };
        return Ok(match repeated {
            true => (Cache::Private, Json(paid)).into_response(),
            false => created(location(sale, order.id, id), paid),
        });
    }
    let return_path = order_path(locale(&uri, &headers), sale, order.id);
    let (id, checkout_url) = shop.payments.start(&order, return_path).await?;
    let begun = StartedPayment { payment: PaymentRef { id }, checkout_url: Some(checkout_url), status: None };
    Ok(created(location(sale, order.id, id), begun))
}

fn location(sale: SaleId, order: OrderId, id: PaymentId) -> String {
    format!("/api/sales/{sale}/orders/{order}/payments/{id}")
}

/// A payment as its owner reads it.
#[derive(Serialize, JsonSchema)]
pub struct PaymentJson {
    id: PaymentId,
    /// `wallet`, or the name of the provider.
    provider: String,
    status: PaymentStatus,
    amount: Money,
    created_at: Timestamp,
    expires_at: Option<Timestamp>,
    /// `null` once the payment can no longer be made.
    #[schemars(extend("format" = "uri-reference"))]
    checkout_url: Option<String>,
}

impl From<OwnPayment> for PaymentJson {
    fn from(own: OwnPayment) -> Self {
        let OwnPayment { payment, created_at, expires_at, checkout_url } = own;
        let (id, status, amount) = (payment.id, payment.status, payment.amount);
        PaymentJson { id, provider: payment.provider, status, amount, created_at, expires_at, checkout_url }
    }
}

#[derive(Serialize, JsonSchema)]
pub struct OnePayment {
    pub payment: PaymentJson,
}

/// One payment of an order. 404 for every user but the owner of both.
pub async fn show(
    (State(shop), SignedIn(session)): UserCall,
    PathIds((sale, order, id)): PathIds<(SaleId, OrderId, PaymentId)>,
) -> Result<Response, Problem> {
    let own = shop.store.payments().own_payment(session.user_id, id).await?;
    let own = own.filter(|own| own.payment.purpose == PaymentPurpose::Order(order)).ok_or(Code::NotFound)?;
    // The order is the user's, because the payment is.
    let is_of_sale = shop.store.orders().order_with_id(order).await?.is_some_and(|order| order.sale_id == sale);
    if !is_of_sale {
        return Err(Code::NotFound.into());
    }
    Ok((Cache::Private, Json(OnePayment { payment: own.into() })).into_response())
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

web::operations! { "orders"
    /// Start a payment, or pay from the wallet
    POST "/api/sales/{sale}/orders/{order}/payments" startPayment = start,
        optional_body<PaymentBody>, repeatable, language, located;
        200 StartedPayment, "Already paid from the wallet by this payment.";
        201 StartedPayment, "The address of the payment page. From the wallet: paid.";
        refuses StepUpNeeded NotPayable NotEnough PaymentsOff RateLimited;
    /// One payment of an order
    GET "/api/sales/{sale}/orders/{order}/payments/{payment}" showPayment = show;
        200 OnePayment, "The payment; 404 for every user but the owner.";
    /// A notification of the payment provider (Standard Webhooks)
    POST "/api/webhooks/payments/sandbox" reportPayment = webhook,
        body<Notice>, header("webhook-id"), header("webhook-timestamp"), header("webhook-signature"), tag("providers");
        204 (), "Applied, already known, or kept for the staff because it fits no payment.";
        refuses BadSignature NotFound;
}
