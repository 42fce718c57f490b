//! The shop's key at push services (VAPID, RFC 8292). Browsers subscribe to its public half, and their services take
//! only messages that are signed with the private half. It is made once and kept in the database, encrypted with the
//! shop's secret.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::{SignedDuration, Timestamp};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::OnceCell;
use tracing::{info, warn};
use url::Url;

use base::cipher::Cipher;
use base::signing::ShopSecret;
use store::{Store, StoreError};

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
