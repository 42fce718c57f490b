//! Maintenance of a Redis master by data control: loads buckets, synchronizes their counters, reads and repairs their holds,
//! and unloads buckets of retired sales.

use redis::AsyncCommands;

use super::redis::{AWAITING_REPLAY, RedisStock, holds_page, start_flag};
use super::{Unavailable, time_text};
use crate::domain::Bucket;
use crate::domain::claim::Hold;
use crate::domain::{Sale, UserId};
use crate::redis::short_id::ShortId;
use crate::redis::{keys, malformed, parse};
use crate::store::{Allotment, HeldUnits};

/// Holds per call; larger calls would block the server for too long.
const MAX_HOLDS_PER_CALL: usize = 500;

/// The counters of a bucket on the master, or of all buckets of a sale together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StockCounters {
    pub epoch: i64,
    pub version: i64,
    pub booked: i64,
    /// Units that the bucket may sell, sold ones included.
    pub share: i64,
    /// Entries in the outbox.
    pub outbox: i64,
}

/// The share of a bucket of a split sale, as the bucket's hash records it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BucketShare {
    pub total: i64,
    pub booked: i64,
    /// Fencing token of the last allotment that the bucket applied.
    pub fence: i64,
    /// Whether other buckets or the pool have units. If so, an empty bucket answers `busy` instead of `sold_out`.
    pub more: bool,
    /// Claims answered `busy` since the bucket was last given units.
    pub missed: i64,
}

/// How a bucket is loaded.
#[derive(Debug, Clone, Copy, Default)]
pub struct LoadOptions {
    pub epoch: i64,
    /// Units of the staged holders.
    pub booked: i64,
    /// Keep the bucket closed until all processes have replayed the grants that they remember.
    pub await_replay: bool,
    /// The allotment of a bucket of a split sale.
    pub share: Option<Allotment>,
}

impl StockCounters {
    /// Whether the bucket is closed because it was loaded with [`LoadOptions::await_replay`].
    pub fn awaits_replay(&self) -> bool {
        self.version == AWAITING_REPLAY
    }

    /// Adds up all buckets of one sale, with the oldest version of any; `None` when one of them is not loaded.
    pub fn of_sale(survey: &[(Bucket, Option<StockCounters>)]) -> Option<StockCounters> {
        let add = |all: StockCounters, one: StockCounters| StockCounters {
            epoch: all.epoch.max(one.epoch),
            version: all.version.min(one.version),
            booked: all.booked + one.booked,
            share: all.share + one.share,
            outbox: all.outbox + one.outbox,
        };
        survey.iter().map(|(_, loaded)| *loaded).reduce(|all, one| Some(add(all?, one?)))?
    }
}

/// The repair of a hold that disagrees with the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HoldRepair {
    /// Add a hold for a live order of the database that has none.
    AddHold(HeldUnits),
    /// Append a hold to the outbox that has neither an order nor an outbox entry.
    AddToOutbox(HeldUnits),
}

impl RedisStock {
    /// The counters of each bucket; `None` where it is not loaded.
    pub async fn survey(&self, buckets: &[Bucket]) -> Result<Vec<(Bucket, Option<StockCounters>)>, Unavailable> {
        let answers = self.master.each(buckets, |pipe, bucket| {
            pipe.hmget(keys::hash(bucket), &["Epoch", "Version", "Booked", "Total"]).xlen(keys::outbox(bucket))
        });
        let mut survey = Vec::with_capacity(buckets.len());
        for (bucket, answer) in buckets.iter().zip(answers.await?) {
            let answer = answer?;
            let [fields, outbox] = answer.as_slice() else { return Err(malformed("a survey")) };
            let fields: Vec<Option<i64>> = parse(fields, "a sale")?;
            let outbox = parse(outbox, "a length")?;
            let loaded = match fields.as_slice() {
                &[Some(epoch), Some(version), Some(booked), Some(share)] => {
                    Some(StockCounters { epoch, version, booked, share, outbox })
                }
                _ => None,
            };
            survey.push((*bucket, loaded));
        }
        Ok(survey)
    }

    /// The shares of buckets of split sales; `None` where a bucket is not loaded or its server does not answer.
    pub async fn shares(&self, buckets: &[Bucket]) -> Result<Vec<Option<BucketShare>>, Unavailable> {
        let answers = self.master.each(buckets, |pipe, bucket| {
            pipe.hmget(keys::hash(bucket), &["Total", "Booked", "Fence", "More", "Missed"])
        });
        let mut shares = Vec::with_capacity(buckets.len());
        for answer in answers.await? {
            let Ok(answer) = answer else {
                shares.push(None);
                continue;
            };
            let [fields] = answer.as_slice() else { return Err(malformed("a share")) };
            shares.push(match parse::<Vec<Option<i64>>>(fields, "a share")?.as_slice() {
                &[Some(total), Some(booked), Some(fence), more, missed] => {
                    Some(BucketShare { total, booked, fence, more: more == Some(1), missed: missed.unwrap_or(0) })
                }
                _ => None,
            });
        }
        Ok(shares)
    }

    /// Sets the share of a bucket of a split sale, unless it has applied a newer fence, and whether there are more units
    /// elsewhere. Returns the bucket's share afterwards; `None` when it is not loaded.
    pub async fn allot(
        &self,
        bucket: Bucket,
        fence: i64,
        share: i64,
        more: bool,
    ) -> Result<Option<BucketShare>, Unavailable> {
        let mut call = self.scripts.allot.key(keys::hash(bucket));
        call.key(keys::count(bucket)).arg(fence).arg(share).arg(i64::from(more));
        let answer: Vec<i64> = call.invoke_async(&mut self.master.clone()).await?;
        match answer.as_slice() {
            [] => Ok(None),
            &[total, booked, fence] => Ok(Some(BucketShare { total, booked, fence, more, missed: 0 })),
            _ => Err(malformed("an allotment")),
        }
    }

    /// Writes holders to a staging key for [`RedisStock::load`]. Nothing reads them before that.
    pub async fn stage(&self, bucket: Bucket, epoch: i64, holders: &[HeldUnits]) -> Result<(), Unavailable> {
        for chunk in holders.chunks(MAX_HOLDS_PER_CALL) {
            let fields: Vec<(ShortId, String)> = chunk
                .iter()
                .map(|hold| {
                    (ShortId::of(hold.user_id.0), format!("{}:{}", ShortId::of(hold.order_id.0), hold.quantity))
                })
                .collect();
            let mut pipe = redis::pipe();
            // The staging key of an attempt that dies expires.
            pipe.hset_multiple(keys::loading(bucket, epoch), &fields).expire(keys::loading(bucket, epoch), 600);
            let _: redis::Value = pipe.query_async(&mut self.master.clone()).await?;
        }
        Ok(())
    }

    /// Loads a bucket with the staged holders. `false` when another process has loaded it meanwhile. With `await_replay` the
    /// bucket stays closed, in every state of the sale, until [`super::Stock::define`] is called.
    pub async fn load(&self, sale: &Sale, bucket: Bucket, options: LoadOptions) -> Result<bool, Unavailable> {
        let (version, state, start) = match options.await_replay {
            true => (AWAITING_REPLAY, "paused", 0),
            false => (sale.version, sale.state.as_str(), start_flag(sale)),
        };
        let mut call = self.scripts.load.key(keys::hash(bucket));
        call.key(keys::holders(bucket)).key(keys::loading(bucket, options.epoch)).key(keys::start(bucket));
        call.key(keys::count(bucket)).key(keys::access(bucket)).arg(options.epoch).arg(version).arg(state);
        call.arg(time_text(sale.window.opens_at)).arg(time_text(sale.window.closes_at));
        call.arg(options.share.map_or(sale.total, |share| share.allotted)).arg(sale.per_user_limit);
        call.arg(options.booked).arg(start);
        if let Some(share) = options.share {
            call.arg(share.fence).arg(sale.total);
        }
        let loaded: i64 = call.invoke_async(&mut self.master.clone()).await?;
        Ok(loaded == 1)
    }

    /// Resets the access counters to what is booked.
    pub async fn sync_access(&self, buckets: &[Bucket]) -> Result<(), Unavailable> {
        for &bucket in buckets {
            let mut call = self.scripts.sync.key(keys::hash(bucket));
            let _: i64 = call.key(keys::access(bucket)).invoke_async(&mut self.master.clone()).await?;
        }
        Ok(())
    }

    /// Writes the flags of split sales as a whole, for operators only; the shop never reads them.
    pub async fn write_sale_flags(
        &self,
        sales: &[Sale],
        survey: &[(Bucket, Option<StockCounters>)],
    ) -> Result<(), Unavailable> {
        for sale in sales.iter().filter(|sale| sale.rush.buckets > 1) {
            let of_sale: Vec<_> = survey.iter().filter(|(bucket, _)| bucket.sale() == Some(sale.id)).copied().collect();
            let Some(together) = StockCounters::of_sale(&of_sale) else { continue };
            let whole = Bucket::whole(sale.id);
            let mut pipe = redis::pipe();
            pipe.set(keys::count(whole), sale.total).set(keys::start(whole), start_flag(sale));
            pipe.set(keys::access(whole), together.booked);
            let _: redis::Value = pipe.query_async(&mut self.master.clone()).await?;
        }
        Ok(())
    }

    /// One page of holds and the cursor of the next page, which is 0 after the last one. A hold may occur twice.
    pub async fn holds(&self, bucket: Bucket, cursor: u64) -> Result<(u64, Vec<(UserId, Hold)>), Unavailable> {
        holds_page(&self.master, bucket, cursor).await
    }

    /// Repairs holds. The script checks each again; the result is how many still needed the repair.
    pub async fn repair(&self, bucket: Bucket, epoch: i64, repairs: &[HoldRepair]) -> Result<i64, Unavailable> {
        let mut repaired = 0;
        for chunk in repairs.chunks(MAX_HOLDS_PER_CALL) {
            let mut call = self.scripts.repair.key(keys::hash(bucket));
            call.key(keys::holders(bucket)).key(keys::outbox(bucket)).arg(epoch);
            for repair in chunk {
                let (what, hold) = match repair {
                    HoldRepair::AddHold(hold) => ("hold", hold),
                    HoldRepair::AddToOutbox(hold) => ("send", hold),
                };
                let (user, order) = (ShortId::of(hold.user_id.0), ShortId::of(hold.order_id.0));
                call.arg(what).arg(user).arg(format!("{order}:{}", hold.quantity)).arg(hold.quantity);
            }
            let count: i64 = call.invoke_async(&mut self.master.clone()).await?;
            repaired += count.max(0);
        }
        Ok(repaired)
    }

    /// Deletes a bucket's keys.
    pub async fn unload(&self, bucket: Bucket) -> Result<(), Unavailable> {
        let names = [keys::hash, keys::count, keys::start, keys::access, keys::holders, keys::outbox];
        let _: i64 = self.master.clone().unlink(&names.map(|name| name(bucket))).await?;
        Ok(())
    }
}
