//! The cockpit: a live view of one sale.
//!
//! Each process counts the requests it serves ([`base::counters`]) and writes its counters to the database once a
//! second ([`CounterStore`]); any process can add them up. A [`sampler`] reads gate, database, Redis and RabbitMQ for
//! one sale, each with its own deadline and age. A watched sale has one sampler that runs once a second, however many
//! viewers it has. It starts with the first viewer and ends with the last. Live sales always have one viewer, the
//! process itself, so that the plots of a new viewer are not empty. The first seconds of every sale are recorded in
//! slots of ten milliseconds ([`sampler`]).

mod sampler;

pub mod alarms;
pub mod report;
pub mod sample;

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use boxed::boxed;
use jiff::Timestamp;
use tokio::sync::{Notify, Semaphore, watch};
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;
use tracing::warn;

pub use sample::Sample;
pub use sampler::OpeningCounts;

use self::sample::Point;
use crate::stock_sync::StockSync;
use base::clock::Clock;
use base::counters::CounterRegistry;
use base::locked;
use base::periodic::{Periodic, run_every};
use domain::{Alarm, SaleId, SaleState};
use engine::catalogue::Catalogue;
use engine::gate::Gate;
use engine::pipeline::rabbit::Monitor;
use sampler::{CounterStore, Sampler};
use store::Store;

/// A watched sale is sampled once a second: fast enough to follow, cheap enough to leave on.
const SAMPLE_INTERVAL: Duration = Duration::from_secs(1);
/// The rates of a sample are averages over as many seconds.
pub const RATE_WINDOW_S: u64 = sampler::RATE_SAMPLES as u64 * SAMPLE_INTERVAL.as_secs();
/// How far back the plots of a new viewer reach.
const HISTORY_MS: i64 = 15 * 60 * 1000;
/// An older sample is not shown as the current one.
const MAX_SAMPLE_AGE_MS: i64 = 2_500;
/// Unwatched sales sampled at the same time. Each sample queries database, Redis and RabbitMQ, whose time belongs to
/// shoppers. With [`MIN_UNWATCHED_SAMPLE_TIME`] forty unwatched sales are sampled every second; with a thousand, the
/// plots have fewer points.
const MAX_UNWATCHED_SAMPLES: usize = 2;
/// The least time that one sample of an unwatched sale occupies its permit.
const MIN_UNWATCHED_SAMPLE_TIME: Duration = Duration::from_millis(50);
/// How often the counters of ended processes are merged.
const FOLD_INTERVAL: Duration = Duration::from_secs(10 * 60);

/// Where samples are read from.
struct Sources {
    store: Store,
    catalogue: Arc<Catalogue>,
    gate: Arc<Gate>,
    stock_sync: Option<Arc<StockSync>>,
    monitor: Option<Arc<Monitor>>,
    clock: Clock,
    counter_store: CounterStore,
}

/// The latest sample of a sale, and the notice that a viewer has joined.
#[derive(Default)]
struct SampleFeed {
    latest: watch::Sender<Option<Arc<Sample>>>,
    joined: Notify,
}

type History = Arc<Mutex<VecDeque<Point>>>;

#[derive(Default)]
struct Watched {
    samplers: HashMap<SaleId, Arc<SampleFeed>>,
    /// Histories outlive their samplers, so that a viewer who returns sees the earlier points.
    histories: HashMap<SaleId, History>,
    /// The process's own subscriptions to live sales.
    live: HashMap<SaleId, watch::Receiver<Option<Arc<Sample>>>>,
}

/// The samplers of one process. Clones share them.
#[derive(Clone)]
pub struct Cockpit {
    sources: Arc<Sources>,
    watched: Arc<Mutex<Watched>>,
    /// Permits for sampling unwatched sales.
    unwatched: Arc<Semaphore>,
    closing: CancellationToken,
}

/// A subscription to a sale's samples. The sampler runs as long as one exists.
pub struct Viewer {
    latest: watch::Receiver<Option<Arc<Sample>>>,
    /// Earlier points, oldest first.
    pub history: Vec<Point>,
}

#[boxed]
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

#[boxed]
impl Cockpit {
    pub fn new(
        store: Store,
        catalogue: Arc<Catalogue>,
        gate: Arc<Gate>,
        stock_sync: Option<Arc<StockSync>>,
        monitor: Option<Arc<Monitor>>,
        clock: Clock,
        registry: Arc<CounterRegistry>,
    ) -> Cockpit {
        let counter_store = CounterStore::new(store.clone(), registry, clock.clone());
        let sources = Sources { store, catalogue, gate, stock_sync, monitor, clock, counter_store };
        let (unwatched, closing) = (Arc::new(Semaphore::new(MAX_UNWATCHED_SAMPLES)), CancellationToken::new());
        Cockpit { sources: Arc::new(sources), watched: Arc::default(), unwatched, closing }
    }

    /// Cancelled when event streams have to end because the process stops.
    pub fn closing(&self) -> CancellationToken {
        self.closing.clone()
    }

    /// Ends every stream and sampler.
    pub fn close(&self) {
        self.closing.cancel();
    }

    /// Subscribes to a sale and wakes its sampler.
    pub fn watch(&self, sale: SaleId) -> Viewer {
        let (feed, viewer) = self.join(sale);
        feed.joined.notify_one();
        viewer
    }

    /// Subscribes to a sale without waking its sampler.
    fn join(&self, sale: SaleId) -> (Arc<SampleFeed>, Viewer) {
        let mut watched = locked(&self.watched);
        let now = self.sources.clock.now();
        let history = watched.histories.entry(sale).or_default().clone();
        let feed = watched.samplers.entry(sale).or_insert_with(|| {
            let feed = Arc::new(SampleFeed::default());
            tokio::spawn(self.clone().run_sampler(sale, feed.clone(), history.clone()));
            feed
        });
        let mut latest = feed.latest.subscribe();
        // A new viewer receives the current sample at once.
        latest.mark_changed();
        (feed.clone(), Viewer { latest, history: recent(&history, now) })
    }

    /// The number of sales that are sampled.
    pub fn samplers(&self) -> usize {
        locked(&self.watched).samplers.len()
    }

    /// A current sample: the sampler's latest, or a fresh one if the latest shows a version of the sale before
    /// `min_version`.
    pub async fn sample_now(&self, sale: SaleId, min_version: i64) -> Arc<Sample> {
        let latest = locked(&self.watched).samplers.get(&sale).and_then(|sampler| sampler.latest.borrow().clone());
        let now = self.sources.clock.now().as_millisecond();
        let current = latest.filter(|sample| {
            sample.sale.value.is_some_and(|sale| sale.version >= min_version)
                && now - sample.at.as_millisecond() <= MAX_SAMPLE_AGE_MS
        });
        match current {
            Some(sample) => sample,
            None => Arc::new(Sampler::new(self.sources.clone(), sale).sample().await),
        }
    }

    async fn run_sampler(self, sale: SaleId, feed: Arc<SampleFeed>, history: History) {
        let mut sampler = Sampler::new(self.sources.clone(), sale);
        let mut alarms = Vec::new();
        let mut recorded = None;
        let mut tick = tokio::time::interval(SAMPLE_INTERVAL);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = self.closing.cancelled() => return drop(locked(&self.watched).samplers.remove(&sale)),
                () = feed.latest.closed() => if self.remove_unwatched(sale, &feed) {
                    // The sampler stops, so nothing would record later that its alarms ended.
                    return self.record_alarms(sale, recorded.get_or_insert_default(), &[]).await;
                },
                _ = tick.tick() => {
                    let sampled = self.closing.run_until_cancelled(self.sample_in_turn(&mut sampler, sale, &feed)).await;
                    let Some(sample) = sampled else { continue };
                    remember(&history, &sample);
                    log_new_alarms(sale, &alarms, &sample);
                    alarms.clone_from(&sample.alarms);
                    // Alarms without an end were recorded by a process that has ended.
                    let standing = || sample.events.iter().filter(|event| event.ended_at.is_none());
                    let recorded = recorded.get_or_insert_with(|| standing().map(|event| event.alarm).collect());
                    self.record_alarms(sale, recorded, &alarms).await;
                    feed.latest.send_replace(Some(Arc::new(sample)));
                }
            }
        }
    }

    /// Records which alarms rose or ended since the last record. If the database does not take it, the next sample
    /// tries again.
    async fn record_alarms(&self, sale: SaleId, recorded: &mut Vec<Alarm>, alarms: &[Alarm]) {
        let without = |all: &[Alarm], known: &[Alarm]| -> Vec<Alarm> {
            all.iter().filter(|alarm| !known.contains(alarm)).copied().collect()
        };
        let (rose, ended) = (without(alarms, recorded), without(recorded, alarms));
        if rose.is_empty() && ended.is_empty() {
            return;
        }
        let Sources { store, clock, .. } = &*self.sources;
        if sampler::within(store.sales().record_alarms(sale, &rose, &ended, clock.now())).await.is_some() {
            *recorded = alarms.to_vec();
        }
    }

    /// Samples a watched sale at once, an unwatched one when a permit is free or a viewer joins.
    async fn sample_in_turn(&self, sampler: &mut Sampler, sale: SaleId, feed: &SampleFeed) -> Sample {
        if !self.is_watched(sale, feed) {
            tokio::select! {
                Ok(_permit) = self.unwatched.acquire() => {
                    return tokio::join!(sampler.sample(), tokio::time::sleep(MIN_UNWATCHED_SAMPLE_TIME)).0;
                }
                () = feed.joined.notified() => {}
            }
        }
        sampler.sample().await
    }

    /// Whether the sale has a viewer besides the process itself.
    fn is_watched(&self, sale: SaleId, feed: &SampleFeed) -> bool {
        feed.latest.receiver_count() > usize::from(locked(&self.watched).live.contains_key(&sale))
    }

    /// Removes the sampler if it has no viewer. Checks under the lock, because a viewer may join at the same time.
    fn remove_unwatched(&self, sale: SaleId, feed: &SampleFeed) -> bool {
        let mut watched = locked(&self.watched);
        let over = feed.latest.receiver_count() == 0;
        if over {
            watched.samplers.remove(&sale);
        }
        over
    }

    /// Writes the counters, keeps live sales sampled, and merges the counters of ended processes, until stopped.
    pub async fn run(self, stop: CancellationToken) {
        let write = async {
            let mut periodic = Periodic::new("cockpit counters", SAMPLE_INTERVAL, &stop);
            while periodic.tick().await {
                self.subscribe_to_live_sales();
                self.sources.counter_store.registry().retain(|sale| self.sources.catalogue.known(sale).is_some());
                periodic.record(self.sources.counter_store.write().await);
            }
        };
        let fold = run_every(FOLD_INTERVAL, &stop, "cockpit counter merge", || self.sources.counter_store.fold());
        let Sources { catalogue, counter_store, clock, .. } = &*self.sources;
        let record = sampler::record_openings(catalogue, counter_store.registry(), clock, &stop);
        tokio::join!(write, fold, record);
        self.close();
    }

    /// Writes the counters a last time before the process ends.
    pub async fn write_counters(&self) {
        if let Err(error) = self.sources.counter_store.write().await {
            warn!(error = format!("{error:#}"), "the last sale counters were not written and are lost");
        }
    }

    fn subscribe_to_live_sales(&self) {
        let catalogue = &self.sources.catalogue;
        let active = catalogue.active().into_iter().filter_map(|sale| catalogue.known(sale));
        let live = active.filter(|entry| entry.sale.state == SaleState::Live).map(|entry| entry.sale.id);
        let live: Vec<SaleId> = live.collect();
        let missing: Vec<SaleId> = {
            let mut watched = locked(&self.watched);
            watched.live.retain(|sale, _| live.contains(sale));
            remove_old_histories(&mut watched, self.sources.clock.now());
            live.into_iter().filter(|sale| !watched.live.contains_key(sale)).collect()
        };
        for sale in missing {
            let (_, viewer) = self.join(sale);
            locked(&self.watched).live.insert(sale, viewer.latest);
        }
    }
}

/// For tests.
#[boxed]
impl Cockpit {
    /// Takes all permits for unwatched sales.
    pub async fn take_unwatched_permits(&self) -> tokio::sync::OwnedSemaphorePermit {
        self.unwatched.clone().acquire_many_owned(MAX_UNWATCHED_SAMPLES as u32).await.unwrap()
    }

    /// The time of the sale's latest sample.
    pub fn sampled_at(&self, sale: SaleId) -> Option<Timestamp> {
        Some(locked(&self.watched).samplers.get(&sale)?.latest.borrow().as_ref()?.at)
    }
}

/// Logs the alarms that the previous sample did not have.
fn log_new_alarms(sale: SaleId, before: &[Alarm], sample: &Sample) {
    for alarm in sample.alarms.iter().filter(|alarm| !before.contains(alarm)) {
        let Point { left, p99_ms, .. } = sample.point;
        warn!(%sale, %alarm, left, p99_ms, "a sale needs a look; its page in the console shows what is wrong");
    }
}

/// Removes histories without a recent point.
fn remove_old_histories(watched: &mut Watched, now: Timestamp) {
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
