//! What is on sale, in memory. Every process keeps a copy and looks at the catalogue's revision to learn of changes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::sync::{Mutex, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::domain::Bucket;
use crate::domain::{Goods, Sale, SaleId, SaleState};
use crate::store::{Store, StoreError};

/// How often the revision is read. A change is on every machine after as long.
const EVERY: Duration = Duration::from_millis(250);
/// A sale that nobody knows is looked up in the database at most this often, however many ask.
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(100);

/// A sale with what it sells. `sale.sold` is as old as the last change of the definition.
#[derive(Debug, Clone)]
pub struct Entry {
    pub sale: Sale,
    pub goods: Goods,
}

struct View {
    revision: i64,
    entries: BTreeMap<SaleId, Arc<Entry>>,
    /// Not retired; the gate and the relay look after these.
    active: Vec<SaleId>,
    /// Those of the active sales.
    buckets: Vec<Bucket>,
}

/// The copy of this process.
pub struct Catalogue {
    store: Store,
    view: ArcSwap<View>,
    looked: Mutex<Option<Instant>>,
    changed: watch::Sender<i64>,
}

impl Catalogue {
    /// An empty copy; [`Catalogue::refresh`] fills it.
    pub fn new(store: Store) -> Catalogue {
        let empty = View { revision: 0, entries: BTreeMap::new(), active: Vec::new(), buckets: Vec::new() };
        Catalogue {
            store,
            view: ArcSwap::from_pointee(empty),
            looked: Mutex::new(None),
            changed: watch::Sender::new(0),
        }
    }

    /// A sale, drafts included. One that is not in the copy is looked up, but not by everybody who asks.
    pub async fn entry(&self, id: SaleId) -> Result<Option<Arc<Entry>>, StoreError> {
        if let Some(entry) = self.known(id) {
            return Ok(Some(entry));
        }
        let mut looked = self.looked.lock().await;
        if looked.is_none_or(|at| at.elapsed() > LOOK_AGAIN_AFTER) {
            self.refresh().await?;
            *looked = Some(Instant::now());
        }
        Ok(self.known(id))
    }

    /// A sale, if it is in the copy.
    pub fn known(&self, id: SaleId) -> Option<Arc<Entry>> {
        self.view.load().entries.get(&id).cloned()
    }

    /// What shoppers find, newest first: no rehearsals.
    pub fn listed(&self) -> Vec<Arc<Entry>> {
        let mut public = self.public();
        public.retain(|entry| !entry.sale.shadow);
        public
    }

    /// What has a page, newest first.
    pub fn public(&self) -> Vec<Arc<Entry>> {
        let view = self.view.load();
        view.entries.values().rev().filter(|entry| entry.sale.state != SaleState::Draft).cloned().collect()
    }

    /// Sales that are not retired.
    pub fn active(&self) -> Vec<SaleId> {
        self.view.load().active.clone()
    }

    /// The buckets of the sales that are not retired, those of one sale beside each other.
    pub fn active_buckets(&self) -> Vec<Bucket> {
        self.view.load().buckets.clone()
    }

    /// Tells of every new revision of the copy.
    pub fn changes(&self) -> watch::Receiver<i64> {
        self.changed.subscribe()
    }

    /// Looks whether something has changed, and reads it then.
    pub async fn refresh(&self) -> Result<(), StoreError> {
        let revision = self.store.revision().await?;
        if revision == self.view.load().revision {
            return Ok(());
        }
        // The revision was read first: what changes from here on is seen at the next look.
        let goods: BTreeMap<_, _> = self.store.all_goods().await?.into_iter().map(|g| (g.id, g)).collect();
        let active = self.store.active_sales().await?;
        let buckets = active.iter().flat_map(Bucket::of_sale).collect();
        let active = active.iter().map(|sale| sale.id).collect();
        let with_goods = |sale: Sale| {
            let goods = goods.get(&sale.goods_id)?.clone();
            Some((sale.id, Arc::new(Entry { sale, goods })))
        };
        let entries = self.store.all_sales().await?.into_iter().filter_map(with_goods).collect();
        self.view.store(Arc::new(View { revision, entries, active, buckets }));
        self.changed.send_replace(revision);
        Ok(())
    }

    /// ReplayGrants the copy fresh until it is stopped. While the database is away the copy stays as it is.
    pub async fn follow(&self, stop: CancellationToken) {
        let mut tick = tokio::time::interval(EVERY);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut away = false;
        while stop.run_until_cancelled(tick.tick()).await.is_some() {
            match self.refresh().await {
                Ok(()) => away = false,
                Err(error) if !away => {
                    away = true;
                    warn!(%error, "cannot read the catalogue; going on with the last copy");
                }
                Err(_) => {}
            }
        }
    }
}
