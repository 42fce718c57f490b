//! Shoppers of another shop: its server names a customer, and sends the customer here with an entry link.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header::{REFERRER_POLICY, SET_COOKIE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Redirect};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::Url;

use accounts::{AccountRefusal, EntryTarget, NamedShopper, Session, may_be_named};
use domain::{SaleId, UserId};
use web::cache_policy::Cache;
use web::extract::client::ClientDevice;
use web::extract::program::{Caller, Shoppers};
use web::extract::visitor::Visitor;
use web::extract::{Json, Query};
use web::problem::{Code, Problem};
use web::shared::paths::sale_path;
use web::shared::validation::check;
use web::{Answer, Shop};

/// The longest address to return to, in bytes.
const MAX_RETURN_URL: usize = 2000;

/// A customer, as the other shop knows them.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShopperBody {
    /// The other shop's own id of the customer: printable ASCII without spaces, which does not begin with `anonymous-`.
    #[schemars(length(min = 1, max = 64))]
    id: String,
    /// Since when the other shop has known the customer: so old is the account for rules about who may take part. Now, for a
    /// new account.
    since: Option<Timestamp>,
    /// Whether the other shop has verified how it reaches the customer.
    verified: Option<bool>,
    /// The sale that the entry leads to.
    sale: Option<SaleId>,
    /// Where the customer wants to be after the line.
    #[schemars(length(max = 2000))]
    return_url: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct ShopperJson {
    id: String,
    /// The account here.
    account: UserId,
}

#[derive(Serialize, JsonSchema)]
struct NamedShopperJson {
    shopper: ShopperJson,
    /// Signs the customer's browser in, once.
    entry_token: String,
    /// Where to send the customer's browser.
    entry_url: String,
    expires_at: Timestamp,
}

/// Names a customer, who gets an account here, and issues an entry.
pub async fn name(State(shop): State<Arc<Shop>>, _: Caller<Shoppers>, Json(body): Json<ShopperBody>) -> Answer {
    let ShopperBody { id, since, verified, sale, return_url } = body;
    check([
        (may_be_named(&id), "id", "bad_text"),
        (since.is_none_or(|since| since <= shop.clock.now()), "since", "in_future"),
        (sale.is_none_or(|sale| shop.catalogue.known(sale).is_some()), "sale", "no_such_sale"),
        (return_url.as_deref().is_none_or(is_web_address), "return_url", "bad_url"),
    ])?;
    let named = NamedShopper { id, since, verified };
    let (account, is_new) = shop.accounts.customers().name(&named).await?;
    let (entry_token, expires_at) = shop.accounts.customers().issue_entry(account, &EntryTarget { sale, return_url });
    let entry_url = format!("{}/enter?entry={entry_token}", shop.config.public_url);
    let shopper = ShopperJson { id: named.id, account };
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    let answer = axum::Json(NamedShopperJson { shopper, entry_token, entry_url, expires_at });
    Ok((status, Cache::Private, answer).into_response())
}

fn is_web_address(text: &str) -> bool {
    let is_web = |url: Url| matches!(url.scheme(), "https" | "http") && url.has_host() && url.username().is_empty();
    text.len() <= MAX_RETURN_URL
        && text.bytes().all(|byte| byte.is_ascii_graphic())
        && Url::parse(text).is_ok_and(is_web)
}

#[derive(Deserialize)]
pub struct EntryQuery {
    #[serde(default)]
    entry: String,
}

/// Signs the browser in as the account of an entry token, and leads it to the sale.
pub async fn enter(
    State(shop): State<Arc<Shop>>,
    visitor: Visitor,
    ClientDevice(device): ClientDevice,
    Query(EntryQuery { entry }): Query<EntryQuery>,
) -> Answer {
    let (session, target) = spend_entry(&shop, &device, visitor.session.as_ref(), &entry).await?;
    let to = target.sale.map_or_else(|| format!("/{}/", visitor.locale), |sale| sale_path(visitor.locale, sale));
    let headers = [
        (SET_COOKIE, shop.accounts.cookie(&session)),
        // The token stands in the address.
        (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    ];
    Ok((Cache::Private, headers, Redirect::to(&to)).into_response())
}

/// Spends an entry token: opens the session of its account, and ends the one that the browser had before. Returns where
/// the token leads, too.
pub(crate) async fn spend_entry(
    shop: &Shop,
    device: &accounts::Device,
    before: Option<&Session>,
    entry: &str,
) -> Result<(Session, EntryTarget), Problem> {
    let entered = shop.accounts.customers().enter(device, entry).await.map_err(|refusal| match refusal {
        AccountRefusal::BadLink | AccountRefusal::BadCredentials => Code::BadEntry.into(),
        refusal => Problem::from(refusal),
    })?;
    shop.accounts.end_replaced(before).await;
    Ok(entered)
}

web::operations! { "other shops"
    /// Name a customer of another shop, and get an entry for the customer's browser
    ///
    /// Safe to repeat: one id is one account. What is left out stays as it was. Each answer has an entry of its own, which lives
    /// for five minutes and works once.
    POST "/api/v1/shoppers" nameShopper = name;
        200 NamedShopperJson, "The account was there.";
        201 NamedShopperJson, "The account is new.";
        refuses Blocked;
}
