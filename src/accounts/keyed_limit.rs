//! Counts guesses per key in memory.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::clock::Clock;
use crate::rate_limit::CellRate;

/// A burst, then one guess per period. In milliseconds.
pub(super) fn rate((burst, period): (u32, Duration)) -> CellRate {
    CellRate { interval: period.as_millis() as u64, burst: u64::from(burst) }
}

/// The guesses per key, by the generic cell rate algorithm. The table is exact, so that guesses from other addresses
/// cannot evict a key. It grows until expired keys are removed.
pub(super) struct KeyedLimit<K: Hash + Eq> {
    rate: CellRate,
    /// When the full allowance is available again, in Unix milliseconds.
    keys: Mutex<HashMap<K, u64>>,
    clock: Clock,
}

impl<K: Hash + Eq> KeyedLimit<K> {
    pub(super) fn new(limit: (u32, Duration), clock: Clock) -> KeyedLimit<K> {
        KeyedLimit { rate: rate(limit), keys: Mutex::default(), clock }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.clock.now().as_millisecond()).unwrap_or_default()
    }

    pub(super) fn keys(&self) -> MutexGuard<'_, HashMap<K, u64>> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a guess, or returns the time until one is allowed.
    pub(super) fn take(&self, key: K) -> Result<(), Duration> {
        let now = self.now();
        let mut keys = self.keys();
        let restored_at = keys.entry(key).or_default();
        let ahead = self.rate.add(restored_at.saturating_sub(now)).map_err(Duration::from_millis)?;
        *restored_at = now + ahead;
        Ok(())
    }

    pub(super) fn give_back(&self, key: &K) {
        if let Some(restored_at) = self.keys().get_mut(key) {
            *restored_at = restored_at.saturating_sub(self.rate.interval);
        }
    }

    /// Adds a guess also beyond the allowance, up to twice the burst.
    pub(super) fn add(&self, key: K) {
        let now = self.now();
        let mut keys = self.keys();
        let restored_at = keys.entry(key).or_default();
        let ahead = restored_at.saturating_sub(now) + self.rate.interval;
        *restored_at = now + ahead.min(2 * self.rate.burst * self.rate.interval);
    }

    /// The guesses beyond the allowance.
    pub(super) fn excess(&self, key: &K) -> u32 {
        let ahead = self.keys().get(key).map_or(0, |restored_at| restored_at.saturating_sub(self.now()));
        let beyond = ahead.saturating_sub(self.rate.interval * self.rate.burst);
        u32::try_from(beyond.div_ceil(self.rate.interval)).unwrap_or(u32::MAX)
    }

    pub(super) fn remove_expired(&self) {
        let now = self.now();
        self.keys().retain(|_, restored_at| *restored_at > now);
    }
}
