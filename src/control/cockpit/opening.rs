//! Records the opening of every sale in slots of ten milliseconds, in each process that serves, watched or not.
//!
//! Most of a sale is decided within its first moments, where one sample per second shows nothing. The recorder reads
//! two counters of a sale at the end of each slot, so requests are not slowed down. The slots are a part of the sale's
//! counters: they are stored, added up over the processes and kept with them.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use base::clock::Clock;
use base::counters::{CounterRegistry, CounterSnapshot, OPENING_SLOT_MS, OPENING_SLOTS, SaleCounters};
use domain::SaleState;
use engine::catalogue::Catalogue;

const SLOT: Duration = Duration::from_millis(OPENING_SLOT_MS as u64);
const OPENING_MS: i64 = OPENING_SLOT_MS * OPENING_SLOTS as i64;
/// How often the recorder looks for openings. A sale that staff start is noticed this late, so its first slot may have
/// more.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);
/// How often it looks while no sale is active. A change of the catalogue ends the rest.
const REST: Duration = Duration::from_secs(1);
const SLOTS_PER_LOOK: usize = 5;
/// The recorder begins before the start, so that earlier requests are not counted as a part of the opening.
const LEAD_TIME_MS: i64 = 500;
/// How long the recorder goes on after the last slot, so that this slot is read too.
const REST_MS: i64 = 100;

/// The opening as the cockpit shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OpeningCounts {
    pub slot_ms: i64,
    /// Requests in each slot, from the start of the sale on.
    pub asked: Vec<u64>,
    /// Requests that got units.
    pub accepted: Vec<u64>,
}

impl OpeningCounts {
    /// `None` while nothing was counted.
    pub(super) fn of(numbers: &CounterSnapshot) -> Option<OpeningCounts> {
        let (asked, accepted) = (numbers.opening_asked.clone(), numbers.opening_reserved.clone());
        (!asked.is_empty()).then_some(OpeningCounts { slot_ms: OPENING_SLOT_MS, asked, accepted })
    }
}

/// A sale that opens or has just opened: its counters, and the start in Unix milliseconds.
type NearOpening = (Arc<SaleCounters>, i64);

/// Records until stopped.
pub(super) async fn record(catalogue: &Catalogue, registry: &CounterRegistry, clock: &Clock, stop: &CancellationToken) {
    let mut due = Instant::now();
    loop {
        stop.run_until_cancelled(catalogue.rest_between_sales(REST)).await;
        let openings = near(catalogue, registry, clock.now().as_millisecond());
        let (slots, pause) = if openings.is_empty() { (1, LOOK_INTERVAL) } else { (SLOTS_PER_LOOK, SLOT) };
        for _ in 0..slots {
            record_slot(&openings, clock.now().as_millisecond());
            // Slots do not drift: after a late slot the wait is shorter.
            due = (due + pause).max(Instant::now());
            if stop.run_until_cancelled(sleep_until(due)).await.is_none() {
                return;
            }
        }
    }
}

/// Sales whose opening is being recorded at `now`.
fn near(catalogue: &Catalogue, registry: &CounterRegistry, now: i64) -> Vec<NearOpening> {
    let sales = catalogue.active().into_iter().filter_map(|sale| catalogue.known(sale));
    let opening = sales.filter(|entry| matches!(entry.sale.state, SaleState::Scheduled | SaleState::Live));
    let near = opening.filter_map(|entry| {
        let opens = entry.sale.window.opens_at?.as_millisecond();
        let is_near = (-LEAD_TIME_MS..OPENING_MS + REST_MS).contains(&(now - opens));
        is_near.then(|| (registry.of(entry.sale.id), opens))
    });
    near.collect()
}

/// Adds what was counted since the last call to the slot that has just ended.
fn record_slot(openings: &[NearOpening], now: i64) {
    for (counters, opens) in openings {
        counters.record_opening(usize::try_from((now - opens - 1).div_euclid(OPENING_SLOT_MS)).ok());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::OrderStatus;
    use domain::claim::Decision;

    #[test]
    fn twenty_purchases_within_85_ms_leave_their_slots() {
        let counters = Arc::new(SaleCounters::default());
        let openings = [(counters.clone(), 1_000)];
        for now in (500..1_200).step_by(10) {
            record_slot(&openings, now);
            // Two purchases in each slot from 10 ms after the start on.
            if (1_010..1_110).contains(&now) {
                for _ in 0..2 {
                    counters.record_admission(None);
                    counters.record_decision(Some(&Decision::Granted(OrderStatus::Unpaid)), SLOT);
                }
            }
        }
        let opening = OpeningCounts::of(&counters.read()).unwrap();
        assert_eq!(opening.accepted, [0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2]);
        assert_eq!(opening.asked, opening.accepted);
        assert_eq!(OpeningCounts::of(&SaleCounters::default().read()), None);
    }
}
