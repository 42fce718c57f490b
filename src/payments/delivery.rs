//! Delivering a webhook: one signed POST.

use std::time::Duration;

use anyhow::{Context, ensure};
use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderValue, Request, Uri, header};
use http_body_util::Full;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use jiff::Timestamp;
use standardwebhooks::Webhook;

const ANSWER_WITHIN: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(super) struct Delivery {
    client: Client<HttpConnector, Full<Bytes>>,
    to: Uri,
}

impl Delivery {
    pub(super) fn new(to: &str) -> anyhow::Result<Delivery> {
        let to: Uri = to.parse().context("the address for webhooks")?;
        Ok(Delivery { client: Client::builder(TokioExecutor::new()).build_http(), to })
    }

    /// Posts a body; anything but a success within the time is a failure, after which it is posted again.
    pub(super) async fn post(&self, key: &Webhook, id: &str, at: Timestamp, body: &str) -> anyhow::Result<()> {
        let mut request = Request::post(self.to.clone()).body(Full::from(body.to_owned()))?;
        *request.headers_mut() = headers(key, id, at, body)?;
        let answer = tokio::time::timeout(ANSWER_WITHIN, self.client.request(request)).await;
        let status = answer.context("the shop does not answer")??.status();
        ensure!(status.is_success(), "the shop answered {status}");
        Ok(())
    }
}

/// The headers of a Standard Webhook.
pub(super) fn headers(key: &Webhook, id: &str, at: Timestamp, body: &str) -> anyhow::Result<HeaderMap> {
    let signature = key.sign(id, at.as_second(), body.as_bytes()).context("cannot sign")?;
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert("webhook-id", id.parse()?);
    headers.insert("webhook-timestamp", at.as_second().into());
    headers.insert("webhook-signature", signature.parse()?);
    Ok(headers)
}
