//! Passes: signed by this shop, carried by shoppers whose turn has come, and checked by the other shop.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, SET_COOKIE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use base::jws::PublicKey;
use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::line::PASS_PARAMETER;
use domain::wire::wire_enum;
use domain::{SaleFront, SaleId};
use web::Shop;
use web::cache_policy::Cache;
use web::extract::Json;
use web::extract::program::{Caller, Reserve};
use web::extract::session::cookie;
use web::extract::visitor::query_value;
use web::problem::{Code, Problem};

wire_enum! {
    /// How often a pass lets its holder in.
    pub enum PassUse {
        Once = "once",
        Many = "many",
    }
}

/// The claims of a pass: what a JSON web token has (RFC 7519), and the place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pass {
    /// The address of the shop that signed it.
    pub iss: String,
    /// `sale:` and the id of the sale.
    pub aud: String,
    /// The other shop's id of its customer, or `account:` and the id of an account here.
    pub sub: String,
    /// What brought the turn: the entry of the place in the waiting room, the order of units that are held, or the account.
    pub place: String,
    pub iat: i64,
    pub exp: i64,
    pub jti: String,
    pub r#use: PassUse,
}

pub fn audience(sale: SaleId) -> String {
    format!("sale:{sale}")
}

impl Pass {
    fn sale(&self) -> Option<SaleId> {
        self.aud.strip_prefix("sale:")?.parse().ok()
    }

    fn expires(&self) -> Timestamp {
        Timestamp::from_second(self.exp).unwrap_or(Timestamp::MIN)
    }

    /// The claims of a pass that this shop signed and that has not expired.
    fn verified(shop: &Shop, text: &str) -> Option<Pass> {
        let now = shop.clock.now();
        let pass: Pass = shop.passes.verify(text, now)?;
        (now < pass.expires()).then_some(pass)
    }
}

/// The keys with which passes are verified, as RFC 7517 has them.
#[derive(Serialize)]
struct KeySet {
    keys: Vec<PublicKey>,
}

pub async fn keys(State(shop): State<Arc<Shop>>) -> Response {
    let keys = KeySet { keys: shop.passes.public_keys(shop.clock.now()) };
    // A key is published a day before it signs.
    ([(CACHE_CONTROL, HeaderValue::from_static("public, max-age=300"))], axum::Json(keys)).into_response()
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PassBody {
    pass: String,
}

#[derive(Serialize, JsonSchema)]
struct RedeemedPass {
    pass: Pass,
}

/// Uses a pass up and frees its seat. A pass of a sale whose passes are reusable can be redeemed once all the same.
pub async fn redeem(
    State(shop): State<Arc<Shop>>,
    _: Caller<Reserve>,
    Json(PassBody { pass }): Json<PassBody>,
) -> Result<Response, Problem> {
    let pass = Pass::verified(&shop, &pass).ok_or(Code::BadPass)?;
    if !use_up(&shop, &pass, SignedDuration::ZERO).await? {
        return Err(Code::PassUsed.into());
    }
    Ok((Cache::Private, axum::Json(RedeemedPass { pass })).into_response())
}

async fn use_up(shop: &Shop, pass: &Pass, grace: SignedDuration) -> Result<bool, Problem> {
    let sale = pass.sale().ok_or(Code::BadPass)?;
    Ok(shop.store.fronts().use_pass(sale, (&pass.place, &pass.jti), pass.expires(), grace).await?)
}

// The check that a proxy in front of the other shop asks for with each request (`auth_request` of nginx).

const SALE: HeaderName = HeaderName::from_static("x-sale");
const ORIGINAL_URI: HeaderName = HeaderName::from_static("x-original-uri");
const ORIGINAL_URL: HeaderName = HeaderName::from_static("x-original-url");
const PASS_SUBJECT: HeaderName = HeaderName::from_static("x-pass-sub");
const LINE: HeaderName = HeaderName::from_static("x-line");
/// How long a pass in an address is taken again. A browser may ask for several things at once, or lose the first answer.
const REPEAT_GRACE: SignedDuration = SignedDuration::from_secs(10);

/// 204 for a request with the cookie of an admitted browser, or with a pass in its address, which is used up and becomes
/// that cookie. 401 with the address of the line otherwise.
pub async fn check(State(shop): State<Arc<Shop>>, headers: HeaderMap) -> Result<Response, Problem> {
    let text = |name: &HeaderName| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let sale: SaleId = text(&SALE).parse().map_err(|_| Problem::invalid_field(SALE.as_str(), "bad_id"))?;
    let front = shop.catalogue.front(sale).ok_or(Code::NotFound)?;
    if let Some(subject) = admitted(&shop, sale, &headers) {
        return Ok((StatusCode::NO_CONTENT, Cache::Private, [(PASS_SUBJECT, subject)]).into_response());
    }
    let address = text(&ORIGINAL_URI);
    let query = address.split_once('?').map_or("", |(_, query)| query);
    let pass = query_value(query, PASS_PARAMETER).and_then(|pass| Pass::verified(&shop, &pass));
    if let Some(pass) = pass.filter(|pass| pass.sale() == Some(sale))
        && (pass.r#use == PassUse::Many || use_up(&shop, &pass, REPEAT_GRACE).await?)
    {
        let cookie = admission_cookie(&shop, &front, sale, &pass);
        return Ok((StatusCode::NO_CONTENT, Cache::Private, [(PASS_SUBJECT, pass.sub)], [(SET_COOKIE, cookie)])
            .into_response());
    }
    let mut response = Problem::new(Code::PassNeeded).into_response();
    let line = line_address(&shop, &front, sale, [text(&ORIGINAL_URL), address]);
    response.headers_mut().insert(LINE, HeaderValue::try_from(line).map_err(Problem::internal)?);
    Ok(response)
}

/// Whose cookie the browser has, if it is one of this sale and has not expired.
fn admitted(shop: &Shop, sale: SaleId, headers: &HeaderMap) -> Option<String> {
    let payload = shop.admissions.verify(cookie(headers, PASS_PARAMETER)?)?;
    let mut parts = payload.splitn(3, ' ');
    let for_sale = parts.next()?.parse().ok() == Some(sale);
    let expires: i64 = parts.next()?.parse().ok()?;
    let subject = parts.next()?;
    (for_sale && shop.clock.now().as_second() < expires).then(|| subject.to_owned())
}

/// The cookie is one of the other shop's host, which the proxy sets.
fn admission_cookie(shop: &Shop, front: &SaleFront, sale: SaleId, pass: &Pass) -> String {
    let signed = shop.admissions.sign(&format!("{sale} {} {}", pass.exp, pass.sub));
    let seconds = (pass.exp - shop.clock.now().as_second()).max(0);
    let is_https = front.return_addresses.iter().all(|address| address.starts_with("https:"));
    let secure = if is_https { "; Secure" } else { "" };
    format!("{PASS_PARAMETER}={signed}; Path=/; HttpOnly; SameSite=Lax{secure}; Max-Age={seconds}")
}

/// The entry of the line, with the address to come back to: the requested one without its pass, if shoppers may return
/// there. `requested` is the whole address, which the proxy may send, and its path with the query.
fn line_address(shop: &Shop, front: &SaleFront, sale: SaleId, [whole, path]: [&str; 2]) -> String {
    let base = front.return_addresses.first().and_then(|address| front.allowed(address));
    let is_path = path.starts_with('/') && !path.starts_with("//");
    let joined = base.as_ref().filter(|_| is_path).and_then(|base| base.join(path).ok());
    let requested = [Url::parse(whole).ok(), joined].into_iter().flatten().map(without_pass);
    let back = requested.filter_map(|url| front.allowed(url.as_str())).next().or(base);
    let back = back.map(String::from).unwrap_or_default();
    let back: String = url::form_urlencoded::byte_serialize(back.as_bytes()).collect();
    format!("{}/line/{sale}?return={back}", shop.config.public_url.trim_end_matches('/'))
}

/// The other parameters stay as they were written.
fn without_pass(mut address: Url) -> Url {
    let is_other = |pair: &&str| pair.split('=').next() != Some(PASS_PARAMETER);
    let query = address.query().map(|query| query.split('&').filter(is_other).collect::<Vec<_>>().join("&"));
    address.set_query(query.as_deref().filter(|query| !query.is_empty()));
    address
}

web::operations! { "other shops"
    /// Use a pass up
    ///
    /// A pass lets its holder into the other shop once. Its seat in the waiting room is free again at once.
    POST "/api/v1/passes/redeem" redeemPass = redeem;
        200 RedeemedPass;
        refuses BadPass PassUsed;
    /// Whether a proxy may let a request through
    ///
    /// For `auth_request` of nginx. The headers are `X-Sale`, `X-Original-URI` and the request's `Cookie`.
    GET "/api/v1/passes/check" checkPass = check;
        204 ();
        refuses PassNeeded NotFound;
}
