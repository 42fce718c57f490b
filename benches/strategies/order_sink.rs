//! Sinks for the orders of strategies that deduct a unit without recording the order.

use std::collections::HashSet;
use std::time::Duration;

use anyhow::ensure;
use async_trait::async_trait;
use futures::StreamExt;
use lapin::options::{BasicConsumeOptions, BasicPublishOptions, QueueDeclareOptions, QueueDeleteOptions};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{BasicProperties, Channel, Confirmation};
use sqlx::postgres::PgPool;
use tokio::sync::{Mutex, mpsc};
use tokio::time::Instant;
use uuid::Uuid;

use crate::postgres::{self, Conditional};
use crate::strategy::{OrderSink, StockStrategy};

/// A queue in the process. One task writes its orders to the database, one transaction per order, which checks the user
/// and the stock again.
pub struct BlockingQueue {
    database: Conditional,
    orders: mpsc::UnboundedSender<Uuid>,
    waiting: Mutex<mpsc::UnboundedReceiver<Uuid>>,
}

impl BlockingQueue {
    pub fn new(database: PgPool) -> BlockingQueue {
        let (orders, waiting) = mpsc::unbounded_channel();
        BlockingQueue { database: Conditional(database), orders, waiting: Mutex::new(waiting) }
    }
}

/// How long an order waits for a database connection.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(60);

#[async_trait]
impl OrderSink for BlockingQueue {
    async fn open(&self, stock: u64) -> anyhow::Result<()> {
        let mut waiting = self.waiting.lock().await;
        while waiting.try_recv().is_ok() {}
        self.database.open(stock).await
    }

    async fn accept(&self, user: Uuid) -> anyhow::Result<()> {
        Ok(self.orders.send(user)?)
    }

    async fn work(&self) -> anyhow::Result<()> {
        let mut waiting = self.waiting.lock().await;
        while let Some(user) = waiting.recv().await {
            StockStrategy::claim(&self.database, user, Instant::now() + CONNECTION_TIMEOUT).await?;
        }
        Ok(())
    }

    async fn orders(&self) -> anyhow::Result<HashSet<Uuid>> {
        postgres::orders(&self.database.0).await
    }
}

/// A durable queue in RabbitMQ. The buyer is answered after the broker's confirm.
pub struct RabbitQueue(pub Channel);

const QUEUE: &str = "strategies.orders";
/// A queue counts as empty after this time without a message.
const EMPTY_AFTER: Duration = Duration::from_millis(1000);

impl RabbitQueue {
    pub async fn delete(&self) -> anyhow::Result<()> {
        self.0.queue_delete(QUEUE.into(), QueueDeleteOptions::default()).await?;
        Ok(())
    }
}

#[async_trait]
impl OrderSink for RabbitQueue {
    async fn open(&self, _stock: u64) -> anyhow::Result<()> {
        self.delete().await?;
        let mut quorum = FieldTable::default();
        quorum.insert("x-queue-type".into(), AMQPValue::LongString("quorum".into()));
        let durable = QueueDeclareOptions { durable: true, ..Default::default() };
        self.0.queue_declare(QUEUE.into(), durable, quorum).await?;
        Ok(())
    }

    async fn accept(&self, user: Uuid) -> anyhow::Result<()> {
        let properties = BasicProperties::default().with_delivery_mode(2);
        let mandatory = BasicPublishOptions { mandatory: true, ..Default::default() };
        let publish = self.0.basic_publish("".into(), QUEUE.into(), mandatory, user.as_bytes(), properties);
        let confirmed = publish.await?.await?;
        ensure!(matches!(confirmed, Confirmation::Ack(None)), "RabbitMQ did not accept the order");
        Ok(())
    }

    async fn orders(&self) -> anyhow::Result<HashSet<Uuid>> {
        let options = BasicConsumeOptions { no_ack: true, ..Default::default() };
        let mut messages = self.0.basic_consume(QUEUE.into(), "".into(), options, FieldTable::default()).await?;
        let mut users = HashSet::new();
        while let Ok(Some(message)) = tokio::time::timeout(EMPTY_AFTER, messages.next()).await {
            users.insert(Uuid::from_slice(&message?.data)?);
        }
        Ok(users)
    }
}
