//! Open-loop load: requests are due at fixed instants, whether or not the shop keeps up. When all connections are busy
//! at that instant the request is sent late, and its wait counts from the instant at which it was due.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::Context;
use futures::future::join_all;
use hdrhistogram::Histogram;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The load of one run.
pub struct Load {
    pub address: SocketAddr,
    /// Requests per second; infinity sends the next request after each response (closed loop).
    pub rate: f64,
    pub seconds: u64,
    pub connections: usize,
    /// Complete requests. Each is sent once.
    pub requests: Vec<Vec<u8>>,
}

/// The measurements of one run.
pub struct LoadResult {
    /// Microseconds from the instant at which a request was due to the end of its response, for every status.
    pub waits: Histogram<u64>,
    pub statuses: BTreeMap<u16, u64>,
    /// Refusals that come with `Retry-After`.
    pub retry_after: u64,
    /// Connections that closed before the response.
    pub lost: u64,
    /// Requests that were due but not sent before the end.
    pub unsent: u64,
    pub took: Duration,
}

impl LoadResult {
    fn new() -> anyhow::Result<LoadResult> {
        let waits = Histogram::new_with_bounds(1, 120_000_000, 3).context("a histogram")?;
        let (lost, unsent, retry_after) = (0, 0, 0);
        Ok(LoadResult { waits, statuses: BTreeMap::new(), retry_after, lost, unsent, took: Duration::ZERO })
    }

    pub fn count(&self, status: u16) -> u64 {
        self.statuses.get(&status).copied().unwrap_or(0)
    }

    /// Responses with this status per second.
    pub fn rate(&self, status: u16) -> f64 {
        self.count(status) as f64 / self.took.as_secs_f64()
    }

    /// A percentile of the waits in milliseconds.
    pub fn ms(&self, percentile: f64) -> f64 {
        self.waits.value_at_percentile(percentile) as f64 / 1000.0
    }

    fn answered(&mut self, status: u16, retry_after: bool, due: Instant) {
        *self.statuses.entry(status).or_default() += 1;
        self.retry_after += u64::from(retry_after);
        let wait = u64::try_from(due.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.waits.saturating_record(wait.max(1));
    }
}

impl Load {
    /// Sends all requests on this thread's runtime.
    pub async fn send(&self) -> anyhow::Result<LoadResult> {
        let (next, began) = (Cell::new(0), Instant::now());
        // One histogram for all connections, because thousands of them would not fit into the processor's cache.
        let result = RefCell::new(LoadResult::new()?);
        join_all((0..self.connections).map(|_| self.work(&next, began, &result))).await;
        let mut result = result.into_inner();
        result.took = began.elapsed().min(Duration::from_secs(self.seconds));
        let due = (self.rate * result.took.as_secs_f64()).min(self.requests.len() as f64) as u64;
        result.unsent = due.saturating_sub(result.statuses.values().sum::<u64>() + result.lost);
        Ok(result)
    }

    /// One connection, which sends the next due request.
    async fn work(&self, next: &Cell<usize>, began: Instant, result: &RefCell<LoadResult>) {
        let mut connection = None;
        let end = began + Duration::from_secs(self.seconds);
        let mut buffer = Vec::with_capacity(4096);
        loop {
            let n = next.replace(next.get() + 1);
            let Some(request) = self.requests.get(n) else { break };
            let mut due = began + Duration::from_secs_f64(n as f64 / self.rate);
            if due >= end || Instant::now() >= end {
                break;
            }
            if due > Instant::now() {
                tokio::time::sleep_until(due.into()).await;
                // A late timer is a delay of the generator, so it does not count.
                due = Instant::now();
            } else if self.rate.is_infinite() {
                due = Instant::now();
            }
            match exchange(self.address, &mut connection, request, &mut buffer).await {
                Ok((status, retry_after)) => result.borrow_mut().answered(status, retry_after, due),
                Err(_) => {
                    result.borrow_mut().lost += 1;
                    connection = None;
                }
            }
        }
    }
}

/// Sends a request; returns the status and whether there is a `Retry-After`.
async fn exchange(
    address: SocketAddr,
    connection: &mut Option<TcpStream>,
    request: &[u8],
    buffer: &mut Vec<u8>,
) -> anyhow::Result<(u16, bool)> {
    let stream = match connection {
        Some(stream) => stream,
        None => {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            connection.insert(stream)
        }
    };
    stream.write_all(request).await?;
    buffer.clear();
    let head = loop {
        if let Some(end) = buffer.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
        anyhow::ensure!(stream.read_buf(buffer).await? > 0, "no answer");
    };
    let text = std::str::from_utf8(&buffer[..head])?.to_ascii_lowercase();
    let status = text.get(9..12).context("a status")?.parse()?;
    let length = text.split("content-length: ").nth(1).and_then(|rest| rest.split("\r\n").next()?.parse().ok());
    let whole = head + length.unwrap_or(0);
    while buffer.len() < whole {
        anyhow::ensure!(stream.read_buf(buffer).await? > 0, "half an answer");
    }
    if text.contains("connection: close") {
        *connection = None;
    }
    Ok((status, text.contains("retry-after: ")))
}
