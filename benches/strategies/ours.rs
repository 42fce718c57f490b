//! The way of this shop: what arrives while the previous call is under way goes into one call, whose script holds,
//! counts and writes the orders.

use std::collections::HashSet;
use std::sync::Arc;

use anyhow::{Context, bail};
use async_trait::async_trait;
use redis::AsyncCommands;
use redis::aio::ConnectionManager;
use seckill::domain::{OrderId, UserId};
use seckill::metrics::Metrics;
use seckill::stock::batch::Lanes;
use seckill::stock::redis::RedisStock;
use seckill::stock::{Claim, Decision, keys};
use tokio::time::Instant;
use uuid::Uuid;

use crate::master;
use crate::strategy::{Answer, Deduct};

/// Which of the benchmarks' sales.
const SALE: i64 = 1;

pub struct Batches {
    stock: RedisStock,
    lanes: Lanes,
}

impl Batches {
    pub fn new(redis: ConnectionManager) -> Batches {
        let stock = RedisStock::new(redis);
        Batches { lanes: Lanes::new(Arc::new(stock.clone()), Arc::new(Metrics::default())), stock }
    }
}

pub async fn forget(redis: &ConnectionManager) -> anyhow::Result<()> {
    Ok(RedisStock::new(redis.clone()).unload(master::sale(SALE, 1).id).await?)
}

#[async_trait]
impl Deduct for Batches {
    async fn open(&self, stock: u64) -> anyhow::Result<()> {
        master::open(&self.stock, &master::sale(SALE, stock)).await
    }

    async fn claim(&self, user: Uuid, _until: Instant) -> anyhow::Result<Answer> {
        let claim = Claim { user_id: UserId(user), order_id: OrderId(Uuid::now_v7()), quantity: 1 };
        match self.lanes.claim(master::sale(SALE, 1).id, claim, None).await? {
            Decision::Granted(_) => Ok(Answer::Won),
            Decision::Repeated(_) => Ok(Answer::Repeated),
            Decision::SoldOut => Ok(Answer::SoldOut),
            other => bail!("decided {other:?}"),
        }
    }

    async fn deducted(&self) -> anyhow::Result<u64> {
        Ok(self.stock.connection().hget(keys::sale(master::sale(SALE, 1).id), "Booked").await?)
    }

    /// Each line of an outbox entry is `user order quantity`.
    async fn orders(&self) -> anyhow::Result<HashSet<Uuid>> {
        let mut range = redis::cmd("XRANGE");
        range.arg(keys::outbox(master::sale(SALE, 1).id)).arg("-").arg("+");
        let entries: Vec<(String, Vec<String>)> = range.query_async(&mut self.stock.connection()).await?;
        let lines = entries.iter().filter_map(|(_, fields)| fields.last()).flat_map(|orders| orders.lines());
        lines.map(|line| Ok(Uuid::try_parse(line.split(' ').next().context("no user")?)?)).collect()
    }
}
