//! A cache of answers that take long to compute. It serves the value that it has while a new one is computed
//! (stale-while-revalidate).
//!
//! - **Single flight.** Requests for a key that is being computed share that computation.
//! - **Turns.** One computation runs at a time, because it takes database time away from shoppers.
//! - **A bounded wait.** A request says how long it can wait. After that it gets the kept value, or the answer that
//!   there is none yet. The computation goes on even if the request is gone.
//! - **Failures** and panics are logged here, returned to the waiting requests, and not kept: the next request computes
//!   again. An older value stays.
//! - **Memory.** A bounded number of values is kept. The value with the oldest data is dropped first.

use std::collections::HashMap;
use std::fmt::Display;
use std::hash::Hash;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};
use tracing::{error, warn};

use crate::clock::Clock;
use crate::locked;

/// A value is fresh for this multiple of its computing time, so computing takes at most a twentieth of the time.
const FRESH_FACTOR: u32 = 20;
/// No value is fresh for longer than this.
const MAX_FRESH: Duration = Duration::from_secs(60);

/// A value, and when its computation began to read.
#[derive(Debug)]
pub struct Known<V> {
    pub value: Arc<V>,
    pub read_at: Timestamp,
    /// Whether a newer value is being computed.
    pub is_renewing: bool,
}

/// Why there is no value.
#[derive(Debug, thiserror::Error)]
pub enum ComputationError<E> {
    #[error(transparent)]
    Failed(Arc<E>),
    #[error("the computation panicked")]
    Panicked,
}

/// The cache for one kind of answers. Clones share the content.
pub struct RevalidatingCache<K: Hash + Eq, V, E>(Arc<Shared<K, V, E>>);

struct Shared<K: Hash + Eq, V, E> {
    /// Names the cache in logs.
    name: &'static str,
    max_kept: usize,
    clock: Clock,
    entries: Mutex<HashMap<K, Entry<V, E>>>,
    turn: tokio::sync::Mutex<()>,
}

/// At least one of the two is set.
struct Entry<V, E> {
    kept: Option<Kept<V>>,
    flight: Option<Flight<V, E>>,
}

struct Kept<V> {
    value: Arc<V>,
    read_at: Timestamp,
    fresh_until: Timestamp,
}

/// A computation that is under way; requests wait on it for the outcome.
type Flight<V, E> = watch::Receiver<Option<Outcome<V, E>>>;
type Outcome<V, E> = Result<Kept<V>, ComputationError<E>>;

/// What a look into the cache found.
enum Found<V, E> {
    Fresh(Known<V>),
    /// A computation to wait for, and the older value if there is one.
    Flight(Flight<V, E>, Option<Kept<V>>),
}

impl<K, V, E> RevalidatingCache<K, V, E>
where
    K: Hash + Eq + Clone + Display + Send + 'static,
    V: Send + Sync + 'static,
    E: Display + Send + Sync + 'static,
{
    pub fn new(name: &'static str, max_kept: usize, clock: Clock) -> Self {
        let (entries, turn) = (Mutex::default(), tokio::sync::Mutex::default());
        RevalidatingCache(Arc::new(Shared { name, max_kept, clock, entries, turn }))
    }

    /// Returns the kept value if it is fresh, otherwise waits up to `patience` for a new one. After that it returns the
    /// older value, or `None` if there is none. `compute` runs unless a computation of this key is under way.
    pub async fn get(
        &self,
        key: K,
        patience: Duration,
        compute: impl Future<Output = Result<V, E>> + Send + 'static,
    ) -> Result<Option<Known<V>>, ComputationError<E>> {
        match self.find(key, compute) {
            Found::Fresh(known) => Ok(Some(known)),
            Found::Flight(flight, kept) => match timeout(patience, outcome_of(flight)).await {
                Ok(outcome) => Ok(Some(outcome?.known(false))),
                Err(_) => Ok(kept.map(|kept| kept.known(true))),
            },
        }
    }

    /// As [`RevalidatingCache::get`], but waits until the computation ends.
    pub async fn wait(
        &self,
        key: K,
        compute: impl Future<Output = Result<V, E>> + Send + 'static,
    ) -> Result<Known<V>, ComputationError<E>> {
        match self.find(key, compute) {
            Found::Fresh(known) => Ok(known),
            Found::Flight(flight, _) => Ok(outcome_of(flight).await?.known(false)),
        }
    }

    fn find(&self, key: K, compute: impl Future<Output = Result<V, E>> + Send + 'static) -> Found<V, E> {
        let now = self.0.clock.now();
        let mut entries = locked(&self.0.entries);
        let entry = entries.entry(key.clone()).or_insert(Entry { kept: None, flight: None });
        match &entry.kept {
            Some(kept) if kept.is_fresh(now) => Found::Fresh(kept.known(false)),
            _ => {
                let flight = entry.flight.get_or_insert_with(|| self.begin(key, compute)).clone();
                Found::Flight(flight, entry.kept.clone())
            }
        }
    }

    fn begin(&self, key: K, compute: impl Future<Output = Result<V, E>> + Send + 'static) -> Flight<V, E> {
        let (sender, flight) = watch::channel(None);
        let shared = self.0.clone();
        tokio::spawn(async move {
            let mut running = Running { shared, key, sender, outcome: Err(ComputationError::Panicked) };
            let shared = running.shared.clone();
            let _turn = shared.turn.lock().await;
            let (began, read_at) = (Instant::now(), shared.clock.now());
            running.outcome = match compute.await {
                Ok(value) => {
                    let fresh_until = shared.clock.now() + (began.elapsed() * FRESH_FACTOR).min(MAX_FRESH);
                    Ok(Kept { value: Arc::new(value), read_at, fresh_until })
                }
                Err(error) => Err(ComputationError::Failed(Arc::new(error))),
            };
        });
        flight
    }
}

/// Waits for a computation and returns its outcome.
async fn outcome_of<V, E>(mut flight: Flight<V, E>) -> Outcome<V, E> {
    match flight.wait_for(Option::is_some).await.as_deref() {
        Ok(Some(Ok(kept))) => Ok(kept.clone()),
        Ok(Some(Err(error))) => Err(error.clone()),
        Ok(None) | Err(_) => Err(ComputationError::Panicked),
    }
}

/// Records the outcome when it is dropped. So a key is released even if its computation panics.
struct Running<K: Hash + Eq + Clone + Display, V, E: Display> {
    shared: Arc<Shared<K, V, E>>,
    key: K,
    sender: watch::Sender<Option<Outcome<V, E>>>,
    outcome: Outcome<V, E>,
}

impl<K: Hash + Eq + Clone + Display, V, E: Display> Drop for Running<K, V, E> {
    fn drop(&mut self) {
        self.shared.finish(&self.key, &self.outcome);
        let outcome = std::mem::replace(&mut self.outcome, Err(ComputationError::Panicked));
        self.sender.send_replace(Some(outcome));
    }
}

impl<K: Hash + Eq + Clone + Display, V, E: Display> Shared<K, V, E> {
    fn finish(&self, key: &K, outcome: &Outcome<V, E>) {
        let mut entries = locked(&self.entries);
        let before = entries.remove(key).and_then(|entry| entry.kept);
        let kept = match outcome {
            Ok(kept) => Some(kept.clone()),
            Err(ComputationError::Failed(error)) => {
                let error = format!("{error:#}");
                warn!(cache = self.name, %key, error, "a computation failed; the next request begins it again");
                before
            }
            Err(ComputationError::Panicked) => {
                error!(cache = self.name, %key, "a computation panicked; the next request begins it again");
                before
            }
        };
        if kept.is_none() {
            return;
        }
        while entries.values().filter(|entry| entry.kept.is_some()).count() >= self.max_kept {
            let read_at = |entry: &Entry<V, E>| entry.kept.as_ref().map(|kept| kept.read_at);
            let all = entries.iter().filter(|(_, entry)| entry.kept.is_some());
            let Some(first) = all.min_by_key(|(_, entry)| read_at(entry)).map(|(key, _)| key.clone()) else { break };
            match entries.get_mut(&first) {
                Some(entry) if entry.flight.is_some() => entry.kept = None,
                _ => _ = entries.remove(&first),
            }
        }
        entries.insert(key.clone(), Entry { kept, flight: None });
    }
}

impl<V> Kept<V> {
    /// A value that was read in the future is not fresh: the clock was set back.
    fn is_fresh(&self, now: Timestamp) -> bool {
        self.read_at <= now && now < self.fresh_until
    }

    fn known(&self, is_renewing: bool) -> Known<V> {
        Known { value: self.value.clone(), read_at: self.read_at, is_renewing }
    }
}

impl<V> Clone for Kept<V> {
    fn clone(&self) -> Self {
        Kept { value: self.value.clone(), ..*self }
    }
}

impl<E> Clone for ComputationError<E> {
    fn clone(&self) -> Self {
        match self {
            ComputationError::Failed(error) => ComputationError::Failed(error.clone()),
            ComputationError::Panicked => ComputationError::Panicked,
        }
    }
}

impl<K: Hash + Eq, V, E> Clone for RevalidatingCache<K, V, E> {
    fn clone(&self) -> Self {
        RevalidatingCache(self.0.clone())
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::*;

    type Cache = RevalidatingCache<&'static str, u32, String>;
    type Computed = Result<u32, String>;

    fn cache() -> (Cache, Clock) {
        let clock = Clock::manual(Timestamp::UNIX_EPOCH);
        (RevalidatingCache::new("test", 2, clock.clone()), clock)
    }

    /// A computation that ends when the test sends its result.
    fn blocked() -> (oneshot::Sender<Computed>, impl Future<Output = Computed> + Send + 'static) {
        let (sender, receiver) = oneshot::channel();
        (sender, async { receiver.await.expect("the test ends the computation") })
    }

    async fn value(n: u32) -> Computed {
        Ok(n)
    }

    async fn unwanted() -> Computed {
        panic!("another computation is under way, or the value is fresh")
    }

    impl Cache {
        /// What a request without patience gets, and whether it is being renewed.
        async fn glance(&self, key: &'static str, compute: impl Future<Output = Computed> + Send + 'static) -> Glance {
            self.get(key, Duration::ZERO, compute).await.unwrap().map(|known| (*known.value, known.is_renewing))
        }
    }

    type Glance = Option<(u32, bool)>;

    #[tokio::test]
    async fn requests_share_one_computation_and_need_not_wait_for_it() {
        let (cache, _) = cache();
        let (end, compute) = blocked();
        assert_eq!(cache.glance("a", compute).await, None);
        assert_eq!(cache.glance("a", unwanted()).await, None);
        let both = tokio::spawn({
            let cache = cache.clone();
            async move { tokio::join!(cache.wait("a", unwanted()), cache.wait("a", unwanted())) }
        });
        end.send(Ok(1)).unwrap();
        let (one, other) = both.await.unwrap();
        assert_eq!((*one.unwrap().value, *other.unwrap().value), (1, 1));
    }

    #[tokio::test]
    async fn value_is_served_while_it_is_renewed() {
        let (cache, clock) = cache();
        let first = cache.wait("a", value(1)).await.unwrap();
        assert_eq!((*first.value, first.read_at, first.is_renewing), (1, Timestamp::UNIX_EPOCH, false));
        clock.advance(MAX_FRESH);
        let (end, compute) = blocked();
        assert_eq!(cache.glance("a", compute).await, Some((1, true)));
        assert_eq!(cache.glance("a", unwanted()).await, Some((1, true)));
        end.send(Ok(2)).unwrap();
        let renewed = cache.wait("a", unwanted()).await.unwrap();
        assert_eq!((*renewed.value, renewed.read_at), (2, clock.now()));
    }

    #[tokio::test(start_paused = true)]
    async fn value_is_fresh_for_a_multiple_of_the_time_it_took() {
        let (cache, clock) = cache();
        let slow = |n| async move {
            tokio::time::sleep(Duration::from_secs(2)).await;
            Ok(n)
        };
        cache.wait("a", slow(1)).await.unwrap();
        clock.advance(Duration::from_secs(39));
        assert_eq!(cache.glance("a", unwanted()).await, Some((1, false)));
        clock.advance(Duration::from_secs(1));
        assert_eq!(cache.glance("a", slow(2)).await, Some((1, true)));
        assert_eq!(*cache.wait("a", unwanted()).await.unwrap().value, 2);
    }

    #[tokio::test]
    async fn computations_take_turns() {
        let (cache, _) = cache();
        let (end, compute) = blocked();
        let (end_second, compute_second) = blocked();
        assert_eq!(cache.glance("a", compute).await, None);
        let (began, mut has_begun) = oneshot::channel();
        let second = async {
            began.send(()).unwrap();
            compute_second.await
        };
        assert_eq!(cache.glance("b", second).await, None);
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        assert!(has_begun.try_recv().is_err(), "the first is under way");
        end.send(Ok(1)).unwrap();
        has_begun.await.unwrap();
        end_second.send(Ok(2)).unwrap();
        assert_eq!(*cache.wait("b", unwanted()).await.unwrap().value, 2);
    }

    #[tokio::test]
    async fn failure_is_answered_and_not_kept() {
        let (cache, clock) = cache();
        let failed = cache.wait("a", async { Err("no database".to_owned()) }).await.unwrap_err();
        assert_eq!(failed.to_string(), "no database");
        assert_eq!(*cache.wait("a", value(1)).await.unwrap().value, 1);
        clock.advance(MAX_FRESH);
        let (end, compute) = blocked();
        assert_eq!(cache.glance("a", compute).await, Some((1, true)));
        end.send(Err("gone".to_owned())).unwrap();
        assert!(cache.wait("a", unwanted()).await.is_err());
        let (_end, compute) = blocked();
        assert_eq!(cache.glance("a", compute).await, Some((1, true)), "the value from before");
    }

    #[tokio::test]
    async fn panic_is_answered_and_not_kept() {
        let (cache, _) = cache();
        let panicked = cache.wait("a", async { panic!("a fault") }).await;
        assert!(matches!(panicked, Err(ComputationError::Panicked)));
        assert_eq!(*cache.wait("a", value(1)).await.unwrap().value, 1);
        assert_eq!(*cache.wait("b", value(2)).await.unwrap().value, 2, "the turn was given back");
    }

    #[tokio::test]
    async fn value_that_was_read_first_goes_first() {
        let (cache, clock) = cache();
        for (n, key) in ["a", "b", "c"].into_iter().enumerate() {
            cache.wait(key, value(n as u32)).await.unwrap();
            clock.advance(Duration::from_secs(1));
        }
        let kept = |key| locked(&cache.0.entries).contains_key(key);
        assert_eq!((kept("a"), kept("b"), kept("c")), (false, true, true));
    }

    #[tokio::test]
    async fn value_of_a_clock_that_was_set_back_is_not_fresh() {
        let kept = Kept { value: Arc::new(1), read_at: Timestamp::MAX, fresh_until: Timestamp::MAX };
        assert!(!kept.is_fresh(Timestamp::UNIX_EPOCH));
    }
}
