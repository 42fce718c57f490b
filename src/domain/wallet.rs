//! The wallet: users' money at the shop, kept by double-entry bookkeeping. Every movement is a [`Transfer`] between
//! ledger accounts whose amounts sum to zero.

use std::fmt;
use std::str::FromStr;

use super::wire::wire_enum;
use super::{Currency, Money, PacketId, UserId};

/// The only currency of wallets. An order in another currency cannot be paid from a wallet.
pub const CURRENCY: Currency = Currency::CNY;

/// An amount of minor units in the currency of wallets.
pub fn money(amount: i64) -> Money {
    Money::new(amount, CURRENCY)
}

/// Bounds of one top-up, in minor units.
pub const TOP_UP_LIMITS: std::ops::RangeInclusive<i64> = 100..=5_000_000;

/// Bounds of the deposit of a sale, in minor units.
pub const DEPOSIT_LIMITS: std::ops::RangeInclusive<i64> = 100..=1_000_000;

/// Why an amount cannot be added to a wallet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TopUpRefusal {
    #[error("wallets hold {} only", CURRENCY.as_str())]
    WrongCurrency,
    #[error("the amount is outside the bounds of one top-up")]
    OutOfBounds,
}

impl TopUpRefusal {
    /// The code of the field `amount`.
    pub fn code(self) -> &'static str {
        match self {
            TopUpRefusal::WrongCurrency => "bad_currency",
            TopUpRefusal::OutOfBounds => "top_up_bounds",
        }
    }
}

/// Checks currency and bounds of one top-up.
pub fn check_top_up(amount: Money) -> Result<(), TopUpRefusal> {
    match amount {
        Money { currency, .. } if currency != CURRENCY => Err(TopUpRefusal::WrongCurrency),
        Money { amount, .. } if !TOP_UP_LIMITS.contains(&amount) => Err(TopUpRefusal::OutOfBounds),
        _ => Ok(()),
    }
}

/// An account of the ledger. The balance of a user or packet is never negative; the shop's and the provider's may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LedgerAccount {
    /// A user's wallet.
    User(UserId),
    /// Deposits: money set aside from a user's wallet while the user takes part in sales.
    Deposit(UserId),
    /// The unclaimed money of a red packet.
    Packet(PacketId),
    /// The shop's earnings from wallets, less what it has given away.
    Shop,
    /// The outside world. Its balance is negative by the sum that came in through payment providers.
    Provider,
}

impl LedgerAccount {
    /// The user whose wallet it is.
    pub fn user(self) -> Option<UserId> {
        match self {
            LedgerAccount::User(user) => Some(user),
            _ => None,
        }
    }

    pub fn may_be_negative(self) -> bool {
        matches!(self, LedgerAccount::Shop | LedgerAccount::Provider)
    }
}

impl fmt::Display for LedgerAccount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LedgerAccount::User(id) => write!(f, "user:{id}"),
            LedgerAccount::Deposit(id) => write!(f, "deposit:{id}"),
            LedgerAccount::Packet(id) => write!(f, "packet:{id}"),
            LedgerAccount::Shop => f.write_str("shop"),
            LedgerAccount::Provider => f.write_str("provider"),
        }
    }
}

impl FromStr for LedgerAccount {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        match text.split_once(':') {
            Some(("user", id)) => id.parse().map(LedgerAccount::User).map_err(|_| ()),
            Some(("deposit", id)) => id.parse().map(LedgerAccount::Deposit).map_err(|_| ()),
            Some(("packet", id)) => id.parse().map(LedgerAccount::Packet).map_err(|_| ()),
            None if text == "shop" => Ok(LedgerAccount::Shop),
            None if text == "provider" => Ok(LedgerAccount::Provider),
            _ => Err(()),
        }
    }
}

wire_enum! {
    /// The reason of a transfer. The reference of a transfer is a payment, order, packet, sale or user, depending on its
    /// kind.
    pub enum TransferKind {
        /// A provider's payment filled a wallet; the reference is the payment.
        TopUp = "topup",
        /// A wallet paid an order; the reference is the order.
        Pay = "pay",
        /// An order paid from a wallet was refunded; the reference is the order.
        Refund = "refund",
        /// A user or the shop funded a red packet; the reference is the packet.
        Fund = "fund",
        /// A user claimed a share; the reference is the packet.
        Claim = "claim",
        /// The unclaimed rest was returned to the giver; the reference is the packet.
        Return = "return",
        /// A user gave up the balance when deleting the account, or money arrived after the deletion; the reference is
        /// the user.
        GiveUp = "giveup",
        /// A user's deposit was set aside; the reference is the sale.
        Deposit = "deposit",
        /// A deposit went back into the wallet; the reference is the sale.
        DepositReturn = "deposit_return",
    }
}

/// One movement of money. The id makes it idempotent: posting it again changes nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transfer {
    /// One of `topup:<payment>`, `pay:<order>`, `refund:<order>`, `fund:<packet>`, `claim:<packet>:<user>`,
    /// `return:<packet>`, `giveup:<user>`, `giveup:<transfer>`, `deposit:<sale>:<user>:<n>`, `deposit_return:<sale>:<user>:<n>`.
    pub id: String,
    pub kind: TransferKind,
    /// See [`TransferKind`].
    pub reference: String,
    /// Minor units that each account receives, negative if it pays. They sum to zero.
    pub moves: Vec<(LedgerAccount, i64)>,
}

impl Transfer {
    /// A transfer between two accounts with the id `<kind>:<reference>`.
    pub fn simple(
        kind: TransferKind,
        reference: impl fmt::Display,
        amount: i64,
        from: LedgerAccount,
        to: LedgerAccount,
    ) -> Transfer {
        let reference = reference.to_string();
        let id = format!("{kind}:{reference}");
        Transfer { id, kind, reference, moves: vec![(from, -amount), (to, amount)] }
    }

    /// Moves money that another transfer brought to a deleted account on to the shop.
    pub fn forwarded(of: &str, user: UserId, amount: i64) -> Transfer {
        let simple =
            Transfer::simple(TransferKind::GiveUp, user, amount, LedgerAccount::User(user), LedgerAccount::Shop);
        Transfer { id: format!("{}:{of}", TransferKind::GiveUp), ..simple }
    }

    /// Whether the transfer moves money, names each account once, and sums to zero.
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
    fn ledger_account_is_parsed_from_its_text() {
        let user = UserId("0198c0de-0000-7000-8000-000000000001".parse().unwrap());
        let text = "user:0198c0de-0000-7000-8000-000000000001";
        assert_eq!(LedgerAccount::User(user).to_string(), text);
        for account in [
            LedgerAccount::User(user),
            LedgerAccount::Deposit(user),
            LedgerAccount::Packet(PacketId(7)),
            LedgerAccount::Shop,
            LedgerAccount::Provider,
        ] {
            assert_eq!(account.to_string().parse(), Ok(account));
        }
        for wrong in ["", "shops", "shop:1", "user:", "user:7", "deposit:7", "packet:07", "packet", "bank:1"] {
            assert_eq!(wrong.parse::<LedgerAccount>(), Err(()), "{wrong:?}");
        }
    }

    #[test]
    fn unbalanced_transfers_are_detected() {
        let simple =
            Transfer::simple(TransferKind::Pay, "x", 5, LedgerAccount::Packet(PacketId(1)), LedgerAccount::Shop);
        assert_eq!((simple.id.as_str(), simple.is_balanced()), ("pay:x", true));
        let with = |moves: &[(LedgerAccount, i64)]| Transfer { moves: moves.to_vec(), ..simple.clone() }.is_balanced();
        let (a, b) = (LedgerAccount::Shop, LedgerAccount::Provider);
        assert!(with(&[(a, 2), (b, -2)]));
        assert!(!with(&[(a, 2), (b, -1)]) && !with(&[]) && !with(&[(a, 0)]) && !with(&[(a, 1), (a, -1)]));
        assert!(!with(&[(a, i64::MAX), (b, i64::MAX)]) && !with(&[(a, i64::MIN), (b, i64::MIN)]));
    }
}
