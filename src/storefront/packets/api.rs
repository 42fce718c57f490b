//! Red packets: giving, claiming, reading.

use std::sync::Arc;

use axum::http::{HeaderMap, StatusCode};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{UserCall, json_response};
use accounts::Session;
use domain::ledger::{CURRENCY, money};
use domain::packet::{Giver, Share};
use domain::{Money, PacketId, Role};
use engine::packets::{ClaimedShare, Purse};
use store::PacketClaim;
use web::extract::{ClientAddress, Json, ManageSales, PathIds, Permission, Query, SignedIn, State};
use web::packets::{GivenPacketResponse, NewPacket, PacketJson, PacketList, PacketSource, give_packet};
use web::shared::approvals::OneApproval;
use web::{Answer, Code, Cursor, LARGE_PAGE_SIZE, Problem, Repeatable, Shop, private};

/// Gives a packet from the wallet, if the password was entered within 12 hours, or from the shop by staff who run
/// sales, if they entered their password recently. Beyond a bound such a packet waits for a second person. A replay with the same key gives nothing more.
pub async fn give(
    (State(shop), SignedIn(session)): UserCall,
    Repeatable(request): Repeatable,
    Json(new): Json<NewPacket>,
) -> Answer {
    let spender = spender_role(&shop, &session).await?;
    let purse = match (new.from, spender) {
        (Some(PacketSource::Shop), None) => return Err(Code::NotAllowed.into()),
        // An owner gives from the shop by default. An operator has to ask for it.
        (Some(PacketSource::Shop), Some(role)) | (None, Some(role @ Role::Admin)) => {
            if !shop.accounts.is_proved(&session).await? {
                return Err(Code::StepUpNeeded.into());
            }
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

/// Claims a share. A replay gets the same share.
pub async fn claim((State(shop), SignedIn(session)): UserCall, PathIds(id): PathIds<PacketId>) -> Answer {
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

/// A share that was claimed.
#[derive(Serialize, JsonSchema)]
pub struct PacketClaimed {
    claim: ClaimedJson,
    /// The share was claimed before.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    repeated: bool,
}

#[derive(Serialize, JsonSchema)]
pub struct ClaimedJson {
    packet_id: PacketId,
    /// From 0.
    share: i64,
    amount: Money,
}

#[derive(Deserialize, JsonSchema)]
pub struct ClaimListQuery {
    #[serde(default)]
    #[schemars(with = "i64")]
    before: Cursor,
}

#[derive(Serialize, JsonSchema)]
struct PacketDetail {
    packet: PacketJson,
    /// The share of the user who asks.
    mine: Option<Money>,
    /// The latest claim first.
    claims: Vec<ClaimJson>,
    /// For `?before=`; `null` on the last page.
    next: Option<i64>,
}

#[derive(Serialize, JsonSchema)]
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
) -> Answer {
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
    Ok(private(detail))
}

#[derive(Deserialize, JsonSchema)]
pub struct PacketListQuery {
    /// Packets that the user gave.
    given: Option<String>,
    /// Packets of which the user has a share.
    received: Option<String>,
    #[serde(default)]
    before: Cursor,
}

/// A packet that the user gave or received.
#[derive(Serialize, JsonSchema)]
struct OwnPacketJson {
    #[serde(flatten)]
    packet: PacketJson,
    /// The share of a received packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    mine: Option<Money>,
    /// When the share of a received packet was claimed.
    #[serde(skip_serializing_if = "Option::is_none")]
    claimed_at: Option<Timestamp>,
}

/// The packets that the user gave (`?given`) or received (`?received`), newest first.
pub async fn list((State(shop), SignedIn(session)): UserCall, Query(query): Query<PacketListQuery>) -> Answer {
    let (user, before) = (session.user_id, query.before.read("before")?);
    if query.received.is_some() && query.given.is_none() {
        let page = shop.packets.received(user, before, LARGE_PAGE_SIZE).await?;
        let packets = page.items.into_iter().map(|(claim, view)| OwnPacketJson {
            mine: Some(money(claim.amount)),
            claimed_at: Some(claim.claimed_at),
            packet: PacketJson::of(view, &shop),
        });
        let packets = packets.collect();
        return Ok(private(PacketList { packets, next: page.next }));
    }
    if query.received.is_some() {
        return Err(Problem::invalid_field("received", "repeated"));
    }
    let page = shop.packets.given(Giver::User(user), before, LARGE_PAGE_SIZE).await?;
    let packets: Vec<PacketJson> = page.items.into_iter().map(|view| PacketJson::of(view, &shop)).collect();
    Ok(private(PacketList { packets, next: page.next }))
}

web::operations! { "packets"
    /// The user's red packets, newest first: `?given` (the default) or `?received`
    GET "/api/packets" listPackets = list, limited;
        200 PacketList<OwnPacketJson>, "One page. Received packets have `mine` and `claimed_at` as well.";
    /// Give a red packet (红包)
    ///
    /// Paid from the wallet or, by owners and with `from` by operators, from the shop's purse.
    POST "/api/packets" givePacket = give, repeatable, located;
        201 GivenPacketResponse, "The packet. A repeated `key` creates nothing and returns the first packet.";
        202 OneApproval, "From the shop, beyond what one person gives alone within a day: it waits for a second one.";
        refuses StepUpNeeded NotAllowed SpendingLimit NotEnough TooManyPackets RateLimited;
    /// A red packet: who claimed how much, and once it is settled the luckiest (手气最佳)
    GET "/api/packets/{packet}" showPacket = show;
        200 PacketDetail, "The packet and one page of its claims.";
        refuses NoSuchPacket RateLimited;
    /// Claim a share; one per user
    POST "/api/packets/{packet}/claims" claimShare = claim;
        200 PacketClaimed, "The share; a repeated claim returns the same share, with `repeated`.";
        refuses NoSuchPacket PacketNotOpen PacketEmpty PacketExpired OwnPacket RateLimited Overloaded;
}
