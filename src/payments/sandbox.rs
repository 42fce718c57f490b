//! The sandbox payment provider: a cashier page that accepts payments without money, tables of its own, and signed
//! webhooks that are delivered over HTTP until the shop accepts them. It behaves like a real provider.

use std::time::Duration;

use async_trait::async_trait;
use axum::http::HeaderMap;
use boxed::boxed;
use futures::StreamExt;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tracing::warn;
use uuid::Uuid;

use super::provider::{Charge, ChargeState, Charged, Provider, ProviderFacts, RefundOutcome, Report, ReportKind};
use super::webhook::{self, Webhook, WebhookClient};
use super::{CONCURRENCY, PaymentError};
use base::signing::{self, ShopSecret};
use domain::{Money, PaymentId, RefundId};
use store::{Checkout, Payment, Refund, SandboxPayment, SandboxWebhook, Store, StoreResult};

/// Webhooks per step of the delivery job.
const MAX_WEBHOOKS: i64 = 100;
/// The upper bound of the exponential back-off between delivery attempts.
const MAX_RETRY_INTERVAL: Duration = Duration::from_secs(300);

/// The body of a webhook. Older versions send neither amount nor reason.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SandboxNotice")]
pub struct Notice {
    /// `payment.captured`, `payment.declined`, `payment.disputed`, `refund.succeeded`, `refund.failed`; any other event is
    /// kept for the staff.
    #[serde(rename = "type")]
    event: String,
    #[serde(default)]
    data: NoticeData,
}

#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
struct NoticeData {
    #[serde(default)]
    payment_id: String,
    /// The refund that it is about; without it the refund of the whole payment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    refund_id: Option<RefundId>,
    amount: Option<Money>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    merchant: Option<String>,
    /// For the staff.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    reason: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    instrument: Option<String>,
}

/// The result of a payer's decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    Now,
    /// The payment was already made or declined.
    Before,
    /// The payment has expired or was closed.
    Closed,
}

/// The sandbox provider.
pub struct Sandbox {
    store: Store,
    webhook: Webhook,
    /// Verifies deliveries of a process that signs with the other secret.
    previous: Option<Webhook>,
    client: WebhookClient,
    /// The origin of the shop.
    merchant: String,
}

#[boxed]
impl Sandbox {
    /// `shop` is the origin that receives the webhooks.
    pub fn new(store: Store, secret: &ShopSecret, shop: &str) -> anyhow::Result<Sandbox> {
        let webhook = |secret| Webhook::new(&signing::key_for(secret, "sandbox webhooks"));
        let client = WebhookClient::new(&format!("{shop}/api/webhooks/payments/sandbox"))?;
        let previous = secret.previous.as_ref().map(webhook);
        Ok(Sandbox { store, webhook: webhook(&secret.current), previous, client, merchant: shop.to_owned() })
    }

    pub async fn payment(&self, id: PaymentId) -> StoreResult<Option<SandboxPayment>> {
        self.store.sandbox().payment(id).await
    }

    /// Records the payer's decision. The webhook is stored in the same transaction, and delivered at once if the shop
    /// accepts it.
    ///
    /// `card` has the last digits of the card's number, if the payer gives one.
    pub async fn settle(&self, payment: &SandboxPayment, pay: bool, card: Option<&str>) -> StoreResult<Settled> {
        let (status, kind) = match pay {
            true => ("captured", ReportKind::Captured),
            false => ("declined", ReportKind::Declined),
        };
        let data = NoticeData {
            payment_id: payment.id.to_string(),
            amount: Some(payment.amount),
            merchant: Some(self.merchant.clone()),
            instrument: card.filter(|_| pay).map(|card| format!("card {card}")),
            ..NoticeData::default()
        };
        let body = serde_json::to_string(&Notice { event: kind.as_str().to_owned(), data }).unwrap_or_default();
        let webhook = SandboxWebhook { id: format!("msg_{}", Uuid::now_v7().simple()), body, attempts: 0 };
        if self.store.sandbox().settle(payment.id, status, &webhook).await? {
            self.deliver(&webhook).await?;
            return Ok(Settled::Now);
        }
        let is_open = self.payment(payment.id).await?.is_some_and(|payment| payment.status == "open");
        Ok(if is_open { Settled::Closed } else { Settled::Before })
    }

    /// Delivers one bounded batch of due webhooks, each on its own. Returns the number of attempts.
    pub async fn deliver_due(&self) -> StoreResult<usize> {
        let due = self.store.sandbox().webhooks_due(MAX_WEBHOOKS).await?;
        let attempts = futures::stream::iter(&due).for_each_concurrent(CONCURRENCY, |webhook| async move {
            if let Err(error) = self.deliver(webhook).await {
                warn!(webhook = webhook.id, %error, "the outcome of a delivery is not recorded; it will be repeated");
            }
        });
        attempts.await;
        Ok(due.len())
    }

    async fn deliver(&self, webhook: &SandboxWebhook) -> StoreResult<()> {
        let at = self.store.now().await?;
        match self.client.post(&self.webhook, &webhook.id, at, &webhook.body).await {
            Ok(()) => self.store.sandbox().webhook_delivered(&webhook.id).await,
            Err(error) => {
                let interval = Duration::from_secs(1 << webhook.attempts.clamp(0, 10)).min(MAX_RETRY_INTERVAL);
                warn!(webhook = webhook.id, error = format!("{error:#}"), "webhook not accepted; will be retried");
                self.store.sandbox().webhook_failed(&webhook.id, at + interval).await
            }
        }
    }
}

#[async_trait]
impl Provider for Sandbox {
    fn facts(&self) -> ProviderFacts<'_> {
        ProviderFacts { is_test: true, ..ProviderFacts::new("sandbox", &self.merchant) }
    }

    fn takes(&self, _: Money) -> bool {
        true
    }

    async fn charge(&self, charge: &Charge) -> anyhow::Result<Charged> {
        let open = SandboxPayment {
            id: charge.payment,
            amount: charge.amount,
            return_path: charge.return_path.clone(),
            status: "open".into(),
            expires_at: Some(charge.expires_at),
        };
        self.store.sandbox().open_payment(&open).await?;
        let checkout = Checkout::Redirect(format!("/sandbox/cashier/{}", charge.payment));
        Ok(Charged { checkout, reference: None })
    }

    async fn find(&self, payment: &Payment) -> anyhow::Result<ChargeState> {
        let of = self.store.sandbox().payment(payment.id).await?.filter(|of| of.status == "captured");
        Ok(of.map_or(ChargeState::Open, |of| ChargeState::Captured(of.amount)))
    }

    async fn close(&self, payment: &Payment) -> anyhow::Result<ChargeState> {
        self.store.sandbox().close_payment(payment.id).await?;
        let found = self.find(payment).await?;
        Ok(if found == ChargeState::Open { ChargeState::Closed } else { found })
    }

    async fn refund(&self, refund: &Refund) -> anyhow::Result<RefundOutcome> {
        let of = refund.of.id;
        let refunded = self.store.sandbox().refund(refund.id, of, refund.asked()).await?;
        anyhow::ensure!(refunded, "the provider has not so much of payment {of}");
        Ok(RefundOutcome::Done)
    }

    async fn read(&self, headers: &HeaderMap, body: &[u8], now: Timestamp) -> Result<Option<Report>, PaymentError> {
        let mut keys = std::iter::once(&self.webhook).chain(&self.previous);
        if !keys.any(|key| key.verify(body, headers, now).is_ok()) {
            return Err(PaymentError::BadSignature);
        }
        let id = headers.get(webhook::ID).and_then(|id| id.to_str().ok()).ok_or(PaymentError::BadSignature)?;
        let Notice { event, data } = serde_json::from_slice(body).map_err(|_| PaymentError::Malformed)?;
        let NoticeData { payment_id: payment, refund_id: refund, amount, merchant, reason, instrument } = data;
        // Cases keep these texts, and PostgreSQL keeps no NUL.
        if [&event, &payment, &reason].into_iter().any(|text| text.contains('\0')) {
            return Err(PaymentError::Malformed);
        }
        let (id, refund) = (id.to_owned(), refund.or_else(|| payment.parse().ok()));
        Ok(Some(Report { id, event, payment, refund, amount, merchant, reason, instrument, ..Report::default() }))
    }
}

#[cfg(test)]
mod tests {
    use super::super::webhook;
    use super::*;
    use base::clock::Clock;

    #[test]
    fn webhook_signature_covers_the_raw_body() {
        let webhook = Webhook::new(&[7; 32]);
        let at = Clock::system().now();
        let headers = webhook::headers(&webhook, "msg_1", at, "{\"a\":1}").unwrap();
        assert!(webhook.verify(b"{\"a\":1}", &headers, at).is_ok());
        assert!(webhook.verify(b"{\"a\": 1}", &headers, at).is_err());
        let old = webhook::headers(&webhook, "msg_1", at - Duration::from_secs(3600), "{}").unwrap();
        assert!(webhook.verify(b"{}", &old, at).is_err());
        assert!(webhook.verify(b"{}", &axum::http::HeaderMap::new(), at).is_err());
    }
}

#[cfg(test)]
mod fuzz {
    use super::super::webhook;
    use super::*;
    use base::clock::Clock;
    use testing::fuzz::{inputs, texts};

    fn webhook() -> Webhook {
        Webhook::new(&[7; 32])
    }

    #[test]
    fn only_signed_bodies_with_their_headers_verify() {
        let (webhook, at) = (webhook(), Clock::system().now());
        let body = r#"{"type":"payment.captured","data":{"payment_id":"0198c0de-0000-7000-8000-000000000001"}}"#;
        let headers = webhook::headers(&webhook, "msg_1", at, body).unwrap();
        inputs(vec![body.into()], |bytes| {
            assert_eq!(webhook.verify(bytes, &headers, at).is_ok(), bytes == body.as_bytes());
        });
        for name in [webhook::ID, webhook::TIMESTAMP, webhook::SIGNATURE] {
            let valid = headers[name].to_str().unwrap().to_owned();
            texts(&[&valid], |text| {
                let Ok(value) = text.parse() else { return };
                let mut altered = headers.clone();
                altered.insert(name, value);
                let verified = webhook.verify(body.as_bytes(), &altered, at).is_ok();
                // The header may contain further signatures beside the right one.
                assert!(!verified || text == valid || name != webhook::ID, "{name}: {text}");
            });
        }
    }

    #[test]
    fn any_body_is_a_report_or_malformed() {
        let money = r#""amount":{"amount":1999,"currency":"CNY"}"#;
        let payment = r#""payment_id":"0198c0de-0000-7000-8000-000000000001""#;
        let refund = r#""refund_id":"0198c0de-0000-7000-8000-000000000002""#;
        let valid = [
            format!(r#"{{"type":"payment.captured","data":{{{payment},{money}}}}}"#),
            format!(r#"{{"type":"payment.captured","data":{{{payment},{money},"instrument":"card 4242"}}}}"#),
            format!(r#"{{"type":"refund.failed","data":{{{payment},{refund},{money},"reason":"no"}}}}"#),
        ];
        for text in &valid {
            assert!(serde_json::from_str::<Notice>(text).is_ok(), "{text}");
        }
        inputs(valid.map(String::into_bytes).to_vec(), |bytes| drop(serde_json::from_slice::<Notice>(bytes)));
    }
}
