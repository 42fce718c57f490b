//! Units of sales as the batcher handles them.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use super::Stock;
use crate::batching::{Batch, BatchHandler, BatchKey};
use crate::counters::SaleCounters;
use crate::domain::Bucket;
use crate::domain::claim::{Claim, Decision, Unavailable};
use crate::metrics::Metrics;

/// Units of sales, whoever keeps them.
pub struct Units(pub Arc<dyn Stock>);

#[async_trait]
impl BatchHandler for Units {
    type Claim = Claim;
    type Decision = Decision;
    type Counters = SaleCounters;

    async fn decide(&self, asked: &[Batch<Claim>]) -> Vec<Result<Vec<Decision>, Unavailable>> {
        self.0.reserve(asked).await
    }

    fn batch_key(&self, bucket: Bucket) -> BatchKey {
        self.0.batch_key(bucket)
    }

    fn count(metrics: &Metrics, counters: Option<&SaleCounters>, decision: Option<&Decision>, waited: Duration) {
        metrics.purchase_seconds.observe(waited);
        if let Some(counters) = counters {
            counters.decided(decision, waited);
        }
    }

    fn measure(metrics: &Metrics, claims: usize, took: Duration) {
        metrics.batch(claims, took);
    }
}
