//! Orders from RabbitMQ. When the channel ends, the broker returns unacknowledged messages to the queue.

use std::time::Duration;

use anyhow::Context;
use async_trait::async_trait;
use futures::StreamExt;
use lapin::message::Delivery as Message;
use lapin::options::{BasicAckOptions, BasicConsumeOptions, BasicQosOptions, BasicRejectOptions};
use lapin::types::{AMQPValue, FieldTable};

use super::{Delivery, OrderSource, Tag};
use crate::pipeline::message::{self, Message as SingleMessage};
use crate::pipeline::rabbit::{DEAD_LETTER_QUEUE, ORDER_QUEUE, Rabbit};
use base::config::ServiceAddress;
use domain::OutboxItem;

/// Messages in flight to this consumer: the batch that is being written and the next ones. A recovery of lost keys does
/// not see messages in flight ([`crate::pipeline::recovery`]), so there are few enough to persist them within a second
/// even with 256 orders each. There are enough for a batch of messages with one order each.
const PREFETCH: u16 = 64;
/// How long to wait for the first message of a batch.
const FIRST_MESSAGE_TIMEOUT: Duration = Duration::from_millis(500);
/// How long to wait for each further message. A single order is not noticeably delayed; under load the batch fills up
/// anyway.
const LINGER: Duration = Duration::from_millis(3);
/// How long to wait for the confirm of a dead letter. After that the deliveries return to the queue.
const CONFIRM_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) struct RabbitSource {
    rabbit: Rabbit,
    consumer: lapin::Consumer,
}

impl RabbitSource {
    pub(super) async fn open(url: &ServiceAddress) -> anyhow::Result<RabbitSource> {
        let rabbit = Rabbit::connect(url, "seckill consumer").await?;
        rabbit.confirm().await?;
        rabbit.channel.basic_qos(PREFETCH, BasicQosOptions::default()).await?;
        let options = BasicConsumeOptions::default();
        let consumer =
            rabbit.channel.basic_consume(ORDER_QUEUE.into(), "".into(), options, FieldTable::default()).await?;
        Ok(RabbitSource { rabbit, consumer })
    }
}

fn delivery(message: &Message) -> Delivery {
    let kind = message.properties.kind().as_ref().map(|kind| kind.as_str());
    Delivery { tag: Tag::Message(message.delivery_tag), items: message::parse(kind, &message.data) }
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
            let delivery = delivery(&message.context("RabbitMQ has ended the subscription")??);
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

    async fn close(self: Box<Self>) {
        self.rabbit.close().await;
    }
}
