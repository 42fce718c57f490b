//! The board: an in-memory snapshot of the facts about every active sale. The whole snapshot is replaced many times a
//! second. Each refresh reads a sale at most once, however many requests there are.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arc_swap::ArcSwap;
use axum::body::Bytes;
use foldhash::fast::RandomState;
use jiff::Timestamp;
use tokio::sync::Mutex;
use tokio::time::Instant;
use tracing::warn;

use super::status::{Crowd, SaleStatus};
use crate::catalogue::{Catalogue, CatalogueEntry};
use crate::stock::{FactSource, Facts};
use base::clock::Clock;
use base::counters::{CounterRegistry, SaleCounters};
use base::metrics::Metrics;
use base::periodic::FailureLog;
use domain::{Bucket, Phase, Sale, SaleId, SaleState, UserId};

/// How often the facts are read: as often as a shopper can press, and a negligible load for a replica.
pub(super) const REFRESH_INTERVAL: Duration = Duration::from_millis(50);
/// The same while no sale is active. A change of the catalogue ends the rest.
const REST: Duration = Duration::from_secs(1);
/// Buckets per read. If there are more, the buckets that waited longest come first. Of a thousand sales without
/// requests, each is still read at least twice a second.
const MAX_BUCKETS_PER_READ: usize = 128;
/// A sale that was requested since its last read comes sooner: its waiting time is multiplied by this.
const REQUESTED_WEIGHT: u32 = 8;

type WinnerLists = HashMap<SaleId, Arc<Winners>>;

/// Users who hold units of a sale. The gate admits them after the sale is sold out, so that they see their order.
struct Winners {
    users: HashSet<UserId, RandomState>,
    /// [`Facts::granted`] of the server that returned the list, read before the list. The list is current while the
    /// board's facts, which may come from another server, have the same number.
    granted: i64,
}

/// What the board knows of one sale.
struct BoardEntry {
    sale: Sale,
    facts: Option<Facts>,
    winners: Option<Arc<Winners>>,
    /// When a refresh first found all units taken, after one that had found some.
    sold_out_at: Option<Timestamp>,
    button: OnceLock<Bytes>,
    counters: Arc<SaleCounters>,
    created_at: Instant,
    /// Whether a request has asked for this entry.
    requested: AtomicBool,
}

/// All entries as of one refresh.
struct BoardSnapshot {
    at: Timestamp,
    /// When the source last answered.
    read_at: Option<Timestamp>,
    sales: BTreeMap<SaleId, Arc<BoardEntry>>,
}

impl BoardSnapshot {
    /// The entry of a sale, on behalf of a request.
    fn requested(&self, id: SaleId) -> Option<&BoardEntry> {
        let entry = self.sales.get(&id)?;
        // Write it once per entry, so that concurrent requests only read the cache line.
        if !entry.requested.load(Ordering::Relaxed) {
            entry.requested.store(true, Ordering::Relaxed);
        }
        Some(entry)
    }
}

/// The in-memory copy of the facts about every active sale.
pub(super) struct SaleBoard {
    source: Arc<dyn FactSource>,
    catalogue: Arc<Catalogue>,
    clock: Clock,
    metrics: Arc<Metrics>,
    registry: Arc<CounterRegistry>,
    snapshot: ArcSwap<BoardSnapshot>,
    /// Winners of sales that are or were closed to others, as far as the lists have been read.
    winners: ArcSwap<WinnerLists>,
    /// Locked during a refresh.
    refreshing: Mutex<RefreshState>,
}

struct RefreshState {
    read_at: Option<Instant>,
    failures: FailureLog,
}

impl SaleBoard {
    pub(super) fn new(
        source: Arc<dyn FactSource>,
        catalogue: Arc<Catalogue>,
        clock: Clock,
        metrics: Arc<Metrics>,
        registry: Arc<CounterRegistry>,
    ) -> SaleBoard {
        let snapshot = ArcSwap::from_pointee(BoardSnapshot { at: clock.now(), read_at: None, sales: BTreeMap::new() });
        let refreshing = Mutex::new(RefreshState { read_at: None, failures: FailureLog::new("gate facts") });
        SaleBoard { source, catalogue, clock, metrics, registry, snapshot, winners: ArcSwap::default(), refreshing }
    }

    pub(super) fn status(&self, id: SaleId, now: Timestamp) -> Option<SaleStatus> {
        self.status_with_counters(id, now).map(|(status, _)| status)
    }

    /// A sale's status and its counters. Sales that are not on the board have no counters.
    pub(super) fn status_with_counters(
        &self,
        id: SaleId,
        now: Timestamp,
    ) -> Option<(SaleStatus, Option<Arc<SaleCounters>>)> {
        match self.snapshot.load().requested(id) {
            Some(entry) => Some((entry.status(now), Some(entry.counters.clone()))),
            // The sale is retired, or too new to be on the board.
            None => {
                let entry = self.catalogue.known(id).filter(|entry| is_public(&entry.sale))?;
                Some((SaleStatus::of(&entry.sale, None, now), None))
            }
        }
    }

    /// When the facts were last read.
    pub(super) fn read_at(&self) -> Option<Timestamp> {
        self.snapshot.load().read_at
    }

    pub(super) fn button(&self, id: SaleId) -> Option<Bytes> {
        let snapshot = self.snapshot.load();
        let body = match snapshot.requested(id) {
            Some(entry) => {
                let write = || entry.status(snapshot.at).button(snapshot.at, entry.crowd());
                entry.button.get_or_init(write).clone()
            }
            None => {
                let now = self.clock.now();
                self.status(id, now)?.button(now, Crowd::default())
            }
        };
        Some(body)
    }

    /// Whether the user may hold units of a sale that is closed to others. `false` only if a current list of winners
    /// does not contain the user.
    pub(super) fn may_have_won(&self, id: SaleId, user: UserId) -> bool {
        let snapshot = self.snapshot.load();
        let Some(entry) = snapshot.sales.get(&id) else { return false };
        match (&entry.winners, &entry.facts) {
            (Some(winners), Some(facts)) if winners.granted == facts.granted => winners.users.contains(&user),
            _ => true,
        }
    }

    /// Waits while no sale is active.
    pub(super) async fn rest(&self) {
        self.catalogue.rest_between_sales(REST).await;
    }

    /// Reads the facts of the sales that are due.
    pub(super) async fn refresh_due(&self) {
        self.refresh_sales(due).await;
    }

    /// Reads the facts of all sales.
    pub(super) async fn refresh(&self) {
        self.refresh_sales(|_, sales| sales.iter().map(|entry| entry.sale.id).collect()).await;
    }

    /// Publishes a new snapshot, with new facts for the sales that `choose` selects. While the source fails, the
    /// previous facts stay: they can only refuse.
    async fn refresh_sales(&self, choose: impl FnOnce(&BoardSnapshot, &[Arc<CatalogueEntry>]) -> HashSet<SaleId>) {
        let mut state = self.refreshing.lock().await;
        let last = self.snapshot.load_full();
        let active = self.catalogue.active().into_iter().filter_map(|id| self.catalogue.known(id));
        let sales: Vec<Arc<CatalogueEntry>> = active.filter(|entry| is_public(&entry.sale)).collect();
        let chosen = choose(&last, &sales);
        let to_read = sales.iter().filter(|entry| chosen.contains(&entry.sale.id));
        let buckets: Vec<Bucket> = to_read.flat_map(|entry| Bucket::of_sale(&entry.sale)).collect();
        let facts = self.read_facts(&buckets, &mut state).await;
        let read_at = if facts.is_some() { Some(self.clock.now()) } else { last.read_at };
        let mut entries = BTreeMap::new();
        for entry in &sales {
            let (sale, before) = (&entry.sale, last.sales.get(&entry.sale.id));
            let now = match (before, chosen.contains(&sale.id)) {
                (Some(before), false) if before.sale.version == sale.version => before.clone(),
                (before, chosen) => {
                    let known = before.and_then(|before| before.facts);
                    let read = facts.as_ref().filter(|_| chosen).map(|facts| facts.get(&sale.id).copied());
                    self.entry(sale, read.unwrap_or(known), before)
                }
            };
            entries.insert(sale.id, now);
        }
        self.snapshot.store(Arc::new(BoardSnapshot { at: self.clock.now(), read_at, sales: entries }));
    }

    /// `None` when the source fails.
    async fn read_facts(&self, buckets: &[Bucket], state: &mut RefreshState) -> Option<HashMap<SaleId, Facts>> {
        let facts = self.source.facts(buckets).await;
        state.failures.record(facts.as_ref().map(|_| ()));
        if facts.is_ok() {
            state.read_at = Some(Instant::now());
        }
        self.metrics.facts_age_ms.set(state.read_at.map_or(-1, |at| at.elapsed().as_millis() as i64));
        Some(facts.ok()?.into_iter().collect())
    }

    fn entry(&self, sale: &Sale, facts: Option<Facts>, before: Option<&Arc<BoardEntry>>) -> Arc<BoardEntry> {
        let has_units = |facts: Facts| facts.booked < facts.total;
        let seen_with_units = before.and_then(|before| before.facts).is_some_and(has_units);
        let sells_out = seen_with_units && facts.is_some_and(|facts| !has_units(facts));
        let known = before.and_then(|before| before.sold_out_at);
        Arc::new(BoardEntry {
            sale: sale.clone(),
            facts,
            sold_out_at: known.or_else(|| sells_out.then(|| self.clock.now())),
            winners: self.winners.load().get(&sale.id).cloned(),
            button: OnceLock::new(),
            counters: self.registry.of(sale.id),
            created_at: Instant::now(),
            requested: AtomicBool::new(false),
        })
    }

    /// Reads the winners of sales that are closed to others, and reads a list again if units were granted since. Later
    /// refreshes pick up the lists, but do not wait for them, because a long list takes many seconds to read.
    pub(super) async fn read_winners(&self) {
        let snapshot = self.snapshot.load_full();
        let mut lists = self.winners.load().as_ref().clone();
        lists.retain(|id, _| snapshot.sales.contains_key(id));
        let mut closed: Vec<&Arc<BoardEntry>> = snapshot.sales.values().collect();
        closed.retain(|entry| entry.granted_if_closed(self.clock.now()).is_some());
        // Short lists first, so that a long one does not delay them.
        closed.sort_by_key(|entry| entry.facts.map(|facts| facts.booked));
        for entry in closed {
            let Some(granted) = entry.granted_if_closed(self.clock.now()) else { continue };
            if lists.get(&entry.sale.id).is_some_and(|list| list.granted == granted) {
                continue;
            }
            if let Some(list) = self.list_winners(&entry.sale).await {
                lists.insert(entry.sale.id, list);
                self.winners.store(Arc::new(lists.clone()));
            }
        }
    }

    async fn list_winners(&self, sale: &Sale) -> Option<Arc<Winners>> {
        match self.source.winners(&Bucket::of_sale(sale).collect::<Vec<_>>()).await {
            Ok(list) => Some(Arc::new(Winners { users: list.users.into_iter().collect(), granted: list.granted })),
            Err(error) => {
                warn!(sale = %sale.id, %error, "cannot read the winners; until then requests go on to the master");
                None
            }
        }
    }
}

/// The sales to read next.
fn due(snapshot: &BoardSnapshot, sales: &[Arc<CatalogueEntry>]) -> HashSet<SaleId> {
    let wait = |entry: &Arc<CatalogueEntry>| match snapshot.sales.get(&entry.sale.id) {
        Some(known) if known.sale.version == entry.sale.version => {
            known.created_at.elapsed() * if known.requested.load(Ordering::Relaxed) { REQUESTED_WEIGHT } else { 1 }
        }
        // A new or changed sale is read first.
        _ => Duration::MAX,
    };
    longest_waiting(sales.iter().map(|entry| (wait(entry), entry.sale.rush.buckets.into(), entry.sale.id)).collect())
}

/// Picks the sales of one read: the ones that waited longest, up to [`MAX_BUCKETS_PER_READ`] buckets. `sales` has the
/// waiting time and the number of buckets of each.
fn longest_waiting(mut sales: Vec<(Duration, usize, SaleId)>) -> HashSet<SaleId> {
    sales.sort_by_key(|(wait, ..)| Reverse(*wait));
    let mut buckets = 0;
    let fit = sales.into_iter().take_while(|(_, of_sale, _)| {
        let fits = buckets < MAX_BUCKETS_PER_READ;
        buckets += of_sale;
        fits
    });
    fit.map(|(.., id)| id).collect()
}

fn is_public(sale: &Sale) -> bool {
    sale.state != SaleState::Draft
}

impl BoardEntry {
    /// [`Facts::granted`] if the gate admits only winners, otherwise `None`.
    fn granted_if_closed(&self, now: Timestamp) -> Option<i64> {
        let facts = self.facts?;
        let phase = Phase::of(facts.state, facts.window, facts.total - facts.booked, now);
        (phase != Phase::Open).then_some(facts.granted)
    }

    fn status(&self, now: Timestamp) -> SaleStatus {
        SaleStatus::of(&self.sale, self.facts, now)
    }

    fn crowd(&self) -> Crowd {
        let waited = self.facts.map_or(0, |facts| facts.waited_units);
        Crowd { sold_out_at: self.sold_out_at, asked: self.counters.asked(), waited }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_sales_are_all_read_and_of_many_the_requested_ones_most_often() {
        let few = (0..MAX_BUCKETS_PER_READ as i64).map(|id| (Duration::ZERO, 1, SaleId(id))).collect();
        assert_eq!(longest_waiting(few).len(), MAX_BUCKETS_PER_READ);

        let (requested, mut waited) = (SaleId(0), vec![0; 1000]);
        let (mut reads_of_requested, mut longest) = (0, 0);
        for _ in 0..100 {
            let weight = |id: i64| if SaleId(id) == requested { REQUESTED_WEIGHT } else { 1 };
            let wait =
                |(id, reads): (usize, &u32)| (REFRESH_INTERVAL * *reads * weight(id as i64), 1, SaleId(id as i64));
            let read = longest_waiting(waited.iter().enumerate().map(wait).collect());
            assert_eq!(read.len(), MAX_BUCKETS_PER_READ);
            reads_of_requested += usize::from(read.contains(&requested));
            for (id, reads) in waited.iter_mut().enumerate() {
                *reads = if read.contains(&SaleId(id as i64)) { 1 } else { *reads + 1 };
                longest = longest.max(*reads);
            }
        }
        assert!(reads_of_requested > 45, "in {reads_of_requested} of 100 reads");
        assert!(REFRESH_INTERVAL * longest <= Duration::from_millis(500), "one sale waited for {longest} reads");
    }
}
