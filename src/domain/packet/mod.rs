//! Red packets (红包): money that somebody gives away in shares, and who got which.

pub mod split;

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use serde::{Deserialize, Serialize, Serializer};

pub use split::{Impossible, Plan, Split};

use super::{PacketId, UserId};

/// Who gave a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Giver {
    /// Somebody, from their wallet.
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

/// Where a packet stands in the database. Before it opens, and once it is over or empty, it is still `Open` here: what
/// people see is [`Phase`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Shares may be claimed, or claims may be under way.
    Open,
    /// Nothing is under way any more; what was left has gone back to the giver.
    Settled,
}

impl State {
    pub fn as_str(self) -> &'static str {
        match self {
            State::Open => "open",
            State::Settled => "settled",
        }
    }
}

impl FromStr for State {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        [State::Open, State::Settled].into_iter().find(|state| state.as_str() == text).ok_or(())
    }
}

/// What people see of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// It opens later.
    Upcoming,
    Open,
    /// Every share is claimed.
    Empty,
    /// Its time is over, or somebody stopped it.
    Expired,
}

impl Phase {
    pub fn as_str(self) -> &'static str {
        match self {
            Phase::Upcoming => "upcoming",
            Phase::Open => "open",
            Phase::Empty => "empty",
            Phase::Expired => "expired",
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Phase {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// A packet as the database has it. Amounts are minor units in the currency of wallets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    pub id: PacketId,
    pub giver: Giver,
    pub total: i64,
    /// Shares.
    pub count: i64,
    pub min: i64,
    pub max: i64,
    pub split: Split,
    /// Plain text of its giver.
    pub greeting: String,
    /// Whether the giver may claim a share too.
    pub own: bool,
    pub opens_at: Timestamp,
    /// Earlier than it was given for when somebody stopped it.
    pub expires_at: Timestamp,
    /// Families of keys that its shares are spread over: share `n` lies in the bucket `n mod buckets`.
    pub buckets: u8,
    pub state: State,
    /// Shares that were claimed, and what they hold together.
    pub claimed: i64,
    pub claimed_amount: i64,
    /// How often it was loaded into Redis.
    pub epoch: i64,
    pub created_at: Timestamp,
    pub settled_at: Option<Timestamp>,
    /// The luckiest and what they got (手气最佳), once it is settled: the highest amount, of several the first to claim.
    pub best: Option<(UserId, i64)>,
}

impl Packet {
    pub fn phase(&self, now: Timestamp) -> Phase {
        if self.claimed >= self.count {
            Phase::Empty
        } else if self.state == State::Settled || now >= self.expires_at {
            Phase::Expired
        } else if now < self.opens_at {
            Phase::Upcoming
        } else {
            Phase::Open
        }
    }

    /// A user's claim to a share of it, of which nobody asks when it was made.
    pub fn claim_of(&self, user_id: UserId, share: Share) -> ShareClaim {
        let Share { index, amount } = share;
        ShareClaim { packet_id: self.id, user_id, share: index, amount, claimed_at: self.opens_at }
    }

    /// What nobody has claimed.
    pub fn left(&self) -> i64 {
        self.total - self.claimed_amount
    }
}

/// One of the amounts that a packet was split into. Its index names it: amounts may be equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Share {
    pub index: i64,
    pub amount: i64,
}

impl fmt::Display for Share {
    /// As Redis keeps it: `index:amount`.
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

/// A share that somebody got. What the outbox and RabbitMQ carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShareClaim {
    pub packet_id: PacketId,
    pub user_id: UserId,
    /// Which share; see [`Share::index`].
    pub share: i64,
    pub amount: i64,
    pub claimed_at: Timestamp,
}

impl ShareClaim {
    pub fn share(&self) -> Share {
        Share { index: self.share, amount: self.amount }
    }

    /// What tells claims apart: the packet, the share, the user.
    pub fn key(&self) -> (PacketId, i64, UserId) {
        (self.packet_id, self.share, self.user_id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_read_as_they_are_written() {
        let share = Share { index: 0, amount: 250 };
        assert_eq!(share.to_string(), "0:250");
        assert_eq!("0:250".parse(), Ok(share));
        for wrong in ["", "0", "0:", ":5", "0:0", "-1:5", "1:-5", "1:2:3", "x:y"] {
            assert_eq!(wrong.parse::<Share>(), Err(()), "{wrong:?}");
        }
    }
}
