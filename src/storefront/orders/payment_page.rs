//! The page of one payment: leads on to a provider of another origin, or shows a QR code. The content security policy
//! lets forms lead to the shop only, so it is a page and no redirect.

use askama::Template;
use axum::extract::State;
use axum::http::header::REFERRER_POLICY;
use axum::http::{HeaderName, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};

use crate::UserVisit;
use domain::{Money, PaymentId, PaymentStatus};
use pages::filters;
use payments::{RETURNED, payment_path};
use store::{Checkout, PaymentPurpose};
use web::cache_policy::Cache;
use web::extract::PathIds;
use web::extract::session::SignedIn;
use web::packets::form::qr_code;
use web::problem::{Code, Problem};
use web::shared::negotiation::{personal, see_other};
use web::shared::paths::{order_path, wallet_path};
use web::views::Chrome;

/// A payment that waits to be made.
#[derive(Debug, Template)]
#[template(path = "orders/payment.html")]
pub struct PaymentPage {
    pub chrome: Chrome,
    /// The provider, in words.
    pub provider: &'static str,
    pub amount: Money,
    pub checkout: Checkout,
    /// The page of what is paid for.
    pub back: String,
    /// The address of this page.
    pub here: String,
    /// Whether the payer says that it is paid.
    pub is_asked: bool,
    /// Whether the payer comes back from the provider.
    pub is_returned: bool,
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
pub async fn paid(
    (State(shop), SignedIn(session), visitor): UserVisit,
    PathIds(id): PathIds<PaymentId>,
) -> Result<Response, Problem> {
    shop.store.payments().own_payment(session.user_id, id).await?.ok_or(Code::NotFound)?;
    shop.store.payments().ask_now(id).await?;
    Ok(see_other(&format!("{}?{ASKED}", payment_path(visitor.locale, id))))
}

/// The page for the owner. A payment that cannot be made any more leads back to what it was for. The page's script asks
/// for the head only, so the code is drawn once.
pub async fn show(
    method: Method,
    (State(shop), SignedIn(session), visitor): UserVisit,
    PathIds(id): PathIds<PaymentId>,
) -> Result<Response, Problem> {
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
