//! Sessions: a signed cookie that identifies the user and is verified without the database. [`Revocations`] are the
//! sessions that were ended before their cookies expire.
//!
//! The database numbers revocations in the order in which they become visible, so a process that polls for newer
//! numbers misses none. A process applies its own revocations at once. While the database is unavailable, the last
//! known state stays in use.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use arc_swap::ArcSwap;
use axum::http::header::{COOKIE, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue};
use boxed::boxed;
use jiff::{SignedDuration, Timestamp};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use base::clock::Clock;
use base::signing::Signer;
use domain::{ApiToken, Role, UserId, hex};
use store::{Revocation, Store, StoreResult, User};

/// How long a cookie is valid after it was issued: 14 days.
pub(super) const SESSION_LIFETIME: SignedDuration = SignedDuration::from_hours(14 * 24);
/// The same for staff, so that a forgotten session does not outlast the day.
const STAFF_SESSION_LIFETIME: SignedDuration = SignedDuration::from_hours(12);

/// The first word of a cookie's payload, its format. Cookies of older formats, without session ids, are not valid.
const FORMAT: &str = "2";

/// The session of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    pub id: Uuid,
    pub issued_at: Timestamp,
    pub user_id: UserId,
    pub username: String,
    pub role: Role,
    /// Changes with the password, so that a comparison with the database detects an older session.
    stamp: String,
}

impl Session {
    /// A new session. The holder of its cookie is signed in.
    pub fn of(user: &User, issued_at: Timestamp) -> Session {
        let (id, username, stamp) = (Uuid::now_v7(), user.username.clone(), password_stamp(user));
        Session { id, issued_at, user_id: user.id, username, role: user.role, stamp }
    }

    /// What stands for the session of a program: no cookie, and no proof of a password.
    pub(super) fn of_token(token: &ApiToken, role: Role) -> Session {
        let (id, issued_at, user_id) = (token.id, token.created_at, token.created_by);
        Session { id, issued_at, user_id, username: token.actor(), role, stamp: String::new() }
    }

    pub fn expires_at(&self) -> Timestamp {
        self.issued_at.saturating_add(self.lifetime()).unwrap_or(Timestamp::MAX)
    }

    fn lifetime(&self) -> SignedDuration {
        if self.is_staff() { STAFF_SESSION_LIFETIME } else { SESSION_LIFETIME }
    }

    /// Whether the session was opened with the user's current password.
    pub fn is_of(&self, user: &User) -> bool {
        self.user_id == user.id && self.stamp == password_stamp(user)
    }

    pub fn is_staff(&self) -> bool {
        self.role.is_staff()
    }
}

/// A short digest of the password hash.
pub(super) fn password_stamp(user: &User) -> String {
    hex::encode(&Sha256::digest(&user.password_hash)[..4])
}

/// Names of the session cookie over http and over https, with `=`.
const COOKIE_NAMES: [&str; 2] = ["seckill=", "__Host-seckill="];

/// A cookie that scripts cannot read.
pub(super) struct Cookie {
    /// The name with `=`. The prefix `__Host-` makes browsers require https and reject cookies of other hosts of the
    /// domain.
    name: &'static str,
    attributes: &'static str,
}

impl Cookie {
    /// A cookie for https. The name must begin with `__Host-`.
    pub(super) fn secure(name: &'static str) -> Cookie {
        Cookie { name, attributes: "; Path=/; HttpOnly; SameSite=Lax; Secure" }
    }

    pub(super) fn plain(name: &'static str) -> Cookie {
        Cookie { name, attributes: "; Path=/; HttpOnly; SameSite=Lax" }
    }

    /// The cookie's values in a request: browsers may send more than one.
    pub(super) fn values<'a>(&self, headers: &'a HeaderMap) -> impl Iterator<Item = &'a str> {
        let name = self.name;
        let lines = headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
        lines.flat_map(|line| line.split(';')).filter_map(move |cookie| cookie.trim_start().strip_prefix(name))
    }

    /// The `Set-Cookie` for a signed text.
    pub(super) fn header(&self, value: &str, seconds: i64) -> HeaderValue {
        let text = format!("{}{value}{}; Max-Age={seconds}", self.name, self.attributes);
        let mut header = HeaderValue::try_from(text).expect("signed texts are valid in headers");
        header.set_sensitive(true);
        header
    }
}

/// Issues and reads session cookies.
pub struct Sessions {
    signer: Signer,
    clock: Clock,
    cookie: Cookie,
}

impl Sessions {
    pub fn new(signer: Signer, clock: Clock, secure: bool) -> Sessions {
        let cookie = if secure { Cookie::secure(COOKIE_NAMES[1]) } else { Cookie::plain(COOKIE_NAMES[0]) };
        Sessions { signer, clock, cookie }
    }

    pub fn find(&self, headers: &HeaderMap) -> Option<Session> {
        self.cookie.values(headers).find_map(|value| self.verify(value))
    }

    /// The session that a `Set-Cookie` begins.
    pub(super) fn of_set_cookie(&self, cookie: &str) -> Option<Session> {
        self.verify(cookie.strip_prefix(self.cookie.name)?.split(';').next()?)
    }

    pub fn cookie(&self, session: &Session) -> HeaderValue {
        let Session { id, issued_at, user_id, username, role, stamp } = session;
        let lifetime = session.lifetime();
        let issued = issued_at.as_millisecond();
        let payload = format!("{FORMAT} {id} {issued} {user_id} {} {stamp} {username}", role.as_str());
        let signed = self.signer.sign(&payload);
        self.cookie.header(&signed, lifetime.as_secs())
    }

    pub fn removal_cookie(&self) -> HeaderValue {
        self.cookie.header("", 0)
    }

    fn verify(&self, signed: &str) -> Option<Session> {
        let payload = self.signer.verify(signed)?;
        let mut parts = payload.strip_prefix(FORMAT)?.strip_prefix(' ')?.splitn(6, ' ');
        let session = Session {
            id: Uuid::try_parse(parts.next()?).ok()?,
            issued_at: Timestamp::from_millisecond(parts.next()?.parse().ok()?).ok()?,
            user_id: parts.next()?.parse().ok()?,
            role: parts.next()?.parse().ok()?,
            stamp: parts.next()?.to_owned(),
            username: parts.next()?.to_owned(),
        };
        (self.clock.now() < session.expires_at()).then_some(session)
    }
}

/// A second cookie that scripts may read. It shows that there is a session, not whose: the shared static pages request
/// the user's data only if there is one.
const HINT_COOKIE: &str = "seckill_hint";

/// The hint cookie for a response that sets or removes the session cookie. It expires together with that one.
pub fn hint_cookie(answer: &HeaderMap) -> Option<HeaderValue> {
    let mut cookies = answer.get_all(SET_COOKIE).iter().filter_map(|cookie| cookie.to_str().ok());
    let session = cookies.find(|cookie| COOKIE_NAMES.iter().any(|name| cookie.starts_with(name)))?;
    let seconds: i64 = session.rsplit_once("Max-Age=")?.1.parse().ok()?;
    let secure = if session.contains("; Secure") { "; Secure" } else { "" };
    let value = i64::from(seconds > 0);
    HeaderValue::try_from(format!("{HINT_COOKIE}={value}; Path=/; SameSite=Lax{secure}; Max-Age={seconds}")).ok()
}

/// A change copies one shard, which keeps additions cheap when there are many revocations.
const SHARDS: usize = 64;
/// Revocations per query.
const PAGE: i64 = 5_000;

type Shard = HashMap<Uuid, Timestamp>;

pub struct Revocations {
    shards: [ArcSwap<Shard>; SHARDS],
    /// The highest number that was read from the database.
    read_up_to: AtomicI64,
}

#[boxed]
impl Revocations {
    pub fn new() -> Revocations {
        Revocations { shards: std::array::from_fn(|_| ArcSwap::default()), read_up_to: AtomicI64::new(0) }
    }

    /// Whether the session was revoked. Two look-ups in memory, without a lock.
    pub fn has_ended(&self, session: &Session) -> bool {
        let subjects = [session.id, session.user_id.0];
        subjects.into_iter().filter_map(|id| self.revoked_until(id)).any(|until| session.issued_at <= until)
    }

    /// The time up to which issued cookies of this user or session are revoked.
    pub fn revoked_until(&self, subject: Uuid) -> Option<Timestamp> {
        self.shard(subject).load().get(&subject).copied()
    }

    fn shard(&self, subject: Uuid) -> &ArcSwap<Shard> {
        // The last byte of a UUID of version 7 is random.
        &self.shards[usize::from(subject.as_bytes()[15]) % SHARDS]
    }

    /// Adds revocations. For one subject the latest time counts.
    pub fn add(&self, new: &[Revocation]) {
        let mut by_shard: HashMap<usize, Vec<&Revocation>> = HashMap::new();
        for revocation in new {
            by_shard.entry(usize::from(revocation.subject.as_bytes()[15]) % SHARDS).or_default().push(revocation);
        }
        for (shard, new) in by_shard {
            self.shards[shard].rcu(|known| {
                let mut known = Shard::clone(known);
                for revocation in &new {
                    let until = known.entry(revocation.subject).or_insert(revocation.revoked_until);
                    *until = revocation.revoked_until.max(*until);
                }
                Arc::new(known)
            });
        }
    }

    /// Reads new revocations from the database.
    pub async fn refresh(&self, store: &Store) -> StoreResult<()> {
        loop {
            let page = store.sessions().revocations(self.read_up_to.load(Ordering::Relaxed), PAGE).await?;
            self.add(&page);
            if let Some(last) = page.last() {
                self.read_up_to.fetch_max(last.number, Ordering::Relaxed);
            }
            if (page.len() as i64) < PAGE {
                return Ok(());
            }
        }
    }

    /// Drops revocations whose cookies have all expired.
    pub(super) fn remove_expired(&self, now: Timestamp) {
        let past = now.saturating_sub(SESSION_LIFETIME).unwrap_or(Timestamp::MIN);
        for shard in &self.shards {
            if shard.load().values().any(|until| *until < past) {
                shard.rcu(|known| {
                    Arc::new(
                        known.iter().filter(|(_, until)| **until >= past).map(|(k, v)| (*k, *v)).collect::<Shard>(),
                    )
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use secrecy::SecretString;

    use super::*;

    fn sessions(secure: bool) -> (Sessions, Clock, Session) {
        let clock = Clock::manual(Timestamp::UNIX_EPOCH);
        let signer = Signer::new(&SecretString::from("s".repeat(64)).into(), "session");
        let id = "0198c0de-0000-7000-8000-000000000001".parse().unwrap();
        let user = User::new(id, "小美", "$argon2id$…".into(), Role::User, clock.now());
        let session = Session::of(&user, clock.now());
        (Sessions::new(signer, clock.clone(), secure), clock, session)
    }

    fn request_with(cookie: &HeaderValue) -> HeaderMap {
        let value = cookie.to_str().unwrap().split(';').next().unwrap();
        let line = format!("theme=dark; {value}; seckill=nonsense; __Host-seckill=nonsense");
        HeaderMap::from_iter([(COOKIE, HeaderValue::from_str(&line).unwrap())])
    }

    #[test]
    fn cookie_is_valid_until_it_expires() {
        let (sessions, clock, session) = sessions(false);
        let headers = request_with(&sessions.cookie(&session));
        assert_eq!(sessions.find(&headers), Some(session));
        clock.advance(Duration::from_secs(14 * 24 * 3600 - 1));
        assert!(sessions.find(&headers).is_some());
        clock.advance(Duration::from_secs(1));
        assert_eq!(sessions.find(&headers), None);
        assert_eq!(sessions.find(&HeaderMap::new()), None);
        assert_eq!(sessions.find(&request_with(&sessions.removal_cookie())), None);
    }

    #[test]
    fn altered_cookie_is_not_valid() {
        let (sessions, _, session) = sessions(true);
        let cookie = sessions.cookie(&session);
        let text = cookie.to_str().unwrap();
        let value = text.strip_prefix("__Host-seckill=").unwrap().split(';').next().unwrap();
        assert!(sessions.verify(value).is_some());
        for at in 0..value.len() {
            let mut altered = value.as_bytes().to_vec();
            altered[at] = if altered[at] == b'A' { b'B' } else { b'A' };
            assert_eq!(sessions.verify(std::str::from_utf8(&altered).unwrap()), None, "{at}");
        }
        assert_eq!(sessions.verify(&value[1..]), None);
    }

    #[test]
    fn cookie_of_the_old_format_is_not_valid() {
        let (sessions, _, session) = sessions(false);
        let old = format!("{} user 9999999999999 abcd1234 mei", session.user_id);
        assert_eq!(sessions.verify(&sessions.signer.sign(&old)), None);
    }

    #[test]
    fn cookies_have_protective_attributes() {
        for (secure, name) in [(true, "__Host-seckill="), (false, "seckill=")] {
            let (sessions, _, session) = sessions(secure);
            let cookie = sessions.cookie(&session);
            let text = cookie.to_str().unwrap();
            assert!(text.starts_with(name) && cookie.is_sensitive());
            assert!(text.ends_with("; Max-Age=1209600") && text.contains("; Path=/; HttpOnly; SameSite=Lax"));
            assert_eq!(text.contains("; Secure"), secure);
        }
    }

    #[test]
    fn hint_cookie_is_set_and_removed_with_the_session() {
        let answered = |cookie: HeaderValue| hint_cookie(&HeaderMap::from_iter([(SET_COOKIE, cookie)]));
        for secure in [true, false] {
            let (sessions, _, session) = sessions(secure);
            let set = answered(sessions.cookie(&session)).unwrap();
            let text = set.to_str().unwrap();
            assert!(text.starts_with("seckill_hint=1; Path=/; SameSite=Lax") && text.ends_with("; Max-Age=1209600"));
            assert!(!text.contains("HttpOnly") && text.contains("; Secure") == secure);
            let removed = answered(sessions.removal_cookie()).unwrap();
            assert!(removed.to_str().unwrap().ends_with("; Max-Age=0"));
        }
        assert_eq!(answered(HeaderValue::from_static("theme=dark; Max-Age=9")), None);
        assert_eq!(hint_cookie(&HeaderMap::new()), None);
    }

    #[test]
    fn latest_revocation_counts_until_its_cookies_expire() {
        let at = |ms| Timestamp::from_millisecond(ms).unwrap();
        let user = User::new(UserId(Uuid::now_v7()), "mei", String::new(), Role::User, at(0));
        let session = Session::of(&user, at(1_000));
        let revocations = Revocations::new();
        let revoke = |subject, until, number| {
            revocations.add(&[Revocation { subject, revoked_until: at(until), number }]);
            revocations.has_ended(&session)
        };
        assert!(!revoke(Uuid::now_v7(), 5_000, 1), "another user");
        assert!(!revoke(user.id.0, 999, 2), "a session issued later stays valid");
        assert!(revoke(user.id.0, 1_000, 4));
        assert!(revoke(user.id.0, 500, 3), "an older revocation changes nothing");
        assert!(revoke(session.id, 1_000, 5));
        revocations.remove_expired(at(1_000) + SESSION_LIFETIME);
        assert!(revocations.has_ended(&session));
        revocations.remove_expired(at(5_001) + SESSION_LIFETIME);
        assert!(revocations.shards.iter().all(|shard| shard.load().is_empty()));
    }
}

#[cfg(test)]
mod fuzz {
    use secrecy::SecretString;

    use super::*;
    use testing::fuzz::texts;

    #[test]
    fn only_cookies_that_were_issued_are_sessions() {
        let clock = Clock::manual(Timestamp::UNIX_EPOCH);
        let secret = SecretString::from("s".repeat(64)).into();
        let sessions = Sessions::new(Signer::new(&secret, "session"), clock.clone(), true);
        let user = User::new(
            "0198c0de-0000-7000-8000-000000000001".parse().unwrap(),
            "小美",
            "$".into(),
            Role::Admin,
            clock.now(),
        );
        let session = Session::of(&user, clock.now());
        let cookie = sessions.cookie(&session).to_str().unwrap().split(';').next().unwrap().to_owned();
        texts(&[format!("theme=dark; {cookie}; other=1"), cookie], |text| {
            let Ok(line) = HeaderValue::from_str(text) else { return };
            if let Some(found) = sessions.find(&HeaderMap::from_iter([(COOKIE, line)])) {
                assert_eq!(found, session);
            }
        });
        let payload = format!("{FORMAT} {} 0 {} admin stamp name", session.id, session.user_id);
        texts(&[payload], |payload| drop(sessions.verify(&sessions.signer.sign(payload))));
    }
}
