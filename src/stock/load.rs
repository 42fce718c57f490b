//! What data control does to a master: bring buckets to life, keep their counters in step, look through their holds, and
//! take away what is over.

use redis::{AsyncCommands, Pipeline};

use super::redis::{RedisStock, SETTLING, holds_page, start_flag};
use super::{Unavailable, time_text};
use crate::domain::Bucket;
use crate::domain::claim::Hold;
use crate::domain::{Sale, UserId};
use crate::redis::short_id::ShortId;
use crate::redis::{keys, malformed};
use crate::store::{Allotment, HeldUnits};

/// Fields of one `HSET` and holds of one look; larger ones would block the server for too long.
const PAGE: usize = 500;

/// What the master holds of a bucket, or of all buckets of a sale together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loaded {
    pub epoch: i64,
    pub version: i64,
    pub booked: i64,
    /// Units it may sell, sold ones included.
    pub share: i64,
    /// Entries in the outbox.
    pub outbox: i64,
}

/// What a bucket of a split sale believes to have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shared {
    pub total: i64,
    pub booked: i64,
    /// Of the last word that it heard about its share.
    pub fence: i64,
    /// Whoever finds nothing is told to come back.
    pub more: bool,
    /// How often somebody was told so since it was given something.
    pub missed: i64,
}

/// How the keys of a bucket begin to live.
#[derive(Debug, Clone, Copy, Default)]
pub struct Life {
    pub epoch: i64,
    /// Units of the holders that are staged.
    pub booked: i64,
    /// Stay closed until everybody has repeated what was promised.
    pub settle: bool,
    /// What a bucket of a split sale was given.
    pub share: Option<Allotment>,
}

impl Loaded {
    /// All buckets of one sale together, as old as the oldest; `None` when one of them is not loaded.
    pub fn of_sale(survey: &[(Bucket, Option<Loaded>)]) -> Option<Loaded> {
        let add = |all: Loaded, one: Loaded| Loaded {
            epoch: all.epoch.max(one.epoch),
            version: all.version.min(one.version),
            booked: all.booked + one.booked,
            share: all.share + one.share,
            outbox: all.outbox + one.outbox,
        };
        survey.iter().map(|(_, loaded)| *loaded).reduce(|all, one| Some(add(all?, one?)))?
    }
}

/// A hold that does not agree with the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mend {
    /// The database has a live order that is not held.
    Hold(HeldUnits),
    /// A hold has neither an order nor an entry in the outbox.
    Send(HeldUnits),
}

impl RedisStock {
    /// What the master holds of each bucket; `None` where it is not loaded.
    pub async fn survey(&self, buckets: &[Bucket]) -> Result<Vec<(Bucket, Option<Loaded>)>, Unavailable> {
        let ask = |pipe: &mut Pipeline, bucket| {
            pipe.hmget(keys::hash(bucket), &["Epoch", "Version", "Booked", "Total"]).xlen(keys::outbox(bucket));
        };
        let mut survey = Vec::with_capacity(buckets.len());
        for (bucket, answer) in buckets.iter().zip(self.master.each(buckets, ask).await?) {
            let answer = answer?;
            let [fields, outbox] = answer.as_slice() else { return Err(malformed("a survey")) };
            let fields: Vec<Option<i64>> = redis::from_redis_value_ref(fields).map_err(|_| malformed("a sale"))?;
            let outbox = redis::from_redis_value_ref(outbox).map_err(|_| malformed("a length"))?;
            let loaded = match fields.as_slice() {
                &[Some(epoch), Some(version), Some(booked), Some(share)] => {
                    Some(Loaded { epoch, version, booked, share, outbox })
                }
                _ => None,
            };
            survey.push((*bucket, loaded));
        }
        Ok(survey)
    }

    /// What the buckets of split sales believe to have; `None` where one is not loaded or cannot be asked.
    pub async fn shares(&self, buckets: &[Bucket]) -> Result<Vec<Option<Shared>>, Unavailable> {
        let ask = |pipe: &mut Pipeline, bucket| {
            pipe.hmget(keys::hash(bucket), &["Total", "Booked", "Fence", "More", "Missed"]);
        };
        let mut shares = Vec::with_capacity(buckets.len());
        for answer in self.master.each(buckets, ask).await? {
            let Ok(answer) = answer else {
                shares.push(None);
                continue;
            };
            let [fields] = answer.as_slice() else { return Err(malformed("a share")) };
            let fields: Vec<Option<i64>> = redis::from_redis_value_ref(fields).map_err(|_| malformed("a share"))?;
            shares.push(match fields.as_slice() {
                &[Some(total), Some(booked), Some(fence), more, missed] => {
                    Some(Shared { total, booked, fence, more: more == Some(1), missed: missed.unwrap_or(0) })
                }
                _ => None,
            });
        }
        Ok(shares)
    }

    /// Gives a bucket of a split sale its share, unless it has heard a newer word, and says whether there are units
    /// elsewhere. The answer is what it has now; `None` when it is not loaded.
    pub async fn allot(
        &self,
        bucket: Bucket,
        fence: i64,
        share: i64,
        more: bool,
    ) -> Result<Option<Shared>, Unavailable> {
        let mut call = self.scripts.allot.key(keys::hash(bucket));
        call.key(keys::count(bucket)).arg(fence).arg(share).arg(i64::from(more));
        let answer: Vec<i64> = call.invoke_async(&mut self.master.clone()).await?;
        match answer.as_slice() {
            [] => Ok(None),
            &[total, booked, fence] => Ok(Some(Shared { total, booked, fence, more, missed: 0 })),
            _ => Err(malformed("an allotment")),
        }
    }

    /// Gathers holders for a load. Nobody sees them before [`RedisStock::load`].
    pub async fn stage(&self, bucket: Bucket, epoch: i64, holders: &[HeldUnits]) -> Result<(), Unavailable> {
        for chunk in holders.chunks(PAGE) {
            let fields: Vec<(ShortId, String)> = chunk
                .iter()
                .map(|hold| {
                    (ShortId::of(hold.user_id.0), format!("{}:{}", ShortId::of(hold.order_id.0), hold.quantity))
                })
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
    pub async fn load(&self, sale: &Sale, bucket: Bucket, life: Life) -> Result<bool, Unavailable> {
        let (version, state, start) =
            if life.settle { (SETTLING, "paused", 0) } else { (sale.version, sale.state.as_str(), start_flag(sale)) };
        let mut call = self.scripts.load.key(keys::hash(bucket));
        call.key(keys::holders(bucket)).key(keys::loading(bucket, life.epoch)).key(keys::start(bucket));
        call.key(keys::count(bucket)).key(keys::access(bucket)).arg(life.epoch).arg(version).arg(state);
        call.arg(time_text(sale.window.opens_at)).arg(time_text(sale.window.closes_at));
        call.arg(life.share.map_or(sale.total, |share| share.allotted)).arg(sale.per_user_limit);
        call.arg(life.booked).arg(start);
        if let Some(share) = life.share {
            call.arg(share.fence).arg(sale.total);
        }
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

    /// Writes the flags of split sales as a whole, where operators look for them. Nobody decides by these.
    pub async fn add_up(&self, sales: &[Sale], survey: &[(Bucket, Option<Loaded>)]) -> Result<(), Unavailable> {
        for sale in sales.iter().filter(|sale| sale.rush.buckets > 1) {
            let of_sale: Vec<_> = survey.iter().filter(|(bucket, _)| bucket.sale() == Some(sale.id)).copied().collect();
            let Some(together) = Loaded::of_sale(&of_sale) else { continue };
            let whole = Bucket::whole(sale.id);
            let mut pipe = redis::pipe();
            pipe.set(keys::count(whole), sale.total).set(keys::start(whole), start_flag(sale));
            pipe.set(keys::access(whole), together.booked);
            let _: redis::Value = pipe.query_async(&mut self.master.clone()).await?;
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
                let (user, order) = (ShortId::of(hold.user_id.0), ShortId::of(hold.order_id.0));
                call.arg(what).arg(user).arg(format!("{order}:{}", hold.quantity)).arg(hold.quantity);
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
