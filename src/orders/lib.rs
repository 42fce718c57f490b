//! Orders once their units are held: what owners and staff read and do, and [`expiry`], which cancels unpaid orders and
//! releases units of ended ones. How an order gets into the database is in [`engine::pipeline`].

pub mod expiry;
pub mod holds;
pub mod linked_accounts;
pub mod parcels;
mod receipt;
pub mod reservations;
pub mod support;

use std::collections::HashSet;
use std::sync::Arc;

use boxed::boxed;
use jiff::Timestamp;
use tracing::{info, warn};

use self::receipt::Receipts;
use self::support::StaffActionOutcome;
use accounts::LinkDigests;
use base::clock::Clock;
use base::metrics::Metrics;
use base::rate_limit::UserLimit;
use base::signing::ShopSecret;
use domain::claim::Claim;
use domain::invoice::Invoice;
use domain::order::{OrderEvent, generated_at};
use domain::{Address, Order, OrderId, OrderStatus, Page, ReturnPolicy, SaleId, UserId};
use engine::eligibility::Eligibility;
use engine::stock::Stock;
use store::{AuditReason, HeldUnits, LockPatience, PartialRefund, StaffAction, Store, StoreError, StoreResult};

/// The result of looking up an order for its owner.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "each is matched at once, and most are orders")]
pub enum OrderLookup {
    Order(Order, Vec<OrderEvent>),
    /// The units are held, and the order has not reached the database yet.
    Reserved {
        quantity: u32,
        reserved_at: Timestamp,
    },
    /// The user has no such order.
    NotFound,
    /// The order is not in the database, and the stock backend cannot answer now.
    Unknown,
}

/// Why an owner's request about an order is refused.
#[derive(Debug, thiserror::Error)]
pub enum OrderRefusal {
    #[error("this user has no such order")]
    NoSuchOrder,
    #[error("the order has not reached the database and cannot be paid yet")]
    NotPayable,
    #[error("the order can no longer be cancelled")]
    NotCancellable,
    /// The order is paid and has an address, or has ended.
    #[error("the address of the order can no longer be changed")]
    AddressFixed,
    #[error("the order has not reached the database and takes no address yet")]
    AddressTooEarly,
    /// The sale allows one account per address, and the owner took part with another address.
    #[error("the account took part in the sale with another address")]
    OtherAddress,
    /// Neither the database nor the stock backend can answer now.
    #[error("it is not known where the order stands")]
    Unknown,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Whether an order is paid or was until it was refunded. Only such orders have an invoice, refunds or a return.
fn was_paid(order: &Order) -> bool {
    matches!(order.status, OrderStatus::Paid | OrderStatus::RefundPending | OrderStatus::Refunded)
}

/// Orders as their owners see them.
#[derive(Clone)]
pub struct Orders {
    store: Store,
    stock: Arc<dyn Stock>,
    eligibility: Arc<Eligibility>,
    clock: Clock,
    metrics: Arc<Metrics>,
    receipts: Receipts,
    link_digests: LinkDigests,
    /// Limits the appeals of each account.
    appeals: Arc<UserLimit>,
    groups: linked_accounts::GroupCache,
    returns: ReturnPolicy,
}

#[boxed]
impl Orders {
    pub fn new(
        store: Store,
        stock: Arc<dyn Stock>,
        eligibility: Arc<Eligibility>,
        clock: Clock,
        metrics: Arc<Metrics>,
        secret: &ShopSecret,
        returns: ReturnPolicy,
    ) -> Orders {
        Orders {
            groups: linked_accounts::cache(clock.clone()),
            store,
            stock,
            eligibility,
            clock,
            metrics,
            receipts: Receipts::new(secret),
            link_digests: LinkDigests::new(secret),
            returns,
            appeals: Arc::new(UserLimit::every(holds::APPEAL_INTERVAL, holds::APPEAL_BURST)),
        }
    }

    /// The receipt for units that were granted.
    pub fn receipt(&self, sale: SaleId, claim: &Claim) -> String {
        self.receipts.issue(sale, claim)
    }

    /// As [`Orders::find`]. If the order is unknown but the user has a receipt for it, it was granted and lost, so it
    /// is granted again, as in a replay. A receipt is of no use once the sale has left the stock backend.
    pub async fn find_with_receipt(
        &self,
        user: UserId,
        sale: SaleId,
        id: OrderId,
        receipt: Option<&str>,
    ) -> StoreResult<OrderLookup> {
        let found = self.find(user, sale, id).await?;
        let claim = receipt.and_then(|receipt| self.receipts.verify(receipt, user, sale, id));
        let (OrderLookup::NotFound, Some(claim)) = (&found, claim) else { return Ok(found) };
        match self.stock.grant_again(sale, claim).await {
            Ok(true) => {
                warn!(order = %id, %sale, "granted an order again for its receipt: it had been lost");
                Ok(OrderLookup::Reserved { quantity: claim.quantity, reserved_at: generated_at(id) })
            }
            Ok(false) => Ok(found),
            Err(_) => Ok(OrderLookup::Unknown),
        }
    }

    /// Looks up an order of this user in the database and in the stock backend.
    pub async fn find(&self, user: UserId, sale: SaleId, id: OrderId) -> StoreResult<OrderLookup> {
        if let Some(found) = self.find_in_database(user, sale, id).await? {
            return Ok(found);
        }
        match self.stock.hold(sale, user).await {
            Ok(Some(hold)) if hold.order_id == id => {
                Ok(OrderLookup::Reserved { quantity: hold.quantity, reserved_at: generated_at(id) })
            }
            // Between the two reads the order may have reached the database and its hold may have been released.
            Ok(_) => Ok(self.find_in_database(user, sale, id).await?.unwrap_or(OrderLookup::NotFound)),
            Err(_) => Ok(OrderLookup::Unknown),
        }
    }

    /// The order, once it is in the database: a payment refers to its row.
    pub async fn find_persisted(&self, user: UserId, sale: SaleId, id: OrderId) -> Result<Order, OrderRefusal> {
        match self.find(user, sale, id).await? {
            OrderLookup::Order(order, _) => Ok(order),
            OrderLookup::Reserved { .. } => Err(OrderRefusal::NotPayable),
            OrderLookup::NotFound => Err(OrderRefusal::NoSuchOrder),
            OrderLookup::Unknown => Err(OrderRefusal::Unknown),
        }
    }

    /// Whether the user holds units of one of these sales whose order is still on its way to the database. `None` when
    /// the stock backend cannot answer now.
    pub async fn has_pending(&self, user: UserId, sales: &[SaleId]) -> StoreResult<Option<bool>> {
        for &sale in sales {
            match self.stock.hold(sale, user).await {
                Ok(Some(hold)) if self.store.orders().order_statuses(&[hold.order_id]).await?.is_empty() => {
                    return Ok(Some(true));
                }
                Ok(_) => {}
                Err(_) => return Ok(None),
            }
        }
        Ok(Some(false))
    }

    async fn find_in_database(&self, user: UserId, sale: SaleId, id: OrderId) -> StoreResult<Option<OrderLookup>> {
        match self.store.orders().get(sale, id).await? {
            Some(order) if order.user_id == user => {
                let history = self.store.orders().history(&order).await?;
                Ok(Some(OrderLookup::Order(order, history)))
            }
            Some(_) => Ok(Some(OrderLookup::NotFound)),
            None => Ok(None),
        }
    }

    /// A user's orders with one of the statuses, newest first. With `before`, only orders older than that one. No
    /// statuses mean all.
    pub async fn list(
        &self,
        user: UserId,
        statuses: &[OrderStatus],
        before: Option<OrderId>,
        limit: usize,
    ) -> StoreResult<Page<Order, OrderId>> {
        let orders = self.store.orders().orders_of(user, statuses, before, limit as i64 + 1).await?;
        Ok(Page::cut(orders, limit, |order| order.id))
    }

    /// Sets the address of an unpaid order for its owner, or the missing address of a paid order. The order keeps a
    /// copy.
    pub async fn deliver_to(
        &self,
        user: UserId,
        sale: SaleId,
        id: OrderId,
        address: &Address,
    ) -> Result<Order, OrderRefusal> {
        match self.find(user, sale, id).await? {
            OrderLookup::Order(..) => {}
            OrderLookup::Reserved { .. } | OrderLookup::Unknown => return Err(OrderRefusal::AddressTooEarly),
            OrderLookup::NotFound => return Err(OrderRefusal::NoSuchOrder),
        }
        if !self.eligibility.accepts_address(sale, user, address).await? {
            return Err(OrderRefusal::OtherAddress);
        }
        let mut links = self.link_digests.of_address(address);
        if let Some(contact) = self.store.accounts().mail_of(user).await?.and_then(|mail| mail.address) {
            links.extend(self.link_digests.of_contact(&contact));
        }
        if !self.store.orders().set_address(sale, id, address, &links).await? {
            return Err(OrderRefusal::AddressFixed);
        }
        self.store.orders().get(sale, id).await?.ok_or(OrderRefusal::NoSuchOrder)
    }

    /// The invoice that the owner of a paid order asked for. Unpaid orders are not looked up.
    pub async fn invoice(&self, of: &Order) -> StoreResult<Option<Invoice>> {
        match was_paid(of) {
            true => self.store.orders().invoice_of(of.id).await,
            false => Ok(None),
        }
    }

    /// Cancels an unpaid order for its owner. Its units go back on sale.
    pub async fn cancel(&self, user: UserId, sale: SaleId, id: OrderId) -> Result<Order, OrderRefusal> {
        match self.find(user, sale, id).await? {
            OrderLookup::Order(..) => {}
            OrderLookup::Reserved { .. } | OrderLookup::Unknown => return Err(OrderRefusal::NotCancellable),
            OrderLookup::NotFound => return Err(OrderRefusal::NoSuchOrder),
        }
        let cancelled = self.store.orders().cancel(sale, &[id], "by_owner", LockPatience::Long).await?;
        if cancelled.is_empty() {
            return Err(OrderRefusal::NotCancellable);
        }
        self.metrics.cancelled.inc();
        info!(order = %id, %sale, "order cancelled by its owner");
        self.release_now(&cancelled).await?;
        self.store.orders().get(sale, id).await?.ok_or(OrderRefusal::NoSuchOrder)
    }

    /// Partial refunds of an order, oldest first.
    pub async fn partial_refunds(&self, of: &Order) -> StoreResult<Vec<PartialRefund>> {
        match was_paid(of) {
            true => self.store.payments().partial_refunds_of(of.id).await,
            false => Ok(Vec::new()),
        }
    }

    /// Whether the last attempt to pay an order that is still to be paid was declined.
    pub async fn is_declined(&self, of: &Order) -> StoreResult<bool> {
        Ok(self.declined_among(std::slice::from_ref(of)).await?.contains(&of.id))
    }

    /// The orders among these for which [`Orders::is_declined`] is true.
    pub async fn declined_among(&self, orders: &[Order]) -> StoreResult<HashSet<OrderId>> {
        let unpaid: Vec<OrderId> =
            orders.iter().filter(|order| order.status == OrderStatus::Unpaid).map(|order| order.id).collect();
        self.store.payments().declined_among(&unpaid).await
    }

    /// Cancels an order on behalf of staff. Its units go back on sale. `by` is the account of `reason.actor`.
    pub async fn cancel_for_staff(
        &self,
        order: &Order,
        by: UserId,
        reason: AuditReason<'_>,
    ) -> StoreResult<StaffActionOutcome> {
        self.cancel_by(order, StaffAction::Cancel, by, reason).await
    }

    /// As [`Orders::cancel_for_staff`], but only if the order is held.
    pub async fn cancel_held(
        &self,
        order: &Order,
        by: UserId,
        reason: AuditReason<'_>,
    ) -> StoreResult<StaffActionOutcome> {
        self.cancel_by(order, StaffAction::CancelHeld, by, reason).await
    }

    async fn cancel_by(
        &self,
        order: &Order,
        action: StaffAction,
        by: UserId,
        reason: AuditReason<'_>,
    ) -> StoreResult<StaffActionOutcome> {
        if order.user_id == by {
            return Ok(StaffActionOutcome::OwnOrder);
        }
        let id = (order.sale_id, order.id);
        let cancelled = self.store.orders().apply_staff_action(id, action, reason, self.clock.now()).await?;
        let Some(held) = cancelled else { return Ok(StaffActionOutcome::WrongStatus) };
        self.metrics.cancelled.inc();
        info!(order = %order.id, sale = %order.sale_id, actor = reason.actor, "order cancelled by staff");
        self.release_now(&[held]).await?;
        Ok(StaffActionOutcome::Done)
    }

    /// Releases the units of ended orders at once. If the stock backend is unavailable, the role `control` does it
    /// later.
    pub async fn release_now(&self, held: &[HeldUnits]) -> StoreResult<()> {
        if held.is_empty() {
            return Ok(());
        }
        match self.stock.release(held).await {
            Ok(done) => {
                self.metrics.released.inc_by(done.len() as u64);
                self.store.orders().delete_releases(&done).await?;
            }
            Err(error) => {
                warn!(orders = held.len(), %error, "cannot release the units of ended orders now; will be retried")
            }
        }
        Ok(())
    }
}
