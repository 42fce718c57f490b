//! Compares the holds of sales in Redis with their orders in the database, and repairs what differs.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;
use tracing::warn;

use super::{StockSync, bucket_of, live_orders};
use crate::control::reconcile::{self, BucketSnapshot, HoldMismatches};
use crate::domain::claim::Hold;
use crate::domain::{Bucket, OrderId, Sale, UserId};
use crate::stock::load::HoldRepair;
use crate::store::HeldUnits;

/// How long a comparison of single holds without a mismatch stays valid while the counts differ by the same units: a backlog
/// in the outbox explains the difference, and comparing a million holds loads Redis and the database.
const EXPLANATION_TTL: Duration = Duration::from_secs(60);

/// Units booked in Redis minus units sold in the database.
#[derive(Clone, Copy)]
pub(super) struct BookedDrift {
    units: i64,
    /// When a comparison of single holds found no mismatch, so that orders in flight explain the drift.
    explained: Option<Instant>,
}

impl StockSync {
    /// Compares counts. Where they differ by the same units twice in a row, compares and repairs single holds.
    pub async fn reconcile(&self) -> anyhow::Result<()> {
        let before = std::mem::take(&mut self.state.lock().await.drifts);
        let sales = self.store.active_sales().await?;
        let survey = self.survey().await?;
        let mut drifts = HashMap::new();
        for sale in sales {
            let units = survey.get(&sale.id).map_or(0, |loaded| loaded.booked - sale.sold);
            if units == 0 {
                continue;
            }
            let same = before.get(&sale.id).filter(|before| before.units == units);
            let mut explained = same.and_then(|drift| drift.explained).filter(|at| at.elapsed() < EXPLANATION_TTL);
            if same.is_some() && explained.is_none() {
                explained = self.repair_holds(&sale).await?.then(Instant::now);
            }
            drifts.insert(sale.id, BookedDrift { units, explained });
        }
        self.state.lock().await.drifts = drifts;
        Ok(())
    }

    /// Repairs the holds of a sale. Returns whether every hold was compared and none had or may have a mismatch.
    async fn repair_holds(&self, sale: &Sale) -> anyhow::Result<bool> {
        let mut matches = true;
        for (bucket, snapshot) in self.snapshots(sale).await? {
            let Some(snapshot) = snapshot else {
                matches = false;
                continue;
            };
            let found = reconcile::compare(&snapshot, self.clock.now());
            matches &= found.is_empty() && found.undecided == 0;
            if !found.is_empty() {
                self.repair_bucket(bucket, snapshot.epoch, found).await?;
            }
        }
        Ok(matches)
    }

    async fn repair_bucket(&self, bucket: Bucket, epoch: i64, found: HoldMismatches) -> anyhow::Result<()> {
        self.store.request_releases(&found.ended_holds).await?;
        let repairs: Vec<HoldRepair> = found
            .missing_holds
            .iter()
            .map(|hold| HoldRepair::AddHold(*hold))
            .chain(found.lost_orders.iter().map(|hold| HoldRepair::AddToOutbox(*hold)))
            .collect();
        let repaired = self.stock.repair(bucket, epoch, &repairs).await?;
        warn!(
            %bucket,
            ended_holds = found.ended_holds.len(),
            missing_holds = found.missing_holds.len(),
            lost_orders = found.lost_orders.len(),
            repaired,
            "repaired holds on which Redis and the database disagreed"
        );
        Ok(())
    }

    /// A snapshot of each bucket of a sale, `None` where a bucket is not loaded. Holds are read before outboxes, and these
    /// before the database, so that an order in flight is seen twice rather than never.
    pub async fn snapshots(&self, sale: &Sale) -> anyhow::Result<Vec<(Bucket, Option<BucketSnapshot>)>> {
        let mut snapshots = Vec::new();
        for bucket in Bucket::of_sale(sale) {
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
            snapshot.statuses = self.store.order_statuses(&ids).await?;
        }
        Ok(snapshots)
    }

    /// The part of a snapshot that Redis has.
    async fn redis_snapshot(&self, bucket: Bucket) -> anyhow::Result<Option<BucketSnapshot>> {
        let survey = self.stock.survey(&[bucket]).await?;
        let loaded = survey.first().and_then(|(_, state)| state.loaded());
        let (Some(sale), Some(loaded)) = (bucket.sale(), loaded) else { return Ok(None) };
        let mut holds: HashMap<UserId, Hold> = HashMap::new();
        let mut cursor = 0;
        loop {
            let (next, page) = self.stock.holds(bucket, cursor).await?;
            holds.extend(page);
            if next == 0 {
                break;
            }
            cursor = next;
        }
        let in_flight = self.in_flight(bucket).await?.into_iter().map(|hold| hold.order_id).collect();
        Ok(Some(BucketSnapshot {
            sale,
            epoch: loaded.generation.present.epoch,
            booked: loaded.booked,
            holds,
            in_flight,
            orders: HashMap::new(),
            statuses: HashMap::new(),
        }))
    }
}
