//! Limits wrong guesses of passwords and codes. Right ones are not counted, so a whole campus behind one address can log in.
//!
//! Passwords are limited per client address, and per address and user name. They are never limited per user name alone:
//! that would let any client lock out the owner of an account.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use uuid::Uuid;

use crate::clock::Clock;
use crate::rate_limit::CellRate;

/// Wrong passwords for one user name from one address: the burst, then one per period.
const PER_NAME: (u32, Duration) = (8, Duration::from_secs(30));
/// Wrong passwords from one address for any user name.
const PER_ADDRESS: (u32, Duration) = (60, Duration::from_secs(2));
/// Wrong codes for one account from any address: a client that gets this far has sent the right password.
const PER_CODE: (u32, Duration) = (5, Duration::from_secs(120));
/// Expired keys are removed after this many wrong guesses.
const CLEANUP_INTERVAL: u32 = 1000;

/// The wrong guesses that one process has seen.
pub struct GuessLimits {
    per_name: KeyedLimit<(IpAddr, u64)>,
    per_address: KeyedLimit<IpAddr>,
    per_code: KeyedLimit<Uuid>,
    hasher: RandomState,
    since_cleanup: AtomicU32,
}

impl GuessLimits {
    pub fn new(clock: Clock) -> GuessLimits {
        GuessLimits {
            per_name: KeyedLimit::new(PER_NAME, clock.clone()),
            per_address: KeyedLimit::new(PER_ADDRESS, clock.clone()),
            per_code: KeyedLimit::new(PER_CODE, clock),
            hasher: RandomState::new(),
            since_cleanup: AtomicU32::new(0),
        }
    }

    /// The time until the next guess is allowed; `None` if it is allowed now.
    pub fn wait(&self, client: IpAddr, username: &str) -> Option<Duration> {
        let client = network(client);
        self.per_address.wait(&client).max(self.per_name.wait(&(client, self.name_key(username))))
    }

    pub fn record_wrong_password(&self, client: IpAddr, username: &str) {
        let client = network(client);
        self.per_address.add(client);
        self.per_name.add((client, self.name_key(username)));
        if self.since_cleanup.fetch_add(1, Ordering::Relaxed) >= CLEANUP_INTERVAL {
            self.since_cleanup.store(0, Ordering::Relaxed);
            self.per_address.remove_expired();
            self.per_name.remove_expired();
        }
    }

    /// The time until the next code of the second factor is allowed; `None` if it is allowed now.
    pub fn code_wait(&self, user: Uuid) -> Option<Duration> {
        self.per_code.wait(&user)
    }

    pub fn record_wrong_code(&self, user: Uuid) {
        self.per_code.add(user);
        self.per_code.remove_expired();
    }

    /// A fixed-size key for a user name of any length.
    fn name_key(&self, username: &str) -> u64 {
        self.hasher.hash_one(username.to_lowercase())
    }
}

/// The network that counts as one client: an IPv4 address, or the /64 that one household usually has of IPv6.
fn network(client: IpAddr) -> IpAddr {
    match client.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into(),
        v4 => v4,
    }
}

/// The wrong guesses per key. A key without allowance is locked until it has some again; reading does not count.
/// The table is exact, so that guesses from other addresses cannot evict a key. It grows until expired keys are removed.
struct KeyedLimit<K: Hash + Eq> {
    rate: CellRate,
    keys: Mutex<HashMap<K, KeyState>>,
    clock: Clock,
}

/// The state of a key, in Unix milliseconds.
#[derive(Default)]
struct KeyState {
    /// When the full allowance is available again.
    restored_at: u64,
    locked_until: u64,
}

impl<K: Hash + Eq> KeyedLimit<K> {
    fn new((burst, period): (u32, Duration), clock: Clock) -> KeyedLimit<K> {
        let rate = CellRate { interval: period.as_millis() as u64, burst: u64::from(burst) };
        KeyedLimit { rate, keys: Mutex::default(), clock }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.clock.now().as_millisecond()).unwrap_or_default()
    }

    fn keys(&self) -> MutexGuard<'_, HashMap<K, KeyState>> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait(&self, key: &K) -> Option<Duration> {
        let until = self.keys().get(key)?.locked_until;
        until.checked_sub(self.now()).filter(|wait| *wait > 0).map(Duration::from_millis)
    }

    fn add(&self, key: K) {
        let now = self.now();
        let mut keys = self.keys();
        let wrong = keys.entry(key).or_default();
        match self.rate.add(wrong.restored_at.saturating_sub(now)) {
            Ok(ahead) => wrong.restored_at = now + ahead,
            Err(wait) => wrong.locked_until = now + wait,
        }
    }

    fn remove_expired(&self) {
        let now = self.now();
        self.keys().retain(|_, wrong| wrong.restored_at > now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_address_that_guesses_too_often_has_to_wait() {
        let clock = Clock::manual(jiff::Timestamp::from_second(1_800_000_000).unwrap());
        let guesses = GuessLimits::new(clock.clone());
        let (here, there) = (IpAddr::from([192, 0, 2, 1]), IpAddr::from([192, 0, 2, 2]));
        for _ in 0..PER_NAME.0 {
            guesses.record_wrong_password(here, "mei");
            assert_eq!(guesses.wait(here, "mei"), None);
        }
        guesses.record_wrong_password(here, "Mei");
        let wait = guesses.wait(here, "mei").unwrap();
        assert!(wait <= PER_NAME.1, "{wait:?}");
        assert_eq!(guesses.wait(here, "lei"), None);
        assert_eq!(guesses.wait(there, "mei"), None);
        clock.advance(wait);
        assert_eq!(guesses.wait(here, "mei"), None);
        // One guess is there again, not all of them.
        guesses.record_wrong_password(here, "mei");
        guesses.record_wrong_password(here, "mei");
        assert_eq!(guesses.wait(here, "mei"), Some(PER_NAME.1));
        clock.advance(PER_NAME.1 * PER_NAME.0);
        for _ in 0..PER_NAME.0 {
            guesses.record_wrong_password(here, "mei");
            assert_eq!(guesses.wait(here, "mei"), None);
        }
    }

    #[test]
    fn guesses_while_locked_do_not_prolong_the_lock() {
        let clock = Clock::manual(jiff::Timestamp::from_second(1_800_000_000).unwrap());
        let guesses = GuessLimits::new(clock.clone());
        let user = Uuid::from_u128(7);
        for _ in 0..=PER_CODE.0 {
            guesses.record_wrong_code(user);
        }
        assert_eq!(guesses.code_wait(user), Some(PER_CODE.1));
        clock.advance(Duration::from_secs(20));
        guesses.record_wrong_code(user);
        assert_eq!(guesses.code_wait(user), Some(PER_CODE.1 - Duration::from_secs(20)));
    }

    #[test]
    fn address_limit_covers_all_user_names() {
        let guesses = GuessLimits::new(Clock::manual(jiff::Timestamp::UNIX_EPOCH));
        let neighbours = ["2001:db8::1", "2001:db8::ffff:1"].map(|text| text.parse::<IpAddr>().unwrap());
        for n in 0..=PER_ADDRESS.0 {
            guesses.record_wrong_password(neighbours[0], &n.to_string());
        }
        assert!(guesses.wait(neighbours[1], "mei").is_some());
        assert_eq!(guesses.wait("2001:db8:0:1::1".parse().unwrap(), "mei"), None);
    }

    #[test]
    fn expired_keys_are_removed() {
        let clock = Clock::manual(jiff::Timestamp::UNIX_EPOCH);
        let guesses = GuessLimits::new(clock.clone());
        for n in 0..=PER_ADDRESS.0 {
            guesses.record_wrong_password(IpAddr::from([192, 0, 2, 1]), &n.to_string());
        }
        clock.advance(Duration::from_secs(3600));
        guesses.per_name.remove_expired();
        guesses.per_address.remove_expired();
        assert!(guesses.per_name.keys().is_empty() && guesses.per_address.keys().is_empty());
    }
}
