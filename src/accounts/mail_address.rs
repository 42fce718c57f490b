//! The mail address of an account. Changes need the password, because the address can be used to recover the account.

use std::time::Duration;

use boxed::boxed;
use jiff::Timestamp;
use secrecy::SecretString;

use crate::session::Session;
use crate::{AccountRefusal, Accounts, Device};
use base::signing::{ShopSecret, Signer};
use domain::network::Network;
use domain::{Locale, MailAddress, MailKind, SecurityClass, UserId};
use store::{GuessCount, StoreResult, User};

#[boxed]
impl Accounts {
    /// Stores an unverified address and sends it a link that verifies it. The answer does not reveal whether another
    /// account has the address.
    pub async fn enter_address(
        &self,
        session: &Session,
        device: &Device,
        password: SecretString,
        typed: &str,
        locale: Locale,
    ) -> Result<(), AccountRefusal> {
        let address = MailAddress::parse(typed).ok_or(AccountRefusal::BadMailAddress)?;
        let user = self.confirm(session, device, password).await?;
        self.count_address(device, user.id, &address).await?;
        Ok(self.store.accounts().enter_address(user.id, &address, locale).await?)
    }

    /// The account and the address of a verification link. Changes nothing: programs that scan mail follow links.
    pub async fn address_of_link(&self, token: &str) -> Result<(User, MailAddress), AccountRefusal> {
        let (id, _, address) = self.read_verification(token).await?;
        Ok((self.active_user(id).await?, address))
    }

    /// Verifies an address by the link that was sent to it.
    pub async fn verify_address(&self, device: &Device, token: &str) -> Result<(), AccountRefusal> {
        let (id, number, address) = self.read_verification(token).await?;
        let user = self.active_user(id).await?;
        let sessions = self.store.sessions().sessions_of(id, self.clock.now()).await?;
        match self.store.accounts().verify_address(&user, &address, number, &sessions).await? {
            true => {
                self.note(SecurityClass::MailAddressChanged, &user, device, "verified");
                Ok(())
            }
            false => Err(AccountRefusal::BadLink),
        }
    }

    /// Removes the address, verified or not.
    pub async fn remove_address(
        &self,
        session: &Session,
        device: &Device,
        password: SecretString,
    ) -> Result<(), AccountRefusal> {
        let user = self.confirm(session, device, password).await?;
        self.store.accounts().remove_address(&user).await?;
        self.note(SecurityClass::MailAddressChanged, &user, device, "removed");
        Ok(())
    }

    async fn read_verification(&self, token: &str) -> Result<(UserId, i64, MailAddress), AccountRefusal> {
        let verified = self.links.verify_verification(token, self.store.now().await?);
        let (link, address) = verified.ok_or(AccountRefusal::BadLink)?;
        Ok((link.user, link.number, address))
    }

    pub(super) async fn active_user(&self, id: UserId) -> Result<User, AccountRefusal> {
        let user = self.store.accounts().user(id).await?.filter(|user| user.deleted_at.is_none() && !user.is_blocked());
        user.ok_or(AccountRefusal::BadLink)
    }
}

// The links of messages. A link is a signed text that is made when its message is sent, so a copy of the database
// opens no account. Links are numbered, and the database knows the latest number: a link is valid once, and only until
// a newer one is sent.

/// Signs and verifies links and codes.
#[derive(Clone)]
pub struct MailLinks {
    verification: Signer,
    recovery: Signer,
    sign_in: Signer,
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
        let (verification, recovery, sign_in) = (signer("mail address"), signer("recovery"), signer("code by mail"));
        MailLinks { verification, recovery, sign_in, registration }
    }

    /// The token of a link that verifies an address.
    pub fn verification(&self, link: &MailLink, address: &str) -> String {
        self.verification.sign(&format!("{} {address}", link.payload()))
    }

    /// The token of a link that sets a new password.
    pub fn recovery(&self, link: &MailLink) -> String {
        self.recovery.sign(&link.payload())
    }

    /// The code that logs in: eight digits of a signature.
    pub fn sign_in_code(&self, link: &MailLink) -> String {
        self.code(link.user, link.number, minute(link.expires_at))
    }

    /// Whether a text is the code of the account's message with this number. A code is taken to the end of the minute in
    /// which it expires.
    pub(super) fn is_sign_in_code(&self, text: &str, user: UserId, number: i64, now: Timestamp) -> bool {
        let (first, last) = (minute(now), minute(now + MailKind::SignInCode.lifetime()));
        // Signatures are compared, because the time of comparing the codes would tell how they begin.
        let given = self.sign_in.sign(text);
        (first..=last).any(|minute| self.sign_in.sign(&self.code(user, number, minute)) == given)
    }

    fn code(&self, user: UserId, number: i64, minute: i64) -> String {
        let [a, b, c, d, e, f, g, h, ..] = self.sign_in.digest(format!("{user} {number} {minute}").as_bytes());
        format!("{:08}", u64::from_be_bytes([a, b, c, d, e, f, g, h]) % 100_000_000)
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

    fn verify_verification(&self, token: &str, now: Timestamp) -> Option<(MailLink, MailAddress)> {
        let payload = self.verification.verify(token)?;
        let (link, address) = MailLink::parse(&payload)?;
        Some((link, MailAddress::parse(address)?)).filter(|(link, _)| now < link.expires_at)
    }

    pub(super) fn verify_recovery(&self, token: &str, now: Timestamp) -> Option<MailLink> {
        let (link, _) = MailLink::parse(&self.recovery.verify(token)?)?;
        Some(link).filter(|link| now < link.expires_at)
    }
}

/// The minute of a moment. A code contains the one in which it expires.
fn minute(at: Timestamp) -> i64 {
    at.as_second() / 60
}

// Limits on how many messages can be requested, so that the shop cannot be used to fill the mailboxes of strangers.
// Requests are counted for all processes together, before any work is done.

/// A burst, then one message per period.
type Limit = (u32, Duration);

/// Messages that one host asks for.
const PER_HOST: Limit = (20, Duration::from_secs(2 * 60));
/// Recoveries of one name or address that one host asks for.
const PER_NAME: Limit = (5, Duration::from_secs(5 * 60));
/// Messages about one account, which its owner, staff or strangers ask for.
const PER_ACCOUNT: Limit = (5, Duration::from_secs(10 * 60));
/// Messages that the hosts of one site ask for while they register.
const PER_SITE: Limit = (60, Duration::from_secs(60));
/// Messages to one address that was entered in a form.
const PER_ADDRESS: Limit = (3, Duration::from_secs(30 * 60));

impl Accounts {
    /// Counts an address that an account enters.
    async fn count_address(&self, device: &Device, user: UserId, address: &MailAddress) -> Result<(), AccountRefusal> {
        let of_address = self.count_of_address(&address.key());
        self.take_counts(&[self.count_of_mail_host(device), self.count_of_mail(user), of_address]).await
    }

    /// Counts an address that is entered in place of a registration's proof of work.
    pub(super) async fn count_contact(&self, device: &Device, address: &MailAddress) -> Result<(), AccountRefusal> {
        let of_site = self.count("mail to register by", &Network::of(device.address).site_text(), PER_SITE);
        let of_mailbox = self.count_of_address(&address.mailbox());
        self.take_counts(&[self.count_of_mail_host(device), of_site, of_mailbox]).await
    }

    /// Counts a recovery that a host asks for, whether there is such an account or not.
    pub(super) async fn count_recovery(&self, device: &Device, typed: &str) -> Result<(), AccountRefusal> {
        let host = Network::of(device.address).host;
        let of_name = self.count("recovery", &format!("{host} {}", typed.to_lowercase()), PER_NAME);
        self.take_counts(&[self.count_of_mail_host(device), of_name]).await
    }

    /// Counts a message about an account. `false` when there were too many lately.
    pub(super) async fn count_mail_of(&self, user: UserId) -> StoreResult<bool> {
        Ok(self.store.credentials().take_guess(&[self.count_of_mail(user)]).await?.is_none())
    }

    fn count_of_mail_host(&self, device: &Device) -> GuessCount {
        self.count("mail by", &Network::of(device.address).host.to_string(), PER_HOST)
    }

    /// Limits messages to one address. Registrations pass the mailbox, because an address spelled with other tags
    /// reaches the same reader. Accounts pass the address itself, because they also have [`PER_ACCOUNT`].
    fn count_of_address(&self, address: &str) -> GuessCount {
        self.count("mail to", address, PER_ADDRESS)
    }

    fn count_of_mail(&self, user: UserId) -> GuessCount {
        self.count("mail of", &user.to_string(), PER_ACCOUNT)
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
        let code = links.sign_in_code(&link);
        assert_eq!(code.len(), 8);
        let is_code = |number, at| links.is_sign_in_code(&code, link.user, number, at);
        assert!(is_code(7, now) && !is_code(8, now) && !others.is_sign_in_code(&code, link.user, 7, now));
        assert!(!is_code(7, link.expires_at + Duration::from_secs(60)));
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
