//! Strategies with the stock as a number in memcached, over its text protocol, with the commands of the source article.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, bail};
use async_trait::async_trait;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufStream};
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio::time::Instant;
use uuid::Uuid;

use crate::strategy::{Answer, CONNECTIONS, StockStrategy};

const KEY: &str = "strategies_stock";

/// One connection, with one request at a time.
struct TextConnection(BufStream<TcpStream>);

impl TextConnection {
    async fn connect(address: &str) -> anyhow::Result<TextConnection> {
        let stream = TcpStream::connect(address).await;
        let stream = stream.context("no memcached: scripts/stack start memcached")?;
        stream.set_nodelay(true)?;
        Ok(TextConnection(BufStream::new(stream)))
    }

    async fn request(&mut self, request: &str) -> anyhow::Result<String> {
        self.0.write_all(request.as_bytes()).await?;
        self.0.flush().await?;
        self.read().await
    }

    async fn read(&mut self) -> anyhow::Result<String> {
        let mut line = String::new();
        self.0.read_line(&mut line).await?;
        Ok(line.trim_end().to_owned())
    }

    /// The number under the key, and the token that `cas` compares.
    async fn gets(&mut self) -> anyhow::Result<(u64, u64)> {
        let head = self.request(&format!("gets {KEY}\r\n")).await?;
        let token = head.strip_prefix("VALUE ").and_then(|rest| rest.split(' ').nth(3));
        let token = token.with_context(|| format!("unexpected answer of memcached: {head:?}"))?.parse()?;
        let value = self.read().await?.trim().parse()?;
        self.read().await?;
        Ok((value, token))
    }
}

/// A pool of connections. Clones share it.
#[derive(Clone)]
pub struct Memcached {
    address: Arc<str>,
    pool: Arc<Vec<Mutex<Option<TextConnection>>>>,
    next: Arc<AtomicUsize>,
}

impl Memcached {
    pub fn new(address: String) -> Memcached {
        let pool = (0..CONNECTIONS).map(|_| Mutex::default()).collect();
        Memcached { address: address.into(), pool: Arc::new(pool), next: Arc::default() }
    }

    /// Runs `work` with a connection. A connection that failed is not returned to the pool.
    async fn with<T>(&self, work: impl AsyncFnOnce(&mut TextConnection) -> anyhow::Result<T>) -> anyhow::Result<T> {
        let mut slot = self.pool[self.next.fetch_add(1, Ordering::Relaxed) % CONNECTIONS].lock().await;
        let mut connection = match slot.take() {
            Some(connection) => connection,
            None => TextConnection::connect(&self.address).await?,
        };
        let done = work(&mut connection).await?;
        *slot = Some(connection);
        Ok(done)
    }

    pub async fn version(&self) -> anyhow::Result<String> {
        let version = self.with(async |connection| connection.request("version\r\n").await).await?;
        Ok(version.trim_start_matches("VERSION ").to_owned())
    }

    async fn open(&self, stock: u64) -> anyhow::Result<()> {
        let request = format!("set {KEY} 0 0 {}\r\n{stock}\r\n", stock.to_string().len());
        match self.with(async |connection| connection.request(&request).await).await?.as_str() {
            "STORED" => Ok(()),
            other => bail!("unexpected answer of memcached: {other:?}"),
        }
    }

    async fn left(&self) -> anyhow::Result<u64> {
        Ok(self.with(async |connection| connection.gets().await).await?.0)
    }
}

/// `decr`, where every numeric answer counts as a unit. It stays at 0 without an error, so this strategy oversells
/// without end.
pub struct Decrement(pub Memcached);

/// `gets`, check, `cas`, and a retry if another claim was faster.
pub struct CompareAndSwap(pub Memcached);

#[async_trait]
impl StockStrategy for Decrement {
    async fn open(&self, stock: u64) -> anyhow::Result<()> {
        self.0.open(stock).await
    }

    async fn claim(&self, _user: Uuid, _until: Instant) -> anyhow::Result<Answer> {
        let answer = self.0.with(async |connection| connection.request(&format!("decr {KEY} 1\r\n")).await).await?;
        Ok(if answer.trim().parse::<u64>().is_ok() { Answer::Granted } else { Answer::SoldOut })
    }

    async fn deducted(&self, stock: u64) -> anyhow::Result<u64> {
        Ok(stock - self.0.left().await?)
    }
}

#[async_trait]
impl StockStrategy for CompareAndSwap {
    async fn open(&self, stock: u64) -> anyhow::Result<()> {
        self.0.open(stock).await
    }

    async fn claim(&self, _user: Uuid, until: Instant) -> anyhow::Result<Answer> {
        let attempts = async |connection: &mut TextConnection| {
            while Instant::now() < until {
                let (left, token) = connection.gets().await?;
                if left == 0 {
                    return Ok(Answer::SoldOut);
                }
                let value = (left - 1).to_string();
                let request = format!("cas {KEY} 0 0 {} {token}\r\n{value}\r\n", value.len());
                match connection.request(&request).await?.as_str() {
                    "STORED" => return Ok(Answer::Granted),
                    "EXISTS" => {}
                    other => bail!("unexpected answer of memcached: {other:?}"),
                }
            }
            Ok(Answer::GaveUp)
        };
        self.0.with(attempts).await
    }

    async fn deducted(&self, stock: u64) -> anyhow::Result<u64> {
        Ok(stock - self.0.left().await?)
    }
}
