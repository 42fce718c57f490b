//! The stock_sync in Redis: loads sales ahead of time, notices a master that has lost them, and keeps definitions and
//! counters in step with the database.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;
use tracing::{info, warn};

use super::reconcile::{self, Differences, Picture};
use crate::catalogue::Catalogue;
use crate::clock::Clock;
use crate::domain::Bucket;
use crate::domain::claim::Hold;
use crate::domain::{OrderId, OutboxItem, Sale, SaleId, UserId};
use crate::metrics::Metrics;
use crate::pipeline::outbox;
use crate::pipeline::rabbit::Monitor;
use crate::stock::load::{Life, Loaded, Mend, Shared};
use crate::stock::redis::RedisStock;
use crate::store::{HeldUnits, Store};

/// Before a lost sale is loaded again, orders that are under way should have reached the database: RabbitMQ has been
/// empty for so long, and so has every consumer's hand, since a transaction takes milliseconds.
const QUIET_FOR: Duration = Duration::from_millis(1_500);
/// Not longer, though: the sale is to be open again within a minute, and the database guards against overselling.
const WAIT_AT_MOST: Duration = Duration::from_secs(40);
/// After the load, every server repeats what it promised lately; only then others may buy again.
const SETTLE_FOR: Duration = Duration::from_secs(2);
const SYNC_EVERY: Duration = Duration::from_secs(1);
/// How long an ended sale stays loaded, for those who still look at it.
pub const RETIRE_AFTER: Duration = Duration::from_secs(60);
const PAGE: i64 = 1000;
/// How long a comparison of single holds that found nothing wrong is enough, while the counts go on differing by the same:
/// with a backlog in the outbox they do for good reason, and a million holds are work for Redis and the database.
const EXPLAINED_FOR: Duration = Duration::from_secs(60);

/// What data control remembers between its steps; a successor finds it out anew.
#[derive(Default)]
struct Memory {
    /// Buckets that the master has lost, and since when nothing is under way.
    lost: HashMap<Bucket, Lost>,
    /// Buckets that were loaded a moment ago and wait for promises to be repeated.
    settling: HashMap<Bucket, Instant>,
    synced: Option<Instant>,
    /// Sales whose counts differed at the last look.
    drifting: HashMap<SaleId, Drift>,
}

/// By how much the master books other units than the database has sold.
#[derive(Clone, Copy)]
struct Drift {
    units: i64,
    /// When single holds were compared because of it and all was right: the rest is under way.
    explained: Option<Instant>,
}

struct Lost {
    since: Instant,
    quiet_since: Option<Instant>,
}

pub struct StockSync {
    stock: RedisStock,
    store: Store,
    catalogue: Arc<Catalogue>,
    monitor: Option<Arc<Monitor>>,
    clock: Clock,
    metrics: Arc<Metrics>,
    memory: Mutex<Memory>,
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
        StockSync { stock, store, catalogue, monitor, clock, metrics, memory: Mutex::default() }
    }

    /// What the master holds of the active sales, as far as they are wholly loaded.
    pub async fn survey(&self) -> anyhow::Result<HashMap<SaleId, Loaded>> {
        let survey = self.stock.survey(&self.catalogue.active_buckets()).await?;
        let by_sale = survey.chunk_by(|(one, _), (other, _)| one.owner == other.owner);
        Ok(by_sale.filter_map(|of_sale| Some((of_sale[0].0.sale()?, Loaded::of_sale(of_sale)?))).collect())
    }

    /// What the master holds of each bucket of one sale; `None` where one is not loaded.
    pub async fn look_at(&self, sale: SaleId) -> anyhow::Result<Vec<(Bucket, Option<Loaded>)>> {
        let Some(entry) = self.catalogue.entry(sale).await? else { return Ok(Vec::new()) };
        let buckets: Vec<Bucket> = Bucket::of_sale(&entry.sale).collect();
        Ok(self.stock.survey(&buckets).await?)
    }

    /// What the buckets of a split sale believe to have; `None` where one is not loaded.
    pub async fn shares(&self, sale: &Sale) -> anyhow::Result<Vec<Option<Shared>>> {
        Ok(self.stock.shares(&Bucket::of_sale(sale).collect::<Vec<_>>()).await?)
    }

    /// Takes away a sale that was deleted or is over.
    pub async fn forget(&self, sale: &Sale) -> anyhow::Result<()> {
        for bucket in Bucket::of_sale(sale) {
            self.stock.unload(bucket).await?;
        }
        if sale.rush.buckets > 1 {
            self.stock.unload(Bucket::whole(sale.id)).await?;
        }
        Ok(())
    }

    /// One step: loads what is missing, passes on new definitions, sets counters back, retires what is over.
    pub async fn tend(&self) -> anyhow::Result<()> {
        let mut memory = self.memory.lock().await;
        let sales = self.store.active_sales().await?;
        let buckets: Vec<Bucket> = sales.iter().flat_map(Bucket::of_sale).collect();
        let survey = self.stock.survey(&buckets).await?;
        memory.lost.retain(|bucket, _| survey.contains(&(*bucket, None)));
        let quiet = !memory.lost.is_empty() && self.is_quiet().await;
        let of_sales = sales.iter().flat_map(|sale| std::iter::repeat_n(sale, sale.rush.buckets.into()));
        let mut missing: BTreeMap<(SaleId, bool), Vec<Bucket>> = BTreeMap::new();
        for (sale, &(bucket, loaded)) in of_sales.zip(&survey) {
            match loaded {
                Some(loaded) => self.keep_defined(sale, bucket, &loaded, &mut memory).await?,
                None if sale.epoch == 0 => missing.entry((sale.id, false)).or_default().push(bucket),
                None if waited_enough(bucket, quiet, &mut memory) => {
                    missing.entry((sale.id, true)).or_default().push(bucket);
                }
                None => {}
            }
        }
        for ((sale, settle), buckets) in missing {
            self.load(sale, &buckets, settle).await?;
            if settle {
                memory.lost.retain(|bucket, _| !buckets.contains(bucket));
                memory.settling.extend(buckets.into_iter().map(|bucket| (bucket, Instant::now())));
            }
        }
        if memory.synced.is_none_or(|at| at.elapsed() >= SYNC_EVERY) {
            memory.synced = Some(Instant::now());
            self.stock.sync_access(&buckets).await?;
            self.stock.add_up(&sales, &survey).await?;
            self.metrics.outbox_length.set(survey.iter().filter_map(|(_, l)| *l).map(|l| l.outbox).sum());
            self.retire(&sales, &survey).await?;
        }
        Ok(())
    }

    async fn keep_defined(
        &self,
        sale: &Sale,
        bucket: Bucket,
        loaded: &Loaded,
        memory: &mut Memory,
    ) -> anyhow::Result<()> {
        let settled = memory.settling.get(&bucket).is_none_or(|at| at.elapsed() >= SETTLE_FOR);
        if settled && loaded.version < sale.version {
            self.stock.define_bucket(sale, bucket).await?;
            if memory.settling.remove(&bucket).is_some() {
                info!(%bucket, state = %sale.state, "a bucket that was lost is as it should be again");
            }
        }
        Ok(())
    }

    /// Whether no order waits in RabbitMQ. Without it orders are in the outbox or in a consumer's hand.
    async fn is_quiet(&self) -> bool {
        match &self.monitor {
            Some(monitor) => monitor.depths().await.is_ok_and(|depths| depths.ready == 0),
            None => true,
        }
    }

    /// Loads buckets of a sale from the database and what is still in their outboxes.
    async fn load(&self, sale: SaleId, buckets: &[Bucket], settle: bool) -> anyhow::Result<()> {
        // What it is now: it may have been split otherwise since we looked.
        let sale = &self.store.next_epoch(sale).await?;
        let mut holders: HashMap<Bucket, HashMap<UserId, HeldUnits>> = HashMap::new();
        for bucket in Bucket::of_sale(sale).filter(|bucket| buckets.contains(bucket)) {
            // The outboxes first: what leaves them meanwhile is found in the database.
            let hold = |hold: HeldUnits| (hold.user_id, hold);
            holders.insert(bucket, self.on_their_way(bucket).await?.into_iter().map(hold).collect());
        }
        for hold in self.live_orders(sale.id).await? {
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
            let life = Life { epoch: sale.epoch, booked, settle, share };
            self.stock.stage(bucket, life.epoch, &holders).await?;
            if self.stock.load(sale, bucket, life).await? {
                self.metrics.rebuilt.inc();
                info!(%bucket, life.epoch, booked, holders = holders.len(), "loaded into Redis");
            }
        }
        Ok(())
    }

    async fn live_orders(&self, sale: SaleId) -> anyhow::Result<Vec<HeldUnits>> {
        let mut all = Vec::new();
        let mut after: Option<OrderId> = None;
        loop {
            let mut page = self.store.live_orders(sale, after, PAGE).await?;
            let Some(last) = page.last() else { return Ok(all) };
            after = Some(last.order_id);
            all.append(&mut page);
        }
    }

    /// Orders in the outbox that have not reached the database.
    async fn on_their_way(&self, bucket: Bucket) -> anyhow::Result<Vec<HeldUnits>> {
        let (orders, _) = OutboxItem::apart(&outbox::all(&mut self.stock.connection(), bucket).await?);
        let mut all: Vec<HeldUnits> = orders.iter().map(HeldUnits::of).collect();
        let ids: Vec<OrderId> = all.iter().map(|hold| hold.order_id).collect();
        let landed = self.store.statuses(&ids).await?;
        all.retain(|hold| !landed.contains_key(&hold.order_id));
        Ok(all)
    }

    /// Ended sales of which nothing is under way leave Redis.
    async fn retire(&self, sales: &[Sale], survey: &[(Bucket, Option<Loaded>)]) -> anyhow::Result<()> {
        let now = self.clock.now();
        for id in self.store.retirable(now - RETIRE_AFTER).await? {
            let of_sale: Vec<_> = survey.iter().filter(|(bucket, _)| bucket.sale() == Some(id)).copied().collect();
            let empty = Loaded::of_sale(&of_sale).is_some_and(|loaded| loaded.outbox == 0);
            if let Some(sale) = sales.iter().find(|sale| sale.id == id).filter(|_| empty) {
                self.store.retire(id, now).await?;
                self.forget(sale).await?;
                info!(sale = %id, "retired: its keys have left Redis");
            }
        }
        Ok(())
    }

    /// Compares counts, and single holds where the counts differ by the same twice in a row; mends what is wrong.
    pub async fn reconcile(&self) -> anyhow::Result<()> {
        let before = std::mem::take(&mut self.memory.lock().await.drifting);
        let mut drifting = HashMap::new();
        for (sale, units) in self.drifts().await? {
            let same = before.get(&sale.id).filter(|before| before.units == units);
            let mut explained = same.and_then(|drift| drift.explained).filter(|at| at.elapsed() < EXPLAINED_FOR);
            if same.is_some() && explained.is_none() {
                explained = self.mend(&sale).await?.then(Instant::now);
            }
            drifting.insert(sale.id, Drift { units, explained });
        }
        self.memory.lock().await.drifting = drifting;
        Ok(())
    }

    /// Sales for which the master books other units than the database has sold.
    async fn drifts(&self) -> anyhow::Result<Vec<(Sale, i64)>> {
        let sales = self.store.active_sales().await?;
        let survey = self.survey().await?;
        let drift =
            |sale: Sale| survey.get(&sale.id).map(|loaded| loaded.booked - sale.sold).map(|drift| (sale, drift));
        Ok(sales.into_iter().filter_map(drift).filter(|(_, drift)| *drift != 0).collect())
    }

    /// Mends single holds of a sale. The answer is whether nothing was wrong and nothing is in doubt.
    async fn mend(&self, sale: &Sale) -> anyhow::Result<bool> {
        let mut all_right = true;
        for (bucket, picture) in self.pictures(sale).await? {
            let Some(picture) = picture else {
                all_right = false;
                continue;
            };
            let found = reconcile::compare(&picture, self.clock.now());
            all_right &= found.is_empty() && found.undecided == 0;
            if !found.is_empty() {
                self.mend_bucket(bucket, picture.epoch, found).await?;
            }
        }
        Ok(all_right)
    }

    async fn mend_bucket(&self, bucket: Bucket, epoch: i64, found: Differences) -> anyhow::Result<()> {
        self.store.release_again(&found.dead_holds).await?;
        let mends: Vec<Mend> = found
            .missing_holds
            .iter()
            .map(|hold| Mend::Hold(*hold))
            .chain(found.lost_orders.iter().map(|hold| Mend::Send(*hold)))
            .collect();
        let mended = self.stock.mend(bucket, epoch, &mends).await?;
        warn!(
            %bucket,
            dead_holds = found.dead_holds.len(),
            missing_holds = found.missing_holds.len(),
            lost_orders = found.lost_orders.len(),
            mended,
            "Redis and the database differed"
        );
        Ok(())
    }

    /// Both sides of each bucket of a sale, `None` where one is not loaded. Read in such an order that what moves meanwhile
    /// is seen twice rather than never.
    pub async fn pictures(&self, sale: &Sale) -> anyhow::Result<Vec<(Bucket, Option<Picture>)>> {
        let mut pictures = Vec::new();
        for bucket in Bucket::of_sale(sale) {
            pictures.push((bucket, self.half_a_picture(bucket).await?));
        }
        let mut orders: HashMap<Bucket, HashMap<UserId, HeldUnits>> = HashMap::new();
        for hold in self.live_orders(sale.id).await? {
            orders.entry(bucket_of(sale, &hold)).or_default().insert(hold.user_id, hold);
        }
        for (bucket, picture) in &mut pictures {
            let Some(picture) = picture else { continue };
            picture.orders = orders.remove(bucket).unwrap_or_default();
            let matches = |user: &UserId, hold: &Hold| {
                picture.orders.get(user).is_some_and(|order| order.order_id == hold.order_id)
            };
            let unmatched = picture.holds.iter().filter(|(user, hold)| !matches(user, hold));
            let ids: Vec<OrderId> = unmatched.map(|(_, hold)| hold.order_id).collect();
            picture.statuses = self.store.statuses(&ids).await?;
        }
        Ok(pictures)
    }

    /// What Redis says.
    async fn half_a_picture(&self, bucket: Bucket) -> anyhow::Result<Option<Picture>> {
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
        let on_their_way = self.on_their_way(bucket).await?.into_iter().map(|hold| hold.order_id).collect();
        Ok(Some(Picture {
            sale,
            epoch: loaded.epoch,
            booked: loaded.booked,
            holds,
            on_their_way,
            orders: HashMap::new(),
            statuses: HashMap::new(),
        }))
    }
}

/// Where the units of an order are held.
fn bucket_of(sale: &Sale, hold: &HeldUnits) -> Bucket {
    Bucket::of_user(sale.id, sale.rush.buckets, hold.user_id)
}

/// Whether a bucket that the master has lost may be loaded again.
fn waited_enough(bucket: Bucket, quiet: bool, memory: &mut Memory) -> bool {
    let lost = memory.lost.entry(bucket).or_insert_with(|| {
        warn!(%bucket, "the master has lost a bucket; closed until it is loaded again");
        Lost { since: Instant::now(), quiet_since: None }
    });
    lost.quiet_since = if quiet { lost.quiet_since.or(Some(Instant::now())) } else { None };
    let ready = lost.quiet_since.is_some_and(|at| at.elapsed() >= QUIET_FOR);
    ready || lost.since.elapsed() >= WAIT_AT_MOST
}
