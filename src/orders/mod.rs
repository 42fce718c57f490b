//! Orders, from the outbox to the end of their lives.
//!
//! [`relay`] carries reservations from the outbox to RabbitMQ and sweeps behind itself, [`consumer`] brings them to the
//! database from either, [`payment`] moves money, [`expiry`] cancels what is overdue and gives units back. [`Orders`] is
//! what their owners ask.

pub mod consumer;
pub mod dead_letters;
pub mod expiry;
pub mod outbox;
pub mod payment;
pub mod rabbit;
pub mod relay;
pub mod source;

use std::sync::Arc;

use jiff::Timestamp;
use tracing::{info, warn};

use crate::clock::Clock;
use crate::domain::order::OrderEvent;
use crate::domain::{Order, OrderId, SaleId, UserId};
use crate::metrics::Metrics;
use crate::stock::Stock;
use crate::store::{Store, StoreError};

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
    /// Neither the database nor the keeper of stock can tell now.
    Unknown,
}

/// What became of a wish to cancel.
#[derive(Debug, Clone, PartialEq)]
pub enum Cancelled {
    Done(Order),
    NotCancellable,
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
    /// the keeper of stock cannot tell now.
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

    /// Newest first, from before an order.
    pub async fn list(&self, user: UserId, before: Option<OrderId>, most: i64) -> Result<Vec<Order>, StoreError> {
        self.store.orders_of(user, before, most).await
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
        // At once if it can be; control does it soon otherwise.
        match self.stock.release(&released).await {
            Ok(done) => {
                self.metrics.released.inc_by(done.len() as u64);
                self.store.releases_done(&done).await?;
            }
            Err(error) => warn!(order = %id, %error, "the units of a cancelled order return later"),
        }
        Ok(self.store.order(sale, id).await?.map_or(Cancelled::NoSuchOrder, Cancelled::Done))
    }
}

/// When an order id was made, which is when its reservation was asked for.
pub fn made_at(id: OrderId) -> Timestamp {
    let (seconds, nanos) = id.0.get_timestamp().map_or((0, 0), |at| at.to_unix());
    Timestamp::new(seconds as i64, nanos as i32).unwrap_or_default()
}
