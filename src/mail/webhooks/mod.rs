//! Events that go to programs of the merchant, signed as [Standard Webhooks](https://www.standardwebhooks.com) says.
//! The database has the events and their deliveries ([`store`](store)); data control makes and sends them. What a
//! request may reach is in [`outside`](crate::outside).
//!
//! An event is sent at least once, as messages are: an attempt is counted before it is made, so a process that dies
//! leaves an event that is sent again, with the same id and the same bytes. Each endpoint has a worker of its own, so
//! one that is slow or away delays no other. Nothing promises that events arrive in order; their sequence tells it.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use boxed::boxed;
use futures::StreamExt;
use jiff::Timestamp;
use ring::hmac;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tracing::{info, warn};
use uuid::Uuid;

use crate::TransportError;
use crate::outside::{Limits, OutsideTransport};
use base::locked;
use base::metrics::Metrics;
use base::signing::Cipher;
use base::signing::ShopSecret;
use domain::event::{self, EndpointState, EventChoice};
use store::{AttemptResult, DueEvent, Endpoint, Followed, NextStep, Store, StoreResult};

/// What one request may take, and the part of an answer that staff can read.
const LIMITS: Limits = Limits { timeout: Duration::from_secs(5), answer: 1024 };
/// How long an attempt may take before it is made again. Longer than the limits of the transport.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(15);
/// Requests to one endpoint at a time.
const CONCURRENCY: usize = 4;
/// Events that a worker reads at a time.
const MAX_DUE: i64 = 50;
/// How long a worker goes on before the next step decides whether it is still needed.
const WORKER_TIME: Duration = Duration::from_secs(10);
/// Pages of changes per step.
const MAX_PAGES: usize = 50;
/// How long the secret before the last one still signs.
const PREVIOUS_SECRET_LIFETIME: Duration = Duration::from_secs(24 * 3600);
/// By how much a wait is longer or shorter at most, in thousandths, so that events that failed together do not all come
/// back together.
const JITTER: u128 = 100;
const USER_AGENT: &str = concat!("seckill/", env!("CARGO_PKG_VERSION"));

/// Makes events and sends them. Also what staff do with endpoints, as far as it takes their secrets.
pub struct Webhooks {
    store: Store,
    cipher: Cipher,
    transport: OutsideTransport,
    metrics: Arc<Metrics>,
    workers: Mutex<Workers>,
}

/// The endpoints that are being served, and the tasks that do it. They end with the process.
#[derive(Default)]
struct Workers {
    busy: HashSet<String>,
    tasks: JoinSet<()>,
}

#[boxed]
impl Webhooks {
    pub fn new(store: Store, secret: &ShopSecret, transport: OutsideTransport, metrics: Arc<Metrics>) -> Webhooks {
        let cipher = Cipher::new(secret, "webhooks");
        Webhooks { store, cipher, transport, metrics, workers: Mutex::default() }
    }

    /// Makes the events of what happened, and sees to it that each endpoint with due events is served.
    pub async fn step(self: &Arc<Self>) -> StoreResult<()> {
        for _ in 0..MAX_PAGES {
            match self.store.events().follow().await? {
                Followed::Nobody => {
                    self.metrics.events_waiting.set(0);
                    return Ok(());
                }
                Followed::All => break,
                Followed::More => {}
                Followed::Gap => {
                    warn!("changes of orders were deleted before they became events; going on with the oldest")
                }
            }
        }
        self.metrics.events_waiting.set(self.store.events().waiting().await?);
        for endpoint in self.store.events().endpoints_due().await? {
            let mut workers = locked(&self.workers);
            while workers.tasks.try_join_next().is_some() {}
            if workers.busy.insert(endpoint.clone()) {
                workers.tasks.spawn(self.clone().serve(endpoint));
            }
        }
        Ok(())
    }

    /// Waits until no endpoint is being served: for tests.
    pub async fn settle(&self) {
        while !locked(&self.workers).busy.is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    async fn serve(self: Arc<Self>, id: String) {
        let _serving = Serving { webhooks: &self, endpoint: &id };
        if let Err(error) = self.send_due(&id).await {
            warn!(endpoint = id, %error, "events are not sent for now; they will be");
        }
    }

    /// Sends what is due at an endpoint, until nothing is or the time is over.
    async fn send_due(&self, id: &str) -> StoreResult<()> {
        let began = Instant::now();
        while began.elapsed() < WORKER_TIME {
            let Some(endpoint) = self.store.events().endpoint(id).await? else { break };
            if endpoint.state != EndpointState::On {
                break;
            }
            let due = self.store.events().due(id, MAX_DUE).await?;
            if due.is_empty() {
                break;
            }
            let secrets = self.signing_secrets(&endpoint).await?;
            let attempts = futures::stream::iter(&due).for_each_concurrent(CONCURRENCY, |event| {
                let (endpoint, secrets) = (&endpoint, &secrets);
                async move {
                    if let Err(error) = self.attempt(endpoint, secrets, event).await {
                        warn!(event = event.id, %error, "the outcome of an event is not recorded; it is sent again");
                    }
                }
            });
            attempts.await;
        }
        Ok(())
    }

    /// Makes one attempt, unless another process does.
    async fn attempt(&self, endpoint: &Endpoint, secrets: &[Secret], event: &DueEvent) -> StoreResult<()> {
        if !self.store.events().claim(&endpoint.id, event, ATTEMPT_TIMEOUT).await? {
            return Ok(());
        }
        let (at, began) = (self.store.now().await?, Instant::now());
        let answer = match headers(secrets, event, at) {
            Some(headers) => self.transport.post(&endpoint.url, headers, event.body.clone().into_bytes(), LIMITS).await,
            None => Err(TransportError::text("the signing secret cannot be decrypted; replace it")),
        };
        let attempts = event.attempts + 1;
        let retry = |at_least: Option<Duration>| match event::retry_after(attempts) {
            Some(wait) => NextStep::Again(with_jitter(wait).max(at_least.unwrap_or_default())),
            None => NextStep::GiveUp,
        };
        let (status, text, next) = match answer {
            Ok(answer) => {
                let next = match answer.status {
                    status if status.is_success() => NextStep::Delivered,
                    StatusCode::GONE => NextStep::Gone,
                    _ => retry(answer.retry_after),
                };
                (Some(answer.status.as_u16()), readable(&answer.body), next)
            }
            Err(error) => (None, readable(error.text.as_bytes()), retry(None)),
        };
        let counter = if next == NextStep::Delivered { &self.metrics.events_sent } else { &self.metrics.events_failed };
        counter.inc();
        let result = AttemptResult { at, took: began.elapsed(), status, answer: text };
        if self.store.events().record(endpoint, event, &result, next).await? {
            warn!(endpoint = endpoint.id, "an endpoint failed for days and is disabled; the owners get a message");
        } else if next != NextStep::Delivered {
            info!(endpoint = endpoint.id, event = event.id, attempts, status, "an event was not accepted");
        }
        Ok(())
    }

    /// The secrets that sign now, the newest first; empty if the newest cannot be decrypted.
    async fn signing_secrets(&self, of: &Endpoint) -> StoreResult<Vec<Secret>> {
        let now = self.store.now().await?;
        let previous = of.previous.as_ref().filter(|(_, until)| *until > now).map(|(secret, _)| secret);
        let Some(secret) = self.decrypt(of, &of.secret) else { return Ok(Vec::new()) };
        let previous = previous.and_then(|previous| self.decrypt(of, previous));
        Ok(std::iter::once(secret).chain(previous).collect())
    }

    /// Finds secrets of endpoints that were encrypted with the shop's other secret and encrypts them with the current
    /// one. Returns how many. May run in several processes at once.
    pub async fn re_encrypt_secrets(&self) -> StoreResult<u64> {
        let mut changed = 0;
        for Endpoint { id, secret, previous, .. } in self.store.events().endpoints().await? {
            for old in std::iter::once(secret).chain(previous.map(|(secret, _)| secret)) {
                if let Some(new) = self.cipher.re_encrypt(id.as_bytes(), &old) {
                    self.store.events().re_encrypt_secret(&id, &old, &new).await?;
                    changed += 1;
                }
            }
        }
        Ok(changed)
    }

    fn decrypt(&self, of: &Endpoint, encrypted: &str) -> Option<Secret> {
        Secret::from_bytes(self.cipher.decrypt(of.id.as_bytes(), encrypted)?)
    }

    /// The secret of an endpoint, for staff; `None` if it cannot be decrypted. The audit log says who read it.
    pub async fn reveal(&self, of: &Endpoint, actor: &str) -> StoreResult<Option<Secret>> {
        let secret = self.decrypt(of, &of.secret);
        if secret.is_some() {
            self.store.events().log_secret_read(of, actor).await?;
        }
        Ok(secret)
    }

    /// Adds an endpoint that is on; `None` if there are too many.
    pub async fn add(&self, url: String, choice: EventChoice, actor: &str) -> StoreResult<Option<(Endpoint, Secret)>> {
        let (id, secret) = (Uuid::now_v7().to_string(), Secret::random());
        let Some(encrypted) = self.cipher.encrypt(id.as_bytes(), secret.bytes()) else { return Ok(None) };
        let created_at = self.store.now().await?;
        let (state, failing_since) = (EndpointState::On, None);
        let new = Endpoint { id, url, choice, state, secret: encrypted, previous: None, created_at, failing_since };
        Ok(self.store.events().add_endpoint(&new, actor).await?.then_some((new, secret)))
    }

    /// Gives an endpoint a new secret. For a day events are signed with both.
    pub async fn rotate(&self, of: &Endpoint, actor: &str) -> StoreResult<Option<Secret>> {
        let secret = Secret::random();
        let Some(encrypted) = self.cipher.encrypt(of.id.as_bytes(), secret.bytes()) else { return Ok(None) };
        let until = self.store.now().await? + PREVIOUS_SECRET_LIFETIME;
        Ok(self.store.events().rotate_secret(&of.id, &encrypted, until, actor).await?.then_some(secret))
    }
}

/// An endpoint that is being served. A worker that panics frees it as well, so the next step starts another.
struct Serving<'a> {
    webhooks: &'a Webhooks,
    endpoint: &'a str,
}

impl Drop for Serving<'_> {
    fn drop(&mut self) {
        locked(&self.webhooks.workers).busy.remove(self.endpoint);
    }
}

/// `None` without a secret.
fn headers(secrets: &[Secret], event: &DueEvent, at: Timestamp) -> Option<HeaderMap> {
    let signatures: Vec<String> =
        secrets.iter().map(|secret| secret.sign(&event.id, at.as_second(), event.body.as_bytes())).collect();
    let signatures = HeaderValue::from_str(&signatures.join(" ")).ok().filter(|text| !text.is_empty())?;
    Some(HeaderMap::from_iter([
        (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (header::USER_AGENT, HeaderValue::from_static(USER_AGENT)),
        (header::HeaderName::from_static("webhook-id"), HeaderValue::from_str(&event.id).ok()?),
        (header::HeaderName::from_static("webhook-timestamp"), at.as_second().into()),
        (header::HeaderName::from_static("webhook-signature"), signatures),
    ]))
}

fn with_jitter(wait: Duration) -> Duration {
    let thousandths = 1000 - JITTER + rand::random::<u64>() as u128 % (2 * JITTER + 1);
    Duration::from_millis((wait.as_millis() * thousandths / 1000) as u64)
}

/// What staff read of an answer: text without control characters, which the database could not store either.
fn readable(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let readable = text.chars().map(|c| if c.is_control() && c != '\n' { ' ' } else { c });
    readable.collect::<String>().trim().to_owned()
}

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

    fn from_bytes(bytes: Vec<u8>) -> Option<Secret> {
        (!bytes.is_empty()).then_some(Secret(bytes))
    }

    fn bytes(&self) -> &[u8] {
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
mod tests;
