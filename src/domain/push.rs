//! Web push: the address and keys with which a browser receives messages of the shop (RFC 8030, RFC 8291).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use url::{Host, Url};

use super::network::is_public;

/// Endpoints of all known push services are shorter.
const MAX_ENDPOINT_BYTES: usize = 1024;
/// Length of a public key: an uncompressed point of P-256.
pub const PUBLIC_KEY_BYTES: usize = 65;
pub const AUTH_BYTES: usize = 16;

/// An address at a push service that a browser has named: https, the usual port, no address of a private network. Names are
/// resolved, and checked again, when a message is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushEndpoint(String);

impl PushEndpoint {
    pub fn parse(text: &str) -> Option<PushEndpoint> {
        let url = Url::parse(text).ok().filter(|_| text.len() <= MAX_ENDPOINT_BYTES)?;
        let host_is_valid = match url.host()? {
            Host::Domain(name) => name.contains('.'),
            Host::Ipv4(address) => is_public(address.into()),
            Host::Ipv6(address) => is_public(address.into()),
        };
        let is_plain = url.username().is_empty() && url.password().is_none() && url.fragment().is_none();
        let is_valid = url.scheme() == "https" && url.port().is_none() && is_plain && host_is_valid;
        is_valid.then(|| PushEndpoint(url.into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The public key and secret of a browser, with which the shop encrypts messages to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PushKeys {
    pub p256dh: [u8; PUBLIC_KEY_BYTES],
    pub auth: [u8; AUTH_BYTES],
}

impl PushKeys {
    /// Reads base64url, as browsers send it. Whether the key is a point of the curve is checked when it is used.
    pub fn parse(p256dh: &str, auth: &str) -> Option<PushKeys> {
        let bytes = |text: &str| URL_SAFE_NO_PAD.decode(text.trim_end_matches('=')).ok();
        let p256dh: [u8; PUBLIC_KEY_BYTES] = bytes(p256dh)?.try_into().ok()?;
        let auth = bytes(auth)?.try_into().ok()?;
        (p256dh[0] == 4).then_some(PushKeys { p256dh, auth })
    }

    pub fn p256dh_text(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.p256dh)
    }

    pub fn auth_text(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.auth)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoint_is_an_https_address_of_the_public_internet() {
        for right in [
            "https://fcm.googleapis.com/fcm/send/abc:def",
            "https://updates.push.services.mozilla.com/wpush/v2/gAAAA",
            "https://web.push.apple.com/QGuQ",
            "https://93.184.216.34/x",
        ] {
            assert_eq!(PushEndpoint::parse(right).map(|endpoint| endpoint.0).as_deref(), Some(right));
        }
        let long = format!("https://push.example/{}", "x".repeat(MAX_ENDPOINT_BYTES));
        for wrong in [
            "http://push.example/x",
            "https://localhost/x",
            "https://redis/x",
            "https://push.example:6379/x",
            "https://user@push.example/x",
            "https://127.0.0.1/x",
            "https://0x7f.1/x",
            "https://10.0.0.1/x",
            "https://169.254.169.254/latest/meta-data",
            "https://[::1]/x",
            "https://[::ffff:10.0.0.1]/x",
            "https://push.example/x#y",
            "file:///etc/passwd",
            "push.example",
            "",
            long.as_str(),
        ] {
            assert_eq!(PushEndpoint::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn keys_have_their_lengths() {
        let p256dh = URL_SAFE_NO_PAD.encode([4; PUBLIC_KEY_BYTES]);
        let auth = URL_SAFE_NO_PAD.encode([1; AUTH_BYTES]);
        let keys = PushKeys::parse(&p256dh, &format!("{auth}==")).unwrap();
        assert_eq!((keys.p256dh_text(), keys.auth_text()), (p256dh.clone(), auth.clone()));
        assert_eq!(PushKeys::parse(&p256dh, "AAAA"), None);
        assert_eq!(PushKeys::parse(&URL_SAFE_NO_PAD.encode([2; 33]), &auth), None);
        assert_eq!(PushKeys::parse("+/+/", &auth), None);
    }
}
