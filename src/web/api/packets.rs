//! Red packets: giving, claiming, reading.

use std::sync::Arc;

use axum::Json as Answer;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{UserCall, json_response};
use crate::Shop;
use crate::cache_policy::Cache;
use crate::extract::client::ClientAddress;
use crate::extract::repeatable::Repeatable;
use crate::extract::session::{ManageSales, Permission, SignedIn};
use crate::extract::{Json, PathIds, Query};
use crate::problem::{Code, Problem};
use crate::shared::pagination::{Cursor, LARGE_PAGE_SIZE};
use crate::shared::paths::packet_share_url;
use crate::shared::response::created;
use accounts::Session;
use domain::Role;
use domain::packet::{Giver, PacketPhase, Share, Split};
use domain::wallet::{CURRENCY, money};
use domain::{Money, PacketId};
use engine::packets::{ClaimedShare, GiveRequest, PacketView, Purse};
use store::{PacketClaim, RequestId};

/// An amount in minor units, alone or with the currency of wallets.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(untagged)]
pub enum PacketAmount {
    Units(i64),
    Money(Money),
}

impl PacketAmount {
    /// Zero, which is never valid, in another currency.
    fn units(self) -> i64 {
        match self {
            PacketAmount::Units(units) => units,
            PacketAmount::Money(money) if money.currency == CURRENCY => money.amount,
            PacketAmount::Money(_) => 0,
        }
    }
}

/// Where the money comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PacketSource {
    Wallet,
    Shop,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewPacket {
    total: PacketAmount,
    count: i64,
    min: Option<PacketAmount>,
    max: Option<PacketAmount>,
    #[serde(default)]
    split: Split,
    #[serde(default)]
    greeting: String,
    #[serde(default = "yes")]
    own: bool,
    opens_at: Option<Timestamp>,
    key: Option<String>,
    pub(super) from: Option<PacketSource>,
}

fn yes() -> bool {
    true
}

impl NewPacket {
    /// What is to be given. Attempts of one HTTP request have one key, so that they give one packet.
    pub(super) fn request(self, repeatable: Option<RequestId>) -> GiveRequest {
        GiveRequest {
            total: self.total.units(),
            count: self.count,
            min: self.min.map(PacketAmount::units),
            max: self.max.map(PacketAmount::units),
            split: self.split,
            greeting: self.greeting,
            own: self.own,
            opens_at: self.opens_at,
            key: self.key.or(repeatable.map(|RequestId(id)| id.simple().to_string())),
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
    phase: PacketPhase,
    opens_at: Timestamp,
    expires_at: Timestamp,
    created_at: Timestamp,
    settled_at: Option<Timestamp>,
    /// What went back to the giver, once the packet is settled.
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
    pub fn of(view: PacketView, shop: &Shop) -> PacketJson {
        let PacketView { packet, giver, luckiest } = view;
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
            share_url: packet_share_url(shop, packet.id),
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

#[derive(Serialize)]
struct GivenPacketResponse {
    packet: PacketJson,
    share_url: String,
}

/// Gives a packet from the wallet, if the password was entered within 12 hours, or from the shop by staff who run sales. A repeated request with the same key gives
/// nothing more.
pub async fn give(
    (State(shop), SignedIn(session)): UserCall,
    Repeatable(request): Repeatable,
    Json(new): Json<NewPacket>,
) -> Result<Response, Problem> {
    let spender = spender_role(&shop, &session).await?;
    let purse = match (new.from, spender) {
        (Some(PacketSource::Shop), None) => return Err(Code::NotAllowed.into()),
        // An owner gives from the shop unless told otherwise; an operator has to say so.
        (Some(PacketSource::Shop), Some(role)) | (None, Some(role @ Role::Admin)) => {
            Purse::shop(session.user_id, &session.username, role)
        }
        (Some(PacketSource::Wallet) | None, _) => {
            shop.accounts.check_spending(&session).await?;
            Purse::Wallet(session.user_id)
        }
    };
    give_packet(&shop, purse, new.request(request)).await
}

/// The user's role, if it may spend the shop's money.
async fn spender_role(shop: &Shop, session: &Session) -> Result<Option<Role>, Problem> {
    let staff = shop.accounts.staff(session).await?;
    let spender = staff.filter(|user| shop.accounts.duty_of(user).is_none() && ManageSales::ROLES.contains(&user.role));
    Ok(spender.map(|user| user.role))
}

pub(super) async fn give_packet(shop: &Shop, purse: Purse<'_>, request: GiveRequest) -> Result<Response, Problem> {
    let packet = shop.packets.give(purse, &request).await?;
    let share_url = packet_share_url(shop, packet.id);
    let view = shop.packets.view(packet.id).await?.ok_or(Code::NoSuchPacket)?;
    let given = GivenPacketResponse { packet: PacketJson::of(view, shop), share_url };
    Ok(created(format!("/api/packets/{}", packet.id), given))
}

/// Claims a share. A repeated claim gets the same share.
pub async fn claim(
    (State(shop), SignedIn(session)): UserCall,
    PathIds(id): PathIds<PacketId>,
) -> Result<Response, Problem> {
    let claimed = shop.packets.claim(session.user_id, id).await?;
    let (Share { index, amount }, more) = match claimed {
        ClaimedShare::New(share) => (share, ""),
        ClaimedShare::Repeated(share) => (share, r#","repeated":true"#),
    };
    // Formatted without a serializer: claims come all at once. No value in it needs escaping.
    let currency = CURRENCY.as_str();
    let text = format!(
        r#"{{"claim":{{"packet_id":"{id}","share":{index},"amount":{{"amount":{amount},"currency":"{currency}"}}}}{more}}}"#
    );
    Ok(json_response(StatusCode::OK, text))
}

#[derive(Deserialize)]
pub struct ClaimListQuery {
    #[serde(default)]
    before: Cursor,
}

#[derive(Serialize)]
struct PacketDetail {
    packet: PacketJson,
    /// The share of the user who asks.
    mine: Option<Money>,
    /// Latest first.
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

/// A packet, its claims, and the luckiest of them once it is settled.
pub async fn show(
    State(shop): State<Arc<Shop>>,
    PathIds(id): PathIds<PacketId>,
    ClientAddress(address): ClientAddress,
    Query(query): Query<ClaimListQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let view = shop.packets.look_up(id, address).await?;
    let mine = match shop.accounts.session(&headers) {
        Some(session) => shop.packets.share_of(session.user_id, &view.packet).await?,
        None => None,
    };
    let claims = shop.packets.claims(id, query.before.read("before")?, LARGE_PAGE_SIZE).await?;
    let best = view.packet.best;
    let lines = claims.items.into_iter().map(|PacketClaim { claim, username }| ClaimJson {
        share: claim.share,
        username,
        amount: money(claim.amount),
        claimed_at: claim.claimed_at,
        luckiest: best.is_some_and(|(user, _)| user == claim.user_id),
    });
    let detail = PacketDetail {
        packet: PacketJson::of(view, &shop),
        mine: mine.map(|share| money(share.amount)),
        claims: lines.collect(),
        next: claims.next,
    };
    Ok((Cache::Private, Answer(detail)).into_response())
}

#[derive(Deserialize)]
pub struct PacketListQuery {
    given: Option<String>,
    received: Option<String>,
    #[serde(default)]
    before: Cursor,
}

#[derive(Serialize)]
pub(super) struct PacketList<T> {
    pub(super) packets: Vec<T>,
    /// For `&before=`; `null` on the last page.
    pub(super) next: Option<PacketId>,
}

#[derive(Serialize)]
struct ReceivedPacketJson {
    #[serde(flatten)]
    packet: PacketJson,
    mine: Money,
    claimed_at: Timestamp,
}

/// The packets that the user gave (`?given`) or received (`?received`), newest first.
pub async fn list(
    (State(shop), SignedIn(session)): UserCall,
    Query(query): Query<PacketListQuery>,
) -> Result<Response, Problem> {
    let (user, before) = (session.user_id, query.before.read("before")?);
    if query.received.is_some() && query.given.is_none() {
        let page = shop.packets.received(user, before, LARGE_PAGE_SIZE).await?;
        let packets = page.items.into_iter().map(|(claim, view)| ReceivedPacketJson {
            mine: money(claim.amount),
            claimed_at: claim.claimed_at,
            packet: PacketJson::of(view, &shop),
        });
        let packets = packets.collect();
        return Ok((Cache::Private, Answer(PacketList { packets, next: page.next })).into_response());
    }
    if query.received.is_some() {
        return Err(Problem::invalid_field("received", "repeated"));
    }
    let page = shop.packets.given(Giver::User(user), before, LARGE_PAGE_SIZE).await?;
    let packets: Vec<PacketJson> = page.items.into_iter().map(|view| PacketJson::of(view, &shop)).collect();
    Ok((Cache::Private, Answer(PacketList { packets, next: page.next })).into_response())
}
