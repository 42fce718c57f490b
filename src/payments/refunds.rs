//! Refunds. They are tried again later and later until the provider has the money back with the payer. A refund that fails
//! for good, or again and again, becomes a case for the staff.

use futures::StreamExt;
use tracing::{info, warn};

use super::provider::RefundOutcome;
use super::{CONCURRENCY, Payments, answer, bounded};
use crate::domain::CaseKind;
use crate::store::{NewCase, Payment, StoreError, WALLET};

/// Refunds of one step of the refund job.
const MAX_REFUNDS: i64 = 50;
/// Failed attempts after which staff see a refund. The attempts go on; until then they have taken half a minute.
const ATTEMPTS_UNTIL_CASE: i64 = 5;

impl Payments {
    /// Makes one bounded batch of due refunds. Returns the number of attempts. A refund that fails is tried again later and
    /// later; the others go on.
    pub async fn refund_due(&self) -> Result<usize, StoreError> {
        let due = self.store.refunds_due(MAX_REFUNDS).await?;
        let attempts = futures::stream::iter(&due).for_each_concurrent(CONCURRENCY, |payment| async move {
            let outcome = self.ask_for_refund(payment).await;
            let reason = outcome.as_ref().err().map(|error| format!("{error:#}"));
            if let Some(error) = &reason {
                warn!(payment = %payment.id, error, "payment not refunded; it will be tried again");
            }
            let recorded = match outcome {
                Ok(RefundOutcome::Done) => self.refunded(payment).await,
                Ok(RefundOutcome::Failed(reason)) => {
                    self.open_refund_case(payment, CaseKind::RefundFailed, &reason).await
                }
                Ok(RefundOutcome::Pending) | Err(_) => self.postpone(payment, reason).await,
            };
            if let Err(error) = recorded {
                warn!(payment = %payment.id, %error, "the outcome of a refund is not recorded; it is asked for again");
            }
        });
        attempts.await;
        Ok(due.len())
    }

    async fn ask_for_refund(&self, payment: &Payment) -> anyhow::Result<RefundOutcome> {
        if payment.provider == WALLET {
            return Ok(RefundOutcome::Done);
        }
        let provider = self.provider()?;
        anyhow::ensure!(payment.provider == provider.name(), "the provider {} is off", payment.provider);
        answer(provider.refund(payment.id)).await
    }

    /// Records that a payment was refunded. One from a wallet is refunded by that.
    pub(super) async fn refunded(&self, payment: &Payment) -> Result<(), StoreError> {
        if self.store.apply_refund(payment, self.store.now().await?).await? {
            self.metrics.refunded.inc();
            info!(payment = %payment.id, purpose = ?payment.purpose, "payment refunded");
        }
        Ok(())
    }

    async fn postpone(&self, payment: &Payment, error: Option<String>) -> Result<(), StoreError> {
        let attempts = self.store.postpone_refund(payment.id).await?;
        match error {
            Some(error) if attempts == ATTEMPTS_UNTIL_CASE => {
                self.open_refund_case(payment, CaseKind::RefundDelayed, &error).await
            }
            _ => Ok(()),
        }
    }

    /// Shows a refund to the staff. One that failed for good waits for them.
    async fn open_refund_case(&self, payment: &Payment, kind: CaseKind, reason: &str) -> Result<(), StoreError> {
        let case = NewCase { kind, payment: &payment.id.to_string(), amount: None, details: &bounded(reason) };
        if let Some(kind) = self.store.open_case(None, &case).await? {
            self.metrics.payment_case(kind);
            warn!(payment = %payment.id, %kind, reason, "refund needs attention");
        }
        Ok(())
    }
}
