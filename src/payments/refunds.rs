//! Refunds. They are tried again at growing intervals until the provider has returned the money. A refund that fails
//! for good, or again and again, becomes a case for staff.

use futures::StreamExt;
use tracing::{info, warn};

use super::provider::RefundOutcome;
use super::{CONCURRENCY, Payments, answer, bounded};
use domain::CaseKind;
use store::{FailedRefund, NewCase, Refund, StoreError, WALLET};

/// Refunds per step of the refund job.
const MAX_REFUNDS: i64 = 50;
/// After this many failed attempts, which take half a minute, a refund is shown to staff. The attempts go on.
const ATTEMPTS_UNTIL_CASE: i64 = 5;

impl Payments {
    /// Makes one bounded batch of due refunds. Returns the number of attempts. A refund that fails is tried again at
    /// growing intervals and does not delay the others.
    pub async fn refund_due(&self) -> Result<usize, StoreError> {
        let due = self.store.payments().refunds_due(MAX_REFUNDS).await?;
        let attempts = futures::stream::iter(&due).for_each_concurrent(CONCURRENCY, |refund| async move {
            let outcome = self.ask_for_refund(refund).await;
            let reason = outcome.as_ref().err().map(|error| format!("{error:#}"));
            if let Some(error) = &reason {
                warn!(payment = %refund.of.id, refund = %refund.id, error, "refund not made; it will be tried again");
            }
            let recorded = match outcome {
                Ok(RefundOutcome::Done) => self.refunded(refund).await,
                Ok(RefundOutcome::Failed(reason)) => {
                    self.open_refund_case(refund, CaseKind::RefundFailed, &reason).await
                }
                Ok(RefundOutcome::Pending) | Err(_) => self.postpone(refund, reason).await,
            };
            if let Err(error) = recorded {
                warn!(refund = %refund.id, %error, "the outcome of a refund is not recorded; it is asked for again");
            }
        });
        attempts.await;
        Ok(due.len())
    }

    async fn ask_for_refund(&self, refund: &Refund) -> anyhow::Result<RefundOutcome> {
        // Nothing is left to ask for if the whole payment was already refunded in parts.
        if refund.via == WALLET || refund.asked().is_some_and(|amount| amount.amount == 0) {
            return Ok(RefundOutcome::Done);
        }
        answer(self.provider(&refund.via)?.refund(refund)).await
    }

    /// Records that a refund was made. For a refund into a wallet, this also moves the money.
    pub(super) async fn refunded(&self, refund: &Refund) -> Result<(), StoreError> {
        if self.store.payments().apply_refund(refund, self.store.now().await?).await? {
            self.metrics.refunded.inc();
            info!(payment = %refund.of.id, refund = %refund.id, purpose = %refund.of.purpose, "refund made");
        }
        Ok(())
    }

    async fn postpone(&self, refund: &Refund, error: Option<String>) -> Result<(), StoreError> {
        let attempts = self.store.payments().postpone_refund(refund).await?;
        match error {
            Some(error) if attempts == ATTEMPTS_UNTIL_CASE => {
                self.open_refund_case(refund, CaseKind::RefundDelayed, &error).await
            }
            _ => Ok(()),
        }
    }

    /// Opens a case for a refund. A refund that failed for good waits for staff.
    async fn open_refund_case(&self, refund: &Refund, kind: CaseKind, reason: &str) -> Result<(), StoreError> {
        let (payment, details) = (refund.of.id.to_string(), bounded(reason));
        let part = refund.is_part().then_some(refund.id);
        let failed = FailedRefund { id: refund.id, attempt: Some(refund.attempt) };
        let failed = Some(failed).filter(|_| kind == CaseKind::RefundFailed);
        let case = NewCase { kind, payment: &payment, part, amount: None, details: &details, failed, dispute: None };
        if let Some(kind) = self.store.payments().open_case(None, &case).await? {
            self.metrics.payment_case(kind);
            warn!(payment, refund = %refund.id, %kind, reason, "refund needs attention");
        }
        Ok(())
    }
}
