//! Micro-batches: one call to the keeper for everything that gathered while the previous one was under way.
//!
//! An idle shop answers at once, because a claim that finds its lane free is sent alone; a busy one grows its batches by
//! itself. Batches run in tasks of their own: a shopper who hangs up does not undo what was asked.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Instant;

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

struct Waiting {
    claim: Claim,
    /// Counted when it is decided, also if the shopper has hung up.
    tally: Option<Arc<Tally>>,
    since: Instant,
    answer: oneshot::Sender<Result<Decision, Unavailable>>,
}

impl Waiting {
    fn tell(self, decision: Result<Decision, Unavailable>) {
        if let Some(tally) = &self.tally {
            tally.decided(decision.as_ref().ok(), self.since.elapsed());
        }
        // The shopper may have hung up; the decision stands.
        let _ = self.answer.send(decision);
    }
}

#[derive(Default)]
struct Queue {
    waiting: Vec<Waiting>,
    /// Whether a task is working the lane off.
    busy: bool,
}

/// The claims on one bucket.
#[derive(Default)]
struct Lane {
    queue: Mutex<Queue>,
}

/// All lanes of this process; clones share them.
#[derive(Clone)]
pub struct Lanes {
    stock: Arc<dyn Stock>,
    lanes: Arc<RwLock<HashMap<Bucket, Arc<Lane>>>>,
    tasks: TaskTracker,
    metrics: Arc<Metrics>,
}

impl Lanes {
    pub fn new(stock: Arc<dyn Stock>, metrics: Arc<Metrics>) -> Lanes {
        Lanes { stock, lanes: Arc::default(), tasks: TaskTracker::new(), metrics }
    }

    /// Joins the bucket's lane and waits for the decision. Dropping the future does not take the claim back.
    pub async fn claim(&self, bucket: Bucket, claim: Claim, tally: Option<Arc<Tally>>) -> Result<Decision, NoDecision> {
        let since = Instant::now();
        let (answer, decided) = oneshot::channel();
        let bucket = self.stock.lane(bucket);
        let lane = self.lane(bucket);
        let start = {
            let mut queue = lane.queue.lock().unwrap_or_else(PoisonError::into_inner);
            if queue.waiting.len() >= WAITING {
                if let Some(tally) = tally {
                    tally.decided(None, since.elapsed());
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

    fn lane(&self, bucket: Bucket) -> Arc<Lane> {
        if let Some(lane) = self.lanes.read().unwrap_or_else(PoisonError::into_inner).get(&bucket) {
            return lane.clone();
        }
        self.lanes.write().unwrap_or_else(PoisonError::into_inner).entry(bucket).or_default().clone()
    }

    async fn work_off(self, bucket: Bucket, lane: Arc<Lane>) {
        loop {
            let batch: Vec<Waiting> = {
                let mut queue = lane.queue.lock().unwrap_or_else(PoisonError::into_inner);
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

    async fn decide(&self, bucket: Bucket, batch: Vec<Waiting>) {
        let claims: Vec<Claim> = batch.iter().map(|waiting| waiting.claim).collect();
        let started = Instant::now();
        let decisions = self.stock.reserve(bucket, &claims).await;
        self.metrics.batch(claims.len(), started.elapsed());
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
