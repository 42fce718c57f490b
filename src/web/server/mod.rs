//! Accepts connections within the [`limits`], serves each in a task of its own (`connection`), and ends them at a stop.

mod connection;
pub mod limits;

use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use anyhow::Context;
use axum::Router;
use boxed::boxed;
use connection::serve_connection;
use limits::ConnectionLimiter;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tracing::info;

use base::lifecycle::Shutdown;

/// Connections that may wait to be accepted. The system caps it (`net.core.somaxconn`, 4096 by default). A client that
/// finds the backlog full retries only after one, three and seven seconds.
const ACCEPT_BACKLOG: i32 = 65_535;

/// Pause after a failed `accept`.
const ACCEPT_RETRY_INTERVAL: Duration = Duration::from_millis(50);

/// What requests in progress leave of the time to stop, for what other tasks do after them.
const RESERVE: Duration = Duration::from_secs(1);

/// An address to listen on, and the setting that it comes from. If the address cannot be used, the error names the
/// setting.
#[derive(Debug, Clone, Copy)]
pub struct Listen {
    pub address: SocketAddr,
    pub setting: &'static str,
}

impl Listen {
    /// Binds the address. From now on the system accepts connections; they wait for [`serve_on`].
    pub fn bind(self) -> anyhow::Result<TcpListener> {
        let listener = TcpListener::bind(self.address);
        let listener = listener.with_context(|| {
            format!("cannot listen on {}; choose another address in {}", self.address, self.setting)
        })?;
        // The standard library sets a backlog of 128; a second `listen` replaces it.
        rustix::net::listen(&listener, ACCEPT_BACKLOG)?;
        listener.set_nonblocking(true)?;
        Ok(listener)
    }
}

/// Serves until the stop, then waits for the requests in progress. While the process drains, connections end after their
/// next answer.
#[boxed]
pub async fn serve_on(
    listener: TcpListener,
    router: Router,
    limiter: ConnectionLimiter,
    shutdown: Shutdown,
) -> anyhow::Result<()> {
    info!(address = %listener.local_addr()?, "listening");
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let mut connections = JoinSet::new();
    let serve = |connections: &mut JoinSet<()>, (stream, peer): (TcpStream, SocketAddr)| {
        if let Some(slot) = limiter.admit(stream, peer.ip()) {
            connections.spawn(serve_connection(slot, peer, router.clone(), limiter.limits, shutdown.clone()));
        }
    };
    while let Some(accepted) = shutdown.stop.run_until_cancelled(listener.accept()).await {
        match accepted {
            Ok(accepted) => serve(&mut connections, accepted),
            // The process has no file descriptor left, or the client is gone already.
            Err(_) => tokio::time::sleep(ACCEPT_RETRY_INTERVAL).await,
        }
        while connections.try_join_next().is_some() {}
    }
    // Closing the listener resets connections that the kernel has accepted, with the requests on them.
    let listener = listener.into_std()?;
    while let Ok((stream, peer)) = listener.accept() {
        stream.set_nonblocking(true)?;
        serve(&mut connections, (TcpStream::from_std(stream)?, peer));
    }
    // Takes no new connections; open ones finish their request. Dropping the set aborts the rest.
    drop(listener);
    let finish = async { while connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(shutdown.time_to_finish().saturating_sub(RESERVE), finish).await;
    Ok(())
}

#[cfg(test)]
mod tests {
    use prometheus_client::metrics::counter::Counter;
    use prometheus_client::metrics::gauge::Gauge;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::server::limits::ConnectionLimits;

    fn limiter() -> ConnectionLimiter {
        ConnectionLimiter::new(ConnectionLimits::of(10), Gauge::default(), Counter::default())
    }

    fn any_port() -> Listen {
        Listen { address: SocketAddr::from(([127, 0, 0, 1], 0)), setting: "SECKILL_LISTEN" }
    }

    #[test]
    fn address_in_use_names_its_setting() {
        let taken = any_port().bind().unwrap();
        let listen = Listen { address: taken.local_addr().unwrap(), ..any_port() };
        let error = listen.bind().unwrap_err();
        assert!(format!("{error:#}").contains("SECKILL_LISTEN"));
    }

    #[tokio::test]
    async fn parked_connection_is_a_small_task() {
        let listener = any_port().bind().unwrap();
        let (address, limiter) = (listener.local_addr().unwrap(), limiter());
        let slot = limiter.admit(TcpStream::connect(address).await.unwrap(), address.ip()).unwrap();
        let task = serve_connection(slot, address, Router::new(), limiter.limits, Shutdown::default());
        assert!(size_of_val(&task) <= 512, "{} bytes", size_of_val(&task));
    }

    #[tokio::test]
    async fn thousand_connections_wait_to_be_accepted() {
        const CLIENTS: usize = 1_000;
        let listener = any_port().bind().unwrap();
        let address = listener.local_addr().unwrap();
        let connect = futures::future::try_join_all((0..CLIENTS).map(|_| TcpStream::connect(address)));
        let connected = tokio::time::timeout(Duration::from_secs(20), connect).await;
        assert_eq!(connected.expect("the backlog holds all").unwrap().len(), CLIENTS);
    }

    #[tokio::test]
    async fn stop_waits_for_a_request_in_progress() {
        use axum::routing::get;
        let (shutdown, listener) = (Shutdown::default(), any_port().bind().unwrap());
        let address = listener.local_addr().unwrap();
        let received = CancellationToken::new();
        let (seen, stopping) = (received.clone(), shutdown.stop.clone());
        let slow = async move || {
            seen.cancel();
            stopping.cancelled().await;
            tokio::time::sleep(Duration::from_millis(100)).await;
            "finished"
        };
        let server = tokio::spawn(serve_on(listener, Router::new().route("/", get(slow)), limiter(), shutdown.clone()));
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
        received.cancelled().await;
        shutdown.stop.cancel();
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.unwrap();
        assert!(answer.ends_with("finished"), "{answer}");
        server.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn requests_that_wait_to_be_accepted_at_the_stop_are_answered() {
        use axum::routing::get;
        let (shutdown, listener) = (Shutdown::default(), any_port().bind().unwrap());
        let mut clients = Vec::new();
        for _ in 0..5 {
            let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
            client.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
            clients.push(client);
        }
        shutdown.stop.cancel();
        let router = Router::new().route("/", get(async || "answered"));
        serve_on(listener, router, limiter(), shutdown).await.unwrap();
        for mut client in clients {
            let mut answer = String::new();
            client.read_to_string(&mut answer).await.unwrap();
            assert!(answer.ends_with("answered"), "{answer}");
        }
    }

    #[tokio::test]
    async fn draining_server_takes_connections_and_ends_each_after_its_answer() {
        use axum::routing::get;
        let (shutdown, listener) = (Shutdown::default(), any_port().bind().unwrap());
        let address = listener.local_addr().unwrap();
        let router = Router::new().route("/", get(async || "answered"));
        let limits = ConnectionLimits { park_after: Duration::from_millis(10), ..ConnectionLimits::of(10) };
        let limiter = ConnectionLimiter::new(limits, Gauge::default(), Counter::default());
        let server = tokio::spawn(serve_on(listener, router, limiter, shutdown.clone()));
        let mut open = TcpStream::connect(address).await.unwrap();
        open.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
        let mut first = vec![0; 1_000];
        let length = open.read(&mut first).await.unwrap();
        let first = String::from_utf8_lossy(&first[..length]);
        assert!(first.ends_with("answered") && !first.contains("connection: close"), "{first}");
        shutdown.draining.cancel();
        // Until the open connection is parked. A request that arrives before is answered like the first.
        tokio::time::sleep(Duration::from_millis(200)).await;
        for mut client in [open, TcpStream::connect(address).await.unwrap()] {
            client.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
            let mut answer = String::new();
            client.read_to_string(&mut answer).await.unwrap();
            assert!(answer.contains("connection: close") && answer.ends_with("answered"), "{answer}");
        }
        shutdown.stop.cancel();
        server.await.unwrap().unwrap();
    }
}
