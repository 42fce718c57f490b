//! Tokens of programs. A token is `sk_`, 256 random bits and a checksum, so that whoever scans for leaked secrets knows one
//! when they see it.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use uuid::Uuid;

use crate::UserId;
use crate::wire::wire_enum;

wire_enum! {
    /// What a program may do with a token: a permission of the staff, or one that only programs have.
    pub enum Scope {
        ViewConsole = "view_console",
        ManageSales = "manage_sales",
        SupportShoppers = "support_shoppers",
        AnswerQuestions = "answer_questions",
        ReadAddresses = "read_addresses",
        DecideApprovals = "decide_approvals",
        ViewBooks = "view_books",
        ViewSecurity = "view_security",
        ReadMail = "read_mail",
        ManageStaff = "manage_staff",
        ManageWebhooks = "manage_webhooks",
        /// Reserve units for shoppers of another shop, and confirm or release them.
        Reserve = "reserve",
        /// Tell who the shoppers of another shop are, and let them in.
        Shoppers = "shoppers",
    }
}

/// A token as the staff see it. Its secret is shown once, when it is made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ApiToken {
    pub id: Uuid,
    /// The audit log says `token` and this name.
    pub name: String,
    pub scopes: Vec<Scope>,
    /// The networks from which it may be used; anywhere if there are none.
    pub networks: Vec<String>,
    /// Requests a second to one process; `None` without a limit.
    pub rate: Option<u32>,
    pub expires_at: Option<Timestamp>,
    /// The account that made it. Without this account's place in the staff the token is refused.
    pub created_by: UserId,
    pub created_at: Timestamp,
    /// The last use, up to a minute late.
    pub used_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
}

impl ApiToken {
    /// Tokens that are not revoked, in one shop. Every process keeps all of them in memory.
    pub const MAX: usize = 100;
    pub const MAX_NAME_CHARS: usize = 40;
    pub const MAX_NETWORKS: usize = 20;
    pub const MAX_RATE: u32 = 100_000;

    /// Whether a name can stand in the audit log and on a command line.
    pub fn is_name(text: &str) -> bool {
        let is_plain = |c: char| c.is_alphanumeric() || " -_.".contains(c);
        (1..=ApiToken::MAX_NAME_CHARS).contains(&text.chars().count())
            && text.trim() == text
            && text.chars().all(is_plain)
    }

    /// The actor in the audit log.
    pub fn actor(&self) -> String {
        format!("token {}", self.name)
    }
}

/// What every token begins with.
pub const PREFIX: &str = "sk_";
/// Characters of 256 bits, and of the checksum.
const SECRET_CHARS: usize = 43;
const CHECKSUM_CHARS: usize = 6;
const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The token with these bits.
pub fn token_of(bits: [u8; 32]) -> String {
    let mut text = format!("{PREFIX}{}", base62::<SECRET_CHARS>(&bits));
    text += &checksum(&text);
    text
}

/// Whether the text has the form of a token, with the right checksum. It says nothing about whether the shop made it.
pub fn is_token(text: &str) -> bool {
    let is_long_enough = text.len() == PREFIX.len() + SECRET_CHARS + CHECKSUM_CHARS;
    is_long_enough && text.is_ascii() && text.starts_with(PREFIX) && {
        let (start, end) = text.split_at(text.len() - CHECKSUM_CHARS);
        checksum(start) == end
    }
}

/// CRC-32 as in zip and PNG.
fn checksum(text: &str) -> String {
    base62::<CHECKSUM_CHARS>(&crc32fast::hash(text.as_bytes()).to_be_bytes())
}

/// A big-endian number in base 62, with leading zeros.
fn base62<const N: usize>(number: &[u8]) -> String {
    let mut rest = number.to_vec();
    let mut digits = [0; N];
    for digit in digits.iter_mut().rev() {
        let mut remainder = 0_u32;
        for byte in &mut rest {
            let value = remainder << 8 | u32::from(*byte);
            *byte = (value / 62) as u8;
            remainder = value % 62;
        }
        *digit = BASE62[remainder as usize];
    }
    digits.iter().map(|digit| char::from(*digit)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_has_its_form_and_any_other_text_has_not() {
        assert_eq!(crc32fast::hash(b"123456789"), 0xcbf4_3926);
        let token = token_of([0xff; 32]);
        assert!(is_token(&token) && token.len() == 52, "{token}");
        assert_eq!(token_of([0; 32])[..46], *"sk_0000000000000000000000000000000000000000000");
        for at in 0..token.len() {
            let mut altered = token.clone().into_bytes();
            altered[at] = if altered[at] == b'x' { b'y' } else { b'x' };
            assert!(!is_token(std::str::from_utf8(&altered).unwrap()), "{at}");
        }
        for other in ["", "sk_", "é", &token[1..], &format!("{token}0"), &"é".repeat(26)] {
            assert!(!is_token(other), "{other}");
        }
    }

    #[test]
    fn names_can_stand_in_the_log() {
        for name in ["till 1", "Vendure", "小店"] {
            assert!(ApiToken::is_name(name), "{name}");
        }
        for name in ["", " x", "a\nb", "<b>", &"x".repeat(41)] {
            assert!(!ApiToken::is_name(name), "{name:?}");
        }
    }
}
