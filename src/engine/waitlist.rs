//! Requests of accounts that wait for units of a sold-out rush. How units reach them is in
//! `control::waitlists`.

use std::net::IpAddr;
use std::sync::Arc;

use boxed::boxed;
use tracing::warn;

use crate::catalogue::Catalogue;
use crate::eligibility::{Eligibility, EligibilityRefusal};
use crate::gate::Gate;
use crate::stock::Stock;
use base::rate_limit::RequestLimits;
use domain::{Ineligible, Order, OrderId, Phase, SaleId, UserId, Waiter, WaiterState};
use store::{Store, StoreError, StoreResult, WaitOutcome};

/// The answer to a request that changes a waitlist.
#[derive(Debug)]
pub enum WaitlistRefusal {
    RateLimited,
    NoSuchSale,
    /// Sales of this mode have no waitlist.
    NoWaitlist,
    /// Units are left: there is nothing to wait for.
    NotSoldOut,
    /// The account already has this order in the sale.
    HasOrder(OrderId),
    BadQuantity,
    OverLimit,
    /// The account never joined.
    NotWaiting,
    Ineligible(EligibilityRefusal),
    /// The sale has no waitlist in this phase.
    Closed(Phase),
    Store(StoreError),
}

refusal_from!(WaitlistRefusal: Ineligible(EligibilityRefusal), Store(StoreError));

/// An account on a waitlist, as it sees itself.
#[derive(Debug)]
pub struct OwnPlace {
    pub waiter: Waiter,
    /// Accounts that wait before it, as far as they are counted; `None` unless it waits.
    pub ahead: Option<i64>,
    /// The order that the account was offered.
    pub order: Option<Order>,
}

/// The waitlists of sales, for their accounts.
pub struct WaitlistRequests {
    store: Store,
    catalogue: Arc<Catalogue>,
    gate: Arc<Gate>,
    stock: Arc<dyn Stock>,
    eligibility: Arc<Eligibility>,
    /// Each request is a transaction.
    limits: RequestLimits,
}

#[boxed]
impl WaitlistRequests {
    pub fn new(
        store: Store,
        catalogue: Arc<Catalogue>,
        gate: Arc<Gate>,
        stock: Arc<dyn Stock>,
        eligibility: Arc<Eligibility>,
        user_rate: u32,
    ) -> WaitlistRequests {
        WaitlistRequests { store, catalogue, gate, stock, eligibility, limits: RequestLimits::new(user_rate) }
    }

    /// Puts an account on the waitlist of a sold-out sale, once. Returns whether the place is new. Safe to repeat, on
    /// any device.
    pub async fn join(
        &self,
        sale: SaleId,
        user: UserId,
        quantity: i64,
        client: IpAddr,
    ) -> Result<(OwnPlace, bool), WaitlistRefusal> {
        self.limits.allow(user, client).ok_or(WaitlistRefusal::RateLimited)?;
        let quantity = u32::try_from(quantity).ok().filter(|n| *n > 0).ok_or(WaitlistRefusal::BadQuantity)?;
        let known =
            self.store.waitlists().waiter(sale, user).await?.filter(|waiter| waiter.state == WaiterState::Waiting);
        let (waiter, is_new) = match known {
            Some(known) => (known, false),
            None => {
                self.check_sold_out(sale)?;
                self.eligibility.check(sale, user).await?;
                self.join_now(sale, user, quantity).await?
            }
        };
        Ok((self.place_of(sale, waiter).await?, is_new))
    }

    async fn join_now(&self, sale: SaleId, user: UserId, quantity: u32) -> Result<(Waiter, bool), WaitlistRefusal> {
        match self.store.waitlists().join(sale, user, quantity).await? {
            WaitOutcome::Joined(waiter) => {
                // Data control does this too, a moment later.
                if let Some(entry) = self.catalogue.known(sale)
                    && let Err(error) = self.stock.follow_waitlist(&entry.sale).await
                {
                    warn!(%sale, %error, "units cannot be kept for the waitlist now; will be retried");
                }
                Ok((waiter, true))
            }
            WaitOutcome::Known(waiter) => Ok((waiter, false)),
            WaitOutcome::HasOrder(order) => Err(WaitlistRefusal::HasOrder(order)),
            WaitOutcome::OverLimit => Err(WaitlistRefusal::OverLimit),
            WaitOutcome::Closed(phase) => Err(WaitlistRefusal::Closed(phase)),
            WaitOutcome::DepositNeeded => Err(EligibilityRefusal::from(Ineligible::DepositNeeded).into()),
            WaitOutcome::NoWaitlist => Err(WaitlistRefusal::NoWaitlist),
        }
    }

    /// Takes an account off the waitlist. Repeating it changes nothing.
    pub async fn leave(&self, sale: SaleId, user: UserId, client: IpAddr) -> Result<(), WaitlistRefusal> {
        self.limits.allow(user, client).ok_or(WaitlistRefusal::RateLimited)?;
        if self.store.waitlists().leave(sale, user).await? { Ok(()) } else { Err(WaitlistRefusal::NotWaiting) }
    }

    /// Where an account stands; `None` when it never joined.
    pub async fn place(&self, sale: SaleId, user: UserId) -> StoreResult<Option<OwnPlace>> {
        match self.store.waitlists().waiter(sale, user).await? {
            Some(waiter) => Ok(Some(self.place_of(sale, waiter).await?)),
            None => Ok(None),
        }
    }

    async fn place_of(&self, sale: SaleId, waiter: Waiter) -> StoreResult<OwnPlace> {
        let (ahead, order) = match (waiter.state, waiter.order_id) {
            (WaiterState::Waiting, _) => (Some(self.store.waitlists().waiters_ahead(sale, &waiter).await?), None),
            (WaiterState::Offered, Some(order)) => (None, self.store.orders().get(sale, order).await?),
            _ => (None, None),
        };
        Ok(OwnPlace { waiter, ahead, order })
    }

    fn check_sold_out(&self, sale: SaleId) -> Result<(), WaitlistRefusal> {
        let status = self.gate.status(sale).ok_or(WaitlistRefusal::NoSuchSale)?;
        let has_waitlist = self.catalogue.known(sale).is_some_and(|entry| entry.sale.mode.has_waitlist());
        match status.phase {
            _ if !has_waitlist => Err(WaitlistRefusal::NoWaitlist),
            Phase::SoldOut => Ok(()),
            Phase::Open => Err(WaitlistRefusal::NotSoldOut),
            phase => Err(WaitlistRefusal::Closed(phase)),
        }
    }
}
