//! The end of payments. A payment is closed at the provider when it expires, when its order ends in another way, and
//! before another payment of the order begins, so that an order is not paid twice. If the provider has captured the
//! payment before that, it is found here even if the report was lost. Until then the provider is asked at growing pauses,
//! so that a payer whose report was lost does not wait for the end.

use futures::StreamExt;
use tracing::{info, warn};

use super::provider::ChargeState;
use super::{CONCURRENCY, Payments, answer};
use domain::OrderId;
use store::{CaptureOutcome, Payment, StoreError};

/// Payments per step of the closing job.
const MAX_CLOSED: i64 = 50;
/// Payments per step that providers are asked about.
const MAX_ASKED: i64 = 50;

impl Payments {
    /// Closes one bounded batch of due payments. Returns the number of attempts. A payment that fails is tried again
    /// later and does not delay the others.
    pub async fn close_due(&self) -> Result<usize, StoreError> {
        if !self.has_provider() {
            return Ok(0);
        }
        let due = self.store.payments().payments_to_close(MAX_CLOSED).await?;
        let attempts = futures::stream::iter(&due).for_each_concurrent(CONCURRENCY, |payment| async move {
            let Err(error) = self.close(payment).await else { return };
            let id = payment.id;
            warn!(payment = %id, error = format!("{error:#}"), "payment not closed; it will be tried again");
            if let Err(error) = self.store.payments().postpone_close(id).await {
                warn!(payment = %id, %error, "the payment is closed at once again");
            }
        });
        attempts.await;
        Ok(due.len())
    }

    /// Asks the providers about one bounded batch of open payments whose report may be lost. Returns their number.
    pub async fn ask_due(&self) -> Result<usize, StoreError> {
        if !self.has_provider() {
            return Ok(0);
        }
        let due = self.store.payments().payments_to_ask(MAX_ASKED).await?;
        let questions = futures::stream::iter(&due).for_each_concurrent(CONCURRENCY, |payment| async move {
            if let Err(error) = self.ask(payment).await {
                let error = format!("{error:#}");
                warn!(payment = %payment.id, error, "the provider did not tell about a payment; it will be asked again");
            }
        });
        questions.await;
        Ok(due.len())
    }

    async fn ask(&self, payment: &Payment) -> anyhow::Result<()> {
        match answer(self.provider(&payment.provider)?.find(payment)).await? {
            ChargeState::Open => {}
            ChargeState::Closed => self.store.payments().close(payment.id).await?,
            ChargeState::Captured(amount) => {
                self.capture(&format!("asked:{}", payment.id), payment.id, amount).await?;
            }
        }
        Ok(())
    }

    /// Closes the open payments of an order. Returns whether one of them paid it.
    pub(super) async fn close_open(&self, order: OrderId) -> Result<bool, StoreError> {
        let mut paid = false;
        for payment in self.store.payments().open_payments(order).await? {
            match self.close(&payment).await {
                Ok(outcome) => paid |= outcome == Some(CaptureOutcome::Paid(order)),
                Err(error) => {
                    let (payment, error) = (payment.id, format!("{error:#}"));
                    warn!(%payment, error, "payment stays open beside another one");
                }
            }
        }
        Ok(paid)
    }

    /// Closes a payment. If the provider has captured it, the money is applied as after a report.
    async fn close(&self, payment: &Payment) -> anyhow::Result<Option<CaptureOutcome>> {
        let id = payment.id;
        match answer(self.provider(&payment.provider)?.close(payment)).await? {
            // Nobody can close it yet. The provider is asked about it until it expires, and then it is closed.
            ChargeState::Open => match self.store.payments().close_at_expiry(id).await? {
                true => Ok(None),
                false => anyhow::bail!("its outcome is under way at the provider"),
            },
            ChargeState::Closed => {
                self.store.payments().close(id).await?;
                info!(payment = %id, "payment closed");
                Ok(None)
            }
            ChargeState::Captured(amount) => Ok(Some(self.capture(&format!("close:{id}"), id, amount).await?)),
        }
    }
}
