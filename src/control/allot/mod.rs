//! Allotment (小量多次): hands out the units of split sales to their buckets in small lots, and takes idle units back for
//! buckets that turned shoppers away.
//!
//! The pool is in the database. The share of a bucket in Redis never exceeds its allotment in the database:
//!
//! * To give units, one transaction raises the allotment and the fence; then the script sets the bucket's share.
//! * To take units, one transaction lowers the target and raises the fence; the script lowers the share, but not below
//!   the held units, and returns the new share; then a second transaction settles the allotment at that share.
//!
//! A process that dies between two steps leaves too much allotted, never too little. The next process finds a different
//! fence or target and repeats the step. Redis and the database refuse a late request with an old fence.

mod plan;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;
use tracing::debug;

use base::periodic::Backoff;
use domain::Bucket;
use domain::{Sale, SaleState};
use engine::catalogue::Catalogue;
use engine::stock::load::BucketShare;
use engine::stock::redis::RedisStock;
use plan::{Allocation, Reallotment, plan};
use store::{Allotment, Retarget, Store};

/// How long a bucket keeps the units it was given: a shopper who was asked to retry in a second finds them.
pub const COOLDOWN: Duration = Duration::from_millis(1_500);

/// Hands out units. Its state only spaces out changes, so another process can take over without it.
pub struct Allotter {
    stock: RedisStock,
    store: Store,
    catalogue: Arc<Catalogue>,
    /// When a bucket's share was last raised.
    raised: Mutex<HashMap<Bucket, Instant>>,
    failing: Backoff<Bucket>,
    cooldown: Duration,
}

/// A bucket's allotment in the database and its share in Redis; no share while it is not loaded.
struct BucketAllotment {
    id: Bucket,
    row: Allotment,
    redis: Option<BucketShare>,
}

impl BucketAllotment {
    /// Whether Redis has not applied the last change, or its result has not been settled in the database.
    fn is_pending(&self) -> bool {
        self.row.target < self.row.allotted || self.redis.is_some_and(|redis| redis.fence < self.row.fence)
    }

    /// Whether Redis lost a change.
    fn is_inconsistent(&self) -> bool {
        self.redis.is_some_and(|redis| redis.total != self.row.allotted.max(redis.booked))
    }
}

impl Allotter {
    /// `cooldown` is [`COOLDOWN`] except in tests.
    pub fn new(stock: RedisStock, store: Store, catalogue: Arc<Catalogue>, cooldown: Duration) -> Allotter {
        let failing = Backoff::new("allotment of a bucket");
        Allotter { stock, store, catalogue, raised: Mutex::default(), failing, cooldown }
    }

    /// One step for every split sale that has not ended. Returns whether anything had to be done.
    pub async fn step(&self) -> anyhow::Result<bool> {
        let mut active = self.catalogue.active().into_iter().filter_map(|id| self.catalogue.known(id));
        if !active.any(|entry| entry.sale.rush.buckets > 1) {
            return Ok(false);
        }
        let (mut busy, mut failure) = (false, None);
        for sale in self.store.sales().active().await? {
            if sale.rush.buckets > 1 && sale.state != SaleState::Ended {
                match self.step_of(&sale).await {
                    Ok(had_work) => busy |= had_work,
                    Err(error) => failure = Some(error),
                }
            }
        }
        failure.map_or(Ok(busy), Err)
    }

    /// As [`Allotter::step`], for one sale.
    pub async fn step_of(&self, sale: &Sale) -> anyhow::Result<bool> {
        let mut buckets = self.read_buckets(sale).await?;
        let mut busy = self.apply_pending(sale, &mut buckets).await?;
        let changes = self.plan_changes(sale, &buckets).await;
        if !changes.is_empty() && self.retarget(sale, &mut buckets, &changes).await? {
            busy |= self.apply_pending(sale, &mut buckets).await?;
        }
        self.update_more_flags(sale, &mut buckets).await;
        Ok(busy)
    }

    /// Reads the database first, so that the shares in Redis are not older than the allotments.
    async fn read_buckets(&self, sale: &Sale) -> anyhow::Result<Vec<BucketAllotment>> {
        let rows = self.store.sales().allotments(sale.id, sale.rush.buckets).await?;
        let buckets: Vec<Bucket> = Bucket::of_sale(sale).collect();
        let shared = self.stock.shares(&buckets).await?;
        let joined = buckets.into_iter().zip(rows).zip(shared);
        Ok(joined.map(|((id, row), redis)| BucketAllotment { id, row, redis }).collect())
    }

    /// Applies pending changes to Redis and settles their results in the database.
    async fn apply_pending(&self, sale: &Sale, buckets: &mut [BucketAllotment]) -> anyhow::Result<bool> {
        let more = has_more(sale, buckets);
        let mut busy = false;
        for (bucket, more) in buckets.iter_mut().zip(more).filter(|(bucket, _)| bucket.is_pending()) {
            let Some(before) = bucket.redis else { continue };
            bucket.redis = self.allot(bucket.id, bucket.row.fence, bucket.row.target, more).await;
            let Some(now) = bucket.redis else { continue };
            if now.total > before.total {
                self.raised.lock().await.insert(bucket.id, Instant::now());
            }
            let takes = bucket.row.target < bucket.row.allotted && now.fence == bucket.row.fence;
            if takes && self.store.sales().settle_allotment(sale.id, bucket.row.part, now.fence, now.total).await? {
                bucket.row.allotted = bucket.row.allotted.min(now.total);
                bucket.row.target = bucket.row.allotted;
            }
            bucket.redis = Some(BucketShare { more, missed: before.missed, ..now });
            busy = true;
        }
        Ok(busy)
    }

    /// Sets the share of a bucket. `None` if the bucket is not loaded, or its server does not answer: then the others go
    /// on without it.
    async fn allot(&self, bucket: Bucket, fence: i64, share: i64, more: bool) -> Option<BucketShare> {
        if self.failing.is_waiting(&bucket) {
            return None;
        }
        let share = self.stock.allot(bucket, fence, share, more).await;
        self.failing.record(bucket, share.as_ref().map(drop));
        share.ok().flatten()
    }

    async fn plan_changes(&self, sale: &Sale, buckets: &[BucketAllotment]) -> Vec<Reallotment> {
        let mut raised = self.raised.lock().await;
        raised.retain(|_, at| at.elapsed() < self.cooldown);
        let allocations = buckets.iter().map(|bucket| match bucket.redis {
            // A bucket with a pending change, or one that is not loaded, keeps what it has.
            Some(redis) if !bucket.is_pending() => Allocation {
                allotted: bucket.row.allotted,
                booked: redis.booked,
                starved: redis.missed > 0,
                cooled_down: !raised.contains_key(&bucket.id),
            },
            _ => Allocation {
                allotted: bucket.row.allotted,
                booked: bucket.row.allotted,
                starved: false,
                cooled_down: false,
            },
        });
        let mut changes = plan(sale.total, sale.rush.lot, &allocations.collect::<Vec<_>>());
        changes.retain(|change| buckets[change.bucket].redis.is_some() && !buckets[change.bucket].is_pending());
        for (n, bucket) in buckets.iter().enumerate() {
            if bucket.is_inconsistent() && !bucket.is_pending() && changes.iter().all(|change| change.bucket != n) {
                changes.push(Reallotment { bucket: n, target: bucket.row.allotted });
            }
        }
        changes
    }

    /// Writes changes to the database; `false` when another process changed the allotments first.
    async fn retarget(
        &self,
        sale: &Sale,
        buckets: &mut [BucketAllotment],
        changes: &[Reallotment],
    ) -> anyhow::Result<bool> {
        let retargets = changes.iter().map(|change| {
            let BucketAllotment { row, redis, .. } = &buckets[change.bucket];
            let applied = redis.map_or(0, |redis| redis.fence);
            Retarget { part: row.part, after: row.fence, fence: row.fence.max(applied) + 1, target: change.target }
        });
        let retargets: Vec<Retarget> = retargets.collect();
        if !self.store.sales().retarget(sale.id, &retargets).await? {
            debug!(sale = %sale.id, "another process hands out units; its changes stand");
            return Ok(false);
        }
        for (change, retarget) in changes.iter().zip(retargets) {
            let row = &mut buckets[change.bucket].row;
            (row.target, row.fence) = (retarget.target, retarget.fence);
            row.allotted = row.allotted.max(retarget.target);
        }
        Ok(true)
    }

    /// Updates the flag by which an empty bucket asks shoppers to retry.
    async fn update_more_flags(&self, sale: &Sale, buckets: &mut [BucketAllotment]) {
        let more = has_more(sale, buckets);
        for (bucket, more) in buckets.iter_mut().zip(more) {
            if let Some(redis) = bucket.redis.filter(|redis| redis.more != more) {
                self.allot(bucket.id, redis.fence, redis.total, more).await;
            }
        }
    }
}

/// For each bucket, whether units that are not held are in the pool or in other buckets.
fn has_more(sale: &Sale, buckets: &[BucketAllotment]) -> Vec<bool> {
    let booked = buckets.iter().map(|bucket| bucket.redis.map_or(bucket.row.allotted, |redis| redis.booked));
    let free = sale.total - booked.sum::<i64>();
    let own = buckets.iter().map(|bucket| bucket.redis.map_or(0, |redis| (redis.total - redis.booked).max(0)));
    own.map(|own| free > own).collect()
}
