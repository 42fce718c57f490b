//! Stock sync: keeps sales in Redis in step with the database. It loads them ahead of time, recovers what the master
//! lost, passes on definitions, repairs single holds and unloads sales that are over.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use boxed::boxed;
use tokio::sync::Mutex;
use tokio::time::Instant;
use tracing::{info, warn};

use crate::reconcile::{self, BucketSnapshot, HoldMismatches};
use base::clock::Clock;
use base::metrics::Metrics;
use domain::claim::Hold;
use domain::sale::{SaleMove, SaleState};
use domain::{Bucket, OrderId, OutboxItem, Sale, SaleId, UserId};
use engine::catalogue::Catalogue;
use engine::pipeline::outbox;
use engine::pipeline::rabbit::Monitor;
use engine::pipeline::recovery::{Action, KeyState, Recovery, SERVE_TIMEOUT};
use engine::redis::replay::{self, Generation, LoadedGeneration};
use engine::stock::Stock;
use engine::stock::load::{BucketShare, BucketState, HoldRepair, LoadOptions, StockCounters};
use engine::stock::redis::RedisStock;
use store::{HeldUnits, SaleChange, Store};

/// How long recovery waits for orders in flight, because a sale should be open again within a minute. If an order was
/// still in flight then, the database rejects what is oversold.
const MAX_DRAIN_WAIT: Duration = Duration::from_secs(40);
const COUNTERS_INTERVAL: Duration = Duration::from_secs(1);
/// How long an ended sale stays loaded, as shoppers keep reading its status for a while.
pub(crate) const RETIRE_AFTER: Duration = Duration::from_secs(60);
/// Until this long after a sale was retired its keys are deleted again and again: a process may have died halfway, and
/// a relay that still knew the sale may have created an outbox again.
const UNLOAD_UNTIL: Duration = Duration::from_secs(3_600);
/// The same for a process that takes over.
const UNLOAD_UNTIL_AT_START: Duration = Duration::from_secs(7 * 24 * 3_600);
const UNLOAD_INTERVAL: Duration = Duration::from_secs(30);
const PAGE_SIZE: i64 = 1000;
/// Holds that one step compares with the database before it opens buckets; it takes about a second. Larger sales are
/// compared after they were opened.
const MAX_COMPARED_BEFORE_OPENING: i64 = 50_000;

/// What stock sync remembers from earlier steps. Another process can take over without it.
struct SyncState {
    recovery: Recovery<Bucket, Generation>,
    counters_synced: Option<Instant>,
    unloaded: Option<Instant>,
    comparisons: HashMap<SaleId, CountComparison>,
    /// How many steps opened buckets because their master may have lost writes. Comparisons begun before such a step
    /// are void.
    opened: u64,
}

pub struct StockSync {
    stock: RedisStock,
    store: Store,
    catalogue: Arc<Catalogue>,
    clock: Clock,
    metrics: Arc<Metrics>,
    state: Mutex<SyncState>,
}

#[boxed]
impl StockSync {
    pub fn new(
        stock: RedisStock,
        store: Store,
        catalogue: Arc<Catalogue>,
        monitor: Option<Arc<Monitor>>,
        clock: Clock,
        metrics: Arc<Metrics>,
    ) -> StockSync {
        let recovery = Recovery::new("sale", monitor, Some(MAX_DRAIN_WAIT));
        let state =
            SyncState { recovery, counters_synced: None, unloaded: None, comparisons: HashMap::new(), opened: 0 };
        StockSync { stock, store, catalogue, clock, metrics, state: Mutex::new(state) }
    }

    /// The counters of the active sales of which every bucket is loaded.
    pub async fn survey(&self) -> anyhow::Result<HashMap<SaleId, StockCounters>> {
        let survey = self.stock.survey(&self.catalogue.active_buckets()).await?;
        let by_sale = survey.chunk_by(|(one, _), (other, _)| one.owner == other.owner);
        Ok(by_sale.filter_map(|of_sale| Some((of_sale[0].0.sale()?, StockCounters::of_sale(of_sale)?))).collect())
    }

    /// The state of each bucket of one sale.
    pub async fn survey_sale(&self, sale: SaleId) -> anyhow::Result<Vec<(Bucket, BucketState)>> {
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

    /// One step: loads or recovers what is missing, passes on definitions, retires what is over. Trouble with one sale
    /// or bucket does not delay the others; the first error is returned.
    pub async fn step(&self) -> anyhow::Result<()> {
        let mut state = self.state.lock().await;
        let sales = self.store.sales().active().await?;
        let buckets: Vec<Bucket> = sales.iter().flat_map(Bucket::of_sale).collect();
        let survey = self.stock.survey(&buckets).await?;
        let of_sales = sales.iter().flat_map(|sale| vec![sale; sale.rush.buckets.into()]);
        let reachable: Vec<(&Sale, Bucket, BucketState)> = of_sales
            .zip(&survey)
            .filter(|(_, (_, found))| *found != BucketState::Unreachable)
            .map(|(sale, &(bucket, found))| (sale, bucket, found))
            .collect();
        let mut key_states = Vec::with_capacity(reachable.len());
        let mut living = None;
        for &(sale, bucket, found) in &reachable {
            key_states.push((bucket, self.key_state(sale, bucket, found, &mut living).await?));
        }
        let actions = state.recovery.step(key_states).await;
        let mut failure = None;
        let mut missing: BTreeMap<(SaleId, bool), Vec<Bucket>> = BTreeMap::new();
        let mut opening: Vec<(&Sale, Bucket, StockCounters)> = Vec::new();
        for ((sale, bucket, found), action) in reachable.into_iter().zip(actions) {
            let done = match (action, found.loaded()) {
                (Action::LoadOpen | Action::LoadClosed, _) => {
                    let closed = action == Action::LoadClosed;
                    missing.entry((sale.id, closed)).or_default().push(bucket);
                    Ok(())
                }
                (Action::Wait, _) | (_, None) => Ok(()),
                (Action::Open, Some(loaded)) => {
                    opening.push((sale, bucket, *loaded));
                    Ok(())
                }
                (Action::Maintain, Some(loaded)) => self.pass_on(sale, bucket, loaded).await,
            };
            failure = done.err().or(failure);
        }
        if !opening.is_empty() {
            state.comparisons.clear();
            state.opened += 1;
            failure = self.open_all(&opening).await.err().or(failure);
        }
        for ((sale, closed), buckets) in missing {
            match self.load(sale, &buckets, closed).await {
                Ok(()) => buckets.into_iter().for_each(|bucket| state.recovery.loaded(bucket)),
                Err(error) => failure = Some(error),
            }
        }
        if state.counters_synced.is_none_or(|at| at.elapsed() >= COUNTERS_INTERVAL) {
            state.counters_synced = Some(Instant::now());
            failure = self.stock.write_sale_flags(&sales, &survey).await.err().map(Into::into).or(failure);
            self.metrics.outbox_length.set(survey.iter().filter_map(|(_, l)| l.loaded()).map(|l| l.outbox).sum());
            let ended: HashSet<SaleId> =
                sales.iter().filter(|sale| sale.state == SaleState::Ended).map(|sale| sale.id).collect();
            let held = survey.iter().filter(|(bucket, _)| bucket.sale().is_some_and(|sale| ended.contains(&sale)));
            self.metrics.ended_units.set(held.filter_map(|(_, l)| l.loaded()).map(|l| l.booked).sum());
            self.retire(&sales, &survey).await?;
        }
        self.unload_retired(&mut state).await?;
        failure.map_or(Ok(()), Err)
    }

    /// `living` is read on first use: the processes that have to replay their grants to a closed bucket.
    async fn key_state(
        &self,
        sale: &Sale,
        bucket: Bucket,
        found: BucketState,
        living: &mut Option<HashSet<String>>,
    ) -> anyhow::Result<KeyState<Generation>> {
        let Some(loaded) = found.loaded() else {
            return Ok(if sale.epoch == 0 { KeyState::New } else { KeyState::Lost });
        };
        let LoadedGeneration { present, open } = loaded.generation;
        if open {
            return Ok(KeyState::Open);
        }
        let living = match living {
            Some(living) => living,
            None => living.insert(self.store.processes().living(SERVE_TIMEOUT).await?),
        };
        let announced = replay::announced(&self.stock.connection(), bucket, present).await?;
        let replayed = living.is_subset(&announced);
        Ok(if replayed { KeyState::Replayed(present) } else { KeyState::Closed(present) })
    }

    /// Opens buckets to which grants have been replayed. Buckets of one sale must be next to each other.
    async fn open_all(&self, buckets: &[(&Sale, Bucket, StockCounters)]) -> anyhow::Result<()> {
        let (mut comparable, mut failure) = (MAX_COMPARED_BEFORE_OPENING, None);
        for of_sale in buckets.chunk_by(|(one, ..), (other, ..)| one.id == other.id) {
            failure = self.open(of_sale[0].0, of_sale, &mut comparable).await.err().or(failure);
        }
        failure.map_or(Ok(()), Err)
    }

    /// Opens buckets of one sale. First repairs the holds of orders that the database has, because processes replay
    /// only grants that the database does not have. Otherwise units would be granted twice, or to no one, until the
    /// next comparison.
    async fn open(
        &self,
        sale: &Sale,
        buckets: &[(&Sale, Bucket, StockCounters)],
        comparable: &mut i64,
    ) -> anyhow::Result<()> {
        let booked: i64 = buckets.iter().map(|(_, _, loaded)| loaded.booked).sum();
        let holds = sale.sold.max(booked);
        if holds <= *comparable {
            *comparable -= holds;
            let buckets: Vec<Bucket> = buckets.iter().map(|(_, bucket, _)| *bucket).collect();
            // Repair a second time for accounts that have bought again: their holds can be added once the holds of
            // earlier orders are gone.
            if !self.repair_holds(sale, &buckets).await? {
                self.repair_holds(sale, &buckets).await?;
            }
        }
        for (_, bucket, loaded) in buckets {
            // The master may have lost the waitlist's flag and a pause of the sale.
            self.stock.keep_for_waiters(*bucket).await?;
            self.pass_on(sale, *bucket, loaded).await?;
            replay::open(&self.stock.connection(), *bucket, loaded.generation.present).await?;
            let Generation { epoch, server } = loaded.generation.present;
            info!(%bucket, epoch, %server, "bucket opened: grants have been replayed");
        }
        Ok(())
    }

    /// Passes on a newer definition. The database may also be behind, after a failover that lost a change. Then its
    /// definition counts, except that a sale that does not sell in Redis is paused in the database too. A lost change and
    /// the next one may also have the same version: then the definition of the database gets a newer one.
    async fn pass_on(&self, sale: &Sale, bucket: Bucket, loaded: &StockCounters) -> anyhow::Result<()> {
        if loaded.version < sale.version {
            self.stock.define_bucket(sale, bucket).await?;
        }
        let is_lost = |sale: &Sale| {
            let differs = loaded.state != sale.state || (bucket.part().is_none() && loaded.share != sale.total);
            loaded.version > sale.version || (loaded.version == sale.version && differs)
        };
        if !is_lost(sale) {
            return Ok(());
        }
        // The change may have been made between the two reads.
        let Some(sale) = self.store.sales().get(sale.id).await?.filter(is_lost) else { return Ok(()) };
        warn!(%bucket, in_redis = loaded.version, in_database = sale.version, "the database has lost a change of a sale");
        if loaded.version > sale.version && sale.state == SaleState::Live && loaded.state != SaleState::Live {
            let pause = SaleChange::Move(SaleMove::Pause);
            let _ = self.store.sales().change(sale.id, &pause, "data control", self.store.now().await?).await?;
        }
        Ok(self.store.sales().raise_version(sale.id, loaded.version).await?)
    }

    /// Loads buckets of a sale from the database and their outboxes.
    async fn load(&self, sale: SaleId, buckets: &[Bucket], closed: bool) -> anyhow::Result<()> {
        // A master that takes no writes must not use up epochs.
        for &bucket in buckets {
            self.stock.check_writable(bucket).await?;
        }
        // Read the sale again: the number of buckets may have changed since the survey.
        let sale = &self.store.sales().next_epoch(sale).await?;
        let mut holders: HashMap<Bucket, HashMap<UserId, HeldUnits>> = HashMap::new();
        for bucket in Bucket::of_sale(sale).filter(|bucket| buckets.contains(bucket)) {
            // Read the outbox first: an order that leaves it now is found in the database later.
            let in_flight = self.in_flight(bucket).await?;
            holders.insert(bucket, in_flight.into_iter().map(|hold| (hold.user_id, hold)).collect());
        }
        for hold in live_orders(&self.store, sale.id).await? {
            if let Some(of_bucket) = holders.get_mut(&bucket_of(sale, &hold)) {
                of_bucket.insert(hold.user_id, hold);
            }
        }
        let waited_units = self.store.waitlists().waited_units(sale.id).await?;
        let shares = match sale.rush.buckets {
            1 => Vec::new(),
            count => self.store.sales().allotments(sale.id, count).await?,
        };
        for (bucket, holders) in holders {
            let share = bucket.part().and_then(|part| shares.get(usize::from(part)).copied());
            let holders: Vec<HeldUnits> = holders.into_values().collect();
            let booked = holders.iter().map(|hold| i64::from(hold.quantity)).sum();
            let options =
                LoadOptions { epoch: sale.epoch, booked, holders: holders.len(), closed, share, waited_units };
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
        let persisted = self.store.orders().order_statuses(&ids).await?;
        all.retain(|hold| !persisted.contains_key(&hold.order_id));
        Ok(all)
    }

    /// Deletes keys of retired sales that a process left behind.
    async fn unload_retired(&self, state: &mut SyncState) -> anyhow::Result<()> {
        let since = match state.unloaded {
            Some(at) if at.elapsed() < UNLOAD_INTERVAL => return Ok(()),
            Some(_) => UNLOAD_UNTIL,
            None => UNLOAD_UNTIL_AT_START,
        };
        for sale in self.store.sales().sales_retired_since(self.store.now().await? - since).await? {
            self.unload(&sale).await?;
        }
        state.unloaded = Some(Instant::now());
        Ok(())
    }

    /// Unloads ended sales whose orders are all in the database.
    async fn retire(&self, sales: &[Sale], survey: &[(Bucket, BucketState)]) -> anyhow::Result<()> {
        let now = self.store.now().await?;
        for id in self.store.sales().retirable_sales(now - RETIRE_AFTER).await? {
            let of_sale: Vec<_> = survey.iter().filter(|(bucket, _)| bucket.sale() == Some(id)).copied().collect();
            if let Some(sale) = sales.iter().find(|sale| sale.id == id).filter(|_| is_settled(&of_sale)) {
                // The survey may be old by now.
                if !is_settled(&self.stock.survey(&Bucket::of_sale(sale).collect::<Vec<_>>()).await?) {
                    continue;
                }
                self.store.sales().retire(id, now).await?;
                self.unload(sale).await?;
                info!(sale = %id, "sale retired; its keys were deleted from Redis");
            }
        }
        Ok(())
    }
}

/// Whether no bucket of a sale has orders in flight. A closed bucket may have lost some, which will be replayed.
fn is_settled(survey: &[(Bucket, BucketState)]) -> bool {
    survey.iter().all(|(_, state)| state.loaded().is_some_and(|it| it.outbox == 0 && it.generation.open))
}

/// All live orders of a sale.
#[boxed]
pub async fn live_orders(store: &Store, sale: SaleId) -> anyhow::Result<Vec<HeldUnits>> {
    let mut all = Vec::new();
    let mut after: Option<OrderId> = None;
    loop {
        let mut page = store.orders().live_orders(sale, after, PAGE_SIZE).await?;
        let Some(last) = page.last() else { return Ok(all) };
        after = Some(last.order_id);
        all.append(&mut page);
    }
}

/// The bucket that holds the units of an order.
fn bucket_of(sale: &Sale, hold: &HeldUnits) -> Bucket {
    Bucket::of_user(sale.id, sale.rush.buckets, hold.user_id)
}

// The repair: compares the holds of sales in Redis with their orders in the database, and repairs what differs.

/// How long a comparison of single holds without a mismatch stays valid while the counts differ by the same units: a
/// backlog in the outbox explains the difference, and comparing a million holds loads Redis and the database.
const EXPLANATION_TTL: Duration = Duration::from_secs(60);
/// The same while the counts are equal. Opposite errors cancel each other in a count: a master that loses its last
/// moment forgets as many releases as grants.
const AGREEMENT_TTL: Duration = Duration::from_secs(600);

/// What the last comparison of a sale's counts found.
#[derive(Clone, Copy)]
struct CountComparison {
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

#[boxed]
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
    async fn repair_holds(&self, sale: &Sale, buckets: &[Bucket]) -> anyhow::Result<bool> {
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
