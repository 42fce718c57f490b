//! Secrets and signatures of Standard Webhooks.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;

/// What a secret begins with as text, so that scanners for leaked secrets know it.
const PREFIX: &str = "whsec_";
/// Bytes of a new secret. The specification allows 24 to 64.
const SECRET_BYTES: usize = 32;

/// A secret that the shop and one endpoint share.
#[derive(Clone)]
pub struct Secret(Vec<u8>);

impl Secret {
    pub fn random() -> Secret {
        Secret(rand::random::<[u8; SECRET_BYTES]>().to_vec())
    }

    pub(super) fn from_bytes(bytes: Vec<u8>) -> Option<Secret> {
        (!bytes.is_empty()).then_some(Secret(bytes))
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The text that the merchant's program is configured with.
    pub fn text(&self) -> String {
        format!("{PREFIX}{}", STANDARD.encode(&self.0))
    }

    /// One signature of the header `webhook-signature`: of the id, the time in seconds and the body, joined by dots.
    pub fn sign(&self, id: &str, seconds: i64, body: &[u8]) -> String {
        let mut context = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, &self.0));
        context.update(format!("{id}.{seconds}.").as_bytes());
        context.update(body);
        format!("v1,{}", STANDARD.encode(context.sign()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example that the specification's own libraries test.
    #[test]
    fn published_example_is_signed_alike() {
        let secret = Secret(STANDARD.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap());
        assert_eq!(secret.text(), "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
        let body = br#"{"test": 2432232314}"#;
        let signature = secret.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, body);
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn official_library_accepts_a_random_secret() {
        let (secret, body) = (Secret::random(), r#"{"type":"order.paid"}"#);
        let seconds = base::clock::Clock::system().now().as_second();
        let official = standardwebhooks::Webhook::new(&secret.text()).unwrap();
        let mut headers = axum::http::HeaderMap::new();
        headers.insert("webhook-id", "1".parse().unwrap());
        headers.insert("webhook-timestamp", seconds.to_string().parse().unwrap());
        headers.insert("webhook-signature", secret.sign("1", seconds, body.as_bytes()).parse().unwrap());
        official.verify(body.as_bytes(), &headers).unwrap();
        assert!(official.verify(b"{}", &headers).is_err());
    }
}
