//! Micro-batches: one call to the backend decides all claims that arrived during the previous call.
//!
//! While the shop is idle, a claim finds no other pending claim and is sent alone, at once. Under load batches grow by
//! themselves. Where one server decides about many sales, claims on all of them share a call, and buckets take turns,
//! so that no sale starves the others. Batches run in tasks of their own: a client that disconnects does not revoke its
//! claim.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use foldhash::fast::RandomState;
use tokio::sync::oneshot;
use tokio_util::task::TaskTracker;
use tracing::warn;

use base::locked;
use base::metrics::Metrics;
use domain::Bucket;

/// The backend did not answer. The call may have taken effect; a repeated call returns its outcome.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the stock is not available: {0}")]
pub struct Unavailable(pub String);

/// What a backend answers, if it does.
pub type Reply<T> = Result<T, Unavailable>;

/// Buckets per call. Redis decides this many in less than a millisecond.
const MAX_BUCKETS_PER_CALL: usize = 64;
/// Pending claims per bucket. Further claims are refused at once: they would wait longer than shoppers do.
const MAX_PENDING_PER_BUCKET: usize = 8192;
/// Queues in memory before idle ones are dropped.
const MAX_QUEUES: usize = 10_000;

/// Why there is no decision.
#[derive(Debug, Clone, thiserror::Error)]
pub enum NoDecision {
    /// Too many claims are pending; this one was not made.
    #[error("the batch queue is full")]
    QueueFull,
    /// The claim may or may not have been granted. Repeating it returns the decision.
    #[error(transparent)]
    Unknown(#[from] Unavailable),
}

/// Claims on one bucket, to be decided in order.
#[derive(Debug, Clone)]
pub struct Batch<C> {
    pub bucket: Bucket,
    pub claims: Vec<C>,
}

/// Names a batch queue. Claims with the same key are batched together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum BatchKey {
    /// One batch queue for all buckets, because one server decides about all of them.
    Shared,
    /// A batch queue for this bucket alone.
    Bucket(Bucket),
}

/// Decides claims, a batch at a time.
#[async_trait]
pub trait BatchHandler: Send + Sync + 'static {
    type Claim: Copy + Send + Sync + 'static;
    type Decision: Send + 'static;
    /// Counts the decisions.
    type Counters: Send + Sync + 'static;

    /// Claims per call. Redis decides this many in less than a millisecond.
    const MAX_CLAIMS: usize = 256;

    /// Decides batches that have the same key. Returns a result per batch: one decision per claim, in their order.
    async fn decide(&self, batches: &[Batch<Self::Claim>]) -> Vec<Reply<Vec<Self::Decision>>>;

    /// The batch queue for claims on this bucket.
    fn batch_key(&self, bucket: Bucket) -> BatchKey;

    /// Calls of one batch queue that run side by side. With one, claims on a bucket are decided in the order in which
    /// they arrive.
    fn max_calls(&self) -> usize {
        1
    }

    /// Counts one claim, also after its client has disconnected. `decision` is `None` if the bucket was full or the
    /// outcome is unknown.
    fn count(_: &Metrics, _: Option<&Self::Counters>, _decision: Option<&Self::Decision>, _waited: Duration) {}

    /// Counts one call to the backend.
    fn measure(_: &Metrics, _claims: usize, _took: Duration) {}
}

struct PendingClaim<D: BatchHandler> {
    claim: D::Claim,
    counters: Option<Arc<D::Counters>>,
    since: Instant,
    answer: oneshot::Sender<Reply<D::Decision>>,
}

/// The pending claims of one call.
type PendingBatches<D> = Vec<(Bucket, VecDeque<PendingClaim<D>>)>;

/// The pending claims of one batch key.
struct Pending<D: BatchHandler> {
    by_bucket: HashMap<Bucket, VecDeque<PendingClaim<D>>, RandomState>,
    /// The buckets in the order in which they are served.
    turns: VecDeque<Bucket>,
    /// Number of pending claims in all buckets.
    len: usize,
    /// Tasks that are draining the batch queue.
    workers: usize,
}

impl<D: BatchHandler> Default for Pending<D> {
    fn default() -> Self {
        Pending { by_bucket: HashMap::default(), turns: VecDeque::new(), len: 0, workers: 0 }
    }
}

impl<D: BatchHandler> Pending<D> {
    /// Returns the claim when the bucket has too many already.
    fn push(&mut self, bucket: Bucket, pending: PendingClaim<D>) -> Result<(), PendingClaim<D>> {
        let of_bucket = self.by_bucket.entry(bucket).or_insert_with(|| {
            self.turns.push_back(bucket);
            VecDeque::new()
        });
        if of_bucket.len() >= MAX_PENDING_PER_BUCKET {
            return Err(pending);
        }
        of_bucket.push_back(pending);
        self.len += 1;
        Ok(())
    }

    /// Takes the claims of one call, bucket by bucket. A bucket with more claims than fit is served again after the others.
    fn take(&mut self) -> PendingBatches<D> {
        let mut batches = Vec::new();
        let mut room = D::MAX_CLAIMS;
        while room > 0 && batches.len() < MAX_BUCKETS_PER_CALL {
            let Some(bucket) = self.turns.pop_front() else { break };
            let Some(mut pending) = self.by_bucket.remove(&bucket) else { continue };
            if pending.len() > room {
                let taken = pending.drain(..room).collect();
                self.by_bucket.insert(bucket, std::mem::replace(&mut pending, taken));
                self.turns.push_back(bucket);
            }
            room -= pending.len();
            self.len -= pending.len();
            batches.push((bucket, pending));
        }
        batches
    }
}

/// The batch queue of one key.
type BatchQueue<D> = Mutex<Pending<D>>;

/// Yields while requests that have already arrived add their claims. A call costs many times as much as one more claim
/// in it. Never waits for requests that are yet to come.
async fn gather<D: BatchHandler>(queue: &BatchQueue<D>) {
    let mut seen = 0;
    while seen < D::MAX_CLAIMS {
        tokio::task::yield_now().await;
        let present = locked(queue).len;
        if present == seen {
            break;
        }
        seen = present;
    }
}

/// Batches the claims of this process on one backend. Clones share the queues.
pub struct Batcher<D: BatchHandler> {
    backend: Arc<D>,
    queues: Arc<RwLock<BTreeMap<BatchKey, Arc<BatchQueue<D>>>>>,
    tasks: TaskTracker,
    metrics: Arc<Metrics>,
}

impl<D: BatchHandler> Clone for Batcher<D> {
    fn clone(&self) -> Self {
        Batcher {
            backend: self.backend.clone(),
            queues: self.queues.clone(),
            tasks: self.tasks.clone(),
            metrics: self.metrics.clone(),
        }
    }
}

/// Drains one batch queue. If it panics, a new worker takes over, so that pending claims are still decided.
struct Worker<D: BatchHandler> {
    batcher: Batcher<D>,
    queue: Arc<BatchQueue<D>>,
}

impl<D: BatchHandler> Drop for Worker<D> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.batcher.tasks.spawn(self.batcher.clone().drain(self.queue.clone()));
        }
    }
}

impl<D: BatchHandler> Batcher<D> {
    pub fn new(backend: Arc<D>, metrics: Arc<Metrics>) -> Batcher<D> {
        Batcher { backend, queues: Arc::default(), tasks: TaskTracker::new(), metrics }
    }

    /// Adds a claim to its batch queue and waits for the decision. Dropping the future does not revoke the claim.
    pub async fn claim(
        &self,
        bucket: Bucket,
        claim: D::Claim,
        counters: Option<Arc<D::Counters>>,
    ) -> Result<D::Decision, NoDecision> {
        let (answer, decided) = oneshot::channel();
        let queue = self.queue(self.backend.batch_key(bucket));
        let start = {
            let mut pending = locked(&queue);
            if let Err(refused) = pending.push(bucket, PendingClaim { claim, counters, since: Instant::now(), answer })
            {
                drop(pending);
                D::count(&self.metrics, refused.counters.as_deref(), None, Duration::ZERO);
                return Err(NoDecision::QueueFull);
            }
            let start = pending.workers < self.backend.max_calls();
            pending.workers += usize::from(start);
            start
        };
        if start {
            self.tasks.spawn(self.clone().drain(queue));
        }
        Ok(decided.await.map_err(|_| Unavailable("the batch was abandoned".into()))??)
    }

    /// Waits until no batch is in flight.
    pub async fn finish(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }

    fn queue(&self, key: BatchKey) -> Arc<BatchQueue<D>> {
        if let Some(queue) = self.queues.read().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return queue.clone();
        }
        let mut queues = self.queues.write().unwrap_or_else(PoisonError::into_inner);
        if queues.len() >= MAX_QUEUES {
            // A caller that just got an idle batch queue may still use it. Then two batches of one key run side by
            // side.
            queues.retain(|_, queue| locked(queue).workers > 0);
        }
        queues.entry(key).or_default().clone()
    }

    async fn drain(self, queue: Arc<BatchQueue<D>>) {
        let worker = Worker { batcher: self, queue };
        loop {
            gather(&worker.queue).await;
            let batches = {
                let mut pending = locked(&worker.queue);
                if pending.len == 0 {
                    pending.workers -= 1;
                    return;
                }
                pending.take()
            };
            worker.batcher.decide(batches).await;
        }
    }

    async fn decide(&self, pending: PendingBatches<D>) {
        let batches = pending.iter().map(|(bucket, pending)| Batch {
            bucket: *bucket,
            claims: pending.iter().map(|pending| pending.claim).collect(),
        });
        let batches: Vec<Batch<D::Claim>> = batches.collect();
        let started = Instant::now();
        let answers = self.backend.decide(&batches).await;
        let now = Instant::now();
        D::measure(&self.metrics, batches.iter().map(|batch| batch.claims.len()).sum(), now - started);
        for ((bucket, pending), answer) in pending.into_iter().zip(answers) {
            match answer {
                Ok(decisions) => pending.into_iter().zip(decisions).for_each(|(p, d)| self.answer(p, Ok(d), now)),
                Err(error) => {
                    warn!(%bucket, claims = pending.len(), %error, "the outcome of a batch is unknown; clients retry");
                    pending.into_iter().for_each(|p| self.answer(p, Err(error.clone()), now));
                }
            }
        }
    }

    fn answer(&self, pending: PendingClaim<D>, decision: Reply<D::Decision>, now: Instant) {
        D::count(&self.metrics, pending.counters.as_deref(), decision.as_ref().ok(), now - pending.since);
        // The client may have disconnected; the decision stands.
        let _ = pending.answer.send(decision);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use tokio::sync::Semaphore;

    use super::*;
    use domain::SaleId;

    /// A claim that makes the backend panic.
    const POISON: usize = usize::MAX;

    /// Grants every claim. Each call waits for a permit.
    struct Recorder {
        batch_key: fn(Bucket) -> BatchKey,
        calls: Mutex<Vec<Vec<(i64, usize)>>>,
        permits: Semaphore,
        max_calls: usize,
    }

    #[async_trait]
    impl BatchHandler for Recorder {
        type Claim = usize;
        type Decision = usize;
        type Counters = ();

        async fn decide(&self, batches: &[Batch<usize>]) -> Vec<Reply<Vec<usize>>> {
            let call = batches.iter().map(|batch| (batch.bucket.sale().unwrap().0, batch.claims.len()));
            self.calls.lock().unwrap().push(call.collect());
            self.permits.acquire().await.unwrap().forget();
            assert!(!batches.iter().any(|batch| batch.claims.contains(&POISON)), "panics on purpose");
            batches.iter().map(|batch| Ok(batch.claims.clone())).collect()
        }

        fn batch_key(&self, bucket: Bucket) -> BatchKey {
            (self.batch_key)(bucket)
        }

        fn max_calls(&self) -> usize {
            self.max_calls
        }
    }

    fn batcher(batch_key: fn(Bucket) -> BatchKey, max_calls: usize) -> Batcher<Recorder> {
        let recorder = Recorder { batch_key, calls: Mutex::default(), permits: Semaphore::new(0), max_calls };
        Batcher::new(Arc::new(recorder), Arc::new(Metrics::default()))
    }

    /// Sale and number of claims in each call, when these numbers of claims on sales 1, 2, … arrive while a claim on sale 0 is
    /// being decided.
    async fn calls(batch_key: fn(Bucket) -> BatchKey, claims: &[usize]) -> Vec<Vec<(i64, usize)>> {
        let batcher = batcher(batch_key, 1);
        let bucket = |sale: usize| Bucket::whole(SaleId(sale as i64));
        let claim = |sale, n| {
            let batcher = batcher.clone();
            tokio::spawn(async move { batcher.claim(bucket(sale), n, None).await })
        };
        let mut answers = vec![(0, claim(0, 0))];
        while batcher.backend.calls.lock().unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
        for (sale, &count) in claims.iter().enumerate() {
            answers.extend((0..count).map(|n| (n, claim(sale + 1, n))));
        }
        tokio::task::yield_now().await;
        batcher.backend.permits.add_permits(100);
        for (n, answer) in answers {
            assert_eq!(answer.await.unwrap().unwrap(), n, "every caller gets the decision about its own claim");
        }
        batcher.finish().await;
        std::mem::take(&mut *batcher.backend.calls.lock().unwrap())
    }

    #[tokio::test]
    async fn claims_on_many_sales_share_a_call_where_one_server_decides_them() {
        let together = calls(|_| BatchKey::Shared, &[2, 1, 3]).await;
        assert_eq!(together, [vec![(0, 1)], vec![(1, 2), (2, 1), (3, 3)]]);
        let mut apart = calls(BatchKey::Bucket, &[2, 1, 3]).await;
        apart.sort();
        assert_eq!(apart, [[(0, 1)], [(1, 2)], [(2, 1)], [(3, 3)]]);
    }

    #[tokio::test]
    async fn busy_sale_does_not_delay_the_others() {
        let calls = calls(|_| BatchKey::Shared, &[Recorder::MAX_CLAIMS * 2 + 1, 1]).await;
        assert_eq!(
            calls[1..],
            [vec![(1, Recorder::MAX_CLAIMS)], vec![(2, 1), (1, Recorder::MAX_CLAIMS - 1)], vec![(1, 2)]]
        );
    }

    #[tokio::test]
    async fn buckets_per_call_are_bounded() {
        let calls = calls(|_| BatchKey::Shared, &[1; MAX_BUCKETS_PER_CALL + 3]).await;
        assert_eq!(calls.iter().map(Vec::len).collect::<Vec<_>>(), [1, MAX_BUCKETS_PER_CALL, 3]);
    }

    #[tokio::test]
    async fn full_queue_of_one_sale_refuses_only_its_own_claims() {
        let batcher = batcher(|_| BatchKey::Shared, 1);
        let claim = |sale| batcher.claim(Bucket::whole(SaleId(sale)), 0, None);
        let mut waiting: Vec<_> = (0..MAX_PENDING_PER_BUCKET).map(|_| Box::pin(claim(1))).collect();
        for claim in &mut waiting {
            assert!(futures::poll!(claim).is_pending());
        }
        assert!(matches!(claim(1).await, Err(NoDecision::QueueFull)));
        assert!(futures::poll!(std::pin::pin!(claim(2))).is_pending());
    }

    #[tokio::test]
    async fn queue_survives_a_panic() {
        let batcher = batcher(|_| BatchKey::Shared, 1);
        batcher.backend.permits.add_permits(2);
        let claim = |n| batcher.claim(Bucket::whole(SaleId(1)), n, None);
        assert!(matches!(claim(POISON).await, Err(NoDecision::Unknown(_))));
        assert_eq!(claim(1).await.unwrap(), 1);
    }

    #[tokio::test]
    async fn calls_of_one_queue_run_side_by_side_up_to_their_limit() {
        let batcher = batcher(|_| BatchKey::Shared, 2);
        let mut answers = Vec::new();
        for n in 0..5 {
            let one = batcher.clone();
            answers.push(tokio::spawn(async move { one.claim(Bucket::whole(SaleId(1)), n, None).await }));
            // Yields often enough for a call to begin.
            for _ in 0..10 {
                tokio::task::yield_now().await;
            }
        }
        let calls =
            || batcher.backend.calls.lock().unwrap().iter().flatten().map(|(_, claims)| *claims).collect::<Vec<_>>();
        assert_eq!(calls(), [1, 1], "the third claim waits");
        batcher.backend.permits.add_permits(100);
        for (n, answer) in answers.into_iter().enumerate() {
            assert_eq!(answer.await.unwrap().unwrap(), n);
        }
        assert_eq!(calls(), [1, 1, 3]);
    }
}
