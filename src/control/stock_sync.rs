//! Stock sync: keeps sales in Redis in step with the database. It loads them ahead of time, recovers what the master lost,
//! passes on definitions, resets counters, repairs single holds and unloads sales that are over.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;
use tracing::{info, warn};

use super::reconcile::{self, BucketSnapshot, HoldMismatches};
use crate::catalogue::Catalogue;
use crate::clock::Clock;
use crate::domain::claim::Hold;
use crate::domain::{Bucket, OrderId, OutboxItem, Sale, SaleId, UserId};
use crate::metrics::Metrics;
use crate::pipeline::outbox;
use crate::pipeline::rabbit::Monitor;
use crate::pipeline::recovery::{Action, KeyState, Recovery};
use crate::stock::load::{BucketShare, HoldRepair, LoadOptions, StockCounters};
use crate::stock::redis::RedisStock;
use crate::store::{HeldUnits, Store};

/// A sale is to be open again within a minute. The database rejects what is oversold because an order was still in flight.
const MAX_DRAIN_WAIT: Duration = Duration::from_secs(40);
const COUNTERS_INTERVAL: Duration = Duration::from_secs(1);
/// How long an ended sale stays loaded, as shoppers keep reading its status for a while.
pub const RETIRE_AFTER: Duration = Duration::from_secs(60);
const PAGE_SIZE: i64 = 1000;
/// How long a comparison of single holds without a mismatch stays valid while the counts differ by the same units: a backlog
/// in the outbox explains the difference, and comparing a million holds loads Redis and the database.
const EXPLANATION_TTL: Duration = Duration::from_secs(60);

/// What stock sync knows from earlier steps. A successor starts without it.
struct SyncState {
    recovery: Recovery<Bucket, i64>,
    counters_synced: Option<Instant>,
    /// Sales whose counts differed at the last comparison.
    drifts: HashMap<SaleId, BookedDrift>,
}

/// Units booked in Redis minus units sold in the database.
#[derive(Clone, Copy)]
struct BookedDrift {
    units: i64,
    /// When a comparison of single holds found no mismatch, so that orders in flight explain the drift.
    explained: Option<Instant>,
}

pub struct StockSync {
    stock: RedisStock,
    store: Store,
    catalogue: Arc<Catalogue>,
    clock: Clock,
    metrics: Arc<Metrics>,
    state: Mutex<SyncState>,
}

impl StockSync {
    pub fn new(
        stock: RedisStock,
        store: Store,
        catalogue: Arc<Catalogue>,
        monitor: Option<Arc<Monitor>>,
        clock: Clock,
        metrics: Arc<Metrics>,
    ) -> StockSync {
        let recovery = Recovery::new(monitor, Some(MAX_DRAIN_WAIT));
        let state = SyncState { recovery, counters_synced: None, drifts: HashMap::new() };
        StockSync { stock, store, catalogue, clock, metrics, state: Mutex::new(state) }
    }

    /// The counters of the active sales of which every bucket is loaded.
    pub async fn survey(&self) -> anyhow::Result<HashMap<SaleId, StockCounters>> {
        let survey = self.stock.survey(&self.catalogue.active_buckets()).await?;
        let by_sale = survey.chunk_by(|(one, _), (other, _)| one.owner == other.owner);
        Ok(by_sale.filter_map(|of_sale| Some((of_sale[0].0.sale()?, StockCounters::of_sale(of_sale)?))).collect())
    }

    /// The counters of each bucket of one sale; `None` where a bucket is not loaded.
    pub async fn survey_sale(&self, sale: SaleId) -> anyhow::Result<Vec<(Bucket, Option<StockCounters>)>> {
        let Some(entry) = self.catalogue.entry(sale).await? else { return Ok(Vec::new()) };
        let buckets: Vec<Bucket> = Bucket::of_sale(&entry.sale).collect();
        Ok(self.stock.survey(&buckets).await?)
    }

    /// The shares of the buckets of a split sale; `None` where a bucket is not loaded.
    pub async fn shares(&self, sale: &Sale) -> anyhow::Result<Vec<Option<BucketShare>>> {
        Ok(self.stock.shares(&Bucket::of_sale(sale).collect::<Vec<_>>()).await?)
    }

    /// Deletes the keys of a sale.
    pub async fn unload(&self, sale: &Sale) -> anyhow::Result<()> {
        for bucket in Bucket::of_sale(sale) {
            self.stock.unload(bucket).await?;
        }
        if sale.rush.buckets > 1 {
            self.stock.unload(Bucket::whole(sale.id)).await?;
        }
        Ok(())
    }

    /// One step: loads or recovers what is missing, passes on definitions, resets counters, retires what is over.
    pub async fn step(&self) -> anyhow::Result<()> {
        let mut state = self.state.lock().await;
        let sales = self.store.active_sales().await?;
        let buckets: Vec<Bucket> = sales.iter().flat_map(Bucket::of_sale).collect();
        let survey = self.stock.survey(&buckets).await?;
        let of_sales: Vec<&Sale> = sales.iter().flat_map(|sale| vec![sale; sale.rush.buckets.into()]).collect();
        let key_states =
            of_sales.iter().zip(&survey).map(|(sale, (bucket, loaded))| (*bucket, key_state(sale, loaded)));
        let actions = state.recovery.step(key_states.collect()).await;
        let mut missing: BTreeMap<(SaleId, bool), Vec<Bucket>> = BTreeMap::new();
        for ((sale, &(bucket, loaded)), action) in of_sales.into_iter().zip(&survey).zip(actions) {
            match action {
                Action::LoadOpen => missing.entry((sale.id, false)).or_default().push(bucket),
                Action::LoadClosed => missing.entry((sale.id, true)).or_default().push(bucket),
                Action::Maintain if loaded.is_none_or(|loaded| loaded.version >= sale.version) => {}
                Action::Open | Action::Maintain => drop(self.stock.define_bucket(sale, bucket).await?),
                Action::Wait => {}
            }
        }
        for ((sale, closed), buckets) in missing {
            self.load(sale, &buckets, closed).await?;
            buckets.into_iter().for_each(|bucket| state.recovery.loaded(bucket));
        }
        if state.counters_synced.is_none_or(|at| at.elapsed() >= COUNTERS_INTERVAL) {
            state.counters_synced = Some(Instant::now());
            self.stock.sync_access(&buckets).await?;
            self.stock.write_sale_flags(&sales, &survey).await?;
            self.metrics.outbox_length.set(survey.iter().filter_map(|(_, l)| *l).map(|l| l.outbox).sum());
            self.retire(&sales, &survey).await?;
        }
        Ok(())
    }

    /// Loads buckets of a sale from the database and their outboxes.
    async fn load(&self, sale: SaleId, buckets: &[Bucket], closed: bool) -> anyhow::Result<()> {
        // Read anew: the number of buckets may have changed since the survey.
        let sale = &self.store.next_epoch(sale).await?;
        let mut holders: HashMap<Bucket, HashMap<UserId, HeldUnits>> = HashMap::new();
        for bucket in Bucket::of_sale(sale).filter(|bucket| buckets.contains(bucket)) {
            // The outbox is read first: an order that leaves it meanwhile is found in the database.
            let in_flight = self.in_flight(bucket).await?;
            holders.insert(bucket, in_flight.into_iter().map(|hold| (hold.user_id, hold)).collect());
        }
        for hold in live_orders(&self.store, sale.id).await? {
            if let Some(of_bucket) = holders.get_mut(&bucket_of(sale, &hold)) {
                of_bucket.insert(hold.user_id, hold);
            }
        }
        let shares = match sale.rush.buckets {
            1 => Vec::new(),
            count => self.store.allotments(sale.id, count).await?,
        };
        for (bucket, holders) in holders {
            let share = bucket.part().and_then(|part| shares.get(usize::from(part)).copied());
            let holders: Vec<HeldUnits> = holders.into_values().collect();
            let booked = holders.iter().map(|hold| i64::from(hold.quantity)).sum();
            let options = LoadOptions { epoch: sale.epoch, booked, await_replay: closed, share };
            self.stock.stage(bucket, sale.epoch, &holders).await?;
            if self.stock.load(sale, bucket, options).await? {
                self.metrics.rebuilt.inc();
                info!(%bucket, epoch = sale.epoch, booked, holders = holders.len(), "bucket loaded into Redis");
            }
        }
        Ok(())
    }

    /// Orders in the outbox that have not reached the database.
    async fn in_flight(&self, bucket: Bucket) -> anyhow::Result<Vec<HeldUnits>> {
        let (orders, _) = OutboxItem::partition(&outbox::all(&mut self.stock.connection(), bucket).await?);
        let mut all: Vec<HeldUnits> = orders.iter().map(HeldUnits::of).collect();
        let ids: Vec<OrderId> = all.iter().map(|hold| hold.order_id).collect();
        let persisted = self.store.order_statuses(&ids).await?;
        all.retain(|hold| !persisted.contains_key(&hold.order_id));
        Ok(all)
    }

    /// Unloads ended sales without orders in flight.
    async fn retire(&self, sales: &[Sale], survey: &[(Bucket, Option<StockCounters>)]) -> anyhow::Result<()> {
        let now = self.clock.now();
        for id in self.store.retirable_sales(now - RETIRE_AFTER).await? {
            let of_sale: Vec<_> = survey.iter().filter(|(bucket, _)| bucket.sale() == Some(id)).copied().collect();
            let empty = StockCounters::of_sale(&of_sale).is_some_and(|loaded| loaded.outbox == 0);
            if let Some(sale) = sales.iter().find(|sale| sale.id == id).filter(|_| empty) {
                self.store.retire_sale(id, now).await?;
                self.unload(sale).await?;
                info!(sale = %id, "sale retired; its keys were deleted from Redis");
            }
        }
        Ok(())
    }

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
        let (Some(sale), Some((_, Some(loaded)))) = (bucket.sale(), survey.first()) else { return Ok(None) };
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
            epoch: loaded.epoch,
            booked: loaded.booked,
            holds,
            in_flight,
            orders: HashMap::new(),
            statuses: HashMap::new(),
        }))
    }
}

/// All live orders of a sale.
pub async fn live_orders(store: &Store, sale: SaleId) -> anyhow::Result<Vec<HeldUnits>> {
    let mut all = Vec::new();
    let mut after: Option<OrderId> = None;
    loop {
        let mut page = store.live_orders(sale, after, PAGE_SIZE).await?;
        let Some(last) = page.last() else { return Ok(all) };
        after = Some(last.order_id);
        all.append(&mut page);
    }
}

/// The bucket that holds the units of an order.
fn bucket_of(sale: &Sale, hold: &HeldUnits) -> Bucket {
    Bucket::of_user(sale.id, sale.rush.buckets, hold.user_id)
}

fn key_state(sale: &Sale, loaded: &Option<StockCounters>) -> KeyState<i64> {
    match loaded {
        Some(loaded) if loaded.awaits_replay() => KeyState::Closed(loaded.epoch),
        Some(_) => KeyState::Open,
        None if sale.epoch == 0 => KeyState::New,
        None => KeyState::Lost,
    }
}
