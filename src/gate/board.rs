//! The board: what this process knows of every active sale. Replaced as a whole many times a second with at most one read
//! per sale, however many ask.

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
use tracing::{info, warn};

use super::status::SaleStatus;
use crate::catalogue::{Catalogue, Entry};
use crate::clock::Clock;
use crate::counters::{CounterRegistry, SaleCounters};
use crate::domain::Bucket;
use crate::domain::{Phase, Sale, SaleId, SaleState, UserId};
use crate::metrics::Metrics;
use crate::stock::{FactSource, Facts};

/// How often the facts are read. People cannot press faster, and a replica hardly notices.
pub(super) const EVERY: Duration = Duration::from_millis(50);
/// Buckets of one look. Where there are more, those that have waited longest come first; a thousand sales that nobody asks
/// about are each read twice a second or more.
const AT_ONCE: usize = 128;
/// The wait of a sale that somebody asks about counts as many times as much.
const ASKED_FOR: u32 = 8;

type Lists = HashMap<SaleId, Arc<Winners>>;

/// Users who got units of a sale, so that none of them is turned away at the gate when all are gone.
struct Winners {
    users: HashSet<UserId, RandomState>,
    /// [`Facts::granted`] before this was read: any later grant makes it old.
    granted: i64,
}

/// One sale on the board.
struct Posted {
    sale: Sale,
    facts: Option<Facts>,
    winners: Option<Arc<Winners>>,
    button: OnceLock<Bytes>,
    counters: Arc<SaleCounters>,
    /// When it was posted.
    at: Instant,
    /// Whether anybody has asked about it since.
    asked: AtomicBool,
}

struct View {
    at: Timestamp,
    /// When the source last answered.
    read_at: Option<Timestamp>,
    sales: BTreeMap<SaleId, Arc<Posted>>,
}

impl View {
    /// The sale as it is posted, for somebody who asks about it.
    fn asked(&self, id: SaleId) -> Option<&Posted> {
        let posted = self.sales.get(&id)?;
        // Written once per look, so that those who ask at the same time only read.
        if !posted.asked.load(Ordering::Relaxed) {
            posted.asked.store(true, Ordering::Relaxed);
        }
        Some(posted)
    }
}

pub(super) struct SaleBoard {
    source: Arc<dyn FactSource>,
    catalogue: Arc<Catalogue>,
    clock: Clock,
    metrics: Arc<Metrics>,
    registry: Arc<CounterRegistry>,
    view: ArcSwap<View>,
    /// The winners of sales that turn people away or did, as far as they were read.
    winners: ArcSwap<Lists>,
    /// Present while a refresh is under way; keeps when the facts were read last and whether that works.
    refreshing: Mutex<Freshness>,
}

#[derive(Default)]
struct Freshness {
    read_at: Option<Instant>,
    away: bool,
}

impl SaleBoard {
    pub(super) fn new(
        source: Arc<dyn FactSource>,
        catalogue: Arc<Catalogue>,
        clock: Clock,
        metrics: Arc<Metrics>,
        registry: Arc<CounterRegistry>,
    ) -> SaleBoard {
        let view = ArcSwap::from_pointee(View { at: clock.now(), read_at: None, sales: BTreeMap::new() });
        let winners = ArcSwap::default();
        SaleBoard { source, catalogue, clock, metrics, registry, view, winners, refreshing: Mutex::default() }
    }

    pub(super) fn status(&self, id: SaleId, now: Timestamp) -> Option<SaleStatus> {
        self.see(id, now).map(|(status, _)| status)
    }

    /// As `status`, with the sale's counters. What is not on the board is not counted.
    pub(super) fn see(&self, id: SaleId, now: Timestamp) -> Option<(SaleStatus, Option<Arc<SaleCounters>>)> {
        match self.view.load().asked(id) {
            Some(posted) => Some((posted.status(now), Some(posted.counters.clone()))),
            // Retired, or so new that it is not on the board yet.
            None => {
                let entry = self.catalogue.known(id).filter(|entry| is_public(&entry.sale))?;
                Some((SaleStatus::of(&entry.sale, None, now), None))
            }
        }
    }

    /// When the facts were read last.
    pub(super) fn read_at(&self) -> Option<Timestamp> {
        self.view.load().read_at
    }

    pub(super) fn button(&self, id: SaleId) -> Option<Bytes> {
        let view = self.view.load();
        let body = match view.asked(id) {
            Some(posted) => posted.button.get_or_init(|| posted.status(view.at).button(view.at)).clone(),
            None => {
                let now = self.clock.now();
                self.status(id, now)?.button(now)
            }
        };
        Some(body)
    }

    /// Whether the user may have units of a sale that has none left; only a fresh list of winners can exclude it.
    pub(super) fn may_have_won(&self, id: SaleId, user: UserId) -> bool {
        let view = self.view.load();
        let Some(posted) = view.sales.get(&id) else { return false };
        match (&posted.winners, &posted.facts) {
            (Some(winners), Some(facts)) if winners.granted == facts.granted => winners.users.contains(&user),
            _ => true,
        }
    }

    /// Reads the facts of those sales whose turn it is.
    pub(super) async fn look(&self) {
        self.read(due).await;
    }

    /// Reads the facts of all sales anew.
    pub(super) async fn refresh(&self) {
        self.read(|_, sales| sales.iter().map(|entry| entry.sale.id).collect()).await;
    }

    /// Posts every sale, those that `choose` names with new facts. While the source is away the last ones stay: they may
    /// only refuse.
    async fn read(&self, choose: impl FnOnce(&View, &[Arc<Entry>]) -> HashSet<SaleId>) {
        let mut freshness = self.refreshing.lock().await;
        let last = self.view.load_full();
        let active = self.catalogue.active().into_iter().filter_map(|id| self.catalogue.known(id));
        let sales: Vec<Arc<Entry>> = active.filter(|entry| is_public(&entry.sale)).collect();
        let chosen = choose(&last, &sales);
        let is_chosen = |entry: &&Arc<Entry>| chosen.contains(&entry.sale.id);
        let buckets: Vec<Bucket> = sales.iter().filter(is_chosen).flat_map(|e| Bucket::of_sale(&e.sale)).collect();
        let mut read_at = last.read_at;
        let facts: Option<HashMap<SaleId, Facts>> = match self.source.facts(&buckets).await {
            Ok(facts) => {
                if std::mem::take(&mut freshness.away) {
                    info!("the facts for the gate can be read again");
                }
                freshness.read_at = Some(Instant::now());
                read_at = Some(self.clock.now());
                Some(facts.into_iter().collect())
            }
            Err(error) => {
                if !std::mem::replace(&mut freshness.away, true) {
                    warn!(%error, "cannot read the facts for the gate; going on with the last ones");
                }
                None
            }
        };
        self.metrics.facts_age_ms.set(freshness.read_at.map_or(-1, |at| at.elapsed().as_millis() as i64));
        let mut posted = BTreeMap::new();
        for entry in &sales {
            let (sale, before) = (&entry.sale, last.sales.get(&entry.sale.id));
            let now = match (before, is_chosen(&entry)) {
                (Some(before), false) if before.sale.version == sale.version => before.clone(),
                (before, chosen) => {
                    let known = before.and_then(|before| before.facts);
                    let heard = facts.as_ref().filter(|_| chosen).map(|facts| facts.get(&sale.id).copied());
                    self.post(sale, heard.unwrap_or(known))
                }
            };
            posted.insert(sale.id, now);
        }
        self.view.store(Arc::new(View { at: self.clock.now(), read_at, sales: posted }));
    }

    fn post(&self, sale: &Sale, facts: Option<Facts>) -> Arc<Posted> {
        Arc::new(Posted {
            sale: sale.clone(),
            facts,
            winners: self.winners.load().get(&sale.id).cloned(),
            button: OnceLock::new(),
            counters: self.registry.of(sale.id),
            at: Instant::now(),
            asked: AtomicBool::new(false),
        })
    }

    /// Reads the winners of the sales that turn people away, anew where units were granted since. The next looks post
    /// them; they don't wait for them, because a long list takes many seconds.
    pub(super) async fn read_winners(&self) {
        let view = self.view.load_full();
        let mut lists = self.winners.load().as_ref().clone();
        lists.retain(|id, _| view.sales.contains_key(id));
        let turns_away = |posted: &&Arc<Posted>| posted.granted_if_closed(self.clock.now()).is_some();
        let mut closed: Vec<&Arc<Posted>> = view.sales.values().filter(turns_away).collect();
        // A long list is not to hold up the short ones.
        closed.sort_by_key(|posted| posted.facts.map(|facts| facts.booked));
        for posted in closed {
            let Some(granted) = posted.granted_if_closed(self.clock.now()) else { continue };
            if lists.get(&posted.sale.id).is_some_and(|list| list.granted == granted) {
                continue;
            }
            if let Some(list) = self.list_winners(&posted.sale, granted).await {
                lists.insert(posted.sale.id, list);
                self.winners.store(Arc::new(lists.clone()));
            }
        }
    }

    /// Whoever held units when so many were granted is among them.
    async fn list_winners(&self, sale: &Sale, granted: i64) -> Option<Arc<Winners>> {
        let of_buckets = Bucket::of_sale(sale).map(|bucket| self.source.winners(bucket));
        match futures::future::try_join_all(of_buckets).await {
            Ok(users) => Some(Arc::new(Winners { users: users.into_iter().flatten().collect(), granted })),
            Err(error) => {
                warn!(sale = %sale.id, %error, "cannot read who has won; asking the master about everybody meanwhile");
                None
            }
        }
    }
}

/// Those whose turn it is.
fn due(view: &View, sales: &[Arc<Entry>]) -> HashSet<SaleId> {
    let wait = |entry: &Arc<Entry>| match view.sales.get(&entry.sale.id) {
        Some(posted) if posted.sale.version == entry.sale.version => {
            posted.at.elapsed() * if posted.asked.load(Ordering::Relaxed) { ASKED_FOR } else { 1 }
        }
        // New, or changed.
        _ => Duration::MAX,
    };
    longest_waiting(sales.iter().map(|entry| (wait(entry), entry.sale.rush.buckets.into(), entry.sale.id)).collect())
}

/// Of sales with how long they have waited and how many buckets they have, those that one look reads: all, unless there
/// are many.
fn longest_waiting(mut sales: Vec<(Duration, usize, SaleId)>) -> HashSet<SaleId> {
    sales.sort_by_key(|(wait, ..)| Reverse(*wait));
    let mut buckets = 0;
    let fit = sales.into_iter().take_while(|(_, of_sale, _)| {
        let any = buckets < AT_ONCE;
        buckets += of_sale;
        any
    });
    fit.map(|(.., id)| id).collect()
}

fn is_public(sale: &Sale) -> bool {
    sale.state != SaleState::Draft
}

impl Posted {
    /// [`Facts::granted`], if nobody is let in who has not won already.
    fn granted_if_closed(&self, now: Timestamp) -> Option<i64> {
        let facts = self.facts?;
        let phase = Phase::of(facts.state, facts.window, facts.total - facts.booked, now);
        (phase != Phase::Open).then_some(facts.granted)
    }

    fn status(&self, now: Timestamp) -> SaleStatus {
        SaleStatus::of(&self.sale, self.facts, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_few_sales_all_are_read_and_of_many_those_that_are_asked_about_most_often() {
        let few = (0..AT_ONCE as i64).map(|id| (Duration::ZERO, 1, SaleId(id))).collect();
        assert_eq!(longest_waiting(few).len(), AT_ONCE);

        let (asked, mut waited) = (SaleId(0), vec![0; 1000]);
        let (mut reads_of_asked, mut longest) = (0, 0);
        for _ in 0..100 {
            let weight = |id: i64| if SaleId(id) == asked { ASKED_FOR } else { 1 };
            let wait = |(id, looks): (usize, &u32)| (EVERY * *looks * weight(id as i64), 1, SaleId(id as i64));
            let read = longest_waiting(waited.iter().enumerate().map(wait).collect());
            assert_eq!(read.len(), AT_ONCE);
            reads_of_asked += usize::from(read.contains(&asked));
            for (id, looks) in waited.iter_mut().enumerate() {
                *looks = if read.contains(&SaleId(id as i64)) { 1 } else { *looks + 1 };
                longest = longest.max(*looks);
            }
        }
        assert!(reads_of_asked > 45, "read in {reads_of_asked} of 100 looks");
        assert!(EVERY * longest <= Duration::from_millis(500), "one waited for {longest} looks");
    }
}
