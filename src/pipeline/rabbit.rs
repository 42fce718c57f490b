//! RabbitMQ: the exchange, the queues, and a connection that declares them. Operators know the names from the contract.

use std::pin::pin;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use futures::stream::{self, StreamExt, TryStreamExt};
use lapin::options::{
    BasicPublishOptions, ConfirmSelectOptions, ExchangeDeclareOptions, QueueBindOptions, QueueDeclareOptions,
};

use lapin::types::{AMQPValue, FieldTable, ShortString};
use lapin::{BasicProperties, Channel, Confirmation, Connection, ConnectionProperties, ExchangeKind, PublisherConfirm};
use secrecy::{ExposeSecret, SecretString};
use tokio::time::timeout;

use crate::domain::OutboxItem;

pub const EXCHANGE: &str = "seckill";
pub const QUEUE: &str = "seckill.orders";
pub const DEAD: &str = "seckill.orders.dead";
/// The kinds of messages: what each is called, and the key it is sent with. All go into the one queue.
pub const ORDER: Kind = Kind { name: "order.reserved.v1", key: "order.reserved" };
pub const SHARE: Kind = Kind { name: "packet.claimed.v1", key: "packet.claimed" };
pub const KINDS: [Kind; 2] = [ORDER, SHARE];

const CONNECT_WITHIN: Duration = Duration::from_secs(5);
/// How long a confirm may take. After that nobody knows whether the message is there, and it is published again.
const CONFIRM_WITHIN: Duration = Duration::from_secs(10);

/// The same for a message that is only to see whether one comes.
const PROBE_WITHIN: Duration = Duration::from_secs(2);
/// No queue has this name.
const NOWHERE: &str = "seckill.nowhere";

/// A broker that takes no messages does not take a farewell either.
const CLOSE_WITHIN: Duration = Duration::from_secs(2);

/// Messages that are sent and wait for their confirm at the same time.
const WINDOW: usize = 1000;

/// One kind of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    /// The message's `type`.
    pub name: &'static str,
    /// The routing key.
    pub key: &'static str,
}

/// What one message says.
struct Words {
    kind: Kind,
    id: String,
    at_second: i64,
    body: Vec<u8>,
}

impl Words {
    fn of(won: &OutboxItem) -> serde_json::Result<Words> {
        Ok(match won {
            OutboxItem::Order(order) => Words {
                kind: ORDER,
                id: order.order_id.to_string(),
                at_second: order.reserved_at.as_second(),
                body: serde_json::to_vec(order)?,
            },
            OutboxItem::Share(claim) => Words {
                kind: SHARE,
                id: format!("{}:{}", claim.packet_id, claim.user_id),
                at_second: claim.claimed_at.as_second(),
                body: serde_json::to_vec(claim)?,
            },
        })
    }
}

/// What a message says, by its type; `None` when nobody can read it.
pub fn read(kind: Option<&str>, body: &[u8]) -> Option<OutboxItem> {
    if kind == Some(ORDER.name) {
        let order: Option<crate::domain::Reservation> = serde_json::from_slice(body).ok();
        return order.filter(|r| r.quantity > 0 && r.sale_id.0 > 0).map(OutboxItem::Order);
    }
    if kind == Some(SHARE.name) {
        let claim: Option<crate::domain::packet::ShareClaim> = serde_json::from_slice(body).ok();
        return claim.filter(|c| c.amount > 0 && c.share >= 0 && c.packet_id.0 > 0).map(OutboxItem::Share);
    }
    None
}

/// A connection with one channel on which everything is declared.
pub struct Rabbit {
    connection: Connection,
    pub channel: Channel,
}

impl Rabbit {
    pub async fn connect(url: &SecretString, name: &str) -> anyhow::Result<Rabbit> {
        timeout(CONNECT_WITHIN, Rabbit::open(url, name)).await.context("RabbitMQ does not answer")?
    }

    async fn open(url: &SecretString, name: &str) -> anyhow::Result<Rabbit> {
        let properties = ConnectionProperties::default().with_connection_name(name.into());
        let connection = Connection::connect(url.expose_secret(), properties).await;
        let connection = connection.context("cannot connect to RabbitMQ")?;
        let channel = connection.create_channel().await?;
        declare(&channel).await.context("cannot declare the exchange and queues")?;
        Ok(Rabbit { connection, channel })
    }

    /// Messages that wait in a queue.
    pub async fn waiting(&self, queue: &str) -> anyhow::Result<u32> {
        Ok(self.look(queue).await?.0)
    }

    /// Messages that wait in a queue, and how many consume from it.
    pub async fn look(&self, queue: &str) -> anyhow::Result<(u32, u32)> {
        let passive = QueueDeclareOptions { passive: true, ..Default::default() };
        let queue = self.channel.queue_declare(queue.into(), passive, FieldTable::default()).await?;
        Ok((queue.message_count(), queue.consumer_count()))
    }

    pub fn is_connected(&self) -> bool {
        self.connection.status().connected() && self.channel.status().connected()
    }

    pub async fn close(self) {
        // A connection that is gone already need not be closed.
        let _ = timeout(CLOSE_WITHIN, self.connection.close(200, "finished".into())).await;
    }
}

async fn declare(channel: &Channel) -> Result<(), lapin::Error> {
    let durable = ExchangeDeclareOptions { durable: true, ..Default::default() };
    channel.exchange_declare(EXCHANGE.into(), ExchangeKind::Topic, durable, FieldTable::default()).await?;
    let mut quorum = FieldTable::default();
    quorum.insert("x-queue-type".into(), AMQPValue::LongString("quorum".into()));
    let mut orders = quorum.clone();
    // Through the default exchange, straight into the queue of the dead.
    orders.insert("x-dead-letter-exchange".into(), AMQPValue::LongString("".into()));
    orders.insert("x-dead-letter-routing-key".into(), AMQPValue::LongString(DEAD.into()));
    // Messages that make no sense are set aside by name. How often consumers died holding a good one is no reason to
    // drop it, but newer brokers drop after twenty times unless told otherwise.
    orders.insert("x-delivery-limit".into(), AMQPValue::LongInt(1_000_000));
    let durable = QueueDeclareOptions { durable: true, ..Default::default() };
    channel.queue_declare(DEAD.into(), durable, quorum).await?;
    channel.queue_declare(QUEUE.into(), durable, orders).await?;
    for kind in KINDS {
        let bind = QueueBindOptions::default();
        channel.queue_bind(QUEUE.into(), EXCHANGE.into(), kind.key.into(), bind, FieldTable::default()).await?;
    }
    Ok(())
}

/// Publishes with confirms.
pub struct Publisher {
    rabbit: Rabbit,
}

impl Publisher {
    pub async fn connect(url: &SecretString, name: &str) -> anyhow::Result<Publisher> {
        let rabbit = Rabbit::connect(url, name).await?;
        let confirms = rabbit.channel.confirm_select(ConfirmSelectOptions::default());
        timeout(CONNECT_WITHIN, confirms).await.context("RabbitMQ does not answer")??;
        Ok(Publisher { rabbit })
    }

    /// Publishes one message per order or share and waits until the broker has confirmed each; as long as it takes a broker
    /// that says it takes none for now. After an error any part of them may be there: publish all again.
    pub async fn publish(&self, won: &[OutboxItem]) -> anyhow::Result<()> {
        // Many at once, because one is sent only when it is written: what waits together is written in one go.
        stream::iter(won).map(Ok).try_for_each_concurrent(WINDOW, |one| self.publish_one(one)).await
    }

    async fn publish_one(&self, won: &OutboxItem) -> anyhow::Result<()> {
        let mut confirmed = pin!(async { anyhow::Ok(self.send(won).await?.await?) });
        let confirmation = loop {
            match timeout(CONFIRM_WITHIN, &mut confirmed).await {
                Ok(confirmation) => break confirmation?,
                // Another connection would be blocked as well, and this one cannot even be closed.
                Err(_) if self.is_blocked() => {}
                Err(_) => return Err(self.silence()),
            }
        };
        taken(&confirmation)
    }

    /// Whether the broker takes messages at all. One that is short of memory or disk answers everything else.
    pub async fn probe(&self) -> anyhow::Result<()> {
        // To no queue: it is confirmed and forgotten. An empty one would be taken in any case.
        let (options, properties) = (BasicPublishOptions::default(), BasicProperties::default());
        let sent = self.rabbit.channel.basic_publish("".into(), NOWHERE.into(), options, b"well?", properties);
        let confirmed = async { sent.await?.await };
        timeout(PROBE_WITHIN, confirmed).await.map_err(|_| self.silence())??;
        Ok(())
    }

    /// Whether the broker has said that it takes no messages for now.
    pub fn is_blocked(&self) -> bool {
        self.rabbit.connection.status().blocked()
    }

    /// Why no confirm came.
    fn silence(&self) -> anyhow::Error {
        match self.is_blocked() {
            true => anyhow!("RabbitMQ takes no messages: it is short of memory or disk (rabbitmq-diagnostics alarms)"),
            false => anyhow!("RabbitMQ does not confirm"),
        }
    }

    async fn send(&self, won: &OutboxItem) -> anyhow::Result<PublisherConfirm> {
        let Words { kind, id, at_second, body } = Words::of(won)?;
        let properties = BasicProperties::default()
            .with_delivery_mode(2)
            .with_content_type("application/json".into())
            .with_type(kind.name.into())
            .with_message_id(ShortString::from(id))
            .with_timestamp(at_second.max(0) as u64);
        let mandatory = BasicPublishOptions { mandatory: true, ..Default::default() };
        let channel = &self.rabbit.channel;
        Ok(channel.basic_publish(EXCHANGE.into(), kind.key.into(), mandatory, &body, properties).await?)
    }

    pub async fn close(self) {
        self.rabbit.close().await;
    }
}

/// Whether the broker has a message that was published as mandatory.
pub(super) fn taken(confirmation: &Confirmation) -> anyhow::Result<()> {
    match confirmation {
        Confirmation::Ack(None) => Ok(()),
        Confirmation::Ack(Some(_)) => bail!("no queue took the message"),
        Confirmation::Nack(_) | Confirmation::NotRequested => bail!("RabbitMQ did not take the message"),
    }
}

/// How much waits where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Depths {
    pub ready: u32,
    pub dead: u32,
    /// Consumers of the orders.
    pub consumers: u32,
}

/// Looks at the queues, on a connection that is made when it is needed.
pub struct Monitor {
    url: SecretString,
    rabbit: tokio::sync::Mutex<Option<Rabbit>>,
}

impl Monitor {
    pub fn new(url: SecretString) -> Monitor {
        Monitor { url, rabbit: tokio::sync::Mutex::new(None) }
    }

    pub async fn depths(&self) -> anyhow::Result<Depths> {
        let mut slot = self.rabbit.lock().await;
        let rabbit = match slot.take().filter(Rabbit::is_connected) {
            Some(rabbit) => rabbit,
            None => Rabbit::connect(&self.url, "seckill monitor").await?,
        };
        let look = async {
            let (ready, consumers) = rabbit.look(QUEUE).await?;
            Ok(Depths { ready, dead: rabbit.waiting(DEAD).await?, consumers })
        };
        let depths: anyhow::Result<Depths> = timeout(CONNECT_WITHIN, look).await.context("RabbitMQ does not answer")?;
        // A connection that failed is dropped; the next look makes a new one.
        if depths.is_ok() {
            *slot = Some(rabbit);
        }
        depths
    }
}
