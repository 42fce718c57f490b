//! What this process has promised lately. A 202 is a promise; a master that restarts without its last writes, or loses
//! all of them, has forgotten it. Then the promises are repeated, as they were answered: the script finds what survived
//! and changes nothing, or grants it again and puts it back into the outbox.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use redis::{Pipeline, Value, from_redis_value_ref};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::keys;
use crate::domain::Bucket;
use crate::domain::claim::Unavailable;
use crate::redis::connection::RedisConnection;
use crate::redis::malformed;

/// How long a promise is remembered: longer than a master with an append-only file fsynced every second may lose, and
/// than a relay usually needs to pass an order on.
const REMEMBERED_FOR: Duration = Duration::from_secs(120);
/// At most this many, so that memory is bounded (some 100 MB, where each was a batch of its own); the oldest go first.
const MOST: usize = 1_000_000;
/// How often the master is asked whether it is still the same.
const EVERY: Duration = Duration::from_millis(500);
const BATCH: usize = 256;

/// One life of a bucket's keys: the epoch in which they were loaded, by the how manieth server process that was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Life {
    epoch: i64,
    server: u64,
}

/// The grants of one batch.
struct Batch<G> {
    at: Instant,
    grants: Vec<G>,
}

/// By bucket and the life in which they were given, oldest first.
struct Recent<G> {
    by_life: BTreeMap<(Bucket, Life), VecDeque<Batch<G>>>,
    /// Grants in all of them.
    grants: usize,
}

/// The promises of the last moments.
pub struct GrantLog<G> {
    recent: Mutex<Recent<G>>,
    /// Counts the server processes that were seen. A promise given before a new one was noticed is repeated once more
    /// than needed, which changes nothing.
    server: AtomicU64,
}

impl<G> Default for GrantLog<G> {
    fn default() -> Self {
        GrantLog { recent: Mutex::new(Recent { by_life: BTreeMap::new(), grants: 0 }), server: AtomicU64::new(0) }
    }
}

impl<G> Recent<G> {
    /// What is older. Looks at nothing else: shoppers wait meanwhile.
    fn forget(&mut self, remembered_for: Duration) {
        let now = Instant::now();
        for batches in self.by_life.values_mut() {
            while let Some(old) = batches.pop_front_if(|batch| now - batch.at > remembered_for) {
                self.grants -= old.grants.len();
            }
        }
        self.by_life.retain(|_, batches| !batches.is_empty());
    }
}

impl<G: Copy> GrantLog<G> {
    pub(crate) fn remember(&self, bucket: Bucket, epoch: i64, grants: Vec<G>) {
        if !grants.is_empty() {
            let batch = Batch { at: Instant::now(), grants };
            let life = Life { epoch, server: self.server.load(Ordering::Relaxed) };
            let mut recent = self.lock();
            recent.grants += batch.grants.len();
            recent.by_life.entry((bucket, life)).or_default().push_back(batch);
        }
    }

    /// Buckets and their lives of which something is remembered. What is too old, or more than is kept, is forgotten.
    fn lives(&self) -> Vec<(Bucket, Life)> {
        let mut recent = self.lock();
        let mut remembered_for = REMEMBERED_FOR;
        recent.forget(remembered_for);
        while recent.grants > MOST && !remembered_for.is_zero() {
            remembered_for = remembered_for * 9 / 10;
            recent.forget(remembered_for);
        }
        recent.by_life.keys().copied().collect()
    }

    fn grants(&self, bucket: Bucket, life: Life) -> Vec<G> {
        let recent = self.lock();
        let batches = recent.by_life.get(&(bucket, life));
        batches.into_iter().flatten().flat_map(|batch| &batch.grants).copied().collect()
    }

    /// The promises of `bucket` given in `from` now stand in `to`. Those are older than what was given in `to` since.
    fn moved(&self, bucket: Bucket, from: Life, to: Life) {
        let mut recent = self.lock();
        if from != to
            && let Some(mut older) = recent.by_life.remove(&(bucket, from))
        {
            let newer = recent.by_life.entry((bucket, to)).or_default();
            older.append(newer);
            *newer = older;
        }
    }

    /// Notes which server process answers; the answer is its number.
    fn seen(&self, last: &mut Option<String>, present: String) -> u64 {
        let another = last.as_ref().is_some_and(|last| *last != present);
        *last = Some(present);
        self.server.fetch_add(another.into(), Ordering::Relaxed) + u64::from(another)
    }

    fn lock(&self) -> MutexGuard<'_, Recent<G>> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What became of promises that were repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replayed {
    /// So many of them had been forgotten.
    Forgotten(usize),
    /// Nobody there to hear them, now.
    NotLoaded,
}

/// A backend on a Redis master that remembers what it promised.
#[async_trait]
pub trait ReplayGrants: Send + Sync {
    type Grant: Copy + Send + Sync;

    fn promises(&self) -> &GrantLog<Self::Grant>;

    fn master(&self) -> &RedisConnection;

    /// Repeats a batch of promises, at most 256. What is remembered stays as it is.
    async fn keep(&self, bucket: Bucket, grants: &[Self::Grant]) -> Result<Replayed, Unavailable>;
}

/// Watches the master and repeats promises that it may have forgotten. Runs until it is stopped.
pub async fn keep_promises<K: ReplayGrants>(backend: K, stop: CancellationToken) {
    let mut run_id = None;
    let mut tick = tokio::time::interval(EVERY);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    while stop.run_until_cancelled(tick.tick()).await.is_some() {
        if let Err(error) = keep_once(&backend, &mut run_id).await {
            warn!(%error, "cannot check whether the master remembers its promises");
        }
    }
}

/// One look. `run_id` is the server process that was seen last.
async fn keep_once<K: ReplayGrants>(backend: &K, run_id: &mut Option<String>) -> Result<(), Unavailable> {
    let lives = backend.promises().lives();
    if lives.is_empty() && run_id.is_some() {
        return Ok(());
    }
    let present = server_run_id(backend.master()).await?;
    let server = backend.promises().seen(run_id, present);
    let buckets: Vec<Bucket> = lives.iter().map(|(bucket, _)| *bucket).collect();
    let ask = |pipe: &mut Pipeline, bucket| {
        pipe.hget(keys::hash(bucket), "Epoch");
    };
    for ((bucket, life), answer) in lives.into_iter().zip(backend.master().each(&buckets, ask).await?) {
        let answer = answer?;
        let [epoch] = answer.as_slice() else { return Err(malformed("an epoch")) };
        // Not loaded: control is at it and the promises follow, or all is over and they lapse.
        let epoch: Option<i64> = from_redis_value_ref(epoch).map_err(|_| malformed("an epoch"))?;
        let Some(epoch) = epoch else { continue };
        let now = Life { epoch, server };
        if life != now {
            repeat(backend, bucket, life, now).await?;
        }
    }
    Ok(())
}

async fn repeat<K: ReplayGrants>(backend: &K, bucket: Bucket, from: Life, to: Life) -> Result<(), Unavailable> {
    let grants = backend.promises().grants(bucket, from);
    let mut again = 0;
    for batch in grants.chunks(BATCH) {
        match backend.keep(bucket, batch).await? {
            Replayed::Forgotten(count) => again += count,
            Replayed::NotLoaded => return Ok(()),
        }
    }
    backend.promises().moved(bucket, from, to);
    info!(%bucket, promises = grants.len(), forgotten = again, "repeated promises to a master that may have forgotten them");
    Ok(())
}

/// Of all servers of a cluster together: when one of them is another than before, all promises are repeated.
async fn server_run_id(master: &RedisConnection) -> Result<String, Unavailable> {
    let answer: Value = redis::cmd("INFO").arg("server").query_async(&mut master.clone()).await?;
    let mut ids = match answer {
        Value::Map(nodes) => nodes.iter().map(|(_, info)| run_id(info)).collect::<Result<Vec<_>, _>>()?,
        info => vec![run_id(&info)?],
    };
    ids.sort();
    Ok(ids.join(" "))
}

fn run_id(info: &Value) -> Result<String, Unavailable> {
    let info: String = from_redis_value_ref(info).map_err(|_| malformed("INFO"))?;
    let line = info.lines().find_map(|line| line.strip_prefix("run_id:"));
    line.map(|id| id.trim().to_owned()).ok_or_else(|| malformed("INFO"))
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::domain::claim::Claim;
    use crate::domain::{OrderId, SaleId, UserId};

    fn claim(n: u128) -> Claim {
        Claim { user_id: UserId(Uuid::from_u128(n)), order_id: OrderId(Uuid::from_u128(n)), quantity: 1 }
    }

    const fn life(epoch: i64, server: u64) -> Life {
        Life { epoch, server }
    }

    #[tokio::test(start_paused = true)]
    async fn promises_move_to_a_new_life_in_their_order_and_are_forgotten_in_time() {
        let promises = GrantLog::<Claim>::default();
        let sale = Bucket::whole(SaleId(7));
        promises.remember(sale, 1, vec![claim(1), claim(2)]);
        promises.remember(sale, 1, vec![]);
        tokio::time::advance(REMEMBERED_FOR / 2).await;
        promises.remember(sale, 2, vec![claim(3)]);
        assert_eq!(promises.lives(), [(sale, life(1, 0)), (sale, life(2, 0))]);
        promises.moved(sale, life(1, 0), life(2, 0));
        assert_eq!(promises.lives(), [(sale, life(2, 0))]);
        assert_eq!(promises.grants(sale, life(2, 0)), [claim(1), claim(2), claim(3)]);
        tokio::time::advance(REMEMBERED_FOR * 2 / 3).await;
        assert_eq!(promises.lives(), [(sale, life(2, 0))]);
        assert_eq!(promises.grants(sale, life(2, 0)), [claim(3)]);
        tokio::time::advance(REMEMBERED_FOR).await;
        assert_eq!(promises.lives(), []);
    }

    #[tokio::test(start_paused = true)]
    async fn of_more_than_are_kept_the_oldest_are_forgotten() {
        let promises = GrantLog::<()>::default();
        let sales = [1, 2, 3].map(|sale| Bucket::whole(SaleId(sale)));
        for sale in sales {
            promises.remember(sale, 1, vec![(); MOST / 2]);
            tokio::time::advance(Duration::from_secs(20)).await;
        }
        assert_eq!(promises.lives(), [(sales[1], life(1, 0)), (sales[2], life(1, 0))]);
        assert_eq!(promises.grants(sales[1], life(1, 0)).len(), MOST / 2);
        promises.remember(sales[2], 1, vec![(); 2 * MOST]);
        assert_eq!(promises.lives(), [(sales[2], life(1, 0))], "what was promised just now stays");
    }

    #[test]
    fn a_server_that_restarts_is_another_one() {
        let promises = GrantLog::<Claim>::default();
        let mut last = None;
        let numbers = ["a", "a", "b", "b", "a"].map(|run| promises.seen(&mut last, run.to_owned()));
        assert_eq!(numbers, [0, 0, 1, 1, 2]);
        promises.remember(Bucket::whole(SaleId(7)), 1, vec![claim(1)]);
        assert_eq!(promises.lives(), [(Bucket::whole(SaleId(7)), life(1, 2))]);
    }
}
