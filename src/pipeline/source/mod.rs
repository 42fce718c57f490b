//! Where the consumer gets orders from: RabbitMQ, or without it the outbox itself.

mod rabbit;
mod stream;

use async_trait::async_trait;
use secrecy::SecretString;

use super::outbox::Outboxes;
use crate::domain::Bucket;
use crate::domain::OutboxItem;
use crate::redis::connection::RedisConnection;

/// How to tell the source which delivery is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tag {
    Message(u64),
    Entry(Bucket, String),
}

/// Something that was delivered. It is delivered again, here or elsewhere, unless it is finished.
#[derive(Debug, Clone)]
pub struct Delivery {
    pub tag: Tag,
    /// `None` when nobody can read it.
    pub won: Option<Vec<OutboxItem>>,
}

/// A source of orders. After any error it has to be opened anew; what was not finished comes again.
#[async_trait]
pub trait OrderSource: Send {
    /// What has come, up to about `most` orders; empty after a short wait in vain.
    async fn next(&mut self, most: usize) -> anyhow::Result<Vec<Delivery>>;

    /// All of these are written to the database. They must be everything of one `next` that was not set aside.
    async fn finish(&mut self, deliveries: &[Delivery]) -> anyhow::Result<()>;

    /// Sets a delivery aside that makes no sense, where operators find it.
    async fn set_aside(&mut self, delivery: &Delivery) -> anyhow::Result<()>;

    /// Lets go of everything that is not finished.
    async fn close(self: Box<Self>);
}

/// How to open a source.
#[derive(Clone)]
pub enum Origin {
    Rabbit { url: SecretString },
    Stream { url: SecretString, master: RedisConnection, outboxes: Outboxes, member: String },
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
