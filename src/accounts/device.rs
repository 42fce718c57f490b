//! The device of a session: an IP address and a short description of the browser.

use std::net::IpAddr;

use axum::http::header::SET_COOKIE;
use axum::http::{HeaderMap, HeaderValue};
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use crate::session::Cookie;
use crate::{Accounts, names};
use base::clock::Clock;
use base::signing::Signer;

/// The client of a request.
#[derive(Debug, Clone)]
pub struct Device {
    pub address: IpAddr,
    /// Browser and system, for example `Firefox · Linux`. Empty if unknown.
    pub agent: String,
    /// What the browser's device cookie says, if it has one.
    pub known: Option<KnownDevice>,
}

impl Device {
    pub fn new(address: IpAddr, user_agent: &str) -> Device {
        Device { address, agent: summary(user_agent), known: None }
    }

    pub fn with_known(self, known: Option<KnownDevice>) -> Device {
        Device { known, ..self }
    }
}

/// Tokens of the user agent and their browsers. The first match counts, because a browser also names the browsers that
/// it imitates.
const BROWSERS: [(&str, &str); 8] = [
    ("MicroMessenger/", "WeChat"),
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
];
const SYSTEMS: [(&str, &str); 7] = [
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("CrOS", "ChromeOS"),
    ("Linux", "Linux"),
];

/// The name beside the first token that the user agent contains.
fn name_in(tokens: &[(&str, &'static str)], user_agent: &str) -> Option<&'static str> {
    tokens.iter().find(|(token, _)| user_agent.contains(token)).map(|(_, name)| *name)
}

fn summary(user_agent: &str) -> String {
    match (name_in(&BROWSERS, user_agent), name_in(&SYSTEMS, user_agent)) {
        (Some(browser), Some(system)) => format!("{browser} · {system}"),
        (Some(one), None) | (None, Some(one)) => one.to_owned(),
        (None, None) => {
            // The client is not a browser: use the program's name without the rest.
            let name = user_agent.split(['/', ' ', '(']).next().unwrap_or_default();
            name.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')).take(40).collect()
        }
    }
}

// Browsers in which an account has signed in before. A signed cookie, which stays after the log-out, recognises them.
//
// Guesses from such a browser at that account's password are counted for the browser alone. So other people's guesses,
// from the same network or from anywhere, do not keep the owner out. The cookie opens nothing. A thief of the cookie
// gets no more guesses than from one more network.
//
// Source: OWASP, "Slow Down Online Guessing Attacks with Device Cookies".

/// How long a browser is known after the last log-in.
const LIFETIME: SignedDuration = SignedDuration::from_hours(180 * 24);
/// The first word of a cookie's payload, its format.
const FORMAT: &str = "1";

/// A browser, and the account that signed in there last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownDevice {
    pub(super) id: Uuid,
    /// The account's name as [`names::key`] spells it.
    name: String,
}

impl KnownDevice {
    /// Whether this account signed in there last.
    pub(super) fn is_of(&self, username: &str) -> bool {
        self.name == names::key(username)
    }
}

/// Issues and reads the cookies.
pub(super) struct KnownDevices {
    signer: Signer,
    clock: Clock,
    cookie: Cookie,
}

impl KnownDevices {
    pub(super) fn new(signer: Signer, clock: Clock, secure: bool) -> KnownDevices {
        let cookie = if secure { Cookie::secure("__Host-seckill_device=") } else { Cookie::plain("seckill_device=") };
        KnownDevices { signer, clock, cookie }
    }

    fn find(&self, headers: &HeaderMap) -> Option<KnownDevice> {
        self.cookie.values(headers).find_map(|value| self.verify(value))
    }

    fn verify(&self, signed: &str) -> Option<KnownDevice> {
        let payload = self.signer.verify(signed)?;
        let mut parts = payload.strip_prefix(FORMAT)?.strip_prefix(' ')?.splitn(3, ' ');
        let id = Uuid::try_parse(parts.next()?).ok()?;
        let issued_at = Timestamp::from_millisecond(parts.next()?.parse().ok()?).ok()?;
        let name = parts.next()?.to_owned();
        (self.clock.now() < issued_at.saturating_add(LIFETIME).ok()?).then_some(KnownDevice { id, name })
    }

    pub(super) fn cookie(&self, username: &str) -> HeaderValue {
        let (id, issued) = (Uuid::new_v4(), self.clock.now().as_millisecond());
        let payload = format!("{FORMAT} {id} {issued} {}", names::key(username));
        self.cookie.header(&self.signer.sign(&payload), LIFETIME.as_secs())
    }
}

impl Accounts {
    /// The browser of a request, if an account has signed in there before.
    pub fn known_device(&self, headers: &HeaderMap) -> Option<KnownDevice> {
        self.known_devices.find(headers)
    }

    /// The device cookie for a response that sets a session cookie.
    pub fn device_cookie(&self, answer: &HeaderMap) -> Option<HeaderValue> {
        let mut cookies = answer.get_all(SET_COOKIE).iter().filter_map(|cookie| cookie.to_str().ok());
        let session = cookies.find_map(|cookie| self.sessions.of_set_cookie(cookie))?;
        Some(self.known_devices.cookie(&session.username))
    }
}

#[cfg(test)]
mod tests {
    use axum::http::header::COOKIE;
    use secrecy::SecretString;

    use super::*;

    #[test]
    fn user_agent_is_summarized() {
        for (agent, words) in [
            ("Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0", "Firefox · Linux"),
            (
                "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/126.0 Safari/537.36 Edg/126.0",
                "Edge · Windows",
            ),
            ("Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) Version/17.5 Safari/604.1", "Safari · iPhone"),
            ("curl/8.14.1", "curl"),
            ("<script>\u{202e}alert(1)", "scriptalert"),
            ("", ""),
        ] {
            assert_eq!(summary(agent), words);
        }
    }

    #[test]
    fn device_is_known_for_its_account_until_the_cookie_expires() {
        let clock = Clock::manual(Timestamp::UNIX_EPOCH);
        for (secure, name) in [(true, "__Host-seckill_device="), (false, "seckill_device=")] {
            let signer = |letter: &str| Signer::new(&SecretString::from(letter.repeat(64)).into(), "device");
            let devices = KnownDevices::new(signer("s"), clock.clone(), secure);
            let cookie = devices.cookie("小美 Mei");
            let text = cookie.to_str().unwrap();
            assert!(text.starts_with(name) && text.contains("; HttpOnly") && cookie.is_sensitive(), "{text}");
            assert_eq!(text.contains("; Secure"), secure);
            let line = format!("theme=dark; {}; {name}nonsense", text.split(';').next().unwrap());
            let headers = HeaderMap::from_iter([(COOKIE, HeaderValue::from_str(&line).unwrap())]);
            let known = devices.find(&headers).unwrap();
            assert!(known.is_of("小美 mei") && !known.is_of("lei"));
            assert_eq!(KnownDevices::new(signer("t"), clock.clone(), secure).find(&headers), None, "another secret");
            clock.advance(LIFETIME.unsigned_abs());
            assert_eq!(devices.find(&headers), None);
        }
    }
}
