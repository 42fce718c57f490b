//! The catalogue in memory: every process keeps a copy of all sales, goods, categories and settings of the shop, and polls
//! the catalogue's revision for changes.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::sync::{Mutex, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use base::periodic::run_every;
use domain::question::AnswersByGoods;
use domain::{Bucket, Category, Goods, Sale, SaleFront, SaleId, SaleState, ShippingTable, ShopSettings};
use store::{Store, StoreResult};

/// How often the revision is read, which bounds the age of every process's copy.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// While no sale is active, one of so many polls is made.
const POLLS_AT_REST: u32 = 2;
/// How often sold units are read: how soon the list shows a sale further up or down that is nearly or completely sold.
const DEMAND_INTERVAL: Duration = Duration::from_secs(3);
/// The minimum time between two refreshes caused by requests for unknown sales, however many requests there are.
const MIN_LOOKUP_INTERVAL: Duration = Duration::from_millis(100);

/// How many ended sales stay on the list with a kept page: the ones that closed last. Pages of older sales are rendered
/// on request.
pub const MAX_LISTED_ENDED: usize = 50;

/// A sale with its goods. `sale.sold` is as old as the last change of the definition or of the demand.
#[derive(Debug, Clone)]
pub struct CatalogueEntry {
    pub sale: Sale,
    pub goods: Goods,
    /// Whether the sale is a draw and its draw was held.
    pub is_drawn: bool,
}

/// The content of the copy.
#[derive(Default, Clone)]
struct Snapshot {
    revision: i64,
    entries: BTreeMap<SaleId, Arc<CatalogueEntry>>,
    /// Public sales, newest first: all that have not ended, and the latest ended ones.
    public: Vec<Arc<CatalogueEntry>>,
    /// All categories, in the order in which they are shown.
    categories: Arc<[Category]>,
    /// Sales that are not retired. The gate and the relay process these.
    active: Vec<SaleId>,
    /// The buckets of the active sales.
    buckets: Vec<Bucket>,
    answers: Arc<AnswersByGoods>,
    shipping: Arc<ShippingTable>,
    settings: Arc<ShopSettings>,
    fronts: Arc<HashMap<SaleId, SaleFront>>,
}

impl Snapshot {
    /// A copy of the content with the new sold units, but only for sales whose [`Sale::demand`] they change. `None` if
    /// no sale changes.
    fn with_demand(&self, sold: &[(SaleId, i64)]) -> Option<Snapshot> {
        let changed = sold.iter().filter_map(|&(id, sold)| {
            let entry = self.entries.get(&id)?;
            let sale = Sale { sold, ..entry.sale.clone() };
            let is_changed = sale.demand() != entry.sale.demand();
            is_changed.then(|| (id, Arc::new(CatalogueEntry { sale, ..CatalogueEntry::clone(entry) })))
        });
        let changed: Vec<_> = changed.collect();
        if changed.is_empty() {
            return None;
        }
        let mut next = self.clone();
        next.entries.extend(changed);
        next.public = public(&next.entries);
        Some(next)
    }
}

/// The process's copy of the catalogue.
pub struct Catalogue {
    store: Store,
    view: ArcSwap<Snapshot>,
    /// The last refresh that a request for an unknown sale caused.
    last_lookup: Mutex<Option<Instant>>,
    changed: watch::Sender<i64>,
}

impl Catalogue {
    /// An empty copy; [`Catalogue::refresh`] fills it.
    pub fn new(store: Store) -> Catalogue {
        Catalogue {
            store,
            view: ArcSwap::from_pointee(Snapshot::default()),
            last_lookup: Mutex::new(None),
            changed: watch::Sender::new(0),
        }
    }

    /// A sale, including drafts. A sale that is not in the copy causes a refresh, at most one per
    /// [`MIN_LOOKUP_INTERVAL`].
    pub async fn entry(&self, id: SaleId) -> StoreResult<Option<Arc<CatalogueEntry>>> {
        if let Some(entry) = self.known(id) {
            return Ok(Some(entry));
        }
        let mut last_lookup = self.last_lookup.lock().await;
        if last_lookup.is_none_or(|at| at.elapsed() > MIN_LOOKUP_INTERVAL) {
            self.refresh().await?;
            *last_lookup = Some(Instant::now());
        }
        Ok(self.known(id))
    }

    /// A sale, if it is in the copy.
    pub fn known(&self, id: SaleId) -> Option<Arc<CatalogueEntry>> {
        self.view.load().entries.get(&id).cloned()
    }

    /// Every sale in the copy, also drafts and rehearsals, newest first.
    pub fn entries(&self) -> Vec<Arc<CatalogueEntry>> {
        self.view.load().entries.values().rev().cloned().collect()
    }

    /// Public sales without rehearsals, newest first.
    pub fn listed(&self) -> Vec<Arc<CatalogueEntry>> {
        let mut public = self.public();
        public.retain(|entry| !entry.sale.shadow);
        public
    }

    /// Sales that are listed and whose pages are kept, newest first: no drafts, and of ended sales the latest
    /// [`MAX_LISTED_ENDED`].
    pub fn public(&self) -> Vec<Arc<CatalogueEntry>> {
        self.view.load().public.clone()
    }

    /// All sales that were ever announced, without rehearsals, newest first.
    pub fn announced(&self) -> Vec<Arc<CatalogueEntry>> {
        let is_announced = |entry: &&Arc<CatalogueEntry>| entry.sale.state != SaleState::Draft && !entry.sale.shadow;
        self.view.load().entries.values().rev().filter(is_announced).cloned().collect()
    }

    /// The categories of goods in their order.
    pub fn categories(&self) -> Arc<[Category]> {
        self.view.load().categories.clone()
    }

    /// Sales that are not retired.
    pub fn active(&self) -> Vec<SaleId> {
        self.view.load().active.clone()
    }

    /// The buckets of the sales that are not retired. Buckets of one sale are adjacent.
    pub fn active_buckets(&self) -> Vec<Bucket> {
        self.view.load().buckets.clone()
    }

    /// The answered questions that the pages of goods show.
    pub fn answers(&self) -> Arc<AnswersByGoods> {
        self.view.load().answers.clone()
    }

    /// What shipping costs.
    pub fn shipping(&self) -> Arc<ShippingTable> {
        self.view.load().shipping.clone()
    }

    /// The shop's own name, looks and habits.
    pub fn settings(&self) -> Arc<ShopSettings> {
        self.view.load().settings.clone()
    }

    /// How a sale stands in front of another shop; `None` if it sells here.
    pub fn front(&self, sale: SaleId) -> Option<SaleFront> {
        self.view.load().fronts.get(&sale).cloned()
    }

    /// Notifies of every new revision of the copy.
    pub fn changes(&self) -> watch::Receiver<i64> {
        self.changed.subscribe()
    }

    /// Reads the revision and, if it has changed, the whole catalogue.
    pub async fn refresh(&self) -> StoreResult<()> {
        let revision = self.store.sales().revision().await?;
        if revision == self.view.load().revision {
            return Ok(());
        }
        // The revision is read first, so a change from here on is noticed by the next refresh.
        let goods: BTreeMap<_, _> = self.store.goods().list().await?.into_iter().map(|g| (g.id, g)).collect();
        let categories = self.store.categories().list().await?.into();
        let active = self.store.sales().active().await?;
        let drawn = self.store.draws().held().await?;
        let answers = Arc::new(self.store.questions().shown_answers().await?);
        let shipping = Arc::new(self.store.shipping().get().await?.table);
        let settings = self.store.shop_settings().get().await?;
        let settings = Arc::new(ShopSettings { written: self.store.shop_pages().written().await?, ..settings });
        let fronts = Arc::new(self.store.fronts().list().await?);
        let buckets = active.iter().flat_map(Bucket::of_sale).collect();
        let active = active.iter().map(|sale| sale.id).collect();
        let entries = self.store.sales().list().await?.into_iter().filter_map(|sale| {
            let goods = goods.get(&sale.goods_id)?.clone();
            Some((sale.id, Arc::new(CatalogueEntry { is_drawn: drawn.contains(&sale.id), sale, goods })))
        });
        let entries: BTreeMap<SaleId, Arc<CatalogueEntry>> = entries.collect();
        let public = public(&entries);
        self.view.store(Arc::new(Snapshot {
            revision,
            entries,
            public,
            categories,
            active,
            buckets,
            answers,
            shipping,
            settings,
            fronts,
        }));
        self.changed.send_replace(revision);
        Ok(())
    }

    /// Reads the sold units and takes over the number of each sale whose demand it changes.
    pub async fn refresh_demand(&self) -> StoreResult<()> {
        let sold = self.store.sales().sold_units().await?;
        let mut is_changed = false;
        self.view.rcu(|view| {
            let next = view.with_demand(&sold);
            is_changed = next.is_some();
            next.map_or_else(|| view.clone(), Arc::new)
        });
        if is_changed {
            self.changed.send_replace(self.view.load().revision);
        }
        Ok(())
    }

    /// Returns at once while a sale is active. Otherwise it waits for a change of the copy, at most this long: for loops that
    /// have nothing to do between two sales.
    pub async fn rest_between_sales(&self, rest: Duration) {
        let mut changes = self.changes();
        if self.active().is_empty() {
            let _ = tokio::time::timeout(rest, changes.changed()).await;
        }
    }

    /// Refreshes the copy until `stop` is cancelled. While the database is unavailable the copy stays as it is.
    pub async fn follow(&self, stop: CancellationToken) {
        let mut polls = 0_u32;
        let poll = || {
            polls = polls.wrapping_add(1);
            let is_due = polls.is_multiple_of(POLLS_AT_REST) || !self.active().is_empty();
            async move { if is_due { self.refresh().await } else { Ok(()) } }
        };
        let read_demand = async || if self.active().is_empty() { Ok(()) } else { self.refresh_demand().await };
        tokio::join!(
            run_every(POLL_INTERVAL, &stop, "catalogue", poll),
            run_every(DEMAND_INTERVAL, &stop, "demand", read_demand),
        );
    }
}

/// The sales of [`Catalogue::public`]. A rehearsal is in no list, and keeps its page until it is removed.
fn public(entries: &BTreeMap<SaleId, Arc<CatalogueEntry>>) -> Vec<Arc<CatalogueEntry>> {
    let is_ended = |entry: &CatalogueEntry| entry.sale.state == SaleState::Ended && !entry.sale.shadow;
    let mut ended: Vec<_> = entries.values().filter(|entry| is_ended(entry)).collect();
    ended.sort_by_key(|entry| Reverse((entry.sale.window.closes_at, entry.sale.id)));
    let latest: HashSet<SaleId> = ended.iter().take(MAX_LISTED_ENDED).map(|entry| entry.sale.id).collect();
    let is_shown = |entry: &CatalogueEntry| match entry.sale.state {
        SaleState::Draft => false,
        SaleState::Ended => entry.sale.shadow || latest.contains(&entry.sale.id),
        SaleState::Scheduled | SaleState::Live | SaleState::Paused => true,
    };
    entries.values().rev().filter(|entry| is_shown(entry)).cloned().collect()
}
