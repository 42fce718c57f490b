//! Passkeys: a key on a device of the user, which unlocks it with a finger, a face or a PIN. Possession and
//! identification together are two factors, so a passkey needs neither password nor code.
//!
//! A challenge is signed for one purpose and one session (a log-in has no session yet). It is good for
//! [`CHALLENGE_LIFETIME`], and spent with its first right answer. Issuing one writes nothing, so that visitors cannot
//! fill the database.

use std::ops::Deref;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use boxed::boxed;
use jiff::Timestamp;
use secrecy::SecretString;
use tracing::warn;
use uuid::Uuid;

use super::session::Session;
use super::{AccountRefusal, Accounts, Device};
use domain::{SecurityClass, UserId};
use store::{AnsweredChallenge, MAX_PASSKEYS_PER_USER, Passkey, PasskeyAddition, PasskeyUse, StoreResult, User};
use webauthn::{Assertion, Registration, RelyingParty};

/// How long a challenge may be answered: the time to find a device and to unlock it.
pub const CHALLENGE_LIFETIME: Duration = Duration::from_secs(5 * 60);

/// What a challenge is for. An answer is good for this purpose only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    LogIn,
    StepUp,
    /// Add a passkey. Issued once the password, and the code if there is one, were right.
    Add,
}

impl Purpose {
    fn as_str(self) -> &'static str {
        match self {
            Purpose::LogIn => "log-in",
            Purpose::StepUp => "step-up",
            Purpose::Add => "add",
        }
    }
}

/// What a browser needs to sign with a passkey.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PasskeyRequest {
    /// The challenge in base64url. The credential ids are in base64url too.
    pub challenge: String,
    pub rp_id: String,
    /// If it is empty, any passkey that the device has for the site will do.
    pub allowed: Vec<String>,
}

/// What a browser needs to create a passkey.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PasskeyCreation {
    /// The challenge in base64url. The credential ids are in base64url too.
    pub challenge: String,
    pub rp_id: String,
    pub user: UserId,
    pub username: String,
    /// Passkeys that the account already has.
    pub excluded: Vec<String>,
}

/// A passkey that a browser has created.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CreatedPasskey {
    pub client_data: Vec<u8>,
    pub attestation_object: Vec<u8>,
}

/// What a browser has signed with a passkey.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SignedChallenge {
    /// The id in base64url.
    pub credential_id: String,
    pub client_data: Vec<u8>,
    pub authenticator_data: Vec<u8>,
    pub signature: Vec<u8>,
    /// The account that the device stored with the passkey.
    pub user_handle: Option<Vec<u8>>,
}

/// Why an answer is refused, as written in security events.
const WRONG: &str = "passkey";
const COPIED: &str = "passkey_copied";

impl Accounts {
    pub fn passkeys(&self) -> AccountPasskeys<'_> {
        AccountPasskeys(self)
    }

    /// Whether the account signs in with its passkey alone, because the owners require a second factor and it has no
    /// other.
    pub(super) fn needs_passkey(&self, user: &User) -> bool {
        let has_no_other = user.second_factor.is_none() && user.passkeys > 0;
        user.role.is_staff() && has_no_other && self.requires_second_factor()
    }
}

/// The passkeys of accounts.
#[derive(Clone, Copy)]
pub struct AccountPasskeys<'a>(&'a Accounts);

impl Deref for AccountPasskeys<'_> {
    type Target = Accounts;

    fn deref(&self) -> &Accounts {
        self.0
    }
}

#[boxed]
impl AccountPasskeys<'_> {
    /// Whether browsers offer passkeys at the shop's address.
    pub fn are_taken(&self) -> bool {
        self.rules.site.is_some()
    }

    fn site(&self) -> Result<&RelyingParty, AccountRefusal> {
        self.rules.site.as_ref().ok_or(AccountRefusal::PasskeysOff)
    }

    pub async fn of(&self, session: &Session) -> StoreResult<Vec<Passkey>> {
        self.store.credentials().passkeys_of(session.user_id).await
    }

    /// Begins to add a passkey, confirmed by the password, and by a code if the account has an authenticator app,
    /// because a passkey replaces both.
    pub async fn begin_adding(
        &self,
        session: &Session,
        device: &Device,
        password: SecretString,
        code: Option<&str>,
    ) -> Result<PasskeyCreation, AccountRefusal> {
        let site = self.site()?;
        let user = self.confirm_with_code(session, device, password, code).await?;
        let excluded: Vec<String> = self.credentials_of(user.id).await?;
        if excluded.len() as i64 >= MAX_PASSKEYS_PER_USER {
            return Err(AccountRefusal::TooManyPasskeys);
        }
        let challenge = self.challenge(Purpose::Add, Some(session)).await?;
        let rp_id = site.id().to_owned();
        Ok(PasskeyCreation { challenge, rp_id, user: user.id, username: user.username, excluded })
    }

    /// Adds a passkey, which answers the challenge of [`AccountPasskeys::begin_adding`]. No session ends.
    pub async fn add(
        &self,
        session: &Session,
        device: &Device,
        name: &str,
        created: &CreatedPasskey,
    ) -> Result<Passkey, AccountRefusal> {
        let CreatedPasskey { client_data, attestation_object } = created;
        let answer = Registration { client_data, attestation_object };
        let registered = self.site()?.verify_registration(&answer).map_err(|_| AccountRefusal::BadRegistration)?;
        let now = self.store.now().await?;
        let challenge = self.answered(&registered.challenge, Purpose::Add, Some(session), now);
        let challenge = challenge.ok_or(AccountRefusal::BadRegistration)?;
        let user = self.store.accounts().user(session.user_id).await?.ok_or(AccountRefusal::BadRegistration)?;
        let passkey = Passkey {
            id: Uuid::now_v7(),
            user_id: user.id,
            credential_id: URL_SAFE_NO_PAD.encode(&registered.credential_id),
            public_key: URL_SAFE_NO_PAD.encode(&registered.cose_key),
            sign_count: registered.sign_count,
            name: name.to_owned(),
            created_at: now,
            used_at: None,
        };
        match self.store.credentials().add_passkey(&user, &passkey, &challenge).await? {
            PasskeyAddition::Added => {
                self.note(SecurityClass::PasskeyAdded, &user, device, "");
                Ok(passkey)
            }
            PasskeyAddition::Spent => Err(AccountRefusal::BadRegistration),
            PasskeyAddition::TooMany => Err(AccountRefusal::TooManyPasskeys),
            PasskeyAddition::Taken => Err(AccountRefusal::PasskeyTaken),
        }
    }

    /// Removes a passkey, confirmed like its addition. No session ends.
    pub async fn remove(
        &self,
        session: &Session,
        device: &Device,
        id: Uuid,
        password: SecretString,
        code: Option<&str>,
    ) -> Result<(), AccountRefusal> {
        if !self.of(session).await?.iter().any(|passkey| passkey.id == id) {
            return Err(AccountRefusal::NoSuchPasskey);
        }
        let user = self.confirm_with_code(session, device, password, code).await?;
        if !self.store.credentials().remove_passkey(&user, id).await? {
            return Err(AccountRefusal::NoSuchPasskey);
        }
        self.note(SecurityClass::PasskeyRemoved, &user, device, "");
        Ok(())
    }

    /// What a visitor signs to log in, with any passkey that the device has for the shop.
    pub async fn log_in_request(&self) -> Result<PasskeyRequest, AccountRefusal> {
        let rp_id = self.site()?.id().to_owned();
        let challenge = self.challenge(Purpose::LogIn, None).await?;
        Ok(PasskeyRequest { challenge, rp_id, allowed: Vec::new() })
    }

    /// Logs in by a passkey. Wrong answers delay their network, and no guesses of others keep a right one out.
    pub async fn log_in(&self, device: &Device, signed: &SignedChallenge) -> Result<Session, AccountRefusal> {
        let site = self.site()?;
        let passkey = self.store.credentials().passkey_of_credential(&signed.credential_id).await?;
        let user = match &passkey {
            Some(passkey) => self.store.accounts().user(passkey.user_id).await?,
            None => None,
        };
        self.delay_guess(device).await?;
        let (Some(passkey), Some(user)) = (passkey, user) else {
            self.guesses.record_wrong_passkey(device.address);
            self.note_unknown_account(device);
            return Err(AccountRefusal::BadPasskey);
        };
        // A device that has a passkey for the shop sends the account that it stored with it.
        let is_of_account = signed.user_handle.as_deref() == Some(user.id.0.as_bytes());
        let used = match is_of_account {
            true => self.use_passkey(site, Purpose::LogIn, None, &passkey, signed).await?,
            false => Err(WRONG),
        };
        if let Err(why) = used {
            self.guesses.record_wrong_passkey(device.address);
            self.note_failure(&user, device, why);
            return Err(AccountRefusal::BadPasskey);
        }
        if user.is_blocked() {
            self.note_failure(&user, device, "blocked");
            return Err(AccountRefusal::Blocked);
        }
        self.begin(&user, device, "passkey").await
    }

    /// What the user of a session signs to prove to be its owner.
    pub async fn step_up_request(&self, session: &Session) -> Result<PasskeyRequest, AccountRefusal> {
        let rp_id = self.site()?.id().to_owned();
        let allowed = self.credentials_of(session.user_id).await?;
        if allowed.is_empty() {
            return Err(AccountRefusal::NoSuchPasskey);
        }
        let challenge = self.challenge(Purpose::StepUp, Some(session)).await?;
        Ok(PasskeyRequest { challenge, rp_id, allowed })
    }

    /// Proves by a passkey that the session is in the hands of its owner ([`Accounts::step_up`]).
    pub async fn step_up(
        &self,
        session: &Session,
        device: &Device,
        signed: &SignedChallenge,
    ) -> Result<(), AccountRefusal> {
        let site = self.site()?;
        let passkey = self.store.credentials().passkey_of_credential(&signed.credential_id).await?;
        let passkey = passkey.filter(|passkey| passkey.user_id == session.user_id);
        let user = self.store.accounts().user(session.user_id).await?;
        let guess = self.reserve_client_guess(device, &session.username).await?;
        // The guess stays counted only if the answer is wrong, not if it could not be checked.
        let handle = signed.user_handle.as_deref();
        let is_of_account = handle.is_none_or(|handle| handle == session.user_id.0.as_bytes());
        let used = match &passkey {
            Some(passkey) if is_of_account => {
                self.use_passkey(site, Purpose::StepUp, Some(session), passkey, signed).await
            }
            _ => Ok(Err(WRONG)),
        };
        self.end_guess(guess, matches!(used, Ok(Err(_)))).await;
        match (used?, user) {
            (Ok(()), Some(user)) => {
                if self.store.sessions().prove_session(session.id).await? {
                    self.note(SecurityClass::StepUp, &user, device, "passkey");
                }
                Ok(())
            }
            _ => {
                self.note_wrong_confirmation(session, device);
                Err(AccountRefusal::BadPasskey)
            }
        }
    }

    /// Verifies what was signed, spends the challenge and moves the counter on. The inner error says what is wrong.
    async fn use_passkey(
        &self,
        site: &RelyingParty,
        purpose: Purpose,
        session: Option<&Session>,
        passkey: &Passkey,
        signed: &SignedChallenge,
    ) -> StoreResult<Result<(), &'static str>> {
        let SignedChallenge { client_data, authenticator_data, signature, .. } = signed;
        let answer = Assertion { client_data, authenticator_data, signature };
        let key = URL_SAFE_NO_PAD.decode(&passkey.public_key).unwrap_or_default();
        let Ok(asserted) = site.verify_assertion(&key, &answer) else { return Ok(Err(WRONG)) };
        let now = self.store.now().await?;
        let challenge = self.answered(&asserted.challenge, purpose, session, now);
        let Some(challenge) = challenge else { return Ok(Err(WRONG)) };
        Ok(match self.store.credentials().use_passkey(passkey.id, asserted.sign_count, &challenge).await? {
            PasskeyUse::Used => Ok(()),
            PasskeyUse::Spent | PasskeyUse::Gone => Err(WRONG),
            PasskeyUse::Copied => {
                let (user, before, after) = (passkey.user_id, passkey.sign_count, asserted.sign_count);
                warn!(%user, passkey = %passkey.id, before, after, "a passkey's counter went back: it was copied");
                Err(COPIED)
            }
        })
    }

    async fn credentials_of(&self, user: UserId) -> StoreResult<Vec<String>> {
        Ok(self.store.credentials().passkeys_of(user).await?.into_iter().map(|passkey| passkey.credential_id).collect())
    }

    /// A new challenge in base64url.
    async fn challenge(&self, purpose: Purpose, session: Option<&Session>) -> StoreResult<String> {
        let issued_at = self.store.now().await?.as_millisecond();
        let (id, session) = (Uuid::new_v4().simple(), session_text(session));
        let signed = self.passkey_challenges.sign(&format!("{} {session} {id} {issued_at}", purpose.as_str()));
        Ok(URL_SAFE_NO_PAD.encode(signed))
    }

    /// The challenge that was answered, if it was issued for this purpose and session and is still good.
    fn answered(
        &self,
        challenge: &str,
        purpose: Purpose,
        session: Option<&Session>,
        now: Timestamp,
    ) -> Option<AnsweredChallenge> {
        let signed = String::from_utf8(URL_SAFE_NO_PAD.decode(challenge).ok()?).ok()?;
        let payload = self.passkey_challenges.verify(&signed)?;
        let mut words = payload.split(' ');
        let (of, holder, id) = (words.next()?, words.next()?, words.next()?);
        let issued_at = Timestamp::from_millisecond(words.next()?.parse().ok()?).ok()?;
        let expires_at = issued_at.checked_add(CHALLENGE_LIFETIME).ok()?;
        let is_good = of == purpose.as_str() && holder == session_text(session) && now < expires_at;
        is_good.then(|| AnsweredChallenge { id: id.to_owned(), expires_at })
    }
}

fn session_text(session: Option<&Session>) -> String {
    session.map_or_else(|| "-".to_owned(), |session| session.id.to_string())
}
