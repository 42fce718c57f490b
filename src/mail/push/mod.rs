//! Messages to browsers that have subscribed (Web Push). Urgent mail messages also go here, from the same outbox.
//!
//! - [`VapidKeys`]: the key by which push services know the shop (RFC 8292).
//! - [`encrypt`]: a message that only the browser can read (RFC 8291: `aes128gcm` of RFC 8188 in one record).
//! - [`outside`](crate::outside): one request to the address that a browser has named (RFC 8030).
//!
//! A push service keeps a message until its `TTL` is over, so a late "your turn" is dropped there, as it is here. The
//! text is a title, the path of a page and a tag; a newer message with the same tag replaces an older one on the
//! screen.

use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use boxed::boxed;
use futures::StreamExt;
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

use crate::letter::{fact, goods, is_assumed};
use crate::outside::{Limits, OutsideTransport};
use crate::{Outbox, TransportError};
use base::metrics::Metrics;
use base::signing::Cipher;
use base::signing::ShopSecret;
use domain::mail::{PUBLIC_KEY_BYTES, PushKeys};
use domain::{MailAddress, MailKind};
use store::{Mail, PushSubscription, Store, StoreResult};
use words::{fill, text};

/// Messages per step. A popular sale has many reminders.
const MAX_PUSHES: i64 = 200;
/// What one request may take. Nothing of an answer but its status is used.
const LIMITS: Limits = Limits { timeout: Duration::from_secs(10), answer: 0 };
/// Requests to push services at a time.
const CONCURRENCY: usize = 16;

/// Sends the messages that wait for browsers.
pub struct Pusher {
    pub store: Store,
    pub keys: Arc<VapidKeys>,
    pub transport: OutsideTransport,
    /// Where push services reach the operators: `mailto:…`.
    pub contact: String,
    pub metrics: Arc<Metrics>,
}

#[boxed]
impl Pusher {
    /// `contact` is the address by which push services reach the operators.
    pub fn new(
        store: Store,
        secret: &ShopSecret,
        transport: OutsideTransport,
        contact: &MailAddress,
        metrics: Arc<Metrics>,
    ) -> Pusher {
        let keys = Arc::new(VapidKeys::new(store.clone(), secret));
        Pusher { store, keys, transport, contact: format!("mailto:{}", contact.as_str()), metrics }
    }

    /// Encrypts the shop's key at push services with the current secret, if it was encrypted with the other one.
    pub async fn re_encrypt_key(&self) -> StoreResult<()> {
        if self.store.push().push_key().await?.is_some() {
            self.keys.load().await?;
        }
        Ok(())
    }

    /// Sends a bounded number of messages that are due. Returns the number of attempts.
    pub async fn step(&self) -> StoreResult<usize> {
        let due = self.store.mail().pushes_due(MAX_PUSHES).await?;
        if due.is_empty() {
            return Ok(0);
        }
        let key = &self.keys.load().await?;
        let outbox =
            &Outbox { store: &self.store, sent: &self.metrics.pushes_sent, failed: &self.metrics.pushes_failed };
        let attempts = futures::stream::iter(&due).for_each_concurrent(CONCURRENCY, |(mail, to)| async move {
            if let Err(error) = outbox.attempt(mail, async || self.send(key, mail, to).await).await {
                warn!(mail = mail.id, %error, "the outcome of a message is not recorded; it is sent again");
            }
        });
        attempts.await;
        Ok(due.len())
    }

    /// Sends a message. If the answer says that the browser has unsubscribed, its subscription and messages are
    /// deleted.
    async fn send(&self, key: &VapidKey, mail: &Mail, to: &PushSubscription) -> Result<(), TransportError> {
        let now = self.store.now().await.map_err(|error| TransportError::new(&error))?;
        let Some(body) = encrypt(&to.keys, payload(mail).to_string().as_bytes()) else {
            return self.forget(to, "its key is no point of the curve").await;
        };
        let headers = self.headers(key, mail, to, now)?;
        let answer = self.transport.post(&to.endpoint, headers, body, LIMITS).await?;
        match answer.status {
            status if status.is_success() => Ok(()),
            StatusCode::NOT_FOUND | StatusCode::GONE => self.forget(to, "the push service does not know it").await,
            status => Err(TransportError {
                // Another attempt may succeed after too many requests or a fault of the service.
                is_permanent: status.is_client_error() && status != StatusCode::TOO_MANY_REQUESTS,
                retry_after: answer.retry_after,
                ..TransportError::text(format!("the push service answered {status}"))
            }),
        }
    }

    async fn forget(&self, to: &PushSubscription, why: &str) -> Result<(), TransportError> {
        info!(subscription = to.id, why, "a browser is forgotten");
        self.store.push().end_subscription(&to.id).await.map_err(|error| TransportError::new(&error))
    }

    fn headers(
        &self,
        key: &VapidKey,
        mail: &Mail,
        to: &PushSubscription,
        now: Timestamp,
    ) -> Result<HeaderMap, TransportError> {
        let authorization = key.authorization(&to.endpoint, &self.contact, now).ok_or_else(|| TransportError {
            is_permanent: true,
            ..TransportError::text("the address of the push service is not valid")
        })?;
        let mut headers = HeaderMap::new();
        let authorization = HeaderValue::from_str(&authorization).map_err(|error| TransportError::new(&error))?;
        headers.insert(header::AUTHORIZATION, authorization);
        headers.insert("ttl", mail.expires_at.duration_since(now).as_secs().max(0).into());
        headers.insert("urgency", HeaderValue::from_static("high"));
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("aes128gcm"));
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
        Ok(headers)
    }
}

/// What the browser shows, and the page that it opens. No name, no address, no amount.
fn payload(mail: &Mail) -> Value {
    let t = &text(mail.locale).push;
    let (sale, order, goods) = (fact(mail, "sale"), fact(mail, "order"), goods(mail));
    let title = match mail.kind {
        MailKind::SaleStarts => fill(t.sale_starts, goods),
        MailKind::TurnCalled => fill(t.turn_called, goods),
        MailKind::DrawWon => fill(t.draw_won, goods),
        MailKind::DrawResult => fill(t.draw_result, goods),
        MailKind::UnitOffered => t.unit_offered.to_owned(),
        MailKind::ParcelShipped => t.parcel_shipped.to_owned(),
        MailKind::ParcelDelivered if is_assumed(mail) => t.parcel_assumed.to_owned(),
        MailKind::ParcelDelivered => t.parcel_delivered.to_owned(),
        MailKind::ReturnAccepted => t.return_accepted.to_owned(),
        MailKind::ReturnRefused => t.return_refused.to_owned(),
        MailKind::ReturnRefunded => t.return_refunded.to_owned(),
        _ => t.payment_ends.to_owned(),
    };
    let path = match mail.kind {
        MailKind::SaleStarts => format!("/{}/sales/{sale}", mail.locale),
        MailKind::TurnCalled => format!("/{}/sales/{sale}/line", mail.locale),
        MailKind::DrawResult => format!("/{}/sales/{sale}/entry", mail.locale),
        _ => format!("/{}/orders/{sale}/{order}", mail.locale),
    };
    json!({"title": title, "path": path, "tag": format!("sale-{sale}")})
}

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

#[boxed]
impl VapidKeys {
    pub fn new(store: Store, secret: &ShopSecret) -> VapidKeys {
        VapidKeys { store, cipher: Cipher::new(secret, "push"), loaded: OnceCell::new() }
    }

    /// The public half in the form that browsers take.
    pub async fn public(&self) -> StoreResult<String> {
        Ok(self.load().await?.public_text())
    }

    async fn load(&self) -> StoreResult<Arc<VapidKey>> {
        self.loaded.get_or_try_init(|| self.read()).await.cloned()
    }

    async fn read(&self) -> StoreResult<Arc<VapidKey>> {
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

struct VapidKey(EcdsaKeyPair);

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
    fn authorization(&self, endpoint: &str, contact: &str, now: Timestamp) -> Option<String> {
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
mod tests;
