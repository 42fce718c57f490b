//! Purchase tokens: proof that a user sent a request after the sale had opened. Verified without I/O, and valid for
//! that user only.

use std::time::Duration;

use jiff::Timestamp;

use base::signing::{ShopSecret, Signer};
use domain::{SaleId, UserId};

/// Long enough to fill in a form; the script fetches a new token when needed.
const TOKEN_LIFETIME: Duration = Duration::from_secs(10 * 60);

pub(super) struct Tokens {
    signer: Signer,
}

impl Tokens {
    pub(super) fn new(secret: &ShopSecret) -> Tokens {
        Tokens { signer: Signer::new(secret, "purchase token") }
    }

    /// Issues a token. If `until` is given, the token is not valid longer than that.
    pub(super) fn issue(
        &self,
        sale: SaleId,
        user: UserId,
        now: Timestamp,
        until: Option<Timestamp>,
    ) -> (String, Timestamp) {
        let expires = until.unwrap_or(Timestamp::MAX).min(now + TOKEN_LIFETIME);
        (self.signer.sign(&format!("{sale} {user} {}", expires.as_millisecond())), expires)
    }

    /// Whether the token was issued for this sale and user and is still valid.
    pub(super) fn verify(&self, token: &str, sale: SaleId, user: UserId, now: Timestamp) -> bool {
        let Some(payload) = self.signer.verify(token) else { return false };
        let mut parts = payload.splitn(3, ' ');
        let for_sale = parts.next().and_then(|text| text.parse::<SaleId>().ok());
        let for_user = parts.next().and_then(|text| text.parse::<UserId>().ok());
        let expires = parts.next().and_then(|text| text.parse::<i64>().ok());
        for_sale == Some(sale) && for_user == Some(user) && expires.is_some_and(|ms| now.as_millisecond() < ms)
    }
}

#[cfg(test)]
mod tests {
    use secrecy::SecretString;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn token_is_valid_for_one_sale_one_user_and_a_limited_time() {
        let tokens = Tokens::new(&SecretString::from("k".repeat(64)).into());
        let (user, other) = (UserId(Uuid::from_u128(1)), UserId(Uuid::from_u128(2)));
        let now = Timestamp::from_second(1_000).unwrap();
        let (token, expires) = tokens.issue(SaleId(7), user, now, None);
        assert!(tokens.verify(&token, SaleId(7), user, now));
        assert!(!tokens.verify(&token, SaleId(8), user, now));
        assert!(!tokens.verify(&token, SaleId(7), other, now));
        assert!(!tokens.verify(&token, SaleId(7), user, expires));
        assert!(!tokens.verify(&format!("{token}A"), SaleId(7), user, now));
        assert!(!tokens.verify("", SaleId(7), user, now));
        let seat_end = now + Duration::from_secs(60);
        let (token, expires) = tokens.issue(SaleId(7), user, now, Some(seat_end));
        assert_eq!(expires, seat_end);
        assert!(!tokens.verify(&token, SaleId(7), user, seat_end));
    }
}

#[cfg(test)]
mod fuzz {
    use secrecy::SecretString;
    use uuid::Uuid;

    use super::*;
    use testing::fuzz::texts;

    #[test]
    fn only_tokens_of_the_user_verify() {
        let secret = ShopSecret::from(SecretString::from("k".repeat(64)));
        let (tokens, now) = (Tokens::new(&secret), Timestamp::from_second(1_000).unwrap());
        let [mine, other] = [1, 2].map(|n| UserId(Uuid::from_u128(n)));
        let issued = [mine, other].map(|user| tokens.issue(SaleId(7), user, now, None).0);
        texts(&issued, |text| assert_eq!(tokens.verify(text, SaleId(7), mine, now), text == issued[0]));
        // Even a payload that is signed with a leaked key must be parsed without a panic.
        texts(&["7 00000000-0000-0000-0000-000000000001 1000"], |payload| {
            let signed = Signer::new(&secret, "purchase token").sign(payload);
            tokens.verify(&signed, SaleId(7), mine, now);
        });
    }
}
