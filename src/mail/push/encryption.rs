//! Encryption of a message for one browser (RFC 8291: `aes128gcm` of RFC 8188 in one record).

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::{SignedDuration, Timestamp};
use ring::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::agreement::{ECDH_P256, EphemeralPrivateKey, UnparsedPublicKey, agree_ephemeral};
use ring::hkdf::{HKDF_SHA256, KeyType, Salt};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Value, json};
use tokio::sync::OnceCell;
use tracing::{info, warn};
use url::Url;

use base::cipher::Cipher;
use base::signing::ShopSecret;
use domain::push::{PUBLIC_KEY_BYTES, PushKeys};
use store::{Store, StoreError};

const SALT_BYTES: usize = 16;
const KEY_BYTES: usize = 16;
const NONCE_BYTES: usize = 12;
/// The record size that the header of the message names. Its one record is shorter.
const RECORD_BYTES: u32 = 4096;
/// What follows the text in the last record (RFC 8188).
const LAST_RECORD: u8 = 2;

/// The message as the browser decrypts it, with a key and a salt of its own. `None` when the browser's key is not a
/// point of the curve.
pub fn encrypt(to: &PushKeys, text: &[u8]) -> Option<Vec<u8>> {
    let own = EphemeralPrivateKey::generate(&ECDH_P256, &SystemRandom::new()).ok()?;
    let own_public: [u8; PUBLIC_KEY_BYTES] = own.compute_public_key().ok()?.as_ref().try_into().ok()?;
    let browser = UnparsedPublicKey::new(&ECDH_P256, to.p256dh);
    let seal = |shared: &[u8]| seal(to, &own_public, shared, &rand::random(), text);
    agree_ephemeral(own, &browser, seal).ok()?
}

/// The message for a shared secret, a public key and a salt.
fn seal(
    to: &PushKeys,
    own_public: &[u8; PUBLIC_KEY_BYTES],
    shared: &[u8],
    salt: &[u8; SALT_BYTES],
    text: &[u8],
) -> Option<Vec<u8>> {
    let info = [b"WebPush: info\0", to.p256dh.as_slice(), own_public].concat();
    let secret: [u8; 32] = derive(&to.auth, shared, &info)?;
    let key: [u8; KEY_BYTES] = derive(salt, &secret, b"Content-Encoding: aes128gcm\0")?;
    let nonce: [u8; NONCE_BYTES] = derive(salt, &secret, b"Content-Encoding: nonce\0")?;
    let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &key).ok()?);
    let mut record = [text, &[LAST_RECORD]].concat();
    key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::empty(), &mut record).ok()?;
    let mut message = salt.to_vec();
    message.extend(RECORD_BYTES.to_be_bytes());
    message.push(PUBLIC_KEY_BYTES as u8);
    message.extend(own_public);
    message.extend(record);
    Some(message)
}

/// The length in bytes of a derived key.
struct Length(usize);

impl KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

/// HKDF of SHA-256, both steps.
fn derive<const N: usize>(salt: &[u8], secret: &[u8], info: &[u8]) -> Option<[u8; N]> {
    let mut derived = [0; N];
    let extracted = Salt::new(HKDF_SHA256, salt).extract(secret);
    extracted.expand(&[info], Length(N)).ok()?.fill(&mut derived).ok()?;
    Some(derived)
}

// The shop's key at push services (VAPID, RFC 8292). Browsers subscribe to its public half, and their services take
// only messages that are signed with the private half. It is made once and kept in the database, encrypted with the
// shop's secret.

/// The context that the encrypted key is bound to.
const CONTEXT: &[u8] = b"vapid";
/// Push services accept at most a day.
const TOKEN_LIFETIME: SignedDuration = SignedDuration::from_hours(12);

/// The key of this shop, read at its first use.
pub struct VapidKeys {
    store: Store,
    cipher: Cipher,
    loaded: OnceCell<Arc<VapidKey>>,
}

impl VapidKeys {
    pub fn new(store: Store, secret: &ShopSecret) -> VapidKeys {
        VapidKeys { store, cipher: Cipher::new(secret, "push"), loaded: OnceCell::new() }
    }

    /// The public half in the form that browsers take.
    pub async fn public(&self) -> Result<String, StoreError> {
        Ok(self.load().await?.public_text())
    }

    pub(super) async fn load(&self) -> Result<Arc<VapidKey>, StoreError> {
        self.loaded.get_or_try_init(|| self.read()).await.cloned()
    }

    async fn read(&self) -> Result<Arc<VapidKey>, StoreError> {
        loop {
            let Some(encrypted) = self.store.push().push_key().await? else {
                let new = VapidKey::generate().and_then(|document| self.cipher.encrypt(CONTEXT, &document));
                // If several processes make a key, the first one's is stored, and the others read it.
                self.store.push().add_push_key(&new.expect("a key can be made and encrypted")).await?;
                continue;
            };
            if let Some(new) = self.cipher.re_encrypt(CONTEXT, &encrypted) {
                self.store.push().re_encrypt_push_key(&encrypted, &new).await?;
                info!("encrypted the key for push services with the new secret");
            }
            let document = self.cipher.decrypt(CONTEXT, &encrypted);
            match document.and_then(|document| VapidKey::from_document(&document)) {
                Some(key) => return Ok(Arc::new(key)),
                None => {
                    warn!(
                        "the key for push services was encrypted with another secret; browsers have to subscribe again"
                    );
                    self.store.push().drop_push_key(&encrypted).await?;
                }
            }
        }
    }
}

pub(super) struct VapidKey(EcdsaKeyPair);

impl VapidKey {
    /// A new key as a PKCS #8 document.
    fn generate() -> Option<Vec<u8>> {
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
        Some(document.ok()?.as_ref().to_vec())
    }

    fn from_document(document: &[u8]) -> Option<VapidKey> {
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document, &SystemRandom::new());
        pair.ok().map(VapidKey)
    }

    fn public_text(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.0.public_key())
    }

    /// The header that shows a push service the sender: a signed token for its origin. `None` for an address without
    /// one.
    pub(super) fn authorization(&self, endpoint: &str, contact: &str, now: Timestamp) -> Option<String> {
        let audience = Url::parse(endpoint).ok()?.origin().ascii_serialization();
        let expires = now.saturating_add(TOKEN_LIFETIME).ok()?.as_second();
        let part = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let header = part(json!({"typ": "JWT", "alg": "ES256"}));
        let token = format!("{header}.{}", part(json!({"aud": audience, "exp": expires, "sub": contact})));
        let signature = self.0.sign(&SystemRandom::new(), token.as_bytes()).ok()?;
        Some(format!("vapid t={token}.{}, k={}", URL_SAFE_NO_PAD.encode(signature), self.public_text()))
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;

    use super::*;

    fn bytes<const N: usize>(text: &str) -> [u8; N] {
        URL_SAFE_NO_PAD.decode(text).unwrap().try_into().unwrap()
    }

    /// Section 5 and appendix A of RFC 8291.
    #[test]
    fn example_of_the_standard_is_reproduced() {
        let keys = PushKeys::parse(
            "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
            "BTBZMqHH6r4Tts7J_aSIgg",
        );
        let own = bytes("BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8");
        let shared: [u8; 32] = bytes("kyrL1jIIOHEzg3sM2ZWRHDRB62YACZhhSlknJ672kSs");
        let salt = bytes("DGv6ra1nlYgDCS1FRnbzlw");
        let message = seal(&keys.unwrap(), &own, &shared, &salt, b"When I grow up, I want to be a watermelon").unwrap();
        assert_eq!(
            URL_SAFE_NO_PAD.encode(message),
            "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
        );
    }

    #[test]
    fn key_that_is_no_point_of_the_curve_is_refused() {
        let keys = PushKeys { p256dh: [4; PUBLIC_KEY_BYTES], auth: [0; 16] };
        assert_eq!(encrypt(&keys, b"text"), None);
    }
}
