//! What a strategy is: a way to take units from a stock, and where the orders go that it grants.

use std::collections::HashSet;
use std::sync::Arc;

use async_trait::async_trait;
use tokio::time::Instant;
use uuid::Uuid;

use crate::behind::{BlockingQueue, RabbitQueue};
use crate::memcached::{CompareAndSwap, Decrement};
use crate::on_redis::{ListPop, Locked, OneScript, UserScript};
use crate::ours::Batches;
use crate::postgres::{Conditional, RowLock, Version};
use crate::services::Services;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    OutboxItem,
    SoldOut,
    /// The user has a unit already.
    Repeated,
    /// The buyer's patience was over before it was this buyer's turn. Nothing was taken.
    GaveUp,
}

/// Takes units from the stock of one sale, one unit for each claim.
#[async_trait]
pub trait Deduct: Send + Sync {
    /// Starts a sale of `stock` units; nothing of an earlier one is left.
    async fn open(&self, stock: u64) -> anyhow::Result<()>;

    /// Whoever has to wait for others, or to try again, does so until `until` at the most.
    async fn claim(&self, user: Uuid, until: Instant) -> anyhow::Result<Answer>;

    /// Units that are gone from the stock.
    async fn deducted(&self) -> anyhow::Result<u64>;

    /// Who has an order, where the step that takes the unit also records it.
    async fn orders(&self) -> anyhow::Result<HashSet<Uuid>> {
        Ok(HashSet::new())
    }
}

/// Takes the orders of a strategy that only deducts.
#[async_trait]
pub trait Behind: Send + Sync {
    async fn open(&self, stock: u64) -> anyhow::Result<()>;

    /// When this is done the buyer is told.
    async fn accept(&self, user: Uuid) -> anyhow::Result<()>;

    /// Carries orders to the database for as long as the process lives.
    async fn work(&self) -> anyhow::Result<()> {
        std::future::pending().await
    }

    /// Whose order will be there after the process has died.
    async fn orders(&self) -> anyhow::Result<HashSet<Uuid>>;
}

/// One row of the table.
pub struct Strategy {
    /// How another process is told which one is meant.
    pub key: &'static str,
    pub name: &'static str,
    /// Where the order is when the buyer is told.
    pub order_in: &'static str,
    /// Whether it promises one unit for each user.
    pub one_per_user: bool,
    pub deduct: Arc<dyn Deduct>,
    pub behind: Option<Arc<dyn Behind>>,
}

impl Strategy {
    pub async fn open(&self, stock: u64) -> anyhow::Result<()> {
        self.deduct.open(stock).await?;
        match &self.behind {
            Some(behind) => behind.open(stock).await,
            None => Ok(()),
        }
    }

    pub async fn claim(&self, user: Uuid, until: Instant) -> anyhow::Result<Answer> {
        let answer = self.deduct.claim(user, until).await?;
        if let (Answer::OutboxItem, Some(behind)) = (answer, &self.behind) {
            behind.accept(user).await?;
        }
        Ok(answer)
    }

    pub async fn orders(&self) -> anyhow::Result<HashSet<Uuid>> {
        match &self.behind {
            Some(behind) => behind.orders().await,
            None => self.deduct.orders().await,
        }
    }
}

/// All rows, in the order of the table.
pub fn all(services: &Services) -> Vec<Strategy> {
    let redis = &services.redis;
    let row = |key, name, order_in, one_per_user, deduct: Arc<dyn Deduct>| Strategy {
        key,
        name,
        order_in,
        one_per_user,
        deduct,
        behind: None,
    };
    let queued = |key, name, one_per_user, deduct| Strategy {
        behind: Some(Arc::new(BlockingQueue::new(services.database.clone()))),
        ..row(key, name, "queue in the process", one_per_user, deduct)
    };
    let database = |key, name, deduct| row(key, name, "the same transaction", true, deduct);
    let pool = || services.database.clone();
    vec![
        database("row-lock", "PostgreSQL: SELECT … FOR UPDATE", Arc::new(RowLock(pool()))),
        database("version", "PostgreSQL: version column, retry", Arc::new(Version(pool()))),
        database("conditional", "PostgreSQL: conditional update", Arc::new(Conditional(pool()))),
        queued("decr", "memcached: decr", false, Arc::new(Decrement::new(services.memcached.clone()))),
        queued("cas", "memcached: gets, cas, retry", false, Arc::new(CompareAndSwap::new(services.memcached.clone()))),
        queued("lock", "Redis: lock, check, deduct, unlock", false, Arc::new(Locked::new(redis.clone()))),
        queued("list", "Redis: pop from a list", false, Arc::new(ListPop::new(redis.clone()))),
        queued("script", "Redis: script {Total, Booked}", false, Arc::new(OneScript::new(redis.clone()))),
        queued("users", "Redis: script, one per user", true, Arc::new(UserScript::new(redis.clone(), false))),
        Strategy {
            behind: Some(Arc::new(RabbitQueue(services.rabbit.clone()))),
            ..row(
                "rabbit",
                "Redis: script {Total, Booked}, then RabbitMQ",
                "RabbitMQ, confirmed",
                false,
                Arc::new(OneScript::new(redis.clone())),
            )
        },
        row(
            "stream",
            "Redis: script, one per user, XADD in it",
            "stream, the same script",
            true,
            Arc::new(UserScript::new(redis.clone(), true)),
        ),
        row("batch", "this shop: batches", "stream, the same script", true, Arc::new(Batches::new(&services.stock, 1))),
        row(
            "buckets",
            "this shop: batches, 4 buckets",
            "stream, the same script",
            true,
            Arc::new(Batches::new(&services.stock, 4)),
        ),
    ]
}
