//! The cockpit: watching a sale while it runs.
//!
//! Each process counts the requests that it serves ([`crate::counters`]) and writes its numbers to the database once a second
//! (`books`); any process can add them up. An `eye` looks at one sale: gate, database, Redis and RabbitMQ, each with its own
//! deadline and age. One sampler per watched sale looks once a second, however many watch; it begins with its first
//! viewer and ends with its last. Live sales have a viewer in any case, so that the plots of a new one are not empty.

mod counter_store;
mod sampler;

pub mod drift;
pub mod sample;

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::{Notify, Semaphore, watch};
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

pub use sample::Sample;

use self::sample::Point;
use crate::catalogue::Catalogue;
use crate::clock::Clock;
use crate::control::stock_sync::StockSync;
use crate::counters::CounterRegistry;
use crate::domain::{SaleId, SaleState};
use crate::gate::Gate;
use crate::pipeline::rabbit::Monitor;
use crate::store::Store;
use counter_store::CounterStore;
use sampler::Sampler;

const LOOK_EVERY: Duration = Duration::from_secs(1);
/// What a new viewer's plots begin with.
pub const HISTORY_MS: i64 = 15 * 60 * 1000;
/// A sample that is older than this is not shown as the present one.
const FRESH_MS: i64 = 2_500;
/// Samples of sales at which nobody looks that are taken at the same time, and how long a turn takes at least: forty sales
/// are sampled every second, and of a thousand the plots have fewer points. Each sample asks database, Redis and RabbitMQ,
/// which are there for shoppers.
const IN_TURN: usize = 2;
const TURN: Duration = Duration::from_millis(50);
const FOLD_EVERY: Duration = Duration::from_secs(10 * 60);

/// Where the numbers come from.
struct Sources {
    store: Store,
    catalogue: Arc<Catalogue>,
    gate: Arc<Gate>,
    stock_sync: Option<Arc<StockSync>>,
    monitor: Option<Arc<Monitor>>,
    clock: Clock,
    books: CounterStore,
}

/// What a sampler shows, and how it learns that somebody has come to look.
#[derive(Default)]
struct SampleFeed {
    latest: watch::Sender<Option<Arc<Sample>>>,
    noticed: Notify,
}

type History = Arc<Mutex<VecDeque<Point>>>;

#[derive(Default)]
struct Watched {
    samplers: HashMap<SaleId, Arc<SampleFeed>>,
    /// Outlives its sampler, for whoever comes back.
    histories: HashMap<SaleId, History>,
    /// Live sales, watched by nobody in particular.
    kept: HashMap<SaleId, watch::Receiver<Option<Arc<Sample>>>>,
}

/// The cockpit of one process; clones share everything.
#[derive(Clone)]
pub struct Cockpit {
    sources: Arc<Sources>,
    watched: Arc<Mutex<Watched>>,
    /// Sales at which nobody looks are sampled in turn.
    turns: Arc<Semaphore>,
    closing: CancellationToken,
}

/// What the cockpit is built from.
pub struct Dependencies {
    pub store: Store,
    pub catalogue: Arc<Catalogue>,
    pub gate: Arc<Gate>,
    pub stock_sync: Option<Arc<StockSync>>,
    pub monitor: Option<Arc<Monitor>>,
    pub clock: Clock,
    pub registry: Arc<CounterRegistry>,
}

/// Somebody who watches a sale. The sampler goes on for as long as there is one.
pub struct Viewer {
    latest: watch::Receiver<Option<Arc<Sample>>>,
    /// What was seen before, oldest first.
    pub history: Vec<Point>,
}

impl Viewer {
    /// The next sample; `None` when the process stops.
    pub async fn next(&mut self) -> Option<Arc<Sample>> {
        loop {
            self.latest.changed().await.ok()?;
            if let Some(sample) = self.latest.borrow_and_update().clone() {
                return Some(sample);
            }
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Cockpit {
    pub fn new(parts: Dependencies) -> Cockpit {
        let Dependencies { store, catalogue, gate, stock_sync, monitor, clock, registry } = parts;
        let books = CounterStore::new(store.clone(), registry, clock.clone());
        let sources = Sources { store, catalogue, gate, stock_sync, monitor, clock, books };
        let (turns, closing) = (Arc::new(Semaphore::new(IN_TURN)), CancellationToken::new());
        Cockpit { sources: Arc::new(sources), watched: Arc::default(), turns, closing }
    }

    /// Cancelled when streams should end, because the process stops.
    pub fn closing(&self) -> CancellationToken {
        self.closing.clone()
    }

    /// Ends every stream and sampler.
    pub fn close(&self) {
        self.closing.cancel();
    }

    /// Begins to watch a sale.
    pub fn watch(&self, sale: SaleId) -> Viewer {
        let (sampler, viewer) = self.join(sale);
        sampler.noticed.notify_one();
        viewer
    }

    /// As `watch`, without the sampler's notice.
    fn join(&self, sale: SaleId) -> (Arc<SampleFeed>, Viewer) {
        let mut watched = locked(&self.watched);
        let now = self.sources.clock.now();
        let history = watched.histories.entry(sale).or_default().clone();
        let sampler = watched.samplers.entry(sale).or_insert_with(|| {
            let sampler = Arc::new(SampleFeed::default());
            tokio::spawn(self.clone().sample(sale, sampler.clone(), history.clone()));
            sampler
        });
        let mut latest = sampler.latest.subscribe();
        // What is there already is news to a new viewer.
        latest.mark_changed();
        (sampler.clone(), Viewer { latest, history: recent(&history, now) })
    }

    /// How many sales are being sampled.
    pub fn samplers(&self) -> usize {
        locked(&self.watched).samplers.len()
    }

    /// The present numbers of a sale: those of its sampler, or, when these are from before the sale's version
    /// `at_least`, of a look of their own.
    pub async fn look(&self, sale: SaleId, at_least: i64) -> Arc<Sample> {
        let latest = locked(&self.watched).samplers.get(&sale).and_then(|sampler| sampler.latest.borrow().clone());
        let now = self.sources.clock.now().as_millisecond();
        let fresh = |sample: &Arc<Sample>| {
            let knows = sample.sale.value.is_some_and(|sale| sale.version >= at_least);
            knows && now - sample.at.as_millisecond() <= FRESH_MS
        };
        match latest.filter(fresh) {
            Some(sample) => sample,
            None => Arc::new(Sampler::new(self.sources.clone(), sale).look(true).await),
        }
    }

    async fn sample(self, sale: SaleId, sampler: Arc<SampleFeed>, history: History) {
        let mut eye = Sampler::new(self.sources.clone(), sale);
        let mut tick = tokio::time::interval(LOOK_EVERY);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = self.closing.cancelled() => return self.forget(sale),
                () = sampler.latest.closed() => if self.forget_unwatched(sale, &sampler) { return },
                _ = tick.tick() => {
                    let looked = self.closing.run_until_cancelled(self.look_in_turn(&mut eye, sale, &sampler)).await;
                    let Some(sample) = looked else { continue };
                    remember(&history, &sample);
                    sampler.latest.send_replace(Some(Arc::new(sample)));
                }
            }
        }
    }

    /// At once for somebody who looks, otherwise when it is this sale's turn or somebody comes.
    async fn look_in_turn(&self, eye: &mut Sampler, sale: SaleId, sampler: &SampleFeed) -> Sample {
        if !self.is_watched(sale, sampler) {
            tokio::select! {
                Ok(_turn) = self.turns.acquire() => {
                    return tokio::join!(eye.look(false), tokio::time::sleep(TURN)).0;
                }
                () = sampler.noticed.notified() => {}
            }
        }
        eye.look(true).await
    }

    /// Whether anybody but this process itself looks.
    fn is_watched(&self, sale: SaleId, sampler: &SampleFeed) -> bool {
        sampler.latest.receiver_count() > usize::from(locked(&self.watched).kept.contains_key(&sale))
    }

    /// Under the lock, because somebody may just be coming back.
    fn forget_unwatched(&self, sale: SaleId, sampler: &SampleFeed) -> bool {
        let mut watched = locked(&self.watched);
        let over = sampler.latest.receiver_count() == 0;
        if over {
            watched.samplers.remove(&sale);
        }
        over
    }

    fn forget(&self, sale: SaleId) {
        locked(&self.watched).samplers.remove(&sale);
    }

    /// Writes the books, watches live sales, and folds what gone processes have left, until it is stopped.
    pub async fn run(self, stop: CancellationToken) {
        let mut tick = tokio::time::interval(LOOK_EVERY);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut fold = tokio::time::interval(FOLD_EVERY);
        loop {
            tokio::select! {
                () = stop.cancelled() => return self.close(),
                _ = fold.tick() => self.sources.books.fold().await,
                _ = tick.tick() => {
                    self.keep_live_sales();
                    self.sources.books.retain(|sale| self.sources.catalogue.known(sale).is_some());
                    self.sources.books.write().await;
                }
            }
        }
    }

    /// Writes down what was counted, for a process that ends.
    pub async fn write_down(&self) {
        self.sources.books.write().await;
    }

    fn keep_live_sales(&self) {
        let catalogue = &self.sources.catalogue;
        let is_live = |sale: SaleId| catalogue.known(sale).is_some_and(|entry| entry.sale.state == SaleState::Live);
        let live: Vec<SaleId> = catalogue.active().into_iter().filter(|sale| is_live(*sale)).collect();
        let missing: Vec<SaleId> = {
            let mut watched = locked(&self.watched);
            watched.kept.retain(|sale, _| live.contains(sale));
            forget_old(&mut watched, self.sources.clock.now());
            live.into_iter().filter(|sale| !watched.kept.contains_key(sale)).collect()
        };
        for sale in missing {
            let (_, viewer) = self.join(sale);
            locked(&self.watched).kept.insert(sale, viewer.latest);
        }
    }
}

#[cfg(test)]
impl Cockpit {
    /// All turns of those at whom nobody looks.
    pub(crate) async fn take_turns(&self) -> tokio::sync::OwnedSemaphorePermit {
        self.turns.clone().acquire_many_owned(IN_TURN as u32).await.unwrap()
    }

    /// When the sale was sampled last.
    pub(crate) fn sampled_at(&self, sale: SaleId) -> Option<Timestamp> {
        Some(locked(&self.watched).samplers.get(&sale)?.latest.borrow().as_ref()?.at)
    }
}

/// Histories of which everything is too old.
fn forget_old(watched: &mut Watched, now: Timestamp) {
    let Watched { samplers, histories, .. } = watched;
    histories.retain(|sale, history| samplers.contains_key(sale) || !recent(history, now).is_empty());
}

fn recent(history: &History, now: Timestamp) -> Vec<Point> {
    let since = now.as_millisecond() - HISTORY_MS;
    locked(history).iter().filter(|point| point.at >= since).cloned().collect()
}

fn remember(history: &History, sample: &Sample) {
    let mut history = locked(history);
    history.push_back(sample.point.clone());
    let since = sample.at.as_millisecond() - HISTORY_MS;
    while history.front().is_some_and(|point| point.at < since) {
        history.pop_front();
    }
}
