//! Remembers recent grants and replays them to a master that forgot them.
//!
//! A 202 is a promise to the client. A master that restarts without its last writes, or without any data, has forgotten
//! it. The log then sends the same grants again. The script finds those that survived and changes nothing for them; the
//! others it grants again and appends to the outbox.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use redis::Value;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::info;

use super::keys;
use crate::domain::Bucket;
use crate::domain::claim::Unavailable;
use crate::periodic::Periodic;
use crate::redis::connection::RedisConnection;
use crate::redis::{malformed, parse};

/// How long a grant is remembered: longer than the writes that a master with an append-only file, fsynced every second, can
/// lose, and longer than the relay usually needs to publish an order.
const RETENTION: Duration = Duration::from_secs(120);
/// Bounds the memory of the log: about 100 MB when each grant was a batch of its own. The oldest grants are dropped first.
const MAX_GRANTS: usize = 1_000_000;
/// How often the master's run id and epochs are checked.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);
/// Grants per call.
const MAX_BATCH: usize = 256;

/// One incarnation of a bucket's keys: the epoch in which they were loaded and the server process that holds them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Generation {
    epoch: i64,
    /// Number of server changes that were seen before.
    server: u64,
}

/// The grants of one batch.
struct Batch<G> {
    at: Instant,
    grants: Vec<G>,
}

/// The remembered grants.
struct Recent<G> {
    /// By bucket and the generation that has them, oldest first.
    by_generation: BTreeMap<(Bucket, Generation), VecDeque<Batch<G>>>,
    /// Number of grants in all batches.
    grants: usize,
}

/// The grants that this process has recently reported to clients.
pub struct GrantLog<G> {
    recent: Mutex<Recent<G>>,
    /// Counts server changes. A grant that is recorded before a change is noticed gets the old number, and is replayed
    /// once more than needed, which changes nothing.
    server: AtomicU64,
}

impl<G> Default for GrantLog<G> {
    fn default() -> Self {
        GrantLog { recent: Mutex::new(Recent { by_generation: BTreeMap::new(), grants: 0 }), server: AtomicU64::new(0) }
    }
}

impl<G> Recent<G> {
    /// Drops older batches. Examines nothing else, because claims wait for the lock meanwhile.
    fn forget(&mut self, retention: Duration) {
        let now = Instant::now();
        for batches in self.by_generation.values_mut() {
            while let Some(old) = batches.pop_front_if(|batch| now - batch.at > retention) {
                self.grants -= old.grants.len();
            }
        }
        self.by_generation.retain(|_, batches| !batches.is_empty());
    }
}

impl<G: Copy> GrantLog<G> {
    pub(crate) fn remember(&self, bucket: Bucket, epoch: i64, grants: Vec<G>) {
        if !grants.is_empty() {
            let batch = Batch { at: Instant::now(), grants };
            let generation = Generation { epoch, server: self.server.load(Ordering::Relaxed) };
            let mut recent = self.lock();
            recent.grants += batch.grants.len();
            recent.by_generation.entry((bucket, generation)).or_default().push_back(batch);
        }
    }

    /// Drops what is too old or too much, and returns the buckets and generations with remembered grants.
    fn generations(&self) -> Vec<(Bucket, Generation)> {
        let mut recent = self.lock();
        let mut retention = RETENTION;
        recent.forget(retention);
        while recent.grants > MAX_GRANTS && !retention.is_zero() {
            retention = retention * 9 / 10;
            recent.forget(retention);
        }
        recent.by_generation.keys().copied().collect()
    }

    fn grants(&self, bucket: Bucket, generation: Generation) -> Vec<G> {
        let recent = self.lock();
        let batches = recent.by_generation.get(&(bucket, generation));
        batches.into_iter().flatten().flat_map(|batch| &batch.grants).copied().collect()
    }

    /// Records that the generation `to` now has the grants of `from`. They go before the grants that `to` has made since.
    fn reassign(&self, bucket: Bucket, from: Generation, to: Generation) {
        let mut recent = self.lock();
        if from != to
            && let Some(mut older) = recent.by_generation.remove(&(bucket, from))
        {
            let newer = recent.by_generation.entry((bucket, to)).or_default();
            older.append(newer);
            *newer = older;
        }
    }

    /// Returns the number of the server process that answers with `present`, and counts a change.
    fn server_number(&self, last: &mut Option<String>, present: String) -> u64 {
        let changed = last.as_ref().is_some_and(|last| *last != present);
        *last = Some(present);
        self.server.fetch_add(changed.into(), Ordering::Relaxed) + u64::from(changed)
    }

    fn lock(&self) -> MutexGuard<'_, Recent<G>> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The outcome of replaying grants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replayed {
    /// The number of grants that the master had forgotten.
    Forgotten(usize),
    /// The bucket is not loaded at present.
    NotLoaded,
}

/// A backend on a Redis master whose grants can be replayed.
#[async_trait]
pub trait ReplayGrants: Send + Sync {
    type Grant: Copy + Send + Sync;

    fn grant_log(&self) -> &GrantLog<Self::Grant>;

    fn master(&self) -> &RedisConnection;

    /// Replays a batch of at most 256 grants. Grants that the master remembers stay as they are.
    async fn replay(&self, bucket: Bucket, grants: &[Self::Grant]) -> Result<Replayed, Unavailable>;
}

/// Watches the master and replays grants that it may have forgotten, until `stop` is cancelled.
pub async fn replay_grants<B: ReplayGrants>(backend: B, stop: CancellationToken) {
    let mut run_id = None;
    let mut periodic = Periodic::new("grant replay", CHECK_INTERVAL, &stop);
    while periodic.tick().await {
        periodic.record(replay_if_forgotten(&backend, &mut run_id).await);
    }
}

/// One check. `run_id` is that of the server process seen last.
async fn replay_if_forgotten<B: ReplayGrants>(backend: &B, run_id: &mut Option<String>) -> Result<(), Unavailable> {
    let generations = backend.grant_log().generations();
    if generations.is_empty() && run_id.is_some() {
        return Ok(());
    }
    let present = server_run_id(backend.master()).await?;
    let server = backend.grant_log().server_number(run_id, present);
    let buckets: Vec<Bucket> = generations.iter().map(|(bucket, _)| *bucket).collect();
    let answers = backend.master().each(&buckets, |pipe, bucket| pipe.hget(keys::hash(bucket), "Epoch")).await?;
    for ((bucket, generation), answer) in generations.into_iter().zip(answers) {
        let answer = answer?;
        let [epoch] = answer.as_slice() else { return Err(malformed("an epoch")) };
        // Not loaded: either data control is loading the bucket and a later check replays, or the sale is over and the
        // grants expire.
        let Some(epoch) = parse(epoch, "an epoch")? else { continue };
        let now = Generation { epoch, server };
        if generation != now {
            replay_bucket(backend, bucket, generation, now).await?;
        }
    }
    Ok(())
}

async fn replay_bucket<B: ReplayGrants>(
    backend: &B,
    bucket: Bucket,
    from: Generation,
    to: Generation,
) -> Result<(), Unavailable> {
    let grants = backend.grant_log().grants(bucket, from);
    let mut forgotten = 0;
    for batch in grants.chunks(MAX_BATCH) {
        match backend.replay(bucket, batch).await? {
            Replayed::Forgotten(count) => forgotten += count,
            Replayed::NotLoaded => return Ok(()),
        }
    }
    backend.grant_log().reassign(bucket, from, to);
    info!(%bucket, grants = grants.len(), forgotten, "replayed grants to a master that may have forgotten them");
    Ok(())
}

/// The run ids of all servers of a cluster together: when one of them changes, all grants are replayed.
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
    let info: String = parse(info, "INFO")?;
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

    const fn generation(epoch: i64, server: u64) -> Generation {
        Generation { epoch, server }
    }

    #[tokio::test(start_paused = true)]
    async fn grants_move_to_a_new_generation_in_order_and_expire() {
        let log = GrantLog::<Claim>::default();
        let sale = Bucket::whole(SaleId(7));
        log.remember(sale, 1, vec![claim(1), claim(2)]);
        log.remember(sale, 1, vec![]);
        tokio::time::advance(RETENTION / 2).await;
        log.remember(sale, 2, vec![claim(3)]);
        assert_eq!(log.generations(), [(sale, generation(1, 0)), (sale, generation(2, 0))]);
        log.reassign(sale, generation(1, 0), generation(2, 0));
        assert_eq!(log.generations(), [(sale, generation(2, 0))]);
        assert_eq!(log.grants(sale, generation(2, 0)), [claim(1), claim(2), claim(3)]);
        tokio::time::advance(RETENTION * 2 / 3).await;
        assert_eq!(log.generations(), [(sale, generation(2, 0))]);
        assert_eq!(log.grants(sale, generation(2, 0)), [claim(3)]);
        tokio::time::advance(RETENTION).await;
        assert_eq!(log.generations(), []);
    }

    #[tokio::test(start_paused = true)]
    async fn oldest_grants_are_dropped_beyond_the_maximum() {
        let log = GrantLog::<()>::default();
        let sales = [1, 2, 3].map(|sale| Bucket::whole(SaleId(sale)));
        for sale in sales {
            log.remember(sale, 1, vec![(); MAX_GRANTS / 2]);
            tokio::time::advance(Duration::from_secs(20)).await;
        }
        assert_eq!(log.generations(), [(sales[1], generation(1, 0)), (sales[2], generation(1, 0))]);
        assert_eq!(log.grants(sales[1], generation(1, 0)).len(), MAX_GRANTS / 2);
        log.remember(sales[2], 1, vec![(); 2 * MAX_GRANTS]);
        assert_eq!(log.generations(), [(sales[2], generation(1, 0))], "the newest grants stay");
    }

    #[test]
    fn restarted_server_starts_a_new_generation() {
        let log = GrantLog::<Claim>::default();
        let mut last = None;
        let numbers = ["a", "a", "b", "b", "a"].map(|run| log.server_number(&mut last, run.to_owned()));
        assert_eq!(numbers, [0, 0, 1, 1, 2]);
        log.remember(Bucket::whole(SaleId(7)), 1, vec![claim(1)]);
        assert_eq!(log.generations(), [(Bucket::whole(SaleId(7)), generation(1, 2))]);
    }
}
