//! What happened to the buying requests of each sale. Every process counts its own; [`crate::cockpit`] adds them up.
//!
//! Counting is one atomic addition on a handle that the request has in hand already: the gate's board holds it beside the
//! facts. Nothing is looked up, locked or allocated for it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::domain::claim::Decision;
use crate::domain::{Refusal, SaleId};

const REASONS: usize = Refusal::ALL.len();
/// Four buckets per doubling, from a microsecond to more than a minute.
const BUCKETS: usize = 4 * 27;

/// Counters of one sale in one process.
///
/// At rest: asked = let in + refused at the gate; let in = reserved + repeated + refused by the stock. Nobody knowing
/// what became of a request counts as refused by the stock (`overloaded`).
#[derive(Debug)]
pub struct SaleCounters {
    asked: AtomicU64,
    let_in: AtomicU64,
    reserved: AtomicU64,
    repeated: AtomicU64,
    gate: [AtomicU64; REASONS],
    stock: [AtomicU64; REASONS],
    /// How long those waited who got units.
    waits: [AtomicU64; BUCKETS],
}

impl Default for SaleCounters {
    fn default() -> SaleCounters {
        SaleCounters {
            asked: AtomicU64::default(),
            let_in: AtomicU64::default(),
            reserved: AtomicU64::default(),
            repeated: AtomicU64::default(),
            gate: std::array::from_fn(|_| AtomicU64::default()),
            stock: std::array::from_fn(|_| AtomicU64::default()),
            waits: std::array::from_fn(|_| AtomicU64::default()),
        }
    }
}

impl SaleCounters {
    /// The gate has judged a request.
    pub fn judged(&self, refusal: Option<Refusal>) {
        self.asked.fetch_add(1, Relaxed);
        match refusal {
            None => self.let_in.fetch_add(1, Relaxed),
            Some(refusal) => self.gate[refusal as usize].fetch_add(1, Relaxed),
        };
    }

    /// The backend of stock has decided about a request that was let in; `None` when nobody knows what became of it.
    pub fn decided(&self, decision: Option<&Decision>, took: Duration) {
        let refusal = match decision {
            Some(Decision::Granted(_)) => {
                self.waits[bucket(took)].fetch_add(1, Relaxed);
                self.reserved.fetch_add(1, Relaxed);
                return;
            }
            Some(Decision::Repeated(_)) => {
                self.repeated.fetch_add(1, Relaxed);
                return;
            }
            Some(Decision::SoldOut) => Refusal::SoldOut,
            Some(Decision::Busy) => Refusal::Busy,
            Some(Decision::OverLimit) => Refusal::OverLimit,
            Some(Decision::NotOpen) => Refusal::NotOpen,
            Some(Decision::Ended) => Refusal::Ended,
            Some(Decision::NotLoaded) | None => Refusal::Overloaded,
        };
        self.stock[refusal as usize].fetch_add(1, Relaxed);
    }

    /// Outcomes are read before what precedes them, so that none is ever seen without its request.
    pub fn read(&self) -> CounterSnapshot {
        let all = |counters: &[AtomicU64]| counters.iter().map(|counter| counter.load(Relaxed)).collect::<Vec<_>>();
        let waits = all(&self.waits);
        let (reserved, repeated, stock) = (self.reserved.load(Relaxed), self.repeated.load(Relaxed), all(&self.stock));
        let (let_in, gate) = (self.let_in.load(Relaxed), all(&self.gate));
        CounterSnapshot { asked: self.asked.load(Relaxed), let_in, reserved, repeated, gate, stock, waits }
    }
}

/// The bucket of a duration: its highest bit, and the two after it.
fn bucket(took: Duration) -> usize {
    let micros = (took.as_micros() as u64).clamp(1, u64::from(u32::MAX));
    let high = micros.ilog2() as usize;
    let next = if high >= 2 { (micros >> (high - 2)) & 3 } else { (micros << (2 - high)) & 3 };
    (high * 4 + next as usize).min(BUCKETS - 1)
}

/// The longest time that falls into a bucket, in milliseconds.
fn upper_ms(bucket: usize) -> f64 {
    let (high, next) = ((bucket / 4) as i32, (bucket % 4) as f64);
    2f64.powi(high) * (1.0 + (next + 1.0) / 4.0) / 1000.0
}

/// A counters that was read, or the sum of many. Empty lists stand for zeros.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CounterSnapshot {
    pub asked: u64,
    pub let_in: u64,
    pub reserved: u64,
    pub repeated: u64,
    /// Refused without I/O, in the order of [`Refusal::ALL`].
    pub gate: Vec<u64>,
    /// Refused by the backend of stock.
    pub stock: Vec<u64>,
    pub waits: Vec<u64>,
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
            let at = |list: &[u64], n: usize| list.get(n).copied().unwrap_or(0);
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
        }
    }

    /// Refusals by reason, wherever they happened.
    pub fn refused(&self) -> impl Iterator<Item = (Refusal, u64)> {
        let at = |list: &[u64], n: usize| list.get(n).copied().unwrap_or(0);
        Refusal::ALL.into_iter().map(move |reason| {
            let n = reason as usize;
            (reason, at(&self.gate, n) + at(&self.stock, n))
        })
    }

    /// How long all but a share of those waited who got units, in milliseconds, rounded up to the bucket's end; `None`
    /// when nobody did.
    pub fn wait_ms(&self, share: f64) -> Option<f64> {
        let all: u64 = self.waits.iter().sum();
        let wanted = ((all as f64) * share).ceil().max(1.0) as u64;
        let mut seen = 0;
        let found = self.waits.iter().position(|count| {
            seen += count;
            seen >= wanted
        })?;
        Some(upper_ms(found))
    }

    /// Without the zeros at the end of the longest list, for keeping.
    pub fn trimmed(mut self) -> CounterSnapshot {
        let used = self.waits.iter().rposition(|count| *count > 0).map_or(0, |last| last + 1);
        self.waits.truncate(used);
        self
    }
}

/// The registry of this process. Asked when the board is renewed, never by a request.
#[derive(Debug, Default)]
pub struct CounterRegistry {
    by_sale: Mutex<HashMap<SaleId, Arc<SaleCounters>>>,
}

impl CounterRegistry {
    /// The counters of a sale; a new one when it has none.
    pub fn of(&self, sale: SaleId) -> Arc<SaleCounters> {
        self.lock().entry(sale).or_default().clone()
    }

    /// Forgets sales that are no more. Whoever still counts one counts for nobody.
    pub fn retain(&self, exists: impl Fn(SaleId) -> bool) {
        self.lock().retain(|sale, _| exists(*sale));
    }

    /// What was counted about one sale.
    pub fn read(&self, sale: SaleId) -> CounterSnapshot {
        let counters = self.lock().get(&sale).cloned();
        counters.map(|counters| counters.read()).unwrap_or_default()
    }

    pub fn read_all(&self) -> Vec<(SaleId, CounterSnapshot)> {
        let all: Vec<_> = self.lock().iter().map(|(sale, counters)| (*sale, counters.clone())).collect();
        all.into_iter().map(|(sale, counters)| (sale, counters.read())).collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<SaleId, Arc<SaleCounters>>> {
        self.by_sale.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::claim::Hold;
    use crate::domain::{OrderId, OrderStatus};

    /// Every request ends in one place, whoever asks at the same time.
    #[test]
    fn requests_add_up_under_concurrency() {
        let counters = SaleCounters::default();
        let hold = Hold { order_id: OrderId(uuid::Uuid::nil()), quantity: 1 };
        let decisions = [
            Some(Decision::Granted(OrderStatus::Reserved)),
            Some(Decision::Repeated(hold)),
            Some(Decision::SoldOut),
            Some(Decision::NotLoaded),
            None,
        ];
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let (counters, decisions) = (&counters, &decisions);
                scope.spawn(move || {
                    for n in 0..10_000_usize {
                        let refusal = (n % 3 == 0).then(|| Refusal::ALL[(n + thread) % REASONS]);
                        counters.judged(refusal);
                        if refusal.is_none() {
                            let decision = decisions[(n + thread) % decisions.len()].as_ref();
                            counters.decided(decision, Duration::from_micros(n as u64));
                        }
                    }
                });
            }
        });
        let numbers = counters.read();
        let sum = |list: &[u64]| list.iter().sum::<u64>();
        assert_eq!(numbers.asked, 80_000);
        assert_eq!(numbers.asked, numbers.let_in + sum(&numbers.gate));
        assert_eq!(numbers.let_in, numbers.reserved + numbers.repeated + sum(&numbers.stock));
        assert_eq!(numbers.reserved, sum(&numbers.waits));
        assert_eq!(numbers.refused().map(|(_, n)| n).sum::<u64>(), sum(&numbers.gate) + sum(&numbers.stock));
    }

    #[test]
    fn a_bucket_ends_above_what_falls_into_it_and_not_far_above() {
        for micros in (1..5_000).chain([1_000_000, 59_000_000]) {
            let upper = upper_ms(bucket(Duration::from_micros(micros))) * 1000.0;
            let micros = micros as f64;
            assert!(upper > micros && upper <= micros * 1.34 + 1.0, "{micros} {upper}");
        }
        assert_eq!(bucket(Duration::MAX), BUCKETS - 1);
    }

    #[test]
    fn half_of_the_waits_and_nearly_all() {
        let counters = SaleCounters::default();
        for ms in 1..=100 {
            counters.decided(Some(&Decision::Granted(OrderStatus::Reserved)), Duration::from_millis(ms));
        }
        let numbers = counters.read();
        let (half, most) = (numbers.wait_ms(0.5).unwrap(), numbers.wait_ms(0.99).unwrap());
        assert!((50.0..70.0).contains(&half) && (99.0..132.0).contains(&most), "{half} {most}");
        assert_eq!(CounterSnapshot::default().wait_ms(0.5), None);
    }

    #[test]
    fn numbers_survive_being_kept_and_come_apart_again() {
        let counters = SaleCounters::default();
        counters.judged(Some(Refusal::Busy));
        let first = counters.read();
        counters.judged(None);
        counters.decided(Some(&Decision::Granted(OrderStatus::Unpaid)), Duration::from_millis(3));
        let both = counters.read();
        let kept = serde_json::to_string(&both.clone().trimmed()).unwrap();
        let read: CounterSnapshot = serde_json::from_str(&kept).unwrap();
        assert_eq!(read.plus(&CounterSnapshot::default().plus(&both)).since(&both), both);
        assert_eq!(both.since(&first).asked, 1);
        assert_eq!(serde_json::from_str::<CounterSnapshot>("{}").unwrap(), CounterSnapshot::default());
    }
}
