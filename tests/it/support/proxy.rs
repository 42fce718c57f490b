//! A TCP proxy in front of a service. A test can cut it, which makes the service unreachable for one shop only.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

use super::ports::free_address;
use super::wait::eventually;

pub struct Proxy {
    pub address: SocketAddr,
    pub target: ProxyTarget,
    /// Cancels all connections; `None` while the service is cut off.
    up: Mutex<Option<CancellationToken>>,
}

/// The connection to the service. Clones share it.
#[derive(Clone)]
pub struct ProxyTarget {
    address: Arc<Mutex<String>>,
    drops_responses: Arc<AtomicBool>,
    /// How late responses are, in milliseconds.
    delay_ms: Arc<AtomicU64>,
    /// Connections that were opened before this fall silent: nothing passes, in either direction.
    silent: Arc<Mutex<CancellationToken>>,
    /// The connection whose client sends this text falls silent, once.
    silent_at: Arc<Mutex<Option<&'static str>>>,
    /// Reads from clients that had data: a measure of writes by the client.
    pub sent: Arc<AtomicUsize>,
}

impl Proxy {
    /// A proxy in front of `service`, cut off until [`Proxy::restore`].
    pub fn new(service: String) -> Proxy {
        let target = ProxyTarget {
            address: Arc::new(Mutex::new(service)),
            drops_responses: Arc::default(),
            delay_ms: Arc::default(),
            silent: Arc::default(),
            silent_at: Arc::default(),
            sent: Arc::default(),
        };
        Proxy { address: free_address(), target, up: Mutex::new(None) }
    }

    /// Makes the service reachable.
    pub async fn restore(&self) {
        // After a cut the address becomes free within a moment.
        let listen = async || TcpListener::bind(self.address).await.map_err(|error| error.to_string());
        let listener = eventually("the proxy listens", Duration::from_secs(5), listen).await;
        let up = CancellationToken::new();
        self.target.drops_responses.store(false, Ordering::Relaxed);
        let (target, ended) = (self.target.clone(), up.clone());
        tokio::spawn(async move { ended.run_until_cancelled(target.accept(listener, &ended)).await });
        self.set(Some(up));
    }

    /// Makes the service unreachable: connections break, new ones are refused.
    pub fn cut(&self) {
        self.set(None);
    }

    /// From now on requests reach the service but its responses are dropped, until the next cut.
    pub fn drop_responses(&self) {
        self.target.drops_responses.store(true, Ordering::Relaxed);
    }

    /// From now on every response is late.
    pub fn slow_down(&self, delay: Duration) {
        self.target.delay_ms.store(u64::try_from(delay.as_millis()).unwrap(), Ordering::Relaxed);
    }

    /// Leads new connections to another service. Open connections stay where they are.
    pub fn redirect(&self, service: String) {
        *self.target.address.lock().unwrap_or_else(PoisonError::into_inner) = service;
    }

    /// The host of the service vanishes silently: open connections stay open, but nothing passes any more. New
    /// connections reach its successor.
    pub fn silence_open_connections(&self) {
        std::mem::take(&mut *self.target.silent.lock().unwrap_or_else(PoisonError::into_inner)).cancel();
    }

    /// The same for open connections once a client sends this text.
    pub fn silence_open_connections_at(&self, text: &'static str) {
        *self.target.silent_at.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
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

impl ProxyTarget {
    async fn accept(&self, listener: TcpListener, up: &CancellationToken) {
        while let Ok((client, _)) = listener.accept().await {
            let (target, ended) = (self.clone(), up.clone());
            tokio::spawn(async move { ended.run_until_cancelled(target.forward(client)).await });
        }
    }

    async fn forward(&self, client: TcpStream) {
        // Errors end the connection, which is what the tests are about.
        let address = self.address.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Ok(server) = TcpStream::connect(address).await else { return };
        let _ = (client.set_nodelay(true), server.set_nodelay(true));
        let (from_client, to_client) = client.into_split();
        let (from_server, to_server) = server.into_split();
        let silent = self.silent.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let prompt = AtomicU64::new(0);
        let requests = copy(from_client, to_server, &prompt, |bytes| {
            self.sent.fetch_add(1, Ordering::Relaxed);
            !self.falls_silent(bytes)
        });
        let responses = copy(from_server, to_client, &self.delay_ms, |_| !self.drops_responses.load(Ordering::Relaxed));
        tokio::pin!(requests, responses);
        tokio::select! {
            () = &mut requests => {}
            () = &mut responses => {}
            // The sockets stay open, but are not read any more.
            () = silent.cancelled() => std::future::pending().await,
        }
    }
}

impl ProxyTarget {
    /// Whether a client's bytes contain the text at which open connections fall silent.
    fn falls_silent(&self, bytes: &[u8]) -> bool {
        let mut silent_at = self.silent_at.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(text) = *silent_at else { return false };
        let falls = bytes.windows(text.len()).any(|part| part == text.as_bytes());
        if falls {
            *silent_at = None;
            std::mem::take(&mut *self.silent.lock().unwrap_or_else(PoisonError::into_inner)).cancel();
        }
        falls
    }
}

/// Copies until either end closes, with this delay. Data for which `passes` is false is dropped.
async fn copy(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    delay_ms: &AtomicU64,
    passes: impl Fn(&[u8]) -> bool,
) {
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        if let delay @ 1.. = delay_ms.load(Ordering::Relaxed) {
            tokio::time::sleep(Duration::from_millis(delay)).await;
        }
        if passes(&buffer[..length]) && to.write_all(&buffer[..length]).await.is_err() {
            return;
        }
    }
}
