//! A claim on units of a sale, and what is decided about it.

use super::{OrderId, OrderStatus, UserId};

/// One user's wish for units of a sale. The order id becomes the order's if the wish is granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claim {
    pub user_id: UserId,
    pub order_id: OrderId,
    pub quantity: u32,
}

/// Units that a user holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hold {
    pub order_id: OrderId,
    pub quantity: u32,
}

/// What was decided about one claim. Losing is not an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The units are held: the order is `reserved`, or `unpaid` where the database itself decided.
    Granted(OrderStatus),
    /// The user held units already; this is the first order.
    Repeated(Hold),
    SoldOut,
    /// None left in the user's bucket, but in others or in the pool: worth another try.
    Busy,
    OverLimit,
    /// Outside the window by the backend's own clock, or not live.
    NotOpen,
    Ended,
    /// The backend does not know the sale (yet, or any more); nothing can be said now.
    NotLoaded,
}

/// Nobody can tell what happened: the call may have been carried out. Asking again finds out.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the stock is not available: {0}")]
pub struct Unavailable(pub String);
