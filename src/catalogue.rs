//! The catalogue in memory: every process keeps a copy of all sales and goods and polls the catalogue's revision for
//! changes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::sync::{Mutex, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::domain::{Bucket, Goods, Sale, SaleId, SaleState};
use crate::periodic::run_every;
use crate::store::{Store, StoreError};

/// How often the revision is read, which bounds the age of every process's copy.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// The minimum time between two refreshes caused by requests for unknown sales, however many requests there are.
const MIN_LOOKUP_INTERVAL: Duration = Duration::from_millis(100);

/// A sale with its goods. `sale.sold` is as old as the last change of the definition.
#[derive(Debug, Clone)]
pub struct CatalogueEntry {
    pub sale: Sale,
    pub goods: Goods,
}

/// The content of the copy.
struct Snapshot {
    revision: i64,
    entries: BTreeMap<SaleId, Arc<CatalogueEntry>>,
    /// Sales that are not retired. The gate and the relay process these.
    active: Vec<SaleId>,
    /// The buckets of the active sales.
    buckets: Vec<Bucket>,
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
        let empty = Snapshot { revision: 0, entries: BTreeMap::new(), active: Vec::new(), buckets: Vec::new() };
        Catalogue {
            store,
            view: ArcSwap::from_pointee(empty),
            last_lookup: Mutex::new(None),
            changed: watch::Sender::new(0),
        }
    }

    /// A sale, including drafts. A sale that is not in the copy causes a refresh, at most one per
    /// [`MIN_LOOKUP_INTERVAL`].
    pub async fn entry(&self, id: SaleId) -> Result<Option<Arc<CatalogueEntry>>, StoreError> {
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

    /// Public sales without rehearsals, newest first.
    pub fn listed(&self) -> Vec<Arc<CatalogueEntry>> {
        let mut public = self.public();
        public.retain(|entry| !entry.sale.shadow);
        public
    }

    /// Sales with a page, which are all but drafts, newest first.
    pub fn public(&self) -> Vec<Arc<CatalogueEntry>> {
        let view = self.view.load();
        view.entries.values().rev().filter(|entry| entry.sale.state != SaleState::Draft).cloned().collect()
    }

    /// Sales that are not retired.
    pub fn active(&self) -> Vec<SaleId> {
        self.view.load().active.clone()
    }

    /// The buckets of the sales that are not retired. Buckets of one sale are adjacent.
    pub fn active_buckets(&self) -> Vec<Bucket> {
        self.view.load().buckets.clone()
    }

    /// Notifies of every new revision of the copy.
    pub fn changes(&self) -> watch::Receiver<i64> {
        self.changed.subscribe()
    }

    /// Reads the revision and, if it has changed, the whole catalogue.
    pub async fn refresh(&self) -> Result<(), StoreError> {
        let revision = self.store.revision().await?;
        if revision == self.view.load().revision {
            return Ok(());
        }
        // The revision is read first, so a change from here on is noticed by the next refresh.
        let goods: BTreeMap<_, _> = self.store.all_goods().await?.into_iter().map(|g| (g.id, g)).collect();
        let active = self.store.active_sales().await?;
        let buckets = active.iter().flat_map(Bucket::of_sale).collect();
        let active = active.iter().map(|sale| sale.id).collect();
        let entries = self.store.all_sales().await?.into_iter().filter_map(|sale| {
            let goods = goods.get(&sale.goods_id)?.clone();
            Some((sale.id, Arc::new(CatalogueEntry { sale, goods })))
        });
        self.view.store(Arc::new(Snapshot { revision, entries: entries.collect(), active, buckets }));
        self.changed.send_replace(revision);
        Ok(())
    }

    /// Refreshes the copy until `stop` is cancelled. While the database is unavailable the copy stays as it is.
    pub async fn follow(&self, stop: CancellationToken) {
        run_every(POLL_INTERVAL, &stop, "catalogue", || self.refresh()).await;
    }
}
