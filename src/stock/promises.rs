//! What this process has promised lately. A 202 is a promise; a master that restarts without its last writes, or loses
//! all of them, has forgotten it. Then the promises are repeated, with the order ids that were answered: the script
//! finds a hold that survived and changes nothing, or grants it again and puts it back into the outbox.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use redis::aio::ConnectionManager;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::redis::{Mode, RedisStock, garbled};
use super::{Claim, Unavailable, keys};
use crate::domain::SaleId;

/// How long a promise is remembered: longer than a master with an append-only file fsynced every second may lose, and
/// than a relay usually needs to pass an order on.
const REMEMBERED_FOR: Duration = Duration::from_secs(120);
/// At most this many, so that memory is bounded; the oldest go first.
const MOST: usize = 1_000_000;
/// How often the master is asked whether it is still the same.
const EVERY: Duration = Duration::from_millis(500);
const BATCH: usize = 256;

struct Promise {
    at: Instant,
    sale: SaleId,
    epoch: i64,
    claim: Claim,
}

/// The promises of the last moments, oldest first.
#[derive(Default)]
pub struct Promises {
    recent: Mutex<VecDeque<Promise>>,
}

impl Promises {
    pub(super) fn remember(&self, sale: SaleId, epoch: i64, claims: impl Iterator<Item = Claim>) {
        let at = Instant::now();
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        recent.extend(claims.map(|claim| Promise { at, sale, epoch, claim }));
        let surplus = recent.len().saturating_sub(MOST);
        recent.drain(..surplus);
    }

    /// The claims by sale and epoch that are young enough to repeat; the others are forgotten.
    fn young(&self) -> BTreeMap<(SaleId, i64), Vec<Claim>> {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let old = recent.partition_point(|promise| promise.at.elapsed() > REMEMBERED_FOR);
        recent.drain(..old);
        let mut by_epoch: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for promise in recent.iter() {
            by_epoch.entry((promise.sale, promise.epoch)).or_default().push(promise.claim);
        }
        by_epoch
    }

    /// The promises of `sale` made in `from` now stand in `to`.
    fn moved(&self, sale: SaleId, from: i64, to: i64) {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        for promise in recent.iter_mut().filter(|p| p.sale == sale && p.epoch == from) {
            promise.epoch = to;
        }
    }

    fn is_empty(&self) -> bool {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }
}

impl RedisStock {
    /// Watches the master and repeats promises that it may have forgotten. Runs until it is stopped.
    pub async fn keep_promises(self, stop: CancellationToken) {
        let mut run_id = None;
        let mut tick = tokio::time::interval(EVERY);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        while stop.run_until_cancelled(tick.tick()).await.is_some() {
            if let Err(error) = self.keep_once(&mut run_id).await {
                warn!(%error, "cannot check whether the master remembers its promises");
            }
        }
    }

    /// One look. `run_id` is the server process that was seen last.
    async fn keep_once(&self, run_id: &mut Option<String>) -> Result<(), Unavailable> {
        if self.promises().is_empty() && run_id.is_some() {
            return Ok(());
        }
        let present = server_run_id(&self.master).await?;
        let restarted = run_id.as_ref().is_some_and(|seen| *seen != present);
        for ((sale, epoch), claims) in self.promises().young() {
            // Not loaded yet: control is at it, and the promises follow.
            let Some(now) = self.epoch_of(sale).await? else { return Ok(()) };
            if restarted || now != epoch {
                self.repeat(sale, epoch, now, &claims).await?;
            }
        }
        // Only now: what failed above is done again at the next look.
        *run_id = Some(present);
        Ok(())
    }

    async fn epoch_of(&self, sale: SaleId) -> Result<Option<i64>, Unavailable> {
        let mut get = redis::cmd("HGET");
        get.arg(keys::sale(sale)).arg("Epoch");
        Ok(get.query_async(&mut self.master.clone()).await?)
    }

    async fn repeat(&self, sale: SaleId, from: i64, to: i64, claims: &[Claim]) -> Result<(), Unavailable> {
        let mut again = 0;
        for batch in claims.chunks(BATCH) {
            let Some((_, decisions)) = self.call_reserve(Mode::Keep, sale, batch).await? else { return Ok(()) };
            again += decisions.iter().filter(|d| matches!(d, super::Decision::Granted(_))).count();
        }
        self.promises().moved(sale, from, to);
        info!(%sale, promises = claims.len(), forgotten = again, "repeated promises to a master that was restarted");
        Ok(())
    }
}

async fn server_run_id(master: &ConnectionManager) -> Result<String, Unavailable> {
    let info: String = redis::cmd("INFO").arg("server").query_async(&mut master.clone()).await?;
    let line = info.lines().find_map(|line| line.strip_prefix("run_id:"));
    line.map(|id| id.trim().to_owned()).ok_or_else(|| garbled("INFO"))
}
