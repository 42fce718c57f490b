//! Refunds that staff ask for. Beyond a limit a second person has to approve. Staff do not act on their own payments,
//! and do not approve their own requests.

use boxed::boxed;
use tracing::info;
use uuid::Uuid;

use crate::Payments;
use domain::{Money, Order, OrderId, OrderStatus, Page, PaymentStatus, RefundId, RefundTarget, SaleId, UserId};
use orders::Orders;
use orders::holds::{HoldCounts, HoldOutcome};
use orders::support::StaffActionOutcome;
use store::{
    Approval, ApprovalOutcome, AuditReason, IfDisputed, NewStaffRefund, RefundRefusal, StaffRefund, StaffRefundOutcome,
    StoreResult,
};

/// The answer to a member of the staff who asks for a refund.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefundAnswer {
    /// The refund is under way.
    Begun,
    /// The refund waits for a second person.
    Waits(RefundId),
    /// Another request about the same order or payment waits.
    OtherWaits,
    Refused(RefundRefusal),
    /// The payment is the member's own. Another member has to ask.
    OwnPayment,
}

/// The result of a decision about a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecisionAnswer {
    Done,
    /// The request was already decided, or had expired.
    Closed,
    /// The refund was no longer possible, so the request was ended.
    Void,
    /// The payment was disputed after the refund was asked for.
    Disputed,
    /// The member asked for this refund. Another member has to approve.
    OwnRequest,
    /// The payment is the member's own. Another member has to decide.
    OwnPayment,
}

/// Refunds on behalf of staff.
#[derive(Clone)]
pub struct StaffRefunds {
    payments: Payments,
    orders: Orders,
    /// What one person may refund alone within a day, in whole units of the payment's currency. `None`: no limit.
    alone: Option<i64>,
}

#[boxed]
impl StaffRefunds {
    pub fn new(payments: Payments, orders: Orders, alone: Option<i64>) -> StaffRefunds {
        StaffRefunds { payments, orders, alone }
    }

    /// Begins a refund, or records that a second person has to approve it. `by` is the account of `reason.actor`.
    pub async fn refund(
        &self,
        id: RefundId,
        what: StaffRefund<'_>,
        by: UserId,
        reason: AuditReason<'_>,
        if_disputed: IfDisputed,
    ) -> StoreResult<RefundAnswer> {
        let payer = match what {
            StaffRefund::Order(_, order) | StaffRefund::HeldOrder(_, order) => self.owner(order).await?,
            StaffRefund::Part(part) => self.owner(part.order).await?,
            StaffRefund::Return(of) => self.owner(of.order).await?,
            StaffRefund::Case(case) => match &case.payment {
                Some(payment) => self.payments.store.payments().payer_of(payment).await?,
                None => None,
            },
        };
        if payer == Some(by) {
            return Ok(RefundAnswer::OwnPayment);
        }
        if !self.takes_part(what).await? {
            return Ok(RefundAnswer::Refused(RefundRefusal::NotTaken));
        }
        let outcome = self
            .payments
            .store
            .payments()
            .refund_for_staff(&NewStaffRefund { id, what, by, reason, if_disputed }, self.alone)
            .await?;
        info!(refund = %id, actor = reason.actor, %what, %outcome, "refund asked for by staff");
        Ok(match outcome {
            StaffRefundOutcome::Begun(held) => {
                self.orders.release_now(held.as_slice()).await?;
                RefundAnswer::Begun
            }
            StaffRefundOutcome::Waits(id) => RefundAnswer::Waits(id),
            StaffRefundOutcome::OtherWaits => RefundAnswer::OtherWaits,
            StaffRefundOutcome::Refused(refusal) => RefundAnswer::Refused(refusal),
        })
    }

    /// Whether the payment's provider can move exactly this part, and what is left of the payment after it. Otherwise
    /// neither this refund nor that of the rest would ever be made.
    async fn takes_part(&self, what: StaffRefund<'_>) -> StoreResult<bool> {
        let (order, part, to) = match what {
            StaffRefund::Part(part) => (part.order, Some(part.amount), part.to),
            StaffRefund::Return(of) => (of.order, of.amount, RefundTarget::Payer),
            _ => return Ok(true),
        };
        let Some(part) = part else { return Ok(true) };
        let mut records = self.payments.store.payments().payments_of(order).await?.into_iter();
        let Some(of) = records.find(|record| record.payment.status == PaymentStatus::Captured) else { return Ok(true) };
        // Wallets pay back any amount.
        let Ok(provider) = self.payments.provider(&of.payment.provider) else { return Ok(true) };
        let left = of.payment.refundable();
        let is_taken = |amount: i64| amount < 1 || provider.takes(Money { amount, ..left });
        let is_part_taken = to == RefundTarget::Wallet || is_taken(part.amount);
        // The store refuses other currencies, and more than is left.
        Ok(part.currency != left.currency || is_part_taken && is_taken(left.amount.saturating_sub(part.amount)))
    }

    /// Ends the held ones among these orders of a sale: paid orders are refunded as by [`StaffRefunds::refund`], and
    /// unpaid orders are cancelled. They are ended one after the other: if a later one fails, the earlier ones stay
    /// ended. Repeating the call changes nothing.
    pub async fn refund_held(
        &self,
        sale: SaleId,
        orders: &[OrderId],
        by: UserId,
        reason: AuditReason<'_>,
    ) -> StoreResult<HoldCounts> {
        let mut counts = HoldCounts::default();
        for id in orders {
            let Some(order) = self.payments.store.orders().get(sale, *id).await? else { continue };
            counts.add(self.end_held(&order, by, reason).await?);
        }
        Ok(counts)
    }

    async fn end_held(&self, order: &Order, by: UserId, reason: AuditReason<'_>) -> StoreResult<HoldOutcome> {
        if !order.status.is_live() {
            return Ok(HoldOutcome::OrderEnded);
        }
        if self.orders.hold(order).await?.is_none() {
            return Ok(HoldOutcome::Unchanged);
        }
        if order.status == OrderStatus::Unpaid {
            match self.orders.cancel_held(order, by, reason).await? {
                StaffActionOutcome::Done => return Ok(HoldOutcome::Done),
                StaffActionOutcome::OwnOrder => return Ok(HoldOutcome::OwnOrder),
                // The order may just have been paid or released; the refund below finds out.
                StaffActionOutcome::WrongStatus => {}
            }
        }
        let refund = StaffRefund::HeldOrder(order.sale_id, order.id);
        Ok(match self.refund(RefundId(Uuid::now_v7()), refund, by, reason, IfDisputed::Refuse).await? {
            RefundAnswer::Begun => HoldOutcome::Done,
            RefundAnswer::Waits(_) | RefundAnswer::OtherWaits => HoldOutcome::Waits,
            RefundAnswer::OwnPayment => HoldOutcome::OwnOrder,
            RefundAnswer::Refused(_) => match self.payments.store.orders().get(order.sale_id, order.id).await? {
                Some(released) if released.status.is_live() => HoldOutcome::Unchanged,
                _ => HoldOutcome::OrderEnded,
            },
        })
    }

    async fn owner(&self, order: OrderId) -> StoreResult<Option<UserId>> {
        Ok(self.payments.store.orders().order_with_id(order).await?.map(|order| order.user_id))
    }

    /// One page of the waiting requests, or of the decided and expired ones, newest first.
    pub async fn approvals(
        &self,
        decided: bool,
        before: Option<&str>,
        limit: usize,
    ) -> StoreResult<Page<Approval, String>> {
        let found = self.payments.store.payments().approvals(decided, before, limit as i64 + 1).await?;
        Ok(Page::cut(found, limit, |approval| approval.id.to_string()))
    }

    /// Approves a request and begins its refund. `by` is the account of `actor`.
    pub async fn approve(&self, of: &Approval, by: UserId, actor: &str) -> StoreResult<DecisionAnswer> {
        if of.requested_by == by {
            return Ok(DecisionAnswer::OwnRequest);
        }
        if self.payer(of).await? == Some(by) {
            return Ok(DecisionAnswer::OwnPayment);
        }
        let outcome = self.payments.store.payments().approve_refund(of, by, actor).await?;
        info!(refund = %of.id, actor, requester = of.requester, amount = %of.amount, %outcome, "refund approved by staff");
        self.answer(outcome).await
    }

    /// Declines a request for a reason. The member of the staff who asked may withdraw it in this way.
    pub async fn decline(&self, of: &Approval, by: UserId, reason: AuditReason<'_>) -> StoreResult<DecisionAnswer> {
        if self.payer(of).await? == Some(by) {
            return Ok(DecisionAnswer::OwnPayment);
        }
        let outcome = self.payments.store.payments().decline_refund(of, reason.actor, reason.note).await?;
        info!(refund = %of.id, actor = reason.actor, requester = of.requester, %outcome, "refund declined by staff");
        self.answer(outcome).await
    }

    /// Finishes a decision: releases the units of the refunded order.
    pub async fn answer(&self, outcome: ApprovalOutcome) -> StoreResult<DecisionAnswer> {
        Ok(match outcome {
            ApprovalOutcome::Approved(held) => {
                self.orders.release_now(held.as_slice()).await?;
                DecisionAnswer::Done
            }
            ApprovalOutcome::Declined => DecisionAnswer::Done,
            ApprovalOutcome::Closed => DecisionAnswer::Closed,
            ApprovalOutcome::Void => DecisionAnswer::Void,
            ApprovalOutcome::Disputed => DecisionAnswer::Disputed,
        })
    }

    /// Who made the payment that the request is about.
    async fn payer(&self, of: &Approval) -> StoreResult<Option<UserId>> {
        if let Some(order) = of.order {
            return self.owner(order).await;
        }
        let Some(case) = &of.case else { return Ok(None) };
        match self.payments.store.payments().payment_case(case).await?.and_then(|case| case.payment) {
            Some(payment) => self.payments.store.payments().payer_of(&payment).await,
            None => Ok(None),
        }
    }
}
