//! Dead letters: messages and outbox entries that could not be parsed. RabbitMQ stores messages in `seckill.orders.dead`,
//! Redis stores entries in `goods{bucket}:outbox:dead`. Operators list, replay or discard them.
//!
//! No step loses a letter: a message is published and confirmed before it leaves the queue, and recorded in the audit log
//! before it is discarded. A crash in between leaves a duplicate, which the consumer ignores.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use boxed::boxed;
use jiff::Timestamp;
use lapin::message::{BasicGetMessage, Delivery};
use lapin::options::{BasicAckOptions, BasicGetOptions, BasicNackOptions};
use lapin::types::{AMQPValue, FieldTable};
use redis::{Script, Value, from_redis_value, from_redis_value_ref};
use schemars::JsonSchema;
use serde::Serialize;
use sha2::{Digest, Sha256};
use tokio::sync::Mutex;

use crate::pipeline::rabbit::{DEAD_LETTER_QUEUE, EXCHANGE, Rabbit, with_headers};
use crate::pipeline::{message, outbox};
use crate::redis::connection::RedisConnection;
use crate::redis::{keys, parse_time};
use base::clock::Clock;
use base::config::ServiceAddress;
use domain::wire::wire_enum;
use domain::{AuditAction, Bucket, OutboxItem, PacketId, SaleId, hex};
use store::{Store, StoreError, StoreResult};

/// Letters per list and place.
pub const MAX_LETTERS: usize = 100;

/// Why dead letters could not be settled.
#[derive(Debug, thiserror::Error)]
pub enum DeadLetterError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("dead letters are unavailable: {0:#}")]
    Unavailable(#[from] anyhow::Error),
}

/// The dead letters of each place; `None` where it is not configured.
#[derive(Debug, Default)]
pub struct DeadLetterList {
    pub queue: Option<anyhow::Result<Vec<DeadLetter>>>,
    pub outboxes: Option<anyhow::Result<Vec<DeadLetter>>>,
}

wire_enum! {
    /// How a dead letter is settled.
    pub enum Settlement {
        /// Moves the letter back to the queue or outbox that it came from. If it still cannot be parsed, it becomes a
        /// dead letter again.
        Replay = "replay",
        Discard = "discard",
    }
}

/// Access to the dead letters of all places. Clones exclude each other.
#[derive(Clone)]
pub struct DeadLetters {
    amqp_url: Option<ServiceAddress>,
    master: Option<RedisConnection>,
    store: Store,
    clock: Clock,
    /// A list takes the messages out of the queue for a moment; a concurrent one would find it empty.
    exclusive: Arc<Mutex<()>>,
}

#[boxed]
impl DeadLetters {
    pub fn new(
        amqp_url: Option<ServiceAddress>,
        master: Option<RedisConnection>,
        store: Store,
        clock: Clock,
    ) -> DeadLetters {
        DeadLetters { amqp_url, master, store, clock, exclusive: Arc::default() }
    }

    /// The first [`MAX_LETTERS`] letters of RabbitMQ and of the outboxes.
    pub async fn list(&self) -> StoreResult<DeadLetterList> {
        let _guard = self.exclusive.lock().await;
        let buckets = if self.master.is_some() { self.buckets().await? } else { vec![] };
        let queue = futures::future::OptionFuture::from(self.amqp_url.as_ref().map(list_queue));
        let outboxes = self.master.as_ref().map(|master| list_outboxes(master, &buckets));
        let outboxes = futures::future::OptionFuture::from(outboxes);
        let (queue, outboxes) = tokio::join!(queue, outboxes);
        Ok(DeadLetterList { queue, outboxes })
    }

    /// Replays or discards the letter with the id `only`, or all present letters. Returns how many were settled.
    pub async fn settle(
        &self,
        only: Option<&str>,
        settlement: Settlement,
        actor: &str,
    ) -> Result<usize, DeadLetterError> {
        let _guard = self.exclusive.lock().await;
        let mut settled = 0;
        if let Some(url) = &self.amqp_url {
            settled += self.settle_queue(url, only, settlement, actor).await?;
        }
        // An id names one letter; once it is settled, there is no other.
        if let Some(master) = self.master.as_ref().filter(|_| only.is_none() || settled == 0) {
            settled += self.settle_outboxes(&mut master.clone(), only, settlement, actor).await?;
        }
        Ok(settled)
    }

    async fn settle_queue(
        &self,
        url: &ServiceAddress,
        only: Option<&str>,
        settlement: Settlement,
        actor: &str,
    ) -> Result<usize, DeadLetterError> {
        let mut reader = DeadLetterReader::open(url).await?;
        let mut settled = 0;
        // Bounded by the present length, so that a replayed message that is dead-lettered again is not replayed in a
        // loop.
        for _ in 0..reader.waiting().await? {
            let Some(message) = reader.take().await? else { break };
            let letter = letter_of_message(&message);
            if only.is_some_and(|id| id != letter.id) {
                continue;
            }
            self.record(&letter, settlement, actor).await?;
            if settlement == Settlement::Replay {
                reader.replay(&message).await?;
            }
            reader.finish(&message).await?;
            settled += 1;
            if only.is_some() {
                break;
            }
        }
        reader.close().await?;
        Ok(settled)
    }

    async fn settle_outboxes(
        &self,
        master: &mut RedisConnection,
        only: Option<&str>,
        settlement: Settlement,
        actor: &str,
    ) -> Result<usize, DeadLetterError> {
        let buckets = self.buckets().await?;
        let mut letters = list_outboxes(master, &buckets).await?;
        letters.retain(|letter| only.is_none_or(|id| id == letter.id));
        for letter in &letters {
            self.record(letter, settlement, actor).await?;
            settle_entry(master, letter, settlement).await?;
        }
        Ok(letters.len())
    }

    /// All buckets that may have dead letters.
    async fn buckets(&self) -> StoreResult<Vec<Bucket>> {
        let mut buckets: Vec<Bucket> = self.store.sales().list().await?.iter().flat_map(Bucket::of_sale).collect();
        let packets = self.store.packets().open().await?;
        buckets.extend(packets.iter().flat_map(|packet| Bucket::all(packet.id, packet.buckets)));
        Ok(buckets)
    }

    /// Records the letter in the audit log, before it is settled.
    async fn record(&self, letter: &DeadLetter, settlement: Settlement, actor: &str) -> StoreResult<()> {
        let subject = format!("dead-letter {}", letter.id);
        let action = match settlement {
            Settlement::Replay => AuditAction::Replay,
            Settlement::Discard => AuditAction::Discard,
        };
        self.store.audit_log().log_removal(actor, action, &subject, letter, self.clock.now()).await
    }
}

// A dead letter as operators see it.

/// Bytes of the content that are displayed and recorded in the audit log.
const MAX_CONTENT: usize = 4096;

/// Where a dead letter is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum DeadLetterSource {
    /// The queue `seckill.orders.dead` in RabbitMQ.
    Queue,
    /// The stream `goods{bucket}:outbox:dead` or `packet{bucket}:outbox:dead` in Redis.
    Outbox {
        #[serde(skip_serializing_if = "Option::is_none")]
        sale: Option<SaleId>,
        #[serde(skip_serializing_if = "Option::is_none")]
        packet: Option<PacketId>,
        bucket: Bucket,
        entry: String,
    },
}

/// One dead letter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DeadLetter {
    /// Derived from the content: letters with the same content have the same id and are interchangeable.
    pub id: String,
    pub place: DeadLetterSource,
    /// The content as text, truncated when it is long; bytes that are not text become �.
    pub content: String,
    /// The letter's orders by id, and its claims by packet and user. Empty if the content cannot be parsed.
    pub items: Vec<String>,
    /// Length of the whole content in bytes.
    pub size: usize,
    /// The message's `type` property.
    pub message_type: Option<String>,
    pub message_id: Option<String>,
    /// The broker's reason, `rejected`, `expired` or `delivery_limit`; or `refused` if the database took the message's
    /// other orders but refuses this one.
    pub reason: Option<String>,
    /// When the message or entry became a dead letter.
    pub at: Option<Timestamp>,
}

/// The id of a letter: the first eight bytes of a hash over its parts.
fn id_of(parts: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hex::encode(&hash.finalize()[..8])
}

/// The items of a letter, as operators search for them.
fn named(items: Option<Vec<OutboxItem>>) -> Vec<String> {
    let name = |item| match item {
        OutboxItem::Order(order) => order.order_id.to_string(),
        OutboxItem::Share(claim) => format!("{}:{}", claim.packet_id, claim.user_id),
    };
    items.into_iter().flatten().map(name).collect()
}

/// The beginning of the content as text.
fn displayed(content: &[u8]) -> String {
    let text = String::from_utf8_lossy(&content[..content.len().min(MAX_CONTENT)]);
    text.chars().map(|c| if c.is_control() && c != '\n' && c != '\t' { '\u{fffd}' } else { c }).collect()
}

// Dead letters in RabbitMQ. Without the management plugin, which the shop does not require, AMQP can only list messages by
// taking them and returning them to the queue.

const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// Newer brokers drop a message after twenty returns. A message with this many returns is published again, which resets
/// the count.
const MAX_RETURNS: i64 = 10;

/// A channel that takes messages out of the queue. They stay unacknowledged: if this process dies, the broker puts them
/// back.
struct DeadLetterReader {
    rabbit: Rabbit,
}

/// The first [`MAX_LETTERS`] messages.
async fn list_queue(url: &ServiceAddress) -> anyhow::Result<Vec<DeadLetter>> {
    let mut reader = DeadLetterReader::open(url).await?;
    let mut letters = Vec::new();
    for _ in 0..reader.waiting().await?.min(MAX_LETTERS) {
        let Some(message) = reader.take().await? else { break };
        letters.push(letter_of_message(&message));
        if return_count(&message) >= MAX_RETURNS {
            reader.publish("", DEAD_LETTER_QUEUE, &message, |header| header != "x-delivery-count").await?;
            reader.finish(&message).await?;
        }
    }
    reader.close().await?;
    Ok(letters)
}

impl DeadLetterReader {
    async fn open(url: &ServiceAddress) -> anyhow::Result<DeadLetterReader> {
        Ok(DeadLetterReader { rabbit: Rabbit::connect_to_publish(url, "seckill dead letters").await? })
    }

    async fn waiting(&self) -> anyhow::Result<usize> {
        Ok(self.rabbit.message_count(DEAD_LETTER_QUEUE).await? as usize)
    }

    async fn take(&mut self) -> anyhow::Result<Option<Delivery>> {
        let get = self.rabbit.channel.basic_get(DEAD_LETTER_QUEUE.into(), BasicGetOptions::default());
        let got = tokio::time::timeout(ANSWER_TIMEOUT, get).await.context("RabbitMQ does not answer")??;
        Ok(got.map(|BasicGetMessage { delivery, .. }| delivery))
    }

    /// Publishes a message to the exchange as it was first published.
    async fn replay(&self, message: &Delivery) -> anyhow::Result<()> {
        let key = message::routing_key(message_type(message));
        self.publish(EXCHANGE, key, message, message::is_count).await
    }

    /// Publishes a copy of a message with these headers and waits for the confirm.
    async fn publish(
        &self,
        exchange: &str,
        key: &str,
        message: &Delivery,
        keeps: impl Fn(&str) -> bool,
    ) -> anyhow::Result<()> {
        let published = self.rabbit.publish(exchange, key, with_headers(&message.properties, keeps), &message.data);
        tokio::time::timeout(ANSWER_TIMEOUT, published).await.context("RabbitMQ does not confirm")?
    }

    /// Removes a message from the queue.
    async fn finish(&self, message: &Delivery) -> anyhow::Result<()> {
        Ok(self.rabbit.channel.basic_ack(message.delivery_tag, BasicAckOptions::default()).await?)
    }

    /// Returns all other messages to the queue.
    async fn close(self) -> anyhow::Result<()> {
        let all = BasicNackOptions { multiple: true, requeue: true };
        let returned = self.rabbit.channel.basic_nack(0, all).await;
        self.rabbit.close().await;
        Ok(returned?)
    }
}

fn message_type(message: &Delivery) -> Option<&str> {
    message.properties.kind().as_ref().map(|kind| kind.as_str())
}

fn letter_of_message(message: &Delivery) -> DeadLetter {
    let properties = &message.properties;
    let [message_type, message_id] =
        [properties.kind(), properties.message_id()].map(|text| text.as_ref().map(ToString::to_string));
    let items = message::parse(message_type.as_deref(), &message.data);
    let [kind, id] = [&message_type, &message_id].map(|text| text.as_deref().unwrap_or_default().as_bytes());
    // A letter that the consumer wrote itself has its reason in a header.
    let death = properties.headers().as_ref().map(|headers| first_death(headers).unwrap_or(headers));
    DeadLetter {
        id: id_of(&[&message.data, kind, id]),
        place: DeadLetterSource::Queue,
        items: named(items.ok()),
        content: displayed(&message.data),
        size: message.data.len(),
        message_type,
        message_id,
        reason: death.and_then(|death| long_text(death, "reason")),
        at: death.and_then(died_at),
    }
}

/// How often the message was returned to the queue.
fn return_count(message: &Delivery) -> i64 {
    let headers = message.properties.headers().as_ref();
    match headers.and_then(|headers| headers.inner().get("x-delivery-count")) {
        Some(AMQPValue::LongLongInt(n)) => *n,
        Some(AMQPValue::LongInt(n)) => i64::from(*n),
        Some(AMQPValue::LongUInt(n)) => i64::from(*n),
        Some(AMQPValue::ShortInt(n)) => i64::from(*n),
        Some(AMQPValue::ShortShortInt(n)) => i64::from(*n),
        _ => 0,
    }
}

/// The broker's record of the latest dead-lettering.
fn first_death(headers: &FieldTable) -> Option<&FieldTable> {
    headers.inner().get("x-death")?.as_array()?.as_slice().first()?.as_field_table()
}

fn long_text(table: &FieldTable, key: &str) -> Option<String> {
    match table.inner().get(key)? {
        AMQPValue::LongString(text) => Some(text.to_string()),
        AMQPValue::ShortString(text) => Some(text.to_string()),
        _ => None,
    }
}

fn died_at(death: &FieldTable) -> Option<Timestamp> {
    let seconds = death.inner().get("time")?.as_timestamp()?;
    Timestamp::from_second(i64::try_from(seconds).ok()?).ok()
}

// Dead letters of the outboxes. Each outbox has a Redis Stream for its dead letters.

/// Buckets per call.
const MAX_BUCKETS: usize = 200;

/// The first entries of each bucket, [`MAX_LETTERS`] in all.
async fn list_outboxes(master: &RedisConnection, buckets: &[Bucket]) -> anyhow::Result<Vec<DeadLetter>> {
    let mut letters = Vec::new();
    for chunk in buckets.chunks(MAX_BUCKETS) {
        let answers = master.each(chunk, |pipe, bucket| {
            pipe.cmd("XRANGE").arg(keys::dead(bucket)).arg("-").arg("+").arg("COUNT").arg(MAX_LETTERS)
        });
        for (&bucket, answer) in chunk.iter().zip(answers.await?) {
            let entries: Vec<(String, Vec<Value>)> =
                from_redis_value(answer?.into_iter().next().unwrap_or(Value::Nil))?;
            letters.extend(entries.into_iter().map(|(entry, fields)| letter_of_entry(bucket, entry, &fields)));
        }
    }
    letters.truncate(MAX_LETTERS);
    Ok(letters)
}

fn letter_of_entry(bucket: Bucket, entry: String, fields: &[Value]) -> DeadLetter {
    let mut content = Vec::new();
    for pair in fields.chunks(2) {
        for (n, value) in pair.iter().enumerate() {
            if let Value::BulkString(bytes) = value {
                content.extend_from_slice(bytes);
                content.extend_from_slice(if n == 0 { b": " } else { b"\n" });
            }
        }
    }
    let words: Option<Vec<String>> = fields.iter().map(|value| from_redis_value_ref(value).ok()).collect();
    DeadLetter {
        items: named(words.and_then(|words| outbox::parse_fields(bucket, &words).ok())),
        id: id_of(&[bucket.to_string().as_bytes(), entry.as_bytes()]),
        content: displayed(&content),
        size: content.len(),
        message_type: None,
        message_id: None,
        reason: None,
        at: entry.split('-').next().and_then(parse_time),
        place: DeadLetterSource::Outbox { sale: bucket.sale(), packet: bucket.packet(), bucket, entry },
    }
}

/// Moves an entry back into its outbox, or discards it.
async fn settle_entry(master: &mut RedisConnection, letter: &DeadLetter, settlement: Settlement) -> anyhow::Result<()> {
    let DeadLetterSource::Outbox { bucket, entry, .. } = &letter.place else { return Ok(()) };
    let script = Script::new(include_str!("settle.lua"));
    let mut call = script.key(keys::dead(*bucket));
    call.key(keys::outbox(*bucket)).arg(entry).arg(if settlement == Settlement::Replay { "replay" } else { "discard" });
    let _: i64 = call.invoke_async(master).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn id_depends_on_all_of_the_content() {
        assert_eq!(id_of(&[b"a", b"b"]), id_of(&[b"a", b"b"]));
        assert_ne!(id_of(&[b"ab", b""]), id_of(&[b"a", b"b"]));
        assert_eq!(id_of(&[b""]).len(), 16);
    }

    #[test]
    fn bytes_that_are_not_text_are_replaced() {
        assert_eq!(displayed(b"a\0\x1b[31m\xffb\n"), "a\u{fffd}\u{fffd}[31m\u{fffd}b\n");
        assert_eq!(displayed(&[b'x'; 10_000]).len(), MAX_CONTENT);
    }
}
