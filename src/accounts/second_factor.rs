//! The second factor: codes of an authenticator app (TOTP, RFC 6238), and recovery codes in case it is lost.
//!
//! The database stores the secret encrypted ([`Cipher`], bound to the user), so a copy of the database alone cannot
//! generate codes. Recovery codes are stored as hashes; they are random enough (80 bits) for a fast hash.

use boxed::boxed;
use jiff::{SignedDuration, Timestamp};
use secrecy::SecretString;
use sha2::{Digest, Sha256};
use totp_rs::{Builder, Secret, Totp};

use super::password::letters;
use super::session::{Session, password_stamp};
use super::{AccountRefusal, Accounts, Device};
use base::signing::Cipher;
use base::signing::{ShopSecret, Signer};
use domain::{SecurityClass, UserId};
use store::{StoreResult, User};

/// How long the second step of a log-in, and setting up an authenticator, may take.
const SECOND_STEP_TIMEOUT: SignedDuration = SignedDuration::from_mins(10);
const RECOVERY_CODES: usize = 10;
/// Second factors that are read at once to be encrypted again.
const FACTORS_PER_STEP: i64 = 500;
/// The time step of codes, in seconds.
const STEP_SECONDS: i64 = 30;

/// What a user needs to set up an authenticator app.
#[derive(Debug, Clone)]
pub struct Enrolment {
    /// The secret in base32, for typing.
    pub secret: String,
    /// The address `otpauth://…`, for scanning.
    pub url: String,
    /// The signed secret. The client sends it back with the first code.
    pub signed: String,
}

pub struct SecondFactors {
    /// Encrypts each secret for the id of its user.
    cipher: Cipher,
    /// Signs enrolments, and proofs of a verified password.
    signer: Signer,
}

impl SecondFactors {
    pub fn new(secret: &ShopSecret) -> SecondFactors {
        SecondFactors { cipher: Cipher::new(secret, "second factor"), signer: Signer::new(secret, "second step") }
    }

    /// A signed text that is valid for [`SECOND_STEP_TIMEOUT`].
    fn sign(&self, kind: &str, user: UserId, rest: &str, now: Timestamp) -> String {
        let until = now.saturating_add(SECOND_STEP_TIMEOUT).unwrap_or(now).as_millisecond();
        self.signer.sign(&format!("{kind} {user} {until} {rest}"))
    }

    fn verify(&self, kind: &str, signed: &str, now: Timestamp) -> Option<(UserId, String)> {
        let text = self.signer.verify(signed)?;
        let mut parts = text.strip_prefix(kind)?.strip_prefix(' ')?.splitn(3, ' ');
        let user = parts.next()?.parse().ok()?;
        let until: i64 = parts.next()?.parse().ok()?;
        let rest = parts.next()?.to_owned();
        (now.as_millisecond() < until).then_some((user, rest))
    }
}

/// `issuer` is the name under which an authenticator lists the account. It has no effect on codes.
fn totp(secret: Vec<u8>, username: &str, issuer: &str) -> Option<Totp> {
    let builder = Builder::new().with_secret(secret).with_skew(1).with_step_duration(STEP_SECONDS as u64);
    builder.with_account_name(username.to_owned()).with_issuer(Some(issuer)).build().ok()
}

/// The time step of a code: the current one or a neighbour.
fn step_of(totp: &Totp, code: &str, now: Timestamp) -> Option<i64> {
    i64::try_from(totp.check(code, u64::try_from(now.as_second()).ok()?)?).ok()
}

/// Removes spaces and hyphens from a typed code.
fn normalized(code: &str) -> String {
    code.chars().filter(|c| !c.is_whitespace() && *c != '-').take(64).collect::<String>().to_lowercase()
}

fn hash(user: UserId, recovery: &str) -> String {
    Sha256::digest(format!("{user} {recovery}")).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[boxed]
impl Accounts {
    /// Starts the set-up of an authenticator. Nothing is stored until the first code confirms it.
    pub fn enrol(&self, session: &Session, shop_name: &str) -> Result<Enrolment, AccountRefusal> {
        self.enrolment(session, shop_name, Secret::from(rand::random::<[u8; 20]>()).to_base32())
    }

    /// The same enrolment again, to be shown after a wrong code.
    pub fn enrol_again(&self, session: &Session, shop_name: &str, signed: &str) -> Result<Enrolment, AccountRefusal> {
        match self.factors.verify("enrol", signed, self.clock.now()) {
            Some((user, secret)) if user == session.user_id => self.enrolment(session, shop_name, secret),
            _ => self.enrol(session, shop_name),
        }
    }

    fn enrolment(&self, session: &Session, shop_name: &str, secret: String) -> Result<Enrolment, AccountRefusal> {
        // A colon separates the name from the account.
        let issuer = shop_name.replace(':', " ");
        let bytes = Secret::try_from_base32(&secret).map_err(|_| AccountRefusal::BadCode)?;
        let totp = totp(bytes.as_ref().to_vec(), &session.username, &issuer).ok_or(AccountRefusal::BadCode)?;
        let url = totp.to_url().map_err(|_| AccountRefusal::BadCode)?;
        let signed = self.factors.sign("enrol", session.user_id, &secret, self.clock.now());
        Ok(Enrolment { secret, url, signed })
    }

    /// Turns the second factor on, confirmed by the password and a first code. Replacing a second factor also needs a
    /// code of the present one, or a recovery code: the password alone must not be enough to replace it. Ends the other
    /// sessions. Returns the recovery codes, which cannot be read again later.
    pub async fn set_second_factor(
        &self,
        session: &Session,
        device: &Device,
        signed: &str,
        password: SecretString,
        code: &str,
        present_code: Option<&str>,
    ) -> Result<Vec<String>, AccountRefusal> {
        let user = self.confirm(session, device, password).await?;
        let now = self.clock.now();
        let verified = self.factors.verify("enrol", signed, now).filter(|(id, _)| *id == user.id);
        let (_, secret) = verified.ok_or(AccountRefusal::BadCode)?;
        let secret = Secret::try_from_base32(&secret).map_err(|_| AccountRefusal::BadCode)?.as_ref().to_vec();
        let totp = totp(secret.clone(), &user.username, "").ok_or(AccountRefusal::BadCode)?;
        let step = step_of(&totp, &normalized(code), now).ok_or(AccountRefusal::BadCode)?;
        if user.second_factor.is_some() {
            let checked = self.check_needed_code(&user, present_code).await;
            checked.map_err(|refusal| {
                self.note_wrong_code(&user, device, &refusal);
                if matches!(refusal, AccountRefusal::BadCode) { AccountRefusal::BadPresentCode } else { refusal }
            })?;
        }
        let codes: Vec<String> = (0..RECOVERY_CODES).map(|_| letters::<16>()).collect();
        let hashes: Vec<String> = codes.iter().map(|code| hash(user.id, code)).collect();
        let encrypted = self.factors.cipher.encrypt(user.id.0.as_bytes(), &secret).ok_or(AccountRefusal::Overloaded)?;
        let ended =
            self.store.credentials().set_second_factor(&user, &encrypted, step, &hashes, session.id, now).await?;
        self.revocations.add(&ended);
        let detail = if user.second_factor.is_some() { "replaced" } else { "on" };
        self.note(SecurityClass::SecondFactorSet, &user, device, detail);
        Ok(codes.iter().map(|c| format!("{}-{}-{}-{}", &c[..4], &c[4..8], &c[8..12], &c[12..])).collect())
    }

    /// Turns the second factor off, confirmed by the password and a code. Ends the other sessions.
    pub async fn remove_second_factor(
        &self,
        session: &Session,
        device: &Device,
        password: SecretString,
        code: &str,
    ) -> Result<(), AccountRefusal> {
        let user = self.confirm(session, device, password).await?;
        let checked = self.check_code(&user, code).await;
        checked.inspect_err(|refusal| self.note_wrong_code(&user, device, refusal))?;
        let ended = self.store.credentials().remove_second_factor(&user, session.id, self.clock.now()).await?;
        self.revocations.add(&ended);
        self.note(SecurityClass::SecondFactorRemoved, &user, device, "owner");
        Ok(())
    }

    /// Finds second factors that were encrypted with the other key and encrypts them with the current one. Returns how
    /// many. May run in several processes at once.
    pub async fn re_encrypt_second_factors(&self) -> StoreResult<u64> {
        let mut changed = 0;
        if !self.factors.cipher.has_previous() {
            return Ok(changed);
        }
        let mut after = None;
        loop {
            let page = self.store.credentials().second_factors(after, FACTORS_PER_STEP).await?;
            for (user, old) in &page {
                if let Some(new) = self.factors.cipher.re_encrypt(user.0.as_bytes(), old) {
                    changed += u64::from(self.store.credentials().replace_second_factor(*user, old, &new).await?);
                }
            }
            match page.last() {
                Some((user, _)) => after = Some(*user),
                None => return Ok(changed),
            }
        }
    }

    /// Whether this is a code that the authenticator shows now. It may have been used already.
    pub(super) fn is_code_of(&self, user: &User, code: &str) -> bool {
        self.code_step(user, &normalized(code)).is_some()
    }

    fn code_step(&self, user: &User, code: &str) -> Option<i64> {
        let secret = self.factors.cipher.decrypt(user.id.0.as_bytes(), user.second_factor.as_ref()?)?;
        step_of(&totp(secret, &user.username, "")?, code, self.clock.now())
    }

    /// Checks a code of the authenticator or a recovery code, and marks it as used.
    pub(super) async fn check_code(&self, user: &User, code: &str) -> Result<(), AccountRefusal> {
        if user.second_factor.is_none() {
            return Ok(());
        }
        // Count first, so that parallel attempts are limited too.
        self.reserve_code(user.id).await?;
        let code = normalized(code);
        let right = match code.len() == 6 && code.bytes().all(|byte| byte.is_ascii_digit()) {
            true => match self.code_step(user, &code) {
                Some(step) => self.store.credentials().consume_code_step(user.id, step).await?,
                None => false,
            },
            false => self.store.credentials().consume_recovery_code(user.id, &hash(user.id, &code)).await?,
        };
        if !right {
            return Err(AccountRefusal::BadCode);
        }
        self.give_back_code(user.id).await;
        Ok(())
    }

    /// A signed proof of the right password, valid until the code is entered.
    pub(super) fn password_proof(&self, user: &User) -> String {
        self.factors.sign("half", user.id, &password_stamp(user), self.clock.now())
    }

    /// The user whose right password the proof confirms.
    pub(super) async fn user_of_proof(&self, proof: &str) -> Result<User, AccountRefusal> {
        let verified = self.factors.verify("half", proof, self.clock.now());
        let (id, proved) = verified.ok_or(AccountRefusal::BadCredentials)?;
        let user = self.store.accounts().user(id).await?.filter(|user| password_stamp(user) == proved);
        user.ok_or(AccountRefusal::BadCredentials)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_is_decrypted_for_its_user_only() {
        let factors = SecondFactors::new(&SecretString::from("s".repeat(64)).into());
        let other = SecondFactors::new(&SecretString::from("t".repeat(64)).into());
        let [mei, lei] = [(); 2].map(|()| UserId(uuid::Uuid::now_v7()));
        let encrypted = factors.cipher.encrypt(mei.0.as_bytes(), b"secret").unwrap();
        assert_eq!(factors.cipher.decrypt(mei.0.as_bytes(), &encrypted).as_deref(), Some(b"secret".as_slice()));
        assert_eq!(factors.cipher.decrypt(lei.0.as_bytes(), &encrypted), None);
        assert_eq!(other.cipher.decrypt(mei.0.as_bytes(), &encrypted), None);
        assert_eq!(factors.cipher.decrypt(mei.0.as_bytes(), "AAAA"), None);
    }

    #[test]
    fn password_proof_expires_and_serves_no_other_purpose() {
        let factors = SecondFactors::new(&SecretString::from("s".repeat(64)).into());
        let (now, user) = (Timestamp::UNIX_EPOCH, UserId(uuid::Uuid::now_v7()));
        let proof = factors.sign("half", user, "abcd", now);
        assert_eq!(factors.verify("half", &proof, now), Some((user, "abcd".to_owned())));
        assert_eq!(factors.verify("enrol", &proof, now), None);
        assert_eq!(factors.verify("half", &proof, now + SECOND_STEP_TIMEOUT), None);
    }
}
