//! Dead letters in RabbitMQ. Without the management plugin, which the shop does not require, AMQP can only list messages by
//! taking them and returning them to the queue.

use std::time::Duration;

use anyhow::Context;
use jiff::Timestamp;
use lapin::message::{BasicGetMessage, Delivery};
use lapin::options::{BasicAckOptions, BasicGetOptions, BasicNackOptions};
use lapin::types::{AMQPValue, FieldTable};

use super::MAX_LETTERS;
use super::letter::{DeadLetter, DeadLetterSource, displayed, id_of, named};
use crate::pipeline::message::{self, KINDS};
use crate::pipeline::rabbit::{DEAD_LETTER_QUEUE, EXCHANGE, Rabbit};
use base::config::ServiceAddress;

const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// Newer brokers drop a message after twenty returns. A message with this many returns is published again, which resets
/// the count.
const MAX_RETURNS: i64 = 10;

/// A channel that takes messages out of the queue. They stay unacknowledged: if this process dies, the broker puts them
/// back.
pub(super) struct DeadLetterReader {
    rabbit: Rabbit,
}

/// The first [`MAX_LETTERS`] messages.
pub(super) async fn list(url: &ServiceAddress) -> anyhow::Result<Vec<DeadLetter>> {
    let mut reader = DeadLetterReader::open(url).await?;
    let mut letters = Vec::new();
    for _ in 0..reader.waiting().await?.min(MAX_LETTERS) {
        let Some(message) = reader.take().await? else { break };
        letters.push(letter(&message));
        if return_count(&message) >= MAX_RETURNS {
            reader.publish("", DEAD_LETTER_QUEUE, &message, |header| header != "x-delivery-count").await?;
            reader.finish(&message).await?;
        }
    }
    reader.close().await?;
    Ok(letters)
}

impl DeadLetterReader {
    pub(super) async fn open(url: &ServiceAddress) -> anyhow::Result<DeadLetterReader> {
        let rabbit = Rabbit::connect(url, "seckill dead letters").await?;
        rabbit.confirm().await?;
        Ok(DeadLetterReader { rabbit })
    }

    pub(super) async fn waiting(&self) -> anyhow::Result<usize> {
        Ok(self.rabbit.message_count(DEAD_LETTER_QUEUE).await? as usize)
    }

    pub(super) async fn take(&mut self) -> anyhow::Result<Option<Delivery>> {
        let get = self.rabbit.channel.basic_get(DEAD_LETTER_QUEUE.into(), BasicGetOptions::default());
        let got = tokio::time::timeout(ANSWER_TIMEOUT, get).await.context("RabbitMQ does not answer")??;
        Ok(got.map(|BasicGetMessage { delivery, .. }| delivery))
    }

    /// Publishes a message to the exchange as it was first published.
    pub(super) async fn replay(&self, message: &Delivery) -> anyhow::Result<()> {
        let key = message::routing_key(message_type(message));
        self.publish(EXCHANGE, key, message, |header| KINDS.iter().any(|kind| kind.count == header)).await
    }

    /// Publishes a copy of a message with these headers and waits for the confirm.
    async fn publish(
        &self,
        exchange: &str,
        key: &str,
        message: &Delivery,
        keeps: impl Fn(&str) -> bool,
    ) -> anyhow::Result<()> {
        let headers = message.properties.headers().iter().flat_map(FieldTable::inner);
        let mut kept = FieldTable::default();
        for (name, value) in headers.filter(|(name, _)| keeps(name.as_str())) {
            kept.insert(name.clone(), value.clone());
        }
        let properties = message.properties.clone().with_delivery_mode(2).with_headers(kept);
        let published = self.rabbit.publish(exchange, key, properties, &message.data);
        tokio::time::timeout(ANSWER_TIMEOUT, published).await.context("RabbitMQ does not confirm")?
    }

    /// Removes a message from the queue.
    pub(super) async fn finish(&self, message: &Delivery) -> anyhow::Result<()> {
        Ok(self.rabbit.channel.basic_ack(message.delivery_tag, BasicAckOptions::default()).await?)
    }

    /// Returns all other messages to the queue.
    pub(super) async fn close(self) -> anyhow::Result<()> {
        let all = BasicNackOptions { multiple: true, requeue: true };
        let returned = self.rabbit.channel.basic_nack(0, all).await;
        self.rabbit.close().await;
        Ok(returned?)
    }
}

fn message_type(message: &Delivery) -> Option<&str> {
    message.properties.kind().as_ref().map(|kind| kind.as_str())
}

pub(super) fn letter(message: &Delivery) -> DeadLetter {
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
    match headers.inner().get("x-death")? {
        AMQPValue::FieldArray(deaths) => match deaths.as_slice().first()? {
            AMQPValue::FieldTable(death) => Some(death),
            _ => None,
        },
        _ => None,
    }
}

fn long_text(table: &FieldTable, key: &str) -> Option<String> {
    match table.inner().get(key)? {
        AMQPValue::LongString(text) => Some(text.to_string()),
        AMQPValue::ShortString(text) => Some(text.to_string()),
        _ => None,
    }
}

fn died_at(death: &FieldTable) -> Option<Timestamp> {
    match death.inner().get("time")? {
        AMQPValue::Timestamp(seconds) => Timestamp::from_second(i64::try_from(*seconds).ok()?).ok(),
        _ => None,
    }
}
