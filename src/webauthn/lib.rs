//! Passkeys: what a relying party must verify by WebAuthn Level 2 (§ 7.1 and § 7.2), as pure functions.
//! `accounts::passkeys` decides who may register a passkey and which challenge is still good.
//!
//! Every passkey must verify its user, and the authenticator must store it with the account (discoverable). The shop
//! does not ask for attestation statements and does not verify them: the model of an authenticator does not matter.

mod authenticator_data;
mod cbor;

pub use authenticator_data::{ALGORITHMS, PublicKey};

use authenticator_data::AuthenticatorData;
use cbor::Value;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use url::{Host, Url};

/// Why the answer of an authenticator is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WebauthnError {
    #[error("the answer cannot be read")]
    Malformed,
    #[error("the answer is about another operation")]
    OtherOperation,
    #[error("the answer is for another site")]
    OtherSite,
    #[error("the authenticator has not verified its user")]
    UserNotVerified,
    #[error("the key has an algorithm that the shop does not know")]
    UnknownAlgorithm,
    #[error("the signature is wrong")]
    BadSignature,
}

/// A browser's answer to a registration.
#[derive(Debug)]
pub struct Registration<'a> {
    pub client_data: &'a [u8],
    pub attestation_object: &'a [u8],
}

/// A credential that was registered.
#[derive(Debug, PartialEq, Eq)]
pub struct Registered {
    pub credential_id: Vec<u8>,
    /// The key in COSE format, with one of [`ALGORITHMS`].
    pub cose_key: Vec<u8>,
    pub sign_count: u32,
    /// The challenge that was signed. The caller has to check that it is still good.
    pub challenge: String,
}

/// A browser's answer to a request to sign.
#[derive(Debug)]
pub struct Assertion<'a> {
    pub client_data: &'a [u8],
    pub authenticator_data: &'a [u8],
    pub signature: &'a [u8],
}

/// An assertion whose signature is right.
#[derive(Debug, PartialEq, Eq)]
pub struct Asserted {
    pub sign_count: u32,
    /// The challenge that was signed. The caller has to check that it is still good.
    pub challenge: String,
}

/// The fields of `collectedClientData` that are checked.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClientData {
    r#type: String,
    challenge: String,
    origin: String,
    #[serde(default)]
    cross_origin: bool,
}

impl RelyingParty {
    /// Verifies everything about a registration except the challenge.
    pub fn verify_registration(&self, answer: &Registration<'_>) -> Result<Registered, WebauthnError> {
        let challenge = self.challenge_of(answer.client_data, "webauthn.create")?;
        let (object, rest) = cbor::read(answer.attestation_object).ok_or(WebauthnError::Malformed)?;
        let bytes = object.bytes(&Value::Text("authData")).filter(|_| rest.is_empty());
        let data = AuthenticatorData::read(bytes.ok_or(WebauthnError::Malformed)?).ok_or(WebauthnError::Malformed)?;
        data.check(&self.id_hash())?;
        let credential = data.credential.ok_or(WebauthnError::Malformed)?;
        Ok(Registered {
            credential_id: credential.id.to_vec(),
            cose_key: credential.cose_key.to_vec(),
            sign_count: data.sign_count,
            challenge,
        })
    }

    /// Verifies everything about an assertion except the challenge and the counter.
    pub fn verify_assertion(&self, cose_key: &[u8], answer: &Assertion<'_>) -> Result<Asserted, WebauthnError> {
        let challenge = self.challenge_of(answer.client_data, "webauthn.get")?;
        let data = AuthenticatorData::read(answer.authenticator_data).ok_or(WebauthnError::Malformed)?;
        data.check(&self.id_hash())?;
        let key = PublicKey::from_cose(cose_key).ok_or(WebauthnError::UnknownAlgorithm)?;
        let message = [answer.authenticator_data, &Sha256::digest(answer.client_data)].concat();
        match key.verifies(&message, answer.signature) {
            true => Ok(Asserted { sign_count: data.sign_count, challenge }),
            false => Err(WebauthnError::BadSignature),
        }
    }

    /// The challenge that the browser was given, if it asked the authenticator for `operation` at this site itself.
    fn challenge_of(&self, client_data: &[u8], operation: &str) -> Result<String, WebauthnError> {
        let data: ClientData = serde_json::from_slice(client_data).map_err(|_| WebauthnError::Malformed)?;
        if data.r#type != operation {
            return Err(WebauthnError::OtherOperation);
        }
        match data.origin == self.origin && !data.cross_origin {
            true => Ok(data.challenge),
            false => Err(WebauthnError::OtherSite),
        }
    }

    fn id_hash(&self) -> [u8; 32] {
        Sha256::digest(self.id.as_bytes()).into()
    }
}

/// Whether a counter has moved on. Authenticators that do not count stay at 0, for example if they share their keys
/// between devices. A counter that stands still or goes back belongs to a copy.
pub fn has_advanced(before: u32, after: u32) -> bool {
    after > before || (before == 0 && after == 0)
}

// The site that passkeys belong to.

/// The shop as authenticators know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelyingParty {
    /// The domain. A passkey works only at this domain.
    id: String,
    /// The origin as browsers write it.
    origin: String,
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
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn counter_advances_or_stays_zero() {
        for (before, after, advanced) in [(0, 0, true), (0, 1, true), (5, 6, true), (5, 5, false), (5, 0, false)] {
            assert_eq!(has_advanced(before, after), advanced, "{before} {after}");
        }
    }

    #[test]
    fn client_data_is_that_of_this_site_and_operation() {
        let site = RelyingParty::of("https://shop.example").unwrap();
        let read = |text: &str| site.challenge_of(text.as_bytes(), "webauthn.get");
        let right = r#"{"type":"webauthn.get","challenge":"AAAA","origin":"https://shop.example","new":[1]}"#;
        assert_eq!(read(right).as_deref(), Ok("AAAA"));
        assert_eq!(read(&right.replace(".get", ".create")), Err(WebauthnError::OtherOperation));
        for origin in
            ["http://shop.example", "https://shop.example:444", "https://evil.example", "https://SHOP.example"]
        {
            assert_eq!(read(&right.replace("https://shop.example", origin)), Err(WebauthnError::OtherSite), "{origin}");
        }
        let framed = right.replace(r#""new":[1]"#, r#""crossOrigin":true"#);
        assert_eq!(read(&framed), Err(WebauthnError::OtherSite));
        for broken in ["", "{}", "[]", &right[1..], &right.replace(r#""new""#, r#""origin""#)] {
            assert_eq!(read(broken), Err(WebauthnError::Malformed), "{broken}");
        }
    }

    proptest! {
        #[test]
        fn no_answer_panics(client in any::<Vec<u8>>(), object in any::<Vec<u8>>(), signature in any::<Vec<u8>>()) {
            let site = RelyingParty::of("https://shop.example").unwrap();
            let right = br#"{"type":"webauthn.create","challenge":"AAAA","origin":"https://shop.example"}"#;
            for client_data in [&client[..], right] {
                let registration = Registration { client_data, attestation_object: &object };
                prop_assert!(site.verify_registration(&registration).is_err());
                let assertion = Assertion { client_data, authenticator_data: &object, signature: &signature };
                prop_assert!(site.verify_assertion(&object, &assertion).is_err());
            }
        }
    }

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
