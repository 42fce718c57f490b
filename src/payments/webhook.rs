//! Standard Webhooks 1.0: signs, delivers and verifies payment reports, each one POST request.
//! <https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md>

use std::time::Duration;

use anyhow::{Context, ensure};
use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderValue, Request, Uri, header};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http_body_util::Full;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use jiff::Timestamp;
use ring::hmac;

pub(super) const ID: &str = "webhook-id";
pub(super) const TIMESTAMP: &str = "webhook-timestamp";
pub(super) const SIGNATURE: &str = "webhook-signature";

/// Seconds that a delivery may be old or ahead. The specification leaves the number open; its libraries use this one.
const TOLERANCE: u64 = 5 * 60;
/// HMAC-SHA256, the symmetric scheme of the specification.
const VERSION: &str = "v1";

/// The key of one sender.
pub(super) struct Webhook {
    key: hmac::Key,
}

impl Webhook {
    pub(super) fn new(key: &[u8]) -> Webhook {
        Webhook { key: hmac::Key::new(hmac::HMAC_SHA256, key) }
    }

    /// The value of the header `webhook-signature`.
    pub(super) fn sign(&self, id: &str, at: Timestamp, body: &[u8]) -> String {
        let signature = hmac::sign(&self.key, &signed_content(id, at.as_second(), body));
        format!("{VERSION},{}", STANDARD.encode(signature))
    }

    /// Verifies that one of the delivery's signatures fits its id, time and raw body, in constant time, and that it was
    /// signed just now, by the sender's clock.
    pub(super) fn verify(&self, body: &[u8], headers: &HeaderMap, now: Timestamp) -> anyhow::Result<()> {
        let header = |name| headers.get(name).with_context(|| format!("no {name}"))?.to_str().context(name);
        let seconds: i64 = header(TIMESTAMP)?.parse()?;
        let content = signed_content(header(ID)?, seconds, body);
        let fits = |signature: &str| match signature.split_once(',') {
            Some((VERSION, text)) => {
                STANDARD.decode(text).is_ok_and(|bytes| hmac::verify(&self.key, &content, &bytes).is_ok())
            }
            _ => false,
        };
        ensure!(header(SIGNATURE)?.split(' ').any(fits), "no signature fits");
        ensure!(seconds.abs_diff(now.as_second()) <= TOLERANCE, "too old, or of the future");
        Ok(())
    }
}

fn signed_content(id: &str, seconds: i64, body: &[u8]) -> Vec<u8> {
    [format!("{id}.{seconds}.").as_bytes(), body].concat()
}

/// How long the shop may take to answer. Delivery is retried, so it need not be long.
const DELIVERY_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) struct WebhookClient {
    client: Client<HttpConnector, Full<Bytes>>,
    to: Uri,
}

impl WebhookClient {
    pub(super) fn new(to: &str) -> anyhow::Result<WebhookClient> {
        let to: Uri = to.parse().context("invalid webhook URL")?;
        Ok(WebhookClient { client: Client::builder(TokioExecutor::new()).build_http(), to })
    }

    /// Posts a webhook.
    ///
    /// # Errors
    /// The shop did not answer with a success status within [`DELIVERY_TIMEOUT`]. The caller retries later.
    pub(super) async fn post(&self, key: &Webhook, id: &str, at: Timestamp, body: &str) -> anyhow::Result<()> {
        let mut request = Request::post(self.to.clone()).body(Full::from(body.to_owned()))?;
        *request.headers_mut() = headers(key, id, at, body)?;
        let answer = tokio::time::timeout(DELIVERY_TIMEOUT, self.client.request(request)).await;
        let status = answer.context("the shop did not answer in time")??.status();
        ensure!(status.is_success(), "the shop answered {status}");
        Ok(())
    }
}

/// The headers of a Standard Webhook.
pub(super) fn headers(key: &Webhook, id: &str, at: Timestamp, body: &str) -> anyhow::Result<HeaderMap> {
    let signature = key.sign(id, at, body.as_bytes());
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ID, id.parse()?);
    headers.insert(TIMESTAMP, at.as_second().into());
    headers.insert(SIGNATURE, signature.parse()?);
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &[u8] = br#"{"email":"test@example.com","username":"test_user"}"#;

    fn webhook() -> Webhook {
        Webhook::new(&STANDARD.decode("C2FVsBQIhrscChlQIMV+b5sSYspob7oD").unwrap())
    }

    fn headers(id: &str, timestamp: &str, signature: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in [(ID, id), (TIMESTAMP, timestamp), (SIGNATURE, signature)] {
            headers.insert(name, value.parse().unwrap());
        }
        headers
    }

    /// The example of the specification's reference libraries.
    #[test]
    fn webhook_signature_is_that_of_the_reference_libraries() {
        let at = Timestamp::from_second(1_649_367_553).unwrap();
        let signature = webhook().sign("msg_27UH4WbU6Z5A5EzD8u03UvzRbpk", at, BODY);
        assert_eq!(signature, "v1,tZ1I4/hDygAJgO5TYxiSd6Sd0kDW6hPenDe+bTa3Kkw=");
    }

    #[test]
    fn webhook_is_verified_as_a_whole() {
        let at = Timestamp::from_second(1_800_000_000).unwrap();
        let signature = webhook().sign("msg_1", at, BODY);
        let verifies = |id: &str, timestamp: &str, signature: &str, body: &[u8]| {
            webhook().verify(body, &headers(id, timestamp, signature), at).is_ok()
        };
        assert!(verifies("msg_1", "1800000000", &signature, BODY));
        assert!(verifies("msg_1", "1800000000", &format!("v1a,AAAA v1,AAAA {signature}"), BODY), "one of several");
        assert!(!verifies("msg_2", "1800000000", &signature, BODY));
        assert!(!verifies("msg_1", "1800000001", &signature, BODY));
        assert!(!verifies("msg_1", "soon", &signature, BODY));
        assert!(!verifies("msg_1", "1800000000", &signature, b"{}"));
        assert!(!verifies("msg_1", "1800000000", &signature.replace("v1,", "v2,"), BODY));
        for part in ["", "v1", "v1,", "v1,%", &signature[..signature.len() - 4]] {
            assert!(!verifies("msg_1", "1800000000", part, BODY), "{part:?}");
        }
        for missing in [ID, TIMESTAMP, SIGNATURE] {
            let mut headers = headers("msg_1", "1800000000", &signature);
            headers.remove(missing);
            assert!(webhook().verify(BODY, &headers, at).is_err(), "without {missing}");
        }
    }

    #[test]
    fn webhook_is_accepted_for_five_minutes() {
        let at = Timestamp::from_second(1_800_000_000).unwrap();
        let headers = headers("msg_1", "1800000000", &webhook().sign("msg_1", at, BODY));
        let verifies_at = |seconds| webhook().verify(BODY, &headers, Timestamp::from_second(seconds).unwrap()).is_ok();
        assert!(verifies_at(1_800_000_300) && verifies_at(1_799_999_700));
        assert!(!verifies_at(1_800_000_301) && !verifies_at(1_799_999_699));
    }
}
