//! The line in front of another shop: shoppers come from there, wait in the waiting room, and go back with a pass once
//! they are called.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header::{REFERRER_POLICY, SET_COOKIE};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::{AppendHeaders, IntoResponse, Redirect, Response};
use jiff::Timestamp;
use serde::Deserialize;
use uuid::Uuid;

use crate::passes::{Pass, PassUse, audience};
use crate::shoppers::spend_entry;
use domain::{SaleFront, SaleId, TurnState, UserId};
use engine::waiting_rooms::{JoinRefusal, OwnTurn};
use web::Shop;
use web::cache_policy::Cache;
use web::extract::client::ClientDevice;
use web::extract::session::{SignedIn, cookie};
use web::extract::visitor::{Visitor, login_path, query_value};
use web::extract::{PathIds, Query};
use web::problem::{Code, Problem};
use web::shared::negotiation::see_other;
use web::shared::paths::line_path;

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

/// Takes a shopper of another shop into the waiting room. `return` is where to go once called, and `entry` says who the
/// shopper is. Without it, the visitor must be signed in here, unless the sale takes in anonymous visitors.
pub async fn enter(
    State(shop): State<Arc<Shop>>,
    PathIds(sale): PathIds<SaleId>,
    visitor: Visitor,
    ClientDevice(device): ClientDevice,
    Query(LineQuery { back, entry }): Query<LineQuery>,
) -> Result<Response, Problem> {
    let front = front_of(&shop, sale)?;
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
    // The page of the turn says why an account has no place.
    match shop.waiting_rooms.join(sale, session.user_id, None).await {
        Ok(_) | Err(JoinRefusal::Closed(_) | JoinRefusal::Ineligible(_)) => {}
        Err(refusal) => return Err(refusal.into()),
    }
    let to = line_path(visitor.locale, sale);
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
    let now = shop.store.now().await?;
    let own = shop.waiting_rooms.own(&known.sale, session.user_id, now).await?;
    let plan = known.sale.mode.waiting_room_plan().ok_or(Code::NoSuchWaitingRoom)?;
    let called = own.filter(|own| own.state == TurnState::Called);
    let until = called.and_then(|own| own.place.seat_ends(plan)).filter(|until| now < *until);
    let (Some(OwnTurn { place, .. }), Some(until)) = (called, until) else {
        return Ok(see_other(&line_path(visitor.locale, id)));
    };
    let entry = place.entry.to_string();
    if !shop.store.fronts().count_pass(id, &entry, until).await? {
        return Err(Code::PassesSpent.into());
    }
    let pass = pass(&shop, &front, (id, session.user_id), entry, until).await?;
    let text = shop.passes.sign(&pass, shop.clock.now());
    let mut back = return_address(&front, id, &headers)?;
    back.query_pairs_mut().append_pair(PASS_PARAMETER, &text);
    Ok((Cache::Private, NO_REFERRER, Redirect::to(back.as_str())).into_response())
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
