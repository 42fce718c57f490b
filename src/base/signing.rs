//! What the shop's secret is for: signed texts, which the shop issues and later verifies without I/O (session cookies,
//! purchase tokens and others), and the encryption of what the database keeps secret.
//!
//! While the shop's secret is replaced there are two: texts are signed with the current one, and verified with either.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use ring::hmac;
use secrecy::{ExposeSecret, SecretString};

/// The shop's secret and, while it is being replaced, the old or the next one.
#[derive(Debug, Clone)]
pub struct ShopSecret {
    pub current: SecretString,
    /// Also accepted when texts are verified and decrypted; nothing is signed with it.
    pub previous: Option<SecretString>,
}

impl From<SecretString> for ShopSecret {
    fn from(current: SecretString) -> ShopSecret {
        ShopSecret { current, previous: None }
    }
}

/// Signs and verifies texts for one purpose. A text signed for another purpose, or with another secret, does not
/// verify.
#[derive(Clone)]
pub struct Signer {
    key: hmac::Key,
    previous: Option<hmac::Key>,
}

/// Derives the key for one purpose from the shop's secret.
pub fn key_for(secret: &SecretString, purpose: &str) -> [u8; 32] {
    let derived = hmac::sign(&key(secret.expose_secret().as_bytes()), purpose.as_bytes());
    derived.as_ref().try_into().expect("SHA-256 has 32 bytes")
}

fn key(bytes: &[u8]) -> hmac::Key {
    hmac::Key::new(hmac::HMAC_SHA256, bytes)
}

impl Signer {
    /// `purpose` must differ between kinds of texts. The secret should have at least 64 random bytes.
    pub fn new(secret: &ShopSecret, purpose: &str) -> Signer {
        let key = |secret| key(&key_for(secret, purpose));
        Signer { key: key(&secret.current), previous: secret.previous.as_ref().map(key) }
    }

    /// The payload with its signature, in characters that are valid in cookies, JSON and URLs.
    pub fn sign(&self, payload: &str) -> String {
        let mut text = URL_SAFE_NO_PAD.encode(payload);
        let signature = hmac::sign(&self.key, text.as_bytes());
        text.push('.');
        URL_SAFE_NO_PAD.encode_string(signature, &mut text);
        text
    }

    /// The signature alone, as bytes.
    pub fn digest(&self, payload: &[u8]) -> [u8; 32] {
        hmac::sign(&self.key, payload).as_ref().try_into().expect("SHA-256 has 32 bytes")
    }

    /// Appends to a text the signature alone, of a payload that the verifier knows by itself.
    pub fn append_signature(&self, payload: &[u8], text: &mut String) {
        URL_SAFE_NO_PAD.encode_string(hmac::sign(&self.key, payload), text);
    }

    /// Whether this is the payload's signature.
    pub fn verifies(&self, payload: &[u8], signature: &str) -> bool {
        let mut bytes = [0; 32];
        let Ok(length) = URL_SAFE_NO_PAD.decode_slice(signature, &mut bytes) else { return false };
        let fits = |key| hmac::verify(key, payload, &bytes[..length]).is_ok();
        fits(&self.key) || self.previous.as_ref().is_some_and(fits)
    }

    /// The payload of a signed text, or `None` when the signature is not valid for this purpose.
    pub fn verify(&self, signed: &str) -> Option<String> {
        let (text, signature) = signed.rsplit_once('.')?;
        if !self.verifies(text.as_bytes(), signature) {
            return None;
        }
        String::from_utf8(URL_SAFE_NO_PAD.decode(text).ok()?).ok()
    }
}

/// Digests of texts for one purpose. Without the shop's secret, a digest reveals neither the text nor whether a guess
/// is right.
#[derive(Clone)]
pub struct KeyedDigests {
    keys: Vec<hmac::Key>,
}

impl KeyedDigests {
    /// Bytes of a digest: enough that two texts never share one by chance.
    const BYTES: usize = 16;

    pub fn new(secret: &ShopSecret, purpose: &str) -> KeyedDigests {
        let secrets = std::iter::once(&secret.current).chain(&secret.previous);
        KeyedDigests { keys: secrets.map(|secret| key(&key_for(secret, purpose))).collect() }
    }

    /// The digest under each secret, in URL-safe base64. While the shop's secret is replaced, processes with either one
    /// have a digest in common.
    pub fn of(&self, text: &str) -> Vec<String> {
        let digest = |key| URL_SAFE_NO_PAD.encode(&hmac::sign(key, text.as_bytes()).as_ref()[..KeyedDigests::BYTES]);
        self.keys.iter().map(digest).collect()
    }
}

// Encryption of what the database keeps secret (XChaCha20-Poly1305), with a key from the shop's secret: a copy of the
// database alone opens nothing.
//
// While the shop's secret is replaced there are two: texts are encrypted with the current one, and decrypted with
// either.

const NONCE_BYTES: usize = 24;

/// Encrypts for one purpose. Each text is bound to its context, such as the account that it belongs to.
pub struct Cipher {
    current: XChaCha20Poly1305,
    /// Decrypts what was encrypted with the shop's other secret.
    previous: Option<XChaCha20Poly1305>,
}

impl Cipher {
    pub fn new(secret: &ShopSecret, purpose: &str) -> Cipher {
        let cipher = |secret| XChaCha20Poly1305::new(&key_for(secret, purpose).into());
        Cipher { current: cipher(&secret.current), previous: secret.previous.as_ref().map(cipher) }
    }

    /// Whether the shop's secret is being replaced.
    pub fn has_previous(&self) -> bool {
        self.previous.is_some()
    }

    pub fn encrypt(&self, context: &[u8], plain: &[u8]) -> Option<String> {
        let nonce: [u8; NONCE_BYTES] = rand::random();
        let mut encrypted = nonce.to_vec();
        encrypted.extend(self.current.encrypt(&XNonce::from(nonce), Payload { msg: plain, aad: context }).ok()?);
        Some(STANDARD_NO_PAD.encode(encrypted))
    }

    pub fn decrypt(&self, context: &[u8], encrypted: &str) -> Option<Vec<u8>> {
        decrypt_with(&self.current, context, encrypted).or_else(|| self.decrypt_previous(context, encrypted))
    }

    /// The same text encrypted with the current key, if it was encrypted with the other one.
    pub fn re_encrypt(&self, context: &[u8], encrypted: &str) -> Option<String> {
        self.encrypt(context, &self.decrypt_previous(context, encrypted)?)
    }

    fn decrypt_previous(&self, context: &[u8], encrypted: &str) -> Option<Vec<u8>> {
        decrypt_with(self.previous.as_ref()?, context, encrypted)
    }
}

fn decrypt_with(cipher: &XChaCha20Poly1305, context: &[u8], encrypted: &str) -> Option<Vec<u8>> {
    let encrypted = STANDARD_NO_PAD.decode(encrypted).ok()?;
    let (nonce, msg) = encrypted.split_first_chunk::<NONCE_BYTES>()?;
    cipher.decrypt(&XNonce::from(*nonce), Payload { msg, aad: context }).ok()
}

#[cfg(test)]
mod fuzz {
    use super::*;
    use testing::fuzz::texts;

    #[test]
    fn only_what_was_signed_verifies() {
        let signer = Signer::new(&SecretString::from("s".repeat(64)).into(), "session");
        let signed = ["user 7", "", "用户 7"].map(|payload| signer.sign(payload));
        texts(&signed, |text| assert_eq!(signer.verify(text).is_some(), signed.iter().any(|signed| signed == text)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_verifies_only_for_its_purpose_and_secret() {
        let secret = ShopSecret::from(SecretString::from("s".repeat(64)));
        let signer = Signer::new(&secret, "session");
        let signed = signer.sign("user 7");
        assert_eq!(signer.verify(&signed).as_deref(), Some("user 7"));
        assert_eq!(Signer::new(&secret, "token").verify(&signed), None);
        assert_eq!(Signer::new(&SecretString::from("t".repeat(64)).into(), "session").verify(&signed), None);
        for at in 0..signed.len() {
            let mut altered = signed.clone().into_bytes();
            altered[at] = if altered[at] == b'A' { b'B' } else { b'A' };
            let altered = String::from_utf8(altered).unwrap();
            // The last character of the signature has unused bits, which the decoder requires to be zero.
            assert_eq!(signer.verify(&altered), None, "{at}");
        }
        for nonsense in ["", ".", "a.b", &"x".repeat(10_000), "é.é"] {
            assert_eq!(signer.verify(nonsense), None);
        }
    }

    #[test]
    fn digests_meet_while_both_secrets_are_known_and_differ_by_purpose() {
        let secret = |letter: &str| SecretString::from(letter.repeat(64));
        let known = |current, previous: Option<&str>, purpose| {
            let secret = ShopSecret { current: secret(current), previous: previous.map(secret) };
            KeyedDigests::new(&secret, purpose).of("mei@shop.example")
        };
        let (before, during, after) = (known("a", None, "x"), known("b", Some("a"), "x"), known("b", None, "x"));
        assert_eq!(during, [after[0].clone(), before[0].clone()]);
        assert_ne!(before, after);
        assert_ne!(before, known("a", None, "y"));
        assert!(!before[0].contains("mei") && before[0].len() == 22);
    }

    #[test]
    fn text_of_the_other_secret_verifies_while_both_are_known() {
        let secret = |letter: &str| SecretString::from(letter.repeat(64));
        let known = |current, previous| {
            let previous: Option<&str> = previous;
            let secret = ShopSecret { current: secret(current), previous: previous.map(secret) };
            Signer::new(&secret, "session")
        };
        let (before, during, after) = (known("a", None), known("b", Some("a")), known("b", None));
        assert_eq!(during.verify(&before.sign("user 7")).as_deref(), Some("user 7"));
        assert_eq!(after.verify(&during.sign("user 7")).as_deref(), Some("user 7"));
        assert_eq!(known("a", Some("b")).verify(&during.sign("user 7")).as_deref(), Some("user 7"));
        assert_eq!(after.verify(&before.sign("user 7")), None);
        assert_eq!(known("c", Some("a")).verify(&after.sign("user 7")), None);
    }
}
