//! Limits the number of connections and the time that a client may keep one without using it.
//!
//! Each connection holds a [`ConnectionSlot`]. It has one request in progress and buffers of bounded size, so the number of
//! slots bounds the memory that clients can occupy.
//!
//! A few connections beyond the limit are accepted to be refused: their first request is answered 503 `overloaded` without
//! reaching a handler, and the connection ends. Connections beyond those are closed unanswered.
//!
//! One address may hold only a part of the connections, so that it cannot take them all. Those beyond it are closed
//! unanswered. Trusted proxies, which bring the connections of many clients, and this machine are excepted.

use std::io::{Error, ErrorKind, IoSlice, Result};
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Sleep;

use super::address_limit::AddressLimit;
use crate::slots::KeyedSlot;

/// Connections that are accepted only to be answered 503, in percent of the limit; at least one.
const REFUSED_SLOTS_PERCENT: usize = 5;

/// Limits of one listener.
#[derive(Debug, Clone, Copy)]
pub struct ConnectionLimits {
    /// Connections that are served at the same time.
    pub max_connections: usize,
    /// Time for the head of a request to arrive, and for a connection to idle between requests. A proxy in front must
    /// close its idle connections sooner, or it sends a request now and then on a connection that is being closed.
    pub head_timeout: Duration,
    /// Time during which the client may read nothing of a response.
    pub write_timeout: Duration,
    /// Idle time after which a new connection is parked and its buffers are freed. Connections with more requests get
    /// several times as long.
    pub park_after: Duration,
}

impl ConnectionLimits {
    pub fn of(max_connections: usize) -> ConnectionLimits {
        ConnectionLimits {
            max_connections,
            head_timeout: Duration::from_secs(10),
            write_timeout: Duration::from_secs(10),
            park_after: Duration::from_millis(100),
        }
    }
}

/// The limiter of one listener. Clones share it.
#[derive(Debug, Clone)]
pub struct ConnectionLimiter {
    pub(super) limits: ConnectionLimits,
    /// Open connections, including those that are being refused.
    open: Gauge,
    /// Connections that found no free slot since the start.
    turned_away: Counter,
    per_address: Option<Arc<AddressLimit>>,
}

impl ConnectionLimiter {
    pub fn new(limits: ConnectionLimits, open: Gauge, turned_away: Counter) -> ConnectionLimiter {
        ConnectionLimiter { limits, open, turned_away, per_address: None }
    }

    pub fn with_address_limit(self, limit: AddressLimit) -> ConnectionLimiter {
        ConnectionLimiter { per_address: Some(Arc::new(limit)), ..self }
    }

    /// A slot for the connection, admitted or to be refused. `None` closes the connection.
    pub(super) fn admit(&self, stream: TcpStream, peer: IpAddr) -> Option<ConnectionSlot> {
        let address_slot = self.per_address.as_ref().map(|limit| limit.take(peer)).transpose();
        let Ok(address_slot) = address_slot else {
            self.turned_away.inc();
            return None;
        };
        let open_before = usize::try_from(self.open.inc()).unwrap_or(0);
        let max = self.limits.max_connections;
        let slot = ConnectionSlot {
            stream,
            is_admitted: open_before < max,
            activity: Arc::default(),
            write_timeout: self.limits.write_timeout,
            write_deadline: None,
            open: self.open.clone(),
            _address_slot: address_slot.flatten(),
        };
        if !slot.is_admitted {
            self.turned_away.inc();
        }
        let may_answer = open_before < max + (max * REFUSED_SLOTS_PERCENT / 100).max(1);
        // A response is one write: Nagle's algorithm would only delay it.
        (may_answer && slot.stream.set_nodelay(true).is_ok()).then_some(slot)
    }
}

/// A connection and its place among those that count against the limit. Dropping it closes the connection and frees the
/// place. A write that makes no progress within the timeout fails.
#[derive(Debug)]
pub struct ConnectionSlot {
    stream: TcpStream,
    /// `false` for a connection beyond the limit, which is answered 503.
    pub(super) is_admitted: bool,
    pub(super) activity: Arc<Activity>,
    write_timeout: Duration,
    /// Runs while the client's receive window is full.
    write_deadline: Option<Pin<Box<Sleep>>>,
    open: Gauge,
    /// Boxed, because tasks of parked connections are small.
    _address_slot: Option<Box<KeyedSlot<IpAddr>>>,
}

/// What happens on a connection, readable while hyper owns its stream.
#[derive(Debug, Default)]
pub(super) struct Activity {
    /// Bytes arrived since the last write: a request is arriving or waits for its response.
    pub(super) request_pending: AtomicBool,
    /// Bytes moved in either direction since this was last reset.
    pub(super) bytes_moved: AtomicBool,
    /// hyper's shutdown must leave the socket open, because the connection is being parked.
    pub(super) is_parking: AtomicBool,
}

impl ConnectionSlot {
    /// Completes when the client has sent a byte or is gone.
    pub(super) fn readable(&self) -> impl Future<Output = Result<()>> {
        // The futures of the stream itself are ten times as large.
        std::future::poll_fn(|context| self.stream.poll_read_ready(context))
    }

    fn record_write(&mut self, progress: Poll<Result<usize>>, context: &mut Context<'_>) -> Poll<Result<usize>> {
        self.activity.bytes_moved.store(true, Ordering::Relaxed);
        if progress.is_ready() {
            self.activity.request_pending.store(false, Ordering::Relaxed);
        }
        self.with_deadline(progress, context)
    }

    /// Fails a write that has made no progress for the write timeout.
    fn with_deadline<T>(&mut self, progress: Poll<Result<T>>, context: &mut Context<'_>) -> Poll<Result<T>> {
        if progress.is_ready() {
            self.write_deadline = None;
            return progress;
        }
        let timeout = self.write_timeout;
        let deadline = self.write_deadline.get_or_insert_with(|| Box::pin(tokio::time::sleep(timeout)));
        deadline.as_mut().poll(context).map(|()| Err(Error::new(ErrorKind::TimedOut, "the client does not read")))
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.open.dec();
    }
}

impl AsyncRead for ConnectionSlot {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<Result<()>> {
        let before = into.filled().len();
        let progress = Pin::new(&mut self.stream).poll_read(context, into);
        if into.filled().len() > before {
            self.activity.request_pending.store(true, Ordering::Relaxed);
            self.activity.bytes_moved.store(true, Ordering::Relaxed);
        }
        progress
    }
}

impl AsyncWrite for ConnectionSlot {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        let progress = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.record_write(progress, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        let progress = Pin::new(&mut self.stream).poll_write_vectored(context, bytes);
        self.record_write(progress, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        let progress = Pin::new(&mut self.stream).poll_flush(context);
        self.with_deadline(progress, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        if self.activity.is_parking.load(Ordering::Relaxed) {
            return Poll::Ready(Ok(()));
        }
        let progress = Pin::new(&mut self.stream).poll_shutdown(context);
        self.with_deadline(progress, context)
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use axum::Router;
    use axum::routing::get;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio_util::sync::{CancellationToken, DropGuard};

    use super::*;
    use crate::web::server::{Listen, serve_on};

    /// More bytes of a response than socket and server buffer together.
    const LARGE: usize = 64 << 20;
    const REQUEST: &[u8] = b"GET /small HTTP/1.1\r\nhost: x\r\n\r\n";

    struct TestServer {
        address: SocketAddr,
        limiter: ConnectionLimiter,
        _stop: DropGuard,
    }

    /// A server with short timeouts.
    fn start_server(max_connections: usize) -> TestServer {
        let (head_timeout, write_timeout) = (Duration::from_millis(200), Duration::from_millis(200));
        start_server_with(ConnectionLimits { head_timeout, write_timeout, ..ConnectionLimits::of(max_connections) })
    }

    fn start_server_with(limits: ConnectionLimits) -> TestServer {
        start_server_of(ConnectionLimiter::new(limits, Gauge::default(), Counter::default()))
    }

    fn start_server_of(limiter: ConnectionLimiter) -> TestServer {
        let listener = Listen { address: SocketAddr::from(([127, 0, 0, 1], 0)), setting: "" }.bind().unwrap();
        let (address, stop) = (listener.local_addr().unwrap(), CancellationToken::new());
        let router = Router::new().route("/small", get(async || "small"));
        let router = router.route("/large", get(async || vec![b'x'; LARGE]));
        let slow = async || {
            tokio::time::sleep(Duration::from_millis(200)).await;
            "slow"
        };
        let router = router.route("/slow", get(slow));
        tokio::spawn(serve_on(listener, router, limiter.clone(), stop.clone()));
        TestServer { address, limiter, _stop: stop.drop_guard() }
    }

    impl TestServer {
        async fn connect(&self) -> TcpStream {
            TcpStream::connect(self.address).await.unwrap()
        }

        /// A new connection after one request, and the response.
        async fn request(&self) -> (TcpStream, String) {
            let mut stream = self.connect().await;
            // The server may have closed the connection already.
            let _ = stream.write_all(REQUEST).await;
            let mut response = vec![0; 4096];
            let length = stream.read(&mut response).await.unwrap_or(0);
            (stream, String::from_utf8_lossy(&response[..length]).into_owned())
        }

        async fn until_open(&self, connections: i64) {
            while self.limiter.open.get() != connections {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
    }

    #[tokio::test]
    async fn silent_connections_of_one_address_leave_places_for_others() {
        let limit = AddressLimit::with_loopback(3);
        let limits = ConnectionLimits::of(10);
        let limiter = ConnectionLimiter::new(limits, Gauge::default(), Counter::default()).with_address_limit(limit);
        let server = start_server_of(limiter);
        let mut silent = Vec::new();
        for _ in 0..3 {
            silent.push(server.connect().await);
        }
        server.until_open(3).await;
        for _ in 0..20 {
            let mut refused = server.connect().await;
            assert_eq!(refused.read(&mut [0; 16]).await.unwrap_or(0), 0, "it is closed unanswered");
        }
        assert_eq!((server.limiter.open.get(), server.limiter.turned_away.get()), (3, 20));
        // Another address of this machine.
        let other = tokio::net::TcpSocket::new_v4().unwrap();
        other.bind(SocketAddr::from(([127, 0, 0, 2], 0))).unwrap();
        let mut other = other.connect(server.address).await.unwrap();
        other.write_all(REQUEST).await.unwrap();
        let mut response = vec![0; 4096];
        let length = other.read(&mut response).await.unwrap();
        assert!(response[..length].starts_with(b"HTTP/1.1 200 "));
        silent.pop();
        server.until_open(3).await;
        assert!(server.request().await.1.starts_with("HTTP/1.1 200 "));
    }

    #[tokio::test]
    async fn connection_beyond_the_limit_is_answered_503_and_later_ones_are_closed() {
        let server = start_server(2);
        let (first, response) = server.request().await;
        assert!(response.starts_with("HTTP/1.1 200 "), "{response}");
        let second = server.connect().await;
        server.until_open(2).await;
        let (mut third, response) = server.request().await;
        assert!(response.starts_with("HTTP/1.1 503 ") && response.contains(r#""code":"overloaded""#), "{response}");
        assert!(response.contains("retry-after: ") && response.contains("connection: close"), "{response}");
        assert_eq!(third.read(&mut [0; 1]).await.unwrap_or(0), 0, "the connection ends");
        server.until_open(2).await;
        let refused = server.connect().await;
        server.until_open(3).await;
        assert_eq!(server.request().await.1, "", "closed unanswered");
        assert_eq!(server.limiter.turned_away.get(), 3);
        drop((first, second, refused));
        server.until_open(0).await;
        assert!(server.request().await.1.starts_with("HTTP/1.1 200 "));
    }

    #[tokio::test]
    async fn slow_clients_lose_their_slots() {
        let server = start_server(100);
        let mut idle = server.request().await.0;
        let mut silent = server.connect().await;
        let mut slow_writer = server.connect().await;
        let mut non_reader = server.connect().await;
        non_reader.write_all(b"GET /large HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
        let writing = async {
            // A byte now and then does not restart the timeout.
            while slow_writer.write_all(b"G").await.is_ok() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let (_, idle, silent) = tokio::join!(writing, idle.read_u8(), silent.read_u8());
        assert!(idle.is_err() && silent.is_err(), "closed");
        server.until_open(0).await;
        assert!(server.request().await.1.starts_with("HTTP/1.1 200 "));
    }

    #[tokio::test]
    async fn parked_connection_serves_further_requests() {
        let mut limits = ConnectionLimits::of(1);
        limits.park_after = Duration::from_millis(20);
        let server = start_server_with(limits);
        let (mut stream, _) = server.request().await;
        for n in 0..5 {
            tokio::time::sleep(Duration::from_millis(40 * n)).await;
            let (head, rest) = REQUEST.split_at(10);
            stream.write_all(head).await.unwrap();
            tokio::time::sleep(Duration::from_millis(40 * n)).await;
            stream.write_all(rest).await.unwrap();
            let mut answer = vec![0; 4096];
            let length = stream.read(&mut answer).await.unwrap();
            let answer = String::from_utf8_lossy(&answer[..length]);
            assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("small"), "{n}: {answer}");
        }
        assert_eq!(server.limiter.open.get(), 1, "all requests used one connection");
    }

    #[tokio::test]
    async fn connection_that_waits_for_a_response_is_not_parked() {
        let mut limits = ConnectionLimits::of(1);
        limits.park_after = Duration::from_millis(10);
        let server = start_server_with(limits);
        let mut stream = server.connect().await;
        for _ in 0..2 {
            stream.write_all(b"GET /slow HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
            let mut answer = vec![0; 4096];
            let length = stream.read(&mut answer).await.unwrap();
            let answer = String::from_utf8_lossy(&answer[..length]);
            assert!(answer.ends_with("slow") && !answer.contains("connection: close"), "{answer}");
        }
    }

    #[tokio::test]
    async fn slow_reader_gets_the_whole_response() {
        let server = start_server(1);
        let mut reader = server.connect().await;
        reader.write_all(b"GET /large HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await.unwrap();
        let (mut read, mut piece) = (0, vec![0; 4 << 20]);
        loop {
            let length = reader.read(&mut piece).await.unwrap();
            read += length;
            if length == 0 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        assert!(read > LARGE, "{read}");
    }
}
