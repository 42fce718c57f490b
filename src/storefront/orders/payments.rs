//! Payments of orders: started by a page or a program, the notices of payment providers, and the page of one payment. That
//! page leads on to a provider of another origin, or shows a QR code. The content security policy lets forms lead to the
//! shop only, so it is a page and no redirect.

use std::sync::Arc;

use askama::Template;
use axum::body::Body;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, REFERRER_POLICY};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{OrderCall, UserCall, UserVisit};
use accounts::Session;
use domain::{Locale, Money, Order, OrderId, PaymentId, PaymentStatus, SaleId};
use pages::{Chrome, filters};
use payments::{Begun, Notice, PayerChoice, PaymentError, RETURNED, payment_path};
use store::{Checkout, OwnPayment, PaymentPurpose, StoreResult, WALLET};
use web::extract::{MAX_BODY_BYTES, PathIds, PayingPhone, SignedIn, State, Visitor, body, from_json, locale};
use web::packets::qr_code;
use web::shared::paths::{order_path, wallet_path};
use web::{Answer, Cache, Code, Problem, Shop, created, goods_name_and_cover, personal, private, see_other};

/// Pays the order from the wallet if `source` is `wallet`. Otherwise begins a payment at the provider of that name, or at
/// the first that takes it, and redirects there. `shown` is the amount that the form showed, in minor units; if the order
/// costs another one by now, nothing is paid and the order's page shows it.
pub async fn pay_from(
    shop: &Shop,
    session: &Session,
    visitor: &Visitor,
    order: &Order,
    (source, shown): (&str, &str),
    phone: PayingPhone,
) -> Answer {
    let order_page = order_path(visitor.locale, order.sale_id, order.id);
    check_paid_here(shop, order).await.map_err(|problem| problem.back(&order_page))?;
    if !shown.is_empty() && shown.parse() != Ok(order.amount.amount) {
        return Ok(see_other(&order_page));
    }
    if source == WALLET {
        shop.accounts.check_spending(session).await?;
        let paid = shop.payments.pay_from_wallet(order).await;
        paid.map_err(|error| Problem::from(error).back(&order_page))?;
        return Ok(see_other(&order_page));
    }
    let choice = choice_for(shop, visitor.locale, order, (source, phone), order_page).await?;
    let begun = shop.payments.start(order, choice).await?;
    Ok(redirect_to_checkout(shop, visitor.locale, &begun))
}

/// Refuses to take money from a customer of another shop, which takes it and then confirms the reservation. That does not
/// depend on whether the sale stands in front of the shop now: it may have changed since the purchase.
async fn check_paid_here(shop: &Shop, order: &Order) -> Result<(), Problem> {
    match is_paid_elsewhere(shop, order.sale_id, order.id).await? {
        true => {
            Err(Problem::new(Code::SoldElsewhere).detail("The shop that the customer comes from takes the payment."))
        }
        false => Ok(()),
    }
}

pub async fn is_paid_elsewhere(shop: &Shop, sale: SaleId, order: OrderId) -> StoreResult<bool> {
    Ok(shop.store.orders().reservation(sale, order).await?.is_some())
}

/// What the owner of an order asks for. An empty `provider` is the first that takes the payment.
async fn choice_for(
    shop: &Shop,
    locale: Locale,
    order: &Order,
    (provider, PayingPhone(phone)): (&str, PayingPhone),
    return_path: String,
) -> Result<PayerChoice, Problem> {
    let entry = shop.catalogue.entry(order.sale_id).await?;
    let (title, _) = goods_name_and_cover(entry.as_deref(), locale);
    Ok(PayerChoice { provider: provider.to_owned(), title, locale, return_path, phone })
}

/// Redirects to where a payment is made.
pub fn redirect_to_checkout(shop: &Shop, locale: Locale, begun: &Begun) -> Response {
    // A provider on this shop's own origin is reached by path, whatever host name the shopper uses, because the page's
    // content security policy lets forms lead nowhere else. To other origins a page of the shop leads.
    let Checkout::Redirect(url) = &begun.checkout else { return see_other(&payment_path(locale, begun.payment)) };
    let own = url.strip_prefix(&shop.config.public_url).unwrap_or(url);
    match own.starts_with('/') && !own.starts_with("//") {
        true => see_other(own),
        false => see_other(&payment_path(locale, begun.payment)),
    }
}

/// The largest notification that is read. Some contain all that the provider knows of a payment.
const MAX_WEBHOOK_BYTES: usize = 64 * 1024;

/// A payment that was begun: at a provider with the address at which it is made, or a QR code to be scanned; from the
/// wallet already captured.
#[derive(Serialize, JsonSchema)]
pub struct StartedPayment {
    payment: PaymentRef,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "uri-reference"))]
    checkout_url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scan: Option<ScanJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<PaymentStatus>,
}

impl From<Begun> for StartedPayment {
    fn from(begun: Begun) -> Self {
        let (checkout_url, scan) = checkout(begun.checkout);
        StartedPayment { payment: PaymentRef { id: begun.payment }, checkout_url, scan, status: None }
    }
}

/// A payment that is made with the provider's app on a phone.
#[derive(Serialize, JsonSchema)]
pub struct ScanJson {
    /// The text of the QR code.
    text: String,
    expires_at: Timestamp,
}

fn checkout(checkout: Checkout) -> (Option<String>, Option<ScanJson>) {
    match checkout {
        Checkout::Redirect(url) => (Some(url), None),
        Checkout::Scan { text, expires_at } => (None, Some(ScanJson { text, expires_at })),
    }
}

#[derive(Serialize, JsonSchema)]
struct PaymentRef {
    id: PaymentId,
}

/// The source of the money. The body may be missing, which means the provider, or be `{"from":"wallet"}`.
#[derive(Deserialize, Default, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct PaymentBody {
    from: PaymentSource,
    /// The name of the provider. Without it the first in the shop's order that takes the amount.
    provider: String,
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
    (State(shop), SignedIn(session), PathIds((sale, order))): OrderCall,
    phone: PayingPhone,
    uri: Uri,
    headers: HeaderMap,
    content: Body,
) -> Answer {
    let bytes = body(&headers, content, MAX_BODY_BYTES).await?;
    let content: PaymentBody = if bytes.is_empty() { PaymentBody::default() } else { from_json(&bytes)? };
    let order = shop.orders.find_persisted(session.user_id, sale, order).await?;
    check_paid_here(&shop, &order).await?;
    if content.from == PaymentSource::Wallet {
        shop.accounts.check_spending(&session).await?;
        let (id, repeated) = shop.payments.pay_from_wallet(&order).await?;
        let payment = PaymentRef { id };
        let status = Some(PaymentStatus::Captured);
        let paid = StartedPayment { payment, checkout_url: None, scan: None, status };
        return Ok(match repeated {
            true => private(paid),
            false => created(location(sale, order.id, id), paid),
        });
    }
    let locale = locale(&uri, &headers);
    let return_path = order_path(locale, sale, order.id);
    let choice = choice_for(&shop, locale, &order, (&content.provider, phone), return_path).await?;
    let begun = shop.payments.start(&order, choice).await?;
    Ok(created(location(sale, order.id, begun.payment), StartedPayment::from(begun)))
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
    /// `null` once the payment can no longer be made, and for one that is made by a QR code.
    #[schemars(extend("format" = "uri-reference"))]
    checkout_url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scan: Option<ScanJson>,
}

impl From<OwnPayment> for PaymentJson {
    fn from(own: OwnPayment) -> Self {
        let OwnPayment { payment, created_at, expires_at, checkout } = own;
        let (id, status, amount) = (payment.id, payment.status, payment.amount);
        let (checkout_url, scan) = checkout.map(self::checkout).unwrap_or_default();
        PaymentJson { id, provider: payment.provider, status, amount, created_at, expires_at, checkout_url, scan }
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
) -> Answer {
    let own = shop.store.payments().own_payment(session.user_id, id).await?;
    let own = own.filter(|own| own.payment.purpose == PaymentPurpose::Order(order)).ok_or(Code::NotFound)?;
    // The order is the user's, because the payment is.
    let is_of_sale = shop.store.orders().order_with_id(order).await?.is_some_and(|order| order.sale_id == sale);
    if !is_of_sale {
        return Err(Code::NotFound.into());
    }
    Ok(private(OnePayment { payment: own.into() }))
}

/// The notification of a provider in its own form. Its signature covers the raw bytes, so nothing is parsed before it is
/// verified. 404 for a provider that is not on.
pub async fn webhook(
    State(shop): State<Arc<Shop>>,
    PathIds(provider): PathIds<String>,
    headers: HeaderMap,
    content: Body,
) -> Answer {
    let bytes = body(&headers, content, MAX_WEBHOOK_BYTES).await?;
    match shop.payments.receive(&provider, &headers, &bytes).await {
        Ok((status, "")) => Ok(status.into_response()),
        Ok(answer) => Ok(answer.into_response()),
        Err(PaymentError::NoProvider) => Err(Code::NotFound.into()),
        Err(error) => Ok(refusal(error.into(), shop.payments.refused(&provider))),
    }
}

/// The answer to a notification that was refused, with the body that its provider wants.
fn refusal(problem: Problem, body: Option<&'static str>) -> Response {
    let mut response = problem.into_response();
    if let Some(body) = body {
        *response.body_mut() = Body::from(body);
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        response.headers_mut().remove(CONTENT_LENGTH);
    }
    response
}

/// A payment that waits to be made.
#[derive(Debug, Template)]
#[template(path = "orders/payment.html")]
struct PaymentPage {
    chrome: Chrome,
    /// The provider, in words.
    provider: &'static str,
    amount: Money,
    checkout: Checkout,
    /// The page of what is paid for.
    back: String,
    /// The address of this page.
    here: String,
    /// Whether the payer says that it is paid.
    is_asked: bool,
    /// Whether the payer comes back from the provider.
    is_returned: bool,
}

impl PaymentPage {
    /// The QR code as a `data:` address.
    fn picture(&self, text: &str) -> String {
        qr_code(text).unwrap_or_default()
    }
}

/// WeChat Pay takes payers on phones only from a page of the domain that the merchant has registered, and reads it in the
/// referrer.
const NAMES_THE_SHOP: [(HeaderName, HeaderValue); 1] =
    [(REFERRER_POLICY, HeaderValue::from_static("strict-origin-when-cross-origin"))];

/// The address that the page gets once its payer says that it is paid.
const ASKED: &str = "asked=1";

/// The payer says that the payment is made, so the provider is asked soon, and not only when it is time to.
pub async fn paid((State(shop), SignedIn(session), visitor): UserVisit, PathIds(id): PathIds<PaymentId>) -> Answer {
    shop.store.payments().own_payment(session.user_id, id).await?.ok_or(Code::NotFound)?;
    shop.store.payments().ask_now(id).await?;
    Ok(see_other(&format!("{}?{ASKED}", payment_path(visitor.locale, id))))
}

/// The page for the owner. A payment that cannot be made any more leads back to what it was for. The page's script asks
/// for the head only, so the code is drawn once.
pub async fn page(
    method: Method,
    (State(shop), SignedIn(session), visitor): UserVisit,
    PathIds(id): PathIds<PaymentId>,
) -> Answer {
    let own = shop.store.payments().own_payment(session.user_id, id).await?.ok_or(Code::NotFound)?;
    let back = match own.payment.purpose {
        PaymentPurpose::TopUp(_) => wallet_path(visitor.locale),
        PaymentPurpose::Order(order) => {
            let order = shop.store.orders().order_with_id(order).await?.ok_or(Code::NotFound)?;
            order_path(visitor.locale, order.sale_id, order.id)
        }
    };
    let now = shop.clock.now();
    let is_over = |checkout: &Checkout| matches!(checkout, Checkout::Scan { expires_at, .. } if *expires_at <= now);
    let checkout = own.checkout.filter(|_| own.payment.status == PaymentStatus::Created);
    let checkout = checkout.filter(|checkout| !is_over(checkout));
    let Some(checkout) = checkout else { return Ok(see_other(&back)) };
    if method == Method::HEAD {
        return Ok((Cache::Private, ()).into_response());
    }
    let here = payment_path(visitor.locale, id);
    let query = visitor.path.split_once('?').map_or("", |(_, query)| query);
    let [is_asked, is_returned] = [ASKED, RETURNED].map(|told| query.split('&').any(|pair| pair == told));
    if is_returned {
        // The provider's notice may be on its way, or lost.
        shop.store.payments().ask_now(id).await?;
    }
    let (chrome, amount) = (visitor.chrome_at(here.clone()), own.payment.amount);
    let provider = chrome.text().pay_with(&own.payment.provider);
    let page = PaymentPage { chrome, provider, amount, checkout, back, here, is_asked, is_returned };
    Ok((NAMES_THE_SHOP, personal(StatusCode::OK, &page)?).into_response())
}

web::operations! { "orders"
    /// Start a payment, or pay from the wallet
    POST "/api/sales/{sale}/orders/{order}/payments" startPayment = start,
        optional_body<PaymentBody>, repeatable, language, located;
        200 StartedPayment, "Already paid from the wallet by this payment.";
        201 StartedPayment, "The address of the payment page. From the wallet: paid.";
        refuses StepUpNeeded NotPayable SoldElsewhere ShippingAddressNeeded NotEnough PaymentsOff RateLimited;
    /// One payment of an order
    GET "/api/sales/{sale}/orders/{order}/payments/{payment}" showPayment = show;
        200 OnePayment, "The payment; 404 for every user but the owner.";
    /// A notification of a payment provider
    POST "/api/webhooks/payments/{provider}" reportPayment = webhook,
        body<Notice>, tag("providers");
        204 (), "Applied, already known, or kept for the staff because it fits no payment.";
        refuses BadSignature NotFound;
}
