//! Counts guesses, or other requests, per key in memory.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Mutex;
use std::time::Duration;

use tracing::warn;

use crate::throttle::{Guess, Origin, PER_ACCOUNT, PER_CODE, PER_NAME};
use crate::{AccountRefusal, Accounts, Device, names};
use base::clock::Clock;
use base::locked;
use base::rate_limit::CellRate;
use base::signing::key_for;
use domain::{UserId, hex};
use store::GuessCount;

/// Expired keys are removed after this many uses.
const CLEANUP_INTERVAL: u32 = 1000;

/// A burst, then one guess per period. The result is in milliseconds.
pub(super) fn rate((burst, period): (u32, Duration)) -> CellRate {
    CellRate { interval: period.as_millis() as u64, burst: u64::from(burst) }
}

/// The guesses per key, by the generic cell rate algorithm. The table is exact, so that guesses from other addresses
/// cannot evict a key. It grows until expired keys are removed, every [`CLEANUP_INTERVAL`] uses.
pub(super) struct KeyedLimit<K: Hash + Eq> {
    rate: CellRate,
    keys: Mutex<Keys<K>>,
    clock: Clock,
}

struct Keys<K> {
    /// When the full allowance of a key is available again, in Unix milliseconds.
    restored_at: HashMap<K, u64>,
    uses_since_cleanup: u32,
}

impl<K: Hash + Eq> Keys<K> {
    /// When the full allowance of a key that is used now is available again.
    fn used(&mut self, key: K, now: u64) -> &mut u64 {
        self.uses_since_cleanup += 1;
        if self.uses_since_cleanup >= CLEANUP_INTERVAL {
            self.uses_since_cleanup = 0;
            self.restored_at.retain(|_, restored_at| *restored_at > now);
        }
        self.restored_at.entry(key).or_default()
    }
}

impl<K: Hash + Eq> KeyedLimit<K> {
    pub(super) fn new(limit: (u32, Duration), clock: Clock) -> KeyedLimit<K> {
        let keys = Keys { restored_at: HashMap::new(), uses_since_cleanup: 0 };
        KeyedLimit { rate: rate(limit), keys: Mutex::new(keys), clock }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.clock.now().as_millisecond()).unwrap_or_default()
    }

    /// Adds a guess, or returns the time until one is allowed.
    pub(super) fn take(&self, key: K) -> Result<(), Duration> {
        let now = self.now();
        let mut keys = locked(&self.keys);
        let restored_at = keys.used(key, now);
        let ahead = self.rate.charge(restored_at.saturating_sub(now)).map_err(Duration::from_millis)?;
        *restored_at = now + ahead;
        Ok(())
    }

    pub(super) fn give_back(&self, key: &K) {
        if let Some(restored_at) = locked(&self.keys).restored_at.get_mut(key) {
            *restored_at = restored_at.saturating_sub(self.rate.interval);
        }
    }

    /// Adds a guess even beyond the allowance, up to twice the burst.
    pub(super) fn add(&self, key: K) {
        let now = self.now();
        let mut keys = locked(&self.keys);
        let restored_at = keys.used(key, now);
        let ahead = restored_at.saturating_sub(now) + self.rate.interval;
        *restored_at = now + ahead.min(2 * self.rate.burst * self.rate.interval);
    }

    /// How many guesses were made beyond the allowance.
    pub(super) fn excess(&self, key: &K) -> u32 {
        let ahead =
            locked(&self.keys).restored_at.get(key).map_or(0, |restored_at| restored_at.saturating_sub(self.now()));
        let beyond = ahead.saturating_sub(self.rate.interval * self.rate.burst);
        u32::try_from(beyond.div_ceil(self.rate.interval)).unwrap_or(u32::MAX)
    }
}

// Counts the guesses of all processes together, in the database. Each process limits them in memory first
// (`throttle`), so that a flood reaches the database only as fast as one process allows guesses.

impl Accounts {
    /// Counts a guess that this process has allowed, for all processes.
    pub(super) async fn share_guess<'a>(
        &'a self,
        mut guess: Guess<'a>,
        device: &Device,
        username: &str,
    ) -> Result<Guess<'a>, AccountRefusal> {
        let name = names::key(username);
        let from = Origin::of(device, username);
        let mut counts = vec![self.count("name", &format!("{from} {name}"), PER_NAME)];
        if guess.counts_for_account {
            counts.push(self.count("account", &name, PER_ACCOUNT));
        }
        let mut reached = self.store.credentials().take_guess(&counts).await?;
        if reached.is_some_and(|limit| limit.place == 1) && self.is_signed_in_from(device.address, username).await? {
            counts.truncate(1);
            reached = self.store.credentials().take_guess(&counts).await?;
        }
        match reached {
            Some(limit) if limit.place == 1 => Err(AccountRefusal::NameThrottled(limit.wait)),
            Some(limit) => Err(AccountRefusal::Throttled(limit.wait)),
            None => {
                guess.shared = counts;
                Ok(guess)
            }
        }
    }

    /// Ends a guess. A wrong one stays counted.
    pub(super) async fn end_guess(&self, mut guess: Guess<'_>, is_wrong: bool) {
        if is_wrong {
            return guess.record_wrong();
        }
        let shared = std::mem::take(&mut guess.shared);
        drop(guess);
        self.give_back(&shared).await;
    }

    /// Counts a code of the second factor that is about to be judged.
    pub(super) async fn reserve_code(&self, user: UserId) -> Result<(), AccountRefusal> {
        self.guesses.per_code.take(user.0).map_err(AccountRefusal::Throttled)?;
        self.take_counts(&[self.count_of_codes(user)]).await
    }

    /// Adds one to counts of the database, or refuses if one of them has reached its limit.
    pub(super) async fn take_counts(&self, counts: &[GuessCount]) -> Result<(), AccountRefusal> {
        match self.store.credentials().take_guess(counts).await? {
            Some(limit) => Err(AccountRefusal::Throttled(limit.wait)),
            None => Ok(()),
        }
    }

    /// Gives back a code that was right.
    pub(super) async fn give_back_code(&self, user: UserId) {
        self.guesses.per_code.give_back(&user.0);
        self.give_back(&[self.count_of_codes(user)]).await;
    }

    /// A failure is only logged. The guess was right, and a count that is too high for a while does less harm than a
    /// refusal.
    async fn give_back(&self, counts: &[GuessCount]) {
        if let Err(error) = self.store.credentials().give_back_guess(counts).await {
            warn!(%error, "a right guess stays counted as a wrong one");
        }
    }

    fn count_of_codes(&self, user: UserId) -> GuessCount {
        self.count("code", &user.to_string(), PER_CODE)
    }

    /// The count of guesses of one kind that share `common`.
    pub(super) fn count(&self, kind: &str, common: &str, limit: (u32, Duration)) -> GuessCount {
        GuessCount { key: self.count_key(kind, common), rate: rate(limit) }
    }

    /// The key of a count in the database. It does not reveal whose count it is.
    pub(super) fn count_key(&self, kind: &str, common: &str) -> String {
        let digest = key_for(&self.secret, &format!("guess {kind} {common}"));
        hex::encode(&digest[..16])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expired_keys_are_removed_and_others_keep_their_counts() {
        let clock = Clock::manual(jiff::Timestamp::from_second(1_800_000_000).unwrap());
        let limit = KeyedLimit::new((2, Duration::from_secs(1)), clock.clone());
        for key in 1..CLEANUP_INTERVAL - 1 {
            limit.take(key).unwrap();
        }
        clock.advance(Duration::from_secs(2));
        limit.take(0).unwrap();
        assert_eq!(locked(&limit.keys).restored_at.len(), CLEANUP_INTERVAL as usize - 1);
        limit.take(0).unwrap();
        assert_eq!(locked(&limit.keys).restored_at.len(), 1);
        assert!(limit.take(0).is_err());
    }
}
