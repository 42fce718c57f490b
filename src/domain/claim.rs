//! A claim on units of a sale, and the decision about it.

use serde::{Deserialize, Serialize};

use super::order::generated_at;
use super::{OrderId, OrderStatus, Reservation, SaleId, UserId};

/// One user's request for units of a sale. `order_id` becomes the id of the order if the claim is granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Claim {
    pub user_id: UserId,
    pub order_id: OrderId,
    pub quantity: u32,
}

impl Claim {
    /// The reservation that the claim becomes once it is granted. `reserved_at` is the time in the order's id.
    pub fn reservation(&self, sale_id: SaleId) -> Reservation {
        Reservation {
            order_id: self.order_id,
            sale_id,
            user_id: self.user_id,
            quantity: self.quantity,
            reserved_at: generated_at(self.order_id),
        }
    }
}

/// Units that a user holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hold {
    pub order_id: OrderId,
    pub quantity: u32,
}

impl Hold {
    /// The claim that was granted with this hold.
    pub fn claim_of(self, user_id: UserId) -> Claim {
        Claim { user_id, order_id: self.order_id, quantity: self.quantity }
    }
}

/// The stock backend's decision about one claim. A refusal is a decision, not an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The units are held: the order is `reserved`, or `unpaid` where the database itself decided.
    Granted(OrderStatus),
    /// The user already held units; this is the hold of the first order.
    Repeated(Hold),
    SoldOut,
    /// The user's bucket is empty, but other buckets or the pool have units: a later try may succeed.
    Busy,
    OverLimit,
    /// The sale is not live, or the backend's own clock is outside its window.
    NotOpen,
    Ended,
    /// The sale is not loaded in the backend, so there is no decision now.
    NotLoaded,
}
