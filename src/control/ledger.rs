//! The ledger in Redis: loads sales ahead of time, notices a master that has lost them, and keeps definitions and
//! counters in step with the database.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;
use tracing::{info, warn};

use super::reconcile::{self, Picture};
use crate::catalogue::Catalogue;
use crate::clock::Clock;
use crate::domain::{OrderId, Sale, SaleId, UserId};
use crate::metrics::Metrics;
use crate::orders::outbox;
use crate::orders::rabbit::Monitor;
use crate::stock::load::{Loaded, Mend};
use crate::stock::redis::RedisStock;
use crate::stock::{Bucket, Hold};
use crate::store::{Release, Store};

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
const OUTBOX_PAGE: usize = 64;

/// What data control remembers between its steps; a successor finds it out anew.
#[derive(Default)]
struct Memory {
    /// Buckets that the master has lost, and since when nothing is under way.
    lost: HashMap<Bucket, Lost>,
    /// Buckets that were loaded a moment ago and wait for promises to be repeated.
    settling: HashMap<Bucket, Instant>,
    synced: Option<Instant>,
    /// Sales whose counts differed at the last look.
    drifting: HashMap<SaleId, i64>,
}

struct Lost {
    since: Instant,
    quiet_since: Option<Instant>,
}

pub struct Ledger {
    stock: RedisStock,
    store: Store,
    catalogue: Arc<Catalogue>,
    monitor: Option<Arc<Monitor>>,
    clock: Clock,
    metrics: Arc<Metrics>,
    memory: Mutex<Memory>,
}

impl Ledger {
    pub fn new(
        stock: RedisStock,
        store: Store,
        catalogue: Arc<Catalogue>,
        monitor: Option<Arc<Monitor>>,
        clock: Clock,
        metrics: Arc<Metrics>,
    ) -> Ledger {
        Ledger { stock, store, catalogue, monitor, clock, metrics, memory: Mutex::default() }
    }

    /// What the master holds of the active sales, as far as they are wholly loaded.
    pub async fn survey(&self) -> anyhow::Result<HashMap<SaleId, Loaded>> {
        let survey = self.stock.survey(&self.catalogue.active_buckets()).await?;
        let by_sale = survey.chunk_by(|(one, _), (other, _)| one.owner == other.owner);
        Ok(by_sale.filter_map(|of_sale| Some((of_sale[0].0.sale(), Loaded::of_sale(of_sale)?))).collect())
    }

    /// What the master holds of one sale; `None` when it is not wholly loaded.
    pub async fn look_at(&self, sale: SaleId) -> anyhow::Result<Option<Loaded>> {
        let Some(entry) = self.catalogue.entry(sale).await? else { return Ok(None) };
        let buckets: Vec<Bucket> = Bucket::of_sale(&entry.sale).collect();
        Ok(Loaded::of_sale(&self.stock.survey(&buckets).await?))
    }

    /// Takes away a sale that was deleted or is over.
    pub async fn forget(&self, sale: &Sale) -> anyhow::Result<()> {
        for bucket in Bucket::of_sale(sale) {
            self.stock.unload(bucket).await?;
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
        for (sale, &(bucket, loaded)) in of_sales.zip(&survey) {
            match loaded {
                Some(loaded) => self.keep_defined(sale, bucket, &loaded, &mut memory).await?,
                None if sale.epoch == 0 => self.load(sale.id, bucket, false).await?,
                None => self.recover(bucket, quiet, &mut memory).await?,
            }
        }
        if memory.synced.is_none_or(|at| at.elapsed() >= SYNC_EVERY) {
            memory.synced = Some(Instant::now());
            self.stock.sync_access(&buckets).await?;
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

    async fn recover(&self, bucket: Bucket, quiet: bool, memory: &mut Memory) -> anyhow::Result<()> {
        let lost = memory.lost.entry(bucket).or_insert_with(|| {
            warn!(%bucket, "the master has lost a bucket; closed until it is loaded again");
            Lost { since: Instant::now(), quiet_since: None }
        });
        lost.quiet_since = if quiet { lost.quiet_since.or(Some(Instant::now())) } else { None };
        let ready = lost.quiet_since.is_some_and(|at| at.elapsed() >= QUIET_FOR);
        if ready || lost.since.elapsed() >= WAIT_AT_MOST {
            self.load(bucket.sale(), bucket, true).await?;
            memory.lost.remove(&bucket);
            memory.settling.insert(bucket, Instant::now());
        }
        Ok(())
    }

    /// Loads a bucket from the database and what is still in its outbox.
    async fn load(&self, sale: SaleId, bucket: Bucket, settle: bool) -> anyhow::Result<()> {
        let sale = &self.store.next_epoch(sale).await?;
        if !Bucket::of_sale(sale).any(|of_sale| of_sale == bucket) {
            // It was split otherwise since we looked.
            return Ok(());
        }
        let epoch = sale.epoch;
        let mut holders: HashMap<UserId, Release> = HashMap::new();
        // The outbox first: what leaves it meanwhile is found in the database.
        for hold in self.on_their_way(bucket).await? {
            holders.insert(hold.user_id, hold);
        }
        for hold in self.live_orders(sale, bucket).await? {
            holders.insert(hold.user_id, hold);
        }
        let holders: Vec<Release> = holders.into_values().collect();
        let booked = holders.iter().map(|hold| i64::from(hold.quantity)).sum();
        self.stock.stage(bucket, epoch, &holders).await?;
        if self.stock.load(sale, bucket, epoch, booked, settle).await? {
            self.metrics.rebuilt.inc();
            info!(%bucket, epoch, booked, holders = holders.len(), "loaded into Redis");
        }
        Ok(())
    }

    /// Live orders of a sale whose units are held in the bucket.
    async fn live_orders(&self, sale: &Sale, bucket: Bucket) -> anyhow::Result<Vec<Release>> {
        let mut all: Vec<Release> = Vec::new();
        let mut after: Option<OrderId> = None;
        loop {
            let page = self.store.live_orders(sale.id, after, PAGE).await?;
            let Some(last) = page.last() else { return Ok(all) };
            after = Some(last.order_id);
            let here = |hold: &Release| Bucket::of_user(sale.id, sale.rush.buckets, hold.user_id) == bucket;
            all.extend(page.into_iter().filter(here));
        }
    }

    /// Orders in the outbox that have not reached the database.
    async fn on_their_way(&self, bucket: Bucket) -> anyhow::Result<Vec<Release>> {
        let mut master = self.stock.connection();
        let mut all = Vec::new();
        let mut after: Option<String> = None;
        loop {
            let page = outbox::oldest(&mut master, bucket, after.as_deref(), OUTBOX_PAGE).await?;
            let Some(last) = page.last() else { break };
            after = Some(last.id.clone());
            all.extend(page.iter().flat_map(|entry| entry.reservations.iter().flatten()).map(Release::of));
        }
        let ids: Vec<OrderId> = all.iter().map(|hold| hold.order_id).collect();
        let landed = self.store.statuses(&ids).await?;
        all.retain(|hold| !landed.contains_key(&hold.order_id));
        Ok(all)
    }

    /// Ended sales of which nothing is under way leave Redis.
    async fn retire(&self, sales: &[Sale], survey: &[(Bucket, Option<Loaded>)]) -> anyhow::Result<()> {
        let now = self.clock.now();
        for id in self.store.retirable(now - RETIRE_AFTER).await? {
            let of_sale: Vec<_> = survey.iter().filter(|(bucket, _)| bucket.sale() == id).copied().collect();
            let empty = Loaded::of_sale(&of_sale).is_some_and(|loaded| loaded.outbox == 0);
            if let Some(sale) = sales.iter().find(|sale| sale.id == id).filter(|_| empty) {
                self.store.retire(id, now).await?;
                self.forget(sale).await?;
                info!(sale = %id, "retired: its keys have left Redis");
            }
        }
        Ok(())
    }

    /// Compares counts, and single holds where the counts differ twice in a row; mends what is wrong.
    pub async fn reconcile(&self) -> anyhow::Result<()> {
        let before = std::mem::take(&mut self.memory.lock().await.drifting);
        let mut drifting = HashMap::new();
        for (sale, drift) in self.drifts().await? {
            if before.get(&sale.id) == Some(&drift) {
                for bucket in Bucket::of_sale(&sale) {
                    self.mend(&sale, bucket).await?;
                }
            } else {
                drifting.insert(sale.id, drift);
            }
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

    /// Mends single holds of a bucket.
    async fn mend(&self, sale: &Sale, bucket: Bucket) -> anyhow::Result<()> {
        let Some(picture) = self.picture(sale, bucket).await? else { return Ok(()) };
        let found = reconcile::compare(&picture, self.clock.now());
        if found.is_empty() {
            return Ok(());
        }
        self.store.release_again(&found.dead_holds).await?;
        let mends: Vec<Mend> = found
            .missing_holds
            .iter()
            .map(|hold| Mend::Hold(*hold))
            .chain(found.lost_orders.iter().map(|hold| Mend::Send(*hold)))
            .collect();
        let mended = self.stock.mend(bucket, picture.epoch, &mends).await?;
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

    /// Both sides of a bucket, read in such an order that what moves meanwhile is seen twice rather than never.
    pub async fn picture(&self, sale: &Sale, bucket: Bucket) -> anyhow::Result<Option<Picture>> {
        let survey = self.stock.survey(&[bucket]).await?;
        let Some((_, Some(loaded))) = survey.first() else { return Ok(None) };
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
        let orders: HashMap<UserId, Release> =
            self.live_orders(sale, bucket).await?.into_iter().map(|hold| (hold.user_id, hold)).collect();
        let unmatched = |(user, hold): (&UserId, &Hold)| {
            (orders.get(user).map(|order| order.order_id) != Some(hold.order_id)).then_some(hold.order_id)
        };
        let ids: Vec<OrderId> = holds.iter().filter_map(unmatched).collect();
        let statuses = self.store.statuses(&ids).await?;
        Ok(Some(Picture {
            sale: sale.id,
            epoch: loaded.epoch,
            booked: loaded.booked,
            holds,
            on_their_way,
            orders,
            statuses,
        }))
    }
}
