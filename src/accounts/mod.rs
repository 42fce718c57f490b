//! Who a visitor is: accounts with a user name and a password, and sessions that are believed without asking anybody.
//!
//! - `password`: hashing, off the threads that answer requests, a few at a time.
//! - `throttle`: how often somebody may guess.
//! - `session`: the cookie.

mod password;
mod session;
mod throttle;

use std::net::IpAddr;
use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use uuid::Uuid;

use crate::clock::Clock;
use crate::domain::UserId;
use crate::seal::Sealer;
use crate::store::{Role, Store, StoreError, User};

use password::Passwords;
use session::Sessions;
pub use session::{Session, hint};
use throttle::Guesses;

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
}

impl Accounts {
    /// `sealer` signs the session cookies; `secure` says that shoppers come by https.
    pub fn new(store: Store, clock: Clock, sealer: Sealer, secure: bool) -> Accounts {
        Accounts {
            sessions: Sessions::new(sealer, clock.clone(), secure),
            guesses: Guesses::new(clock.clone()),
            passwords: Passwords::new(),
            store,
            clock,
        }
    }

    pub async fn register(&self, username: &str, password: SecretString) -> Result<Session, AccountRefusal> {
        if !is_username(username) {
            return Err(AccountRefusal::BadUsername);
        }
        if !is_password(&password) {
            return Err(AccountRefusal::WeakPassword);
        }
        if username.to_lowercase() == ADMIN || self.store.user_named(username).await?.is_some() {
            return Err(AccountRefusal::UsernameTaken);
        }
        let user = User {
            id: UserId(Uuid::now_v7()),
            username: username.to_owned(),
            password_hash: self.passwords.hash(password).await?,
            role: Role::User,
        };
        match self.store.add_user(&user, self.clock.now()).await? {
            true => Ok(Session::of(&user)),
            false => Err(AccountRefusal::UsernameTaken),
        }
    }

    /// Checks a password. `client` is the address that the guess comes from: whoever guesses wrong too often waits, but
    /// nobody can keep the owner of a name out from somewhere else.
    pub async fn log_in(
        &self,
        client: IpAddr,
        username: &str,
        password: SecretString,
    ) -> Result<Session, AccountRefusal> {
        if let Some(wait) = self.guesses.wait(client, username) {
            return Err(AccountRefusal::Throttled(wait));
        }
        let user = self.store.user_named(username).await?;
        let hash = user.as_ref().map(|user| user.password_hash.clone());
        let right = self.passwords.verify(password, hash).await?;
        match user {
            Some(user) if right => Ok(Session::of(&user)),
            _ => {
                self.guesses.was_wrong(client, username);
                Err(AccountRefusal::BadCredentials)
            }
        }
    }

    /// The session that a request's cookies prove. No I/O: this is asked for every purchase.
    pub fn session(&self, headers: &HeaderMap) -> Option<Session> {
        self.sessions.find(headers)
    }

    /// The `Set-Cookie` of a new session.
    pub fn cookie(&self, session: &Session) -> HeaderValue {
        self.sessions.cookie(session)
    }

    /// The `Set-Cookie` that ends a session in the browser.
    pub fn farewell(&self) -> HeaderValue {
        self.sessions.farewell()
    }

    /// What the database says that somebody of the staff is, if their password is still the one of this session.
    /// `None` for everybody else; shoppers cost no look into the database.
    pub async fn staff_role(&self, session: &Session) -> Result<Option<Role>, StoreError> {
        if !session.is_staff() {
            return Ok(None);
        }
        let user = self.store.user(session.user_id).await?;
        Ok(user.filter(|user| user.role.is_staff() && session.is_of(user)).map(|user| user.role))
    }

    /// Makes sure that there is an administrator. A given password is set, unless it is the present one already, so
    /// that a restart does not end the administrator's sessions. The answer is the generated password of a new
    /// administrator, to be shown once.
    pub async fn ensure_admin(&self, given: Option<SecretString>) -> Result<Option<String>, AccountRefusal> {
        match (self.store.user_named(ADMIN).await?, given) {
            (Some(_), None) => Ok(None),
            (Some(user), Some(given)) => {
                if !self.passwords.verify(given.clone(), Some(user.password_hash)).await? {
                    self.store.set_password(user.id, &self.passwords.hash(given).await?).await?;
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
        let admin = User {
            id: UserId(Uuid::now_v7()),
            username: ADMIN.to_owned(),
            password_hash: self.passwords.hash(password).await?,
            role: Role::Admin,
        };
        Ok(self.store.add_user(&admin, self.clock.now()).await?)
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
mod tests {
    use super::*;

    #[test]
    fn names_are_letters_of_any_script() {
        for good in ["mei", "小美的店", "a.b-c_9", "Ömer", &"x".repeat(32)] {
            assert!(is_username(good), "{good}");
        }
        for bad in ["", "ab", "小美", "a b", "a\tbc", "<b>", "abc\u{202e}", "a/b", "mei@x", "😀😀😀", &"x".repeat(33)]
        {
            assert!(!is_username(bad), "{bad}");
        }
    }

    #[test]
    fn passwords_count_characters() {
        let ok = |text: &str| is_password(&SecretString::from(text.to_owned()));
        assert!(ok("12345678") && ok("一二三四五六七八") && ok(&"x".repeat(256)));
        assert!(!ok("1234567") && !ok("一二三") && !ok(&"x".repeat(257)));
    }

    async fn accounts() -> (Accounts, tempfile::TempDir) {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&crate::config::sqlite_in(dir.path())).unwrap();
        store.migrate().await.unwrap();
        let sealer = Sealer::new(&SecretString::from("s".repeat(64)), "session");
        (Accounts::new(store, Clock::manual(jiff::Timestamp::UNIX_EPOCH), sealer, false), dir)
    }

    fn secret(text: &str) -> SecretString {
        SecretString::from(text.to_owned())
    }

    #[tokio::test]
    async fn who_registered_can_log_in_and_guessing_is_slowed() {
        let (accounts, _dir) = accounts().await;
        let (here, there) = (IpAddr::from([192, 0, 2, 1]), IpAddr::from([192, 0, 2, 2]));
        let registered = accounts.register("Mei", secret("correct horse")).await.unwrap();
        let again = accounts.register("mEI", secret("correct horse")).await;
        assert!(matches!(again, Err(AccountRefusal::UsernameTaken)));
        let taken = accounts.register("Admin", secret("correct horse")).await;
        assert!(matches!(taken, Err(AccountRefusal::UsernameTaken)));
        for name in ["mei", "nobody"] {
            let wrong = accounts.log_in(here, name, secret("wrong horse")).await;
            assert!(matches!(wrong, Err(AccountRefusal::BadCredentials)));
        }
        let mut throttled = false;
        for _ in 0..20 {
            throttled |=
                matches!(accounts.log_in(here, "mei", secret("guess")).await, Err(AccountRefusal::Throttled(_)));
        }
        assert!(throttled);
        let session = accounts.log_in(there, "mei", secret("correct horse")).await.unwrap();
        assert_eq!(session.user_id, registered.user_id);
    }

    #[tokio::test]
    async fn the_administrator_exists_once_and_a_new_password_ends_old_sessions() {
        let (accounts, _dir) = accounts().await;
        let here = IpAddr::from([192, 0, 2, 1]);
        let generated = accounts.ensure_admin(None).await.unwrap().expect("a new administrator's password");
        assert_eq!(accounts.ensure_admin(None).await.unwrap(), None);
        let old = accounts.log_in(here, ADMIN, secret(&generated)).await.unwrap();
        assert_eq!(accounts.staff_role(&old).await.unwrap(), Some(Role::Admin));
        accounts.ensure_admin(Some(secret(&generated))).await.unwrap();
        assert_eq!(
            accounts.staff_role(&old).await.unwrap(),
            Some(Role::Admin),
            "the same password again changes nothing"
        );
        accounts.ensure_admin(Some(secret("another password"))).await.unwrap();
        assert_eq!(accounts.staff_role(&old).await.unwrap(), None);
        let new = accounts.log_in(here, ADMIN, secret("another password")).await.unwrap();
        assert_eq!(accounts.staff_role(&new).await.unwrap(), Some(Role::Admin));
    }
}
