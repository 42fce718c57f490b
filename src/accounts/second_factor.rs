//! The second factor: codes of an authenticator (TOTP, RFC 6238), and recovery codes for the day it is lost.
//!
//! The secret lies in the database encrypted with a key made from the shop's secret (XChaCha20-Poly1305, bound to its
//! user), so a copy of the database alone makes no codes. Of recovery codes there are only hashes; they are random
//! enough that a fast hash will do.

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use jiff::{SignedDuration, Timestamp};
use secrecy::SecretString;
use sha2::{Digest, Sha256};
use totp_rs::{Builder, Secret, Totp};

use super::password::letters;
use super::session::{Session, stamp};
use super::{AccountRefusal, Accounts, Device};
use crate::domain::UserId;
use crate::signing::{Signer, key_for};
use crate::store::User;

/// How long the second step of a log-in, and setting up an authenticator, may take.
const PATIENCE: SignedDuration = SignedDuration::from_mins(10);
const RECOVERY_CODES: usize = 10;
const NONCE_BYTES: usize = 24;
/// A step of the codes, in seconds.
const STEP: i64 = 30;

/// What a person needs to set up their authenticator.
#[derive(Debug, Clone)]
pub struct Enrolment {
    /// In base32, for typing.
    pub secret: String,
    /// `otpauth://…`, for scanning.
    pub url: String,
    /// Comes back with the first code.
    pub sealed: String,
}

pub struct SecondFactors {
    cipher: XChaCha20Poly1305,
    /// Signs enrolments and half-done log-ins.
    sealer: Signer,
}

impl SecondFactors {
    pub fn new(secret: &SecretString) -> SecondFactors {
        let key = key_for(secret, "second factor");
        SecondFactors { cipher: XChaCha20Poly1305::new(&key.into()), sealer: Signer::new(secret, "second step") }
    }

    fn encrypt(&self, user: UserId, secret: &[u8]) -> Option<String> {
        let nonce: [u8; NONCE_BYTES] = rand::random();
        let payload = Payload { msg: secret, aad: user.0.as_bytes() };
        let mut sealed = nonce.to_vec();
        sealed.extend(self.cipher.encrypt(&XNonce::from(nonce), payload).ok()?);
        Some(STANDARD_NO_PAD.encode(sealed))
    }

    fn decrypt(&self, user: UserId, sealed: &str) -> Option<Vec<u8>> {
        let sealed = STANDARD_NO_PAD.decode(sealed).ok()?;
        let (nonce, msg) = sealed.split_first_chunk::<NONCE_BYTES>()?;
        self.cipher.decrypt(&XNonce::from(*nonce), Payload { msg, aad: user.0.as_bytes() }).ok()
    }

    /// A signed text that is good for [`PATIENCE`].
    fn seal(&self, kind: &str, user: UserId, rest: &str, now: Timestamp) -> String {
        let until = now.saturating_add(PATIENCE).unwrap_or(now).as_millisecond();
        self.sealer.seal(&format!("{kind} {user} {until} {rest}"))
    }

    fn open(&self, kind: &str, sealed: &str, now: Timestamp) -> Option<(UserId, String)> {
        let text = self.sealer.open(sealed)?;
        let mut parts = text.strip_prefix(kind)?.strip_prefix(' ')?.splitn(3, ' ');
        let user = parts.next()?.parse().ok()?;
        let until: i64 = parts.next()?.parse().ok()?;
        let rest = parts.next()?.to_owned();
        (now.as_millisecond() < until).then_some((user, rest))
    }
}

fn totp(secret: Vec<u8>, username: &str) -> Option<Totp> {
    let builder = Builder::new().with_secret(secret).with_skew(1).with_step_duration(STEP as u64);
    builder.with_account_name(username.to_owned()).with_issuer(Some("Seckill")).build().ok()
}

/// The step that a code belongs to: the present one or a neighbour.
fn step_of(totp: &Totp, code: &str, now: Timestamp) -> Option<i64> {
    i64::try_from(totp.check(code, u64::try_from(now.as_second()).ok()?)?).ok()
}

/// As a person types it: with spaces and hyphens anywhere.
fn plain(code: &str) -> String {
    code.chars().filter(|c| !c.is_whitespace() && *c != '-').take(64).collect::<String>().to_lowercase()
}

fn hash(user: UserId, recovery: &str) -> String {
    Sha256::digest(format!("{user} {recovery}")).iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Accounts {
    /// Begins to set up an authenticator. Nothing is kept until the first code has come.
    pub fn enrol(&self, session: &Session) -> Result<Enrolment, AccountRefusal> {
        self.enrolment(session.user_id, &session.username, Secret::from(rand::random::<[u8; 20]>()).to_base32())
    }

    /// The same enrolment once more, for showing it again after a wrong code.
    pub fn enrol_again(&self, session: &Session, sealed: &str) -> Result<Enrolment, AccountRefusal> {
        match self.factors.open("enrol", sealed, self.clock.now()) {
            Some((user, secret)) if user == session.user_id => self.enrolment(user, &session.username, secret),
            _ => self.enrol(session),
        }
    }

    fn enrolment(&self, user: UserId, username: &str, secret: String) -> Result<Enrolment, AccountRefusal> {
        let bytes = Secret::try_from_base32(&secret).map_err(|_| AccountRefusal::BadCode)?;
        let totp = totp(bytes.as_ref().to_vec(), username).ok_or(AccountRefusal::BadCode)?;
        let url = totp.to_url().map_err(|_| AccountRefusal::BadCode)?;
        let sealed = self.factors.seal("enrol", user, &secret, self.clock.now());
        Ok(Enrolment { secret, url, sealed })
    }

    /// Turns the second factor on: with the password and a first code. The answer are the recovery codes, readable
    /// only now.
    pub async fn set_second_factor(
        &self,
        session: &Session,
        device: &Device,
        sealed: &str,
        password: SecretString,
        code: &str,
    ) -> Result<Vec<String>, AccountRefusal> {
        let user = self.confirm(session, device, password).await?;
        let now = self.clock.now();
        let opened = self.factors.open("enrol", sealed, now).filter(|(id, _)| *id == user.id);
        let (_, secret) = opened.ok_or(AccountRefusal::BadCode)?;
        let secret = Secret::try_from_base32(&secret).map_err(|_| AccountRefusal::BadCode)?.as_ref().to_vec();
        let totp = totp(secret.clone(), &user.username).ok_or(AccountRefusal::BadCode)?;
        let step = step_of(&totp, &plain(code), now).ok_or(AccountRefusal::BadCode)?;
        let codes: Vec<String> = (0..RECOVERY_CODES).map(|_| letters::<16>()).collect();
        let hashes: Vec<String> = codes.iter().map(|code| hash(user.id, code)).collect();
        let encrypted = self.factors.encrypt(user.id, &secret).ok_or(AccountRefusal::Overloaded)?;
        self.store.set_second_factor(&user, &encrypted, step, &hashes, now).await?;
        Ok(codes.iter().map(|c| format!("{}-{}-{}-{}", &c[..4], &c[4..8], &c[8..12], &c[12..])).collect())
    }

    /// Turns the second factor off: with the password and a code.
    pub async fn remove_second_factor(
        &self,
        session: &Session,
        device: &Device,
        password: SecretString,
        code: &str,
    ) -> Result<(), AccountRefusal> {
        let user = self.confirm(session, device, password).await?;
        self.check_code(&user, code).await?;
        Ok(self.store.remove_second_factor(&user, self.clock.now()).await?)
    }

    /// Takes a code of the authenticator, or a recovery code, and uses it up.
    pub(super) async fn check_code(&self, user: &User, code: &str) -> Result<(), AccountRefusal> {
        if let Some(wait) = self.guesses.code_wait(user.id.0) {
            return Err(AccountRefusal::Throttled(wait));
        }
        let Some(sealed) = &user.second_factor else { return Ok(()) };
        let code = plain(code);
        let right = match code.len() == 6 && code.bytes().all(|byte| byte.is_ascii_digit()) {
            true => {
                let secret = self.factors.decrypt(user.id, sealed);
                let step = secret.and_then(|secret| step_of(&totp(secret, &user.username)?, &code, self.clock.now()));
                match step {
                    Some(step) => self.store.use_step(user.id, step).await?,
                    None => false,
                }
            }
            false => self.store.use_recovery(user.id, &hash(user.id, &code)).await?,
        };
        if right {
            return Ok(());
        }
        self.guesses.code_was_wrong(user.id.0);
        Err(AccountRefusal::BadCode)
    }

    /// What stands for the right password while the code is being asked for.
    pub(super) fn half_of(&self, user: &User) -> String {
        self.factors.seal("half", user.id, &stamp(user), self.clock.now())
    }

    /// Whose right password a half-done log-in stands for.
    pub(super) async fn user_of_half(&self, half: &str) -> Result<User, AccountRefusal> {
        let opened = self.factors.open("half", half, self.clock.now());
        let (id, seen) = opened.ok_or(AccountRefusal::BadCredentials)?;
        let user = self.store.user(id).await?.filter(|user| stamp(user) == seen);
        user.ok_or(AccountRefusal::BadCredentials)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_readable_for_its_user_only() {
        let factors = SecondFactors::new(&SecretString::from("s".repeat(64)));
        let other = SecondFactors::new(&SecretString::from("t".repeat(64)));
        let [mei, lei] = [(); 2].map(|()| UserId(uuid::Uuid::now_v7()));
        let sealed = factors.encrypt(mei, b"secret").unwrap();
        assert_eq!(factors.decrypt(mei, &sealed).as_deref(), Some(b"secret".as_slice()));
        assert_eq!(factors.decrypt(lei, &sealed), None);
        assert_eq!(other.decrypt(mei, &sealed), None);
        assert_eq!(factors.decrypt(mei, "AAAA"), None);
    }

    #[test]
    fn half_a_log_in_is_good_for_minutes_and_for_nothing_else() {
        let factors = SecondFactors::new(&SecretString::from("s".repeat(64)));
        let (now, user) = (Timestamp::UNIX_EPOCH, UserId(uuid::Uuid::now_v7()));
        let half = factors.seal("half", user, "abcd", now);
        assert_eq!(factors.open("half", &half, now), Some((user, "abcd".to_owned())));
        assert_eq!(factors.open("enrol", &half, now), None);
        assert_eq!(factors.open("half", &half, now + PATIENCE), None);
    }
}
