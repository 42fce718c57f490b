//! The links of messages. A link is a signed text that is made when its message is sent, so a copy of the database
//! opens no account. Links are numbered, and the database knows the latest number: a link is valid once, and only until
//! a newer one is sent.

use jiff::Timestamp;

use base::signing::{ShopSecret, Signer};
use domain::{MailAddress, UserId};

/// Signs and verifies links.
#[derive(Clone)]
pub struct MailLinks {
    verification: Signer,
    recovery: Signer,
    registration: Signer,
}

/// What a registration link contains, besides the mail address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContactLink<'a> {
    /// The id of the challenge.
    pub challenge: &'a str,
    pub expires_at: Timestamp,
}

/// What a valid link contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MailLink {
    pub user: UserId,
    pub number: i64,
    pub expires_at: Timestamp,
}

impl MailLink {
    fn payload(&self) -> String {
        format!("{} {} {}", self.user, self.number, self.expires_at.as_millisecond())
    }

    fn parse(payload: &str) -> Option<(MailLink, &str)> {
        let mut parts = payload.splitn(4, ' ');
        let link = MailLink {
            user: parts.next()?.parse().ok()?,
            number: parts.next()?.parse().ok()?,
            expires_at: Timestamp::from_millisecond(parts.next()?.parse().ok()?).ok()?,
        };
        Some((link, parts.next().unwrap_or_default()))
    }
}

impl MailLinks {
    pub fn new(secret: &ShopSecret) -> MailLinks {
        let signer = |purpose| Signer::new(secret, purpose);
        let registration = signer("registration contact");
        MailLinks { verification: signer("mail address"), recovery: signer("recovery"), registration }
    }

    /// The token of a link that verifies an address.
    pub fn verification(&self, link: &MailLink, address: &str) -> String {
        self.verification.sign(&format!("{} {address}", link.payload()))
    }

    /// The token of a link that sets a new password.
    pub fn recovery(&self, link: &MailLink) -> String {
        self.recovery.sign(&link.payload())
    }

    /// The token of a link that verifies the address of a registration.
    pub fn registration(&self, link: &ContactLink<'_>, address: &str) -> String {
        let expires = link.expires_at.as_millisecond();
        self.registration.sign(&format!("{} {expires} {address}", link.challenge))
    }

    /// The challenge and the address of a registration link that is still valid.
    pub(super) fn verify_registration(&self, token: &str, now: Timestamp) -> Option<(String, MailAddress)> {
        let payload = self.registration.verify(token)?;
        let mut parts = payload.splitn(3, ' ');
        let (challenge, expires, address) = (parts.next()?, parts.next()?, parts.next()?);
        let expires_at = Timestamp::from_millisecond(expires.parse().ok()?).ok()?;
        Some((challenge.to_owned(), MailAddress::parse(address)?)).filter(|_| now < expires_at)
    }

    pub(super) fn verify_verification(&self, token: &str, now: Timestamp) -> Option<(MailLink, MailAddress)> {
        let payload = self.verification.verify(token)?;
        let (link, address) = MailLink::parse(&payload)?;
        Some((link, MailAddress::parse(address)?)).filter(|(link, _)| now < link.expires_at)
    }

    pub(super) fn verify_recovery(&self, token: &str, now: Timestamp) -> Option<MailLink> {
        let (link, _) = MailLink::parse(&self.recovery.verify(token)?)?;
        Some(link).filter(|link| now < link.expires_at)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn link_expires_and_serves_one_purpose() {
        let secret = |letter: &str| ShopSecret::from(secrecy::SecretString::from(letter.repeat(64)));
        let (links, others) = (MailLinks::new(&secret("s")), MailLinks::new(&secret("t")));
        let now = Timestamp::UNIX_EPOCH;
        let link = MailLink { user: UserId(uuid::Uuid::now_v7()), number: 7, expires_at: now + Duration::from_secs(9) };
        let token = links.recovery(&link);
        assert_eq!(links.verify_recovery(&token, now), Some(link));
        assert_eq!(links.verify_recovery(&token, link.expires_at), None);
        assert_eq!(others.verify_recovery(&token, now), None);
        assert_eq!(links.verify_verification(&token, now), None);
        let token = links.verification(&link, "mei@shop.example");
        assert_eq!(links.verify_recovery(&token, now), None);
        let (found, address) = links.verify_verification(&token, now).unwrap();
        assert_eq!((found, address.as_str()), (link, "mei@shop.example"));
        assert_eq!(links.verify_registration(&token, now), None);
        let link = ContactLink { challenge: "7", expires_at: link.expires_at };
        let token = links.registration(&link, "mei@shop.example");
        let (found, address) = links.verify_registration(&token, now).unwrap();
        assert_eq!((found.as_str(), address.as_str()), ("7", "mei@shop.example"));
        assert_eq!(links.verify_registration(&token, link.expires_at), None);
        assert_eq!(others.verify_registration(&token, now), None);
        assert_eq!(links.verify_verification(&token, now), None);
    }
}
