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

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use boxed::boxed;
use tokio::sync::Mutex;
use tokio::time::Instant;
use tracing::debug;

use base::periodic::Backoff;
use domain::{Bucket, Sale, SaleState};
use engine::catalogue::Catalogue;
use engine::stock::load::BucketShare;
use engine::stock::redis::RedisStock;
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

#[boxed]
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

// Plans how many units each bucket should have, as a pure function of what the buckets have now.

/// One bucket of a sale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allocation {
    pub allotted: i64,
    /// Units that are held.
    pub booked: i64,
    /// The bucket turned a shopper away since it was last given units.
    pub starved: bool,
    /// The bucket was given no units for a while, so shoppers who were asked to retry have had time to do so.
    pub cooled_down: bool,
}

/// A change of a bucket's allotment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reallotment {
    /// Index into the allocations.
    pub bucket: usize,
    pub target: i64,
}

impl Allocation {
    fn free(&self) -> i64 {
        (self.allotted - self.booked).max(0)
    }

    fn can_give(&self) -> bool {
        self.cooled_down && self.free() > 0
    }
}

/// Plans the next changes. A bucket is given at most `lot` units at a time; 0 hands out everything at once. Repeated
/// with its own results, the plan brings every unit to a shopper who wants it:
///
/// 1. The pool is handed out, to starved buckets first.
/// 2. Once the pool is empty and a bucket is starved while others have idle units, those return half of them.
pub fn plan(total: i64, lot: i64, shares: &[Allocation]) -> Vec<Reallotment> {
    let pool = total - shares.iter().map(|share| share.allotted).sum::<i64>();
    let mut targets: Vec<i64> = shares.iter().map(|share| share.allotted).collect();
    match pool {
        ..0 => take_back(-pool, shares, &mut targets),
        0 => level(lot, shares, &mut targets),
        _ => give(pool, lot, shares, &mut targets),
    }
    let changed = targets.iter().zip(shares).enumerate().filter(|(_, (target, share))| **target != share.allotted);
    changed.map(|(bucket, (&target, _))| Reallotment { bucket, target }).collect()
}

/// Takes units back after the total was lowered, which is possible before the sale begins.
fn take_back(mut units: i64, shares: &[Allocation], targets: &mut [i64]) {
    for n in order_by(shares, |share| -share.free()) {
        let back = shares[n].free().min(units);
        targets[n] -= back;
        units -= back;
    }
}

fn give(mut pool: i64, lot: i64, shares: &[Allocation], targets: &mut [i64]) {
    // Grants that were replayed to a master that lost them may exceed the allotment.
    for (share, target) in shares.iter().zip(targets.iter_mut()) {
        let cover = (share.booked - share.allotted).clamp(0, pool);
        *target += cover;
        pool -= cover;
    }
    let count = shares.len() as i64;
    let mut starved = order_by(shares, |share| -share.free());
    starved.retain(|n| shares[*n].starved);
    let mut waiting = starved.len() as i64;
    // When little is left, all of it goes to starved buckets, whole units to few rather than fractions to many.
    let most = if lot > 0 { lot } else { ceil(pool, count) };
    let scarce = pool < count;
    for &n in &starved {
        let fair = ceil(pool, waiting);
        let given = if scarce { fair } else { fair.min(most) };
        targets[n] += given;
        pool -= given;
        waiting -= 1;
    }
    if scarce && !starved.is_empty() {
        return;
    }
    let free: Vec<i64> = targets.iter().zip(shares).map(|(target, share)| (target - share.booked).max(0)).collect();
    let below: Vec<usize> = (0..shares.len()).filter(|&n| lot == 0 || free[n] * 2 <= lot).collect();
    fill(pool, if lot > 0 { lot } else { i64::MAX }, &below, &free, targets);
}

/// Rounded-up quotient of two numbers that are not negative.
fn ceil(units: i64, shares: i64) -> i64 {
    (units + shares - 1) / shares
}

/// Raises the lowest first, to a common level of at most `cap`.
fn fill(mut pool: i64, cap: i64, among: &[usize], free: &[i64], targets: &mut [i64]) {
    let (mut low, mut high) = (0, cap.min(free.iter().max().unwrap_or(&0) + pool));
    while low < high {
        let middle = low + (high - low + 1) / 2;
        let missing: i64 = among.iter().map(|&n| (middle - free[n]).max(0)).sum();
        if missing <= pool { low = middle } else { high = middle - 1 }
    }
    for &n in among {
        let given = (low - free[n]).max(0);
        targets[n] += given;
        pool -= given;
    }
    // The rest is less than one unit for each.
    for &n in among.iter().filter(|n| free[**n] <= low && low < cap) {
        let given = pool.min(1);
        targets[n] += given;
        pool -= given;
    }
}

/// Returns idle units to the pool, from where the next plan gives them to starved buckets.
fn level(lot: i64, shares: &[Allocation], targets: &mut [i64]) {
    let starved = shares.iter().filter(|share| share.starved).count() as i64;
    let idle: i64 = shares.iter().map(Allocation::free).sum();
    if starved == 0 || idle == 0 {
        return;
    }
    let most = if lot > 0 { lot } else { (idle / shares.len() as i64).max(1) };
    let mut need = starved * most;
    let mut givers = order_by(shares, |share| -share.free());
    givers.retain(|n| shares[*n].can_give() && !shares[*n].starved);
    for &n in &givers {
        let given = need.min((shares[n].free() + 1) / 2);
        targets[n] -= given;
        need -= given;
    }
    // Only starved buckets have units left, and each has too few. The bucket with the fewest returns them for the
    // others.
    if givers.is_empty() && starved > 1 {
        let least = order_by(shares, Allocation::free).into_iter().find(|n| shares[*n].can_give());
        least.into_iter().for_each(|n| targets[n] -= shares[n].free());
    }
}

/// Indexes of the buckets sorted by `key`; equal ones stay in order.
fn order_by(shares: &[Allocation], key: impl Fn(&Allocation) -> i64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..shares.len()).collect();
    order.sort_by_key(|n| key(&shares[*n]));
    order
}

#[cfg(test)]
mod tests {
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    fn share(allotted: i64, booked: i64) -> Allocation {
        Allocation { allotted, booked, starved: false, cooled_down: true }
    }

    fn starved(allotted: i64, booked: i64) -> Allocation {
        Allocation { starved: true, ..share(allotted, booked) }
    }

    /// The shares after the moves.
    fn after(total: i64, lot: i64, shares: &[Allocation]) -> Vec<i64> {
        let mut now: Vec<i64> = shares.iter().map(|share| share.allotted).collect();
        plan(total, lot, shares).iter().for_each(|m| now[m.bucket] = m.target);
        now
    }

    #[test]
    fn without_a_lot_everything_is_given_out_evenly() {
        assert_eq!(after(10, 0, &[share(0, 0); 4]), [3, 3, 2, 2]);
        assert_eq!(after(3, 0, &[share(0, 0); 4]), [1, 1, 1, 0]);
        assert_eq!(after(0, 0, &[share(0, 0); 4]), [0; 4]);
        // After a top-up the bucket with the least left gets the most.
        assert_eq!(after(16, 0, &[share(4, 4), share(4, 0), share(4, 2)]), [7, 4, 5]);
    }

    #[test]
    fn lots_are_given_out_as_they_are_used_up() {
        assert_eq!(after(1_000, 10, &[share(0, 0); 3]), [10; 3]);
        assert_eq!(after(1_000, 10, &[share(10, 4), share(10, 5), share(10, 10)]), [10, 15, 20]);
        assert_eq!(after(34, 10, &[share(10, 10), share(10, 10), share(10, 10)]), [12, 11, 11]);
    }

    #[test]
    fn last_units_go_to_starved_buckets() {
        assert_eq!(after(7, 0, &[share(2, 2), starved(2, 2), share(2, 2)]), [2, 3, 2]);
        assert_eq!(after(32, 10, &[share(10, 10), starved(10, 10), share(10, 10)]), [10, 12, 10]);
    }

    #[test]
    fn idle_units_return_for_starved_buckets() {
        // Half of the idle units, after the cooldown.
        assert_eq!(after(20, 0, &[share(10, 2), starved(10, 10)]), [6, 10]);
        assert_eq!(after(20, 0, &[Allocation { cooled_down: false, ..share(10, 2) }, starved(10, 10)]), [10, 10]);
        assert_eq!(after(20, 0, &[share(10, 2), share(10, 10)]), [10, 10], "no bucket is starved");
        // Two shoppers want more than either bucket has.
        assert_eq!(after(4, 0, &[starved(2, 1), starved(2, 1)]), [1, 2]);
        assert_eq!(after(4, 0, &[starved(1, 1), starved(2, 1)]), [1, 3]);
    }

    #[test]
    fn grants_beyond_the_allotment_are_covered_and_a_lower_total_is_taken_back() {
        assert_eq!(after(12, 1, &[share(4, 7), share(4, 0)]), [8, 4]);
        assert_eq!(after(5, 0, &[share(4, 0), share(4, 0)]), [1, 4]);
    }

    /// Shoppers retry until they hold units or none are left. Whichever buckets they meet, every unit is sold.
    #[test]
    fn nothing_is_oversold_and_demand_finds_every_unit() {
        for seed in 0..400 {
            let mut random = StdRng::seed_from_u64(seed);
            let (buckets, lot) = (random.random_range(1..9), [0, 0, 1, 3, 10][random.random_range(0..5_usize)]);
            let (mut total, limit) = (random.random_range(1..200), random.random_range(1..4));
            let mut shares = vec![Allocation { cooled_down: true, ..share(0, 0) }; buckets];
            for step in 0..4_000 {
                for m in plan(total, lot, &shares) {
                    let share = &mut shares[m.bucket];
                    // Held units cannot be taken back.
                    let target = m.target.max(share.booked);
                    if target > share.allotted {
                        (share.starved, share.cooled_down) = (false, false);
                    }
                    share.allotted = target;
                }
                assert!(shares.iter().map(|s| s.allotted).sum::<i64>() <= total, "seed {seed}: {shares:?} of {total}");
                assert!(shares.iter().all(|s| s.booked <= s.allotted), "seed {seed}: {shares:?}");
                // Early, units return and the total is raised; in the end the shoppers of only one bucket are left.
                let early = step < 200;
                let bucket = if early { random.random_range(0..buckets) } else { seed as usize % buckets };
                let units = if early { random.random_range(1..=limit) } else { 1 };
                let share = &mut shares[bucket];
                match share.free() >= units {
                    true => share.booked += units,
                    false => share.starved = true,
                }
                if early && random.random_ratio(1, 8) && shares[bucket].booked > 0 {
                    shares[bucket].booked -= 1;
                }
                total += i64::from(early && random.random_ratio(1, 40));
                if step % 5 == 4 {
                    shares.iter_mut().for_each(|share| share.cooled_down = true);
                }
            }
            assert_eq!(shares.iter().map(|s| s.booked).sum::<i64>(), total, "seed {seed}: {shares:?}");
        }
    }
}
