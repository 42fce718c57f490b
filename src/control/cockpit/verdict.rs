//! What the numbers of a sample mean, in one or two sentences: how the stock was sold, and whether something is wrong.
//! The sentences are keys of the words, so the page and its script fill the same numbers into the same words.

use super::alarms::Drift;
use super::sample::{DriftSince, Sample, Sentence};
use jiff::SignedDuration;

use domain::{Alarm, Phase, Refusal, SaleState};

/// A consumer that stores nothing for so long is told.
const SHORT: SignedDuration = SignedDuration::from_secs(2);

/// Judges a sample. `p99_ms` is the latency of all purchases of the sale. A draft has nothing to judge.
pub fn verdict(sample: &Sample, p99_ms: Option<f64>) -> Vec<Sentence> {
    match sample.sale.value {
        Some(sale) if sale.state == SaleState::Draft => Vec::new(),
        _ => stock(sample).into_iter().chain(on_the_way(sample)).chain([health(sample, p99_ms)]).collect(),
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

/// Units whose orders the consumer has not stored yet, and how long it takes at its present pace, if that is a second or more.
fn on_the_way(sample: &Sample) -> Option<Sentence> {
    let DriftSince { drift: Drift::OnTheWay { units }, since } = sample.drift? else { return None };
    let (units, pace) = (units as f64, sample.point.persisted.filter(|pace| *pace > 0.0));
    match pace.map(|pace| units / pace) {
        Some(seconds) if seconds < 1.0 => None,
        Some(seconds) => Some(Sentence::new("verdict_on_the_way", [units, seconds.ceil()])),
        None if sample.at.duration_since(since) < SHORT => None,
        None => Some(Sentence::new("verdict_waiting_for_consumer", [units])),
    }
}

/// The worst problem now, or how fast purchases were.
fn health(sample: &Sample, p99_ms: Option<f64>) -> Sentence {
    let has = |alarm| sample.alarms.contains(&alarm);
    let overloaded = sample.point.refused.get(Refusal::Overloaded.as_str()).copied().unwrap_or_default();
    match (sample.drift, sample.point.p99_ms, p99_ms) {
        _ if has(Alarm::Errors) => Sentence::new("verdict_errors", [overloaded]),
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
    use super::*;
    use crate::cockpit::alarms::tests::{known, sample};
    use crate::cockpit::opening::OpeningCounts;
    use crate::cockpit::sample::{OrderFacts, Part, Requests};

    fn keys(sample: &Sample) -> Vec<&'static str> {
        verdict(sample, None).into_iter().map(|sentence| sentence.key).collect()
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
        let [stock, health] = verdict(&fast, Some(11.3)).try_into().unwrap();
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
        assert_eq!(verdict(&bad, Some(700.0))[1], Sentence::new("verdict_slow", [700.0]));
        bad.alarms.push(Alarm::Errors);
        assert_eq!(keys(&bad), ["verdict_sold", "verdict_errors"]);
    }

    #[test]
    fn backlog_is_told_with_the_time_that_it_takes() {
        let mut behind = sold(100, Phase::SoldOut);
        behind.drift = Some(DriftSince { drift: Drift::OnTheWay { units: 90 }, since: behind.at });
        assert_eq!(keys(&behind), ["verdict_sold", "verdict_calm"]);
        behind.at += SHORT;
        assert_eq!(verdict(&behind, None)[1], Sentence::new("verdict_waiting_for_consumer", [90.0]));
        behind.point.persisted = Some(20.0);
        assert_eq!(verdict(&behind, None)[1], Sentence::new("verdict_on_the_way", [90.0, 5.0]));
        behind.point.persisted = Some(200.0);
        assert_eq!(keys(&behind), ["verdict_sold", "verdict_calm"], "half a second is no backlog");
    }

    #[test]
    fn sale_that_has_not_begun_has_no_word_about_its_stock() {
        assert_eq!(keys(&sold(0, Phase::Upcoming)), ["verdict_calm"]);
        assert_eq!(keys(&sold(0, Phase::Open)), ["verdict_untouched", "verdict_calm"]);
        let mut draw = sold(0, Phase::Open);
        draw.sale.value.as_mut().unwrap().entries = Some(500);
        assert_eq!(verdict(&draw, None)[0], Sentence::new("verdict_entries", [500.0, 100.0]));
    }
}
