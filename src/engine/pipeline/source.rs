//! Sources of orders for the consumer: RabbitMQ, or the outbox itself if there is no RabbitMQ.

use std::fmt;
use std::time::Duration;

use anyhow::Context;
use async_trait::async_trait;
use boxed::boxed;
use futures::StreamExt;
use futures::future::try_join_all;
use lapin::BasicProperties;
use lapin::message::Delivery as Message;
use lapin::options::{BasicAckOptions, BasicConsumeOptions, BasicQosOptions, BasicRejectOptions};
use lapin::types::{AMQPValue, FieldTable};
use tokio::time::Instant;

use super::outbox::{self, Entry, Group, Outboxes, READ_TIMEOUT};
use crate::pipeline::message::{self, Message as SingleMessage};
use crate::pipeline::rabbit::{DEAD_LETTER_QUEUE, ORDER_QUEUE, Rabbit, with_headers};
use crate::redis::connection::{self, RedisConnection};
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
    /// The message itself, for publishing it again. `None` for an outbox entry.
    message: Option<(BasicProperties, Vec<u8>)>,
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

    /// Makes room for other deliveries if too many are held: takes some out of `held`, which are delivered again later.
    /// Returns `true` if that may be at once, so that the caller pauses.
    async fn put_back(&mut self, held: &mut Vec<Delivery>) -> anyhow::Result<bool>;

    /// Returns all unfinished deliveries.
    async fn close(self: Box<Self>);
}

/// Where to open a source.
pub enum Origin {
    Rabbit { url: ServiceAddress },
    Stream { url: ServiceAddress, master: RedisConnection, outboxes: Outboxes, member: String },
}

#[boxed]
impl Origin {
    pub async fn open(&self) -> anyhow::Result<Box<dyn OrderSource>> {
        Ok(match self {
            Origin::Rabbit { url } => Box::new(RabbitSource::open(url).await?),
            Origin::Stream { url, master, outboxes, member } => Box::new(StreamSource {
                private: connection::private(url, READ_TIMEOUT).await?,
                master: master.clone(),
                outboxes: outboxes.clone(),
                member: member.clone(),
                stale_checked_at: Instant::now(),
            }),
        })
    }
}

// Orders from RabbitMQ. When the channel ends, the broker returns unacknowledged messages to the queue.

/// Messages in flight to this consumer: the batch that is being written and the next ones. A recovery of lost keys does
/// not see messages in flight ([`crate::pipeline::recovery`]), so there are few enough to persist them within a second
/// even with 256 orders each. There are enough for a batch of messages with one order each.
const PREFETCH: u16 = 64;
/// Messages that the consumer holds for sales that can't be written. The broker sends nothing more once the whole prefetch
/// is held, so from here on they go to the end of the queue.
const MAX_HELD_MESSAGES: usize = PREFETCH as usize / 2;
/// How long to wait for the first message of a batch.
const FIRST_MESSAGE_TIMEOUT: Duration = Duration::from_millis(500);
/// How long to wait for each further message. A single order is not noticeably delayed; under load the batch fills up
/// anyway.
const LINGER: Duration = Duration::from_millis(3);
/// How long to wait for the confirms of dead letters and of messages that are put back. After that the deliveries return to the queue.
const CONFIRM_TIMEOUT: Duration = Duration::from_secs(5);

struct RabbitSource {
    rabbit: Rabbit,
    consumer: lapin::Consumer,
}

impl RabbitSource {
    async fn open(url: &ServiceAddress) -> anyhow::Result<RabbitSource> {
        let rabbit = Rabbit::connect_to_publish(url, "seckill consumer").await?;
        rabbit.channel.basic_qos(PREFETCH, BasicQosOptions::default()).await?;
        let options = BasicConsumeOptions::default();
        let consumer =
            rabbit.channel.basic_consume(ORDER_QUEUE.into(), "".into(), options, FieldTable::default()).await?;
        Ok(RabbitSource { rabbit, consumer })
    }
}

fn delivery(Message { delivery_tag, properties, data, .. }: Message) -> Delivery {
    let kind = properties.kind().as_ref().map(|kind| kind.as_str());
    let items = message::parse(kind, &data);
    Delivery { tag: Tag::Message(delivery_tag), items, message: Some((properties, data)) }
}

#[async_trait]
impl OrderSource for RabbitSource {
    async fn next(&mut self, max_orders: usize) -> anyhow::Result<Vec<Delivery>> {
        let mut batch = Vec::new();
        let mut orders = 0;
        let mut wait = FIRST_MESSAGE_TIMEOUT;
        // The broker sends no more than the prefetch, so there is nothing to wait for beyond it.
        while orders < max_orders && batch.len() < PREFETCH.into() {
            let Ok(message) = tokio::time::timeout(wait, self.consumer.next()).await else { break };
            let delivery = delivery(message.context("RabbitMQ has ended the subscription")??);
            orders += delivery.items.as_ref().map_or(1, Vec::len);
            batch.push(delivery);
            wait = LINGER;
        }
        // If the channel was lost silently, nothing would ever arrive.
        anyhow::ensure!(self.rabbit.is_connected(), "the connection to RabbitMQ is lost");
        Ok(batch)
    }

    async fn finish(&mut self, deliveries: &[Delivery]) -> anyhow::Result<()> {
        let tags = deliveries.iter().filter_map(|delivery| match delivery.tag {
            Tag::Message(tag) => Some(tag),
            Tag::Entry(..) => None,
        });
        // Earlier messages may be held, so each is acknowledged by itself.
        for tag in tags {
            self.rabbit.channel.basic_ack(tag, BasicAckOptions::default()).await?;
        }
        Ok(())
    }

    async fn set_aside(&mut self, delivery: &Delivery, refused: &[OutboxItem]) -> anyhow::Result<()> {
        let Tag::Message(tag) = delivery.tag else { return Ok(()) };
        if refused.len() == delivery.items.as_ref().map_or(0, Vec::len) {
            // A message that is rejected without requeueing becomes a dead letter.
            return Ok(self.rabbit.channel.basic_reject(tag, BasicRejectOptions { requeue: false }).await?);
        }
        for item in refused {
            let letter = SingleMessage::of_item(item)?;
            let mut headers = FieldTable::default();
            headers.insert("reason".into(), AMQPValue::LongString("refused".into()));
            let properties = letter.properties().with_headers(headers);
            let sent = self.rabbit.publish("", DEAD_LETTER_QUEUE, properties, &letter.body);
            tokio::time::timeout(CONFIRM_TIMEOUT, sent).await.context("RabbitMQ does not confirm a dead letter")??;
        }
        Ok(self.rabbit.channel.basic_ack(tag, BasicAckOptions::default()).await?)
    }

    /// Publishes the messages to the end of the queue, then acknowledges them. Rejected messages would go to the head of the
    /// queue and be delivered before the messages of other sales.
    async fn put_back(&mut self, held: &mut Vec<Delivery>) -> anyhow::Result<bool> {
        if held.len() < MAX_HELD_MESSAGES {
            return Ok(false);
        }
        let messages = held.iter().filter_map(|delivery| delivery.message.as_ref());
        let sent = try_join_all(messages.map(|(properties, body)| {
            self.rabbit.publish("", ORDER_QUEUE, with_headers(properties, message::is_count), body)
        }));
        tokio::time::timeout(CONFIRM_TIMEOUT, sent).await.context("RabbitMQ does not confirm what is put back")??;
        self.finish(held).await?;
        held.clear();
        Ok(true)
    }

    async fn close(self: Box<Self>) {
        self.rabbit.close().await;
    }
}

// Orders straight from the outbox. Members of a consumer group share its entries, and take over those that another member
// read but never finished.

/// Typical number of orders per entry under load, when the size of a batch matters. An entry has 1 to 256.
const ORDERS_PER_ENTRY: usize = 16;
/// A member that has not finished an entry for this long is probably dead. No transaction takes this long.
const STALE_AFTER: Duration = Duration::from_secs(10);
const STALE_CHECK_INTERVAL: Duration = Duration::from_secs(2);
/// Entries that the consumer holds for sales that can't be written. Further ones are forgotten and soon stale.
const MAX_HELD_ENTRIES: usize = 1000;

struct StreamSource {
    /// A connection of its own, for blocking reads.
    private: RedisConnection,
    master: RedisConnection,
    outboxes: Outboxes,
    member: String,
    stale_checked_at: Instant,
}

impl StreamSource {
    /// Entries that another member read and did not finish.
    async fn stale(&mut self, max_entries: usize) -> anyhow::Result<Vec<Entry>> {
        if self.stale_checked_at.elapsed() < STALE_CHECK_INTERVAL {
            return Ok(Vec::new());
        }
        let mut stale = Vec::new();
        for bucket in self.outboxes.buckets() {
            let member = (Group::Consume, self.member.as_str());
            stale.append(&mut outbox::take_over(&mut self.master, member, bucket, STALE_AFTER, max_entries).await?);
        }
        self.stale_checked_at = Instant::now();
        Ok(stale)
    }
}

#[async_trait]
impl OrderSource for StreamSource {
    async fn next(&mut self, max_orders: usize) -> anyhow::Result<Vec<Delivery>> {
        let max_entries = (max_orders / ORDERS_PER_ENTRY).max(1);
        let mut entries = self.stale(max_entries).await?;
        let buckets = self.outboxes.buckets();
        if entries.is_empty() && buckets.is_empty() {
            tokio::time::sleep(READ_TIMEOUT).await;
        } else if entries.is_empty() {
            let member = (Group::Consume, self.member.as_str());
            entries = outbox::read(&mut self.private, member, &buckets, max_entries).await?;
        }
        self.outboxes.note(&entries);
        let deliveries = entries.into_iter().map(|entry| Delivery {
            tag: Tag::Entry(entry.bucket, entry.id),
            // The log of the move to the dead letters says more.
            items: entry.items.ok_or_else(|| "its fields are wrong".to_owned()),
            message: None,
        });
        Ok(deliveries.collect())
    }

    async fn finish(&mut self, deliveries: &[Delivery]) -> anyhow::Result<()> {
        let entries: Vec<Entry> = deliveries.iter().filter_map(entry).collect();
        Ok(outbox::remove(&mut self.master, &entries).await?)
    }

    /// Moves the whole entry. Replaying it does not change orders that have been persisted.
    async fn set_aside(&mut self, delivery: &Delivery, _refused: &[OutboxItem]) -> anyhow::Result<()> {
        match entry(delivery) {
            Some(entry) => Ok(outbox::set_aside(&mut self.master, &entry).await?),
            None => Ok(()),
        }
    }

    async fn put_back(&mut self, held: &mut Vec<Delivery>) -> anyhow::Result<bool> {
        held.truncate(MAX_HELD_ENTRIES);
        Ok(false)
    }

    async fn close(self: Box<Self>) {
        // Another member takes over unfinished entries once they are stale.
    }
}

fn entry(delivery: &Delivery) -> Option<Entry> {
    match &delivery.tag {
        Tag::Entry(bucket, id) => Some(Entry { bucket: *bucket, id: id.clone(), items: None }),
        Tag::Message(_) => None,
    }
}
