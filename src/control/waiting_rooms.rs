//! Moves waiting rooms on: writes the places that Redis has given as rows, locks the list of shoppers who came in time,
//! closes the segments of latecomers one after the other, and calls as many shoppers in order as there are units.
//!
//! A step may be interrupted anywhere and repeated: each part is one transaction that checks whether it is still due.
//! If a waiting room fails, it is tried again at growing intervals and delays no other.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use boxed::boxed;
use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;
use tracing::{info, warn};

use base::locked;
use base::metrics::Metrics;
use base::periodic::Backoff;
use domain::{Bucket, Sale, SaleId, SaleState, Segment, draw, hex};
use engine::stock::Stock;
use engine::waiting_rooms::places::{ClosedList, Gathering, HANDED_OVER_AFTER, OpenList};
use store::{Store, StoreResult, WaitingRoom};

/// Transactions per step that call shoppers.
const MAX_CALLS: usize = 10;
/// Places that a step writes while a list is open: seven times what is needed if a million shoppers come within half an
/// hour. A larger crowd's places wait in Redis, so that writing them does not slow the crowd down.
const MAX_WRITTEN: usize = 2_048;
/// The same once the list is closed. Writing this many takes about a second; a step does no more, so that other waiting
/// rooms are not held up.
const MAX_WRITTEN_CLOSED: usize = 65_536;
/// Places per transaction.
const BATCH: usize = 8_192;

pub struct WaitingRoomSteps {
    store: Store,
    /// `None` if the database gives all places.
    gathering: Option<Gathering>,
    /// Lists for which Redis has lost places, and when that was noticed.
    lost: Mutex<HashMap<SaleId, Instant>>,
    metrics: Arc<Metrics>,
    backoff: Backoff<SaleId>,
}

#[boxed]
impl WaitingRoomSteps {
    pub fn new(store: Store, gathering: Option<Gathering>, metrics: Arc<Metrics>) -> WaitingRoomSteps {
        WaitingRoomSteps {
            store,
            gathering,
            lost: Mutex::default(),
            metrics,
            backoff: Backoff::new("waiting room of a sale"),
        }
    }

    /// Moves every waiting room on as far as it goes now.
    pub async fn step(&self) -> StoreResult<()> {
        let open = if self.gathering.is_some() { self.store.waiting_rooms().open_lists().await? } else { Vec::new() };
        let running = self.store.waiting_rooms().running().await?;
        locked(&self.lost).retain(|sale, _| open.contains(sale));
        let all: BTreeSet<SaleId> = open.iter().chain(&running).copied().collect();
        for sale in all.into_iter().filter(|sale| !self.backoff.is_waiting(sale)) {
            self.backoff.record(sale, self.follow(sale, open.contains(&sale), running.contains(&sale)).await);
        }
        Ok(())
    }

    async fn follow(&self, sale: SaleId, is_open: bool, is_running: bool) -> anyhow::Result<()> {
        let gathered = match &self.gathering {
            Some(gathering) if is_open => self.gather(gathering, sale).await?,
            _ => true,
        };
        if gathered && is_running { self.advance(sale).await } else { Ok(()) }
    }

    /// Lets Redis give places while the list is open, and writes the given places to the database. Returns whether the
    /// list may be locked: Redis gives no more places, and the database has all of them, or at least all that a process
    /// remembers.
    async fn gather(&self, gathering: &Gathering, id: SaleId) -> anyhow::Result<bool> {
        let (Some(sale), Some(room)) = (self.store.sales().get(id).await?, self.store.waiting_rooms().get(id).await?)
        else {
            return Ok(true);
        };
        let now = self.store.now().await?;
        let is_open = match gathering_time(&sale).filter(|(_, until)| now < *until) {
            Some((from, until)) => {
                let list = OpenList { from, until, epoch: (room.joined == 0).then_some(now) };
                gathering.open(id, list).await?
            }
            None => false,
        };
        if is_open {
            locked(&self.lost).remove(&id);
            if !room.gathers {
                // This happens a second or more before shoppers may join.
                self.store.waiting_rooms().set_gathers(id, true).await?;
            }
        }
        if !is_open {
            let list = gathering.close(id).await?;
            if list.is_written {
                return self.is_handed_over(&room, list).await;
            }
        }
        let enough = if is_open { MAX_WRITTEN } else { MAX_WRITTEN_CLOSED };
        let mut written = 0;
        while written < enough {
            let arrivals = gathering.arrivals(id, BATCH.min(enough)).await?;
            if arrivals.is_empty() {
                break;
            }
            self.store.waiting_rooms().keep_places(id, &arrivals.places).await?;
            gathering.forget(id, &arrivals).await?;
            written += arrivals.places.len();
        }
        if is_open {
            return Ok(false);
        }
        let list = gathering.close(id).await?;
        Ok(list.is_written && self.is_handed_over(&room, list).await?)
    }

    /// Whether the database has all places of a closed list. If Redis has lost places, the processes that gave them
    /// have [`HANDED_OVER_AFTER`] from the moment it was noticed to write them.
    async fn is_handed_over(&self, room: &WaitingRoom, list: ClosedList) -> anyhow::Result<bool> {
        if !room.gathers {
            return Ok(true);
        }
        if !list.is_whole {
            let since = *locked(&self.lost).entry(room.sale_id).or_insert_with(|| {
                warn!(sale = %room.sale_id, "Redis has lost places; no place is given until the processes have written them");
                Instant::now()
            });
            if since.elapsed() < HANDED_OVER_AFTER {
                return Ok(false);
            }
        }
        self.store.waiting_rooms().set_gathers(room.sale_id, false).await?;
        locked(&self.lost).remove(&room.sale_id);
        Ok(true)
    }

    async fn advance(&self, sale: SaleId) -> anyhow::Result<()> {
        if self.store.waiting_rooms().lock(sale).await?.is_none() {
            return Ok(());
        }
        for segment in self.store.waiting_rooms().segments_to_close(sale).await? {
            self.close(sale, segment).await?;
        }
        for _ in 0..MAX_CALLS {
            let called = self.store.waiting_rooms().call_next(sale).await?;
            self.metrics.queue_calls.inc_by(called as u64);
            if called == 0 {
                break;
            }
        }
        Ok(())
    }

    /// Closes a segment. It takes in no more places, so it is read without a lock.
    async fn close(&self, sale: SaleId, number: i64) -> anyhow::Result<()> {
        let entries = self.store.waiting_rooms().segment_entries(sale, number).await?;
        let (segment, root) = tokio::task::spawn_blocking(move || {
            let numbers: Vec<i64> = entries.iter().map(|(number, _)| *number).collect();
            let root = (number == 0).then(|| {
                let mut ids: Vec<_> = entries.iter().map(|(_, entry)| *entry).collect();
                ids.sort_unstable();
                hex::encode(&draw::root(&ids))
            });
            (Segment::closed(number, &numbers), root)
        })
        .await?;
        self.store.waiting_rooms().close_segment(sale, &segment, root.as_deref()).await?;
        if number == 0 {
            info!(%sale, places = segment.places, root, "the list of a waiting room is locked");
        }
        Ok(())
    }
}

/// From when until when Redis gives the places of a sale. `None` with a deposit: there the place and the wallet must
/// change in one transaction of the database.
fn gathering_time(sale: &Sale) -> Option<(Timestamp, Timestamp)> {
    if matches!(sale.state, SaleState::Draft | SaleState::Ended) || sale.eligibility.deposit.is_some() {
        return None;
    }
    sale.waiting_room_times()
}

// Turns of shoppers who were called from waiting rooms: a turn does not run down while the stock backend cannot decide
// the shopper's purchases.
//
// A turn is counted from its call, so the call is moved forward by the lost time. A process counts only lost time that
// it has seen itself: a process that takes over begins at zero.

/// How often turns are prolonged while a sale stands still. The shortest turn is five times as long.
const PROLONG_INTERVAL: Duration = Duration::from_secs(2);
/// The most that one step gives back. The process may have been without the lease since its last step.
const MAX_PROLONGATION: Duration = Duration::from_secs(30);

pub struct Turns {
    store: Store,
    stock: Arc<dyn Stock>,
    /// Until when no time was lost, by sale.
    complete: Mutex<HashMap<SaleId, Instant>>,
}

#[boxed]
impl Turns {
    pub fn new(store: Store, stock: Arc<dyn Stock>) -> Turns {
        Turns { store, stock, complete: Mutex::default() }
    }

    /// Prolongs turns of sales that stand still.
    pub async fn step(&self) -> StoreResult<()> {
        let running = self.store.waiting_rooms().running().await?;
        locked(&self.complete).retain(|sale, _| running.contains(sale));
        for sale in running {
            if let Some(sale) = self.store.sales().get(sale).await? {
                self.follow(&sale).await?;
            }
        }
        Ok(())
    }

    async fn follow(&self, sale: &Sale) -> StoreResult<()> {
        let now = Instant::now();
        let still = self.stock.standing_still(sale).await;
        let since = *locked(&self.complete).entry(sale.id).or_insert(now);
        let lost = (now - since).min(MAX_PROLONGATION);
        if !still.is_empty() {
            if lost < PROLONG_INTERVAL {
                return Ok(());
            }
            let lost = SignedDuration::from_millis(lost.as_millis() as i64);
            let stands_still = |user| still.contains(&Bucket::of_user(sale.id, sale.rush.buckets, user));
            let turns = self.store.waiting_rooms().prolong_turns(sale.id, lost, stands_still).await?;
            if turns > 0 {
                info!(sale = %sale.id, turns, lost_ms = lost.as_millis() as i64, "turns were prolonged: the sale stands still");
            }
        }
        locked(&self.complete).insert(sale.id, now);
        Ok(())
    }
}
