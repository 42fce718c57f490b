//! This shop's strategy: claims that arrive during a call form the next call, whose script stores holders, counts stock
//! and writes orders. A sale may be split into buckets, each with calls of its own.

use std::collections::HashSet;
use std::sync::Arc;

use anyhow::bail;
use async_trait::async_trait;
use base::metrics::Metrics;
use domain::Bucket;
use domain::claim::{Claim, Decision, Refusal};
use domain::{OrderId, OutboxItem, Sale, UserId};
use engine::batching::Batcher;
use engine::pipeline::outbox;
use engine::redis::keys;
use engine::stock::Units;
use engine::stock::redis::RedisStock;
use redis::AsyncCommands;
use tokio::time::Instant;
use uuid::Uuid;

use crate::master;
use crate::strategy::{Answer, StockStrategy};

/// The largest number of buckets of any row.
const MAX_BUCKETS: u8 = 4;

/// All buckets are on one master here, which runs one call after the other, so the row shows the cost of buckets
/// without their gain: that needs a master per bucket.
pub struct Batched {
    stock: RedisStock,
    batcher: Batcher<Units>,
    buckets: u8,
}

impl Batched {
    pub fn new(stock: &RedisStock, buckets: u8) -> Batched {
        let batcher = Batcher::new(Arc::new(Units(Arc::new(stock.clone()))), Arc::new(Metrics::default()));
        Batched { stock: stock.clone(), batcher, buckets }
    }

    fn sale(&self, stock: u64) -> Sale {
        sale(self.buckets, stock)
    }
}

fn sale(buckets: u8, stock: u64) -> Sale {
    let mut sale = master::sale(i64::from(buckets), stock);
    sale.rush.buckets = buckets;
    sale
}

pub async fn clean(stock: &RedisStock) -> anyhow::Result<()> {
    for buckets in 1..=MAX_BUCKETS {
        for bucket in Bucket::of_sale(&sale(buckets, 1)) {
            stock.unload(bucket).await?;
        }
    }
    Ok(())
}

#[async_trait]
impl StockStrategy for Batched {
    async fn open(&self, stock: u64) -> anyhow::Result<()> {
        master::open(&self.stock, &self.sale(stock)).await
    }

    async fn claim(&self, user: Uuid, _until: Instant) -> anyhow::Result<Answer> {
        let claim = Claim { user_id: UserId(user), order_id: OrderId(Uuid::now_v7()), quantity: 1 };
        let bucket = Bucket::of_user(self.sale(1).id, self.buckets, claim.user_id);
        match self.batcher.claim(bucket, claim, None).await? {
            Decision::Granted(_) => Ok(Answer::Granted),
            Decision::Repeated(_) => Ok(Answer::Repeated),
            // No allotter runs, so a busy bucket stays empty.
            Decision::Refused(Refusal::SoldOut | Refusal::Busy) => Ok(Answer::SoldOut),
            other => bail!("unexpected decision {other:?}"),
        }
    }

    async fn deducted(&self, _stock: u64) -> anyhow::Result<u64> {
        let mut sum = 0;
        for bucket in Bucket::of_sale(&self.sale(1)) {
            let booked: u64 = self.stock.connection().hget(keys::hash(bucket), "Booked").await?;
            sum += booked;
        }
        Ok(sum)
    }

    async fn orders(&self) -> anyhow::Result<HashSet<Uuid>> {
        let mut users = HashSet::new();
        for bucket in Bucket::of_sale(&self.sale(1)) {
            let items = outbox::all(&mut self.stock.connection(), bucket).await?;
            users.extend(items.iter().filter_map(OutboxItem::order).map(|order| order.user_id.0));
        }
        Ok(users)
    }
}
