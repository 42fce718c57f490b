//! Who may come in: so many connections at a time, each with its slot. Everything a client can make the program hold is
//! bounded by the number of seats, because a connection has one request under way and buffers of a bounded size.
//!
//! Beyond the seats a few stand at the limiter: their first request is answered 503 `overloaded`, unread by any handler, and
//! the connection ends. Whoever comes when the limiter is crowded too is hung up on.

use std::io::{Error, ErrorKind, IoSlice, Result};
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

/// Those who are told that there is no slot, per slot; at least one.
const AT_THE_DOOR_PERCENT: usize = 5;

/// What clients may take.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Connections at a time.
    pub connections: usize,
    /// How long the head of a request may take to arrive, and how long a connection may idle between two requests. A
    /// proxy in front must close its idle connections sooner, or now and then a request meets a closing one.
    pub head_within: Duration,
    /// How long an answer may find no reader at all.
    pub write_within: Duration,
    /// After as long without a request a new connection gives its buffers back; one that was busy after several times as
    /// long.
    pub quiet: Duration,
}

impl Limits {
    pub fn of(connections: usize) -> Limits {
        let within = Duration::from_secs(10);
        Limits { connections, head_within: within, write_within: within, quiet: Duration::from_millis(100) }
    }
}

/// The limiter of one listener; clones are the same limiter.
#[derive(Debug, Clone)]
pub struct ConnectionLimiter {
    pub(super) limits: Limits,
    /// Connections that are open now.
    open: Gauge,
    /// Connections that found no slot, ever.
    turned_away: Counter,
}

impl ConnectionLimiter {
    pub fn new(limits: Limits, open: Gauge, turned_away: Counter) -> ConnectionLimiter {
        ConnectionLimiter { limits, open, turned_away }
    }

    /// A slot, or a place at the limiter, or nothing: then the connection is closed.
    pub(super) fn enter(&self, stream: TcpStream) -> Option<ConnectionSlot> {
        let before = usize::try_from(self.open.inc()).unwrap_or(0);
        let (seats, patience) = (self.limits.connections, self.limits.write_within);
        let (seated, activity, open) = (before < seats, Arc::default(), self.open.clone());
        let slot = ConnectionSlot { stream, seated, activity, patience, stuck: None, open };
        if !seated {
            self.turned_away.inc();
        }
        let crowded = before >= seats + (seats * AT_THE_DOOR_PERCENT / 100).max(1);
        // An answer is one write: nothing is gained by waiting for more.
        (!crowded && slot.stream.set_nodelay(true).is_ok()).then_some(slot)
    }
}

/// A connection. Gives up on a client that reads nothing, and its slot when it goes.
#[derive(Debug)]
pub struct ConnectionSlot {
    stream: TcpStream,
    /// Otherwise it stands at the limiter.
    pub(super) seated: bool,
    pub(super) activity: Arc<Activity>,
    patience: Duration,
    /// Since the client's side is full.
    stuck: Option<Pin<Box<Sleep>>>,
    open: Gauge,
}

/// What happens on a connection, for whoever has not got its stream at hand.
#[derive(Debug, Default)]
pub(super) struct Activity {
    /// Bytes have come since one last went out: a request is on its way, or waits for its answer.
    pub(super) asking: AtomicBool,
    /// Bytes went either way since somebody looked.
    pub(super) touched: AtomicBool,
    /// The end of a conversation is not to end the connection.
    pub(super) parking: AtomicBool,
}

impl ConnectionSlot {
    /// Until the client says something, or is gone.
    pub(super) fn readable(&self) -> impl Future<Output = Result<()>> {
        // Of the stream's own futures each is ten times as large.
        std::future::poll_fn(|context| self.stream.poll_read_ready(context))
    }

    fn sent(&mut self, progress: Poll<Result<usize>>, context: &mut Context<'_>) -> Poll<Result<usize>> {
        self.activity.touched.store(true, Ordering::Relaxed);
        if progress.is_ready() {
            self.activity.asking.store(false, Ordering::Relaxed);
        }
        self.written(progress, context)
    }

    fn written<T>(&mut self, progress: Poll<Result<T>>, context: &mut Context<'_>) -> Poll<Result<T>> {
        if progress.is_ready() {
            self.stuck = None;
            return progress;
        }
        let patience = self.patience;
        let over = self.stuck.get_or_insert_with(|| Box::pin(tokio::time::sleep(patience)));
        over.as_mut().poll(context).map(|()| Err(Error::new(ErrorKind::TimedOut, "the client does not read")))
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
            self.activity.asking.store(true, Ordering::Relaxed);
            self.activity.touched.store(true, Ordering::Relaxed);
        }
        progress
    }
}

impl AsyncWrite for ConnectionSlot {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        let progress = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.sent(progress, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        let progress = Pin::new(&mut self.stream).poll_write_vectored(context, bytes);
        self.sent(progress, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        let progress = Pin::new(&mut self.stream).poll_flush(context);
        self.written(progress, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        if self.activity.parking.load(Ordering::Relaxed) {
            return Poll::Ready(Ok(()));
        }
        let progress = Pin::new(&mut self.stream).poll_shutdown(context);
        self.written(progress, context)
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

    /// More than system and program keep of an answer that nobody reads.
    const LARGE: usize = 64 << 20;
    const ASK: &[u8] = b"GET /small HTTP/1.1\r\nhost: x\r\n\r\n";

    struct House {
        address: SocketAddr,
        limiter: ConnectionLimiter,
        _stop: DropGuard,
    }

    /// A server that waits no longer than a moment.
    fn open_house(connections: usize) -> House {
        let within = Duration::from_millis(200);
        open_house_within(Limits { head_within: within, write_within: within, ..Limits::of(connections) })
    }

    fn open_house_within(limits: Limits) -> House {
        let limiter = ConnectionLimiter::new(limits, Gauge::default(), Counter::default());
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
        House { address, limiter, _stop: stop.drop_guard() }
    }

    impl House {
        async fn connect(&self) -> TcpStream {
            TcpStream::connect(self.address).await.unwrap()
        }

        /// A connection that has asked once, and the answer.
        async fn ask(&self) -> (TcpStream, String) {
            let mut stream = self.connect().await;
            // Whoever is hung up on may not be able to ask.
            let _ = stream.write_all(ASK).await;
            let mut answer = vec![0; 4096];
            let length = stream.read(&mut answer).await.unwrap_or(0);
            (stream, String::from_utf8_lossy(&answer[..length]).into_owned())
        }

        async fn open(&self, connections: i64) {
            while self.limiter.open.get() != connections {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
    }

    #[tokio::test]
    async fn whoever_finds_no_seat_is_told_and_the_crowd_behind_is_not() {
        let house = open_house(2);
        let (first, answer) = house.ask().await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        let second = house.connect().await;
        house.open(2).await;
        let (mut third, answer) = house.ask().await;
        assert!(answer.starts_with("HTTP/1.1 503 ") && answer.contains(r#""code":"overloaded""#), "{answer}");
        assert!(answer.contains("retry-after: ") && answer.contains("connection: close"), "{answer}");
        assert_eq!(third.read(&mut [0; 1]).await.unwrap_or(0), 0, "the connection ends");
        house.open(2).await;
        let at_the_door = house.connect().await;
        house.open(3).await;
        assert_eq!(house.ask().await.1, "", "hung up on");
        assert_eq!(house.limiter.turned_away.get(), 3);
        drop((first, second, at_the_door));
        house.open(0).await;
        assert!(house.ask().await.1.starts_with("HTTP/1.1 200 "));
    }

    #[tokio::test]
    async fn nobody_holds_a_seat_by_being_slow() {
        let house = open_house(100);
        let mut idle = house.ask().await.0;
        let mut silent = house.connect().await;
        let mut drop_by_drop = house.connect().await;
        let mut deaf = house.connect().await;
        deaf.write_all(b"GET /large HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
        let dripping = async {
            // A byte now and then does not begin the time anew.
            while drop_by_drop.write_all(b"G").await.is_ok() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let (_, idle, silent) = tokio::join!(dripping, idle.read_u8(), silent.read_u8());
        assert!(idle.is_err() && silent.is_err(), "closed");
        house.open(0).await;
        assert!(house.ask().await.1.starts_with("HTTP/1.1 200 "));
    }

    /// After a while of silence a connection costs no buffers; it is as good as before.
    #[tokio::test]
    async fn a_connection_that_was_parked_goes_on() {
        let mut limits = Limits::of(1);
        limits.quiet = Duration::from_millis(20);
        let house = open_house_within(limits);
        let (mut stream, _) = house.ask().await;
        for n in 0..5 {
            tokio::time::sleep(Duration::from_millis(40 * n)).await;
            let (head, rest) = ASK.split_at(10);
            stream.write_all(head).await.unwrap();
            tokio::time::sleep(Duration::from_millis(40 * n)).await;
            stream.write_all(rest).await.unwrap();
            let mut answer = vec![0; 4096];
            let length = stream.read(&mut answer).await.unwrap();
            let answer = String::from_utf8_lossy(&answer[..length]);
            assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("small"), "{n}: {answer}");
        }
        assert_eq!(house.limiter.open.get(), 1, "it was one connection all the time");
    }

    /// Waiting for an answer is not being quiet: the connection is kept.
    #[tokio::test]
    async fn a_connection_that_waits_for_its_answer_goes_on() {
        let mut limits = Limits::of(1);
        limits.quiet = Duration::from_millis(10);
        let house = open_house_within(limits);
        let mut stream = house.connect().await;
        for _ in 0..2 {
            stream.write_all(b"GET /slow HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
            let mut answer = vec![0; 4096];
            let length = stream.read(&mut answer).await.unwrap();
            let answer = String::from_utf8_lossy(&answer[..length]);
            assert!(answer.ends_with("slow") && !answer.contains("connection: close"), "{answer}");
        }
    }

    #[tokio::test]
    async fn a_slow_reader_who_reads_is_served() {
        let house = open_house(1);
        let mut reader = house.connect().await;
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
