//! Orders from RabbitMQ: unacknowledged messages go back into the queue by themselves when the channel ends.

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
use crate::pipeline::rabbit::{QUEUE, Rabbit};

/// Messages under way to this consumer: the batch that is being written and the one after it.
const PREFETCH: u16 = 1000;
const WAIT: Duration = Duration::from_millis(500);
/// How long a batch waits for company. A single order is not held up noticeably, a rush fills the batch anyway.
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
        let consumer = rabbit.channel.basic_consume(QUEUE.into(), "".into(), options, FieldTable::default()).await?;
        Ok(RabbitSource { rabbit, consumer })
    }
}

fn delivery(message: &Message) -> Delivery {
    let kind = message.properties.kind().as_ref().map(|kind| kind.as_str());
    let won = rabbit::read(kind, &message.data).map(|won| vec![won]);
    Delivery { tag: Tag::Message(message.delivery_tag), won }
}

#[async_trait]
impl OrderSource for RabbitSource {
    async fn next(&mut self, most: usize) -> anyhow::Result<Vec<Delivery>> {
        let mut batch = Vec::new();
        let mut wait = WAIT;
        while batch.len() < most {
            match tokio::time::timeout(wait, self.consumer.next()).await {
                Ok(message) => batch.push(delivery(&message.context("RabbitMQ has ended the subscription")??)),
                Err(_) => break,
            }
            wait = LINGER;
        }
        // A channel that has died silently delivers nothing for ever.
        anyhow::ensure!(self.rabbit.is_connected(), "the connection to RabbitMQ is lost");
        Ok(batch)
    }

    async fn finish(&mut self, deliveries: &[Delivery]) -> anyhow::Result<()> {
        let tags = deliveries.iter().filter_map(|delivery| match delivery.tag {
            Tag::Message(tag) => Some(tag),
            Tag::Entry(..) => None,
        });
        // Everything before the last one is finished or set aside, so one word is enough.
        if let Some(last) = tags.max() {
            self.rabbit.channel.basic_ack(last, BasicAckOptions { multiple: true }).await?;
        }
        Ok(())
    }

    async fn set_aside(&mut self, delivery: &Delivery) -> anyhow::Result<()> {
        if let Tag::Message(tag) = delivery.tag {
            // Rejected without going back into the queue, it becomes a dead letter.
            self.rabbit.channel.basic_reject(tag, BasicRejectOptions { requeue: false }).await?;
        }
        Ok(())
    }

    async fn close(self: Box<Self>) {
        self.rabbit.close().await;
    }
}
