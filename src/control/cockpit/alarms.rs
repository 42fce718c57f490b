//! Decides for each sample, by pure rules, what in a sale needs a look. An alarm that begins is logged. The page shows
//! it, and rings if its viewer wants that. The bounds of the tiles are here too, so that a tile and its alarm have the
//! same bound.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::cockpit::sample::{Mood, Sample};
use domain::{Alarm, Phase, Refusal, SaleState};

/// Purchases that take longer feel slow.
pub const MAX_P99_MS: f64 = 500.0;
/// Above this the latency tile is colored, before there is an alarm.
const NOTICEABLE_P99_MS: f64 = 250.0;
/// Requests per second that fail for lack of capacity. One every few seconds is noise.
const MAX_ERRORS_PER_SECOND: f64 = 1.0;
/// A difference between Redis and the database is called drift once it has lasted this long.
pub const DRIFT_AFTER_MS: i64 = 5_000;
/// The share of the stock, in percent, that is left when it is nearly gone.
pub const MIN_LEFT_PERCENT: i64 = 10;
/// The share of orders that are paid, in percent. Orders that may still be paid do not count.
pub const MIN_PAID_PERCENT: i64 = 50;

/// The alarms of a sample, in the order of [`Alarm::ALL`].
pub fn alarms(sample: &Sample) -> Vec<Alarm> {
    let all = [
        (Alarm::Slow, sample.point.p99_ms.is_some_and(|ms| ms > MAX_P99_MS)),
        (Alarm::Errors, errors_per_second(sample) > MAX_ERRORS_PER_SECOND),
        (Alarm::Drift, has_drifted(sample)),
        (Alarm::NearlySold, is_nearly_gone(sample)),
    ];
    all.into_iter().filter(|(_, is_on)| *is_on).map(|(alarm, _)| alarm).collect()
}

fn errors_per_second(sample: &Sample) -> f64 {
    sample.point.refused.get(Refusal::Overloaded.as_str()).copied().unwrap_or_default()
}

fn has_drifted(sample: &Sample) -> bool {
    sample.drift.is_some_and(|drift| {
        let lasted = sample.at.as_millisecond() - drift.since.as_millisecond();
        matches!(drift.drift, Drift::Apart { .. }) && lasted >= DRIFT_AFTER_MS
    })
}

fn is_live(sample: &Sample) -> bool {
    sample.sale.value.is_some_and(|sale| sale.state == SaleState::Live)
}

/// Whether an open sale has sold nine tenths of its units. A sold-out sale is no alarm, since nobody has to act. A draw is
/// none either, since it hands out all units at once.
fn is_nearly_gone(sample: &Sample) -> bool {
    let is_draw = sample.sale.value.is_some_and(|sale| sale.entries.is_some());
    let left = sample.left().zip(sample.total()).filter(|(_, total)| *total > 0);
    is_live(sample)
        && sample.phase() == Some(Phase::Open)
        && !is_draw
        && left.is_some_and(|(left, total)| left * 100 <= total * MIN_LEFT_PERCENT)
}

/// The tiles of the cockpit whose value is beyond its bound.
pub fn moods(sample: &Sample) -> BTreeMap<&'static str, Mood> {
    let (point, orders) = (&sample.point, sample.orders.value);
    let is_above = |ms: f64| point.p99_ms.is_some_and(|p99| p99 > ms);
    let is_rarely_paid =
        orders.is_some_and(|orders| orders.paid * 100 < (orders.paid + orders.cancelled) * MIN_PAID_PERCENT);
    let wait_in_vain = is_live(sample)
        && sample.sale.value.is_some_and(|sale| sale.entries.is_none())
        && point.waiting.zip(sample.left()).is_some_and(|(waiting, left)| waiting > left);
    let all = [
        ("left", is_nearly_gone(sample), Mood::Warn),
        ("paid_share", is_rarely_paid, Mood::Warn),
        ("waiting", wait_in_vain, Mood::Warn),
        ("p99", is_above(NOTICEABLE_P99_MS), Mood::Warn),
        ("p99", is_above(MAX_P99_MS), Mood::Bad),
    ];
    all.into_iter().filter(|(_, is_on, _)| *is_on).map(|(tile, _, mood)| (tile, mood)).collect()
}

// Whether Redis and the database agree about a sale.

/// The totals of both sides, in units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StockTotals {
    /// Units that are held, according to the master.
    pub booked: i64,
    /// Units in live orders, according to the database.
    pub sold: i64,
    /// Units in ended orders that the master has not released yet.
    pub unreleased: i64,
    /// Outbox entries between the two.
    pub outbox: i64,
}

/// How the two sides differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Drift {
    InStep,
    /// Orders on their way to the database explain the difference.
    OnTheWay {
        units: i64,
    },
    /// Nothing explains the difference. The two sides are not read at the same instant, so a short difference is
    /// normal. Data control repairs a difference that stays. Negative: the database has sold units that the master does
    /// not hold.
    Apart {
        units: i64,
    },
}

pub fn drift(totals: StockTotals) -> Drift {
    let units = totals.booked - totals.sold - totals.unreleased;
    match units {
        0 => Drift::InStep,
        1.. if totals.outbox > 0 => Drift::OnTheWay { units },
        _ => Drift::Apart { units },
    }
}

#[cfg(test)]
pub(super) mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::cockpit::sample::{DriftSince, OrderFacts, Part, Point, SaleFacts, StockFacts};

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millisecond(1_800_000_000_000 + ms).unwrap()
    }

    pub(in crate::cockpit) fn known<T>(value: T) -> Part<T> {
        Part { value: Some(value), at: Some(at(0)), unknown_since: None }
    }

    pub(in crate::cockpit) fn sample(sold: i64, phase: Phase) -> Sample {
        let sale = SaleFacts {
            state: SaleState::Live,
            version: 1,
            phase,
            total: 100,
            sold,
            persisted: sold,
            unreleased: 0,
            waiting: 0,
            open_offers: 0,
            entries: None,
            line: None,
        };
        Sample {
            at: at(0),
            gate: Part::default(),
            sale: known(sale),
            requests: Part::default(),
            orders: Part::default(),
            stock: None,
            buckets: Vec::new(),
            queue: None,
            drift: None,
            point: Point::default(),
            alarms: Vec::new(),
            events: Vec::new(),
            moods: BTreeMap::new(),
            verdict: Vec::new(),
            opening: None,
        }
    }

    #[test]
    fn stock_that_is_nearly_gone_is_an_alarm() {
        assert_eq!(alarms(&sample(89, Phase::Open)), []);
        assert_eq!(alarms(&sample(90, Phase::Open)), [Alarm::NearlySold]);
        assert_eq!(alarms(&sample(100, Phase::Paused)), []);
    }

    #[test]
    fn sale_that_sold_out_is_no_alarm() {
        let gone = sample(100, Phase::SoldOut);
        assert_eq!((alarms(&gone), moods(&gone).get("left")), (Vec::new(), None));
        let mut draw = sample(95, Phase::Open);
        draw.sale.value.as_mut().unwrap().entries = Some(500);
        assert_eq!(alarms(&draw), [], "a draw hands out all units at once");
    }

    #[test]
    fn tiles_have_the_bounds_of_the_alarms() {
        assert_eq!(moods(&sample(89, Phase::Open)), BTreeMap::new());
        let mut busy = sample(90, Phase::Open);
        busy.point.p99_ms = Some(MAX_P99_MS);
        busy.point.waiting = Some(11);
        busy.orders = known(OrderFacts { unpaid: 90, paid: 1, cancelled: 1, ..OrderFacts::default() });
        let warned = [("left", Mood::Warn), ("p99", Mood::Warn), ("waiting", Mood::Warn)];
        assert_eq!(moods(&busy), BTreeMap::from(warned));
        busy.point.p99_ms = Some(MAX_P99_MS + 1.0);
        busy.orders = known(OrderFacts { paid: 1, cancelled: 2, ..OrderFacts::default() });
        let now = moods(&busy);
        assert_eq!((now["p99"], now["paid_share"]), (Mood::Bad, Mood::Warn));
    }

    #[test]
    fn slow_purchases_and_errors_are_alarms_beyond_their_bounds() {
        let mut busy = sample(1, Phase::Open);
        busy.point.p99_ms = Some(MAX_P99_MS);
        busy.point.refused.insert(Refusal::Overloaded.as_str(), 1.0);
        busy.point.refused.insert(Refusal::SoldOut.as_str(), 9_000.0);
        assert_eq!(alarms(&busy), []);
        busy.point.p99_ms = Some(MAX_P99_MS + 1.0);
        busy.point.refused.insert(Refusal::Overloaded.as_str(), 1.5);
        assert_eq!(alarms(&busy), [Alarm::Slow, Alarm::Errors]);
    }

    #[test]
    fn difference_becomes_drift_once_it_has_lasted() {
        let mut apart = sample(1, Phase::Open);
        apart.stock = Some(known(StockFacts { booked: Some(3), outbox: 0 }));
        apart.drift = Some(DriftSince { drift: Drift::Apart { units: 2 }, since: at(-4_999) });
        assert_eq!(alarms(&apart), []);
        apart.drift = Some(DriftSince { drift: Drift::Apart { units: 2 }, since: at(-5_000) });
        assert_eq!(alarms(&apart), [Alarm::Drift]);
        apart.drift = Some(DriftSince { drift: Drift::OnTheWay { units: 2 }, since: at(-5_000) });
        assert_eq!(alarms(&apart), []);
    }

    #[test]
    fn difference_is_drift_only_if_unexplained() {
        let drift_of = |booked, sold, unreleased, outbox| drift(StockTotals { booked, sold, unreleased, outbox });
        assert_eq!(drift_of(10, 10, 0, 0), Drift::InStep);
        assert_eq!(drift_of(10, 7, 3, 0), Drift::InStep, "cancelled, not released yet");
        assert_eq!(drift_of(10, 7, 0, 2), Drift::OnTheWay { units: 3 });
        assert_eq!(drift_of(10, 7, 1, 2), Drift::OnTheWay { units: 2 });
        assert_eq!(drift_of(10, 7, 0, 0), Drift::Apart { units: 3 });
        assert_eq!(drift_of(7, 10, 0, 5), Drift::Apart { units: -3 }, "an outbox cannot explain too few holds");
        assert_eq!(drift_of(10, 10, 1, 0), Drift::Apart { units: -1 });
    }
}
