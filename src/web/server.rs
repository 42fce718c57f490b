//! The socket: how long a client may take to ask, and how a stop ends what is under way.

use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use anyhow::Context;
use axum::Router;
use axum_server::Handle;
use axum_server::accept::NoDelayAcceptor;
use hyper_util::rt::TokioTimer;
use tokio_util::sync::CancellationToken;
use tracing::info;

/// How long the head of a request may take to arrive, and how long a connection may idle between two requests. A proxy
/// in front must close its idle connections sooner, or now and then a request meets a closing one.
const HEAD_WITHIN: Duration = Duration::from_secs(10);

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
        listener.set_nonblocking(true)?;
        Ok(listener)
    }
}

/// Binds and answers until the token is cancelled, then finishes what is under way.
pub async fn serve(listen: Listen, router: Router, stop: CancellationToken) -> anyhow::Result<()> {
    serve_on(listen.bind()?, router, stop).await
}

/// As [`serve`], on a listener that exists already.
pub async fn serve_on(listener: TcpListener, router: Router, stop: CancellationToken) -> anyhow::Result<()> {
    info!(address = %listener.local_addr()?, "listening");
    let handle = Handle::new();
    // HTTP/1 only: browsers speak nothing newer without TLS, and guessing the version has no time limit.
    let mut server =
        axum_server::from_tcp(listener)?.handle(handle.clone()).acceptor(NoDelayAcceptor::new()).http1_only();
    server.http_builder().http1().timer(TokioTimer::new()).header_read_timeout(HEAD_WITHIN);
    let stopping = async {
        stop.cancelled().await;
        handle.graceful_shutdown(Some(FINISH_WITHIN));
        std::future::pending::<()>().await;
    };
    tokio::select! {
        ended = server.serve(router.into_make_service_with_connect_info::<SocketAddr>()) => Ok(ended?),
        () = stopping => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;

    use super::*;

    fn anywhere() -> Listen {
        Listen { address: SocketAddr::from(([127, 0, 0, 1], 0)), setting: "SECKILL_LISTEN" }
    }

    #[tokio::test]
    async fn an_address_in_use_names_its_setting() {
        let taken = anywhere().bind().unwrap();
        let listen = Listen { address: taken.local_addr().unwrap(), ..anywhere() };
        let error = serve(listen, Router::new(), CancellationToken::new()).await.unwrap_err();
        assert!(format!("{error:#}").contains("SECKILL_LISTEN"));
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
        let server = tokio::spawn(serve_on(listener, Router::new().route("/", get(slow)), stop.clone()));
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
