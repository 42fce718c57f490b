//! Decides for each sample, by pure rules, what in a sale needs a look. An alarm that begins is logged. The page shows
//! it, and rings if its viewer wants that. The bounds of the tiles are here too, so that a tile and its alarm have the
//! same bound. So is the verdict, which says what the numbers mean.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use serde::Serialize;

use super::sample::{DriftSince, Sentence};
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

// What the numbers of a sample mean, in one or two sentences: how the stock was sold, and whether something is wrong.
// The sentences are keys of the words, so the page and its script fill the same numbers into the same words.

/// A consumer that stores nothing for so long is told.
const SHORT: SignedDuration = SignedDuration::from_secs(2);

/// Judges a sample. `p99_ms` is the latency of all purchases of the sale, `slowest` the lowest of the last rates at which
/// waiting orders were stored. A draft has nothing to judge.
pub fn verdict(sample: &Sample, p99_ms: Option<f64>, slowest: Option<f64>) -> Vec<Sentence> {
    match sample.sale.value {
        Some(sale) if sale.state == SaleState::Draft => Vec::new(),
        _ => stock(sample).into_iter().chain(on_the_way(sample, slowest)).chain([health(sample, p99_ms)]).collect(),
    }
}

fn stock(sample: &Sample) -> Option<Sentence> {
    let (total, left, orders) = (sample.total()?, sample.left()?, sample.orders.value?);
    let [taken, of, paid] = [total - left, total, orders.paid_units].map(|units| units as f64);
    let entries = sample.sale.value.and_then(|sale| sale.entries);
    match (entries, seconds_to_sell(sample)) {
        (Some(entries), _) if taken == 0.0 => Some(Sentence::new("verdict_entries", [entries as f64, of])),
        (None, _) if taken == 0.0 => {
            (sample.phase()? != Phase::Upcoming).then(|| Sentence::new("verdict_untouched", [of]))
        }
        (_, Some(seconds)) => Some(Sentence::new("verdict_sold_within", [taken, of, seconds, paid])),
        (_, None) => Some(Sentence::new("verdict_sold", [taken, of, paid])),
    }
}

/// Seconds from the opening to the last purchase, if the recorded opening contains all purchases.
fn seconds_to_sell(sample: &Sample) -> Option<f64> {
    let (opening, requests) = (sample.opening.as_ref()?, sample.requests.value.as_ref()?);
    let last = opening.accepted.iter().rposition(|purchases| *purchases > 0)?;
    let is_all = opening.accepted.iter().sum::<u64>() == requests.reserved;
    is_all.then(|| (last + 1) as f64 * opening.slot_ms as f64 / 1000.0)
}

/// Units whose orders the consumer has not stored yet, and how long that takes at most as long as it is not slower than
/// it was lately, if that is a second or more. Orders that arrive from now on are stored after these.
fn on_the_way(sample: &Sample, slowest: Option<f64>) -> Option<Sentence> {
    let DriftSince { drift: Drift::OnTheWay { units }, since } = sample.drift? else { return None };
    let (units, pace) = (units as f64, sample.point.persisted.filter(|pace| *pace > 0.0));
    match pace.map(|pace| units / slowest.unwrap_or(pace).min(pace)) {
        Some(seconds) if seconds < 1.0 => None,
        Some(seconds) => Some(Sentence::new("verdict_on_the_way", [units, seconds.ceil()])),
        None if sample.at.duration_since(since) < SHORT => None,
        None => Some(Sentence::new("verdict_waiting_for_consumer", [units])),
    }
}

/// The worst problem now, or how fast purchases were.
fn health(sample: &Sample, p99_ms: Option<f64>) -> Sentence {
    let has = |alarm| sample.alarms.contains(&alarm);
    match (sample.drift, sample.point.p99_ms, p99_ms) {
        _ if has(Alarm::Errors) => Sentence::new("verdict_errors", [errors_per_second(sample)]),
        (_, Some(now), _) if has(Alarm::Slow) => Sentence::new("verdict_slow", [now.round()]),
        (Some(DriftSince { drift: Drift::Apart { units }, .. }), ..) if has(Alarm::Drift) => {
            Sentence::new("verdict_drift", [units.abs() as f64])
        }
        _ if !is_known(sample) => Sentence::new("verdict_unknown", []),
        (.., Some(ms)) => Sentence::new("verdict_fine", [ms.ceil()]),
        _ => Sentence::new("verdict_calm", []),
    }
}

/// Whether all sources answer. The gate's part is not checked, because the gate does not know a sale that is over.
fn is_known(sample: &Sample) -> bool {
    let is_silent = |part: Option<bool>| part == Some(false);
    sample.sale.value.is_some()
        && sample.requests.value.is_some()
        && sample.orders.value.is_some()
        && !is_silent(sample.stock.as_ref().map(|stock| stock.value.is_some()))
        && !is_silent(sample.queue.as_ref().map(|queue| queue.value.is_some()))
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::cockpit::sample::{DriftSince, OrderFacts, Part, Point, Requests, SaleFacts, StockFacts};
    use crate::cockpit::sampler::OpeningCounts;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millisecond(1_800_000_000_000 + ms).unwrap()
    }

    fn known<T>(value: T) -> Part<T> {
        Part { value: Some(value), at: Some(at(0)), unknown_since: None }
    }

    fn sample(sold: i64, phase: Phase) -> Sample {
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

    fn keys(sample: &Sample) -> Vec<&'static str> {
        verdict(sample, None, None).into_iter().map(|sentence| sentence.key).collect()
    }

    fn sold(units: i64, phase: Phase) -> Sample {
        let mut sold = sample(units, phase);
        sold.requests = known(Requests { reserved: units as u64, ..Requests::default() });
        sold.orders = known(OrderFacts { paid_units: 6, ..OrderFacts::default() });
        sold
    }

    #[test]
    fn sale_that_went_within_its_opening_is_told_with_its_time() {
        let mut fast = sold(7, Phase::Open);
        fast.opening =
            Some(OpeningCounts { slot_ms: 10, asked: vec![9; 50], accepted: [vec![0; 39], vec![7]].concat() });
        let [stock, health] = verdict(&fast, Some(11.3), None).try_into().unwrap();
        assert_eq!(stock, Sentence::new("verdict_sold_within", [7.0, 100.0, 0.4, 6.0]));
        assert_eq!(health, Sentence::new("verdict_fine", [12.0]));
        fast.requests.value.as_mut().unwrap().reserved = 8;
        assert_eq!(keys(&fast), ["verdict_sold", "verdict_calm"], "a later purchase is not of the opening");
    }

    #[test]
    fn what_is_wrong_is_told_before_what_is_well() {
        let mut bad = sold(7, Phase::Open);
        bad.requests = Part::default();
        assert_eq!(keys(&bad), ["verdict_sold", "verdict_unknown"]);
        bad.point.p99_ms = Some(700.0);
        bad.alarms = vec![Alarm::Slow];
        assert_eq!(verdict(&bad, Some(700.0), None)[1], Sentence::new("verdict_slow", [700.0]));
        bad.alarms.push(Alarm::Errors);
        assert_eq!(keys(&bad), ["verdict_sold", "verdict_errors"]);
    }

    #[test]
    fn backlog_is_told_with_the_time_that_it_takes_at_most() {
        let mut behind = sold(100, Phase::SoldOut);
        behind.drift = Some(DriftSince { drift: Drift::OnTheWay { units: 90 }, since: behind.at });
        assert_eq!(keys(&behind), ["verdict_sold", "verdict_calm"]);
        behind.at += SHORT;
        assert_eq!(verdict(&behind, None, Some(10.0))[1], Sentence::new("verdict_waiting_for_consumer", [90.0]));
        behind.point.persisted = Some(20.0);
        assert_eq!(verdict(&behind, None, None)[1], Sentence::new("verdict_on_the_way", [90.0, 5.0]));
        let bound = Sentence::new("verdict_on_the_way", [90.0, 9.0]);
        assert_eq!(verdict(&behind, None, Some(10.0))[1], bound, "it was slower seconds ago and may be again");
        behind.point.persisted = Some(200.0);
        assert_eq!(keys(&behind), ["verdict_sold", "verdict_calm"], "half a second is no backlog");
    }

    #[test]
    fn sale_that_has_not_begun_has_no_word_about_its_stock() {
        assert_eq!(keys(&sold(0, Phase::Upcoming)), ["verdict_calm"]);
        assert_eq!(keys(&sold(0, Phase::Open)), ["verdict_untouched", "verdict_calm"]);
        let mut draw = sold(0, Phase::Open);
        draw.sale.value.as_mut().unwrap().entries = Some(500);
        assert_eq!(verdict(&draw, None, None)[0], Sentence::new("verdict_entries", [500.0, 100.0]));
    }
}
