//! RabbitMQ: the exchange, the queues, and connections that declare them. Operators rely on these names.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use async_rs::traits::{Executor, Reactor, RuntimeKit};
use async_rs::util::Task;
use async_rs::{Runtime, Tokio};
use boxed::boxed;
use futures::FutureExt;
use futures::io::{AsyncRead, AsyncWrite};
use futures::stream::{self, StreamExt, TryStreamExt};
use lapin::options::{
    BasicPublishOptions, ConfirmSelectOptions, ExchangeDeclareOptions, QueueBindOptions, QueueDeclareOptions,
};
use lapin::types::{AMQPValue, FieldTable};
use lapin::uri::{AMQPScheme, AMQPUri};
use lapin::{AsyncTcpStream, BasicProperties, Channel, Confirmation, Connection, ConnectionProperties, ExchangeKind};
use rustls::pki_types::ServerName;
use secrecy::ExposeSecret;
use serde::Serialize;
use tokio::net::TcpStream;
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_util::compat::{Compat, TokioAsyncReadCompatExt};
use tokio_util::either::Either;

use super::message::{KINDS, Message};
use super::outbox::Entry;
use base::config::ServiceAddress;
use base::lifecycle::process_name;

pub const EXCHANGE: &str = "seckill";
pub const ORDER_QUEUE: &str = "seckill.orders";
pub const DEAD_LETTER_QUEUE: &str = "seckill.orders.dead";

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long to wait for a confirm. After that it is unknown whether the broker has the message, and it is published
/// again.
const CONFIRM_TIMEOUT: Duration = Duration::from_secs(10);
/// Time-out of the confirm of a probe message.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);
/// The routing key of probe messages. No queue has this name.
const PROBE_KEY: &str = "seckill.nowhere";
/// A blocked broker does not answer the closing handshake either.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// Messages that are sent before their confirms arrive. A message about 256 orders has some 30 KB.
const MAX_UNCONFIRMED: usize = 256;

/// A connection with one channel, on which the exchange and the queues are declared.
pub struct Rabbit {
    connection: Connection,
    pub channel: Channel,
}

#[boxed]
impl Rabbit {
    /// Connects to one of the addresses. They are tried in turn, from one chosen at random, so that the connections of all
    /// processes spread over the nodes.
    pub async fn connect(url: &ServiceAddress, name: &str) -> anyhow::Result<Rabbit> {
        let mut nodes = url.each();
        let first = rand::random_range(0..nodes.len());
        nodes.rotate_left(first);
        let mut problems = Vec::new();
        for node in &nodes {
            let opened = timeout(CONNECT_TIMEOUT, Rabbit::open(node, name)).await.context("RabbitMQ does not answer");
            match opened.flatten() {
                Ok(rabbit) => return Ok(rabbit),
                Err(error) if nodes.len() == 1 => return Err(error),
                Err(error) => problems.push(format!("{}: {error:#}", host(node))),
            }
        }
        bail!("{}", problems.join("; "))
    }

    /// Connects and puts the channel into confirm mode.
    pub async fn connect_to_publish(url: &ServiceAddress, name: &str) -> anyhow::Result<Rabbit> {
        let rabbit = Rabbit::connect(url, name).await?;
        let confirms = rabbit.channel.confirm_select(ConfirmSelectOptions::default());
        timeout(CONNECT_TIMEOUT, confirms).await.context("RabbitMQ does not answer")??;
        Ok(rabbit)
    }

    async fn open(url: &ServiceAddress, name: &str) -> anyhow::Result<Rabbit> {
        let name = format!("{name} ({})", process_name());
        let properties = ConnectionProperties::default().with_connection_name(name.into());
        let connection = connect(url, properties).await;
        let connection = connection.context("cannot connect to RabbitMQ")?;
        let channel = connection.create_channel().await?;
        declare(&channel).await.context("cannot declare the exchange and queues")?;
        Ok(Rabbit { connection, channel })
    }

    /// Publishes a mandatory message and waits until the broker has confirmed that a queue took it. The channel must be in
    /// confirm mode.
    pub async fn publish(
        &self,
        exchange: &str,
        key: &str,
        properties: BasicProperties,
        body: &[u8],
    ) -> anyhow::Result<()> {
        let mandatory = BasicPublishOptions { mandatory: true, ..Default::default() };
        let sent = self.channel.basic_publish(exchange.into(), key.into(), mandatory, body, properties);
        match sent.await?.await? {
            Confirmation::Ack(None) => Ok(()),
            Confirmation::Ack(Some(_)) => bail!("no queue took the message"),
            Confirmation::Nack(_) | Confirmation::NotRequested => bail!("RabbitMQ did not take the message"),
        }
    }

    /// Publishes one message per entry that could be parsed and waits for all confirms. While the broker has blocked the
    /// connection, it waits without a limit. After an error the broker may have any of the messages: publish all again.
    pub async fn publish_entries(&self, entries: &[Entry]) -> anyhow::Result<()> {
        // Concurrently, because lapin then writes many messages to the socket at once.
        stream::iter(entries).map(Ok).try_for_each_concurrent(MAX_UNCONFIRMED, |entry| self.publish_entry(entry)).await
    }

    async fn publish_entry(&self, entry: &Entry) -> anyhow::Result<()> {
        let Some(message) = Message::of_entry(entry)? else { return Ok(()) };
        let mut published = pin!(self.publish(EXCHANGE, message.kind.key, message.properties(), &message.body));
        loop {
            match timeout(CONFIRM_TIMEOUT, &mut published).await {
                Ok(published) => return published,
                // A new connection would be blocked as well, and this one cannot even be closed.
                Err(_) if self.is_blocked() => {}
                Err(_) => return Err(self.no_confirm()),
            }
        }
    }

    /// Fails if the broker takes no messages. A broker that is short of memory or disk still responds to everything
    /// else.
    pub async fn probe(&self) -> anyhow::Result<()> {
        // The message goes to no queue: the broker confirms and drops it. An empty body would pass even while blocked.
        let (options, properties) = (BasicPublishOptions::default(), BasicProperties::default());
        let sent = self.channel.basic_publish("".into(), PROBE_KEY.into(), options, b"probe", properties);
        let confirmed = async { sent.await?.await };
        timeout(PROBE_TIMEOUT, confirmed).await.map_err(|_| self.no_confirm())??;
        Ok(())
    }

    /// Dead letters that wait.
    pub async fn dead_letters(&self) -> anyhow::Result<u32> {
        self.message_count(DEAD_LETTER_QUEUE).await
    }

    /// Whether the broker has blocked the connection, because it is short of memory or disk.
    pub fn is_blocked(&self) -> bool {
        self.connection.status().blocked()
    }

    /// The error if no confirm arrives.
    fn no_confirm(&self) -> anyhow::Error {
        match self.is_blocked() {
            true => anyhow!("RabbitMQ takes no messages: it is short of memory or disk (rabbitmq-diagnostics alarms)"),
            false => anyhow!("RabbitMQ does not confirm"),
        }
    }

    /// Messages that are ready in a queue.
    pub async fn message_count(&self, queue: &str) -> anyhow::Result<u32> {
        Ok(self.queue_counts(queue).await?.0)
    }

    /// Messages that are ready in a queue, and its consumers.
    async fn queue_counts(&self, queue: &str) -> anyhow::Result<(u32, u32)> {
        let passive = QueueDeclareOptions { passive: true, ..Default::default() };
        let queue = self.channel.queue_declare(queue.into(), passive, FieldTable::default()).await?;
        Ok((queue.message_count(), queue.consumer_count()))
    }

    pub(crate) fn is_connected(&self) -> bool {
        self.connection.status().connected() && self.channel.status().connected()
    }

    /// Closes the channel first: one that is dropped later would close on a connection that is gone, which the client logs
    /// as an error.
    pub async fn close(self) {
        // Closing a lost connection fails, which is fine.
        let _ = timeout(CLOSE_TIMEOUT, async {
            let _ = self.channel.close(200, "finished".into()).await;
            self.connection.close(200, "finished".into()).await
        })
        .await;
    }
}

/// The properties for publishing a message again, with only the headers that `keeps` names: the broker adds its own.
pub(super) fn with_headers(properties: &BasicProperties, keeps: impl Fn(&str) -> bool) -> BasicProperties {
    let headers = properties.headers().iter().flat_map(FieldTable::inner);
    let mut kept = FieldTable::default();
    for (name, value) in headers.filter(|(name, _)| keeps(name.as_str())) {
        kept.insert(name.clone(), value.clone());
    }
    properties.clone().with_delivery_mode(2).with_headers(kept)
}

async fn declare(channel: &Channel) -> Result<(), lapin::Error> {
    let durable = ExchangeDeclareOptions { durable: true, ..Default::default() };
    channel.exchange_declare(EXCHANGE.into(), ExchangeKind::Topic, durable, FieldTable::default()).await?;
    let mut quorum = FieldTable::default();
    quorum.insert("x-queue-type".into(), AMQPValue::LongString("quorum".into()));
    let mut orders = quorum.clone();
    // Dead letters go through the default exchange straight into the dead-letter queue.
    orders.insert("x-dead-letter-exchange".into(), AMQPValue::LongString("".into()));
    orders.insert("x-dead-letter-routing-key".into(), AMQPValue::LongString(DEAD_LETTER_QUEUE.into()));
    // The consumer rejects invalid messages explicitly. A valid message must survive any number of consumer crashes, but
    // newer brokers drop a message after twenty deliveries unless told otherwise.
    orders.insert("x-delivery-limit".into(), AMQPValue::LongInt(1_000_000));
    let durable = QueueDeclareOptions { durable: true, ..Default::default() };
    channel.queue_declare(DEAD_LETTER_QUEUE.into(), durable, quorum).await?;
    channel.queue_declare(ORDER_QUEUE.into(), durable, orders).await?;
    for kind in KINDS {
        let bind = QueueBindOptions::default();
        channel.queue_bind(ORDER_QUEUE.into(), EXCHANGE.into(), kind.key.into(), bind, FieldTable::default()).await?;
    }
    Ok(())
}

/// The lengths of the queues, in messages. A message carries up to 256 orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Depths {
    pub ready: u32,
    pub dead: u32,
    /// Consumers of the order queue.
    #[serde(skip)]
    pub consumers: u32,
}

/// Reads the lengths of the queues. Connects on first use.
pub struct Monitor {
    url: ServiceAddress,
    rabbit: Arc<Mutex<Option<Rabbit>>>,
}

#[boxed]
impl Monitor {
    pub fn new(url: ServiceAddress) -> Monitor {
        Monitor { url, rabbit: Arc::default() }
    }

    /// The lengths now. If the caller gives up, the task still waits for the broker's answer. So the next caller finds
    /// a connection, and a slow broker does not get one new connection after the other.
    pub async fn depths(&self) -> anyhow::Result<Depths> {
        let slot = self.rabbit.clone().lock_owned().await;
        tokio::spawn(read_depths(self.url.clone(), slot)).await?
    }
}

async fn read_depths(url: ServiceAddress, mut slot: OwnedMutexGuard<Option<Rabbit>>) -> anyhow::Result<Depths> {
    let rabbit = match slot.take().filter(Rabbit::is_connected) {
        Some(rabbit) => rabbit,
        None => Rabbit::connect(&url, "seckill monitor").await?,
    };
    let read = async {
        let (ready, consumers) = rabbit.queue_counts(ORDER_QUEUE).await?;
        Ok(Depths { ready, dead: rabbit.message_count(DEAD_LETTER_QUEUE).await?, consumers })
    };
    let depths: anyhow::Result<Depths> = timeout(CONNECT_TIMEOUT, read).await.context("RabbitMQ does not answer")?;
    // A connection that failed is dropped; the next call connects again.
    if depths.is_ok() {
        *slot = Some(rabbit);
    }
    depths
}

// Connections to RabbitMQ, with TLS for `amqps://`.
//
// The client is built without TLS and would speak plain AMQP even for `amqps://`. So it gets a reactor whose TCP
// streams are TLS streams: nothing is sent, not even the header, before the server's certificate is checked. The client
// is generic over this kit and compiled here, so there is one kit for both schemes, and its tasks have one type.

pub(super) async fn connect(address: &ServiceAddress, properties: ConnectionProperties) -> anyhow::Result<Connection> {
    let uri = uri(address)?;
    let tls = match uri.scheme {
        AMQPScheme::AMQP => None,
        AMQPScheme::AMQPS => {
            let host = uri.authority.host.trim_start_matches('[').trim_end_matches(']').to_owned();
            let server = ServerName::try_from(host).context("not the name of a server")?;
            Some((TlsConnector::from(address.tls.config()?), server))
        }
    };
    let kit = Kit { tokio: Tokio::current(), tls };
    Ok(Connection::connector(uri, Runtime::new(kit), open, properties).await?)
}

/// The error never contains the address, which may have a password.
fn uri(address: &ServiceAddress) -> anyhow::Result<AMQPUri> {
    address.url.expose_secret().parse().map_err(|_| anyhow!("not an AMQP address"))
}

/// Host and port of a node's address, without a password.
pub fn host(address: &ServiceAddress) -> String {
    uri(address).map(|uri| format!("{}:{}", uri.authority.host, uri.authority.port)).unwrap_or_default()
}

async fn open(uri: AMQPUri, runtime: Runtime<Kit>) -> lapin::Result<AsyncTcpStream<Stream>> {
    let target = runtime.to_socket_addrs((uri.authority.host, uri.authority.port));
    Ok(AsyncTcpStream::connect(&runtime, target).await?)
}

type Stream = Compat<Either<TcpStream, TlsStream<TcpStream>>>;

/// Tokio, with TLS on every TCP stream if there is a connector.
#[derive(Clone)]
struct Kit {
    tokio: Tokio,
    tls: Option<(TlsConnector, ServerName<'static>)>,
}

impl fmt::Debug for Kit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kit").field("server", &self.tls.as_ref().map(|(_, server)| server)).finish_non_exhaustive()
    }
}

impl RuntimeKit for Kit {}

impl Executor for Kit {
    type Task<T: Send + 'static> = <Tokio as Executor>::Task<T>;

    fn block_on<T, F: Future<Output = T>>(&self, future: F) -> T {
        self.tokio.block_on(future)
    }

    fn spawn<T: Send + 'static, F: Future<Output = T> + Send + 'static>(&self, future: F) -> Task<Self::Task<T>> {
        self.tokio.spawn(future.boxed())
    }

    fn spawn_blocking<T: Send + 'static, F: FnOnce() -> T + Send + 'static>(&self, call: F) -> Task<Self::Task<T>> {
        self.tokio.spawn_blocking(call)
    }
}

impl Reactor for Kit {
    type TcpStream = Stream;
    type Sleep = <Tokio as Reactor>::Sleep;

    /// The client registers nothing.
    fn register<H: Read + Write + Send + 'static>(
        &self,
        _: H,
    ) -> io::Result<impl AsyncRead + AsyncWrite + Send + Unpin + 'static> {
        Err::<Stream, _>(io::ErrorKind::Unsupported.into())
    }

    fn sleep(&self, duration: Duration) -> Self::Sleep {
        self.tokio.sleep(duration)
    }

    fn interval(&self, duration: Duration) -> impl futures::Stream<Item = Instant> + Send + 'static {
        self.tokio.interval(duration)
    }

    fn tcp_connect_addr(
        &self,
        address: SocketAddr,
    ) -> impl Future<Output = io::Result<Self::TcpStream>> + Send + 'static {
        let tls = self.tls.clone();
        async move {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            let stream = match tls {
                None => Either::Left(stream),
                Some((connector, server)) => Either::Right(connector.connect(server, stream).await?),
            };
            Ok(stream.compat())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nodes that hang up at once, so that no broker is needed.
    #[tokio::test]
    async fn every_node_is_tried_and_the_error_names_all_without_their_passwords() {
        let mut servers = Vec::new();
        for _ in 0..3 {
            servers.push(tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap());
        }
        let hosts: Vec<String> = servers.iter().map(|server| server.local_addr().unwrap().to_string()).collect();
        let urls: Vec<String> = hosts.iter().map(|host| format!("amqp://u:sesame@{host}/shop")).collect();
        let address = ServiceAddress::from(urls.join(",").as_str());
        let called = futures::future::join_all(servers.iter().map(async |server| drop(server.accept().await.unwrap())));
        let (connected, _) = tokio::join!(Rabbit::connect(&address, "test"), called);
        let error = format!("{:#}", connected.err().unwrap());
        assert!(hosts.iter().all(|host| error.contains(host)) && !error.contains("sesame"), "{error}");
    }
}
