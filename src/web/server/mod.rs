//! Accepts connections within the [`limits`], serves each in a task of its own (`connection`), and ends them at a stop.

pub mod address_limit;
mod connection;
pub mod limits;

use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use anyhow::Context;
use axum::Router;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::info;

use connection::serve_connection;
use limits::ConnectionLimiter;

/// Connections that may wait to be accepted. The system caps it (`net.core.somaxconn`, 4096 by default). A client that
/// finds the backlog full retries only after one, three and seven seconds.
const ACCEPT_BACKLOG: i32 = 65_535;

/// Pause after a failed `accept`.
const ACCEPT_RETRY_INTERVAL: Duration = Duration::from_millis(50);

/// Time for requests in progress at a stop. A process has ten seconds to stop in all.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(8);

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

/// Binds and serves until the token is cancelled, then waits for the requests in progress.
pub async fn serve(
    listen: Listen,
    router: Router,
    limiter: ConnectionLimiter,
    stop: CancellationToken,
) -> anyhow::Result<()> {
    serve_on(listen.bind()?, router, limiter, stop).await
}

/// Like [`serve`], on an existing listener.
pub async fn serve_on(
    listener: TcpListener,
    router: Router,
    limiter: ConnectionLimiter,
    stop: CancellationToken,
) -> anyhow::Result<()> {
    info!(address = %listener.local_addr()?, "listening");
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let mut connections = JoinSet::new();
    while let Some(accepted) = stop.run_until_cancelled(listener.accept()).await {
        match accepted {
            Ok((stream, peer)) => {
                if let Some(slot) = limiter.admit(stream, peer.ip()) {
                    connections.spawn(serve_connection(slot, peer, router.clone(), limiter.limits, stop.clone()));
                }
            }
            // The process has no file descriptor left, or the client is gone already.
            Err(_) => tokio::time::sleep(ACCEPT_RETRY_INTERVAL).await,
        }
        while connections.try_join_next().is_some() {}
    }
    // Takes no new connections; open ones finish their request. Dropping the set aborts the rest.
    drop(listener);
    let finish = async { while connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(DRAIN_TIMEOUT, finish).await;
    Ok(())
}

#[cfg(test)]
mod tests {
    use prometheus_client::metrics::counter::Counter;
    use prometheus_client::metrics::gauge::Gauge;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;

    use super::*;
    use crate::server::limits::ConnectionLimits;

    fn limiter() -> ConnectionLimiter {
        ConnectionLimiter::new(ConnectionLimits::of(10), Gauge::default(), Counter::default())
    }

    fn any_port() -> Listen {
        Listen { address: SocketAddr::from(([127, 0, 0, 1], 0)), setting: "SECKILL_LISTEN" }
    }

    #[tokio::test]
    async fn address_in_use_names_its_setting() {
        let taken = any_port().bind().unwrap();
        let listen = Listen { address: taken.local_addr().unwrap(), ..any_port() };
        let error = serve(listen, Router::new(), limiter(), CancellationToken::new()).await.unwrap_err();
        assert!(format!("{error:#}").contains("SECKILL_LISTEN"));
    }

    #[tokio::test]
    async fn parked_connection_is_a_small_task() {
        let listener = any_port().bind().unwrap();
        let (address, limiter) = (listener.local_addr().unwrap(), limiter());
        let slot = limiter.admit(TcpStream::connect(address).await.unwrap(), address.ip()).unwrap();
        let task = serve_connection(slot, address, Router::new(), limiter.limits, CancellationToken::new());
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
        let (stop, listener) = (CancellationToken::new(), any_port().bind().unwrap());
        let address = listener.local_addr().unwrap();
        let received = CancellationToken::new();
        let (seen, stopping) = (received.clone(), stop.clone());
        let slow = async move || {
            seen.cancel();
            stopping.cancelled().await;
            tokio::time::sleep(Duration::from_millis(100)).await;
            "finished"
        };
        let server = tokio::spawn(serve_on(listener, Router::new().route("/", get(slow)), limiter(), stop.clone()));
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
        received.cancelled().await;
        stop.cancel();
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.unwrap();
        assert!(answer.ends_with("finished"), "{answer}");
        server.await.unwrap().unwrap();
    }
}
