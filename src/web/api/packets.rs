//! Red packets, by programs: giving, claiming, looking.

use std::sync::Arc;

use axum::Json as Answer;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::written;
use crate::accounts::Session;
use crate::domain::packet::{Giver, Phase, Share, Split};
use crate::domain::wallet::{CURRENCY, money};
use crate::domain::{Money, PacketId};
use crate::packets::{Claimed, View, Wish};
use crate::store::PacketClaim;
use crate::web::Shop;
use crate::web::cache_policy::Cache;
use crate::web::extract::session::{Duty, RunSales, SignedIn};
use crate::web::extract::{Json, PathIds, Query};
use crate::web::problem::{Code, Problem};

/// Items of one page.
const PAGE: usize = 50;

/// Minor units, plain or with the currency of wallets.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(untagged)]
pub enum Amount {
    Units(i64),
    Money(Money),
}

impl Amount {
    /// Another currency is an amount that cannot be.
    fn units(self) -> i64 {
        match self {
            Amount::Units(units) => units,
            Amount::Money(money) if money.currency == CURRENCY => money.amount,
            Amount::Money(_) => 0,
        }
    }
}

/// Who pays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purse {
    Wallet,
    Shop,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewPacket {
    total: Amount,
    count: i64,
    min: Option<Amount>,
    max: Option<Amount>,
    #[serde(default)]
    split: Split,
    #[serde(default)]
    greeting: String,
    #[serde(default = "yes")]
    own: bool,
    opens_at: Option<Timestamp>,
    key: Option<String>,
    pub(super) from: Option<Purse>,
}

fn yes() -> bool {
    true
}

impl From<NewPacket> for Wish {
    fn from(new: NewPacket) -> Wish {
        Wish {
            total: new.total.units(),
            count: new.count,
            min: new.min.map(Amount::units),
            max: new.max.map(Amount::units),
            split: new.split,
            greeting: new.greeting,
            own: new.own,
            opens_at: new.opens_at,
            key: new.key,
        }
    }
}

/// A packet as the API shows it.
#[derive(Debug, Serialize)]
pub struct PacketJson {
    id: PacketId,
    /// `null` for the shop.
    giver: Option<String>,
    from: &'static str,
    greeting: String,
    split: Split,
    total: Money,
    count: i64,
    min: Money,
    max: Money,
    claimed: i64,
    claimed_amount: Money,
    phase: Phase,
    opens_at: Timestamp,
    expires_at: Timestamp,
    created_at: Timestamp,
    settled_at: Option<Timestamp>,
    /// What went back to the giver, once it is settled.
    returned: Option<Money>,
    luckiest: Option<Luckiest>,
    share_url: String,
}

#[derive(Debug, Serialize)]
struct Luckiest {
    username: Option<String>,
    amount: Money,
}

impl PacketJson {
    pub fn of(view: View, shop: &Shop) -> PacketJson {
        let View { packet, giver, luckiest } = view;
        PacketJson {
            id: packet.id,
            giver,
            from: if packet.giver == Giver::Shop { "shop" } else { "wallet" },
            phase: packet.phase(shop.clock.now()),
            total: money(packet.total),
            min: money(packet.min),
            max: money(packet.max),
            claimed_amount: money(packet.claimed_amount),
            returned: packet.settled_at.map(|_| money(packet.left())),
            luckiest: packet.best.map(|(_, amount)| Luckiest { username: luckiest, amount: money(amount) }),
            share_url: share_url(shop, packet.id),
            greeting: packet.greeting,
            split: packet.split,
            count: packet.count,
            claimed: packet.claimed,
            opens_at: packet.opens_at,
            expires_at: packet.expires_at,
            created_at: packet.created_at,
            settled_at: packet.settled_at,
        }
    }
}

/// Where people claim. Without a language in it: it redirects to the visitor's.
pub fn share_url(shop: &Shop, id: PacketId) -> String {
    format!("{}/packets/{id}", shop.config.public_url)
}

#[derive(Serialize)]
struct OnePacket {
    packet: PacketJson,
    share_url: String,
}

/// Gives a packet: from the wallet, or, by staff who run sales, from the shop. 201; the same wish again gives nothing.
pub async fn give(
    State(shop): State<Arc<Shop>>,
    SignedIn(session): SignedIn,
    Json(new): Json<NewPacket>,
) -> Result<Response, Problem> {
    let runs_sales = runs_sales(&shop, &session).await?;
    let (giver, actor) = match (new.from, runs_sales) {
        (Some(Purse::Shop), false) => return Err(Code::NotAllowed.into()),
        (Some(Purse::Shop) | None, true) => (Giver::Shop, Some(session.username.as_str())),
        (Some(Purse::Wallet), _) | (None, false) => (Giver::User(session.user_id), None),
    };
    given(&shop, giver, new.into(), actor).await
}

/// Whether somebody of the staff may spend the shop's money.
async fn runs_sales(shop: &Shop, session: &Session) -> Result<bool, Problem> {
    let staff = shop.accounts.staff(session).await?;
    Ok(staff.is_some_and(|user| !user.must_change_password && RunSales::ROLES.contains(&user.role)))
}

pub(super) async fn given(shop: &Shop, giver: Giver, wish: Wish, actor: Option<&str>) -> Result<Response, Problem> {
    let packet = shop.packets.give(giver, &wish, actor).await?;
    let share_url = share_url(shop, packet.id);
    let view = shop.packets.look(packet.id).await?.ok_or(Code::NoSuchPacket)?;
    Ok((StatusCode::CREATED, Answer(OnePacket { packet: PacketJson::of(view, shop), share_url })).into_response())
}

/// Claims a share. The same user again: the same share.
pub async fn claim(
    State(shop): State<Arc<Shop>>,
    SignedIn(session): SignedIn,
    PathIds(id): PathIds<PacketId>,
) -> Result<Response, Problem> {
    let claimed = shop.packets.claim(session.user_id, id).await?;
    let (Share { index, amount }, more) = match claimed {
        Claimed::New(share) => (share, ""),
        Claimed::Again(share) => (share, r#","repeated":true"#),
    };
    // Written by hand, because everybody claims at once. Nothing in it needs escaping.
    let currency = CURRENCY.as_str();
    let text = format!(
        r#"{{"claim":{{"packet_id":"{id}","share":{index},"amount":{{"amount":{amount},"currency":"{currency}"}}}}{more}}}"#
    );
    Ok(written(StatusCode::OK, text))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimsPage {
    before: Option<i64>,
}

#[derive(Serialize)]
struct Look {
    packet: PacketJson,
    /// What whoever asks has got of it.
    mine: Option<Money>,
    /// The latest first.
    claims: Vec<ClaimJson>,
    /// For `?before=`; `null` on the last page.
    next: Option<i64>,
}

#[derive(Serialize)]
struct ClaimJson {
    share: i64,
    /// `null` when the account is gone.
    username: Option<String>,
    amount: Money,
    claimed_at: Timestamp,
    luckiest: bool,
}

/// A packet, who has claimed what, and once it is over the luckiest.
pub async fn show(
    State(shop): State<Arc<Shop>>,
    PathIds(id): PathIds<PacketId>,
    Query(page): Query<ClaimsPage>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let view = shop.packets.look(id).await?.ok_or(Code::NoSuchPacket)?;
    let mine = match shop.accounts.session(&headers) {
        Some(session) => shop.packets.share_of(session.user_id, &view.packet).await?,
        None => None,
    };
    let claims = shop.packets.claims(id, page.before, PAGE).await?;
    let best = view.packet.best;
    let line = |PacketClaim { claim, username }: PacketClaim| ClaimJson {
        share: claim.share,
        username,
        amount: money(claim.amount),
        claimed_at: claim.claimed_at,
        luckiest: best.is_some_and(|(user, _)| user == claim.user_id),
    };
    let look = Look {
        packet: PacketJson::of(view, &shop),
        mine: mine.map(|share| money(share.amount)),
        claims: claims.items.into_iter().map(line).collect(),
        next: claims.next,
    };
    Ok((Cache::Private, Answer(look)).into_response())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Listing {
    given: Option<String>,
    received: Option<String>,
    before: Option<PacketId>,
}

#[derive(Serialize)]
pub(super) struct PacketList<T> {
    pub(super) packets: Vec<T>,
    /// For `&before=`; `null` on the last page.
    pub(super) next: Option<PacketId>,
}

#[derive(Serialize)]
struct Received {
    #[serde(flatten)]
    packet: PacketJson,
    mine: Money,
    claimed_at: Timestamp,
}

/// `?given` or `?received`: one's own packets, newest first.
pub async fn list(
    State(shop): State<Arc<Shop>>,
    SignedIn(session): SignedIn,
    Query(listing): Query<Listing>,
) -> Result<Response, Problem> {
    let user = session.user_id;
    if listing.received.is_some() && listing.given.is_none() {
        let page = shop.packets.received(user, listing.before, PAGE).await?;
        let item = |(claim, view): (crate::domain::packet::ShareClaim, View)| Received {
            mine: money(claim.amount),
            claimed_at: claim.claimed_at,
            packet: PacketJson::of(view, &shop),
        };
        let packets: Vec<Received> = page.items.into_iter().map(item).collect();
        return Ok((Cache::Private, Answer(PacketList { packets, next: page.next })).into_response());
    }
    if listing.received.is_some() {
        return Err(Problem::invalid_field("received", "repeated"));
    }
    let page = shop.packets.given(Giver::User(user), listing.before, PAGE).await?;
    let packets: Vec<PacketJson> = page.items.into_iter().map(|view| PacketJson::of(view, &shop)).collect();
    Ok((Cache::Private, Answer(PacketList { packets, next: page.next })).into_response())
}
