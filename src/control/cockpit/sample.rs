//! A sample of a sale: every number that the cockpit shows, each part with its own age.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;

use super::alarms::Drift;
use super::sampler::OpeningCounts;
use base::counters::CounterSnapshot;
use domain::wire::wire_enum;
use domain::{Alarm, AlarmEvent, Bucket, Phase, SaleState};
use engine::pipeline::rabbit::Depths;
use store::OrderCounts;

/// What one engine answered, or since when it has not answered.
#[derive(Debug, Clone, Serialize)]
pub struct Part<T> {
    /// `None` while the engine does not answer.
    pub value: Option<T>,
    /// When the engine last answered.
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

/// The facts by which the gate of this process decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct GateFacts {
    pub phase: Phase,
    pub total: i64,
    pub remaining: i64,
    /// `None` while the stock backend does not know the sale.
    pub booked: Option<i64>,
    pub access: Option<i64>,
}

/// The sale as the database has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct SaleFacts {
    pub state: SaleState,
    /// Increases with every change by staff or schedule.
    pub version: i64,
    pub phase: Phase,
    pub total: i64,
    /// Units in live orders.
    pub sold: i64,
    /// Units ever persisted as orders.
    pub persisted: i64,
    /// Units of ended orders that Redis still holds.
    pub unreleased: i64,
    /// Accounts on the waitlist, as far as they are counted.
    pub waiting: i64,
    /// Orders of the waitlist that wait for payment.
    pub open_offers: i64,
    /// Entries of a draw, as far as they are counted; `None` for other sales.
    pub entries: Option<i64>,
    /// `None` without a waiting room.
    pub line: Option<LineFacts>,
}

/// A waiting room as the database has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct LineFacts {
    /// How often a place was taken.
    pub joined: i64,
    pub called: i64,
}

impl SaleFacts {
    /// Accounts that wait: in the waiting room, for the draw, or on the waitlist.
    pub fn waiting(&self) -> i64 {
        let in_line = self.line.map(|line| (line.joined - line.called).max(0));
        in_line.or(self.entries).unwrap_or(self.waiting)
    }
}

/// The outcomes of buying requests, over all processes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Requests {
    pub asked: u64,
    pub let_in: u64,
    pub reserved: u64,
    pub repeated: u64,
    /// Refused requests by reason, by the gate and the stock backend together.
    pub refused: BTreeMap<&'static str, u64>,
}

impl Requests {
    pub(super) fn of(numbers: &CounterSnapshot) -> Requests {
        let refused = numbers.refused().filter(|(_, n)| *n > 0).map(|(reason, n)| (reason.as_str(), n)).collect();
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

/// The orders by status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct OrderFacts {
    pub persisted: i64,
    pub unpaid: i64,
    pub paid: i64,
    /// Units of paid orders.
    pub paid_units: i64,
    pub cancelled: i64,
    pub rejected: i64,
    /// Orders whose payment came too late: the money is being refunded, or has been.
    pub refunded: i64,
    /// Units of ended orders that are on sale again.
    pub returned_units: i64,
}

impl OrderFacts {
    pub(super) fn of(counts: &OrderCounts) -> OrderFacts {
        use domain::OrderStatus::*;
        let [unpaid, paid, cancelled, rejected, pending, refunded] =
            [Unpaid, Paid, Cancelled, Rejected, RefundPending, Refunded].map(|status| counts.totals.of(status).orders);
        let ended: i64 =
            [Cancelled, Rejected, RefundPending, Refunded].map(|status| counts.totals.of(status).units).iter().sum();
        OrderFacts {
            persisted: counts.totals.by_status.values().map(|counted| counted.orders).sum(),
            unpaid,
            paid,
            paid_units: counts.totals.of(Paid).units,
            cancelled: cancelled + pending + refunded,
            rejected,
            refunded: pending + refunded,
            returned_units: (ended - counts.unreleased).max(0),
        }
    }

    /// The percentage of orders that are paid, of all that ever held units.
    pub fn paid_share(&self) -> Option<f64> {
        let held = self.persisted - self.rejected;
        (held > 0).then(|| (self.paid as f64 * 1000.0 / held as f64).round() / 10.0)
    }
}

/// What the Redis master has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct StockFacts {
    /// `None` when the sale is not loaded.
    pub booked: Option<i64>,
    /// Entries in the outbox.
    pub outbox: i64,
}

/// A bucket of a split sale, as the master has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct BucketFacts {
    pub bucket: Bucket,
    /// Units allotted to the bucket, including booked ones.
    pub allotted: i64,
    pub booked: i64,
}

/// A point of the plots: rates per second, averaged over the last few samples.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Point {
    /// Unix time in milliseconds.
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
    /// Units that no account holds.
    pub left: Option<i64>,
    pub paid_units: Option<i64>,
    /// Paid orders in percent of all orders that ever held units.
    pub paid_share: Option<f64>,
    /// Accounts in the waiting room or on the waitlist, or entries of the draw.
    pub waiting: Option<i64>,
    /// Calls of the waiting room.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub called: Option<f64>,
}

wire_enum! {
    /// The color of a tile whose value is beyond its bound. The texts are classes of the style sheet.
    pub enum Mood {
        Warn = "warn",
        Bad = "bad",
    }
}

/// A text with its numbers, in the order of their places.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sentence {
    pub key: &'static str,
    pub numbers: Vec<f64>,
}

impl Sentence {
    pub fn new<const N: usize>(key: &'static str, numbers: [f64; N]) -> Sentence {
        Sentence { key, numbers: numbers.into() }
    }
}

/// How Redis and the database differ, and since when.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct DriftSince {
    #[serde(flatten)]
    pub drift: Drift,
    pub since: Timestamp,
}

/// All numbers of a sale at one instant.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Sample {
    pub at: Timestamp,
    pub gate: Part<GateFacts>,
    pub sale: Part<SaleFacts>,
    pub requests: Part<Requests>,
    /// Orders are counted less often than the rest is read. `at` is the time of the count.
    pub orders: Part<OrderFacts>,
    /// `None` where no Redis is configured.
    #[serde(rename = "keeper")]
    pub stock: Option<Part<StockFacts>>,
    /// Empty if the sale is not split, and while the master does not answer.
    pub buckets: Vec<BucketFacts>,
    /// `None` where no RabbitMQ is configured.
    pub queue: Option<Part<Depths>>,
    pub drift: Option<DriftSince>,
    pub point: Point,
    pub alarms: Vec<Alarm>,
    /// The newest alarms as they were recorded, newest first.
    pub events: Vec<AlarmEvent>,
    /// Tiles whose value is beyond its bound.
    pub moods: BTreeMap<&'static str, Mood>,
    /// Sentences that say what the numbers mean.
    pub verdict: Vec<Sentence>,
    /// The opening so far; streams send it when it has changed.
    #[serde(skip)]
    pub opening: Option<OpeningCounts>,
}

impl Sample {
    /// The phase that shoppers see: the gate's, or the database's while the gate's is unknown.
    pub fn phase(&self) -> Option<Phase> {
        self.gate.value.map(|gate| gate.phase).or(self.sale.value.map(|sale| sale.phase))
    }

    pub fn total(&self) -> Option<i64> {
        self.sale.value.map(|sale| sale.total).or(self.gate.value.map(|gate| gate.total))
    }

    /// Units that no account holds.
    pub fn left(&self) -> Option<i64> {
        self.total().zip(self.booked()).map(|(total, booked)| (total - booked).max(0))
    }

    /// Units that are held: the master's number, otherwise the gate's last number. Without Redis, the database's
    /// number.
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
    use domain::OrderStatus;
    use store::StatusCount;

    #[test]
    fn silent_engine_reports_since_when() {
        let at = |s| Timestamp::from_second(s).unwrap();
        let answered = Part::default().after(Some(5), at(10));
        let silent = answered.after(None, at(11)).after(None, at(12));
        assert_eq!((silent.value, silent.at, silent.unknown_since), (None, Some(at(10)), Some(at(11))));
        let again = silent.after(Some(6), at(13));
        assert_eq!((again.value, again.unknown_since), (Some(6), None));
    }

    #[test]
    fn orders_are_counted_by_status() {
        let mut counts = OrderCounts { unreleased: 1, ..OrderCounts::default() };
        for (status, orders, units) in
            [(OrderStatus::Paid, 3, 4), (OrderStatus::Cancelled, 2, 3), (OrderStatus::Refunded, 1, 1)]
        {
            counts.totals.by_status.insert(status.as_str(), StatusCount { orders, units });
        }
        let facts = OrderFacts::of(&counts);
        assert_eq!((facts.persisted, facts.paid, facts.cancelled, facts.refunded), (6, 3, 3, 1));
        assert_eq!(facts.returned_units, 3);
    }
}
