//! A test's own connection to the shop's RabbitMQ.

use std::time::Duration;

use engine::pipeline::message::ORDER;
use engine::pipeline::rabbit::{EXCHANGE, ORDER_QUEUE};
use lapin::message::Delivery;
use lapin::options::{BasicGetOptions, BasicNackOptions, BasicPublishOptions, QueueDeclareOptions};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{BasicProperties, Channel, Connection, ConnectionProperties};

use super::{Shop, eventually, until};

const TIMEOUT: Duration = Duration::from_secs(20);

pub struct Broker {
    pub channel: Channel,
    _connection: Connection,
}

impl Broker {
    pub async fn of(shop: &Shop) -> Broker {
        let url = shop.setting("SECKILL_AMQP_URL");
        let connection = Connection::connect(url, ConnectionProperties::default()).await.unwrap();
        Broker { channel: connection.create_channel().await.unwrap(), _connection: connection }
    }

    /// The messages that are ready in a queue.
    pub async fn count(&self, queue: &str) -> u32 {
        let passive = QueueDeclareOptions { passive: true, ..Default::default() };
        self.channel.queue_declare(queue.into(), passive, FieldTable::default()).await.unwrap().message_count()
    }

    pub async fn holds(&self, queue: &str, messages: u32) {
        let read = async || self.count(queue).await;
        until(&format!("{queue} holds {messages}"), TIMEOUT, read, |found| *found == messages).await;
    }

    /// Takes a message out of a queue, without an acknowledgement.
    pub async fn get(&self, queue: &str) -> Option<Delivery> {
        let got = self.channel.basic_get(queue.into(), BasicGetOptions::default()).await.unwrap();
        got.map(|message| message.delivery)
    }

    /// Takes messages with `orders` orders in all out of the order queue, without an acknowledgement.
    pub async fn take(&self, orders: usize) -> Vec<Delivery> {
        let (mut taken, mut found) = (Vec::new(), 0);
        eventually("the orders are in the queue", TIMEOUT, async || {
            while let Some(message) = self.get(ORDER_QUEUE).await {
                found += order_count(&message);
                taken.push(message);
                if found >= orders {
                    return Ok(());
                }
            }
            Err(format!("{found} orders"))
        })
        .await;
        taken
    }

    pub async fn publish(&self, kind: &str, body: &[u8]) {
        let properties = BasicProperties::default().with_delivery_mode(2).with_type(kind.into());
        let options = BasicPublishOptions::default();
        let (exchange, key) = (EXCHANGE.into(), ORDER.key.into());
        self.channel.basic_publish(exchange, key, options, body, properties).await.unwrap().await.unwrap();
    }

    /// Returns everything that was taken.
    pub async fn requeue(&self) {
        let all = BasicNackOptions { multiple: true, requeue: true };
        self.channel.basic_nack(0, all).await.unwrap();
    }
}

/// The number of orders as the message's header states it; 1 for a message without the header, as earlier versions
/// sent.
pub fn order_count(message: &Delivery) -> usize {
    let headers = message.properties.headers().as_ref();
    match headers.and_then(|headers| headers.inner().get(ORDER.count)) {
        Some(AMQPValue::LongInt(orders)) => *orders as usize,
        Some(other) => panic!("{other:?} is no number of orders"),
        None => 1,
    }
}
