//! What staff do about payments that need attention.

use tracing::info;

use super::Payments;
use domain::{Page, UserId};
use orders::support::StaffActionOutcome;
use store::{AuditReason, CaseAction, PaymentCase, StoreError};

impl Payments {
    /// One page of the open cases or of the settled cases, newest first.
    pub async fn cases(
        &self,
        settled: bool,
        before: Option<&str>,
        limit: usize,
    ) -> Result<Page<PaymentCase, String>, StoreError> {
        let cases = self.store.payments().payment_cases(settled, before, limit as i64 + 1).await?;
        Ok(Page::cut(cases, limit, |case| case.id.clone()))
    }

    /// Settles a case. `by` is the account of `reason.actor`; staff cannot settle a case about their own payment.
    pub async fn settle_case(
        &self,
        of: &PaymentCase,
        by: UserId,
        reason: AuditReason<'_>,
    ) -> Result<StaffActionOutcome, StoreError> {
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
