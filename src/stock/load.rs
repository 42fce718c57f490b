//! What data control does to a master: bring buckets to life, keep their counters in step, look through their holds, and
//! take away what is over.

use redis::AsyncCommands;

use super::redis::{RedisStock, SETTLING, garbled, holds_page, start_flag};
use super::{Bucket, Hold, Unavailable, keys, time_text};
use crate::domain::{Sale, UserId};
use crate::store::Release;

/// Fields of one `HSET` and holds of one look; larger ones would block the server for too long.
const PAGE: usize = 500;

/// What the master holds of a bucket, or of all buckets of a sale together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loaded {
    pub epoch: i64,
    pub version: i64,
    pub booked: i64,
    /// Entries in the outbox.
    pub outbox: i64,
}

impl Loaded {
    /// All buckets of one sale together, as old as the oldest; `None` when one of them is not loaded.
    pub fn of_sale(survey: &[(Bucket, Option<Loaded>)]) -> Option<Loaded> {
        let add = |all: Loaded, one: Loaded| Loaded {
            epoch: all.epoch.max(one.epoch),
            version: all.version.min(one.version),
            booked: all.booked + one.booked,
            outbox: all.outbox + one.outbox,
        };
        survey.iter().map(|(_, loaded)| *loaded).reduce(|all, one| Some(add(all?, one?)))?
    }
}

/// A hold that does not agree with the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mend {
    /// The database has a live order that is not held.
    Hold(Release),
    /// A hold has neither an order nor an entry in the outbox.
    Send(Release),
}

impl RedisStock {
    /// What the master holds of each bucket; `None` where it is not loaded.
    pub async fn survey(&self, buckets: &[Bucket]) -> Result<Vec<(Bucket, Option<Loaded>)>, Unavailable> {
        if buckets.is_empty() {
            return Ok(Vec::new());
        }
        let mut pipe = redis::pipe();
        for &bucket in buckets {
            pipe.hmget(keys::hash(bucket), &["Epoch", "Version", "Booked"]).xlen(keys::outbox(bucket));
        }
        let answers: Vec<redis::Value> = pipe.query_async(&mut self.master.clone()).await?;
        let mut survey = Vec::with_capacity(buckets.len());
        for (bucket, answer) in buckets.iter().zip(answers.chunks(2)) {
            let [fields, outbox] = answer else { return Err(garbled("a survey")) };
            let fields: Vec<Option<i64>> = redis::from_redis_value_ref(fields).map_err(|_| garbled("a sale"))?;
            let outbox = redis::from_redis_value_ref(outbox).map_err(|_| garbled("a length"))?;
            let loaded = match fields.as_slice() {
                &[Some(epoch), Some(version), Some(booked)] => Some(Loaded { epoch, version, booked, outbox }),
                _ => None,
            };
            survey.push((*bucket, loaded));
        }
        Ok(survey)
    }

    /// Gathers holders for a load. Nobody sees them before [`RedisStock::load`].
    pub async fn stage(&self, bucket: Bucket, epoch: i64, holders: &[Release]) -> Result<(), Unavailable> {
        for chunk in holders.chunks(PAGE) {
            let fields: Vec<(String, String)> = chunk
                .iter()
                .map(|hold| (hold.user_id.to_string(), format!("{}:{}", hold.order_id, hold.quantity)))
                .collect();
            let mut pipe = redis::pipe();
            // An attempt that dies leaves its staging behind; it goes by itself.
            pipe.hset_multiple(keys::loading(bucket, epoch), &fields).expire(keys::loading(bucket, epoch), 600);
            let _: redis::Value = pipe.query_async(&mut self.master.clone()).await?;
        }
        Ok(())
    }

    /// Brings a bucket of a sale to life with the staged holders. `false` when somebody else did meanwhile. With `settle`
    /// it stays closed, whatever the sale's definition says, until [`super::Stock::define`] is called.
    pub async fn load(
        &self,
        sale: &Sale,
        bucket: Bucket,
        epoch: i64,
        booked: i64,
        settle: bool,
    ) -> Result<bool, Unavailable> {
        let (version, state, start) =
            if settle { (SETTLING, "paused", 0) } else { (sale.version, sale.state.as_str(), start_flag(sale)) };
        let mut call = self.scripts.load.key(keys::hash(bucket));
        call.key(keys::holders(bucket)).key(keys::loading(bucket, epoch)).key(keys::start(bucket));
        call.key(keys::count(bucket)).key(keys::access(bucket)).arg(epoch).arg(version).arg(state);
        call.arg(time_text(sale.window.opens_at)).arg(time_text(sale.window.closes_at));
        call.arg(sale.total).arg(sale.per_user_limit).arg(booked).arg(start);
        let loaded: i64 = call.invoke_async(&mut self.master.clone()).await?;
        Ok(loaded == 1)
    }

    /// Sets the access counters back to what is booked.
    pub async fn sync_access(&self, buckets: &[Bucket]) -> Result<(), Unavailable> {
        for &bucket in buckets {
            let mut call = self.scripts.sync.key(keys::hash(bucket));
            let _: i64 = call.key(keys::access(bucket)).invoke_async(&mut self.master.clone()).await?;
        }
        Ok(())
    }

    /// One page of holds, and the cursor of the next; the last page's is 0. A hold may come twice.
    pub async fn holds(&self, bucket: Bucket, cursor: u64) -> Result<(u64, Vec<(UserId, Hold)>), Unavailable> {
        holds_page(&self.master, bucket, cursor).await
    }

    /// Mends holds; the script judges each anew. The answer is how many were still wrong.
    pub async fn mend(&self, bucket: Bucket, epoch: i64, mends: &[Mend]) -> Result<i64, Unavailable> {
        let mut mended = 0;
        for chunk in mends.chunks(PAGE) {
            let mut call = self.scripts.mend.key(keys::hash(bucket));
            call.key(keys::holders(bucket)).key(keys::outbox(bucket)).arg(epoch);
            for mend in chunk {
                let (what, hold) = match mend {
                    Mend::Hold(hold) => ("hold", hold),
                    Mend::Send(hold) => ("send", hold),
                };
                call.arg(what).arg(hold.user_id.to_string()).arg(hold.order_id.to_string()).arg(hold.quantity);
            }
            let count: i64 = call.invoke_async(&mut self.master.clone()).await?;
            mended += count.max(0);
        }
        Ok(mended)
    }

    /// Takes a bucket's keys away.
    pub async fn unload(&self, bucket: Bucket) -> Result<(), Unavailable> {
        let names = [keys::hash, keys::count, keys::start, keys::access, keys::holders, keys::outbox];
        let _: i64 = self.master.clone().unlink(&names.map(|name| name(bucket))).await?;
        Ok(())
    }
}
