//! Applies the provider's reports. A report is compared with what was asked for and applied once. A report that does
//! not fit becomes a case ([`CaseKind`]), which staff read and settle here.

use axum::http::{HeaderMap, StatusCode};
use boxed::boxed;
use tracing::{info, warn};

use crate::provider::{ChargeState, Provider, Report, ReportKind};
use crate::{PaymentError, Payments, answer, bounded};
use domain::settlement::MAX_REPORTED_AMOUNT;
use domain::{CaseKind, Money, Page, PaymentId, PaymentStatus, UserId};
use orders::support::StaffActionOutcome;
use store::{
    AuditReason, CaptureOutcome, CaseAction, FailedRefund, NewCase, Payment, PaymentCase, Refund, StoreResult,
};

#[boxed]
impl Payments {
    /// Applies a report of a provider and returns the provider's answer. The signature covers the raw body and is
    /// verified before anything is parsed.
    pub async fn receive(
        &self,
        provider: &str,
        headers: &HeaderMap,
        body: &[u8],
    ) -> Result<(StatusCode, &'static str), PaymentError> {
        let provider = self.provider(provider)?;
        if let Some(report) = provider.read(headers, body, self.store.now().await?).await? {
            self.apply(provider, report).await?;
        }
        Ok(provider.facts().accepted)
    }

    /// The JSON with which a provider wants a report to be refused.
    pub fn refused(&self, provider: &str) -> Option<&'static str> {
        self.provider(provider).ok()?.facts().refused
    }

    pub(super) async fn apply(&self, provider: &dyn Provider, mut report: Report) -> Result<(), PaymentError> {
        // The amount of a case is written down, so it is bounded first. The staff read it in the case.
        if let Some(amount) = report.amount.take_if(|amount| !(0..=MAX_REPORTED_AMOUNT).contains(&amount.amount)) {
            report.reason = format!("impossible amount of {} {}", amount.amount, amount.currency.as_str());
            return Ok(self.open_case(&report, CaseKind::Mismatched).await?);
        }
        if let Some(merchant) = report.merchant.take_if(|merchant| merchant != provider.facts().merchant) {
            report.reason = format!("payment of another merchant, {merchant}");
            return Ok(self.open_case(&report, CaseKind::UnknownPayment).await?);
        }
        let (kind, payment) = (report.event.parse().ok(), report.payment.parse().ok());
        let (Some(kind), Some(payment)) = (kind, payment) else {
            let kind = if kind.is_some() { CaseKind::UnknownPayment } else { CaseKind::UnknownEvent };
            return Ok(self.open_case(&report, kind).await?);
        };
        let known = self.store.payments().get(payment).await?;
        if let Some(difference) = known.as_ref().and_then(|known| difference(provider, &report, known)) {
            report.reason = difference;
            return Ok(self.open_case(&report, CaseKind::UnknownPayment).await?);
        }
        match kind {
            ReportKind::Captured => self.receive_capture(provider, &report, payment, known).await,
            // The payer could still try again at the provider, so this marks the payment to be closed there soon.
            ReportKind::Declined => {
                let asked = known.map(|known| known.amount);
                match report.amount.is_none_or(|amount| Some(amount) == asked) {
                    true => Ok(self.store.payments().decline(payment).await?),
                    false => Ok(self.open_case(&report, CaseKind::Mismatched).await?),
                }
            }
            ReportKind::Disputed => Ok(self.open_case(&report, CaseKind::Disputed).await?),
            ReportKind::RefundFailed => Ok(self.receive_failed_refund(&report, payment).await?),
            ReportKind::RefundSucceeded => Ok(self.receive_refund(&report, payment).await?),
        }
    }

    /// A report without an amount comes from an older version. It may be true, so the provider is asked.
    async fn receive_capture(
        &self,
        provider: &dyn Provider,
        report: &Report,
        payment: PaymentId,
        known: Option<Payment>,
    ) -> Result<(), PaymentError> {
        let amount = match (report.amount, known) {
            (Some(amount), _) => amount,
            (None, Some(known)) => match answer(provider.close(&known)).await.map_err(PaymentError::Provider)? {
                ChargeState::Captured(amount) => amount,
                _ => return Ok(self.open_case(report, CaseKind::Mismatched).await?),
            },
            (None, None) => return Ok(self.open_case(report, CaseKind::UnknownPayment).await?),
        };
        let outcome = self.capture(&report.id, payment, amount).await?;
        // Also when the capture was already applied: the first delivery may have been interrupted just here.
        if let Some(instrument) = report.instrument.as_deref().filter(|text| !text.is_empty())
            && matches!(outcome, CaptureOutcome::Paid(_) | CaptureOutcome::AlreadyApplied)
        {
            let links = self.link_digests.of_instrument(provider.name(), &bounded(instrument));
            self.store.linked_accounts().note_payment(payment, &links).await?;
        }
        Ok(())
    }

    /// Applies a capture: the provider has this money. `source` names the report, or the request whose answer said so.
    pub(super) async fn capture(&self, source: &str, payment: PaymentId, amount: Money) -> StoreResult<CaptureOutcome> {
        let outcome = self.store.payments().apply_capture(source, payment, amount, self.store.now().await?).await?;
        match outcome {
            CaptureOutcome::Paid(order) => {
                self.metrics.paid.inc();
                info!(%payment, %order, "order paid");
            }
            CaptureOutcome::ToppedUp(user) => info!(%payment, %user, "wallet topped up"),
            CaptureOutcome::Refunding => info!(%payment, "payment cannot be used; refund pending"),
            CaptureOutcome::AlreadyApplied => info!(%payment, "capture ignored: it was applied before"),
            CaptureOutcome::Case(kind) => {
                self.metrics.payment_case(kind);
                warn!(%payment, %kind, %amount, "captured money fits no payment; staff have to decide");
            }
        }
        Ok(outcome)
    }

    /// The refund of the shop that a report names, and the amount that it returns.
    async fn named_refund(&self, report: &Report, payment: PaymentId) -> StoreResult<Option<(Refund, Money)>> {
        match report.refund.filter(|refund| refund.0 != payment.0) {
            Some(part) => {
                let found = self.store.payments().partial_refund(part).await?.filter(|asked| asked.of.id == payment);
                Ok(found.map(|asked| (asked.clone(), asked.amount)))
            }
            None => self.store.payments().whole_refund(payment).await,
        }
    }

    async fn receive_refund(&self, report: &Report, payment: PaymentId) -> StoreResult<()> {
        let known = self.named_refund(report, payment).await?.filter(|(_, amount)| report.amount == Some(*amount));
        match known {
            // It is about an attempt that failed later.
            Some((refund, _)) if report.attempt.is_some_and(|attempt| attempt < refund.attempt) => Ok(()),
            Some((refund, _)) if refund.is_part() => self.refunded(&refund).await,
            Some((refund, _)) if refund.of.status == PaymentStatus::RefundPending => self.refunded(&refund).await,
            Some((refund, _)) if refund.of.status == PaymentStatus::Refunded => Ok(()),
            _ => self.open_case(report, CaseKind::UnexpectedRefund).await,
        }
    }

    /// A refund can fail days after it was made. One that the report does not name, or with another amount, need not be the
    /// shop's: then its case says so, and the shop's own refund goes on.
    async fn receive_failed_refund(&self, report: &Report, payment: PaymentId) -> StoreResult<()> {
        let known = self.named_refund(report, payment).await?.filter(|_| report.refund.is_some());
        let fits = known.filter(|(_, amount)| report.amount.is_none_or(|told| told == *amount));
        let failed = fits.map(|(refund, _)| FailedRefund { id: refund.id, attempt: report.attempt });
        if failed.is_some() {
            return self.open_case_of(report, CaseKind::RefundFailed, failed).await;
        }
        let reason = format!("{} (not the refund that the shop asked for)", report.reason);
        self.open_case_of(&Report { reason, ..report.clone() }, CaseKind::RefundFailed, None).await
    }

    /// Opens a case for staff about a report.
    async fn open_case(&self, report: &Report, kind: CaseKind) -> StoreResult<()> {
        self.open_case_of(report, kind, None).await
    }

    async fn open_case_of(&self, report: &Report, kind: CaseKind, failed: Option<FailedRefund>) -> StoreResult<()> {
        let separator = if report.reason.is_empty() { "" } else { ": " };
        let details = bounded(&format!("{}{separator}{}", report.event, report.reason));
        let part = report.refund.filter(|refund| refund.to_string() != report.payment);
        let (amount, dispute) = (report.amount, report.dispute.as_ref());
        let case = NewCase { kind, payment: &report.payment, part, amount, details: &details, failed, dispute };
        if let Some(kind) = self.store.payments().open_case(Some(&report.id), &case).await? {
            self.metrics.payment_case(kind);
            warn!(payment = report.payment, %kind, details, "payment needs attention");
        }
        Ok(())
    }
}

/// What a report says about another payment than the one that it names; `None` if it fits.
fn difference(provider: &dyn Provider, report: &Report, known: &Payment) -> Option<String> {
    if known.provider != provider.name() {
        return Some(format!("reported by {}, begun at {}", provider.name(), known.provider));
    }
    let (subject, asked) = (report.subject.as_ref(), known.purpose.to_string());
    if let Some(subject) = subject.filter(|subject| **subject != asked) {
        return Some(format!("paid for {subject}, asked for {asked}"));
    }
    let reference = report.reference.as_ref().zip(known.reference.as_ref()).filter(|(told, begun)| told != begun);
    reference.map(|(told, begun)| format!("paid as {told}, begun as {begun}"))
}

#[boxed]
impl Payments {
    /// One page of the open cases or of the settled cases, newest first.
    pub async fn cases(
        &self,
        settled: bool,
        before: Option<&str>,
        limit: usize,
    ) -> StoreResult<Page<PaymentCase, String>> {
        let cases = self.store.payments().payment_cases(settled, before, limit as i64 + 1).await?;
        Ok(Page::cut(cases, limit, |case| case.id.clone()))
    }

    /// Settles a case. `by` is the account of `reason.actor`; staff cannot settle a case about their own payment.
    pub async fn settle_case(
        &self,
        of: &PaymentCase,
        by: UserId,
        reason: AuditReason<'_>,
    ) -> StoreResult<StaffActionOutcome> {
        if let Some(payment) = &of.payment
            && self.store.payments().payer_of(payment).await? == Some(by)
        {
            return Ok(StaffActionOutcome::OwnOrder);
        }
        if !self.store.payments().apply_case_action(of, CaseAction::Settle, reason).await? {
            return Ok(StaffActionOutcome::WrongStatus);
        }
        info!(payment = of.payment_id, kind = %of.kind, actor = reason.actor, "staff settled a payment");
        Ok(StaffActionOutcome::Done)
    }
}
