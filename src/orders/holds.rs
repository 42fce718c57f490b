//! Holds of orders: staff hold orders, release them and answer appeals; owners appeal. What each change does is in
//! `store/orders/holds.rs`. Refunds of held orders are in `payments/staff_refunds.rs`.

use std::time::Duration;

use boxed::boxed;
use tracing::info;

use super::Orders;
use domain::{Order, OrderHold, OrderId, SaleId, UserId};
use store::{AppealOutcome, AuditReason, HoldChange, StoreError, StoreResult};

/// An account may send this many appeals at once, and then one per interval.
pub(super) const APPEAL_BURST: u64 = 5;
pub(super) const APPEAL_INTERVAL: Duration = Duration::from_secs(60);

/// What staff do with an order that may be held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HoldAction {
    Hold,
    Release,
    /// Answers an appeal: the order stays held.
    Uphold,
}

/// The outcome of an action on one order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HoldOutcome {
    Done,
    /// The order was already in this state.
    Unchanged,
    /// The order is neither unpaid nor paid.
    OrderEnded,
    /// The order belongs to the member of the staff who acts. Another member has to act.
    OwnOrder,
    /// A second person has to approve.
    Waits,
}

/// How many orders had which outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HoldCounts {
    pub done: usize,
    pub unchanged: usize,
    pub ended: usize,
    pub own: usize,
    pub waits: usize,
}

impl HoldCounts {
    pub fn add(&mut self, outcome: HoldOutcome) {
        let count = match outcome {
            HoldOutcome::Done => &mut self.done,
            HoldOutcome::Unchanged => &mut self.unchanged,
            HoldOutcome::OrderEnded => &mut self.ended,
            HoldOutcome::OwnOrder => &mut self.own,
            HoldOutcome::Waits => &mut self.waits,
        };
        *count += 1;
    }
}

/// Why an appeal is refused.
#[derive(Debug, thiserror::Error)]
pub enum AppealRefusal {
    #[error("this user has no such order, or it is not held")]
    NotHeld,
    #[error("the appeal before waits for its answer")]
    AnotherWaits,
    #[error("too many appeals")]
    RateLimited,
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[boxed]
impl Orders {
    /// The hold of an order that is still held.
    pub async fn hold(&self, of: &Order) -> StoreResult<Option<OrderHold>> {
        match of.status.is_live() {
            true => Ok(self.store.orders().lasting_holds(&[of.id]).await?.remove(&of.id)),
            false => Ok(None),
        }
    }

    /// Acts on one order. `by` is the account of `reason.actor`.
    pub async fn change_hold(
        &self,
        order: &Order,
        action: HoldAction,
        by: UserId,
        reason: AuditReason<'_>,
    ) -> StoreResult<HoldOutcome> {
        if order.user_id == by {
            return Ok(HoldOutcome::OwnOrder);
        }
        let (action, change) = match action {
            HoldAction::Hold => ("hold", self.store.orders().hold(order.id, reason).await?),
            HoldAction::Release => ("release", self.store.orders().release(order.id, reason).await?),
            HoldAction::Uphold => ("uphold", self.store.orders().uphold(order.id, reason).await?),
        };
        info!(order = %order.id, sale = %order.sale_id, actor = reason.actor, action, %change, "hold of an order changed");
        Ok(match change {
            HoldChange::Done => HoldOutcome::Done,
            HoldChange::Unchanged => HoldOutcome::Unchanged,
            HoldChange::OrderEnded => HoldOutcome::OrderEnded,
        })
    }

    /// Acts on several orders of a sale, one after the other: what was done stays if a later one fails, and doing it
    /// again changes nothing. Orders of other sales are left out.
    pub async fn change_holds(
        &self,
        sale: SaleId,
        orders: &[OrderId],
        action: HoldAction,
        by: UserId,
        reason: AuditReason<'_>,
    ) -> StoreResult<HoldCounts> {
        let mut counts = HoldCounts::default();
        for id in orders {
            if let Some(order) = self.store.orders().get(sale, *id).await? {
                counts.add(self.change_hold(&order, action, by, reason).await?);
            }
        }
        Ok(counts)
    }

    /// Sends what the owner of a held order answers.
    pub async fn appeal(&self, user: UserId, id: OrderId, text: &str) -> Result<(), AppealRefusal> {
        if !self.appeals.allows(user) {
            return Err(AppealRefusal::RateLimited);
        }
        match self.store.orders().appeal(id, user, text).await? {
            AppealOutcome::Sent => {
                info!(order = %id, "the owner of a held order appealed");
                Ok(())
            }
            AppealOutcome::AnotherWaits => Err(AppealRefusal::AnotherWaits),
            AppealOutcome::NotHeld => Err(AppealRefusal::NotHeld),
        }
    }
}
