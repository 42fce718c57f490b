//! Sources of orders for the consumer: RabbitMQ, or the outbox itself if there is no RabbitMQ.

mod rabbit;
mod stream;

use std::fmt;

use async_trait::async_trait;

use super::outbox::Outboxes;
use crate::redis::connection::RedisConnection;
use base::config::ServiceAddress;
use domain::{Bucket, OutboxItem};

/// Identifies a delivery to its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tag {
    Message(u64),
    Entry(Bucket, String),
}

/// A message or an outbox entry. Until it is finished, it is delivered again to this or another consumer.
#[derive(Debug, Clone)]
pub struct Delivery {
    pub tag: Tag,
    /// Without items, the reason why the content could not be parsed.
    pub items: Result<Vec<OutboxItem>, String>,
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tag::Message(number) => write!(f, "message {number}"),
            Tag::Entry(bucket, id) => write!(f, "entry {id} of {bucket}"),
        }
    }
}

/// A source of orders. After any error it must be opened again; unfinished deliveries are then delivered again.
#[async_trait]
pub trait OrderSource: Send {
    /// The next deliveries, about `max_orders` orders at most; empty when none arrive within a short time.
    async fn next(&mut self, max_orders: usize) -> anyhow::Result<Vec<Delivery>>;

    /// Acknowledges deliveries that are in the database. Others may follow later.
    async fn finish(&mut self, deliveries: &[Delivery]) -> anyhow::Result<()>;

    /// Turns a delivery into dead letters. Either it could not be parsed, or the `refused` items can never be persisted
    /// and the others have been.
    async fn set_aside(&mut self, delivery: &Delivery, refused: &[OutboxItem]) -> anyhow::Result<()>;

    /// Returns all unfinished deliveries.
    async fn close(self: Box<Self>);
}

/// Where to open a source.
pub enum Origin {
    Rabbit { url: ServiceAddress },
    Stream { url: ServiceAddress, master: RedisConnection, outboxes: Outboxes, member: String },
}

impl Origin {
    pub async fn open(&self) -> anyhow::Result<Box<dyn OrderSource>> {
        Ok(match self {
            Origin::Rabbit { url } => Box::new(rabbit::RabbitSource::open(url).await?),
            Origin::Stream { url, master, outboxes, member } => {
                Box::new(stream::StreamSource::open(url, master.clone(), outboxes.clone(), member.clone()).await?)
            }
        })
    }
}
