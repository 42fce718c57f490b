//! Delivery of a webhook: one signed POST request.

use std::time::Duration;

use anyhow::{Context, ensure};
use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderValue, Request, Uri, header};
use http_body_util::Full;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use jiff::Timestamp;

use super::webhook::{self, Webhook};

/// How long the shop may take to answer. Delivery is retried, so it need not be long.
const DELIVERY_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Debug)]
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
    headers.insert(webhook::ID, id.parse()?);
    headers.insert(webhook::TIMESTAMP, at.as_second().into());
    headers.insert(webhook::SIGNATURE, signature.parse()?);
    Ok(headers)
}
