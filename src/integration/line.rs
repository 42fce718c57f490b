//! The line in front of another shop, and its passes: shoppers come from there, and go back with a pass once it is their
//! turn. That is when they are called in a waiting room, from their own moment on in a sale without one, and when they have
//! won a draw.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, REFERRER_POLICY, SET_COOKIE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{AppendHeaders, IntoResponse, Redirect, Response};
use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::Url;
use uuid::Uuid;

use crate::shoppers::spend_entry;
use domain::wire::wire_enum;
use domain::{ExternalReservation, Locale, Phase, Sale, SaleFront, SaleId, SaleMode, TurnState, UserId};
use engine::waiting_rooms::JoinRefusal;
use web::cache_policy::Cache;
use web::extract::client::ClientDevice;
use web::extract::program::{Caller, Reserve};
use web::extract::session::{SignedIn, cookie};
use web::extract::visitor::{Visitor, login_path, query_value};
use web::extract::{Json, PathIds, Query};
use web::problem::{Code, Problem};
use web::shared::negotiation::see_other;
use web::shared::paths::{entry_path, line_path};
use web::shared::purchase_token;
use web::{Answer, Shop, private};

/// The name of a pass in the query of the address to which a called shopper goes back.
const PASS_PARAMETER: &str = "seckill_pass";
/// Entries and passes stand in addresses.
const NO_REFERRER: [(HeaderName, HeaderValue); 1] = [(REFERRER_POLICY, HeaderValue::from_static("no-referrer"))];
/// How long a browser keeps the address to go back to, in seconds.
const RETURN_LIFETIME_S: u32 = 24 * 60 * 60;

#[derive(Deserialize)]
pub struct LineQuery {
    #[serde(rename = "return")]
    back: Option<String>,
    entry: Option<String>,
}

/// How long a pass is valid in a sale without a waiting room. Whoever needs longer gets another one afterwards.
const PASS_LIFETIME: SignedDuration = SignedDuration::from_hours(1);

/// Takes a shopper of another shop into the line. `return` is where to go once called, and `entry` says who the
/// shopper is. Without it, the visitor must be signed in here, unless the sale takes in anonymous visitors.
pub async fn enter(
    State(shop): State<Arc<Shop>>,
    PathIds(sale): PathIds<SaleId>,
    visitor: Visitor,
    ClientDevice(device): ClientDevice,
    Query(LineQuery { back, entry }): Query<LineQuery>,
) -> Answer {
    let front = front_of(&shop, sale)?;
    let known = shop.catalogue.entry(sale).await?.ok_or(Code::NotFound)?;
    let allowed = |address: &str| front.allowed(address).ok_or(Problem::invalid_field("return", "bad_return_address"));
    let mut back = back.as_deref().map(allowed).transpose()?;
    let session = match entry {
        Some(entry) => {
            let (session, target) = spend_entry(&shop, &device, visitor.session.as_ref(), &entry).await?;
            back = back.or(target.return_url.as_deref().and_then(|address| front.allowed(address)));
            Some(session)
        }
        None if visitor.session.is_none() && front.anonymous => {
            shop.accounts.customers().enter_anonymously(&device).await?
        }
        None => None,
    };
    let cookies = [
        back.map(|back| return_cookie(sale, back.as_str(), shop.config.is_https())),
        session.as_ref().map(|session| shop.accounts.cookie(session)),
    ];
    let cookies = AppendHeaders(cookies.into_iter().flatten().map(|cookie| (SET_COOKIE, cookie)));
    let Some(session) = session.or(visitor.session) else {
        let to = login_path(visitor.locale, &format!("/line/{sale}"));
        return Ok((Cache::Private, NO_REFERRER, cookies, Redirect::to(&to)).into_response());
    };
    if known.sale.mode.is_waiting_room() {
        // The page of the turn says why an account has no place.
        match shop.waiting_rooms.join(sale, session.user_id, None).await {
            Ok(_) | Err(JoinRefusal::Closed(_) | JoinRefusal::Ineligible(_)) => {}
            Err(refusal) => return Err(refusal.into()),
        }
    }
    let to = waiting_path(visitor.locale, &known.sale);
    Ok((Cache::Private, NO_REFERRER, cookies, Redirect::to(&to)).into_response())
}

/// Sends a called shopper back to the other shop, with a pass.
pub async fn leave(
    State(shop): State<Arc<Shop>>,
    SignedIn(session): SignedIn,
    PathIds(id): PathIds<SaleId>,
    visitor: Visitor,
    headers: HeaderMap,
) -> Answer {
    let front = front_of(&shop, id)?;
    let known = shop.catalogue.entry(id).await?.ok_or(Code::NotFound)?;
    let to = waiting_path(visitor.locale, &known.sale);
    let turn = turn(&shop, &known.sale, session.user_id).await.map_err(|problem| problem.back(&to))?;
    let Some(Turn { place, until }) = turn else { return Ok(see_other(&to)) };
    if !shop.store.fronts().count_pass(id, &place, until).await? {
        return Err(Code::PassesSpent.into());
    }
    let pass = pass(&shop, &front, (id, session.user_id), place, until).await?;
    let text = shop.passes.sign(&pass, shop.clock.now());
    let mut back = return_address(&front, id, &headers)?;
    back.query_pairs_mut().append_pair(PASS_PARAMETER, &text);
    Ok((Cache::Private, NO_REFERRER, Redirect::to(back.as_str())).into_response())
}

/// The page on which a shopper waits.
fn waiting_path(locale: Locale, sale: &Sale) -> String {
    if sale.mode.is_draw() { entry_path(locale, sale.id) } else { line_path(locale, sale.id) }
}

/// What entitles a shopper to a pass.
struct Turn {
    /// What `place` is in the pass. One place brings one use.
    place: String,
    until: Timestamp,
}

/// The turn of an account, while it lasts.
async fn turn(shop: &Shop, sale: &Sale, user: UserId) -> Result<Option<Turn>, Problem> {
    let now = shop.store.now().await?;
    let turn = match &sale.mode {
        SaleMode::WaitingRoom(plan) => {
            let own = shop.waiting_rooms.own(sale, user, now).await?;
            let place = own.filter(|own| own.state == TurnState::Called).map(|own| own.place);
            place.and_then(|place| Some(Turn { place: place.entry.to_string(), until: place.seat_ends(*plan)? }))
        }
        SaleMode::Draw(_) => held(shop, sale.id, user, now).await?,
        SaleMode::Rush => match own_moment(shop, sale.id, user, now).await? {
            Some(turn) => Some(turn),
            None => held(shop, sale.id, user, now).await?,
        },
    };
    Ok(turn.filter(|turn| now < turn.until))
}

/// The turn of an account that may buy: the sale is open, the account's own moment has come, and no rule of the sale
/// keeps it out.
async fn own_moment(shop: &Shop, sale: SaleId, user: UserId, now: Timestamp) -> Result<Option<Turn>, Problem> {
    let Some(status) = shop.gate.status(sale).filter(|status| status.phase == Phase::Open) else { return Ok(None) };
    let until = now + PASS_LIFETIME;
    let until = status.window.closes_at.map_or(until, |closes| closes.min(until));
    match purchase_token(shop, sale, user, None).await {
        Ok(issued) => Ok(issued.not_before.is_none().then(|| Turn { place: user.to_string(), until })),
        Err(problem) if matches!(problem.code(), Code::NotOpen | Code::Ended) => Ok(None),
        Err(problem) => Err(problem),
    }
}

/// The turn of an account for which units are held: it has won a draw, or units came back to it from the waitlist.
async fn held(shop: &Shop, sale: SaleId, user: UserId, now: Timestamp) -> Result<Option<Turn>, Problem> {
    let Some(id) = shop.store.orders().live_order_of(sale, user).await? else { return Ok(None) };
    // A shopper with an account of this shop pays here, so there is no pass.
    let Some(ExternalReservation { order, .. }) = shop.store.orders().reservation(sale, id).await? else {
        return Ok(None);
    };
    let until = order.pay_by.min(now + PASS_LIFETIME);
    Ok(order.is_payable(now).then(|| Turn { place: id.to_string(), until }))
}

async fn pass(
    shop: &Shop,
    front: &SaleFront,
    (sale, user): (SaleId, UserId),
    place: String,
    until: Timestamp,
) -> Result<Pass, Problem> {
    let external = shop.store.accounts().user(user).await?.and_then(|user| user.external_id);
    Ok(Pass {
        iss: shop.config.public_url.trim_end_matches('/').to_owned(),
        aud: audience(sale),
        sub: external.unwrap_or_else(|| format!("account:{user}")),
        place,
        iat: shop.clock.now().as_second(),
        exp: until.as_second(),
        jti: Uuid::new_v4().simple().to_string(),
        r#use: if front.reusable { PassUse::Many } else { PassUse::Once },
    })
}

fn front_of(shop: &Shop, sale: SaleId) -> Result<SaleFront, Problem> {
    shop.catalogue.front(sale).ok_or(Code::NotFound.into())
}

// Where the browser goes once the shopper is called.

fn cookie_name(sale: SaleId) -> String {
    format!("seckill_return_{sale}")
}

fn return_cookie(sale: SaleId, address: &str, secure: bool) -> HeaderValue {
    let secure = if secure { "; Secure" } else { "" };
    let address: String = url::form_urlencoded::byte_serialize(address.as_bytes()).collect();
    let name = cookie_name(sale);
    let text =
        format!("{name}={address}; Path=/line/{sale}; HttpOnly; SameSite=Lax{secure}; Max-Age={RETURN_LIFETIME_S}");
    HeaderValue::try_from(text).expect("encoded addresses are valid in headers")
}

/// The address in the browser's cookie, if it is still registered; otherwise the first registered one.
fn return_address(front: &SaleFront, sale: SaleId, headers: &HeaderMap) -> Result<url::Url, Problem> {
    let name = cookie_name(sale);
    let kept = cookie(headers, &name).and_then(|value| query_value(&format!("r={value}"), "r"));
    let kept = kept.and_then(|address| front.allowed(&address));
    let first = || front.return_addresses.first().and_then(|address| front.allowed(address));
    kept.or_else(first).ok_or(Code::NotFound.into())
}

// Passes: signed by this shop, carried by shoppers whose turn has come, and checked by the other shop.

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
pub async fn keys(State(shop): State<Arc<Shop>>) -> Response {
    let keys = shop.passes.public_keys(shop.clock.now());
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
) -> Answer {
    let pass = Pass::verified(&shop, &pass).ok_or(Code::BadPass)?;
    if !use_up(&shop, &pass, SignedDuration::ZERO).await? {
        return Err(Code::PassUsed.into());
    }
    Ok(private(RedeemedPass { pass }))
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
pub async fn check(State(shop): State<Arc<Shop>>, headers: HeaderMap) -> Answer {
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
