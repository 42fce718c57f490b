//! The socket: takes connections, lets them in by the [`limiter`](crate::web::server::limits), and ends them at a stop.

mod connection;
pub mod limits;

use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use anyhow::Context;
use axum::Router;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::info;

use connection::converse;
use limits::ConnectionLimiter;

/// Connections that may wait to be taken; the system allows fewer (`net.core.somaxconn`, 4096 by default). Whoever finds no
/// room there asks again only a second later, then after three, then after seven.
const BACKLOG: i32 = 65_535;

/// Before the next try when no connection could be taken.
const BREATHER: Duration = Duration::from_millis(50);

/// How long requests that are under way at a stop may take. The contract promises ten seconds in all.
const FINISH_WITHIN: Duration = Duration::from_secs(8);

/// An address to listen on, and the setting that it comes from, to be named when it cannot be used.
#[derive(Debug, Clone, Copy)]
pub struct Listen {
    pub address: SocketAddr,
    pub setting: &'static str,
}

impl Listen {
    /// Claims the address. The system takes connections from now on; they wait until `serve` answers them.
    pub fn bind(self) -> anyhow::Result<TcpListener> {
        let listener = TcpListener::bind(self.address);
        let listener = listener.with_context(|| {
            format!("cannot listen on {}; choose another address in {}", self.address, self.setting)
        })?;
        // The standard library lets 128 wait; asking again changes that.
        rustix::net::listen(&listener, BACKLOG)?;
        listener.set_nonblocking(true)?;
        Ok(listener)
    }
}

/// Binds and answers until the token is cancelled, then finishes what is under way.
pub async fn serve(
    listen: Listen,
    router: Router,
    limiter: ConnectionLimiter,
    stop: CancellationToken,
) -> anyhow::Result<()> {
    serve_on(listen.bind()?, router, limiter, stop).await
}

/// As [`serve`], on a listener that exists already.
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
            Ok((stream, from)) => {
                if let Some(slot) = limiter.enter(stream) {
                    connections.spawn(converse(slot, from, router.clone(), limiter.limits, stop.clone()));
                }
            }
            // There are no more open files to be had, or the client is gone already.
            Err(_) => tokio::time::sleep(BREATHER).await,
        }
        while connections.try_join_next().is_some() {}
    }
    // Nobody else is let in; those inside finish. Whoever does not is cut off with the set.
    drop(listener);
    let finish = async { while connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(FINISH_WITHIN, finish).await;
    Ok(())
}

#[cfg(test)]
mod tests {
    use prometheus_client::metrics::counter::Counter;
    use prometheus_client::metrics::gauge::Gauge;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;

    use super::*;
    use crate::web::server::limits::Limits;

    fn limiter() -> ConnectionLimiter {
        ConnectionLimiter::new(Limits::of(10), Gauge::default(), Counter::default())
    }

    fn anywhere() -> Listen {
        Listen { address: SocketAddr::from(([127, 0, 0, 1], 0)), setting: "SECKILL_LISTEN" }
    }

    #[tokio::test]
    async fn an_address_in_use_names_its_setting() {
        let taken = anywhere().bind().unwrap();
        let listen = Listen { address: taken.local_addr().unwrap(), ..anywhere() };
        let error = serve(listen, Router::new(), limiter(), CancellationToken::new()).await.unwrap_err();
        assert!(format!("{error:#}").contains("SECKILL_LISTEN"));
    }

    #[tokio::test]
    async fn a_connection_at_rest_is_a_small_task() {
        let listener = anywhere().bind().unwrap();
        let (address, limiter) = (listener.local_addr().unwrap(), limiter());
        let slot = limiter.enter(TcpStream::connect(address).await.unwrap()).unwrap();
        let task = converse(slot, address, Router::new(), limiter.limits, CancellationToken::new());
        assert!(size_of_val(&task) <= 512, "{} bytes", size_of_val(&task));
    }

    #[tokio::test]
    async fn a_crowd_may_wait_to_be_taken() {
        const CROWD: usize = 1_000;
        let listener = anywhere().bind().unwrap();
        let address = listener.local_addr().unwrap();
        let come = futures::future::try_join_all((0..CROWD).map(|_| TcpStream::connect(address)));
        let come = tokio::time::timeout(Duration::from_secs(20), come).await;
        assert_eq!(come.expect("room for all").unwrap().len(), CROWD);
    }

    #[tokio::test]
    async fn a_stop_lets_a_request_finish() {
        use axum::routing::get;
        let (stop, listener) = (CancellationToken::new(), anywhere().bind().unwrap());
        let address = listener.local_addr().unwrap();
        let asked = CancellationToken::new();
        let (seen, stopping) = (asked.clone(), stop.clone());
        let slow = async move || {
            seen.cancel();
            stopping.cancelled().await;
            tokio::time::sleep(Duration::from_millis(100)).await;
            "finished"
        };
        let server = tokio::spawn(serve_on(listener, Router::new().route("/", get(slow)), limiter(), stop.clone()));
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
        asked.cancelled().await;
        stop.cancel();
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.unwrap();
        assert!(answer.ends_with("finished"), "{answer}");
        server.await.unwrap().unwrap();
    }
}
