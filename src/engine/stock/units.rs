//! Adapts the stock backend to the batcher.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use super::Stock;
use crate::batching::Unavailable;
use crate::batching::{Batch, BatchHandler, BatchKey};
use base::counters::SaleCounters;
use base::metrics::Metrics;
use domain::Bucket;
use domain::claim::{Claim, Decision};

/// Passes batches on to the stock backend and counts the decisions.
pub struct Units(pub Arc<dyn Stock>);

#[async_trait]
impl BatchHandler for Units {
    type Claim = Claim;
    type Decision = Decision;
    type Counters = SaleCounters;

    async fn decide(&self, batches: &[Batch<Claim>]) -> Vec<Result<Vec<Decision>, Unavailable>> {
        self.0.reserve(batches).await
    }

    fn batch_key(&self, bucket: Bucket) -> BatchKey {
        self.0.batch_key(bucket)
    }

    fn count(metrics: &Metrics, counters: Option<&SaleCounters>, decision: Option<&Decision>, waited: Duration) {
        metrics.purchase_seconds.observe(waited);
        if let Some(counters) = counters {
            counters.record_decision(decision, waited);
        }
    }

    fn measure(metrics: &Metrics, claims: usize, took: Duration) {
        metrics.batch(claims, took);
    }
}
