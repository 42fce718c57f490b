//! Dead letters in RabbitMQ. Without the management plugin, which the shop does not require, AMQP can only list messages by
//! taking them and returning them to the queue.

use std::time::Duration;

use anyhow::Context;
use jiff::Timestamp;
use lapin::message::{BasicGetMessage, Delivery};
use lapin::options::{BasicAckOptions, BasicGetOptions, BasicNackOptions, BasicPublishOptions, ConfirmSelectOptions};
use lapin::types::{AMQPValue, FieldTable};
use secrecy::SecretString;

use super::MAX_LETTERS;
use super::letter::{DeadLetter, DeadLetterSource, displayed, id_of};
use crate::pipeline::rabbit::{DEAD_LETTER_QUEUE, EXCHANGE, KINDS, ORDER, Rabbit, check_confirmation};

const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// Newer brokers drop a message after twenty returns. A message with this many is published again, which resets the count.
const MAX_RETURNS: i64 = 10;

/// A channel that takes messages out of the queue. They stay unacknowledged: if this process dies, the broker puts them
/// back.
pub(super) struct DeadLetterReader {
    rabbit: Rabbit,
}

/// The first [`MAX_LETTERS`] messages.
pub(super) async fn list(url: &SecretString) -> anyhow::Result<Vec<DeadLetter>> {
    let mut reader = DeadLetterReader::open(url).await?;
    let mut letters = Vec::new();
    for _ in 0..reader.waiting().await?.min(MAX_LETTERS) {
        let Some(message) = reader.take().await? else { break };
        letters.push(letter(&message));
        if return_count(&message) >= MAX_RETURNS {
            reader.publish("", DEAD_LETTER_QUEUE, &message, message.properties.headers().clone()).await?;
            reader.finish(&message).await?;
        }
    }
    reader.close().await?;
    Ok(letters)
}

impl DeadLetterReader {
    pub(super) async fn open(url: &SecretString) -> anyhow::Result<DeadLetterReader> {
        let rabbit = Rabbit::connect(url, "seckill dead letters").await?;
        rabbit.channel.confirm_select(ConfirmSelectOptions::default()).await?;
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

    /// Publishes a message as it was first published.
    pub(super) async fn replay(&self, message: &Delivery) -> anyhow::Result<()> {
        let kind = message.properties.kind().as_ref().map(|kind| kind.as_str());
        let kind = KINDS.into_iter().find(|known| Some(known.name) == kind).unwrap_or(ORDER);
        self.publish(EXCHANGE, kind.key, message, None).await
    }

    /// Publishes a copy and waits for the confirm.
    async fn publish(
        &self,
        exchange: &str,
        key: &str,
        message: &Delivery,
        headers: Option<FieldTable>,
    ) -> anyhow::Result<()> {
        let mut kept = FieldTable::default();
        for (name, value) in headers.unwrap_or_default().inner() {
            if name.as_str() != "x-delivery-count" {
                kept.insert(name.clone(), value.clone());
            }
        }
        let properties = message.properties.clone().with_delivery_mode(2).with_headers(kept);
        let mandatory = BasicPublishOptions { mandatory: true, ..Default::default() };
        let publish =
            self.rabbit.channel.basic_publish(exchange.into(), key.into(), mandatory, &message.data, properties);
        let confirmed = tokio::time::timeout(ANSWER_TIMEOUT, async { publish.await?.await }).await;
        check_confirmation(&confirmed.context("RabbitMQ does not confirm")??)
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

pub(super) fn letter(message: &Delivery) -> DeadLetter {
    let properties = &message.properties;
    let [message_type, message_id] =
        [properties.kind(), properties.message_id()].map(|text| text.as_ref().map(ToString::to_string));
    let [kind, id] = [&message_type, &message_id].map(|text| text.as_deref().unwrap_or_default().as_bytes());
    let death = properties.headers().as_ref().and_then(first_death);
    DeadLetter {
        id: id_of(&[&message.data, kind, id]),
        place: DeadLetterSource::Queue,
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
