//! The line in front of another shop: shoppers come from there, and go back with a pass once it is their turn. That is when
//! they are called in a waiting room, from their own moment on in a sale without one, and when they have won a draw.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header::{REFERRER_POLICY, SET_COOKIE};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::{AppendHeaders, IntoResponse, Redirect, Response};
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use uuid::Uuid;

use crate::passes::{Pass, PassUse, audience};
use crate::shoppers::spend_entry;
use domain::{Locale, Phase, Sale, SaleFront, SaleId, SaleMode, TurnState, UserId};
use engine::waiting_rooms::JoinRefusal;
use web::Shop;
use web::cache_policy::Cache;
use web::extract::client::ClientDevice;
use web::extract::session::{SignedIn, cookie};
use web::extract::visitor::{Visitor, login_path, query_value};
use web::extract::{PathIds, Query};
use web::problem::{Code, Problem};
use web::shared::negotiation::see_other;
use web::shared::paths::{entry_path, line_path};
use web::shared::purchase_token;

/// The name of a pass in the query of the address to which a called shopper goes back.
pub const PASS_PARAMETER: &str = "seckill_pass";
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
) -> Result<Response, Problem> {
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
) -> Result<Response, Problem> {
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
    let order = shop.orders.find_persisted(user, sale, id).await?;
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
