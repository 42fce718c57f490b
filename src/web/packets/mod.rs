//! Red packets as they are given, by a shopper or by the shop, and as the API shows them.

pub mod form;

use axum::response::Response;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::shared::approvals;
use crate::shared::paths::packet_share_url;
use crate::{Code, Problem, Shop, created};
use domain::ledger::{CURRENCY, money};
use domain::packet::{Giver, PacketPhase, Split};
use domain::{Money, PacketId};
use engine::packets::{GiveRefusal, GiveRequest, PacketView, Purse};
use store::RequestId;

/// An amount in minor units, alone or with the currency of wallets.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum PacketAmount {
    Units(#[schemars(range(min = 1))] i64),
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PacketSource {
    Wallet,
    Shop,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewPacket {
    /// 1 to 9007199254740991 minor units of CNY.
    total: PacketAmount,
    /// Number of shares; at most 1000 for a user.
    #[schemars(range(min = 1, max = 1000000))]
    count: i64,
    /// The smallest share; 1 minor unit by default.
    min: Option<PacketAmount>,
    /// The largest share; about twice the average by default.
    max: Option<PacketAmount>,
    #[serde(default)]
    split: Split,
    /// Plain text on one line.
    #[serde(default)]
    #[schemars(length(max = 100))]
    greeting: String,
    /// Whether the giver may claim a share.
    #[serde(default = "yes")]
    own: bool,
    /// Immediately by default; at most 30 days from now.
    opens_at: Option<Timestamp>,
    /// Idempotency key: a repeated request creates nothing; another request with it is refused.
    #[schemars(length(min = 8, max = 64))]
    key: Option<String>,
    /// Who pays. The default is the wallet, for owners the shop.
    pub from: Option<PacketSource>,
}

fn yes() -> bool {
    true
}

impl NewPacket {
    /// What is to be given. Attempts of one HTTP request have one key, so that they give one packet.
    pub fn request(self, repeatable: Option<RequestId>) -> GiveRequest {
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
#[derive(Debug, Serialize, JsonSchema)]
pub struct PacketJson {
    id: PacketId,
    /// `null` for the shop.
    giver: Option<String>,
    #[schemars(extend("enum" = ["wallet", "shop"]))]
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

#[derive(Debug, Serialize, JsonSchema)]
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

#[derive(Serialize, JsonSchema)]
pub struct GivenPacketResponse {
    packet: PacketJson,
    share_url: String,
}

pub async fn give_packet(shop: &Shop, purse: Purse<'_>, request: GiveRequest) -> Result<Response, Problem> {
    let packet = match shop.packets.give(purse, &request).await {
        Ok(packet) => packet,
        Err(GiveRefusal::Waits(id)) => return approvals::accepted(shop, id).await,
        Err(refusal) => return Err(refusal.into()),
    };
    let share_url = packet_share_url(shop, packet.id);
    let view = shop.packets.view(packet.id).await?.ok_or(Code::NoSuchPacket)?;
    let given = GivenPacketResponse { packet: PacketJson::of(view, shop), share_url };
    Ok(created(format!("/api/packets/{}", packet.id), given))
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "{T}List")]
pub struct PacketList<T> {
    pub packets: Vec<T>,
    /// For `&before=`; `null` on the last page.
    pub next: Option<PacketId>,
}
