//! Who a visitor is: accounts with a user name and a password, and sessions that are believed without asking anybody.
//!
//! - `password`: hashing, off the threads that answer requests, a few at a time.
//! - `throttle`: how often somebody may guess.
//! - `session`: the cookie.
//! - `revocations`: which cookies are dead before their time; in memory, followed by every process.
//! - `second_factor`: codes of an authenticator.
//! - `own`: what people do with their own account. `people`: what staff do with those of others.

mod password;
mod revocations;
mod session;
mod throttle;

mod device;
mod second_factor;

mod own;
mod people;

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue};
use jiff::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};
use uuid::Uuid;

use crate::clock::Clock;
use crate::domain::{SaleId, UserId};
use crate::signing::Signer;
use crate::store::{NewSession, Role, Store, StoreError, User};

pub use device::Device;
use password::Passwords;
use revocations::Revocations;
pub use second_factor::Enrolment;
use second_factor::SecondFactors;
use session::Sessions;
pub use session::{LASTS, Session, hint};
use throttle::Guesses;

/// How often a process asks which sessions were ended elsewhere.
const FOLLOW_EVERY: Duration = Duration::from_secs(1);
/// Rounds between writing down who was seen, and between clearing away what has expired.
const ROUNDS_PER_NOTE: u64 = 30;
const ROUNDS_PER_PURGE: u64 = 3600;
/// Sessions whose last sight waits to be written down, at most.
const MOST_SEEN: usize = 10_000;

/// The name of the shop's own administrator. Nobody can register it.
pub const ADMIN: &str = "admin";

const USERNAME_CHARS: std::ops::RangeInclusive<usize> = 3..=32;
const PASSWORD_CHARS: std::ops::RangeInclusive<usize> = 8..=256;

/// Why somebody is not signed in or registered.
#[derive(Debug, thiserror::Error)]
pub enum AccountRefusal {
    /// An unknown name and a wrong password look the same, also to a stopwatch.
    #[error("user name or password wrong")]
    BadCredentials,
    #[error("user name taken")]
    UsernameTaken,
    #[error("user name not possible")]
    BadUsername,
    #[error("password too short or too long")]
    WeakPassword,
    /// Too many wrong guesses; the next one is looked at after this time.
    #[error("too many wrong guesses")]
    Throttled(Duration),
    /// The shop has closed the account.
    #[error("the account is blocked")]
    Blocked,
    /// The password was right, and a code is needed as well. Carries what stands for the password meanwhile.
    #[error("a code is needed")]
    CodeNeeded(String),
    #[error("wrong or used code")]
    BadCode,
    /// The present password, asked for once more, was wrong.
    #[error("wrong password")]
    WrongPassword,
    /// Too many people are signing in at this moment.
    #[error("too many people are signing in")]
    Overloaded,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Accounts and sessions.
pub struct Accounts {
    store: Store,
    clock: Clock,
    passwords: Passwords,
    guesses: Guesses,
    sessions: Sessions,
    revocations: Revocations,
    factors: SecondFactors,
    /// When sessions were last seen, until it is written down.
    seen: Mutex<HashMap<Uuid, Timestamp>>,
}

impl Accounts {
    /// `secret` is the shop's; `secure` says that shoppers come by https.
    pub fn new(store: Store, clock: Clock, secret: &SecretString, secure: bool) -> Accounts {
        Accounts {
            sessions: Sessions::new(Signer::new(secret, "session"), clock.clone(), secure),
            guesses: Guesses::new(clock.clone()),
            passwords: Passwords::new(),
            revocations: Revocations::new(),
            factors: SecondFactors::new(secret),
            seen: Mutex::default(),
            store,
            clock,
        }
    }

    pub async fn register(
        &self,
        device: &Device,
        username: &str,
        password: SecretString,
    ) -> Result<Session, AccountRefusal> {
        if !is_username(username) {
            return Err(AccountRefusal::BadUsername);
        }
        if !is_password(&password) {
            return Err(AccountRefusal::WeakPassword);
        }
        if username.to_lowercase() == ADMIN || self.store.user_named(username).await?.is_some() {
            return Err(AccountRefusal::UsernameTaken);
        }
        let hash = self.passwords.hash(password).await?;
        let user = User::new(UserId(Uuid::now_v7()), username, hash, Role::User, self.clock.now());
        match self.store.add_user(&user).await? {
            true => self.begin(&user, device).await,
            false => Err(AccountRefusal::UsernameTaken),
        }
    }

    /// Checks a password, and a code where the account wants one. Whoever guesses wrong too often from one address
    /// waits, but nobody can keep the owner of a name out from somewhere else.
    pub async fn log_in(
        &self,
        device: &Device,
        username: &str,
        password: SecretString,
        code: Option<&str>,
    ) -> Result<Session, AccountRefusal> {
        if let Some(wait) = self.guesses.wait(device.address, username) {
            return Err(AccountRefusal::Throttled(wait));
        }
        let user = self.store.user_named(username).await?;
        let hash = user.as_ref().map(|user| user.password_hash.clone());
        let right = self.passwords.verify(password, hash).await?;
        let Some(user) = user else {
            self.guesses.was_wrong(device.address, username);
            return Err(AccountRefusal::BadCredentials);
        };
        if !right {
            self.guesses.was_wrong(device.address, username);
            self.note_failure(&user, device, "password");
            return Err(AccountRefusal::BadCredentials);
        }
        if user.second_factor.is_some() && !user.is_blocked() && code.is_none() {
            return Err(AccountRefusal::CodeNeeded(self.half_of(&user)));
        }
        self.admit(&user, device, code.unwrap_or_default()).await
    }

    /// The second step of a log-in: the code, with what stands for the password.
    pub async fn log_in_with_code(&self, device: &Device, half: &str, code: &str) -> Result<Session, AccountRefusal> {
        let user = self.user_of_half(half).await?;
        self.admit(&user, device, code).await
    }

    /// Whoever has the right password.
    async fn admit(&self, user: &User, device: &Device, code: &str) -> Result<Session, AccountRefusal> {
        if user.is_blocked() {
            self.note_failure(user, device, "blocked");
            return Err(AccountRefusal::Blocked);
        }
        if let Err(refusal) = self.check_code(user, code).await {
            if matches!(refusal, AccountRefusal::BadCode) {
                self.note_failure(user, device, "code");
            }
            return Err(refusal);
        }
        self.begin(user, device).await
    }

    async fn begin(&self, user: &User, device: &Device) -> Result<Session, AccountRefusal> {
        let session = Session::of(user, self.issue_time(user.id));
        match self.store.open_session(user, &record(&session, device)).await? {
            true => Ok(session),
            // The account was changed since its password was checked.
            false => Err(AccountRefusal::BadCredentials),
        }
    }

    /// Opens accounts for the simulated shoppers of a rehearsal, with a session each that is made as a log-in makes it,
    /// only that nobody checks a password: they have none. The answer are the `Cookie` headers, in the same order.
    pub async fn enrol_extras(&self, sale: SaleId, users: &[User], device: &Device) -> Result<Vec<String>, StoreError> {
        let sessions: Vec<Session> = users.iter().map(|user| Session::of(user, self.clock.now())).collect();
        let records: Vec<NewSession> = sessions.iter().map(|session| record(session, device)).collect();
        self.store.add_extras(sale, users, &records).await?;
        let pair = |session: &Session| {
            let cookie = self.cookie(session);
            let text = cookie.to_str().unwrap_or_default();
            text.split(';').next().unwrap_or_default().to_owned()
        };
        Ok(sessions.iter().map(pair).collect())
    }

    /// Now, or just after the user's sessions were ended by a process whose clock is ahead.
    fn issue_time(&self, user: UserId) -> Timestamp {
        let dead_until = self.revocations.dead_until(user.0);
        dead_until.map_or(self.clock.now(), |until| self.clock.now().max(crate::store::after(until)))
    }

    /// Failed log-ins of staff are written down. Beside the answer, or its time would tell who is staff.
    fn note_failure(&self, user: &User, device: &Device, why: &'static str) {
        if !user.role.is_staff() {
            return;
        }
        let about = json!({"address": device.address, "agent": device.agent, "wrong": why});
        let (store, now, user) = (self.store.clone(), self.clock.now(), user.clone());
        tokio::spawn(async move {
            let noted = store.note(&user.username, "log-in-failed", &format!("user {}", user.id), &about, now).await;
            if let Err(error) = noted {
                warn!(%error, user = %user.id, "a failed log-in of staff was not written down");
            }
        });
    }

    /// The session that a request's cookies prove, unless it was ended. No I/O: this is asked for every purchase.
    pub fn session(&self, headers: &HeaderMap) -> Option<Session> {
        self.sessions.find(headers).filter(|session| !self.revocations.has_ended(session))
    }

    /// Remembers that a session is in use. Not asked where the crowd is.
    pub fn seen(&self, session: &Session) {
        // Whoever comes while somebody else is here is seen the next time.
        if let Ok(mut seen) = self.seen.try_lock()
            && seen.len() < MOST_SEEN
        {
            seen.insert(session.id, self.clock.now());
        }
    }

    /// Reads what was ended elsewhere.
    pub async fn refresh(&self) -> Result<(), StoreError> {
        self.revocations.refresh(&self.store).await
    }

    /// ReplayGrants up with sessions ended elsewhere, and tidies up. While the database is away, the last known state stays.
    pub async fn follow(&self, stop: CancellationToken) {
        let mut ticks = tokio::time::interval(FOLLOW_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut away = false;
        for round in 0_u64.. {
            tokio::select! {
                () = stop.cancelled() => break,
                _ = ticks.tick() => {}
            }
            match self.round(round).await {
                Ok(()) if away => info!("ended sessions are known again"),
                Err(error) if !away => warn!(%error, "it is not known which sessions were ended elsewhere"),
                outcome => away = outcome.is_err(),
            }
        }
        let _ = self.note_seen().await;
    }

    async fn round(&self, round: u64) -> Result<(), StoreError> {
        self.refresh().await?;
        if round % ROUNDS_PER_NOTE == ROUNDS_PER_NOTE - 1 {
            self.note_seen().await?;
        }
        if round.is_multiple_of(ROUNDS_PER_PURGE) {
            self.store.purge_sessions(self.clock.now(), LASTS).await?;
            self.revocations.forget(self.clock.now());
        }
        Ok(())
    }

    async fn note_seen(&self) -> Result<(), StoreError> {
        let seen: Vec<(Uuid, Timestamp)> =
            self.seen.lock().unwrap_or_else(std::sync::PoisonError::into_inner).drain().collect();
        if seen.is_empty() { Ok(()) } else { self.store.sessions_seen(&seen).await }
    }

    /// The `Set-Cookie` of a new session.
    pub fn cookie(&self, session: &Session) -> HeaderValue {
        self.sessions.cookie(session)
    }

    /// The `Set-Cookie` that ends a session in the browser.
    pub fn farewell(&self) -> HeaderValue {
        self.sessions.farewell()
    }

    /// Whoever of the staff has this session, as the database knows them now. `None` for everybody else; shoppers cost
    /// no look into the database.
    pub async fn staff(&self, session: &Session) -> Result<Option<User>, StoreError> {
        if !session.is_staff() {
            return Ok(None);
        }
        let user = self.store.user(session.user_id).await?;
        Ok(user.filter(|user| user.role.is_staff() && !user.is_blocked() && session.is_of(user)))
    }

    /// Makes sure that there is an administrator. A given password is set, unless it is the present one already, so
    /// that a restart does not end the administrator's sessions. The answer is the generated password of a new
    /// administrator, to be shown once.
    pub async fn ensure_admin(&self, given: Option<SecretString>) -> Result<Option<String>, AccountRefusal> {
        match (self.store.user_named(ADMIN).await?, given) {
            (Some(_), None) => Ok(None),
            (Some(user), Some(given)) => {
                if !self.passwords.verify(given.clone(), Some(user.password_hash)).await? {
                    let hash = self.passwords.hash(given).await?;
                    let (ended, _) = self.store.set_password(user.id, &hash, None, self.clock.now()).await?;
                    self.revocations.learn(&[ended]);
                }
                Ok(None)
            }
            (None, Some(given)) => self.add_admin(given).await.map(|_| None),
            (None, None) => {
                let generated = password::generate();
                let added = self.add_admin(SecretString::from(generated.clone())).await?;
                Ok(added.then_some(generated))
            }
        }
    }

    /// Whether it was us: several processes may start at once.
    async fn add_admin(&self, password: SecretString) -> Result<bool, AccountRefusal> {
        let hash = self.passwords.hash(password).await?;
        let admin = User::new(UserId(Uuid::now_v7()), ADMIN, hash, Role::Admin, self.clock.now());
        Ok(self.store.add_user(&admin).await?)
    }
}

fn record(session: &Session, device: &Device) -> NewSession {
    NewSession {
        id: session.id,
        issued_at: session.issued_at,
        expires_at: session.expires_at(),
        address: device.address.to_string(),
        agent: device.agent.clone(),
    }
}

/// 3 to 32 letters or digits of any script, or `_-.`, so that a name can stand in a line of text.
fn is_username(text: &str) -> bool {
    let possible = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    USERNAME_CHARS.contains(&text.chars().count()) && text.chars().all(possible)
}

fn is_password(password: &SecretString) -> bool {
    PASSWORD_CHARS.contains(&password.expose_secret().chars().count())
}

#[cfg(test)]
mod tests;
