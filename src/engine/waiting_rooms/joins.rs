//! Decides requests for places that arrive together in one call.

use std::time::Duration;

use async_trait::async_trait;

use super::gathering::{Gathered, Gathering};
use crate::batching::Unavailable;
use crate::batching::{Batch, BatchHandler, BatchKey};
use base::metrics::Metrics;
use domain::{Bucket, SaleId};
use store::{JoinOutcome, Joining, Store};

/// Calls that run side by side in this process.
const MAX_CALLS: usize = 2;

/// Takes places, a batch at a time: from Redis as long as it gives them, otherwise from the database.
pub(super) struct Joins {
    pub(super) store: Store,
    /// `None` if the database gives all places.
    pub(super) gathering: Option<Gathering>,
}

impl Joins {
    /// Whether Redis may have given places that the database does not have yet. Then the database gives none: the
    /// account could be told another entry than on another device.
    async fn may_be_gathered(&self, sale: SaleId) -> bool {
        let room = self.store.waiting_rooms().get(sale).await;
        room.is_ok_and(|room| room.is_some_and(|room| room.gathers && room.locked_at.is_none()))
    }
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
            None => batches.iter().map(|_| Ok(None)).collect(),
        };
        let mut answers = Vec::with_capacity(batches.len());
        for (Batch { bucket, claims }, gathered) in batches.iter().zip(gathered) {
            answers.push(match (gathered, bucket.waiting_room()) {
                (Ok(Some(gathered)), _) => Ok(gathered.into_iter().map(JoinDecision::Redis).collect()),
                (Err(error), Some(sale)) if self.may_be_gathered(sale).await => Err(error),
                (Ok(None) | Err(_), Some(sale)) => {
                    let outcomes =
                        self.store.waiting_rooms().join(sale, claims).await.map_err(|e| Unavailable(e.to_string()));
                    outcomes.map(|outcomes| outcomes.into_iter().map(JoinDecision::Database).collect())
                }
                (Ok(None) | Err(_), None) => Err(Unavailable(format!("{bucket} is no waiting room"))),
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
