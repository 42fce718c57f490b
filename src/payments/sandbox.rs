//! The sandbox payment provider: a cashier page that accepts payments without money, tables of its own, and signed
//! webhooks that are delivered over HTTP until the shop accepts them. It behaves like a real provider.

use std::time::Duration;

use futures::StreamExt;
use secrecy::SecretString;
use tracing::warn;
use uuid::Uuid;

use super::delivery::WebhookClient;
use super::webhook::Webhook;
use super::{CAPTURED, CONCURRENCY, DECLINED, Report, ReportData};
use crate::domain::{Money, PaymentId};
use crate::signing;
use crate::store::{SandboxPayment, SandboxWebhook, Store, StoreError};

/// Webhooks of one step of the delivery job.
const MAX_WEBHOOKS: i64 = 100;
/// The upper bound of the exponential back-off between delivery attempts.
const MAX_RETRY_INTERVAL: Duration = Duration::from_secs(300);

/// The sandbox provider.
pub struct Sandbox {
    store: Store,
    webhook: Webhook,
    client: WebhookClient,
}

impl Sandbox {
    /// The provider's name in the database.
    pub(super) const NAME: &'static str = "sandbox";

    /// `shop` is the origin that receives the webhooks.
    pub fn new(store: Store, secret: &SecretString, shop: &str) -> anyhow::Result<Sandbox> {
        let key = signing::key_for(secret, "sandbox webhooks");
        let client = WebhookClient::new(&format!("{shop}/api/webhooks/payments/sandbox"))?;
        Ok(Sandbox { store, webhook: Webhook::new(&key), client })
    }

    /// The webhook key that shop and provider share.
    pub(super) fn webhook(&self) -> &Webhook {
        &self.webhook
    }

    pub async fn payment(&self, id: PaymentId) -> Result<Option<SandboxPayment>, StoreError> {
        self.store.sandbox_payment(id).await
    }

    /// Records the payer's decision. The webhook is queued in the same transaction and delivered at once if the shop
    /// accepts it. `false` when the payment was decided before.
    pub async fn settle(&self, id: PaymentId, pay: bool) -> Result<bool, StoreError> {
        let (status, kind) = if pay { ("captured", CAPTURED) } else { ("declined", DECLINED) };
        let report = Report { kind: kind.to_owned(), data: ReportData { payment_id: id } };
        let body = serde_json::to_string(&report).unwrap_or_default();
        let webhook = SandboxWebhook { id: format!("msg_{}", Uuid::now_v7().simple()), body, attempts: 0 };
        let settled = self.store.sandbox_settle(id, status, &webhook, self.store.now().await?).await?;
        if settled {
            self.deliver(&webhook).await?;
        }
        Ok(settled)
    }

    /// Delivers one bounded batch of due webhooks, each on its own. Returns the number of attempts.
    pub async fn deliver_due(&self) -> Result<usize, StoreError> {
        let due = self.store.sandbox_webhooks_due(MAX_WEBHOOKS).await?;
        let attempts = futures::stream::iter(&due).for_each_concurrent(CONCURRENCY, |webhook| async move {
            if let Err(error) = self.deliver(webhook).await {
                warn!(webhook = webhook.id, %error, "the outcome of a delivery is not recorded; it will be repeated");
            }
        });
        attempts.await;
        Ok(due.len())
    }

    async fn deliver(&self, webhook: &SandboxWebhook) -> Result<(), StoreError> {
        let at = self.store.now().await?;
        match self.client.post(&self.webhook, &webhook.id, at, &webhook.body).await {
            Ok(()) => self.store.sandbox_webhook_delivered(&webhook.id).await,
            Err(error) => {
                let interval = Duration::from_secs(1 << webhook.attempts.clamp(0, 10)).min(MAX_RETRY_INTERVAL);
                warn!(webhook = webhook.id, error = format!("{error:#}"), "webhook not accepted; will be retried");
                self.store.sandbox_webhook_failed(&webhook.id, at + interval).await
            }
        }
    }

    /// Prepares a charge and returns the checkout URL. After checkout the payer is sent to the shop's `return_path`.
    /// Idempotent.
    pub(super) async fn charge(
        &self,
        payment: PaymentId,
        amount: Money,
        return_path: String,
    ) -> anyhow::Result<String> {
        let open = SandboxPayment { id: payment, amount, return_path, status: "open".into() };
        self.store.sandbox_open(&open).await?;
        Ok(format!("/sandbox/cashier/{payment}"))
    }

    /// Refunds the whole charge. Idempotent.
    pub(super) async fn refund(&self, payment: PaymentId) -> anyhow::Result<()> {
        let refunded = self.store.sandbox_refund(payment).await?;
        anyhow::ensure!(refunded, "the provider has not captured payment {payment}");
        Ok(())
    }
}

impl std::fmt::Debug for Sandbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sandbox").field("client", &self.client).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::super::delivery;
    use super::*;
    use crate::clock::Clock;

    #[test]
    fn webhook_signature_covers_the_raw_body() {
        let webhook = Webhook::new(&[7; 32]);
        let at = Clock::system().now();
        let headers = delivery::headers(&webhook, "msg_1", at, "{\"a\":1}").unwrap();
        assert!(webhook.verify(b"{\"a\":1}", &headers).unwrap().verify(at).is_ok());
        assert!(webhook.verify(b"{\"a\": 1}", &headers).is_err());
        let old = delivery::headers(&webhook, "msg_1", at - Duration::from_secs(3600), "{}").unwrap();
        assert!(webhook.verify(b"{}", &old).unwrap().verify(at).is_err());
        assert!(webhook.verify(b"{}", &axum::http::HeaderMap::new()).is_err());
    }
}
