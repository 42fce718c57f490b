//! Messages to browsers that have subscribed (Web Push). Urgent mail messages also go here, from the same outbox.
//!
//! - [`VapidKeys`]: the key by which push services know the shop (RFC 8292).
//! - `encryption`: encrypts a message so that only the browser can read it (RFC 8291).
//! - [`outside`](crate::outside): one request to the address that a browser has named (RFC 8030).
//!
//! A push service keeps a message until its `TTL` is over, so a late "your turn" is dropped there, as it is here. The
//! text is a title, the path of a page and a tag; a newer message with the same tag replaces an older one on the
//! screen.

mod encryption;

use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use futures::StreamExt;
use jiff::Timestamp;
use serde_json::{Value, json};
use tracing::{info, warn};

pub use encryption::VapidKeys;

use super::outside::{Limits, OutsideTransport};
use super::{Outbox, TransportError};
use base::metrics::Metrics;
use base::signing::ShopSecret;
use domain::{MailAddress, MailKind};
use encryption::VapidKey;
use store::{Mail, PushSubscription, Store, StoreError};
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

    /// Sends a bounded number of messages that are due. Returns the number of attempts.
    pub async fn step(&self) -> Result<usize, StoreError> {
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
        let Some(body) = encryption::encrypt(&to.keys, payload(mail).to_string().as_bytes()) else {
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
    let fact = |name: &str| mail.facts[name].as_str().unwrap_or_default();
    let (sale, order) = (fact("sale"), fact("order"));
    let goods = mail.facts["goods"][mail.locale.as_str()].as_str().unwrap_or_default();
    let title = match mail.kind {
        MailKind::SaleStarts => fill(t.sale_starts, goods),
        MailKind::TurnCalled => fill(t.turn_called, goods),
        MailKind::DrawWon => fill(t.draw_won, goods),
        MailKind::DrawResult => fill(t.draw_result, goods),
        MailKind::UnitOffered => t.unit_offered.to_owned(),
        MailKind::ParcelShipped => t.parcel_shipped.to_owned(),
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

#[cfg(test)]
mod tests;
