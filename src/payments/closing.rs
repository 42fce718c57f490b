//! The end of payments. A payment is closed at the provider when it expires, when its order ends in another way, and
//! before another payment of the order begins, so that an order is not paid twice. If the provider has captured the
//! payment before that, it is found here even if the report was lost. Until then the provider is asked at growing
//! pauses, so that a payer whose report was lost does not wait for the end.
//!
//! Refunds are tried again at growing intervals until the provider has returned the money. A refund that fails for
//! good, or again and again, becomes a case for staff.

use boxed::boxed;
use futures::StreamExt;
use tracing::{info, warn};

use crate::provider::{ChargeState, RefundOutcome};
use crate::{CONCURRENCY, Payments, answer, bounded};
use domain::{CaseKind, OrderId};
use store::{CaptureOutcome, FailedRefund, NewCase, Payment, Refund, StoreResult, WALLET};

/// Payments per step of the closing job.
const MAX_CLOSED: i64 = 50;
/// Payments per step that providers are asked about.
const MAX_ASKED: i64 = 50;

#[boxed]
impl Payments {
    /// Closes one bounded batch of due payments. Returns the number of attempts. A payment that fails is tried again
    /// later and does not delay the others.
    pub async fn close_due(&self) -> StoreResult<usize> {
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
    pub async fn ask_due(&self) -> StoreResult<usize> {
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
    pub(super) async fn close_open(&self, order: OrderId) -> StoreResult<bool> {
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

/// Refunds per step of the refund job.
const MAX_REFUNDS: i64 = 50;
/// After this many failed attempts, which take half a minute, a refund is shown to staff. The attempts go on.
const ATTEMPTS_UNTIL_CASE: i64 = 5;

#[boxed]
impl Payments {
    /// Makes one bounded batch of due refunds. Returns the number of attempts. A refund that fails is tried again at
    /// growing intervals and does not delay the others.
    pub async fn refund_due(&self) -> StoreResult<usize> {
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
    pub(super) async fn refunded(&self, refund: &Refund) -> StoreResult<()> {
        if self.store.payments().apply_refund(refund, self.store.now().await?).await? {
            self.metrics.refunded.inc();
            info!(payment = %refund.of.id, refund = %refund.id, purpose = %refund.of.purpose, "refund made");
        }
        Ok(())
    }

    async fn postpone(&self, refund: &Refund, error: Option<String>) -> StoreResult<()> {
        let attempts = self.store.payments().postpone_refund(refund).await?;
        match error {
            Some(error) if attempts == ATTEMPTS_UNTIL_CASE => {
                self.open_refund_case(refund, CaseKind::RefundDelayed, &error).await
            }
            _ => Ok(()),
        }
    }

    /// Opens a case for a refund. A refund that failed for good waits for staff.
    async fn open_refund_case(&self, refund: &Refund, kind: CaseKind, reason: &str) -> StoreResult<()> {
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
