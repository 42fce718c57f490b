//! How often somebody may guess a password. Only wrong guesses count, so a whole campus behind one address can log in.
//!
//! The keys are the client's address, and the address together with the name; never the name alone, or anybody could
//! keep its owner out.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use governor::middleware::NoOpMiddleware;
use governor::state::keyed::DefaultKeyedStateStore;
use governor::{Quota, RateLimiter};
use uuid::Uuid;

use crate::clock::Clock;

/// Wrong guesses at one name from one address: so many at once, then about one in each period.
const PER_NAME: (u32, Duration) = (8, Duration::from_secs(30));
/// Wrong guesses from one address, whatever the names.
const PER_ADDRESS: (u32, Duration) = (60, Duration::from_secs(2));
/// Wrong codes of one account, from wherever: only who has its password comes so far.
const PER_CODE: (u32, Duration) = (5, Duration::from_secs(120));
/// Wrong guesses between two clearances of what is long past.
const CLEAR_EVERY: u32 = 1000;

pub struct Guesses {
    per_name: Wrongs<(IpAddr, u64)>,
    per_address: Wrongs<IpAddr>,
    per_code: Wrongs<Uuid>,
    hasher: RandomState,
    since_cleared: AtomicU32,
}

impl Guesses {
    pub fn new(clock: Clock) -> Guesses {
        Guesses {
            per_name: Wrongs::new(PER_NAME, clock.clone()),
            per_address: Wrongs::new(PER_ADDRESS, clock.clone()),
            per_code: Wrongs::new(PER_CODE, clock),
            hasher: RandomState::new(),
            since_cleared: AtomicU32::new(0),
        }
    }

    /// How long the next guess has to wait; `None` when it need not.
    pub fn wait(&self, client: IpAddr, username: &str) -> Option<Duration> {
        let client = network(client);
        self.per_address.wait(&client).max(self.per_name.wait(&(client, self.name(username))))
    }

    pub fn was_wrong(&self, client: IpAddr, username: &str) {
        let client = network(client);
        self.per_address.add(client);
        self.per_name.add((client, self.name(username)));
        if self.since_cleared.fetch_add(1, Ordering::Relaxed) >= CLEAR_EVERY {
            self.since_cleared.store(0, Ordering::Relaxed);
            self.per_address.clear();
            self.per_name.clear();
        }
    }

    /// As [`Guesses::wait`], for codes of the second factor.
    pub fn code_wait(&self, user: Uuid) -> Option<Duration> {
        self.per_code.wait(&user)
    }

    pub fn code_was_wrong(&self, user: Uuid) {
        self.per_code.add(user);
        self.per_code.clear();
    }

    /// A name of any length takes little memory.
    fn name(&self, username: &str) -> u64 {
        self.hasher.hash_one(username.to_lowercase())
    }
}

/// One household usually has a whole /64 of IPv6.
fn network(client: IpAddr) -> IpAddr {
    match client.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into(),
        v4 => v4,
    }
}

/// The shop's clock as the limiter wants it: the time since 1970.
#[derive(Clone)]
struct Ticks(Clock);

impl governor::clock::Clock for Ticks {
    type Instant = Duration;

    fn now(&self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.now().as_millisecond()).unwrap_or_default())
    }
}

type Limiter<K> = RateLimiter<K, DefaultKeyedStateStore<K>, Ticks, NoOpMiddleware<Duration>>;

/// Counts wrong guesses. A key that has used up its allowance is locked until it has some again; looking costs nothing.
struct Wrongs<K: Hash + Eq + Clone> {
    allowance: Limiter<K>,
    locked: Mutex<HashMap<K, Duration>>,
    clock: Ticks,
}

impl<K: Hash + Eq + Clone> Wrongs<K> {
    fn new((burst, period): (u32, Duration), clock: Clock) -> Wrongs<K> {
        let quota = Quota::with_period(period).expect("the period is not zero");
        let quota = quota.allow_burst(NonZeroU32::new(burst).expect("the burst is not zero"));
        let clock = Ticks(clock);
        let allowance = RateLimiter::new(quota, DefaultKeyedStateStore::default(), clock.clone());
        Wrongs { allowance, locked: Mutex::default(), clock }
    }

    fn now(&self) -> Duration {
        governor::clock::Clock::now(&self.clock)
    }

    fn locked(&self) -> MutexGuard<'_, HashMap<K, Duration>> {
        self.locked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait(&self, key: &K) -> Option<Duration> {
        let until = self.locked().get(key).copied()?;
        until.checked_sub(self.now()).filter(|wait| !wait.is_zero())
    }

    fn add(&self, key: K) {
        if let Err(not_until) = self.allowance.check_key(&key) {
            self.locked().insert(key, not_until.earliest_possible());
        }
    }

    fn clear(&self) {
        let now = self.now();
        self.allowance.retain_recent();
        self.locked().retain(|_, until| *until > now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_guesses_too_often_waits_and_nobody_else_does() {
        let clock = Clock::manual(jiff::Timestamp::from_second(1_800_000_000).unwrap());
        let guesses = Guesses::new(clock.clone());
        let (here, there) = (IpAddr::from([192, 0, 2, 1]), IpAddr::from([192, 0, 2, 2]));
        for _ in 0..PER_NAME.0 {
            guesses.was_wrong(here, "mei");
            assert_eq!(guesses.wait(here, "mei"), None);
        }
        guesses.was_wrong(here, "Mei");
        let wait = guesses.wait(here, "mei").unwrap();
        assert!(wait <= PER_NAME.1, "{wait:?}");
        assert_eq!(guesses.wait(here, "lei"), None);
        assert_eq!(guesses.wait(there, "mei"), None);
        clock.advance(wait);
        assert_eq!(guesses.wait(here, "mei"), None);
    }

    #[test]
    fn many_names_from_one_address_do_not_help() {
        let guesses = Guesses::new(Clock::manual(jiff::Timestamp::UNIX_EPOCH));
        let neighbours = ["2001:db8::1", "2001:db8::ffff:1"].map(|text| text.parse::<IpAddr>().unwrap());
        for n in 0..=PER_ADDRESS.0 {
            guesses.was_wrong(neighbours[0], &n.to_string());
        }
        assert!(guesses.wait(neighbours[1], "mei").is_some());
        assert_eq!(guesses.wait("2001:db8:0:1::1".parse().unwrap(), "mei"), None);
    }

    #[test]
    fn what_is_long_past_is_forgotten() {
        let clock = Clock::manual(jiff::Timestamp::UNIX_EPOCH);
        let guesses = Guesses::new(clock.clone());
        for n in 0..=PER_ADDRESS.0 {
            guesses.was_wrong(IpAddr::from([192, 0, 2, 1]), &n.to_string());
        }
        clock.advance(Duration::from_secs(3600));
        guesses.per_name.clear();
        guesses.per_address.clear();
        assert!(guesses.per_name.allowance.is_empty() && guesses.per_address.locked().is_empty());
    }
}
