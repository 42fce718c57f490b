//! Money in double entry: the accounts of the ledger, a shopper's wallet, and the trial balance.

use std::collections::BTreeMap;
use std::fmt;

use crate::wire::wire_enum;
use crate::{Currency, Money, PacketId, UserId};

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

/// Checks currency and bounds of one top-up.
///
/// # Errors
/// The code of the field `amount`.
pub fn check_top_up(amount: Money) -> Result<(), &'static str> {
    match amount {
        Money { currency, .. } if currency != CURRENCY => Err("bad_currency"),
        Money { amount, .. } if !TOP_UP_LIMITS.contains(&amount) => Err("top_up_bounds"),
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

// The trial balance: what moved between the kinds of accounts, by period.

wire_enum! {
    /// A kind of ledger accounts.
    pub enum AccountKind {
        /// The wallets of all users.
        User = "user",
        /// Deposits: money set aside from wallets while their owners take part in sales.
        Deposit = "deposit",
        /// The unclaimed money of all red packets.
        Packet = "packet",
        /// The shop's earnings, less the money it gave away.
        Shop = "shop",
        /// Payments that providers captured with a wrong amount, until they are refunded or settled.
        Held = "held",
        /// The outside world. Its balance is negative by the sum that came in through payment providers.
        Provider = "provider",
    }
}

/// The movements on the accounts of a kind, in minor units of a currency. Neither number is negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccountSum {
    pub account: AccountKind,
    pub currency: Currency,
    /// Money that left the accounts.
    pub debits: i64,
    /// Money that came in.
    pub credits: i64,
}

/// One line of the trial balance. The closing balance is the opening one less the debits plus the credits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrialBalanceLine {
    pub account: AccountKind,
    pub opening: Money,
    pub debits: Money,
    pub credits: Money,
    pub closing: Money,
}

/// The trial balance of a period from the sums before it and those within it. The lines of a currency stand together; their
/// opening balances sum to zero, and so do the closing ones.
pub fn trial_balance(before: &[AccountSum], within: &[AccountSum]) -> Vec<TrialBalanceLine> {
    let mut lines: BTreeMap<(String, usize), TrialBalanceLine> = BTreeMap::new();
    for (is_before, sum) in before.iter().map(|sum| (true, sum)).chain(within.iter().map(|sum| (false, sum))) {
        let place = AccountKind::ALL.iter().position(|kind| *kind == sum.account).unwrap_or_default();
        let nothing = Money::new(0, sum.currency);
        let line = lines.entry((sum.currency.as_str().to_owned(), place)).or_insert(TrialBalanceLine {
            account: sum.account,
            opening: nothing,
            debits: nothing,
            credits: nothing,
            closing: nothing,
        });
        if is_before {
            line.opening.amount += sum.credits - sum.debits;
        } else {
            line.debits.amount += sum.debits;
            line.credits.amount += sum.credits;
        }
        line.closing.amount += sum.credits - sum.debits;
    }
    lines.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ledger_account_has_one_text() {
        let user = UserId("0198c0de-0000-7000-8000-000000000001".parse().unwrap());
        for (account, text) in [
            (LedgerAccount::User(user), "user:0198c0de-0000-7000-8000-000000000001"),
            (LedgerAccount::Deposit(user), "deposit:0198c0de-0000-7000-8000-000000000001"),
            (LedgerAccount::Packet(PacketId(7)), "packet:7"),
            (LedgerAccount::Shop, "shop"),
            (LedgerAccount::Provider, "provider"),
        ] {
            assert_eq!(account.to_string(), text);
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

    #[test]
    fn lines_carry_opening_and_closing_balances() {
        let sum = |account, debits, credits| AccountSum { account, currency: Currency::CNY, debits, credits };
        let before = [sum(AccountKind::Provider, 500, 0), sum(AccountKind::User, 0, 500)];
        let within = [sum(AccountKind::User, 200, 50), sum(AccountKind::Shop, 50, 200), sum(AccountKind::User, 1, 0)];
        let lines = trial_balance(&before, &within);
        let numbers: Vec<_> = lines
            .iter()
            .map(|l| (l.account, l.opening.amount, l.debits.amount, l.credits.amount, l.closing.amount))
            .collect();
        assert_eq!(
            numbers,
            [
                (AccountKind::User, 500, 201, 50, 349),
                (AccountKind::Shop, 0, 50, 200, 150),
                (AccountKind::Provider, -500, 0, 0, -500),
            ]
        );
    }
}
