//! What about a sale needs a look, decided for each sample by pure rules. An alarm that begins is logged; the page shows it, and
//! rings if its viewer wants that.

use super::drift::Drift;
use super::sample::{Alarm, Sample};
use crate::domain::{Phase, Refusal, SaleState};

/// Purchases that take longer are felt as slow.
pub const MAX_P99_MS: f64 = 500.0;
/// Requests per second that fail for lack of capacity. One every few seconds is noise.
const MAX_ERRORS_PER_SECOND: f64 = 1.0;
/// A difference between Redis and the database is called drift once it has lasted this long.
pub const DRIFT_AFTER_MS: i64 = 5_000;
/// The share of the stock, in percent, from which on it is nearly gone.
const NEARLY_SOLD_PERCENT: i64 = 90;

/// The alarms of a sample, in the order of [`Alarm::ALL`].
pub fn alarms(sample: &Sample) -> Vec<Alarm> {
    let all = [
        (Alarm::Slow, sample.point.p99_ms.is_some_and(|ms| ms > MAX_P99_MS)),
        (Alarm::Errors, errors_per_second(sample) > MAX_ERRORS_PER_SECOND),
        (Alarm::Drift, has_drifted(sample)),
        (Alarm::NearlySold, is_nearly_sold(sample)),
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

fn is_nearly_sold(sample: &Sample) -> bool {
    let is_live = sample.sale.value.is_some_and(|sale| sale.state == SaleState::Live);
    let taken = sample.booked().zip(sample.total()).filter(|(_, total)| *total > 0);
    is_live
        && sample.phase() == Some(Phase::Open)
        && taken.is_some_and(|(booked, total)| booked * 100 >= total * NEARLY_SOLD_PERCENT)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::cockpit::sample::{DriftSince, Part, Point, SaleFacts, StockFacts};

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
            opening: None,
        }
    }

    #[test]
    fn stock_that_is_nearly_gone_is_an_alarm_until_it_is_gone() {
        assert_eq!(alarms(&sample(89, Phase::Open)), []);
        assert_eq!(alarms(&sample(90, Phase::Open)), [Alarm::NearlySold]);
        assert_eq!(alarms(&sample(100, Phase::SoldOut)), []);
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
}
