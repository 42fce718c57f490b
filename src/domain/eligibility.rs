//! Who may take part in a sale. The rules are the same for all and stand on the sale's page.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::Money;
use super::wire::wire_enum;

/// The rules of a sale. By default every account may take part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct EligibilityRules {
    /// Accounts that were registered after this time may not take part.
    pub accounts_before: Option<Timestamp>,
    /// The account must have a verified mail address.
    pub verified_contact: bool,
    /// Only one account per mailbox may take part.
    pub one_per_contact: bool,
    /// Only one account per delivery address may take part.
    pub one_per_address: bool,
    /// The account must have redeemed an invitation code of the sale.
    pub invitation: bool,
    /// Money that is set aside from the wallet while the account takes part, and returned in full. In the currency of
    /// wallets.
    pub deposit: Option<Money>,
}

/// A change of a sale's rules. `None` leaves a rule as it is.
#[derive(Debug, Clone, Copy, Default)]
pub struct EligibilityChange {
    pub accounts_before: Option<Option<Timestamp>>,
    pub verified_contact: Option<bool>,
    pub one_per_contact: Option<bool>,
    pub one_per_address: Option<bool>,
    pub invitation: Option<bool>,
    pub deposit: Option<Option<Money>>,
}

wire_enum! {
    /// A rule. The order of the variants is the order in which rules are shown and checked.
    pub enum EligibilityRule {
        AccountsBefore = "accounts_before",
        VerifiedContact = "verified_contact",
        OnePerContact = "one_per_contact",
        OnePerAddress = "one_per_address",
        Invitation = "invitation",
        Deposit = "deposit",
    }
}

wire_enum! {
    /// What the accounts of a group have in common. One account of a group may take part.
    pub enum GroupKind {
        Contact = "contact",
        Address = "address",
    }
}

wire_enum! {
    /// Why an account may not take part, or not yet.
    pub enum Ineligible {
        AccountTooNew = "account_too_new",
        ContactNotVerified = "contact_not_verified",
        /// Another account already takes part with this mailbox.
        ContactTaken = "contact_taken",
        /// The account has no saved address.
        AddressNeeded = "address_needed",
        /// Another account already takes part with this delivery address.
        AddressTaken = "address_taken",
        InvitationNeeded = "invitation_needed",
        /// The wallet has less than the deposit.
        DepositNeeded = "deposit_needed",
    }
}

impl EligibilityRules {
    pub fn are_none(&self) -> bool {
        *self == EligibilityRules::default()
    }

    /// Replaces the rules that the change contains.
    pub fn with(self, change: &EligibilityChange) -> EligibilityRules {
        EligibilityRules {
            accounts_before: change.accounts_before.unwrap_or(self.accounts_before),
            verified_contact: change.verified_contact.unwrap_or(self.verified_contact),
            one_per_contact: change.one_per_contact.unwrap_or(self.one_per_contact),
            one_per_address: change.one_per_address.unwrap_or(self.one_per_address),
            invitation: change.invitation.unwrap_or(self.invitation),
            deposit: change.deposit.unwrap_or(self.deposit),
        }
    }

    /// The rules that the sale has.
    pub fn rules(self) -> impl Iterator<Item = EligibilityRule> {
        EligibilityRule::ALL.into_iter().filter(move |rule| match rule {
            EligibilityRule::AccountsBefore => self.accounts_before.is_some(),
            EligibilityRule::VerifiedContact => self.verified_contact,
            EligibilityRule::OnePerContact => self.one_per_contact,
            EligibilityRule::OnePerAddress => self.one_per_address,
            EligibilityRule::Invitation => self.invitation,
            EligibilityRule::Deposit => self.deposit.is_some(),
        })
    }

    /// The deposit in minor units of the currency of wallets.
    pub fn deposit_amount(self) -> Option<i64> {
        self.deposit.map(|deposit| deposit.amount)
    }
}

impl GroupKind {
    /// The refusal of an account if another account of its group takes part already.
    pub fn taken(self) -> Ineligible {
        match self {
            GroupKind::Contact => Ineligible::ContactTaken,
            GroupKind::Address => Ineligible::AddressTaken,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn change_keeps_what_it_does_not_name() {
        let at = Timestamp::from_second(1_000).unwrap();
        let rules = EligibilityRules { accounts_before: Some(at), invitation: true, ..EligibilityRules::default() };
        let change = EligibilityChange { one_per_address: Some(true), invitation: Some(false), ..Default::default() };
        let changed = rules.with(&change);
        assert_eq!((changed.accounts_before, changed.one_per_address, changed.invitation), (Some(at), true, false));
        let named: Vec<_> = changed.rules().collect();
        assert_eq!(named, [EligibilityRule::AccountsBefore, EligibilityRule::OnePerAddress]);
        let removed = changed.with(&EligibilityChange { accounts_before: Some(None), ..Default::default() });
        assert_eq!(removed.accounts_before, None);
        assert!(!removed.are_none() && EligibilityRules::default().are_none());
    }
}
