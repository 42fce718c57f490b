//! Dead letters in RabbitMQ. Looking means taking them in hand and giving them back: there is no other way without the
//! management plugin, which the shop does not need.

use std::time::Duration;

use anyhow::Context;
use jiff::Timestamp;
use lapin::message::{BasicGetMessage, Delivery};
use lapin::options::{BasicAckOptions, BasicGetOptions, BasicNackOptions, BasicPublishOptions, ConfirmSelectOptions};
use lapin::types::{AMQPValue, FieldTable};
use secrecy::SecretString;

use super::MOST;
use super::letter::{Letter, Place, id_of, shown};
use crate::pipeline::rabbit::{DEAD, EXCHANGE, KINDS, ORDER, Rabbit, taken};

const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// Newer brokers drop a message that came back twenty times. One that was looked at so often is published anew, which
/// sets its count back.
const RENEW_AFTER: i64 = 10;

/// Messages in hand. If this process dies the broker takes them back by itself.
pub(super) struct Hand {
    rabbit: Rabbit,
}

/// Looks at the first messages.
pub(super) async fn list(url: &SecretString) -> anyhow::Result<Vec<Letter>> {
    let mut hand = Hand::open(url).await?;
    let mut letters = Vec::new();
    for _ in 0..hand.waiting().await?.min(MOST) {
        let Some(message) = hand.take().await? else { break };
        letters.push(letter(&message));
        if times_returned(&message) >= RENEW_AFTER {
            hand.publish("", DEAD, &message, message.properties.headers().clone()).await?;
            hand.finish(&message).await?;
        }
    }
    hand.give_back().await?;
    Ok(letters)
}

impl Hand {
    pub(super) async fn open(url: &SecretString) -> anyhow::Result<Hand> {
        let rabbit = Rabbit::connect(url, "seckill dead letters").await?;
        rabbit.channel.confirm_select(ConfirmSelectOptions::default()).await?;
        Ok(Hand { rabbit })
    }

    pub(super) async fn waiting(&self) -> anyhow::Result<usize> {
        Ok(self.rabbit.waiting(DEAD).await? as usize)
    }

    pub(super) async fn take(&mut self) -> anyhow::Result<Option<Delivery>> {
        let get = self.rabbit.channel.basic_get(DEAD.into(), BasicGetOptions::default());
        let got = tokio::time::timeout(ANSWER_WITHIN, get).await.context("RabbitMQ does not answer")??;
        Ok(got.map(|BasicGetMessage { delivery, .. }| delivery))
    }

    /// Sends a message on its way again, as it came first.
    pub(super) async fn publish_again(&self, message: &Delivery) -> anyhow::Result<()> {
        let kind = message.properties.kind().as_ref().map(|kind| kind.as_str());
        let kind = KINDS.into_iter().find(|known| Some(known.name) == kind).unwrap_or(ORDER);
        self.publish(EXCHANGE, kind.key, message, None).await
    }

    /// Publishes a copy and waits until the broker has it.
    async fn publish(
        &self,
        exchange: &str,
        key: &str,
        message: &Delivery,
        headers: Option<FieldTable>,
    ) -> anyhow::Result<()> {
        let mut headers = headers.unwrap_or_default();
        let kept: Vec<_> = headers.inner().iter().filter(|(name, _)| name.as_str() != "x-delivery-count").collect();
        let mut fresh = FieldTable::default();
        for (name, value) in kept {
            fresh.insert(name.clone(), value.clone());
        }
        headers = fresh;
        let properties = message.properties.clone().with_delivery_mode(2).with_headers(headers);
        let mandatory = BasicPublishOptions { mandatory: true, ..Default::default() };
        let publish =
            self.rabbit.channel.basic_publish(exchange.into(), key.into(), mandatory, &message.data, properties);
        let confirmed = tokio::time::timeout(ANSWER_WITHIN, async { publish.await?.await }).await;
        taken(&confirmed.context("RabbitMQ does not confirm")??)
    }

    /// Takes a message out of the queue.
    pub(super) async fn finish(&self, message: &Delivery) -> anyhow::Result<()> {
        Ok(self.rabbit.channel.basic_ack(message.delivery_tag, BasicAckOptions::default()).await?)
    }

    /// Everything that is still in hand goes back.
    pub(super) async fn give_back(self) -> anyhow::Result<()> {
        let all = BasicNackOptions { multiple: true, requeue: true };
        let given = self.rabbit.channel.basic_nack(0, all).await;
        self.rabbit.close().await;
        Ok(given?)
    }
}

pub(super) fn letter(message: &Delivery) -> Letter {
    let properties = &message.properties;
    let text = |value: &Option<lapin::types::ShortString>| value.as_ref().map(|text| text.as_str().to_owned());
    let (message_type, message_id) = (text(properties.kind()), text(properties.message_id()));
    let named = |text: &Option<String>| text.clone().unwrap_or_default().into_bytes();
    let death = properties.headers().as_ref().and_then(first_death);
    Letter {
        id: id_of(&[&message.data, &named(&message_type), &named(&message_id)]),
        place: Place::Queue,
        content: shown(&message.data),
        size: message.data.len(),
        message_type,
        message_id,
        reason: death.and_then(|death| long_text(death, "reason")),
        at: death.and_then(died_at),
    }
}

/// How often the message came back into the queue of the dead.
fn times_returned(message: &Delivery) -> i64 {
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

/// The broker's record of the last death.
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
