use std::net::SocketAddr;

use axum::Router;
use axum::routing::get;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_util::sync::DropGuard;

use crate::server::limits::*;
use crate::server::{Listen, serve_on};
use base::lifecycle::Shutdown;

/// More bytes of a response than the socket's and the server's buffers hold together.
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
    let (address, shutdown) = (listener.local_addr().unwrap(), Shutdown::default());
    let router = Router::new().route("/small", get(async || "small"));
    let router = router.route("/large", get(async || vec![b'x'; LARGE]));
    let slow = async || {
        tokio::time::sleep(Duration::from_millis(200)).await;
        "slow"
    };
    let router = router.route("/slow", get(slow));
    tokio::spawn(serve_on(listener, router, limiter.clone(), shutdown.clone()));
    TestServer { address, limiter, _stop: shutdown.stop.drop_guard() }
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

#[test]
fn trusted_proxies_and_loopback_are_excepted_from_the_limit_per_address() {
    let limit = AddressLimit::new(1, &[Cidr::parse("10.0.0.0/31").unwrap()]);
    for exempt in ["127.0.0.1", "::1", "10.0.0.1", "::ffff:10.0.0.1"] {
        assert!(limit.exempts(exempt.parse().unwrap()), "{exempt}");
    }
    assert!(!limit.exempts("10.0.0.2".parse().unwrap()));
}
