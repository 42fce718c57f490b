//! The record of one test account.

use std::time::Duration;

use domain::{OrderId, UserId};

/// How a visit ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum VisitOutcome {
    /// The shopper left before the opening.
    Left,
    /// The shop answered that all units were sold.
    SoldOut,
    /// The shopper ran out of patience, or no request succeeded.
    GaveUp,
    /// The sale was paused or over.
    Closed,
    Granted,
}

/// What one account was granted and how its visit ended.
#[derive(Debug, Clone)]
pub struct AccountRecord {
    pub user: UserId,
    pub outcome: VisitOutcome,
    /// All different order ids in responses. More than one is a violation.
    pub orders: Vec<OrderId>,
    /// Time from the 202 until the order was readable as unpaid; `None` if it never was.
    pub persisted_after: Option<Duration>,
    /// `Some` once money was sent: whether the order became paid.
    pub paid: Option<bool>,
    /// Status and code of the answer if no payment could be started. The purchase itself was kept.
    pub payment_refused: Option<String>,
    /// Promises of the shop that were not kept, in words.
    pub violations: Vec<String>,
}

impl AccountRecord {
    pub fn new(user: UserId) -> AccountRecord {
        AccountRecord {
            user,
            outcome: VisitOutcome::GaveUp,
            orders: Vec::new(),
            persisted_after: None,
            paid: None,
            payment_refused: None,
            violations: Vec::new(),
        }
    }

    /// Adds an order id from a response; repeats are ignored.
    pub fn add_order(&mut self, order: OrderId) {
        if !self.orders.contains(&order) {
            self.orders.push(order);
        }
    }
}
