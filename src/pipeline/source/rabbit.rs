//! Orders from RabbitMQ. When the channel ends, the broker returns unacknowledged messages to the queue.

use std::time::Duration;

use anyhow::Context;
use async_trait::async_trait;
use futures::StreamExt;
use lapin::message::Delivery as Message;
use lapin::options::{BasicAckOptions, BasicConsumeOptions, BasicQosOptions, BasicRejectOptions};
use lapin::types::FieldTable;
use secrecy::SecretString;

use super::{Delivery, OrderSource, Tag};
use crate::pipeline::rabbit;
use crate::pipeline::rabbit::{ORDER_QUEUE, Rabbit};

/// Messages in flight to this consumer: the batch that is being written and the next one.
const PREFETCH: u16 = 1000;
/// How long to wait for the first message of a batch.
const FIRST_MESSAGE_TIMEOUT: Duration = Duration::from_millis(500);
/// How long to wait for each further message. Not noticeable for a single order; under load the batch fills up anyway.
const LINGER: Duration = Duration::from_millis(3);

pub(super) struct RabbitSource {
    rabbit: Rabbit,
    consumer: lapin::Consumer,
}

impl RabbitSource {
    pub(super) async fn open(url: &SecretString) -> anyhow::Result<RabbitSource> {
        let rabbit = Rabbit::connect(url, "seckill consumer").await?;
        rabbit.channel.basic_qos(PREFETCH, BasicQosOptions::default()).await?;
        let options = BasicConsumeOptions::default();
        let consumer =
            rabbit.channel.basic_consume(ORDER_QUEUE.into(), "".into(), options, FieldTable::default()).await?;
        Ok(RabbitSource { rabbit, consumer })
    }
}

fn delivery(message: &Message) -> Delivery {
    let kind = message.properties.kind().as_ref().map(|kind| kind.as_str());
    let items = rabbit::parse(kind, &message.data).map(|item| vec![item]);
    Delivery { tag: Tag::Message(message.delivery_tag), items }
}

#[async_trait]
impl OrderSource for RabbitSource {
    async fn next(&mut self, max_orders: usize) -> anyhow::Result<Vec<Delivery>> {
        let mut batch = Vec::new();
        let mut wait = FIRST_MESSAGE_TIMEOUT;
        while batch.len() < max_orders {
            match tokio::time::timeout(wait, self.consumer.next()).await {
                Ok(message) => batch.push(delivery(&message.context("RabbitMQ has ended the subscription")??)),
                Err(_) => break,
            }
            wait = LINGER;
        }
        // A channel that was lost silently would deliver nothing forever.
        anyhow::ensure!(self.rabbit.is_connected(), "the connection to RabbitMQ is lost");
        Ok(batch)
    }

    async fn finish(&mut self, deliveries: &[Delivery]) -> anyhow::Result<()> {
        let tags = deliveries.iter().filter_map(|delivery| match delivery.tag {
            Tag::Message(tag) => Some(tag),
            Tag::Entry(..) => None,
        });
        // All earlier messages are finished or set aside, so one acknowledgement covers them.
        if let Some(last) = tags.max() {
            self.rabbit.channel.basic_ack(last, BasicAckOptions { multiple: true }).await?;
        }
        Ok(())
    }

    async fn set_aside(&mut self, delivery: &Delivery) -> anyhow::Result<()> {
        if let Tag::Message(tag) = delivery.tag {
            // A message that is rejected without requeueing becomes a dead letter.
            self.rabbit.channel.basic_reject(tag, BasicRejectOptions { requeue: false }).await?;
        }
        Ok(())
    }

    async fn close(self: Box<Self>) {
        self.rabbit.close().await;
    }
}
