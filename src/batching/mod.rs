//! Micro-batches: one call to the backend for everything that gathered while the previous one was under way.
//!
//! An idle shop answers at once, because a claim that finds its batch_key free is sent alone; a busy one grows its batches by
//! itself. Claims on many sales that one server decides go in one call, too, and none of them can crowd out the others.
//! Batches run in tasks of their own: a shopper who hangs up does not undo what was asked.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use foldhash::fast::RandomState;
use tokio::sync::oneshot;
use tokio_util::task::TaskTracker;
use tracing::warn;

use crate::domain::Bucket;
use crate::domain::claim::Unavailable;
use crate::metrics::Metrics;

/// Claims of one call. Redis is busy for less than a millisecond with as many.
const BATCH: usize = 256;
/// Buckets of one call, for the same reason.
const BUCKETS: usize = 64;
/// Claims that may wait for one bucket. More would wait longer than people do: better refused at once.
const WAITING: usize = 8192;
/// Batcher that are kept although nobody waits in them.
const LANES: usize = 10_000;

/// Why there is no decision.
#[derive(Debug, Clone, thiserror::Error)]
pub enum NoDecision {
    /// Too many wait already; this claim was not made.
    #[error("too many are waiting")]
    Crowded,
    /// The claim may or may not have been granted. Asking again finds out.
    #[error(transparent)]
    Unknown(#[from] Unavailable),
}

/// Claims on one bucket, to be decided in their order.
#[derive(Debug, Clone)]
pub struct Batch<C> {
    pub bucket: Bucket,
    pub claims: Vec<C>,
}

/// Whose claims are gathered with each other's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum BatchKey {
    /// Everybody's: one server decides about all buckets.
    Shared,
    /// Those on one bucket.
    Of(Bucket),
}

/// Whoever decides about claims, a batch at a time.
#[async_trait]
pub trait BatchHandler: Send + Sync + 'static {
    type Claim: Copy + Send + Sync + 'static;
    type Decision: Send + 'static;
    /// Where each decision is counted.
    type Counters: Send + Sync + 'static;

    /// BatchHandler claims on several buckets of one batch_key. An answer for each bucket: one decision per claim, in their order.
    async fn decide(&self, asked: &[Batch<Self::Claim>]) -> Vec<Result<Vec<Self::Decision>, Unavailable>>;

    /// Whose claims are gathered with those of this bucket.
    fn batch_key(&self, bucket: Bucket) -> BatchKey;

    /// Counts one decision, also if the shopper has hung up; `None` when there is none.
    fn count(metrics: &Metrics, counters: Option<&Self::Counters>, decision: Option<&Self::Decision>, waited: Duration);

    /// Counts a call.
    fn measure(metrics: &Metrics, claims: usize, took: Duration);
}

struct Waiting<D: BatchHandler> {
    claim: D::Claim,
    counters: Option<Arc<D::Counters>>,
    since: Instant,
    answer: oneshot::Sender<Result<D::Decision, Unavailable>>,
}

/// Those who wait in a batch_key.
struct Queue<D: BatchHandler> {
    by_bucket: HashMap<Bucket, VecDeque<Waiting<D>>, RandomState>,
    /// The buckets in the order in which they are served.
    turns: VecDeque<Bucket>,
    /// How many wait in all.
    len: usize,
    /// Whether a task is working the batch_key off.
    busy: bool,
}

impl<D: BatchHandler> Default for Queue<D> {
    fn default() -> Self {
        Queue { by_bucket: HashMap::default(), turns: VecDeque::new(), len: 0, busy: false }
    }
}

/// Claims of one call, with those who wait for them.
type Gathered<D> = Vec<(Bucket, VecDeque<Waiting<D>>)>;

impl<D: BatchHandler> Queue<D> {
    /// The claim comes back when too many wait for the bucket already.
    fn push(&mut self, bucket: Bucket, waiting: Waiting<D>) -> Result<(), Waiting<D>> {
        let of_bucket = self.by_bucket.entry(bucket).or_insert_with(|| {
            self.turns.push_back(bucket);
            VecDeque::new()
        });
        if of_bucket.len() >= WAITING {
            return Err(waiting);
        }
        of_bucket.push_back(waiting);
        self.len += 1;
        Ok(())
    }

    /// What fits into one call, of each bucket in turn. Where more wait than fit, the bucket comes again after the others.
    fn take(&mut self) -> Gathered<D> {
        let mut batch = Vec::new();
        let mut room = BATCH;
        while room > 0 && batch.len() < BUCKETS {
            let Some(bucket) = self.turns.pop_front() else { break };
            let Some(mut waiting) = self.by_bucket.remove(&bucket) else { continue };
            if waiting.len() > room {
                let taken = waiting.drain(..room).collect();
                self.by_bucket.insert(bucket, std::mem::replace(&mut waiting, taken));
                self.turns.push_back(bucket);
            }
            room -= waiting.len();
            self.len -= waiting.len();
            batch.push((bucket, waiting));
        }
        batch
    }
}

/// A batch_key's queue, which everybody may join.
struct Gathering<D: BatchHandler>(Mutex<Queue<D>>);

impl<D: BatchHandler> Default for Gathering<D> {
    fn default() -> Self {
        Gathering(Mutex::default())
    }
}

impl<D: BatchHandler> Gathering<D> {
    fn queue(&self) -> MutexGuard<'_, Queue<D>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets everybody come along whose request has arrived already: a call costs many times as much as one more claim in
    /// it. Nobody is waited for.
    async fn gather(&self) {
        let mut waiting = 0;
        while waiting < BATCH {
            tokio::task::yield_now().await;
            let present = self.queue().len;
            if present == waiting {
                break;
            }
            waiting = present;
        }
    }
}

/// All batcher of this process to one backend; clones share them.
pub struct Batcher<D: BatchHandler> {
    backend: Arc<D>,
    batcher: Arc<RwLock<BTreeMap<BatchKey, Arc<Gathering<D>>>>>,
    tasks: TaskTracker,
    metrics: Arc<Metrics>,
}

impl<D: BatchHandler> Clone for Batcher<D> {
    fn clone(&self) -> Self {
        Batcher {
            backend: self.backend.clone(),
            batcher: self.batcher.clone(),
            tasks: self.tasks.clone(),
            metrics: self.metrics.clone(),
        }
    }
}

/// Whoever works a batch_key off. After a panic another one goes on: those who wait are not left alone.
struct Worker<D: BatchHandler> {
    batcher: Batcher<D>,
    batch_key: Arc<Gathering<D>>,
}

impl<D: BatchHandler> Drop for Worker<D> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.batcher.tasks.spawn(self.batcher.clone().work_off(self.batch_key.clone()));
        }
    }
}

impl<D: BatchHandler> Batcher<D> {
    pub fn new(backend: Arc<D>, metrics: Arc<Metrics>) -> Batcher<D> {
        Batcher { backend, batcher: Arc::default(), tasks: TaskTracker::new(), metrics }
    }

    /// Joins the bucket's batch_key and waits for the decision. Dropping the future does not take the claim back.
    pub async fn claim(
        &self,
        bucket: Bucket,
        claim: D::Claim,
        counters: Option<Arc<D::Counters>>,
    ) -> Result<D::Decision, NoDecision> {
        let (answer, decided) = oneshot::channel();
        let batch_key = self.batch_key(self.backend.batch_key(bucket));
        let start = {
            let mut queue = batch_key.queue();
            if let Err(refused) = queue.push(bucket, Waiting { claim, counters, since: Instant::now(), answer }) {
                drop(queue);
                D::count(&self.metrics, refused.counters.as_deref(), None, Duration::ZERO);
                return Err(NoDecision::Crowded);
            }
            !std::mem::replace(&mut queue.busy, true)
        };
        if start {
            self.tasks.spawn(self.clone().work_off(batch_key));
        }
        Ok(decided.await.map_err(|_| Unavailable("the batch was abandoned".into()))??)
    }

    /// Waits until no batch is under way any more.
    pub async fn finish(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }

    fn batch_key(&self, batch_key: BatchKey) -> Arc<Gathering<D>> {
        if let Some(gathering) = self.batcher.read().unwrap_or_else(PoisonError::into_inner).get(&batch_key) {
            return gathering.clone();
        }
        let mut batcher = self.batcher.write().unwrap_or_else(PoisonError::into_inner);
        if batcher.len() >= LANES {
            // Whoever has an idle one in hand at this moment sends a batch beside that of the new one, at worst.
            batcher.retain(|_, gathering| gathering.queue().busy);
        }
        batcher.entry(batch_key).or_default().clone()
    }

    async fn work_off(self, batch_key: Arc<Gathering<D>>) {
        let worker = Worker { batcher: self, batch_key };
        loop {
            worker.batch_key.gather().await;
            let batch = {
                let mut queue = worker.batch_key.queue();
                if queue.len == 0 {
                    queue.busy = false;
                    return;
                }
                queue.take()
            };
            worker.batcher.decide(batch).await;
        }
    }

    async fn decide(&self, batch: Gathered<D>) {
        let of_bucket = |(bucket, waiting): &(Bucket, VecDeque<Waiting<D>>)| Batch {
            bucket: *bucket,
            claims: waiting.iter().map(|waiting| waiting.claim).collect(),
        };
        let asked: Vec<Batch<D::Claim>> = batch.iter().map(of_bucket).collect();
        let started = Instant::now();
        let answers = self.backend.decide(&asked).await;
        let now = Instant::now();
        D::measure(&self.metrics, asked.iter().map(|asked| asked.claims.len()).sum(), now - started);
        let tell = |waiting: Waiting<D>, decision: Result<D::Decision, Unavailable>| {
            D::count(&self.metrics, waiting.counters.as_deref(), decision.as_ref().ok(), now - waiting.since);
            // The shopper may have hung up; the decision stands.
            let _ = waiting.answer.send(decision);
        };
        for ((bucket, waiting), answer) in batch.into_iter().zip(answers) {
            match answer {
                Ok(decisions) => waiting.into_iter().zip(decisions).for_each(|(waiting, d)| tell(waiting, Ok(d))),
                Err(error) => {
                    warn!(%bucket, claims = waiting.len(), %error, "nobody knows what became of a batch");
                    waiting.into_iter().for_each(|waiting| tell(waiting, Err(error.clone())));
                }
            }
        }
    }
}
