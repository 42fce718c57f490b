//! Purchase tokens: proof that a user asked after the sale had opened. Checked without I/O, worthless to anyone else.

use std::time::Duration;

use jiff::Timestamp;
use secrecy::SecretString;

use crate::domain::{SaleId, UserId};
use crate::signing::Signer;

/// Long enough for a form to be filled in; a script fetches a new one when it needs it.
const VALID_FOR: Duration = Duration::from_secs(10 * 60);

pub(super) struct Tokens {
    sealer: Signer,
}

impl Tokens {
    pub(super) fn new(secret: &SecretString) -> Tokens {
        Tokens { sealer: Signer::new(secret, "purchase token") }
    }

    pub(super) fn issue(&self, sale: SaleId, user: UserId, now: Timestamp) -> (String, Timestamp) {
        let expires = now + VALID_FOR;
        (self.sealer.seal(&format!("{sale} {user} {}", expires.as_millisecond())), expires)
    }

    /// Whether the token was issued for this sale and user and is still valid.
    pub(super) fn holds(&self, token: &str, sale: SaleId, user: UserId, now: Timestamp) -> bool {
        let Some(payload) = self.sealer.open(token) else { return false };
        let mut parts = payload.splitn(3, ' ');
        let for_sale = parts.next().and_then(|text| text.parse::<SaleId>().ok());
        let for_user = parts.next().and_then(|text| text.parse::<UserId>().ok());
        let expires = parts.next().and_then(|text| text.parse::<i64>().ok());
        for_sale == Some(sale) && for_user == Some(user) && expires.is_some_and(|ms| now.as_millisecond() < ms)
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_token_is_for_one_sale_one_user_and_a_while() {
        let tokens = Tokens::new(&SecretString::from("k".repeat(64)));
        let (user, other) = (UserId(Uuid::from_u128(1)), UserId(Uuid::from_u128(2)));
        let now = Timestamp::from_second(1_000).unwrap();
        let (token, expires) = tokens.issue(SaleId(7), user, now);
        assert!(tokens.holds(&token, SaleId(7), user, now));
        assert!(!tokens.holds(&token, SaleId(8), user, now));
        assert!(!tokens.holds(&token, SaleId(7), other, now));
        assert!(!tokens.holds(&token, SaleId(7), user, expires));
        assert!(!tokens.holds(&format!("{token}A"), SaleId(7), user, now));
        assert!(!tokens.holds("", SaleId(7), user, now));
    }
}
