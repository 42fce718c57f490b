//! The end of payments. A payment is closed at the provider when it expires, when its order ends in another way, and
//! before another payment of the order begins, so that an order is not paid twice. If the provider has captured the
//! payment before that, it is found here even if the report was lost.

use futures::StreamExt;
use tracing::{info, warn};

use super::provider::CloseOutcome;
use super::{CONCURRENCY, Payments, answer};
use domain::{OrderId, PaymentId};
use store::{CaptureOutcome, StoreError};

/// Payments per step of the closing job.
const MAX_CLOSED: i64 = 50;

impl Payments {
    /// Closes one bounded batch of due payments. Returns the number of attempts. A payment that fails is tried again
    /// later and does not delay the others.
    pub async fn close_due(&self) -> Result<usize, StoreError> {
        if self.provider.is_none() {
            return Ok(0);
        }
        let due = self.store.payments().payments_to_close(MAX_CLOSED).await?;
        let attempts = futures::stream::iter(&due).for_each_concurrent(CONCURRENCY, |&payment| async move {
            let Err(error) = self.close(payment).await else { return };
            warn!(%payment, error = format!("{error:#}"), "payment not closed; it will be tried again");
            if let Err(error) = self.store.payments().postpone_close(payment).await {
                warn!(%payment, %error, "the payment is closed at once again");
            }
        });
        attempts.await;
        Ok(due.len())
    }

    /// Closes the open payments of an order. Returns whether one of them paid it.
    pub(super) async fn close_open(&self, order: OrderId) -> Result<bool, StoreError> {
        let mut paid = false;
        for payment in self.store.payments().open_payments(order).await? {
            match self.close(payment).await {
                Ok(outcome) => paid |= outcome == Some(CaptureOutcome::Paid(order)),
                Err(error) => warn!(%payment, error = format!("{error:#}"), "payment stays open beside another one"),
            }
        }
        Ok(paid)
    }

    /// Closes a payment. If the provider has captured it, the money is applied as after a report.
    async fn close(&self, payment: PaymentId) -> anyhow::Result<Option<CaptureOutcome>> {
        match answer(self.provider().map_err(anyhow::Error::from)?.close(payment)).await? {
            CloseOutcome::Closed => {
                self.store.payments().close(payment).await?;
                info!(%payment, "payment closed");
                Ok(None)
            }
            CloseOutcome::Captured(amount) => {
                Ok(Some(self.capture(&format!("close:{payment}"), payment, amount).await?))
            }
        }
    }
}
