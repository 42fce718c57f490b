//! Decides requests for places that arrive together in one call.

use std::time::Duration;

use async_trait::async_trait;

use super::gathering::{Gathered, Gathering};
use crate::batching::Unavailable;
use crate::batching::{Batch, BatchHandler, BatchKey};
use base::metrics::Metrics;
use domain::Bucket;
use store::{JoinOutcome, Joining, Store};

/// Calls that run side by side in this process.
const MAX_CALLS: usize = 2;

/// Takes places, a batch at a time: from Redis as long as it gives them, otherwise from the database.
pub(super) struct Joins {
    pub(super) store: Store,
    /// `None` if the database gives all places.
    pub(super) gathering: Option<Gathering>,
}

/// Who decided about a request, and how.
pub(super) enum JoinDecision {
    Redis(Gathered),
    Database(JoinOutcome),
}

#[async_trait]
impl BatchHandler for Joins {
    type Claim = Joining;
    type Decision = JoinDecision;
    type Counters = ();

    async fn decide(&self, batches: &[Batch<Joining>]) -> Vec<Result<Vec<JoinDecision>, Unavailable>> {
        let gathered = match &self.gathering {
            Some(gathering) => gathering.take(batches).await,
            None => vec![None; batches.len()],
        };
        let mut answers = Vec::with_capacity(batches.len());
        for (Batch { bucket, claims }, gathered) in batches.iter().zip(gathered) {
            answers.push(match (gathered, bucket.queue()) {
                (Some(gathered), _) => Ok(gathered.into_iter().map(JoinDecision::Redis).collect()),
                (None, Some(sale)) => {
                    let outcomes =
                        self.store.waiting_rooms().join(sale, claims).await.map_err(|e| Unavailable(e.to_string()));
                    outcomes.map(|outcomes| outcomes.into_iter().map(JoinDecision::Database).collect())
                }
                (None, None) => Err(Unavailable(format!("{bucket} is no waiting room"))),
            });
        }
        answers
    }

    fn batch_key(&self, bucket: Bucket) -> BatchKey {
        self.gathering.as_ref().map_or(BatchKey::Shared, |gathering| gathering.batch_key(bucket))
    }

    fn max_calls(&self) -> usize {
        // With two calls, one is written while the other waits for the disk. An SQLite file has one writer.
        if self.store.shares_clock() { 1 } else { MAX_CALLS }
    }

    fn count(_: &Metrics, _: Option<&()>, _: Option<&JoinDecision>, _: Duration) {}

    fn measure(_: &Metrics, _: usize, _: Duration) {}
}
