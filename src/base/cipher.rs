//! Encryption of what the database keeps secret (XChaCha20-Poly1305), with a key from the shop's secret: a copy of the
//! database alone opens nothing.
//!
//! While the shop's secret is replaced there are two: texts are encrypted with the current one, and decrypted with
//! either.

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};

use crate::signing::{ShopSecret, key_for};

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
