//! Micro-batches: one call to the keeper for everything that gathered while the previous one was under way.
//!
//! An idle shop answers at once, because a claim that finds its lane free is sent alone; a busy one grows its batches by
//! itself. Batches run in tasks of their own: a shopper who hangs up does not undo what was asked.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use tokio::sync::oneshot;
use tokio_util::task::TaskTracker;
use tracing::warn;

use super::{Bucket, Claim, Decision, Stock, Unavailable};
use crate::metrics::Metrics;
use crate::tally::Tally;

/// Claims of one call. Redis is busy for less than a millisecond with as many.
const BATCH: usize = 256;
/// Claims that may wait in one lane. More would wait longer than people do: better refused at once.
const WAITING: usize = 8192;
/// Lanes that are kept although nobody waits in them.
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

/// Whoever decides about claims, a batch at a time.
#[async_trait]
pub trait Decides: Send + Sync + 'static {
    type Claim: Copy + Send + Sync + 'static;
    type Decision: Send + 'static;
    /// Where each decision is counted.
    type Tally: Send + Sync + 'static;

    /// One decision per claim, in their order.
    async fn decide(&self, bucket: Bucket, batch: &[Self::Claim]) -> Result<Vec<Self::Decision>, Unavailable>;

    /// The bucket whose claims are gathered with those of this one: itself, where buckets are decided apart.
    fn lane(&self, bucket: Bucket) -> Bucket {
        bucket
    }

    /// Counts one decision; `None` when there is none.
    fn count(tally: &Self::Tally, decision: Option<&Self::Decision>, waited: Duration);

    /// Counts a call.
    fn measure(metrics: &Metrics, claims: usize, took: Duration);
}

/// Units of sales, whoever keeps them.
pub struct Units(pub Arc<dyn Stock>);

#[async_trait]
impl Decides for Units {
    type Claim = Claim;
    type Decision = Decision;
    type Tally = Tally;

    async fn decide(&self, bucket: Bucket, batch: &[Claim]) -> Result<Vec<Decision>, Unavailable> {
        self.0.reserve(bucket, batch).await
    }

    fn lane(&self, bucket: Bucket) -> Bucket {
        self.0.lane(bucket)
    }

    fn count(tally: &Tally, decision: Option<&Decision>, waited: Duration) {
        tally.decided(decision, waited);
    }

    fn measure(metrics: &Metrics, claims: usize, took: Duration) {
        metrics.batch(claims, took);
    }
}

struct Waiting<D: Decides> {
    claim: D::Claim,
    /// Counted when it is decided, also if the shopper has hung up.
    tally: Option<Arc<D::Tally>>,
    since: Instant,
    answer: oneshot::Sender<Result<D::Decision, Unavailable>>,
}

impl<D: Decides> Waiting<D> {
    fn tell(self, decision: Result<D::Decision, Unavailable>) {
        if let Some(tally) = &self.tally {
            D::count(tally, decision.as_ref().ok(), self.since.elapsed());
        }
        // The shopper may have hung up; the decision stands.
        let _ = self.answer.send(decision);
    }
}

struct Queue<D: Decides> {
    waiting: Vec<Waiting<D>>,
    /// Whether a task is working the lane off.
    busy: bool,
}

/// The claims on one bucket.
struct Lane<D: Decides> {
    queue: Mutex<Queue<D>>,
}

impl<D: Decides> Default for Lane<D> {
    fn default() -> Self {
        Lane { queue: Mutex::new(Queue { waiting: Vec::new(), busy: false }) }
    }
}

impl<D: Decides> Lane<D> {
    fn queue(&self) -> MutexGuard<'_, Queue<D>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets everybody come along whose request has arrived already: a call costs many times as much as one more claim in
    /// it. Nobody is waited for.
    async fn gather(&self) {
        let mut waiting = 0;
        while waiting < BATCH {
            tokio::task::yield_now().await;
            let present = self.queue().waiting.len();
            if present == waiting {
                break;
            }
            waiting = present;
        }
    }
}

/// All lanes of this process to one keeper; clones share them.
pub struct Lanes<D: Decides> {
    keeper: Arc<D>,
    lanes: Arc<RwLock<BTreeMap<Bucket, Arc<Lane<D>>>>>,
    tasks: TaskTracker,
    metrics: Arc<Metrics>,
}

impl<D: Decides> Clone for Lanes<D> {
    fn clone(&self) -> Self {
        Lanes {
            keeper: self.keeper.clone(),
            lanes: self.lanes.clone(),
            tasks: self.tasks.clone(),
            metrics: self.metrics.clone(),
        }
    }
}

impl<D: Decides> Lanes<D> {
    pub fn new(keeper: Arc<D>, metrics: Arc<Metrics>) -> Lanes<D> {
        Lanes { keeper, lanes: Arc::default(), tasks: TaskTracker::new(), metrics }
    }

    /// Joins the bucket's lane and waits for the decision. Dropping the future does not take the claim back.
    pub async fn claim(
        &self,
        bucket: Bucket,
        claim: D::Claim,
        tally: Option<Arc<D::Tally>>,
    ) -> Result<D::Decision, NoDecision> {
        let since = Instant::now();
        let (answer, decided) = oneshot::channel();
        let bucket = self.keeper.lane(bucket);
        let lane = self.lane(bucket);
        let start = {
            let mut queue = lane.queue();
            if queue.waiting.len() >= WAITING {
                if let Some(tally) = tally {
                    D::count(&tally, None, since.elapsed());
                }
                return Err(NoDecision::Crowded);
            }
            queue.waiting.push(Waiting { claim, tally, since, answer });
            !std::mem::replace(&mut queue.busy, true)
        };
        if start {
            self.tasks.spawn(self.clone().work_off(bucket, lane));
        }
        Ok(decided.await.map_err(|_| Unavailable("the batch was abandoned".into()))??)
    }

    /// Waits until no batch is under way any more.
    pub async fn finish(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }

    fn lane(&self, bucket: Bucket) -> Arc<Lane<D>> {
        if let Some(lane) = self.lanes.read().unwrap_or_else(PoisonError::into_inner).get(&bucket) {
            return lane.clone();
        }
        let mut lanes = self.lanes.write().unwrap_or_else(PoisonError::into_inner);
        if lanes.len() >= LANES {
            // Whoever has an idle one in hand at this moment sends a batch beside that of the new one, at worst.
            lanes.retain(|_, lane| lane.queue().busy);
        }
        lanes.entry(bucket).or_default().clone()
    }

    async fn work_off(self, bucket: Bucket, lane: Arc<Lane<D>>) {
        loop {
            lane.gather().await;
            let batch: Vec<Waiting<D>> = {
                let mut queue = lane.queue();
                if queue.waiting.is_empty() {
                    queue.busy = false;
                    return;
                }
                let size = queue.waiting.len().min(BATCH);
                queue.waiting.drain(..size).collect()
            };
            self.decide(bucket, batch).await;
        }
    }

    async fn decide(&self, bucket: Bucket, batch: Vec<Waiting<D>>) {
        let claims: Vec<D::Claim> = batch.iter().map(|waiting| waiting.claim).collect();
        let started = Instant::now();
        let decisions = self.keeper.decide(bucket, &claims).await;
        D::measure(&self.metrics, claims.len(), started.elapsed());
        match decisions {
            Ok(decisions) => {
                for (waiting, decision) in batch.into_iter().zip(decisions) {
                    waiting.tell(Ok(decision));
                }
            }
            Err(error) => {
                warn!(%bucket, claims = claims.len(), %error, "nobody knows what became of a batch");
                for waiting in batch {
                    waiting.tell(Err(error.clone()));
                }
            }
        }
    }
}
