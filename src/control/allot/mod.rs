//! Allotting (小量多次): hands the units of split sales out to their buckets, and takes idle ones back for those who wait.
//!
//! The pool is in the database. A bucket in Redis never believes to have more than the database has allotted to it:
//!
//! * To give, one transaction raises the allotment and the fence; then the script sets the bucket's share.
//! * To take, one transaction lowers the target and raises the fence; the script lowers the share as far as units are not
//!   held, and says what it kept; then a second transaction settles the allotment at that.
//!
//! Whoever dies between two steps leaves too much allotted, never too little. The next one finds fence or target different
//! and repeats the step; a late word with an old fence is refused by Redis and by the database.

mod plan;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;
use tracing::debug;

use crate::catalogue::Catalogue;
use crate::domain::Bucket;
use crate::domain::{Sale, SaleState};
use crate::stock::load::Shared;
use crate::stock::redis::RedisStock;
use crate::store::{Allotment, Retarget, Store};
use plan::{Move, Share, plan};

/// What a bucket was given it keeps for so long, unless it is sold: whoever was told to come back in a second finds it.
pub const REST: Duration = Duration::from_millis(1_500);

/// Hands out units. What it remembers only makes it gentler; a successor needs nothing of it.
pub struct Allotter {
    stock: RedisStock,
    store: Store,
    catalogue: Arc<Catalogue>,
    given: Mutex<HashMap<Bucket, Instant>>,
    rest: Duration,
}

/// A bucket as both sides see it; `None` in Redis while it is not loaded.
struct Sides {
    bucket: Bucket,
    row: Allotment,
    redis: Option<Shared>,
}

impl Sides {
    /// Redis has not heard the last word of the database, or has not been asked what became of it.
    fn is_unfinished(&self) -> bool {
        self.row.target < self.row.allotted || self.redis.is_some_and(|redis| redis.fence < self.row.fence)
    }

    /// Redis has forgotten something.
    fn is_astray(&self) -> bool {
        self.redis.is_some_and(|redis| redis.total != self.row.allotted.max(redis.booked))
    }
}

impl Allotter {
    /// `rest` is [`REST`], but for those who cannot wait.
    pub fn new(stock: RedisStock, store: Store, catalogue: Arc<Catalogue>, rest: Duration) -> Allotter {
        Allotter { stock, store, catalogue, given: Mutex::default(), rest }
    }

    /// One step for every split sale that is to come or on. The answer is whether anything had to be done.
    pub async fn step(&self) -> anyhow::Result<bool> {
        let is_split = |id| self.catalogue.known(id).is_some_and(|entry| entry.sale.rush.buckets > 1);
        if !self.catalogue.active().into_iter().any(is_split) {
            return Ok(false);
        }
        let mut busy = false;
        for sale in self.store.active_sales().await? {
            if sale.rush.buckets > 1 && sale.state != SaleState::Ended {
                busy |= self.step_of(&sale).await?;
            }
        }
        Ok(busy)
    }

    /// As [`Allotter::step`], for one sale.
    pub async fn step_of(&self, sale: &Sale) -> anyhow::Result<bool> {
        let mut sides = self.look(sale).await?;
        let mut busy = self.finish(sale, &mut sides).await?;
        let moves = self.moves(sale, &sides).await;
        if !moves.is_empty() && self.retarget(sale, &mut sides, &moves).await? {
            busy |= self.finish(sale, &mut sides).await?;
        }
        self.tell_of_more(sale, &mut sides).await?;
        Ok(busy)
    }

    /// The database first: what Redis says then is not older than it.
    async fn look(&self, sale: &Sale) -> anyhow::Result<Vec<Sides>> {
        let rows = self.store.allotments(sale.id, sale.rush.buckets).await?;
        let buckets: Vec<Bucket> = Bucket::of_sale(sale).collect();
        let shared = self.stock.shares(&buckets).await?;
        let sides = buckets.into_iter().zip(rows).zip(shared);
        Ok(sides.map(|((bucket, row), redis)| Sides { bucket, row, redis }).collect())
    }

    /// Says to Redis what the database decided, and to the database what came of it.
    async fn finish(&self, sale: &Sale, sides: &mut [Sides]) -> anyhow::Result<bool> {
        let more = has_more(sale, sides);
        let mut busy = false;
        for (side, more) in sides.iter_mut().zip(more).filter(|(side, _)| side.is_unfinished()) {
            let Some(before) = side.redis else { continue };
            let Some(now) = self.stock.allot(side.bucket, side.row.fence, side.row.target, more).await? else {
                side.redis = None;
                continue;
            };
            if now.total > before.total {
                self.given.lock().await.insert(side.bucket, Instant::now());
            }
            let takes = side.row.target < side.row.allotted && now.fence == side.row.fence;
            if takes && self.store.settle_allotment(sale.id, side.row.part, now.fence, now.total).await? {
                side.row.allotted = side.row.allotted.min(now.total);
                side.row.target = side.row.allotted;
            }
            side.redis = Some(Shared { more, missed: before.missed, ..now });
            busy = true;
        }
        Ok(busy)
    }

    async fn moves(&self, sale: &Sale, sides: &[Sides]) -> Vec<Move> {
        let mut given = self.given.lock().await;
        given.retain(|_, at| at.elapsed() < self.rest);
        let share = |side: &Sides| match side.redis {
            // What is under way, or not there, is as it is.
            Some(redis) if !side.is_unfinished() => Share {
                allotted: side.row.allotted,
                booked: redis.booked,
                hungry: redis.missed > 0,
                rested: !given.contains_key(&side.bucket),
            },
            _ => Share { allotted: side.row.allotted, booked: side.row.allotted, hungry: false, rested: false },
        };
        let shares: Vec<Share> = sides.iter().map(share).collect();
        let mut moves = plan(sale.total, sale.rush.lot, &shares);
        moves.retain(|m| sides[m.bucket].redis.is_some() && !sides[m.bucket].is_unfinished());
        for (n, side) in sides.iter().enumerate() {
            if side.is_astray() && !side.is_unfinished() && moves.iter().all(|m| m.bucket != n) {
                moves.push(Move { bucket: n, target: side.row.allotted });
            }
        }
        moves
    }

    /// `false` when somebody else has decided meanwhile.
    async fn retarget(&self, sale: &Sale, sides: &mut [Sides], moves: &[Move]) -> anyhow::Result<bool> {
        let change = |m: &Move| {
            let Sides { row, redis, .. } = &sides[m.bucket];
            let heard = redis.map_or(0, |redis| redis.fence);
            Retarget { part: row.part, after: row.fence, fence: row.fence.max(heard) + 1, target: m.target }
        };
        let changes: Vec<Retarget> = moves.iter().map(change).collect();
        if !self.store.retarget(sale.id, &changes).await? {
            debug!(sale = %sale.id, "somebody else hands out units");
            return Ok(false);
        }
        for (m, change) in moves.iter().zip(changes) {
            let row = &mut sides[m.bucket].row;
            (row.target, row.fence) = (change.target, change.fence);
            row.allotted = row.allotted.max(change.target);
        }
        Ok(true)
    }

    /// Lets the buckets know whether those they have nothing for should come back.
    async fn tell_of_more(&self, sale: &Sale, sides: &mut [Sides]) -> anyhow::Result<()> {
        let more = has_more(sale, sides);
        for (side, more) in sides.iter_mut().zip(more) {
            if let Some(redis) = side.redis.filter(|redis| redis.more != more) {
                self.stock.allot(side.bucket, redis.fence, redis.total, more).await?;
            }
        }
        Ok(())
    }
}

/// For each bucket, whether somebody else, or the pool, has units that nobody holds.
fn has_more(sale: &Sale, sides: &[Sides]) -> Vec<bool> {
    let booked = |side: &Sides| side.redis.map_or(side.row.allotted, |redis| redis.booked);
    let free = sale.total - sides.iter().map(booked).sum::<i64>();
    let own = |side: &Sides| side.redis.map_or(0, |redis| (redis.total - redis.booked).max(0));
    sides.iter().map(|side| free > own(side)).collect()
}
