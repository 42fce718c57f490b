//! What the cockpit shows: one look at a sale, each part with its own age.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;

use super::drift::Drift;
use crate::counters::CounterSnapshot;
use crate::domain::Bucket;
use crate::domain::{Phase, SaleState};
use crate::store::OrderCounts;

/// What one engine said, or since when it has said nothing.
#[derive(Debug, Clone, Serialize)]
pub struct Part<T> {
    /// `None` while the engine does not answer.
    pub value: Option<T>,
    /// When it answered last.
    pub at: Option<Timestamp>,
    pub unknown_since: Option<Timestamp>,
}

impl<T> Default for Part<T> {
    fn default() -> Part<T> {
        Part { value: None, at: None, unknown_since: None }
    }
}

impl<T> Part<T> {
    /// The part after an attempt to read it.
    pub(super) fn after(&self, read: Option<T>, now: Timestamp) -> Part<T> {
        match read {
            Some(value) => Part { value: Some(value), at: Some(now), unknown_since: None },
            None => Part { value: None, at: self.at, unknown_since: Some(self.unknown_since.unwrap_or(now)) },
        }
    }
}

/// What the gate of this process judges by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct GateFacts {
    pub phase: Phase,
    pub total: i64,
    pub remaining: i64,
    /// `None` while the backend of stock does not know the sale.
    pub booked: Option<i64>,
    pub access: Option<i64>,
}

/// What the database says about the sale itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct SaleFacts {
    pub state: SaleState,
    /// Rises with every change by the staff or the schedule.
    pub version: i64,
    pub phase: Phase,
    pub total: i64,
    /// Units in live orders.
    pub sold: i64,
    /// Units ever written as orders.
    pub persisted: i64,
    /// Units of ended orders that are on their way back.
    pub unreleased: i64,
}

/// What became of the buying requests, over all processes that serve.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Requests {
    pub asked: u64,
    pub let_in: u64,
    pub reserved: u64,
    pub repeated: u64,
    /// By reason, at the gate or by the backend of stock.
    pub refused: BTreeMap<&'static str, u64>,
}

impl Requests {
    pub(super) fn of(numbers: &CounterSnapshot) -> Requests {
        let refused = numbers.refused().filter(|(_, n)| *n > 0).map(|(reason, n)| (reason.code(), n)).collect();
        Requests {
            asked: numbers.asked,
            let_in: numbers.let_in,
            reserved: numbers.reserved,
            repeated: numbers.repeated,
            refused,
        }
    }

    pub fn refused_in_all(&self) -> u64 {
        self.refused.values().sum()
    }
}

/// How the orders stand.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct OrderFacts {
    pub persisted: i64,
    pub unpaid: i64,
    pub paid: i64,
    pub cancelled: i64,
    pub rejected: i64,
    /// Paid too late: the money is going back, or is back.
    pub refunded: i64,
    /// Units of ended orders that are on sale again.
    pub returned_units: i64,
}

impl OrderFacts {
    pub(super) fn of(counts: &OrderCounts) -> OrderFacts {
        use crate::domain::OrderStatus::*;
        let orders = |status| counts.of(status).orders;
        let ended: i64 =
            [Cancelled, Rejected, RefundPending, Refunded].map(|status| counts.of(status).units).iter().sum();
        OrderFacts {
            persisted: counts.by_status.values().map(|counted| counted.orders).sum(),
            unpaid: orders(Unpaid),
            paid: orders(Paid),
            cancelled: orders(Cancelled) + orders(RefundPending) + orders(Refunded),
            rejected: orders(Rejected),
            refunded: orders(RefundPending) + orders(Refunded),
            returned_units: (ended - counts.unreleased).max(0),
        }
    }
}

/// What the Redis master holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct StockFacts {
    /// `None` when the sale is not loaded.
    pub booked: Option<i64>,
    /// Entries in the outbox.
    pub outbox: i64,
}

/// A bucket of a split sale, by the master.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct BucketFacts {
    pub bucket: Bucket,
    /// Units it was given, booked ones included.
    pub allotted: i64,
    pub booked: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct QueueFacts {
    pub ready: u32,
    pub dead: u32,
}

/// A point of the plots: what happened in a second, averaged over the last few.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Point {
    /// Milliseconds since 1970.
    pub at: i64,
    pub asked: Option<f64>,
    pub accepted: Option<f64>,
    pub refused: BTreeMap<&'static str, f64>,
    pub p50_ms: Option<f64>,
    pub p99_ms: Option<f64>,
    pub persisted: Option<f64>,
    pub outbox: Option<i64>,
    pub ready: Option<u32>,
    pub dead: Option<u32>,
}

/// How Redis and the database differ, and since when they do so in this way.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct DriftSince {
    #[serde(flatten)]
    pub drift: Drift,
    pub since: Timestamp,
}

/// One look at a sale.
#[derive(Debug, Clone, Serialize)]
pub struct Sample {
    pub at: Timestamp,
    pub gate: Part<GateFacts>,
    pub sale: Part<SaleFacts>,
    pub requests: Part<Requests>,
    /// Counted less often than the rest; its `at` says when.
    pub orders: Part<OrderFacts>,
    /// `None` where no Redis is configured.
    #[serde(rename = "keeper")]
    pub stock: Option<Part<StockFacts>>,
    /// Empty where the sale is not split, and while the master does not answer.
    pub buckets: Vec<BucketFacts>,
    /// `None` where no RabbitMQ is configured.
    pub queue: Option<Part<QueueFacts>>,
    pub drift: Option<DriftSince>,
    pub point: Point,
}

impl Sample {
    /// What shoppers meet, as far as anybody knows.
    pub fn phase(&self) -> Option<Phase> {
        self.gate.value.map(|gate| gate.phase).or(self.sale.value.map(|sale| sale.phase))
    }

    pub fn total(&self) -> Option<i64> {
        self.sale.value.map(|sale| sale.total).or(self.gate.value.map(|gate| gate.total))
    }

    /// Units that somebody holds: by the master, or what the gate heard of it, or where there is neither the database.
    pub fn booked(&self) -> Option<i64> {
        match &self.stock {
            Some(stock) => stock.value.and_then(|k| k.booked).or(self.gate.value.and_then(|gate| gate.booked)),
            None => self.sale.value.map(|sale| sale.sold),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::OrderStatus;
    use crate::store::Counted;

    #[test]
    fn a_part_that_is_silent_says_since_when() {
        let at = |s| Timestamp::from_second(s).unwrap();
        let heard = Part::default().after(Some(5), at(10));
        let silent = heard.after(None, at(11)).after(None, at(12));
        assert_eq!((silent.value, silent.at, silent.unknown_since), (None, Some(at(10)), Some(at(11))));
        let again = silent.after(Some(6), at(13));
        assert_eq!((again.value, again.unknown_since), (Some(6), None));
    }

    #[test]
    fn orders_are_told_by_what_became_of_them() {
        let mut counts = OrderCounts { unreleased: 1, ..OrderCounts::default() };
        for (status, orders, units) in
            [(OrderStatus::Paid, 3, 4), (OrderStatus::Cancelled, 2, 3), (OrderStatus::Refunded, 1, 1)]
        {
            counts.by_status.insert(status.as_str(), Counted { orders, units });
        }
        let facts = OrderFacts::of(&counts);
        assert_eq!((facts.persisted, facts.paid, facts.cancelled, facts.refunded), (6, 3, 3, 1));
        assert_eq!(facts.returned_units, 3);
    }
}
