//! What is told of one account afterwards.

use std::time::Duration;

use crate::domain::{OrderId, UserId};

/// How it ended for somebody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ending {
    /// Went away before the start.
    Left,
    /// Heard or saw that all was gone.
    SoldOut,
    /// Ran out of patience, or nothing worked.
    GaveUp,
    /// The sale was paused or over.
    Closed,
    OutboxItem,
}

/// What somebody has to tell afterwards.
#[derive(Debug, Clone)]
pub struct Outcome {
    pub user: UserId,
    pub fate: Ending,
    /// Every order that was answered; more than one would be wrong.
    pub orders: Vec<OrderId>,
    /// From the 202 until the order could be read as unpaid; `None` when it never could.
    pub landed: Option<Duration>,
    /// Whether money was sent, and whether the order said so afterwards.
    pub payment: Option<bool>,
    /// What the shop promised and did not keep.
    pub broken: Vec<String>,
}

impl Outcome {
    pub fn of(user: UserId) -> Outcome {
        Outcome { user, fate: Ending::GaveUp, orders: Vec::new(), landed: None, payment: None, broken: Vec::new() }
    }

    /// Notes an order that was answered.
    pub fn has_order(&mut self, order: OrderId) {
        if !self.orders.contains(&order) {
            self.orders.push(order);
        }
    }
}
