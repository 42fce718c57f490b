//! Waiting rooms: places that Redis has given become rows, the list of those who came in time is locked, segments of latecomers close one
//! after the other, and as many of the next in order are called as there are units.
//!
//! A step may be interrupted anywhere and made again: each part is one transaction that checks whether it is still due. Each
//! waiting room on its own: one that fails is tried again later and later, and delays no other.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use tracing::info;

use crate::domain::{Sale, SaleId, SaleState, Segment, draw, hex};
use crate::metrics::Metrics;
use crate::periodic::Backoff;
use crate::store::{Store, StoreError};
use crate::waiting_rooms::gathering::{Gathering, OpenList};

/// Transactions that call, of one step.
const MAX_CALLS: usize = 10;
/// Places that a step writes while a list is open: seven times what a million shoppers need who come within half an hour. The rest of
/// a crowd's places waits in Redis, so that writing them takes little time from the crowd.
const MAX_WRITTEN: usize = 2_048;
/// The same once the list is closed, about a second: other waiting rooms go on meanwhile.
const MAX_WRITTEN_CLOSED: usize = 65_536;
/// Places of one transaction.
const BATCH: usize = 8_192;

pub struct Queues {
    store: Store,
    /// `None` where the database gives all places.
    gathering: Option<Gathering>,
    metrics: Arc<Metrics>,
    backoff: Backoff<SaleId>,
}

impl Queues {
    pub fn new(store: Store, gathering: Option<Gathering>, metrics: Arc<Metrics>) -> Queues {
        Queues { store, gathering, metrics, backoff: Backoff::new("waiting room of a sale") }
    }

    /// Moves every waiting room on as far as it goes now.
    pub async fn step(&self) -> Result<(), StoreError> {
        let open = if self.gathering.is_some() { self.store.open_lists().await? } else { Vec::new() };
        let running = self.store.running_queues().await?;
        for sale in open.iter().chain(&running).copied().collect::<BTreeSet<_>>() {
            if !self.backoff.is_waiting(&sale) {
                let moved = self.follow(sale, open.contains(&sale), running.contains(&sale)).await;
                self.backoff.record(sale, moved.map_err(|error| format!("{error:#}")));
            }
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

    /// Lets Redis give places while the list is open, and writes those that it has given. Returns whether the list may be locked: Redis
    /// gives no more, and the database has all.
    async fn gather(&self, gathering: &Gathering, id: SaleId) -> anyhow::Result<bool> {
        let (Some(sale), Some(queue)) = (self.store.sale(id).await?, self.store.queue(id).await?) else {
            return Ok(true);
        };
        let now = self.store.now().await?;
        let is_open = match gathering_time(&sale).filter(|(_, until)| now < *until) {
            Some((from, until)) => {
                let list = OpenList { from, until, epoch: (queue.joined == 0).then_some(now) };
                gathering.open(id, list).await?
            }
            None => false,
        };
        if !is_open && gathering.close(id).await? {
            return Ok(true);
        }
        let enough = if is_open { MAX_WRITTEN } else { MAX_WRITTEN_CLOSED };
        let mut written = 0;
        while written < enough {
            let arrivals = gathering.arrivals(id, BATCH.min(enough)).await?;
            if arrivals.is_empty() {
                break;
            }
            self.store.keep_places(id, &arrivals.places).await?;
            gathering.forget(id, &arrivals).await?;
            written += arrivals.places.len();
        }
        Ok(!is_open && gathering.close(id).await?)
    }

    async fn advance(&self, sale: SaleId) -> anyhow::Result<()> {
        if self.store.lock_queue(sale).await?.is_none() {
            return Ok(());
        }
        for segment in self.store.segments_to_close(sale).await? {
            self.close(sale, segment).await?;
        }
        for _ in 0..MAX_CALLS {
            let called = self.store.call_next(sale).await?;
            self.metrics.queue_calls.inc_by(called as u64);
            if called == 0 {
                break;
            }
        }
        Ok(())
    }

    /// Closes a segment. It takes in no more places, so it is read without a lock.
    async fn close(&self, sale: SaleId, number: i64) -> anyhow::Result<()> {
        let entries = self.store.segment_entries(sale, number).await?;
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
        self.store.close_segment(sale, &segment, root.as_deref()).await?;
        if number == 0 {
            info!(%sale, places = segment.places, root, "the list of a waiting room is locked");
        }
        Ok(())
    }
}

/// From when until when Redis gives the places of a sale. A place that takes a deposit is one transaction with the wallet.
fn gathering_time(sale: &Sale) -> Option<(Timestamp, Timestamp)> {
    if matches!(sale.state, SaleState::Draft | SaleState::Ended) || sale.eligibility.deposit.is_some() {
        return None;
    }
    let (plan, opens) = sale.mode.queue_plan().zip(sale.window.opens_at)?;
    Some((plan.joining_from(opens), plan.locks_at(opens)))
}
