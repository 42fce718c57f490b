//! Maintenance of a Redis master by data control: loads buckets, synchronizes their counters, reads and repairs their holds,
//! and unloads buckets of retired sales.

use std::time::Duration;

use boxed::boxed;
use redis::AsyncCommands;
use tokio_util::sync::CancellationToken;

use crate::redis::keys::{self, ShortId};
use crate::redis::replay::{self, LoadedGeneration};
use crate::redis::{malformed, parse};
use crate::stock::redis::{HoldsPage, RedisStock, holds_page, start_flag, within_limit};
use crate::stock::{Reply, Unavailable, time_text};
use base::periodic::run_every;
use domain::sale::SaleState;
use domain::{Bucket, Sale};
use store::{Allotment, HeldUnits};

/// How often access counters are reset. The gate counts the requests it admits, and admits no more than there are
/// units; so requests that got no units must soon be subtracted again.
const ACCESS_INTERVAL: Duration = Duration::from_millis(500);

/// Holds per call; larger calls would block the server for too long.
const MAX_HOLDS_PER_CALL: usize = 500;

/// The counters of a bucket on the master, or of all buckets of a sale together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StockCounters {
    /// The generation of the keys. For a whole sale, the generation of its last bucket.
    pub generation: LoadedGeneration,
    /// The version of the definition that was applied last.
    pub version: i64,
    pub state: SaleState,
    pub booked: i64,
    /// Units that the bucket may sell, sold ones included.
    pub share: i64,
    /// Entries in the outbox.
    pub outbox: i64,
}

/// A bucket as a survey of the master found it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BucketState {
    Loaded(StockCounters),
    NotLoaded,
    /// The bucket's server does not answer. In a cluster, buckets on other servers are not affected.
    Unreachable,
}

impl BucketState {
    pub fn loaded(&self) -> Option<&StockCounters> {
        match self {
            BucketState::Loaded(counters) => Some(counters),
            BucketState::NotLoaded | BucketState::Unreachable => None,
        }
    }

    /// Whether claims are decided: the bucket is loaded, and no grants have to be replayed to it first.
    pub fn decides(&self) -> bool {
        self.loaded().is_some_and(|loaded| loaded.generation.open)
    }
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
    /// Number of staged holders.
    pub holders: usize,
    /// Keep the bucket closed until each process has replayed the grants that it remembers.
    pub closed: bool,
    /// The allotment of a bucket of a split sale.
    pub share: Option<Allotment>,
    /// Units that only accounts on the waitlist get. It is read after the holders, so that a unit that comes back in
    /// between is kept for accounts that waited for it.
    pub waited_units: i64,
}

impl StockCounters {
    /// Adds up all buckets of one sale. The version is the oldest one of any bucket. `None` if a bucket is not loaded.
    pub fn of_sale(survey: &[(Bucket, BucketState)]) -> Option<StockCounters> {
        let add = |all: StockCounters, one: StockCounters| StockCounters {
            version: all.version.min(one.version),
            booked: all.booked + one.booked,
            share: all.share + one.share,
            outbox: all.outbox + one.outbox,
            ..one
        };
        survey.iter().map(|(_, state)| state.loaded().copied()).reduce(|all, one| Some(add(all?, one?)))?
    }
}

/// The repair of a hold that disagrees with the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HoldRepair {
    /// Add a hold for a live order of the database that has none.
    AddHold(HeldUnits),
    /// Append a hold to the outbox that has neither an order nor an outbox entry.
    AddToOutbox(HeldUnits),
    /// Give the hold of an order as many units as the order has in the database.
    SetUnits(HeldUnits),
    /// Set the units booked to the sum of the holds, unless holds or units booked have changed since they were read.
    Recount { holds: usize, booked: i64, held: i64 },
}

#[boxed]
impl RedisStock {
    /// The state of each bucket. Fails if no server answers.
    pub async fn survey(&self, buckets: &[Bucket]) -> Reply<Vec<(Bucket, BucketState)>> {
        let answers = self.master.each(buckets, |pipe, bucket| {
            pipe.hmget(keys::hash(bucket), &["Version", "State", "Booked", "Total"]).xlen(keys::outbox(bucket));
            replay::read(pipe, bucket)
        });
        let answers = answers.await?;
        if let Some(error) = answers.iter().find_map(|answer| answer.as_ref().err())
            && !answers.iter().any(Result::is_ok)
        {
            return Err(error.clone().into());
        }
        let states =
            answers.into_iter().map(|answer| answer.map_or(Ok(BucketState::Unreachable), |a| bucket_state(&a)));
        buckets.iter().zip(states).map(|(bucket, state)| Ok((*bucket, state?))).collect()
    }

    /// The shares of buckets of split sales; `None` where a bucket is not loaded or its server does not answer.
    pub async fn shares(&self, buckets: &[Bucket]) -> Reply<Vec<Option<BucketShare>>> {
        let share = |[total, booked, fence, more, missed]: [Option<i64>; 5]| {
            let (total, booked, fence) = (total?, booked?, fence?);
            Some(BucketShare { total, booked, fence, more: more == Some(1), missed: missed.unwrap_or(0) })
        };
        self.numbers(buckets, ["Total", "Booked", "Fence", "More", "Missed"], share).await
    }

    /// What numbers in the hash of each bucket mean; `None` if its server does not answer.
    pub(super) async fn numbers<const N: usize, T>(
        &self,
        buckets: &[Bucket],
        names: [&str; N],
        meaning: impl Fn([Option<i64>; N]) -> Option<T>,
    ) -> Reply<Vec<Option<T>>> {
        let answers = self.master.each(buckets, |pipe, bucket| pipe.hmget(keys::hash(bucket), &names)).await?;
        let meanings = answers.into_iter().map(|answer| {
            let Some(fields) = answer.ok() else { return Ok(None) };
            let [fields] = fields.as_slice() else { return Err(malformed("numbers")) };
            Ok(meaning(parse(fields, "numbers")?))
        });
        meanings.collect()
    }

    /// Sets the share of a bucket of a split sale, unless it has applied a newer fence, and whether there are more units
    /// elsewhere. Returns the bucket's share afterwards; `None` when it is not loaded. Keeps for the waitlist what the
    /// bucket gains.
    pub async fn allot(&self, bucket: Bucket, fence: i64, share: i64, more: bool) -> Reply<Option<BucketShare>> {
        let mut call = self.scripts.allot.key(keys::hash(bucket));
        call.key(keys::count(bucket)).arg(fence).arg(share).arg(i64::from(more));
        let allotted = within_limit(bucket, async {
            self.keep_for_waiters(bucket).await?;
            Ok(call.invoke_async::<Vec<i64>>(&mut self.master.clone()).await?)
        });
        let answer = allotted.await?;
        match answer.as_slice() {
            [] => Ok(None),
            &[total, booked, fence] => Ok(Some(BucketShare { total, booked, fence, more, missed: 0 })),
            _ => Err(malformed("an allotment")),
        }
    }

    /// Writes holders to a staging key for [`RedisStock::load`]. Nothing reads them before that.
    pub async fn stage(&self, bucket: Bucket, epoch: i64, holders: &[HeldUnits]) -> Reply<()> {
        for chunk in holders.chunks(MAX_HOLDS_PER_CALL) {
            let fields: Vec<(ShortId, String)> = chunk
                .iter()
                .map(|hold| {
                    (ShortId::of(hold.user_id.0), format!("{}:{}", ShortId::of(hold.order_id.0), hold.quantity))
                })
                .collect();
            let mut pipe = redis::pipe();
            // The staging key expires, in case this process dies before the load.
            pipe.hset_multiple(keys::loading(bucket, epoch), &fields).expire(keys::loading(bucket, epoch), 600);
            let _: redis::Value = pipe.query_async(&mut self.master.clone()).await?;
        }
        Ok(())
    }

    /// Loads a bucket with the staged holders. Returns `false` if another process has loaded it first. A `closed`
    /// bucket grants nothing until [`crate::redis::replay::open`] is called.
    pub async fn load(&self, sale: &Sale, bucket: Bucket, options: LoadOptions) -> Reply<bool> {
        let mut call = self.scripts.load.key(keys::hash(bucket));
        call.key(keys::holders(bucket)).key(keys::loading(bucket, options.epoch)).key(keys::start(bucket));
        call.key(keys::count(bucket)).key(keys::access(bucket));
        call.arg(options.epoch).arg(sale.version).arg(sale.state.as_str());
        call.arg(time_text(sale.window.opens_at)).arg(time_text(sale.window.closes_at));
        call.arg(options.share.map_or(sale.total, |share| share.allotted)).arg(sale.per_user_limit);
        call.arg(options.booked).arg(start_flag(sale));
        call.arg(if options.closed { "closed" } else { "open" }).arg(options.holders);
        call.arg(options.waited_units);
        if let Some(share) = options.share {
            call.arg(share.fence).arg(sale.total);
        }
        match call.invoke_async(&mut self.master.clone()).await? {
            1 => Ok(true),
            0 => Ok(false),
            _ => Err(Unavailable("the staged holders are incomplete".into())),
        }
    }

    /// Resets the access counters of all active sales to the booked units, until `stop` is cancelled. Each process of
    /// the role `serve` does this, because it needs only Redis. The script changes a bucket at most once a second.
    pub async fn sync_access(&self, stop: CancellationToken) {
        run_every(ACCESS_INTERVAL, &stop, "access counters", async || {
            let buckets = self.catalogue.active_buckets();
            let answers = self.master.each(&buckets, |pipe, bucket| {
                pipe.cmd("EVAL")
                    .arg(include_str!("lua/sync.lua"))
                    .arg(2)
                    .arg(keys::hash(bucket))
                    .arg(keys::access(bucket))
            });
            answers.await?.into_iter().find_map(Result::err).map_or(Ok(()), Err)
        })
        .await;
    }

    /// Writes the flags of split sales as a whole, for operators only; the shop never reads them.
    pub async fn write_sale_flags(&self, sales: &[Sale], survey: &[(Bucket, BucketState)]) -> Reply<()> {
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

    /// One page of holds.
    pub async fn holds(&self, bucket: Bucket, cursor: u64) -> Reply<HoldsPage> {
        holds_page(&self.master, bucket, cursor).await
    }

    /// Repairs holds. The script checks each hold again. Returns how many still needed the repair.
    pub async fn repair(&self, bucket: Bucket, epoch: i64, repairs: &[HoldRepair]) -> Reply<i64> {
        let mut repaired = 0;
        for chunk in repairs.chunks(MAX_HOLDS_PER_CALL) {
            let mut call = self.scripts.repair.key(keys::hash(bucket));
            call.key(keys::holders(bucket)).key(keys::outbox(bucket)).arg(epoch);
            for repair in chunk {
                let (what, hold) = match repair {
                    HoldRepair::AddHold(hold) => ("hold", hold),
                    HoldRepair::AddToOutbox(hold) => ("send", hold),
                    HoldRepair::SetUnits(hold) => ("units", hold),
                    HoldRepair::Recount { holds, booked, held } => {
                        call.arg("recount").arg(holds).arg(booked).arg(held);
                        continue;
                    }
                };
                let (user, order) = (ShortId::of(hold.user_id.0), ShortId::of(hold.order_id.0));
                call.arg(what).arg(user).arg(format!("{order}:{}", hold.quantity)).arg(hold.quantity);
            }
            let count: i64 = call.invoke_async(&mut self.master.clone()).await?;
            repaired += count.max(0);
        }
        Ok(repaired)
    }

    /// Fails unless the master takes writes for this bucket.
    pub async fn check_writable(&self, bucket: Bucket) -> Reply<()> {
        let _: i64 = self.master.clone().unlink(keys::loading(bucket, 0)).await?;
        Ok(())
    }

    /// Deletes a bucket's keys. Dead letters stay for operators.
    pub async fn unload(&self, bucket: Bucket) -> Reply<()> {
        let names = [keys::hash, keys::count, keys::start, keys::access, keys::holders, keys::outbox, keys::replayed];
        let _: i64 = self.master.clone().unlink(&names.map(|name| name(bucket))).await?;
        Ok(())
    }
}

fn bucket_state(answer: &[redis::Value]) -> Reply<BucketState> {
    let [fields, outbox, loaded] = answer else { return Err(malformed("a survey")) };
    let fields: Vec<Option<String>> = parse(fields, "a sale")?;
    let ([Some(version), Some(state), Some(booked), Some(share)], Some(generation)) =
        (fields.as_slice(), replay::parse_loaded(loaded)?)
    else {
        return Ok(BucketState::NotLoaded);
    };
    let number = |text: &String| text.parse::<i64>().map_err(|_| malformed("a sale"));
    Ok(BucketState::Loaded(StockCounters {
        generation,
        version: number(version)?,
        state: state.parse().unwrap_or(SaleState::Paused),
        booked: number(booked)?,
        share: number(share)?,
        outbox: parse(outbox, "a length")?,
    }))
}
