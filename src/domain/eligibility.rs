//! Who may take part in a sale. The rules are the same for all and stand on the sale's page.

use std::fmt;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::wire::wire_enum;
use crate::{Money, SaleId, SalePatch, hex};

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

    /// Replaces the rules that the patch contains.
    pub fn with(self, patch: &SalePatch) -> EligibilityRules {
        EligibilityRules {
            accounts_before: patch.accounts_before.unwrap_or(self.accounts_before),
            verified_contact: patch.verified_contact.unwrap_or(self.verified_contact),
            one_per_contact: patch.one_per_contact.unwrap_or(self.one_per_contact),
            one_per_address: patch.one_per_address.unwrap_or(self.one_per_address),
            invitation: patch.invitation.unwrap_or(self.invitation),
            deposit: patch.deposit.unwrap_or(self.deposit),
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

// Invitation codes (F码): 128 random bits, in letters and digits that are not mistaken for each other.

/// Crockford's Base32: no `I`, `L`, `O` and `U`.
const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/// 128 bits, five per character.
const CODE_CHARS: usize = 26;
/// Characters between two hyphens.
const GROUP_CHARS: usize = 5;

/// A code. Knowing it is enough to redeem it, so it is shown once and hidden from logs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct InvitationCode(u128);

impl InvitationCode {
    pub fn new(bits: u128) -> InvitationCode {
        InvitationCode(bits)
    }

    /// Reads a code as people type it: in any case, with or without hyphens and spaces, `O` for zero, `I` and `L` for one.
    pub fn parse(text: &str) -> Option<InvitationCode> {
        let mut bits: u128 = 0;
        let mut count = 0;
        for char in text.chars().filter(|char| !char.is_whitespace() && *char != '-') {
            let char = match char.to_ascii_uppercase() {
                'O' => '0',
                'I' | 'L' => '1',
                other => other,
            };
            let digit = ALPHABET.iter().position(|known| char::from(*known) == char)? as u128;
            // The first digit has three bits.
            if count == CODE_CHARS || (count == 0 && digit > 7) {
                return None;
            }
            bits = bits << 5 | digit;
            count += 1;
        }
        (count == CODE_CHARS).then_some(InvitationCode(bits))
    }

    /// The text that is stored for a code: SHA-256 of sale and code, in hexadecimal digits. It needs neither key nor
    /// salt, because 128 random bits cannot be guessed by trying.
    pub fn hash(self, sale: SaleId) -> String {
        let digest = Sha256::new_with_prefix("invitation").chain_update(sale.0.to_be_bytes());
        hex::encode(&digest.chain_update(self.0.to_be_bytes()).finalize())
    }
}

impl fmt::Display for InvitationCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for at in 0..CODE_CHARS {
            // The last group has six characters.
            if at > 0 && at % GROUP_CHARS == 0 && at + 1 < CODE_CHARS {
                f.write_str("-")?;
            }
            let digit = (self.0 >> (5 * (CODE_CHARS - 1 - at))) as usize % ALPHABET.len();
            write!(f, "{}", char::from(ALPHABET[digit]))?;
        }
        Ok(())
    }
}

impl fmt::Debug for InvitationCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InvitationCode(…)")
    }
}

#[cfg(test)]
mod fuzz {
    use super::*;
    use testing::fuzz::texts;

    #[test]
    fn any_text_is_one_code_or_none() {
        texts(&["7ZZZZ-ZZZZZ-ZZZZZ-ZZZZZ-ZZZZZZ", "00000-00000-00000-00000-000001"], |text| {
            if let Some(code) = InvitationCode::parse(text) {
                assert_eq!(InvitationCode::parse(&code.to_string()), Some(code));
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn change_keeps_what_it_does_not_name() {
        let at = Timestamp::from_second(1_000).unwrap();
        let rules = EligibilityRules { accounts_before: Some(at), invitation: true, ..EligibilityRules::default() };
        let change = SalePatch { one_per_address: Some(true), invitation: Some(false), ..Default::default() };
        let changed = rules.with(&change);
        assert_eq!((changed.accounts_before, changed.one_per_address, changed.invitation), (Some(at), true, false));
        let named: Vec<_> = changed.rules().collect();
        assert_eq!(named, [EligibilityRule::AccountsBefore, EligibilityRule::OnePerAddress]);
        let removed = changed.with(&SalePatch { accounts_before: Some(None), ..Default::default() });
        assert_eq!(removed.accounts_before, None);
        assert!(!removed.are_none() && EligibilityRules::default().are_none());
    }

    #[test]
    fn code_is_read_as_people_type_it() {
        for bits in [0, 1, u128::MAX, 0x0123_4567_89ab_cdef_0011_2233_4455_6677] {
            let code = InvitationCode::new(bits);
            let text = code.to_string();
            assert_eq!(text.len(), 30, "{text}");
            assert_eq!(InvitationCode::parse(&text), Some(code));
            assert_eq!(InvitationCode::parse(&format!(" {} ", text.to_lowercase().replace('-', " "))), Some(code));
            assert_eq!(InvitationCode::parse(&text.replace('0', "o").replace('1', "l")), Some(code));
        }
        assert_eq!(InvitationCode::new(1).to_string(), "00000-00000-00000-00000-000001");
        assert!(!format!("{:?}", InvitationCode::new(1)).contains("0001"));
    }

    #[test]
    fn other_texts_are_no_codes() {
        let code = InvitationCode::new(u128::MAX).to_string();
        for text in
            ["", "-", &code[1..], &format!("{code}0"), &code.replacen('7', "8", 1), &code.replace('Z', "U"), "é"]
        {
            assert_eq!(InvitationCode::parse(text), None, "{text}");
        }
    }

    #[test]
    fn hash_belongs_to_one_sale() {
        let code = InvitationCode::new(7);
        assert_ne!(code.hash(SaleId(1)), code.hash(SaleId(2)));
        assert_ne!(code.hash(SaleId(1)), InvitationCode::new(8).hash(SaleId(1)));
    }
}
