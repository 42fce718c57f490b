//! Signed texts that the shop hands out and later believes without asking anybody: session cookies and purchase tokens.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use secrecy::{ExposeSecret, SecretString};
use sha2::Sha256;

/// Signs and checks texts for one purpose. A text sealed for another purpose, or by another shop, is not believed.
#[derive(Clone)]
pub struct Signer {
    keyed: Hmac<Sha256>,
}

/// A key for one purpose, made from the shop's secret.
pub fn key_for(secret: &SecretString, purpose: &str) -> [u8; 32] {
    keyed(secret.expose_secret().as_bytes()).chain_update(purpose).finalize().into_bytes().into()
}

fn keyed(key: &[u8]) -> Hmac<Sha256> {
    Hmac::new_from_slice(key).expect("HMAC takes keys of any length")
}

impl Signer {
    /// `purpose` must differ between kinds of texts. The secret should have at least 64 random bytes.
    pub fn new(secret: &SecretString, purpose: &str) -> Signer {
        Signer { keyed: keyed(&key_for(secret, purpose)) }
    }

    /// The payload with its signature, in characters that fit cookies, JSON and URLs.
    pub fn seal(&self, payload: &str) -> String {
        let mut text = URL_SAFE_NO_PAD.encode(payload);
        let signature = self.keyed.clone().chain_update(text.as_bytes()).finalize().into_bytes();
        text.push('.');
        URL_SAFE_NO_PAD.encode_string(signature, &mut text);
        text
    }

    /// The payload, if this shop sealed it for this purpose.
    pub fn open(&self, sealed: &str) -> Option<String> {
        let (text, signature) = sealed.rsplit_once('.')?;
        let mut bytes = [0; 32];
        let length = URL_SAFE_NO_PAD.decode_slice(signature, &mut bytes).ok()?;
        self.keyed.clone().chain_update(text.as_bytes()).verify_slice(&bytes[..length]).ok()?;
        String::from_utf8(URL_SAFE_NO_PAD.decode(text).ok()?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_sealed_for_the_purpose_opens() {
        let secret = SecretString::from("s".repeat(64));
        let sealer = Signer::new(&secret, "session");
        let sealed = sealer.seal("user 7");
        assert_eq!(sealer.open(&sealed).as_deref(), Some("user 7"));
        assert_eq!(Signer::new(&secret, "token").open(&sealed), None);
        assert_eq!(Signer::new(&SecretString::from("t".repeat(64)), "session").open(&sealed), None);
        for at in 0..sealed.len() {
            let mut altered = sealed.clone().into_bytes();
            altered[at] = if altered[at] == b'A' { b'B' } else { b'A' };
            let altered = String::from_utf8(altered).unwrap();
            // The last character of the signature carries unused bits, which the decoder refuses unless they are zero.
            assert_eq!(sealer.open(&altered), None, "{at}");
        }
        for nonsense in ["", ".", "a.b", &"x".repeat(10_000), "é.é"] {
            assert_eq!(sealer.open(nonsense), None);
        }
    }
}
