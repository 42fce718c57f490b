//! Sessions: a signed cookie that says who somebody is, believed without asking the database. Whether it was ended since
//! is for `revocations` to say.

use axum::http::header::{COOKIE, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue};
use jiff::{SignedDuration, Timestamp};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::clock::Clock;
use crate::domain::UserId;
use crate::signing::Signer;
use crate::store::{Role, User};

/// How long a cookie is believed after it was issued.
pub const LASTS: SignedDuration = SignedDuration::from_hours(14 * 24);

/// The first word of a cookie. Those of before sessions had ids begin differently and are believed no more.
const FORM: &str = "2";

/// Who a request comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    pub id: Uuid,
    pub issued_at: Timestamp,
    pub user_id: UserId,
    pub username: String,
    pub role: Role,
    /// Changes with the password, so that whoever looks into the database can tell an older session.
    stamp: String,
}

impl Session {
    /// A new session. It is signed in as soon as somebody has its cookie.
    pub fn of(user: &User, issued_at: Timestamp) -> Session {
        Session::with_id(Uuid::now_v7(), user, issued_at)
    }

    pub(super) fn with_id(id: Uuid, user: &User, issued_at: Timestamp) -> Session {
        let (username, stamp) = (user.username.clone(), stamp(user));
        Session { id, issued_at, user_id: user.id, username, role: user.role, stamp }
    }

    pub fn expires_at(&self) -> Timestamp {
        self.issued_at.saturating_add(LASTS).unwrap_or(Timestamp::MAX)
    }

    /// Whether the user's password is still the one of this session.
    pub fn is_of(&self, user: &User) -> bool {
        self.user_id == user.id && self.stamp == stamp(user)
    }

    pub fn is_staff(&self) -> bool {
        self.role.is_staff()
    }
}

/// Short, and different for every password hash.
pub fn stamp(user: &User) -> String {
    Sha256::digest(&user.password_hash).iter().take(4).map(|byte| format!("{byte:02x}")).collect()
}

/// Of the session cookie, over http and over https.
const NAMES: [&str; 2] = ["seckill=", "__Host-seckill="];

/// Makes and reads session cookies.
pub struct Sessions {
    sealer: Signer,
    clock: Clock,
    /// With `=`. The prefix makes browsers insist on https and keeps other hosts of the domain out.
    name: &'static str,
    attributes: &'static str,
}

impl Sessions {
    pub fn new(sealer: Signer, clock: Clock, secure: bool) -> Sessions {
        let (name, attributes) = match secure {
            true => (NAMES[1], "; Path=/; HttpOnly; SameSite=Lax; Secure"),
            false => (NAMES[0], "; Path=/; HttpOnly; SameSite=Lax"),
        };
        Sessions { sealer, clock, name, attributes }
    }

    pub fn find(&self, headers: &HeaderMap) -> Option<Session> {
        let lines = headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
        let mut cookies = lines.flat_map(|line| line.split(';'));
        cookies.find_map(|cookie| self.open(cookie.trim_start().strip_prefix(self.name)?))
    }

    pub fn cookie(&self, session: &Session) -> HeaderValue {
        let Session { id, issued_at, user_id, username, role, stamp } = session;
        let issued = issued_at.as_millisecond();
        let payload = format!("{FORM} {id} {issued} {user_id} {} {stamp} {username}", role.as_str());
        let sealed = self.sealer.seal(&payload);
        self.header(&sealed, LASTS.as_secs())
    }

    pub fn farewell(&self) -> HeaderValue {
        self.header("", 0)
    }

    fn header(&self, value: &str, seconds: i64) -> HeaderValue {
        let text = format!("{}{value}{}; Max-Age={seconds}", self.name, self.attributes);
        let mut header = HeaderValue::try_from(text).expect("sealed texts fit into headers");
        header.set_sensitive(true);
        header
    }

    fn open(&self, sealed: &str) -> Option<Session> {
        let payload = self.sealer.open(sealed)?;
        let mut parts = payload.strip_prefix(FORM)?.strip_prefix(' ')?.splitn(6, ' ');
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

/// Beside every session cookie goes one that scripts may read. It says that there is a session, and nothing about whose:
/// pages that all share ask who looks at them only when somebody is signed in.
const HINT: &str = "seckill_hint";

/// The hint for an answer that sets or clears the session cookie; it lasts as long as that one.
pub fn hint(answer: &HeaderMap) -> Option<HeaderValue> {
    let mut cookies = answer.get_all(SET_COOKIE).iter().filter_map(|cookie| cookie.to_str().ok());
    let session = cookies.find(|cookie| NAMES.iter().any(|name| cookie.starts_with(name)))?;
    let seconds: i64 = session.rsplit_once("Max-Age=")?.1.parse().ok()?;
    let secure = if session.contains("; Secure") { "; Secure" } else { "" };
    let value = i64::from(seconds > 0);
    HeaderValue::try_from(format!("{HINT}={value}; Path=/; SameSite=Lax{secure}; Max-Age={seconds}")).ok()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use secrecy::SecretString;

    use super::*;

    fn sessions(secure: bool) -> (Sessions, Clock, Session) {
        let clock = Clock::manual(Timestamp::UNIX_EPOCH);
        let sealer = Signer::new(&SecretString::from("s".repeat(64)), "session");
        let id = "0198c0de-0000-7000-8000-000000000001".parse().unwrap();
        let user = User::new(id, "小美", "$argon2id$…".into(), Role::User, clock.now());
        let session = Session::of(&user, clock.now());
        (Sessions::new(sealer, clock.clone(), secure), clock, session)
    }

    fn sent_back(cookie: &HeaderValue) -> HeaderMap {
        let value = cookie.to_str().unwrap().split(';').next().unwrap();
        let line = format!("theme=dark; {value}; seckill=nonsense; __Host-seckill=nonsense");
        HeaderMap::from_iter([(COOKIE, HeaderValue::from_str(&line).unwrap())])
    }

    #[test]
    fn a_cookie_is_believed_until_it_expires() {
        let (sessions, clock, session) = sessions(false);
        let headers = sent_back(&sessions.cookie(&session));
        assert_eq!(sessions.find(&headers), Some(session));
        clock.advance(Duration::from_secs(14 * 24 * 3600 - 1));
        assert!(sessions.find(&headers).is_some());
        clock.advance(Duration::from_secs(1));
        assert_eq!(sessions.find(&headers), None);
        assert_eq!(sessions.find(&HeaderMap::new()), None);
        assert_eq!(sessions.find(&sent_back(&sessions.farewell())), None);
    }

    #[test]
    fn a_cookie_that_was_altered_is_not_believed() {
        let (sessions, _, session) = sessions(true);
        let cookie = sessions.cookie(&session);
        let text = cookie.to_str().unwrap();
        let value = text.strip_prefix("__Host-seckill=").unwrap().split(';').next().unwrap();
        assert!(sessions.open(value).is_some());
        for at in 0..value.len() {
            let mut altered = value.as_bytes().to_vec();
            altered[at] = if altered[at] == b'A' { b'B' } else { b'A' };
            assert_eq!(sessions.open(std::str::from_utf8(&altered).unwrap()), None, "{at}");
        }
        assert_eq!(sessions.open(&value[1..]), None);
    }

    #[test]
    fn a_cookie_of_the_old_form_is_not_believed() {
        let (sessions, _, session) = sessions(false);
        let old = format!("{} user 9999999999999 abcd1234 mei", session.user_id);
        assert_eq!(sessions.open(&sessions.sealer.seal(&old)), None);
    }

    #[test]
    fn cookies_carry_what_keeps_them_safe() {
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
    fn the_hint_comes_and_goes_with_the_session() {
        let answered = |cookie: HeaderValue| hint(&HeaderMap::from_iter([(SET_COOKIE, cookie)]));
        for secure in [true, false] {
            let (sessions, _, session) = sessions(secure);
            let come = answered(sessions.cookie(&session)).unwrap();
            let text = come.to_str().unwrap();
            assert!(text.starts_with("seckill_hint=1; Path=/; SameSite=Lax") && text.ends_with("; Max-Age=1209600"));
            assert!(!text.contains("HttpOnly") && text.contains("; Secure") == secure);
            let gone = answered(sessions.farewell()).unwrap();
            assert!(gone.to_str().unwrap().ends_with("; Max-Age=0"));
        }
        assert_eq!(answered(HeaderValue::from_static("theme=dark; Max-Age=9")), None);
        assert_eq!(hint(&HeaderMap::new()), None);
    }
}
