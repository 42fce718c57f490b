//! A strategy: how it takes units from a stock, and where it records the orders.

use std::collections::HashSet;
use std::sync::Arc;

use async_trait::async_trait;
use tokio::time::Instant;
use uuid::Uuid;

/// Connections to PostgreSQL and to memcached, the usual size of a shop's pool. Redis and RabbitMQ multiplex requests
/// over one connection.
pub const CONNECTIONS: usize = 50;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    Granted,
    SoldOut,
    /// The user has a unit already.
    Repeated,
    /// The deadline passed before the claim was decided. Nothing was taken.
    GaveUp,
}

/// Takes units from the stock of one sale, one unit for each claim.
#[async_trait]
pub trait StockStrategy: Send + Sync {
    /// Starts a sale of `stock` units and removes an earlier one.
    async fn open(&self, stock: u64) -> anyhow::Result<()>;

    /// Takes one unit. Waits and retries until `until` at most.
    async fn claim(&self, user: Uuid, until: Instant) -> anyhow::Result<Answer>;

    /// Units deducted from the stock, which was opened with `stock` units.
    async fn deducted(&self, stock: u64) -> anyhow::Result<u64>;

    /// Users with an order, for strategies that record the order together with the deduction.
    async fn orders(&self) -> anyhow::Result<HashSet<Uuid>> {
        Ok(HashSet::new())
    }
}

/// Records the orders of a strategy that only deducts.
#[async_trait]
pub trait OrderSink: Send + Sync {
    async fn open(&self, stock: u64) -> anyhow::Result<()>;

    /// Accepts an order; the buyer is answered after it returns.
    async fn accept(&self, user: Uuid) -> anyhow::Result<()>;

    /// Writes accepted orders to the database until the process ends.
    async fn work(&self) -> anyhow::Result<()> {
        std::future::pending().await
    }

    /// Users whose order survives a crash of the process.
    async fn orders(&self) -> anyhow::Result<HashSet<Uuid>>;
}

/// One row of the table.
pub struct Strategy {
    /// The name on the command line and in results.
    pub key: &'static str,
    pub name: &'static str,
    /// Where the order is when the buyer is answered.
    pub order_in: &'static str,
    /// Whether it guarantees one unit per user.
    pub one_per_user: bool,
    pub deduct: Arc<dyn StockStrategy>,
    pub order_sink: Option<Arc<dyn OrderSink>>,
}

impl Strategy {
    pub async fn open(&self, stock: u64) -> anyhow::Result<()> {
        self.deduct.open(stock).await?;
        match &self.order_sink {
            Some(order_sink) => order_sink.open(stock).await,
            None => Ok(()),
        }
    }

    pub async fn claim(&self, user: Uuid, until: Instant) -> anyhow::Result<Answer> {
        let answer = self.deduct.claim(user, until).await?;
        if let (Answer::Granted, Some(order_sink)) = (answer, &self.order_sink) {
            order_sink.accept(user).await?;
        }
        Ok(answer)
    }

    pub async fn orders(&self) -> anyhow::Result<HashSet<Uuid>> {
        match &self.order_sink {
            Some(order_sink) => order_sink.orders().await,
            None => self.deduct.orders().await,
        }
    }
}
