//! Connections to RabbitMQ, with TLS for `amqps://`.
//!
//! The client is built without TLS and would speak plain AMQP even for `amqps://`. So it gets a reactor whose TCP
//! streams are TLS streams: nothing is sent, not even the header, before the server's certificate is checked.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use async_rs::traits::{Executor, Reactor, RuntimeKit};
use async_rs::util::Task;
use async_rs::{Runtime, Tokio};
use futures::Stream;
use futures::io::{AsyncRead, AsyncWrite};
use lapin::uri::{AMQPScheme, AMQPUri};
use lapin::{AsyncTcpStream, Connection, ConnectionProperties};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use secrecy::ExposeSecret;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_util::compat::{Compat, TokioAsyncReadCompatExt};

use base::config::ServiceAddress;

pub(super) async fn connect(address: &ServiceAddress, properties: ConnectionProperties) -> anyhow::Result<Connection> {
    let uri = uri(address)?;
    if uri.scheme == AMQPScheme::AMQP {
        return Ok(Connection::connect_uri(uri, properties).await?);
    }
    let host = uri.authority.host.trim_start_matches('[').trim_end_matches(']').to_owned();
    let server = ServerName::try_from(host).context("not the name of a server")?;
    let kit = TlsKit { tokio: Tokio::current(), config: address.tls.config()?, server };
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

async fn open(uri: AMQPUri, runtime: Runtime<TlsKit>) -> lapin::Result<AsyncTcpStream<TlsTcpStream>> {
    let target = runtime.to_socket_addrs((uri.authority.host, uri.authority.port));
    Ok(AsyncTcpStream::connect(&runtime, target).await?)
}

type TlsTcpStream = Compat<TlsStream<TcpStream>>;

/// The Tokio reactor, with TLS on every TCP stream.
#[derive(Clone)]
struct TlsKit {
    tokio: Tokio,
    config: Arc<ClientConfig>,
    server: ServerName<'static>,
}

impl fmt::Debug for TlsKit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsKit").field("server", &self.server).finish_non_exhaustive()
    }
}

impl RuntimeKit for TlsKit {}

impl Executor for TlsKit {
    type Task<T: Send + 'static> = <Tokio as Executor>::Task<T>;

    fn block_on<T, F: Future<Output = T>>(&self, future: F) -> T {
        self.tokio.block_on(future)
    }

    fn spawn<T: Send + 'static, F: Future<Output = T> + Send + 'static>(&self, future: F) -> Task<Self::Task<T>> {
        self.tokio.spawn(future)
    }

    fn spawn_blocking<T: Send + 'static, F: FnOnce() -> T + Send + 'static>(&self, call: F) -> Task<Self::Task<T>> {
        self.tokio.spawn_blocking(call)
    }
}

impl Reactor for TlsKit {
    type TcpStream = TlsTcpStream;
    type Sleep = <Tokio as Reactor>::Sleep;

    /// The client registers nothing.
    fn register<H: Read + Write + Send + 'static>(
        &self,
        _: H,
    ) -> io::Result<impl AsyncRead + AsyncWrite + Send + Unpin + 'static> {
        Err::<TlsTcpStream, _>(io::ErrorKind::Unsupported.into())
    }

    fn sleep(&self, duration: Duration) -> Self::Sleep {
        self.tokio.sleep(duration)
    }

    fn interval(&self, duration: Duration) -> impl Stream<Item = Instant> + Send + 'static {
        self.tokio.interval(duration)
    }

    fn tcp_connect_addr(
        &self,
        address: SocketAddr,
    ) -> impl Future<Output = io::Result<Self::TcpStream>> + Send + 'static {
        let (connector, server) = (TlsConnector::from(self.config.clone()), self.server.clone());
        async move {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            Ok(connector.connect(server, stream).await?.compat())
        }
    }
}
