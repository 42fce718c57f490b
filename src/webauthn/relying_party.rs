//! The site that passkeys belong to.

use url::{Host, Url};

/// The shop as authenticators know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelyingParty {
    /// The domain. A passkey works only at this domain.
    pub(super) id: String,
    /// The origin as browsers write it.
    pub(super) origin: String,
}

impl RelyingParty {
    /// The site at this origin. `None` if browsers offer no passkeys there: at an IP address, and without https except
    /// at `localhost`.
    pub fn of(origin: &str) -> Option<RelyingParty> {
        let url = Url::parse(origin).ok()?;
        let Some(Host::Domain(domain)) = url.host() else { return None };
        let is_local = domain == "localhost" || domain.ends_with(".localhost");
        let is_secure = url.scheme() == "https" || url.scheme() == "http" && is_local;
        is_secure.then(|| RelyingParty { id: domain.to_owned(), origin: url.origin().ascii_serialization() })
    }

    pub fn id(&self) -> &str {
        &self.id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passkeys_need_a_domain_and_https() {
        for (origin, id, written) in [
            ("https://shop.example", "shop.example", "https://shop.example"),
            ("https://Shop.example:443/", "shop.example", "https://shop.example"),
            ("http://localhost:8080", "localhost", "http://localhost:8080"),
        ] {
            let site = RelyingParty::of(origin).unwrap();
            assert_eq!((site.id(), site.origin.as_str()), (id, written), "{origin}");
        }
        for origin in ["http://127.0.0.1:8080", "https://192.0.2.1", "https://[2001:db8::1]", "http://shop.example", ""]
        {
            assert_eq!(RelyingParty::of(origin), None, "{origin}");
        }
    }
}
