//! The stock is a number in memcached. Its text protocol is spoken as it is: the words of the source article.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use anyhow::{Context, bail};
use async_trait::async_trait;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufStream};
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio::time::Instant;
use uuid::Uuid;

use crate::services::CONNECTIONS;
use crate::strategy::{Answer, Deduct};

const KEY: &str = "strategies_stock";

/// One connection, which answers one request after the other.
struct Line(BufStream<TcpStream>);

impl Line {
    async fn connect(address: &str) -> anyhow::Result<Line> {
        let stream = TcpStream::connect(address).await;
        let stream = stream.context("no memcached: scripts/stack start memcached")?;
        stream.set_nodelay(true)?;
        Ok(Line(BufStream::new(stream)))
    }

    async fn ask(&mut self, request: &str) -> anyhow::Result<String> {
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
        let head = self.ask(&format!("gets {KEY}\r\n")).await?;
        let token = head.strip_prefix("VALUE ").and_then(|rest| rest.split(' ').nth(3));
        let token = token.with_context(|| format!("memcached said {head:?}"))?.parse()?;
        let value = self.read().await?.trim().parse()?;
        self.read().await?;
        Ok((value, token))
    }
}

/// A pool. Clones share it.
#[derive(Clone)]
pub struct Memcached {
    address: Arc<str>,
    lines: Arc<Vec<Mutex<Option<Line>>>>,
    next: Arc<AtomicUsize>,
}

impl Memcached {
    pub fn new(address: String) -> Memcached {
        let lines = (0..CONNECTIONS).map(|_| Mutex::default()).collect();
        Memcached { address: address.into(), lines: Arc::new(lines), next: Arc::default() }
    }

    /// Lends a connection. One that failed is not put back.
    async fn with<T>(&self, work: impl AsyncFnOnce(&mut Line) -> anyhow::Result<T>) -> anyhow::Result<T> {
        let mut slot = self.lines[self.next.fetch_add(1, Ordering::Relaxed) % CONNECTIONS].lock().await;
        let mut line = match slot.take() {
            Some(line) => line,
            None => Line::connect(&self.address).await?,
        };
        let done = work(&mut line).await?;
        *slot = Some(line);
        Ok(done)
    }

    pub async fn version(&self) -> anyhow::Result<String> {
        let version = self.with(async |line| line.ask("version\r\n").await).await?;
        Ok(version.trim_start_matches("VERSION ").to_owned())
    }

    async fn open(&self, stock: u64) -> anyhow::Result<()> {
        let request = format!("set {KEY} 0 0 {}\r\n{stock}\r\n", stock.to_string().len());
        match self.with(async |line| line.ask(&request).await).await?.as_str() {
            "STORED" => Ok(()),
            other => bail!("memcached said {other:?}"),
        }
    }

    async fn left(&self) -> anyhow::Result<u64> {
        Ok(self.with(async |line| line.gets().await).await?.0)
    }
}

/// `decr`, as a seller would hope that it works: a number is a unit. But it stops at 0 without saying so, and so the
/// last unit is sold for ever.
pub struct Decrement {
    memcached: Memcached,
    stock: AtomicU64,
}

/// `gets`, check, `cas`, and again if somebody was faster.
pub struct CompareAndSwap {
    memcached: Memcached,
    stock: AtomicU64,
}

impl Decrement {
    pub fn new(memcached: Memcached) -> Decrement {
        Decrement { memcached, stock: AtomicU64::default() }
    }
}

impl CompareAndSwap {
    pub fn new(memcached: Memcached) -> CompareAndSwap {
        CompareAndSwap { memcached, stock: AtomicU64::default() }
    }
}

#[async_trait]
impl Deduct for Decrement {
    async fn open(&self, stock: u64) -> anyhow::Result<()> {
        self.stock.store(stock, Ordering::Relaxed);
        self.memcached.open(stock).await
    }

    async fn claim(&self, _user: Uuid, _until: Instant) -> anyhow::Result<Answer> {
        let answer = self.memcached.with(async |line| line.ask(&format!("decr {KEY} 1\r\n")).await).await?;
        Ok(if answer.trim().parse::<u64>().is_ok() { Answer::OutboxItem } else { Answer::SoldOut })
    }

    async fn deducted(&self) -> anyhow::Result<u64> {
        Ok(self.stock.load(Ordering::Relaxed) - self.memcached.left().await?)
    }
}

#[async_trait]
impl Deduct for CompareAndSwap {
    async fn open(&self, stock: u64) -> anyhow::Result<()> {
        self.stock.store(stock, Ordering::Relaxed);
        self.memcached.open(stock).await
    }

    async fn claim(&self, _user: Uuid, until: Instant) -> anyhow::Result<Answer> {
        let attempts = async |line: &mut Line| {
            while Instant::now() < until {
                let (left, token) = line.gets().await?;
                if left == 0 {
                    return Ok(Answer::SoldOut);
                }
                let value = (left - 1).to_string();
                let request = format!("cas {KEY} 0 0 {} {token}\r\n{value}\r\n", value.len());
                match line.ask(&request).await?.as_str() {
                    "STORED" => return Ok(Answer::OutboxItem),
                    "EXISTS" => {}
                    other => bail!("memcached said {other:?}"),
                }
            }
            Ok(Answer::GaveUp)
        };
        self.memcached.with(attempts).await
    }

    async fn deducted(&self) -> anyhow::Result<u64> {
        Ok(self.stock.load(Ordering::Relaxed) - self.memcached.left().await?)
    }
}
