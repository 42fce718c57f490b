//! The trial balance: what moved between the kinds of accounts, by period.

use std::collections::BTreeMap;

use super::wire::wire_enum;
use super::{Currency, Money};

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
