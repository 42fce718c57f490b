//! Load that comes when it is due, whether or not the shop keeps up (open loop): a request that could not be sent in time
//! because every connection was waiting is late by that much, and its wait counts from the moment it was due.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::Context;
use futures::future::join_all;
use hdrhistogram::Histogram;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// What is to be sent.
pub struct Load {
    pub address: SocketAddr,
    /// Per second; infinity sends as fast as answers come (closed loop).
    pub rate: f64,
    pub seconds: u64,
    pub connections: usize,
    /// Each is sent once.
    pub requests: Vec<Vec<u8>>,
}

/// What came of it.
pub struct Outcome {
    /// Microseconds from the moment a request was due to the end of its answer, whatever the answer was.
    pub waits: Histogram<u64>,
    pub statuses: BTreeMap<u16, u64>,
    /// Refusals that come with `Retry-After`.
    pub retry_after: u64,
    /// Connections that ended before the answer.
    pub lost: u64,
    /// Requests whose turn did not come in the time.
    pub unsent: u64,
    pub took: Duration,
}

impl Outcome {
    fn new() -> anyhow::Result<Outcome> {
        let waits = Histogram::new_with_bounds(1, 120_000_000, 3).context("a histogram")?;
        let (lost, unsent, retry_after) = (0, 0, 0);
        Ok(Outcome { waits, statuses: BTreeMap::new(), retry_after, lost, unsent, took: Duration::ZERO })
    }

    pub fn count(&self, status: u16) -> u64 {
        self.statuses.get(&status).copied().unwrap_or(0)
    }

    /// Answers with this status a second.
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
    /// Sends it all on this thread's runtime.
    pub async fn send(&self) -> anyhow::Result<Outcome> {
        let (next, began) = (Cell::new(0), Instant::now());
        // One for all: thousands of histograms would be as much memory as the processor has no cache for.
        let outcome = RefCell::new(Outcome::new()?);
        join_all((0..self.connections).map(|_| self.work(&next, began, &outcome))).await;
        let mut outcome = outcome.into_inner();
        outcome.took = began.elapsed().min(Duration::from_secs(self.seconds));
        let due = (self.rate * outcome.took.as_secs_f64()).min(self.requests.len() as f64) as u64;
        outcome.unsent = due.saturating_sub(outcome.statuses.values().sum::<u64>() + outcome.lost);
        Ok(outcome)
    }

    /// One connection: takes the next request that is due.
    async fn work(&self, next: &Cell<usize>, began: Instant, outcome: &RefCell<Outcome>) {
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
                // How late a timer wakes is the generator's doing.
                due = Instant::now();
            } else if self.rate.is_infinite() {
                due = Instant::now();
            }
            match exchange(self.address, &mut connection, request, &mut buffer).await {
                Ok((status, retry_after)) => outcome.borrow_mut().answered(status, retry_after, due),
                Err(_) => {
                    outcome.borrow_mut().lost += 1;
                    connection = None;
                }
            }
        }
    }
}

/// The answer's status, and whether it says when to come again.
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
