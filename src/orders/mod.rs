//! Orders, from the outbox to the end of their lives.
//!
//! [`relay`] carries reservations from the outbox to RabbitMQ and sweeps behind itself, [`consumer`] brings them to the
//! database from either, [`payment`] moves money, [`expiry`] cancels what is overdue and gives units back. [`Orders`] is
//! what their owners ask.

pub mod expiry;

use std::sync::Arc;

use jiff::Timestamp;
use tracing::{info, warn};

use crate::clock::Clock;
use crate::domain::order::{OrderEvent, made_at};
use crate::domain::{Address, Order, OrderId, OrderStatus, SaleId, UserId};
use crate::metrics::Metrics;
use crate::stock::Stock;
use crate::store::{AuditReason, HeldUnits, Intervention, Store, StoreError};

/// What can be said about an order to its owner.
#[derive(Debug, Clone, PartialEq)]
pub enum Found {
    Order(Order, Vec<OrderEvent>),
    /// The units are held; the order is on its way to the database.
    Reserved {
        quantity: u32,
        reserved_at: Timestamp,
    },
    /// No such order of this user.
    Nothing,
    /// Neither the database nor the backend of stock can tell now.
    Unknown,
}

/// What became of a wish to cancel.
#[derive(Debug, Clone, PartialEq)]
pub enum Cancelled {
    Done(Order),
    NotCancellable,
    NoSuchOrder,
}

/// What became of an address for an order.
#[derive(Debug, Clone, PartialEq)]
pub enum Addressed {
    Done(Order),
    /// The order is still on its way to the database.
    NotYet,
    /// It is paid, or has ended.
    TooLate,
    NoSuchOrder,
}

/// Orders as their owners see them.
#[derive(Clone)]
pub struct Orders {
    store: Store,
    stock: Arc<dyn Stock>,
    clock: Clock,
    metrics: Arc<Metrics>,
}

impl Orders {
    pub fn new(store: Store, stock: Arc<dyn Stock>, clock: Clock, metrics: Arc<Metrics>) -> Orders {
        Orders { store, stock, clock, metrics }
    }

    /// An order of this user, wherever it is on its way.
    pub async fn find(&self, user: UserId, sale: SaleId, id: OrderId) -> Result<Found, StoreError> {
        if let Some(found) = self.find_landed(user, sale, id).await? {
            return Ok(found);
        }
        match self.stock.hold(sale, user).await {
            Ok(Some(hold)) if hold.order_id == id => {
                Ok(Found::Reserved { quantity: hold.quantity, reserved_at: made_at(id) })
            }
            // It may have landed, and its hold may have gone, between the two looks.
            Ok(_) => Ok(self.find_landed(user, sale, id).await?.unwrap_or(Found::Nothing)),
            Err(_) => Ok(Found::Unknown),
        }
    }

    /// Whether the user holds units of one of these sales whose order is still on its way to the database. `None` when
    /// the backend of stock cannot tell now.
    pub async fn is_under_way(&self, user: UserId, sales: &[SaleId]) -> Result<Option<bool>, StoreError> {
        for &sale in sales {
            match self.stock.hold(sale, user).await {
                Ok(Some(hold)) if self.store.statuses(&[hold.order_id]).await?.is_empty() => return Ok(Some(true)),
                Ok(_) => {}
                Err(_) => return Ok(None),
            }
        }
        Ok(Some(false))
    }

    async fn find_landed(&self, user: UserId, sale: SaleId, id: OrderId) -> Result<Option<Found>, StoreError> {
        match self.store.order(sale, id).await? {
            Some(order) if order.user_id == user => {
                let history = self.store.history(&order).await?;
                Ok(Some(Found::Order(order, history)))
            }
            Some(_) => Ok(Some(Found::Nothing)),
            None => Ok(None),
        }
    }

    /// With one of the statuses, newest first, from before an order.
    pub async fn list(
        &self,
        user: UserId,
        statuses: &[OrderStatus],
        before: Option<OrderId>,
        most: i64,
    ) -> Result<Vec<Order>, StoreError> {
        self.store.orders_of(user, statuses, before, most).await
    }

    /// Says for its owner where an order goes, as long as it is not paid. The order keeps a copy.
    pub async fn deliver_to(
        &self,
        user: UserId,
        sale: SaleId,
        id: OrderId,
        address: &Address,
    ) -> Result<Addressed, StoreError> {
        match self.find(user, sale, id).await? {
            Found::Order(..) => {}
            Found::Reserved { .. } | Found::Unknown => return Ok(Addressed::NotYet),
            Found::Nothing => return Ok(Addressed::NoSuchOrder),
        }
        if !self.store.set_address(sale, id, address).await? {
            return Ok(Addressed::TooLate);
        }
        Ok(self.store.order(sale, id).await?.map_or(Addressed::NoSuchOrder, Addressed::Done))
    }

    /// Cancels an unpaid order for its owner; its units go back on sale.
    pub async fn cancel(&self, user: UserId, sale: SaleId, id: OrderId) -> Result<Cancelled, StoreError> {
        match self.find(user, sale, id).await? {
            Found::Order(..) => {}
            Found::Reserved { .. } | Found::Unknown => return Ok(Cancelled::NotCancellable),
            Found::Nothing => return Ok(Cancelled::NoSuchOrder),
        }
        let released = self.store.cancel(sale, &[id], "by_owner", self.clock.now()).await?;
        if released.is_empty() {
            return Ok(Cancelled::NotCancellable);
        }
        self.metrics.cancelled.inc();
        info!(order = %id, %sale, "cancelled by its owner");
        self.release_now(&released).await?;
        Ok(self.store.order(sale, id).await?.map_or(Cancelled::NoSuchOrder, Cancelled::Done))
    }

    /// Cancels or refunds an order for the shop; its units go back on sale. `false` when the order does not stand where
    /// that begins.
    pub async fn intervene(
        &self,
        order: &Order,
        what: Intervention,
        because: AuditReason<'_>,
    ) -> Result<bool, StoreError> {
        let place = (order.sale_id, order.id);
        let Some(released) = self.store.intervene(place, what, because, self.clock.now()).await? else {
            return Ok(false);
        };
        if what == Intervention::Cancel {
            self.metrics.cancelled.inc();
        }
        info!(order = %order.id, sale = %order.sale_id, actor = because.actor, ?what, "ended by the shop");
        self.release_now(&[released]).await?;
        Ok(true)
    }

    /// At once if it can be; control does it soon otherwise.
    async fn release_now(&self, releases: &[HeldUnits]) -> Result<(), StoreError> {
        match self.stock.release(releases).await {
            Ok(done) => {
                self.metrics.released.inc_by(done.len() as u64);
                self.store.releases_done(&done).await?;
            }
            Err(error) => warn!(orders = releases.len(), %error, "the units of ended orders return later"),
        }
        Ok(())
    }
}
