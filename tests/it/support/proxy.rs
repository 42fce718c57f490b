//! A proxy in front of a service that can be away whenever a test wants, without anybody else noticing.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

use super::ports::free_address;
use super::wait::eventually;

pub struct Proxy {
    pub address: SocketAddr,
    target: String,
    /// Ends what runs; `None` while the service is away.
    up: Mutex<Option<CancellationToken>>,
    mute: Arc<AtomicBool>,
}

impl Proxy {
    /// In front of `target`, and away until it is mended.
    pub fn new(target: String) -> Proxy {
        Proxy { address: free_address(), target, up: Mutex::new(None), mute: Arc::default() }
    }

    /// The service is there again.
    pub async fn mend(&self) {
        // What was cut lets go of the address in a moment.
        let listen = async || TcpListener::bind(self.address).await.map_err(|error| error.to_string());
        let listener = eventually("the proxy listens", Duration::from_secs(5), listen).await;
        let up = CancellationToken::new();
        self.mute.store(false, Ordering::Relaxed);
        tokio::spawn(accept(listener, self.target.clone(), up.clone(), self.mute.clone()));
        self.set(Some(up));
    }

    /// The service is away: connections break, new ones are refused.
    pub fn cut(&self) {
        self.set(None);
    }

    /// From now on the service does what it is asked, and no answer comes back. Only good until it is cut.
    pub fn mute(&self) {
        self.mute.store(true, Ordering::Relaxed);
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

async fn accept(listener: TcpListener, target: String, up: CancellationToken, mute: Arc<AtomicBool>) {
    while let Some(Ok((client, _))) = up.run_until_cancelled(listener.accept()).await {
        tokio::spawn(pass_on(client, target.clone(), up.clone(), mute.clone()));
    }
}

async fn pass_on(client: TcpStream, target: String, up: CancellationToken, mute: Arc<AtomicBool>) {
    // Whoever loses the connection in the middle is what the tests are about.
    let Ok(server) = TcpStream::connect(target).await else { return };
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let never = AtomicBool::new(false);
    let both = async {
        tokio::select! {
            () = copy(from_client, to_server, &never) => {}
            () = copy(from_server, to_client, &mute) => {}
        }
    };
    up.run_until_cancelled(both).await;
}

/// Until either end closes.
async fn copy(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin, mute: &AtomicBool) {
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        if !mute.load(Ordering::Relaxed) && to.write_all(&buffer[..length]).await.is_err() {
            return;
        }
    }
}
