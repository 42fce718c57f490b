//! Counters of what happened to the buying requests of each sale. Every process counts its own requests; the cockpit
//! adds the processes up.
//!
//! Counting is one atomic addition on a handle that the gate's board stores beside the facts, without a lookup, a lock
//! or an allocation.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::locked;
use domain::claim::Decision;
use domain::{Refusal, SaleId};

/// The width of a slot of the opening.
pub const OPENING_SLOT_MS: i64 = 10;
/// Slots of the opening: its first five seconds, in at most 8 KB per sale and process.
pub const OPENING_SLOTS: usize = 500;

const REASONS: usize = Refusal::ALL.len();
/// From a microsecond to more than a minute, each with four buckets.
const DOUBLINGS: usize = 27;
const BUCKETS: usize = 4 * DOUBLINGS;

/// Counters of one sale in one process.
///
/// While no request is in flight: asked = let in + refused by the gate, and let in = reserved + repeated + refused by
/// the stock. A request with an unknown outcome counts as refused by the stock (`overloaded`).
#[derive(Debug, Default)]
pub struct SaleCounters {
    asked: AtomicU64,
    let_in: AtomicU64,
    reserved: AtomicU64,
    repeated: AtomicU64,
    gate: [AtomicU64; REASONS],
    stock: [AtomicU64; REASONS],
    /// Times from the gate to the decision, of requests that got units.
    waits: [[AtomicU64; 4]; DOUBLINGS],
    /// What was counted in each slot of the opening. Only the cockpit's recorder writes it; requests never touch it.
    opening: Mutex<Opening>,
}

#[derive(Debug, Default)]
struct Opening {
    asked: Vec<u64>,
    reserved: Vec<u64>,
    /// `asked` and `reserved` when they were last read.
    read: [u64; 2],
}

impl SaleCounters {
    /// Counts the gate's verdict on a request.
    pub fn record_admission(&self, refusal: Option<Refusal>) {
        self.asked.fetch_add(1, Relaxed);
        match refusal {
            None => self.let_in.fetch_add(1, Relaxed),
            Some(refusal) => self.gate[refusal as usize].fetch_add(1, Relaxed),
        };
    }

    /// Buying requests so far.
    pub fn asked(&self) -> u64 {
        self.asked.load(Relaxed)
    }

    /// Counts the stock backend's decision about an admitted request; `None` when the outcome is unknown.
    pub fn record_decision(&self, decision: Option<&Decision>, took: Duration) {
        let refusal = match decision {
            Some(Decision::Granted(_)) => {
                self.waits.as_flattened()[bucket(took)].fetch_add(1, Relaxed);
                self.reserved.fetch_add(1, Relaxed);
                return;
            }
            Some(Decision::Repeated(_)) => {
                self.repeated.fetch_add(1, Relaxed);
                return;
            }
            Some(Decision::Refused(refusal)) => *refusal,
            Some(Decision::NotLoaded) | None => Refusal::Overloaded,
        };
        self.stock[refusal as usize].fetch_add(1, Relaxed);
    }

    /// Adds what was counted since the last call to a slot of the opening. `None` is the time before it or after it.
    pub fn record_opening(&self, slot: Option<usize>) {
        let reserved = self.reserved.load(Relaxed);
        let counted = [self.asked.load(Relaxed), reserved];
        let mut opening = locked(&self.opening);
        let [asked, reserved] = [0, 1].map(|n| counted[n].saturating_sub(opening.read[n]));
        opening.read = counted;
        if let Some(slot) = slot.filter(|slot| *slot < OPENING_SLOTS) {
            add(&mut opening.asked, slot, asked);
            add(&mut opening.reserved, slot, reserved);
        }
    }

    /// Reads outcomes before requests, so that a snapshot never contains an outcome without its request.
    pub fn read(&self) -> CounterSnapshot {
        let waits = load(self.waits.as_flattened());
        let (reserved, repeated, stock) = (self.reserved.load(Relaxed), self.repeated.load(Relaxed), load(&self.stock));
        let (let_in, gate) = (self.let_in.load(Relaxed), load(&self.gate));
        let opening = locked(&self.opening);
        let (opening_asked, opening_reserved) = (opening.asked.clone(), opening.reserved.clone());
        let asked = self.asked.load(Relaxed);
        CounterSnapshot { asked, let_in, reserved, repeated, gate, stock, waits, opening_asked, opening_reserved }
    }
}

/// Adds to entry `n` of a list. The list is extended if it is shorter.
fn add(list: &mut Vec<u64>, n: usize, more: u64) {
    if more > 0 {
        list.resize(list.len().max(n + 1), 0);
        list[n] += more;
    }
}

fn load(counters: &[AtomicU64]) -> Vec<u64> {
    counters.iter().map(|counter| counter.load(Relaxed)).collect()
}

/// The bucket of a duration: its highest bit, and the two after it.
fn bucket(took: Duration) -> usize {
    let micros = (took.as_micros() as u64).clamp(1, u64::from(u32::MAX));
    let high = micros.ilog2() as usize;
    let next = if high >= 2 { (micros >> (high - 2)) & 3 } else { (micros << (2 - high)) & 3 };
    (high * 4 + next as usize).min(BUCKETS - 1)
}

/// The upper bound of a bucket in milliseconds.
fn upper_ms(bucket: usize) -> f64 {
    let (high, next) = ((bucket / 4) as i32, (bucket % 4) as f64);
    2f64.powi(high) * (1.0 + (next + 1.0) / 4.0) / 1000.0
}

/// An entry of a list, where missing entries are zero.
fn at(list: &[u64], n: usize) -> u64 {
    list.get(n).copied().unwrap_or(0)
}

/// Counters as they were read, or the sum of several. Missing list entries stand for zeros.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CounterSnapshot {
    pub asked: u64,
    pub let_in: u64,
    pub reserved: u64,
    pub repeated: u64,
    /// Requests that the gate refused without I/O, in the order of [`Refusal::ALL`].
    pub gate: Vec<u64>,
    /// Requests that the stock backend refused, in the same order.
    pub stock: Vec<u64>,
    pub waits: Vec<u64>,
    /// Requests in each slot of [`OPENING_SLOT_MS`] from the start of the sale on.
    pub opening_asked: Vec<u64>,
    /// Requests that got units, in the same slots.
    pub opening_reserved: Vec<u64>,
}

impl CounterSnapshot {
    pub fn plus(&self, other: &CounterSnapshot) -> CounterSnapshot {
        self.with(other, u64::wrapping_add)
    }

    /// What was counted since `earlier`.
    pub fn since(&self, earlier: &CounterSnapshot) -> CounterSnapshot {
        self.with(earlier, u64::saturating_sub)
    }

    fn with(&self, other: &CounterSnapshot, combine: impl Fn(u64, u64) -> u64 + Copy) -> CounterSnapshot {
        let each = |mine: &[u64], theirs: &[u64]| {
            (0..mine.len().max(theirs.len())).map(|n| combine(at(mine, n), at(theirs, n))).collect()
        };
        CounterSnapshot {
            asked: combine(self.asked, other.asked),
            let_in: combine(self.let_in, other.let_in),
            reserved: combine(self.reserved, other.reserved),
            repeated: combine(self.repeated, other.repeated),
            gate: each(&self.gate, &other.gate),
            stock: each(&self.stock, &other.stock),
            waits: each(&self.waits, &other.waits),
            opening_asked: each(&self.opening_asked, &other.opening_asked),
            opening_reserved: each(&self.opening_reserved, &other.opening_reserved),
        }
    }

    /// Refusals by reason, gate and stock backend added up.
    pub fn refused(&self) -> impl Iterator<Item = (Refusal, u64)> {
        Refusal::ALL.into_iter().map(move |reason| {
            let n = reason as usize;
            (reason, at(&self.gate, n) + at(&self.stock, n))
        })
    }

    /// A quantile (0 to 1) of the waiting times of requests that got units, in milliseconds, rounded up to the bucket's
    /// upper bound; `None` when there were none.
    pub fn wait_ms(&self, quantile: f64) -> Option<f64> {
        let all: u64 = self.waits.iter().sum();
        let wanted = ((all as f64) * quantile).ceil().max(1.0) as u64;
        let mut seen = 0;
        let found = self.waits.iter().position(|count| {
            seen += count;
            seen >= wanted
        })?;
        Some(upper_ms(found))
    }

    /// Cuts the trailing zeros off `waits`, the longest list, to store less.
    pub fn trimmed(mut self) -> CounterSnapshot {
        let used = self.waits.iter().rposition(|count| *count > 0).map_or(0, |last| last + 1);
        self.waits.truncate(used);
        self
    }
}

/// The counters of all sales in this process. The gate's board looks them up once per refresh; requests never do.
#[derive(Debug, Default)]
pub struct CounterRegistry {
    by_sale: Mutex<HashMap<SaleId, Arc<SaleCounters>>>,
}

impl CounterRegistry {
    /// The counters of a sale, created on first use.
    pub fn of(&self, sale: SaleId) -> Arc<SaleCounters> {
        locked(&self.by_sale).entry(sale).or_default().clone()
    }

    /// Drops the counters of sales that no longer exist. Handles to them stay usable but are never read again.
    pub fn retain(&self, exists: impl Fn(SaleId) -> bool) {
        locked(&self.by_sale).retain(|sale, _| exists(*sale));
    }

    /// The counters of one sale; zeros when it has none.
    pub fn read(&self, sale: SaleId) -> CounterSnapshot {
        let counters = locked(&self.by_sale).get(&sale).cloned();
        counters.map(|counters| counters.read()).unwrap_or_default()
    }

    pub fn read_all(&self) -> Vec<(SaleId, CounterSnapshot)> {
        let all: Vec<_> = locked(&self.by_sale).iter().map(|(sale, counters)| (*sale, counters.clone())).collect();
        all.into_iter().map(|(sale, counters)| (sale, counters.read())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::claim::Hold;
    use domain::{OrderId, OrderStatus};

    #[test]
    fn concurrent_requests_are_each_counted_once() {
        let counters = SaleCounters::default();
        let hold = Hold { order_id: OrderId(uuid::Uuid::nil()), quantity: 1 };
        let decisions = [
            Some(Decision::Granted(OrderStatus::Reserved)),
            Some(Decision::Repeated(hold)),
            Some(Decision::Refused(Refusal::SoldOut)),
            Some(Decision::NotLoaded),
            None,
        ];
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let (counters, decisions) = (&counters, &decisions);
                scope.spawn(move || {
                    for n in 0..10_000_usize {
                        let refusal = (n % 3 == 0).then(|| Refusal::ALL[(n + thread) % REASONS]);
                        counters.record_admission(refusal);
                        if refusal.is_none() {
                            let decision = decisions[(n + thread) % decisions.len()].as_ref();
                            counters.record_decision(decision, Duration::from_micros(n as u64));
                        }
                    }
                });
            }
        });
        let snapshot = counters.read();
        let sum = |list: &[u64]| list.iter().sum::<u64>();
        assert_eq!(snapshot.asked, 80_000);
        assert_eq!(snapshot.asked, snapshot.let_in + sum(&snapshot.gate));
        assert_eq!(snapshot.let_in, snapshot.reserved + snapshot.repeated + sum(&snapshot.stock));
        assert_eq!(snapshot.reserved, sum(&snapshot.waits));
        assert_eq!(snapshot.refused().map(|(_, n)| n).sum::<u64>(), sum(&snapshot.gate) + sum(&snapshot.stock));
    }

    #[test]
    fn bucket_bound_exceeds_its_durations_by_a_third_at_most() {
        for micros in (1..5_000).chain([1_000_000, 59_000_000]) {
            let upper = upper_ms(bucket(Duration::from_micros(micros))) * 1000.0;
            let micros = micros as f64;
            assert!(upper > micros && upper <= micros * 1.34 + 1.0, "{micros} {upper}");
        }
        assert_eq!(bucket(Duration::MAX), BUCKETS - 1);
    }

    #[test]
    fn opening_is_counted_in_its_slots_and_added_up_over_processes() {
        let grant = |counters: &SaleCounters| {
            counters.record_admission(None);
            counters.record_decision(Some(&Decision::Granted(OrderStatus::Reserved)), Duration::from_millis(1));
        };
        let counters = SaleCounters::default();
        counters.record_admission(Some(Refusal::NotOpen));
        counters.record_opening(None);
        grant(&counters);
        grant(&counters);
        counters.record_opening(Some(0));
        counters.record_opening(Some(1));
        grant(&counters);
        counters.record_opening(Some(3));
        grant(&counters);
        counters.record_opening(Some(OPENING_SLOTS));
        let one = counters.read();
        assert_eq!((&*one.opening_asked, &*one.opening_reserved), (&[2, 0, 0, 1][..], &[2, 0, 0, 1][..]));
        assert_eq!(one.asked, 5, "what came before and after the opening is counted elsewhere");
        assert_eq!(one.plus(&CounterSnapshot::default().plus(&one)).opening_reserved, [4, 0, 0, 2]);
    }

    #[test]
    fn wait_quantiles_are_read_from_buckets() {
        let counters = SaleCounters::default();
        for ms in 1..=100 {
            counters.record_decision(Some(&Decision::Granted(OrderStatus::Reserved)), Duration::from_millis(ms));
        }
        let snapshot = counters.read();
        let (half, most) = (snapshot.wait_ms(0.5).unwrap(), snapshot.wait_ms(0.99).unwrap());
        assert!((50.0..70.0).contains(&half) && (99.0..132.0).contains(&most), "{half} {most}");
        assert_eq!(CounterSnapshot::default().wait_ms(0.5), None);
    }

    #[test]
    fn snapshots_survive_storage_and_subtract() {
        let counters = SaleCounters::default();
        counters.record_admission(Some(Refusal::Busy));
        let first = counters.read();
        counters.record_admission(None);
        counters.record_decision(Some(&Decision::Granted(OrderStatus::Unpaid)), Duration::from_millis(3));
        let both = counters.read();
        let kept = serde_json::to_string(&both.clone().trimmed()).unwrap();
        let read: CounterSnapshot = serde_json::from_str(&kept).unwrap();
        assert_eq!(read.plus(&CounterSnapshot::default().plus(&both)).since(&both), both);
        assert_eq!(both.since(&first).asked, 1);
        assert_eq!(serde_json::from_str::<CounterSnapshot>("{}").unwrap(), CounterSnapshot::default());
    }
}
