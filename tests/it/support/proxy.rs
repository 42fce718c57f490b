//! A proxy in front of a service that can be away whenever a test wants, without anybody else noticing.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

use super::ports::free_address;
use super::wait::eventually;

pub struct Proxy {
    pub address: SocketAddr,
    pub line: Line,
    /// Ends what runs; `None` while the service is away.
    up: Mutex<Option<CancellationToken>>,
}

/// What leads to the service; clones are the same line.
#[derive(Clone)]
pub struct Line {
    target: String,
    mute: Arc<AtomicBool>,
    /// How often clients have sent something; what comes together counts once.
    pub sent: Arc<AtomicUsize>,
}

impl Proxy {
    /// In front of `target`, and away until it is mended.
    pub fn new(target: String) -> Proxy {
        let line = Line { target, mute: Arc::default(), sent: Arc::default() };
        Proxy { address: free_address(), line, up: Mutex::new(None) }
    }

    /// The service is there again.
    pub async fn mend(&self) {
        // What was cut lets go of the address in a moment.
        let listen = async || TcpListener::bind(self.address).await.map_err(|error| error.to_string());
        let listener = eventually("the proxy listens", Duration::from_secs(5), listen).await;
        let up = CancellationToken::new();
        self.line.mute.store(false, Ordering::Relaxed);
        let (line, ended) = (self.line.clone(), up.clone());
        tokio::spawn(async move { ended.run_until_cancelled(line.accept(listener, &ended)).await });
        self.set(Some(up));
    }

    /// The service is away: connections break, new ones are refused.
    pub fn cut(&self) {
        self.set(None);
    }

    /// From now on the service does what it is asked, and no answer comes back. Only good until it is cut.
    pub fn mute(&self) {
        self.line.mute.store(true, Ordering::Relaxed);
    }

    fn set(&self, up: Option<CancellationToken>) {
        let before = std::mem::replace(&mut *self.up.lock().unwrap_or_else(PoisonError::into_inner), up);
        if let Some(before) = before {
            before.cancel();
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.cut();
    }
}

impl Line {
    async fn accept(&self, listener: TcpListener, up: &CancellationToken) {
        while let Ok((client, _)) = listener.accept().await {
            let (line, ended) = (self.clone(), up.clone());
            tokio::spawn(async move { ended.run_until_cancelled(line.pass_on(client)).await });
        }
    }

    async fn pass_on(&self, client: TcpStream) {
        // Whoever loses the connection in the middle is what the tests are about.
        let Ok(server) = TcpStream::connect(&self.target).await else { return };
        let _ = (client.set_nodelay(true), server.set_nodelay(true));
        let (from_client, to_client) = client.into_split();
        let (from_server, to_server) = server.into_split();
        let there = copy(from_client, to_server, || {
            self.sent.fetch_add(1, Ordering::Relaxed);
            true
        });
        let back = copy(from_server, to_client, || !self.mute.load(Ordering::Relaxed));
        tokio::select! {
            () = there => {}
            () = back => {}
        }
    }
}

/// Until either end closes; what does not pass is lost.
async fn copy(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin, passes: impl Fn() -> bool) {
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        if passes() && to.write_all(&buffer[..length]).await.is_err() {
            return;
        }
    }
}
