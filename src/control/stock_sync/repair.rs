//! Compares the holds of sales in Redis with their orders in the database, and repairs what differs.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;
use tracing::warn;

use super::{StockSync, bucket_of, live_orders};
use crate::reconcile::{self, BucketSnapshot, HoldMismatches};
use domain::claim::Hold;
use domain::{Bucket, OrderId, Sale, UserId};
use engine::stock::Stock;
use engine::stock::load::HoldRepair;
use store::HeldUnits;

/// How long a comparison of single holds without a mismatch stays valid while the counts differ by the same units: a
/// backlog in the outbox explains the difference, and comparing a million holds loads Redis and the database.
const EXPLANATION_TTL: Duration = Duration::from_secs(60);
/// The same while the counts are equal. Opposite errors cancel each other in a count: a master that loses its last
/// moment forgets as many releases as grants.
const AGREEMENT_TTL: Duration = Duration::from_secs(600);

/// What the last comparison of a sale's counts found.
#[derive(Clone, Copy)]
pub(super) struct CountComparison {
    /// Units booked in Redis minus units sold in the database.
    drift: i64,
    /// The last comparison of single holds without a mismatch, and the drift at that time.
    matched: Option<(Instant, i64)>,
}

impl CountComparison {
    fn is_explained(&self) -> bool {
        let ttl = if self.drift == 0 { AGREEMENT_TTL } else { EXPLANATION_TTL };
        self.matched.is_some_and(|(at, drift)| at.elapsed() < ttl && (drift == self.drift || self.drift == 0))
    }
}

impl StockSync {
    /// Compares counts. Compares and repairs single holds of a sale whose counts differ by the same units twice in a
    /// row, and of every sale when this process begins to work, after a master may have lost writes, and now and then.
    pub async fn reconcile(&self) -> anyhow::Result<()> {
        let (before, opened) = {
            let mut state = self.state.lock().await;
            (std::mem::take(&mut state.comparisons), state.opened)
        };
        let sales = self.store.sales().active().await?;
        let survey = self.survey().await?;
        let mut comparisons = HashMap::new();
        for sale in sales {
            let Some(loaded) = survey.get(&sale.id) else { continue };
            let drift = loaded.booked - sale.sold;
            let last = before.get(&sale.id);
            let mut comparison = CountComparison { drift, matched: last.and_then(|last| last.matched) };
            if last.is_some_and(|last| last.drift == drift) && !comparison.is_explained() {
                comparison.matched = self
                    .repair_holds(&sale, &Bucket::of_sale(&sale).collect::<Vec<_>>())
                    .await?
                    .then(|| (Instant::now(), drift));
            }
            comparisons.insert(sale.id, comparison);
        }
        let mut state = self.state.lock().await;
        if state.opened == opened {
            state.comparisons = comparisons;
        }
        Ok(())
    }

    /// Repairs the holds of buckets of a sale. Returns whether every hold was compared and none had or may have a
    /// mismatch.
    pub(super) async fn repair_holds(&self, sale: &Sale, buckets: &[Bucket]) -> anyhow::Result<bool> {
        let mut matches = true;
        for (bucket, snapshot) in self.snapshots(sale, buckets).await? {
            let Some(snapshot) = snapshot else {
                matches = false;
                continue;
            };
            let found = reconcile::compare(&snapshot, self.clock.now());
            matches &= found.is_empty() && found.undecided == 0;
            if let Some(first) = snapshot.unreadable.first() {
                let count = snapshot.unreadable.len();
                warn!(%bucket, count, first, "holds in Redis are not readable; seckill audit names them");
            }
            if !found.is_empty() {
                self.repair_bucket(bucket, &snapshot, found).await?;
            }
        }
        Ok(matches)
    }

    async fn repair_bucket(
        &self,
        bucket: Bucket,
        snapshot: &BucketSnapshot,
        found: HoldMismatches,
    ) -> anyhow::Result<()> {
        let (holds, booked) = (snapshot.holds.len(), snapshot.booked);
        let repairs: Vec<HoldRepair> = found
            .missing_holds
            .iter()
            .chain(&found.in_flight_unheld)
            .map(|hold| HoldRepair::AddHold(*hold))
            .chain(found.lost_orders.iter().map(|hold| HoldRepair::AddToOutbox(*hold)))
            .chain(found.other_units.iter().map(|hold| HoldRepair::SetUnits(*hold)))
            .chain(found.held.map(|held| HoldRepair::Recount { holds, booked, held }))
            .collect();
        let repaired = self.stock.repair(bucket, snapshot.epoch, &repairs).await?;
        // Release last, so that units of live orders without a hold are not free in between.
        let released = self.stock.release(&found.ended_holds).await?.len();
        self.metrics.released.inc_by(released as u64);
        warn!(
            %bucket,
            ended_holds = found.ended_holds.len(),
            missing_holds = found.missing_holds.len(),
            in_flight_unheld = found.in_flight_unheld.len(),
            lost_orders = found.lost_orders.len(),
            other_units = found.other_units.len(),
            booked,
            held = found.held,
            repaired,
            "repaired holds on which Redis and the database disagreed"
        );
        Ok(())
    }

    /// A snapshot of each of these buckets of a sale, `None` where a bucket is not loaded. Holds are read before
    /// outboxes, and these before the database, so that an order in flight is seen twice rather than never.
    pub async fn snapshots(
        &self,
        sale: &Sale,
        buckets: &[Bucket],
    ) -> anyhow::Result<Vec<(Bucket, Option<BucketSnapshot>)>> {
        let mut snapshots = Vec::new();
        for &bucket in buckets {
            snapshots.push((bucket, self.redis_snapshot(bucket).await?));
        }
        let mut orders: HashMap<Bucket, HashMap<UserId, HeldUnits>> = HashMap::new();
        for hold in live_orders(&self.store, sale.id).await? {
            orders.entry(bucket_of(sale, &hold)).or_default().insert(hold.user_id, hold);
        }
        for (bucket, snapshot) in &mut snapshots {
            let Some(snapshot) = snapshot else { continue };
            snapshot.orders = orders.remove(bucket).unwrap_or_default();
            let unmatched = snapshot
                .holds
                .iter()
                .filter(|(user, hold)| snapshot.orders.get(user).is_none_or(|order| order.order_id != hold.order_id));
            let ids: Vec<OrderId> = unmatched.map(|(_, hold)| hold.order_id).collect();
            snapshot.statuses = self.store.orders().order_statuses(&ids).await?;
        }
        Ok(snapshots)
    }

    /// The part of a snapshot that Redis has.
    async fn redis_snapshot(&self, bucket: Bucket) -> anyhow::Result<Option<BucketSnapshot>> {
        let survey = self.stock.survey(&[bucket]).await?;
        let loaded = survey.first().and_then(|(_, state)| state.loaded());
        let (Some(sale), Some(loaded)) = (bucket.sale(), loaded) else { return Ok(None) };
        let (mut holds, mut unreadable, mut cursor) = (HashMap::<UserId, Hold>::new(), Vec::new(), 0);
        loop {
            let page = self.stock.holds(bucket, cursor).await?;
            holds.extend(page.holds);
            unreadable.extend(page.unreadable);
            if page.next == 0 {
                break;
            }
            cursor = page.next;
        }
        let after = self.stock.survey(&[bucket]).await?;
        let after = after.first().and_then(|(_, state)| state.loaded()).map(|loaded| loaded.booked);
        let in_flight = self.in_flight(bucket).await?.into_iter().map(|hold| (hold.order_id, hold)).collect();
        Ok(Some(BucketSnapshot {
            sale,
            epoch: loaded.generation.present.epoch,
            booked: loaded.booked,
            is_steady: after == Some(loaded.booked),
            is_open: loaded.generation.open,
            holds,
            unreadable,
            in_flight,
            orders: HashMap::new(),
            statuses: HashMap::new(),
        }))
    }
}
