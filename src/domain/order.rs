//! An order and the edges that it may travel.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use serde::{Deserialize, Serialize, Serializer};

use super::{Address, Money, OrderId, SaleId, UserId};

/// Units that a user holds, on their way to the database. What the outbox and RabbitMQ carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reservation {
    pub order_id: OrderId,
    pub sale_id: SaleId,
    pub user_id: UserId,
    pub quantity: u32,
    pub reserved_at: Timestamp,
}

/// Where an order stands. `Reserved` is never in the database: it means that the order is on its way there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OrderStatus {
    Reserved,
    Unpaid,
    Paid,
    Cancelled,
    /// The database had no room for the reservation any more; nothing was charged.
    Rejected,
    /// The money is on its way back: it came although the order was cancelled, or the shop refunds it.
    RefundPending,
    Refunded,
}

impl OrderStatus {
    pub const ALL: [OrderStatus; 7] = [
        OrderStatus::Reserved,
        OrderStatus::Unpaid,
        OrderStatus::Paid,
        OrderStatus::Cancelled,
        OrderStatus::Rejected,
        OrderStatus::RefundPending,
        OrderStatus::Refunded,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            OrderStatus::Reserved => "reserved",
            OrderStatus::Unpaid => "unpaid",
            OrderStatus::Paid => "paid",
            OrderStatus::Cancelled => "cancelled",
            OrderStatus::Rejected => "rejected",
            OrderStatus::RefundPending => "refund_pending",
            OrderStatus::Refunded => "refunded",
        }
    }

    /// How far along its life: what comes later has a higher rank.
    pub fn rank(self) -> usize {
        OrderStatus::ALL.iter().position(|status| *status == self).unwrap_or_default()
    }

    /// Whether the order holds units of its sale.
    pub fn is_live(self) -> bool {
        matches!(self, OrderStatus::Reserved | OrderStatus::Unpaid | OrderStatus::Paid)
    }

    /// Whether there is an edge from here to `next`. The statements in `store` carry the same edges as conditions.
    pub fn may_become(self, next: OrderStatus) -> bool {
        use OrderStatus::*;
        matches!(
            (self, next),
            (Reserved, Unpaid | Rejected)
                | (Unpaid, Paid | Cancelled)
                | (Paid, RefundPending)
                | (Cancelled, RefundPending)
                | (RefundPending, Refunded)
        )
    }
}

impl fmt::Display for OrderStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for OrderStatus {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl FromStr for OrderStatus {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        OrderStatus::ALL.into_iter().find(|s| s.as_str() == text).ok_or(())
    }
}

/// One step of an order's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct OrderEvent {
    pub at: Timestamp,
    pub status: OrderStatus,
}

/// One step of an order's life as those see it who help shoppers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OrderStep {
    #[serde(flatten)]
    pub event: OrderEvent,
    /// Who of the staff did it.
    pub actor: Option<String>,
    /// Why, for the staff only.
    pub note: Option<String>,
}

/// An order as the database has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    pub id: OrderId,
    pub sale_id: SaleId,
    pub user_id: UserId,
    pub quantity: u32,
    pub amount: Money,
    pub status: OrderStatus,
    /// Why it was rejected, cancelled or refunded: `sold_out`, `repeated`, `unpaid`, `by_owner`, `by_shop`.
    pub reason: Option<String>,
    /// What the shop told its owner about that.
    pub message: Option<String>,
    /// Where it goes, as it was said for this order.
    pub address: Option<Box<Address>>,
    pub reserved_at: Timestamp,
    /// When it reached the database and became `unpaid` (or `rejected`).
    pub created_at: Timestamp,
    pub pay_by: Timestamp,
}

/// When an order id was made, which is when its reservation was asked for.
pub fn made_at(id: OrderId) -> Timestamp {
    let (seconds, nanos) = id.0.get_timestamp().map_or((0, 0), |at| at.to_unix());
    Timestamp::new(seconds as i64, nanos as i32).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_let_go_of_only_once_on_every_path() {
        for from in OrderStatus::ALL {
            for to in OrderStatus::ALL.into_iter().filter(|to| from.may_become(*to)) {
                assert!(from.is_live() || !to.is_live(), "{from} → {to} would take units again");
            }
        }
    }
}
