//! Limits how often each user may send a buying request, independently of all other users, and how often each user or
//! address may miss.
//!
//! Implements the generic cell rate algorithm (ITU-T I.371, annex A). The state per user is one timestamp: the moment
//! at which the full burst is available again. A user whose timestamp has passed needs no entry, so a table of fixed
//! size serves any number of users. A check reads one cache line, without locks, allocations or cleanup. The map of
//! users of the crate governor takes locks and grows until it is swept; it took 0.6 of the 8 µs that a refusal costs.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash};
use std::net::IpAddr;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use foldhash::fast::RandomState;

use crate::locked;
use domain::{Network, UserId};

/// Requests that a user may send at once before the rate applies: a double click, a reload and a second tab.
const MIN_BURST: u64 = 10;
/// Lines of the table. Each has slots for eight users; all lines together hold 32,768 users in a quarter of a mebibyte.
/// When more users send requests within one burst period, the entries closest to a full burst are evicted early.
const LINES: usize = 1 << 12;
/// The low bits of a slot are the timestamp in microseconds, which wraps after twelve days. The high bits are a tag
/// from the user's hash.
const TIMESTAMP_BITS: u32 = 40;
const TIMESTAMP_MASK: u64 = (1 << TIMESTAMP_BITS) - 1;

/// One cache line.
#[derive(Default)]
#[repr(align(64))]
struct Line([AtomicU64; 8]);

/// The rate of the algorithm, in any unit of time.
#[derive(Debug, Clone, Copy)]
pub struct CellRate {
    /// Time after which one more event is allowed.
    pub interval: u64,
    /// Events that are allowed at once, at least one.
    pub burst: u64,
}

impl CellRate {
    /// Adds an event. `ahead` is the time until the full burst is available; the result is that time after the event.
    ///
    /// # Errors
    /// The event is not allowed, and the next one only after this time.
    pub fn charge(self, ahead: u64) -> Result<u64, u64> {
        match ahead.checked_sub(self.interval * (self.burst - 1)) {
            None | Some(0) => Ok(ahead + self.interval),
            Some(wait) => Err(wait),
        }
    }
}

/// The rate limit of all users, or of whatever else the key identifies.
pub struct UserLimit {
    lines: Box<[Line]>,
    hasher: RandomState,
    started: Instant,
    /// The rate in microseconds.
    rate: CellRate,
}

impl UserLimit {
    pub fn new(per_second: u32) -> UserLimit {
        let per_second = u64::from(per_second.max(1));
        let interval = 1_000_000 / per_second.min(1_000_000);
        UserLimit::with(CellRate { interval, burst: MIN_BURST.max(per_second) })
    }

    /// One event every `interval`, and `burst` of them at once.
    pub fn every(interval: Duration, burst: u64) -> UserLimit {
        UserLimit::with(CellRate { interval: interval.as_micros() as u64, burst })
    }

    fn with(rate: CellRate) -> UserLimit {
        let lines = (0..LINES).map(|_| Line::default()).collect();
        UserLimit { lines, hasher: RandomState::default(), started: Instant::now(), rate }
    }

    pub fn allows(&self, user: impl Hash) -> bool {
        self.allows_at(user, self.now())
    }

    /// Whether an event would be refused now. Adds no event.
    pub fn is_exhausted(&self, user: impl Hash) -> bool {
        let hash = self.hasher.hash_one(user);
        let Line(slots) = &self.lines[hash as usize % LINES];
        let now = self.now();
        slots
            .iter()
            .map(|slot| self.read(slot, hash, now))
            .any(|state| state.own && self.rate.charge(state.ahead).is_err())
    }

    fn now(&self) -> u64 {
        self.started.elapsed().as_micros() as u64
    }

    fn allows_at(&self, user: impl Hash, now: u64) -> bool {
        let hash = self.hasher.hash_one(user);
        let Line(slots) = &self.lines[hash as usize % LINES];
        loop {
            // The user's own slot, otherwise the one closest to a full burst.
            let states = slots.iter().map(|slot| self.read(slot, hash, now));
            let best = states.min_by_key(|state| (!state.own, state.ahead)).expect("a line has eight slots");
            let ahead = if best.own { best.ahead } else { 0 };
            let Ok(ahead) = self.rate.charge(ahead) else { return false };
            let next = hash & !TIMESTAMP_MASK | (now + ahead) & TIMESTAMP_MASK;
            // A concurrent update makes the exchange fail; the next iteration reads it.
            if best.slot.compare_exchange_weak(best.bits, next, Relaxed, Relaxed).is_ok() {
                return true;
            }
        }
    }

    fn read<'a>(&self, slot: &'a AtomicU64, hash: u64, now: u64) -> SlotState<'a> {
        let bits = slot.load(Relaxed);
        let ahead = (bits & TIMESTAMP_MASK).wrapping_sub(now) & TIMESTAMP_MASK;
        // No timestamp is further ahead than one burst: a larger difference means that it has passed.
        let ahead = if ahead > self.rate.interval * self.rate.burst { 0 } else { ahead };
        SlotState { slot, bits, ahead, own: bits & !TIMESTAMP_MASK == hash & !TIMESTAMP_MASK }
    }
}

/// Requests per second of one address. It is high because many shoppers share an address in a carrier's network, and
/// all shoppers of a rehearsal do.
const ADDRESS_RATE: u32 = 1_000;

/// Limits of requests that are a transaction each: per account, and per address.
pub struct RequestLimits {
    per_account: UserLimit,
    per_address: UserLimit,
}

impl RequestLimits {
    pub fn new(user_rate: u32) -> RequestLimits {
        RequestLimits { per_account: UserLimit::new(user_rate), per_address: UserLimit::new(ADDRESS_RATE) }
    }

    /// `None` if there were too many.
    pub fn allow(&self, user: UserId, client: IpAddr) -> Option<()> {
        (self.per_account.allows(user) && self.per_address.allows(Network::of(client).host)).then_some(())
    }
}

/// A slot as it was read.
struct SlotState<'a> {
    slot: &'a AtomicU64,
    bits: u64,
    /// Microseconds until the full burst is available.
    ahead: u64,
    /// Whether the slot's tag belongs to the user in question.
    own: bool,
}

// A number of slots per key: the connections of an address, the event streams of an account, the delayed guesses of a
// host.

/// The slots of all keys. A key without taken slots has no entry.
#[derive(Debug)]
pub struct KeyedSlots<K> {
    max: usize,
    taken: Mutex<HashMap<K, usize>>,
}

impl<K: Hash + Eq + Clone> KeyedSlots<K> {
    pub fn new(max: usize) -> Arc<KeyedSlots<K>> {
        Arc::new(KeyedSlots { max, taken: Mutex::default() })
    }

    /// A slot of this key, if one is free.
    pub fn take(self: &Arc<Self>, key: K) -> Option<KeyedSlot<K>> {
        let mut taken = locked(&self.taken);
        match taken.get_mut(&key) {
            Some(count) if *count >= self.max => return None,
            Some(count) => *count += 1,
            None if self.max == 0 => return None,
            None => _ = taken.insert(key.clone(), 1),
        }
        Some(KeyedSlot { slots: self.clone(), key })
    }
}

/// A taken slot. Dropping it frees the slot.
#[derive(Debug)]
pub struct KeyedSlot<K: Hash + Eq + Clone> {
    slots: Arc<KeyedSlots<K>>,
    key: K,
}

impl<K: Hash + Eq + Clone> Drop for KeyedSlot<K> {
    fn drop(&mut self) {
        let mut taken = locked(&self.slots.taken);
        if let Some(count) = taken.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use domain::UserId;

    const SECOND: u64 = 1_000_000;

    fn user(n: u128) -> UserId {
        UserId(Uuid::from_u128(n))
    }

    fn allowed(limit: &UserLimit, user: UserId, now: u64, requests: usize) -> usize {
        (0..requests).filter(|_| limit.allows_at(user, now)).count()
    }

    #[test]
    fn a_user_gets_a_burst_then_the_rate_and_later_a_burst_again() {
        let limit = UserLimit::new(5);
        // The limit also holds where the timestamps wrap.
        for start in [0, 100 * SECOND, TIMESTAMP_MASK - SECOND / 2, 5 * (TIMESTAMP_MASK + 1) + 7] {
            assert_eq!(allowed(&limit, user(1), start, 50), 10);
            assert_eq!(allowed(&limit, user(1), start + SECOND / 5 - 1, 50), 0);
            assert_eq!(allowed(&limit, user(1), start + SECOND / 5, 50), 1);
            assert_eq!(allowed(&limit, user(1), start + SECOND, 50), 4);
            assert_eq!(allowed(&limit, user(1), start + 60 * SECOND, 50), 10);
        }
        assert_eq!(allowed(&UserLimit::new(1000), user(1), 0, 5000), 1000);
        assert_eq!(allowed(&UserLimit::new(0), user(1), SECOND, 50), 10);
    }

    #[test]
    fn exhaustion_is_seen_without_adding_an_event() {
        let limit = UserLimit::every(Duration::from_secs(3600), 2);
        assert!(!limit.is_exhausted("one") && limit.allows("one") && !limit.is_exhausted("one"));
        assert!(limit.allows("one") && limit.is_exhausted("one") && limit.is_exhausted("one"));
        assert!(!limit.is_exhausted("another"));
    }

    #[test]
    fn a_full_table_refuses_no_user() {
        let limit = UserLimit::new(5);
        // Three times as many as there are slots.
        for n in 0..3 * 8 * LINES as u128 {
            assert!(limit.allows_at(user(n), 3));
        }
    }

    #[test]
    fn many_users_are_each_limited_separately() {
        let limit = UserLimit::new(5);
        // So few users that no line overflows.
        let users = LINES / 4;
        let allowed = |now| (0..users as u128).filter(|&n| limit.allows_at(user(n), now)).count();
        for round in 0..10 {
            assert_eq!(allowed(round), users);
        }
        assert_eq!(allowed(10), 0);
    }

    #[test]
    fn concurrent_requests_are_all_counted() {
        let limit = UserLimit::new(500);
        let allowed: usize = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| allowed(&limit, user(7), SECOND, 1000))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(allowed, 500);
    }

    #[test]
    fn each_key_has_slots_of_its_own_and_gets_them_back() {
        let slots = KeyedSlots::new(2);
        let (first, second) = (slots.take("mei").unwrap(), slots.take("mei").unwrap());
        assert!(slots.take("mei").is_none());
        assert!(slots.take("lei").is_some());
        drop(first);
        let third = slots.take("mei");
        assert!(third.is_some() && slots.take("mei").is_none());
        drop((second, third));
        assert!(slots.taken.lock().unwrap().is_empty());
    }
}
