//! Red packets (红包): an amount of money that a user or the shop gives away in shares.

pub mod split;

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

pub use split::{Split, SplitError, SplitPlan};

use super::wire::wire_enum;
use super::{PacketId, UserId};

/// The giver of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Giver {
    /// A user, from their wallet.
    User(UserId),
    /// The shop: a rain of red packets (红包雨).
    Shop,
}

impl Giver {
    pub fn user(self) -> Option<UserId> {
        match self {
            Giver::User(user) => Some(user),
            Giver::Shop => None,
        }
    }
}

wire_enum! {
    /// The stored state of a packet. A packet is `Open` before it opens, while it can be claimed, and after it is empty
    /// or expired, until it is settled. Users see [`PacketPhase`].
    pub enum PacketState {
        /// Shares can be claimed, or claims may still be on their way to the database.
        Open = "open",
        /// No claim is under way any more. The unclaimed rest has been returned to the giver.
        Settled = "settled",
    }
}

wire_enum! {
    /// The phase of a packet as users see it.
    pub enum PacketPhase {
        Upcoming = "upcoming",
        Open = "open",
        /// Every share is claimed.
        Empty = "empty",
        /// Its time is over, or staff stopped it.
        Expired = "expired",
    }
}

/// A packet as stored in the database. Amounts are minor units in the currency of wallets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    pub id: PacketId,
    pub giver: Giver,
    pub total: i64,
    /// Number of shares.
    pub count: i64,
    /// Bounds of one share.
    pub min: i64,
    pub max: i64,
    pub split: Split,
    /// The giver's plain text.
    pub greeting: String,
    /// Whether the giver may claim a share too.
    pub own: bool,
    pub opens_at: Timestamp,
    /// Moved forward when staff stop the packet.
    pub expires_at: Timestamp,
    /// Buckets over which the shares are spread: share `n` lies in bucket `n mod buckets`.
    pub buckets: u8,
    pub state: PacketState,
    /// Number of claimed shares, and their sum.
    pub claimed: i64,
    pub claimed_amount: i64,
    /// Number of loads into Redis.
    pub epoch: i64,
    pub created_at: Timestamp,
    pub settled_at: Option<Timestamp>,
    /// The luckiest user and their amount (手气最佳), known once the packet is settled. Among equal amounts the first claim
    /// wins.
    pub best: Option<(UserId, i64)>,
}

impl Packet {
    pub fn phase(&self, now: Timestamp) -> PacketPhase {
        if self.claimed >= self.count {
            PacketPhase::Empty
        } else if self.state == PacketState::Settled || now >= self.expires_at {
            PacketPhase::Expired
        } else if now < self.opens_at {
            PacketPhase::Upcoming
        } else {
            PacketPhase::Open
        }
    }

    /// A user's claim to a share. Its time is a placeholder: the opening time of the packet.
    pub fn claim_of(&self, user_id: UserId, share: Share) -> ShareClaim {
        let Share { index, amount } = share;
        ShareClaim { packet_id: self.id, user_id, share: index, amount, claimed_at: self.opens_at }
    }

    /// Whether the request that gave this packet is the same as the one that asks for `other`.
    pub fn is_asked_for_by(&self, other: &Packet) -> bool {
        // A request without an opening time opens the packet when it is given.
        let opening = |packet: &Packet| {
            let [opens, given] = [packet.opens_at, packet.created_at].map(Timestamp::as_millisecond);
            (opens != given).then_some(opens)
        };
        let request = |packet: &Packet| {
            (packet.giver, packet.total, packet.count, packet.min, packet.max, packet.split, packet.own)
        };
        request(self) == request(other) && self.greeting == other.greeting && opening(self) == opening(other)
    }

    /// The unclaimed amount.
    pub fn left(&self) -> i64 {
        self.total - self.claimed_amount
    }
}

/// One share of a packet. The index identifies it, because amounts can be equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Share {
    pub index: i64,
    pub amount: i64,
}

impl fmt::Display for Share {
    /// The form stored in Redis: `index:amount`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.index, self.amount)
    }
}

impl FromStr for Share {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        let (index, amount) = text.split_once(':').ok_or(())?;
        let share = Share { index: index.parse().map_err(|_| ())?, amount: amount.parse().map_err(|_| ())? };
        if share.index >= 0 && share.amount >= 1 { Ok(share) } else { Err(()) }
    }
}

/// A share that was granted to a user. The outbox and RabbitMQ carry it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShareClaim {
    pub packet_id: PacketId,
    pub user_id: UserId,
    /// The index of the share; see [`Share::index`].
    pub share: i64,
    pub amount: i64,
    pub claimed_at: Timestamp,
}

impl ShareClaim {
    pub fn share(&self) -> Share {
        Share { index: self.share, amount: self.amount }
    }

    /// The identity of a claim: packet, share and user.
    pub fn key(&self) -> (PacketId, i64, UserId) {
        (self.packet_id, self.share, self.user_id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn share_is_parsed_from_its_text() {
        let share = Share { index: 0, amount: 250 };
        assert_eq!(share.to_string(), "0:250");
        assert_eq!("0:250".parse(), Ok(share));
        for wrong in ["", "0", "0:", ":5", "0:0", "-1:5", "1:-5", "1:2:3", "x:y"] {
            assert_eq!(wrong.parse::<Share>(), Err(()), "{wrong:?}");
        }
    }
}
