//! Accounts with a user name and a password, and sessions that are verified without I/O.
//!
//! - `names`: which names may be chosen.
//! - `registration`: a new account, how often a network may ask for one, and the proof of work of a network that
//!   registers many; a verified mail address can take its place.
//! - `link_digests`: digests of what accounts have in common; they show which accounts are linked.
//! - `password`: which passwords may be chosen, and hashing on threads of its own, a few at a time. `fair_queue`: whose
//!   turn it is.
//! - `keyed_limit`: counts per key, in one process and in all together. `throttle`: limits on wrong guesses.
//! - `session`: the session cookie, and cookies that were revoked before they expire; in memory, refreshed by every
//!   process. `device`: the address and browser of a session.
//! - `second_factor`: codes of an authenticator app.
//! - `passkeys`: keys on devices of users, in place of password and code.
//! - `self_service`: what users do with their own account.
//! - `mail_address`: where the account gets mail, the links in its messages, and how many messages it gets.
//! - `recovery`: a new password when the old one is lost.
//! - `refusal`: why one of these is refused, and what the security events and the audit log record of all this.
//! - `tokens`: tokens of programs; in memory, refreshed by every process.
//! - `external`: shoppers of another shop, and how it lets them in.
//! - `administration`: what staff do with the accounts of others, what the owners ask of all staff, sessions of staff that
//!   end when they are not used, and step-up, which asks for the password again before operations that spend money, or would
//!   do much harm in the wrong hands.

pub mod security_events;

mod fair_queue;
mod keyed_limit;
mod names;
mod password;
mod registration;
mod session;
mod throttle;

mod device;
mod link_digests;
mod passkeys;
mod second_factor;

pub mod administration;
mod external;
mod mail_address;
mod recovery;
mod refusal;
mod self_service;
mod tokens;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue};
use boxed::boxed;
use jiff::Timestamp;
use secrecy::SecretString;
use tokio_util::sync::CancellationToken;
use tracing::info;
use uuid::Uuid;

use crate::security_events::SecurityEvents;
use base::clock::Clock;
use base::locked;
use base::periodic::run_every;
use base::signing::{ShopSecret, Signer};
use domain::{Role, SaleId, SecurityClass, UserId, network};
use store::{NewSession, Store, StoreResult, User};
use webauthn::RelyingParty;

pub use administration::StaffDuty;
use device::KnownDevices;
pub use device::{Device, KnownDevice};
use external::Remembered;
pub use external::{Customers, EntryTarget, NamedShopper, is_external_id, may_be_named};
use fair_queue::Lane;
pub use link_digests::LinkDigests;
pub use mail_address::{ContactLink, MailLink, MailLinks};
pub use passkeys::{
    AccountPasskeys, CHALLENGE_LIFETIME, CreatedPasskey, PasskeyCreation, PasskeyRequest, SignedChallenge,
};
use password::{HashRequest, Passwords};
pub use password::{is_acceptable_for_admin, min_password_chars};
pub use refusal::AccountRefusal;
use registration::{DEFAULT_FREE_REGISTRATIONS, RegistrationLimit};
pub use registration::{DueProof, Proof as RegistrationProof};
pub use second_factor::Enrolment;
use second_factor::SecondFactors;
pub use self_service::{DeletionRefusal, DeletionRequest};
use session::{Revocations, SESSION_LIFETIME, Sessions};
pub use session::{Session, hint_cookie};
use throttle::GuessLimits;
use tokens::Tokens;
pub use tokens::{Program, RateState, TokenDraft, TokenRefusal};

/// How often a process reads the revocations of other processes. A revoked session stays valid elsewhere for this long.
const REVOCATION_POLL_INTERVAL: Duration = Duration::from_secs(1);
/// How often a process writes when sessions were last used.
const USE_WRITE_INTERVAL: Duration = Duration::from_secs(30);
/// How often expired sessions and revocations are deleted.
const PURGE_INTERVAL: Duration = Duration::from_secs(3600);
/// How long staff may leave a session unused, unless a setting says otherwise.
const DEFAULT_STAFF_IDLE: Duration = Duration::from_secs(30 * 60);
/// How long staff are not asked for their password again, unless a setting says otherwise.
const DEFAULT_STAFF_STEP_UP: Duration = Duration::from_secs(15 * 60);
/// How long staff can sign in with a password that an owner has set for them: 72 hours.
const TEMPORARY_PASSWORD_LIFETIME: Duration = Duration::from_secs(72 * 3600);
/// Sessions whose last use waits to be written. Bounds memory; uses beyond it are dropped.
const MAX_PENDING_USES: usize = 10_000;

/// The name of the built-in administrator. It cannot be registered.
pub const ADMIN: &str = "admin";

/// What the shop's owner configures about accounts.
pub struct AccountRules {
    /// Accounts that a host registers within an hour without a proof of work.
    pub free_registrations: u32,
    /// A staff session ends after it was unused for this long.
    pub staff_idle: Duration,
    /// Staff are asked for their password again this long after they entered it.
    pub staff_step_up: Duration,
    /// The site that passkeys belong to; `None` if the shop takes no passkeys.
    pub site: Option<RelyingParty>,
}

impl Default for AccountRules {
    fn default() -> AccountRules {
        AccountRules {
            free_registrations: DEFAULT_FREE_REGISTRATIONS,
            staff_idle: DEFAULT_STAFF_IDLE,
            staff_step_up: DEFAULT_STAFF_STEP_UP,
            site: None,
        }
    }
}

/// Accounts and sessions.
pub struct Accounts {
    store: Store,
    clock: Clock,
    rules: AccountRules,
    passwords: Passwords,
    guesses: GuessLimits,
    registrations: RegistrationLimit,
    /// The shop's secret. From it come the keys of the guess and registration counts in the database, and the temporary
    /// passwords, so that a retried request gets the same one.
    secret: SecretString,
    /// Signs the challenges of registrations.
    challenges: Signer,
    sessions: Sessions,
    known_devices: KnownDevices,
    revocations: Revocations,
    tokens: Tokens,
    /// Signs entry tokens.
    entries: Signer,
    remembered: Remembered,
    factors: SecondFactors,
    /// Signs the challenges of passkeys.
    passkey_challenges: Signer,
    links: MailLinks,
    link_digests: LinkDigests,
    /// Last uses of sessions that are not written to the database yet.
    seen: Mutex<HashMap<Uuid, Timestamp>>,
    /// Whether only staff with a second factor may use the console, as last read.
    second_factor_required: AtomicBool,
    events: SecurityEvents,
}

#[boxed]
impl Accounts {
    /// `secret` is the shop's secret. `secure` restricts cookies to https.
    pub fn new(store: Store, clock: Clock, secret: &ShopSecret, secure: bool) -> Accounts {
        Accounts {
            sessions: Sessions::new(Signer::new(secret, "session"), clock.clone(), secure),
            known_devices: KnownDevices::new(Signer::new(secret, "device"), clock.clone(), secure),
            guesses: GuessLimits::new(clock.clone()),
            registrations: RegistrationLimit::new(clock.clone()),
            secret: secret.current.clone(),
            challenges: Signer::new(secret, "registration"),
            passwords: Passwords::new(),
            revocations: Revocations::new(),
            tokens: Tokens::default(),
            entries: Signer::new(secret, "entry"),
            remembered: Remembered::default(),
            factors: SecondFactors::new(secret),
            passkey_challenges: Signer::new(secret, "passkey"),
            links: MailLinks::new(secret),
            link_digests: LinkDigests::new(secret),
            seen: Mutex::default(),
            rules: AccountRules::default(),
            second_factor_required: AtomicBool::new(false),
            events: SecurityEvents::new(clock.clone(), Default::default()),
            store,
            clock,
        }
    }

    /// Sets what the shop's owner configures, and the collector of security events. Without one events are dropped.
    pub fn with(self, rules: AccountRules, events: SecurityEvents) -> Accounts {
        Accounts { rules, events, ..self }
    }

    /// Finds the account of a log-in by the name as typed, or in the form in which new names are stored.
    async fn user_named(&self, username: &str) -> StoreResult<Option<User>> {
        match (self.store.accounts().user_named(username).await?, names::normalized(username)) {
            (None, Cow::Owned(normalized)) => self.store.accounts().user_named(&normalized).await,
            (user, _) => Ok(user),
        }
    }

    /// Checks a password, and a code if the account has a second factor. Wrong guesses are limited (`throttle`). While a
    /// name has too many, a password is judged only beside a right code.
    pub async fn log_in(
        &self,
        device: &Device,
        username: &str,
        password: SecretString,
        code: Option<&str>,
    ) -> Result<Session, AccountRefusal> {
        let guess = match self.reserve_guess(device, username).await {
            Err(AccountRefusal::NameThrottled(wait)) => {
                let judged = self.log_in_with_both(device, username, password, code).await;
                return judged?.ok_or(AccountRefusal::NameThrottled(wait));
            }
            guess => guess?,
        };
        let user = self.user_named(username).await?;
        let hash = user.as_ref().map(|user| user.password_hash.clone());
        let is_short = password::is_short_for_staff(&password);
        let judged = self.passwords.verify(password, hash, HashRequest::new(Lane::LogIn, device.address)).await;
        self.end_guess(guess, matches!(judged, Ok(false))).await;
        let right = judged?;
        let Some(user) = user else {
            self.note_unknown_account(device);
            return Err(AccountRefusal::BadCredentials);
        };
        if !right {
            self.note_failure(&user, device, "password");
            return Err(AccountRefusal::BadCredentials);
        }
        self.require_staff_password(&user, is_short).await?;
        if user.second_factor.is_some() && !user.is_blocked() && code.is_none() {
            return Err(AccountRefusal::CodeNeeded(self.password_proof(&user)));
        }
        self.admit(&user, device, code.unwrap_or_default()).await
    }

    /// A log-in at a name that has too many wrong guesses. `None` says nothing about the password: without a right code it
    /// is not looked at, and with one it makes no difference what is wrong.
    async fn log_in_with_both(
        &self,
        device: &Device,
        username: &str,
        password: SecretString,
        code: Option<&str>,
    ) -> Result<Option<Session>, AccountRefusal> {
        let Some(code) = code else { return Ok(None) };
        let guess = self.reserve_client_guess(device, username).await?;
        let user = self.user_named(username).await?.filter(|user| self.is_code_of(user, code));
        let Some(user) = user else {
            self.end_guess(guess, true).await;
            return Ok(None);
        };
        let request = HashRequest::new(Lane::LogIn, device.address);
        let is_short = password::is_short_for_staff(&password);
        let judged = self.passwords.verify(password, Some(user.password_hash.clone()), request).await;
        self.end_guess(guess, matches!(judged, Ok(false))).await;
        if !judged? {
            self.note_failure(&user, device, "password");
            return Ok(None);
        }
        self.require_staff_password(&user, is_short).await?;
        self.admit(&user, device, code).await.map(Some)
    }

    /// Members of the staff whose password is too short for them, such as the one they had as shoppers, choose another one
    /// before anything else. Only a log-in with the password knows its length.
    async fn require_staff_password(&self, user: &User, is_short: bool) -> StoreResult<()> {
        match is_short && user.role.is_staff() && !user.must_change_password {
            true => self.store.accounts().require_new_password(user.id).await,
            false => Ok(()),
        }
    }

    /// The second step of a log-in: the code, with the signed proof that the password was right.
    pub async fn log_in_with_code(&self, device: &Device, proof: &str, code: &str) -> Result<Session, AccountRefusal> {
        let user = self.user_of_proof(proof).await?;
        self.admit(&user, device, code).await
    }

    /// Completes a log-in whose password is verified.
    async fn admit(&self, user: &User, device: &Device, code: &str) -> Result<Session, AccountRefusal> {
        if user.is_blocked() {
            self.note_failure(user, device, "blocked");
            return Err(AccountRefusal::Blocked);
        }
        if let Some(expires_at) = user.password_expires_at
            && expires_at <= self.store.now().await?
        {
            self.note_failure(user, device, "expired");
            return Err(AccountRefusal::PasswordExpired);
        }
        if self.needs_passkey(user) {
            self.note_failure(user, device, "passkey_needed");
            return Err(AccountRefusal::PasskeyNeeded);
        }
        if let Err(refusal) = self.check_code(user, code).await {
            if matches!(refusal, AccountRefusal::BadCode) {
                self.note_failure(user, device, "code");
            }
            return Err(refusal);
        }
        self.begin(user, device, "").await
    }

    /// Opens a session. `how` is the detail of the security event.
    async fn begin(&self, user: &User, device: &Device, how: &'static str) -> Result<Session, AccountRefusal> {
        let session = Session::of(user, self.issue_time(user.id));
        match self.store.sessions().open_session(user, &session_row(&session, device)).await? {
            true => {
                self.note(SecurityClass::LogIn, user, device, how);
                Ok(session)
            }
            // The account has changed since its password was checked.
            false => Err(AccountRefusal::BadCredentials),
        }
    }

    /// Adds the test accounts of a rehearsal and opens a session for each, like a log-in without a password. Returns
    /// the `Cookie` headers in the same order.
    pub async fn open_test_accounts(&self, sale: SaleId, users: &[User], device: &Device) -> StoreResult<Vec<String>> {
        let sessions: Vec<Session> = users.iter().map(|user| Session::of(user, self.clock.now())).collect();
        let records: Vec<NewSession> = sessions.iter().map(|session| session_row(session, device)).collect();
        self.store.sales().add_test_accounts(sale, users, &records).await?;
        let pairs = sessions.iter().map(|session| {
            let cookie = self.cookie(session);
            cookie.to_str().unwrap_or_default().split(';').next().unwrap_or_default().to_owned()
        });
        Ok(pairs.collect())
    }

    /// The current time, or the first valid one after a revocation by a process whose clock is ahead.
    fn issue_time(&self, user: UserId) -> Timestamp {
        let revoked_until = self.revocations.revoked_until(user.0);
        revoked_until.map_or(self.clock.now(), |until| self.clock.now().max(store::first_valid_issue(until)))
    }

    /// The valid session of a request's cookies. No I/O: this runs for every purchase.
    pub fn session(&self, headers: &HeaderMap) -> Option<Session> {
        self.sessions.find(headers).filter(|session| !self.revocations.has_ended(session))
    }

    /// Records that a session is in use. Not called on the buying path.
    pub fn seen(&self, session: &Session) {
        // Do not wait for the lock: if it is held, this use is dropped, and a later one is recorded.
        if let Ok(mut seen) = self.seen.try_lock()
            && seen.len() < MAX_PENDING_USES
        {
            seen.insert(session.id, self.clock.now());
        }
    }

    /// Reads the revocations of other processes, the tokens of programs, and the owners' policy for staff.
    pub async fn refresh(&self) -> StoreResult<()> {
        self.revocations.refresh(&self.store).await?;
        self.tokens.refresh(&self.store).await?;
        let policy = self.store.accounts().staff_policy().await?;
        self.second_factor_required.store(policy.second_factor_required, Ordering::Relaxed);
        Ok(())
    }

    /// Polls revocations and does housekeeping until `stop` is cancelled. While the database is unavailable, the last
    /// known revocations stay in use.
    pub async fn follow(&self, stop: CancellationToken) {
        // Separate loops: a write that waits for a lock must not delay reading the revocations.
        tokio::join!(
            run_every(REVOCATION_POLL_INTERVAL, &stop, "revocations", || self.refresh()),
            run_every(USE_WRITE_INTERVAL, &stop, "last uses of sessions", || self.write_last_uses()),
            run_every(PURGE_INTERVAL, &stop, "purge of sessions", || self.purge()),
        );
        let _ = self.write_last_uses().await;
    }

    async fn purge(&self) -> StoreResult<()> {
        self.store.sessions().purge_sessions(self.store.now().await?, SESSION_LIFETIME).await?;
        self.store.credentials().purge_guesses().await?;
        self.store.accounts().purge_spent_proofs().await?;
        self.store.accounts().purge_contacts().await?;
        self.revocations.remove_expired(self.clock.now());
        Ok(())
    }

    async fn write_last_uses(&self) -> StoreResult<()> {
        self.write_token_uses().await?;
        let seen: Vec<(Uuid, Timestamp)> = locked(&self.seen).drain().collect();
        if seen.is_empty() {
            return Ok(());
        }
        let ahead = self.clock.now().duration_since(self.store.now().await?);
        let seen: Vec<(Uuid, Timestamp)> =
            seen.into_iter().map(|(id, at)| (id, at.checked_sub(ahead).unwrap_or(at))).collect();
        self.store.sessions().sessions_seen(&seen).await
    }

    /// The `Set-Cookie` of a new session.
    pub fn cookie(&self, session: &Session) -> HeaderValue {
        self.sessions.cookie(session)
    }

    /// The `Set-Cookie` that ends a session in the browser.
    pub fn removal_cookie(&self) -> HeaderValue {
        self.sessions.removal_cookie()
    }

    /// Creates the administrator of a new shop, which has no staff yet. Otherwise it changes nothing: a password that staff
    /// changed since must not come back. Returns the generated password of a new administrator, to be shown once.
    pub async fn ensure_admin(&self, given: Option<SecretString>) -> Result<Option<String>, AccountRefusal> {
        if !self.store.accounts().staff().await?.is_empty() {
            if given.is_some() {
                info!(
                    "SECKILL_ADMIN_PASSWORD has no effect, because the shop has staff; see: seckill reset-password NAME"
                );
            }
            return Ok(None);
        }
        if let Some(given) = given {
            self.add_admin(given).await?;
            return Ok(None);
        }
        let generated = password::generate();
        let added = self.add_admin(SecretString::from(generated.clone())).await?;
        Ok(added.then_some(generated))
    }

    /// Returns whether this process added the administrator: several processes may start at once.
    async fn add_admin(&self, password: SecretString) -> Result<bool, AccountRefusal> {
        let hash = self.passwords.hash(password, HashRequest::internal()).await?;
        let admin = User::new(UserId(Uuid::now_v7()), ADMIN, hash, Role::Admin, self.clock.now());
        Ok(self.store.accounts().add_user(&admin).await?)
    }
}

fn session_row(session: &Session, device: &Device) -> NewSession {
    NewSession {
        id: session.id,
        issued_at: session.issued_at,
        expires_at: session.expires_at(),
        address: device.address.to_string(),
        agent: device.agent.clone(),
        is_proved: true,
    }
}

#[cfg(test)]
mod tests;
