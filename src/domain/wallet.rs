//! The wallet: money that the shop keeps for people, as double-entry bookkeeping has it. Every movement is a
//! [`Transfer`] that takes from some accounts what it brings to others.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use super::{Currency, Money, PacketId, UserId};

/// All books are kept in this one currency; an order in another one cannot be paid from a wallet.
pub const CURRENCY: Currency = Currency::CNY;

/// So many minor units in the currency of the wallet.
pub fn money(amount: i64) -> Money {
    Money::new(amount, CURRENCY)
}

/// What one top-up may bring, in minor units.
pub const TOP_UP: std::ops::RangeInclusive<i64> = 100..=5_000_000;

/// Where money lies. People and packets never owe anything; the shop and the provider may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Account {
    /// Somebody's wallet.
    User(UserId),
    /// What a red packet still holds.
    Packet(PacketId),
    /// What the shop has earned from wallets, less what it has given away.
    Shop,
    /// Below zero by what came in through payment providers: the world outside.
    Provider,
}

impl Account {
    pub fn may_owe(self) -> bool {
        matches!(self, Account::Shop | Account::Provider)
    }
}

impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Account::User(id) => write!(f, "user:{id}"),
            Account::Packet(id) => write!(f, "packet:{id}"),
            Account::Shop => f.write_str("shop"),
            Account::Provider => f.write_str("provider"),
        }
    }
}

impl FromStr for Account {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        match text.split_once(':') {
            Some(("user", id)) => id.parse().map(Account::User).map_err(|_| ()),
            Some(("packet", id)) => id.parse().map(Account::Packet).map_err(|_| ()),
            None if text == "shop" => Ok(Account::Shop),
            None if text == "provider" => Ok(Account::Provider),
            _ => Err(()),
        }
    }
}

/// Why money moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A provider brought money for somebody's wallet; the reference is the payment.
    TopUp,
    /// A wallet paid an order, which is the reference.
    Pay,
    /// The money of an order that a wallet had paid went back; the reference is the order.
    Refund,
    /// Somebody, or the shop, filled a red packet. It is the reference, here and below.
    Fund,
    /// Somebody got a share.
    Claim,
    /// What nobody claimed went back to the giver.
    Return,
    /// Somebody who left gave their money up; the reference is the user.
    GiveUp,
}

impl Kind {
    pub const ALL: [Kind; 7] =
        [Kind::TopUp, Kind::Pay, Kind::Refund, Kind::Fund, Kind::Claim, Kind::Return, Kind::GiveUp];

    pub fn as_str(self) -> &'static str {
        match self {
            Kind::TopUp => "topup",
            Kind::Pay => "pay",
            Kind::Refund => "refund",
            Kind::Fund => "fund",
            Kind::Claim => "claim",
            Kind::Return => "return",
            Kind::GiveUp => "giveup",
        }
    }
}

impl FromStr for Kind {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        Kind::ALL.into_iter().find(|kind| kind.as_str() == text).ok_or(())
    }
}

impl Serialize for Kind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// One movement of money. Under its id it happens once, whoever tries again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transfer {
    /// Says what it is: `topup:<payment>`, `pay:<order>`, `refund:<order>`, `fund:<packet>`, `claim:<packet>:<user>`,
    /// `return:<packet>`, `giveup:<user>`.
    pub id: String,
    pub kind: Kind,
    /// What it is about, as [`Kind`] says.
    pub reference: String,
    /// Minor units that each account gets, or gives where they are below zero. They sum to zero.
    pub moves: Vec<(Account, i64)>,
}

impl Transfer {
    /// Of so many minor units from one account to another, known as `<kind>:<reference>`.
    pub fn simple(kind: Kind, reference: impl fmt::Display, amount: i64, from: Account, to: Account) -> Transfer {
        let reference = reference.to_string();
        let id = format!("{}:{reference}", kind.as_str());
        Transfer { id, kind, reference, moves: vec![(from, -amount), (to, amount)] }
    }

    /// Whether it moves something, names each account once, and neither makes money nor loses it.
    pub fn is_balanced(&self) -> bool {
        let sum: i128 = self.moves.iter().map(|(_, amount)| i128::from(*amount)).sum();
        let once = self
            .moves
            .iter()
            .enumerate()
            .all(|(i, (account, _))| self.moves[..i].iter().all(|(earlier, _)| earlier != account));
        sum == 0 && once && !self.moves.is_empty() && self.moves.iter().all(|(_, amount)| *amount != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_are_read_as_they_are_written() {
        let user = UserId("0198c0de-0000-7000-8000-000000000001".parse().unwrap());
        let written = "user:0198c0de-0000-7000-8000-000000000001";
        assert_eq!(Account::User(user).to_string(), written);
        for account in [Account::User(user), Account::Packet(PacketId(7)), Account::Shop, Account::Provider] {
            assert_eq!(account.to_string().parse(), Ok(account));
        }
        for wrong in ["", "shops", "shop:1", "user:", "user:7", "packet:07", "packet", "bank:1"] {
            assert_eq!(wrong.parse::<Account>(), Err(()), "{wrong:?}");
        }
    }

    #[test]
    fn a_transfer_makes_no_money_and_loses_none() {
        let simple = Transfer::simple(Kind::Pay, "x", 5, Account::Packet(PacketId(1)), Account::Shop);
        assert_eq!((simple.id.as_str(), simple.is_balanced()), ("pay:x", true));
        let with = |moves: &[(Account, i64)]| Transfer { moves: moves.to_vec(), ..simple.clone() }.is_balanced();
        let (a, b) = (Account::Shop, Account::Provider);
        assert!(with(&[(a, 2), (b, -2)]));
        assert!(!with(&[(a, 2), (b, -1)]) && !with(&[]) && !with(&[(a, 0)]) && !with(&[(a, 1), (a, -1)]));
        assert!(!with(&[(a, i64::MAX), (b, i64::MAX)]) && !with(&[(a, i64::MIN), (b, i64::MIN)]));
    }
}
