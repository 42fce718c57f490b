//! Waiting rooms: the list of those who came in time is locked, segments of latecomers close one after the other, and as many of the
//! next in order are called as there are units.
//!
//! A step may be interrupted anywhere and made again: each part is one transaction that checks whether it is still due. Each
//! waiting room on its own: one that fails is tried again later and later, and delays no other.

use std::sync::Arc;

use tracing::info;

use crate::domain::{SaleId, Segment, draw, hex};
use crate::metrics::Metrics;
use crate::periodic::Backoff;
use crate::store::{Store, StoreError};

/// Transactions that call, of one step.
const MAX_CALLS: usize = 10;

pub struct Queues {
    store: Store,
    metrics: Arc<Metrics>,
    backoff: Backoff<SaleId>,
}

impl Queues {
    pub fn new(store: Store, metrics: Arc<Metrics>) -> Queues {
        Queues { store, metrics, backoff: Backoff::new("waiting room of a sale") }
    }

    /// Moves every waiting room on as far as it goes now.
    pub async fn step(&self) -> Result<(), StoreError> {
        for sale in self.store.running_queues().await? {
            if !self.backoff.is_waiting(&sale) {
                self.backoff.record(sale, self.advance(sale).await.map_err(|error| format!("{error:#}")));
            }
        }
        Ok(())
    }

    async fn advance(&self, sale: SaleId) -> anyhow::Result<()> {
        if self.store.lock_queue(sale).await?.is_none() {
            return Ok(());
        }
        for segment in self.store.segments_to_close(sale).await? {
            self.close(sale, segment).await?;
        }
        for _ in 0..MAX_CALLS {
            let called = self.store.call_next(sale).await?;
            self.metrics.queue_calls.inc_by(called as u64);
            if called == 0 {
                break;
            }
        }
        Ok(())
    }

    /// Closes a segment. It takes in no more places, so it is read without a lock.
    async fn close(&self, sale: SaleId, number: i64) -> anyhow::Result<()> {
        let entries = self.store.segment_entries(sale, number).await?;
        let (segment, root) = tokio::task::spawn_blocking(move || {
            let numbers: Vec<i64> = entries.iter().map(|(number, _)| *number).collect();
            let root = (number == 0).then(|| {
                let mut ids: Vec<_> = entries.iter().map(|(_, entry)| *entry).collect();
                ids.sort_unstable();
                hex::encode(&draw::root(&ids))
            });
            (Segment::closed(number, &numbers), root)
        })
        .await?;
        self.store.close_segment(sale, &segment, root.as_deref()).await?;
        if number == 0 {
            info!(%sale, places = segment.places, root, "the list of a waiting room is locked");
        }
        Ok(())
    }
}
