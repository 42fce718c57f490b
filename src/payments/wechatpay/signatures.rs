//! The signatures of WeChat Pay. Requests are signed with the merchant's key over method, path, time, nonce and body, and
//! answers and notices with a key of the platform over time, nonce and body, each part with the end of its line.
//!
//! `Wechatpay-Serial` names the platform's key: the public key of the settings, or a certificate. Certificates are
//! replaced every few years and overlap then. They are fetched when an unknown one is named, and come encrypted with the v3
//! key, so no other can send them.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use anyhow::{Context, anyhow, ensure};
use axum::http::{HeaderMap, Method};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use secrecy::ExposeSecret;
use serde::Deserialize;
use uuid::Uuid;

use super::{WechatPay, refusal, refused};
use crate::PaymentError;
use base::config::WechatPayConfig;
use base::locked;
use base::rsa::VerifyingKey;

pub(super) const SERIAL: &str = "wechatpay-serial";
pub(super) const SIGNATURE: &str = "wechatpay-signature";
const TIMESTAMP: &str = "wechatpay-timestamp";
const NONCE: &str = "wechatpay-nonce";
const SCHEME: &str = "WECHATPAY2-SHA256-RSA2048";
/// Seconds that a signature may be old or ahead, as WeChat Pay's libraries have it.
const TOLERANCE: u64 = 5 * 60;
/// Anyone can name an unknown certificate, so they are fetched no more often than this.
const MIN_FETCH_PAUSE: Duration = Duration::from_secs(10);

/// The keys of the merchant and of the platform.
pub(super) struct Signatures {
    config: WechatPayConfig,
    v3_key: LessSafeKey,
    certificates: Mutex<HashMap<String, VerifyingKey>>,
    /// When the certificates were fetched. The lock is held while they are.
    fetched_at: tokio::sync::Mutex<Option<Timestamp>>,
}

/// What is encrypted with the v3 key.
#[derive(Deserialize)]
pub(super) struct Encrypted {
    ciphertext: String,
    nonce: String,
    associated_data: Option<String>,
}

#[derive(Deserialize)]
struct Certificates {
    data: Vec<Certificate>,
}

#[derive(Deserialize)]
struct Certificate {
    serial_no: String,
    encrypt_certificate: Encrypted,
}

/// The headers of a signed answer or notice.
struct Signed<'a> {
    serial: &'a str,
    signature: &'a str,
    /// In seconds.
    at: i64,
    message: Vec<u8>,
}

impl<'a> Signed<'a> {
    fn read(headers: &'a HeaderMap, body: &[u8]) -> Option<Signed<'a>> {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let (time, nonce) = (text(TIMESTAMP)?, text(NONCE)?);
        let message = [format!("{time}\n{nonce}\n").as_bytes(), body, b"\n"].concat();
        Some(Signed { serial: text(SERIAL)?, signature: text(SIGNATURE)?, at: time.parse().ok()?, message })
    }

    fn verify(&self, key: &VerifyingKey, now: Timestamp) -> bool {
        key.verifies(&self.message, self.signature) && self.at.abs_diff(now.as_second()) <= TOLERANCE
    }
}

impl Signatures {
    pub(super) fn new(config: &WechatPayConfig) -> anyhow::Result<Signatures> {
        let v3_key = UnboundKey::new(&AES_256_GCM, config.v3_key.expose_secret().as_bytes());
        let v3_key = v3_key.map_err(|_| anyhow!("SECKILL_WECHATPAY_V3_KEY has not 32 characters"))?;
        Ok(Signatures {
            config: config.clone(),
            v3_key: LessSafeKey::new(v3_key),
            certificates: Mutex::default(),
            fetched_at: tokio::sync::Mutex::default(),
        })
    }

    pub(super) fn has_public_key(&self) -> bool {
        self.config.public_key.is_some()
    }

    /// What answers are verified with, for messages.
    pub(super) fn key_in_words(&self) -> &'static str {
        if self.has_public_key() { "SECKILL_WECHATPAY_PUBLIC_KEY" } else { "its certificates" }
    }

    pub(super) fn public_key_id(&self) -> Option<&str> {
        self.config.public_key.as_ref().map(|(id, _)| id.as_str())
    }

    /// The header `Authorization`. `path` has its query.
    pub(super) fn authorization(
        &self,
        method: &Method,
        path: &str,
        now: Timestamp,
        body: &str,
    ) -> anyhow::Result<String> {
        let (time, nonce) = (now.as_second(), Uuid::new_v4().simple());
        let signature = self.config.key.sign(format!("{method}\n{path}\n{time}\n{nonce}\n{body}\n").as_bytes())?;
        let WechatPayConfig { mchid, serial, .. } = &self.config;
        Ok(format!(
            "{SCHEME} mchid=\"{mchid}\",nonce_str=\"{nonce}\",signature=\"{signature}\",timestamp=\"{time}\",serial_no=\"{serial}\""
        ))
    }

    /// Opens what the platform encrypted, as AES-256-GCM.
    pub(super) fn decrypt(&self, encrypted: &Encrypted) -> anyhow::Result<Vec<u8>> {
        let nonce =
            Nonce::try_assume_unique_for_key(encrypted.nonce.as_bytes()).map_err(|_| anyhow!("a wrong nonce"))?;
        let mut text = STANDARD.decode(&encrypted.ciphertext)?;
        let context = Aad::from(encrypted.associated_data.as_deref().unwrap_or_default());
        let opened = self.v3_key.open_in_place(nonce, context, &mut text).map(|opened| opened.len());
        let length = opened.map_err(|_| anyhow!("SECKILL_WECHATPAY_V3_KEY does not open what WeChat Pay sent"))?;
        text.truncate(length);
        Ok(text)
    }

    fn known(&self, serial: &str) -> Option<VerifyingKey> {
        let own = self.config.public_key.as_ref().filter(|(id, _)| id == serial).map(|(_, key)| key.clone());
        own.or_else(|| locked(&self.certificates).get(serial).cloned())
    }
}

impl WechatPay {
    /// Verifies an answer or a notice over its raw body.
    ///
    /// # Errors
    /// [`PaymentError::BadSignature`]; [`PaymentError::Provider`] if the certificates could not be fetched.
    pub(super) async fn verify(&self, headers: &HeaderMap, body: &[u8], now: Timestamp) -> Result<(), PaymentError> {
        let signed = Signed::read(headers, body).ok_or(PaymentError::BadSignature)?;
        let key = self.platform_key(signed.serial).await?.ok_or(PaymentError::BadSignature)?;
        signed.verify(&key, now).then_some(()).ok_or(PaymentError::BadSignature)
    }

    async fn platform_key(&self, serial: &str) -> Result<Option<VerifyingKey>, PaymentError> {
        if let Some(known) = self.signatures.known(serial) {
            return Ok(Some(known));
        }
        let mut fetched_at = self.signatures.fetched_at.lock().await;
        let now = self.clock.now();
        let is_recent = fetched_at.is_some_and(|at| now.duration_since(at).unsigned_abs() < MIN_FETCH_PAUSE);
        // Another request may have fetched it while this one waited for the lock.
        if self.signatures.known(serial).is_none() && !is_recent {
            *fetched_at = Some(now);
            self.fetch_certificates().await.map_err(PaymentError::Provider)?;
        }
        Ok(self.signatures.known(serial))
    }

    /// Replaces the known certificates by the present ones.
    pub(super) async fn fetch_certificates(&self) -> anyhow::Result<()> {
        let answer = self.send(Method::GET, "/v3/certificates", None).await?;
        if !answer.status.is_success() {
            let refused = refused(refusal(answer.status, &answer.body)?);
            return Err(
                refused.context("no certificate of WeChat Pay; accounts without one need SECKILL_WECHATPAY_PUBLIC_KEY")
            );
        }
        let list: Certificates = serde_json::from_slice(&answer.body)?;
        let mut keys = HashMap::new();
        for certificate in list.data {
            let text = String::from_utf8(self.signatures.decrypt(&certificate.encrypt_certificate)?)?;
            keys.insert(certificate.serial_no, VerifyingKey::parse(&text)?);
        }
        let signed = Signed::read(&answer.headers, &answer.body).context("the certificates are not signed")?;
        let key = keys.get(signed.serial).or_else(|| {
            let own = self.config.public_key.as_ref();
            own.filter(|(id, _)| id == signed.serial).map(|(_, key)| key)
        });
        let is_signed = key.is_some_and(|key| signed.verify(key, self.clock.now()));
        ensure!(is_signed, "the certificates are not signed by one of them");
        *locked(&self.signatures.certificates) = keys;
        Ok(())
    }
}
