//! What this process has promised lately. A 202 is a promise; a master that restarts without its last writes, or loses
//! all of them, has forgotten it. Then the promises are repeated, with the order ids that were answered: the script
//! finds a hold that survived and changes nothing, or grants it again and puts it back into the outbox.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use redis::Value;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::link::Link;
use super::redis::{Mode, RedisStock, garbled};
use super::{Bucket, Claim, Unavailable, keys};

/// How long a promise is remembered: longer than a master with an append-only file fsynced every second may lose, and
/// than a relay usually needs to pass an order on.
const REMEMBERED_FOR: Duration = Duration::from_secs(120);
/// At most this many, so that memory is bounded (72 MB); the oldest go first.
const MOST: usize = 1_000_000;
/// How often the master is asked whether it is still the same.
const EVERY: Duration = Duration::from_millis(500);
const BATCH: usize = 256;

/// One life of a bucket's keys: the epoch in which they were loaded, by the how manieth server process that was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Life {
    epoch: i64,
    server: u64,
}

/// The grants of one batch.
struct Batch {
    at: Instant,
    claims: Vec<Claim>,
}

type Recent = BTreeMap<(Bucket, Life), VecDeque<Batch>>;

/// The promises of the last moments, by bucket and the life in which they were given, oldest first.
#[derive(Default)]
pub struct Promises {
    recent: Mutex<Recent>,
    /// Counts the server processes that were seen. A promise given before a new one was noticed is repeated once more
    /// than needed, which changes nothing.
    server: AtomicU64,
}

impl Promises {
    pub(super) fn remember(&self, bucket: Bucket, epoch: i64, claims: Vec<Claim>) {
        if !claims.is_empty() {
            let batch = Batch { at: Instant::now(), claims };
            let life = Life { epoch, server: self.server.load(Ordering::Relaxed) };
            self.lock().entry((bucket, life)).or_default().push_back(batch);
        }
    }

    /// Buckets and their lives of which something is remembered. What is too old, or more than is kept, is forgotten.
    fn lives(&self) -> Vec<(Bucket, Life)> {
        let mut recent = self.lock();
        let mut kept = 0;
        for batches in recent.values_mut() {
            let young = batches.iter().rev().take_while(|batch| {
                kept += batch.claims.len();
                kept <= MOST && batch.at.elapsed() <= REMEMBERED_FOR
            });
            let forgotten = batches.len() - young.count();
            batches.drain(..forgotten);
        }
        recent.retain(|_, batches| !batches.is_empty());
        recent.keys().copied().collect()
    }

    fn claims(&self, bucket: Bucket, life: Life) -> Vec<Claim> {
        let recent = self.lock();
        recent.get(&(bucket, life)).into_iter().flatten().flat_map(|batch| &batch.claims).copied().collect()
    }

    /// The promises of `bucket` given in `from` now stand in `to`. Those are older than what was given in `to` since.
    fn moved(&self, bucket: Bucket, from: Life, to: Life) {
        let mut recent = self.lock();
        if from != to
            && let Some(mut older) = recent.remove(&(bucket, from))
        {
            let newer = recent.entry((bucket, to)).or_default();
            older.append(newer);
            *newer = older;
        }
    }

    /// Notes which server process answers; the answer is its number.
    fn seen(&self, last: &mut Option<String>, present: String) -> u64 {
        let another = last.as_ref().is_some_and(|last| *last != present);
        *last = Some(present);
        self.server.fetch_add(another.into(), Ordering::Relaxed) + u64::from(another)
    }

    fn lock(&self) -> MutexGuard<'_, Recent> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
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
        let lives = self.promises().lives();
        if lives.is_empty() && run_id.is_some() {
            return Ok(());
        }
        let present = server_run_id(&self.master).await?;
        let server = self.promises().seen(run_id, present);
        for (bucket, life) in lives {
            // Not loaded: control is at it and the promises follow, or the sale is over and they lapse.
            let Some(epoch) = self.epoch_of(bucket).await? else { continue };
            let now = Life { epoch, server };
            if life != now {
                self.repeat(bucket, life, now).await?;
            }
        }
        Ok(())
    }

    async fn epoch_of(&self, bucket: Bucket) -> Result<Option<i64>, Unavailable> {
        let mut get = redis::cmd("HGET");
        get.arg(keys::hash(bucket)).arg("Epoch");
        Ok(get.query_async(&mut self.master.clone()).await?)
    }

    async fn repeat(&self, bucket: Bucket, from: Life, to: Life) -> Result<(), Unavailable> {
        let claims = self.promises().claims(bucket, from);
        let mut again = 0;
        for batch in claims.chunks(BATCH) {
            let Some((_, decisions)) = self.call_reserve(Mode::Keep, bucket, batch).await? else { return Ok(()) };
            again += decisions.iter().filter(|d| matches!(d, super::Decision::Granted(_))).count();
        }
        self.promises().moved(bucket, from, to);
        info!(%bucket, promises = claims.len(), forgotten = again, "repeated promises to a master that may have forgotten them");
        Ok(())
    }
}

/// Of all servers of a cluster together: when one of them is another than before, all promises are repeated.
async fn server_run_id(master: &Link) -> Result<String, Unavailable> {
    let answer: Value = redis::cmd("INFO").arg("server").query_async(&mut master.clone()).await?;
    let mut ids = match answer {
        Value::Map(nodes) => nodes.iter().map(|(_, info)| run_id(info)).collect::<Result<Vec<_>, _>>()?,
        info => vec![run_id(&info)?],
    };
    ids.sort();
    Ok(ids.join(" "))
}

fn run_id(info: &Value) -> Result<String, Unavailable> {
    let info: String = redis::from_redis_value_ref(info).map_err(|_| garbled("INFO"))?;
    let line = info.lines().find_map(|line| line.strip_prefix("run_id:"));
    line.map(|id| id.trim().to_owned()).ok_or_else(|| garbled("INFO"))
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::domain::{OrderId, SaleId, UserId};

    fn claim(n: u128) -> Claim {
        Claim { user_id: UserId(Uuid::from_u128(n)), order_id: OrderId(Uuid::from_u128(n)), quantity: 1 }
    }

    const fn life(epoch: i64, server: u64) -> Life {
        Life { epoch, server }
    }

    #[tokio::test(start_paused = true)]
    async fn promises_move_to_a_new_life_in_their_order_and_are_forgotten_in_time() {
        let promises = Promises::default();
        let sale = Bucket::whole(SaleId(7));
        promises.remember(sale, 1, vec![claim(1), claim(2)]);
        promises.remember(sale, 1, vec![]);
        tokio::time::advance(REMEMBERED_FOR / 2).await;
        promises.remember(sale, 2, vec![claim(3)]);
        assert_eq!(promises.lives(), [(sale, life(1, 0)), (sale, life(2, 0))]);
        promises.moved(sale, life(1, 0), life(2, 0));
        assert_eq!(promises.lives(), [(sale, life(2, 0))]);
        assert_eq!(promises.claims(sale, life(2, 0)), [claim(1), claim(2), claim(3)]);
        tokio::time::advance(REMEMBERED_FOR * 2 / 3).await;
        assert_eq!(promises.lives(), [(sale, life(2, 0))]);
        assert_eq!(promises.claims(sale, life(2, 0)), [claim(3)]);
        tokio::time::advance(REMEMBERED_FOR).await;
        assert_eq!(promises.lives(), []);
    }

    #[test]
    fn a_server_that_restarts_is_another_one() {
        let promises = Promises::default();
        let mut last = None;
        let numbers = ["a", "a", "b", "b", "a"].map(|run| promises.seen(&mut last, run.to_owned()));
        assert_eq!(numbers, [0, 0, 1, 1, 2]);
        promises.remember(Bucket::whole(SaleId(7)), 1, vec![claim(1)]);
        assert_eq!(promises.lives(), [(Bucket::whole(SaleId(7)), life(1, 2))]);
    }
}
