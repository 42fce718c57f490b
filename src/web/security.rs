//! What answers say about attacks. The middleware asks here about each answer, so that no handler has to.

use std::net::IpAddr;

use axum::extract::Request;
use axum::http::StatusCode;

use crate::extract::client::client_address;
use crate::{Code, Shop};
use accounts::security_events::SecurityEvents;
use domain::SecurityClass;

/// A request whose refusal is a security event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attempt {
    LogIn,
    Registration,
    Webhook,
    /// Any other request that changes something. Another site may have sent it.
    Change,
}

impl Attempt {
    /// The attempt at an address of the API, or of a page in one of the languages.
    fn of(path: &str) -> Attempt {
        let page = path.strip_prefix("/api").or_else(|| path.get(3..)).unwrap_or_default();
        match page {
            "/register" => Attempt::Registration,
            // A code or a link of a message is guessed like a password, and counted with it.
            _ if page.starts_with("/login") || page.starts_with("/recovery") => Attempt::LogIn,
            _ if path.starts_with("/api/webhooks/") => Attempt::Webhook,
            _ => Attempt::Change,
        }
    }

    /// The class and the detail of the answer, if it is an event.
    fn event(self, status: StatusCode, code: Option<Code>) -> Option<(SecurityClass, &'static str)> {
        let detail = code.map_or("", Code::as_str);
        match (self, status.as_u16()) {
            _ if code == Some(Code::CrossSite) => Some((SecurityClass::CrossSiteRefused, "")),
            (Attempt::LogIn, 429) => Some((SecurityClass::LogInThrottled, "")),
            (Attempt::Registration, 429) => Some((SecurityClass::RegistrationThrottled, "")),
            (Attempt::Registration, 400..500) => Some((SecurityClass::RegistrationRefused, detail)),
            (Attempt::Webhook, 400..500) => Some((SecurityClass::WebhookRefused, detail)),
            _ => None,
        }
    }
}

/// An attempt, and the address that it comes from.
#[derive(Debug)]
pub struct WatchedRequest {
    attempt: Attempt,
    client: Option<IpAddr>,
}

impl WatchedRequest {
    /// `None` for a request that only reads.
    pub fn of(request: &Request, shop: &Shop) -> Option<WatchedRequest> {
        if request.method().is_safe() {
            return None;
        }
        let client = Some(client_address(request.extensions(), request.headers(), shop));
        Some(WatchedRequest { attempt: Attempt::of(request.uri().path()), client })
    }

    /// On the hot path, only a request sent by another site is an event. The client's address is not read, which saves
    /// time.
    pub fn on_hot_path() -> WatchedRequest {
        WatchedRequest { attempt: Attempt::Change, client: None }
    }

    /// Records the answer, if it is a security event.
    pub fn record(&self, events: &SecurityEvents, status: StatusCode, code: Option<Code>) {
        if let Some((class, detail)) = self.attempt.event(status, code) {
            events.record(class, None, self.client, detail);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_are_known_by_their_address() {
        for (path, attempt) in [
            ("/api/login", Attempt::LogIn),
            ("/zh/login", Attempt::LogIn),
            ("/en/login/code", Attempt::LogIn),
            ("/api/login/passkey", Attempt::LogIn),
            ("/api/login/mail/code", Attempt::LogIn),
            ("/zh/login/mail/code", Attempt::LogIn),
            ("/api/recovery/password", Attempt::LogIn),
            ("/api/register", Attempt::Registration),
            ("/zh/register", Attempt::Registration),
            ("/api/webhooks/payments/sandbox", Attempt::Webhook),
            ("/api/admin/register", Attempt::Change),
            ("/中", Attempt::Change),
            ("/", Attempt::Change),
        ] {
            assert_eq!(Attempt::of(path), attempt, "{path}");
        }
    }

    #[test]
    fn refused_attempts_are_events() {
        let event = |attempt: Attempt, status: u16, code| attempt.event(StatusCode::from_u16(status).unwrap(), code);
        let cross_site = event(Attempt::Change, 403, Some(Code::CrossSite));
        assert_eq!(cross_site, Some((SecurityClass::CrossSiteRefused, "")));
        assert_eq!(event(Attempt::Change, 403, Some(Code::NotAllowed)), None);
        assert_eq!(event(Attempt::LogIn, 429, None), Some((SecurityClass::LogInThrottled, "")));
        assert_eq!(event(Attempt::LogIn, 401, None), None, "accounts record it, with the account");
        let weak = event(Attempt::Registration, 422, Some(Code::WeakPassword));
        assert_eq!(weak, Some((SecurityClass::RegistrationRefused, "weak_password")));
        assert_eq!(event(Attempt::Registration, 503, Some(Code::Unavailable)), None);
        let unsigned = event(Attempt::Webhook, 401, Some(Code::BadSignature));
        assert_eq!(unsigned, Some((SecurityClass::WebhookRefused, "bad_signature")));
    }
}
