//! Limits the number of connections and the time that a client may keep one without using it.
//!
//! Each connection holds a [`ConnectionSlot`]. It has one request in progress and buffers of bounded size, so the
//! number of slots bounds the memory that clients can occupy.
//!
//! A few connections beyond the limit are accepted to be refused: their first request is answered 503 `overloaded`
//! without reaching a handler, and the connection ends. Any further connections are closed unanswered.
//!
//! One address may hold only a part of the connections, so that it cannot take them all. More connections from it are
//! closed unanswered. Trusted proxies, which bring the connections of many clients, and this machine are exempt.

use std::io::{Error, ErrorKind, IoSlice, Result};
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Sleep;

use accounts::security_events::SecurityEvents;
use base::config::Cidr;
use base::rate_limit::{KeyedSlot, KeyedSlots};
use domain::{Network, SecurityClass};

/// Connections that are accepted only to be answered 503, in percent of the limit; at least one.
const REFUSED_SLOTS_PERCENT: usize = 5;

/// Limits of one listener.
#[derive(Debug, Clone, Copy)]
pub struct ConnectionLimits {
    /// Connections that are served at the same time.
    pub max_connections: usize,
    /// Time for the head of a request to arrive, and for a connection to idle between requests. A proxy in front must
    /// close its idle connections sooner, or it sends a request now and then on a connection that is being closed.
    pub head_timeout: Duration,
    /// Time during which the client may read nothing of a response.
    pub write_timeout: Duration,
    /// Idle time after which a new connection is parked and its buffers are freed. Connections with more requests get
    /// several times as long.
    pub park_after: Duration,
}

impl ConnectionLimits {
    pub fn of(max_connections: usize) -> ConnectionLimits {
        ConnectionLimits {
            max_connections,
            head_timeout: Duration::from_secs(10),
            write_timeout: Duration::from_secs(10),
            park_after: Duration::from_millis(100),
        }
    }
}

/// The limiter of one listener. Clones share it.
#[derive(Clone)]
pub struct ConnectionLimiter {
    pub(super) limits: ConnectionLimits,
    /// Open connections, including those that are being refused.
    open: Gauge,
    /// Connections that found no free slot since the start.
    turned_away: Counter,
    per_address: Option<Arc<AddressLimit>>,
    events: Option<SecurityEvents>,
}

impl ConnectionLimiter {
    pub fn new(limits: ConnectionLimits, open: Gauge, turned_away: Counter) -> ConnectionLimiter {
        ConnectionLimiter { limits, open, turned_away, per_address: None, events: None }
    }

    pub fn with_address_limit(self, limit: AddressLimit) -> ConnectionLimiter {
        ConnectionLimiter { per_address: Some(Arc::new(limit)), ..self }
    }

    /// Records refused connections as security events.
    pub fn with_events(self, events: SecurityEvents) -> ConnectionLimiter {
        ConnectionLimiter { events: Some(events), ..self }
    }

    fn refuse(&self, peer: IpAddr, limit: &'static str) {
        self.turned_away.inc();
        if let Some(events) = &self.events {
            events.record(SecurityClass::ConnectionLimited, None, Some(peer), limit);
        }
    }

    /// A slot for the connection, admitted or to be refused. `None` closes the connection.
    pub(super) fn admit(&self, stream: TcpStream, peer: IpAddr) -> Option<ConnectionSlot> {
        let address_slot = self.per_address.as_ref().map(|limit| limit.take(peer)).transpose();
        let Ok(address_slot) = address_slot else {
            self.refuse(peer, "address");
            return None;
        };
        let open_before = usize::try_from(self.open.inc()).unwrap_or(0);
        let max = self.limits.max_connections;
        let slot = ConnectionSlot {
            stream,
            is_admitted: open_before < max,
            activity: Arc::default(),
            write_timeout: self.limits.write_timeout,
            write_deadline: None,
            open: self.open.clone(),
            _address_slot: address_slot.flatten(),
        };
        if !slot.is_admitted {
            self.refuse(peer, "process");
        }
        let may_answer = open_before < max + (max * REFUSED_SLOTS_PERCENT / 100).max(1);
        // A response is one write: Nagle's algorithm would only delay it.
        (may_answer && slot.stream.set_nodelay(true).is_ok()).then_some(slot)
    }
}

/// A connection that counts against the limit. Dropping it closes the connection and frees its place. A write that
/// makes no progress within the timeout fails.
#[derive(Debug)]
pub struct ConnectionSlot {
    stream: TcpStream,
    /// `false` for a connection beyond the limit, which is answered 503.
    pub(super) is_admitted: bool,
    pub(super) activity: Arc<Activity>,
    write_timeout: Duration,
    /// Runs while the client's receive window is full.
    write_deadline: Option<Pin<Box<Sleep>>>,
    open: Gauge,
    /// Boxed, because tasks of parked connections are small.
    _address_slot: Option<Box<KeyedSlot<IpAddr>>>,
}

/// What happens on a connection, readable while hyper owns its stream.
#[derive(Debug, Default)]
pub(super) struct Activity {
    /// Bytes arrived since the last write: a request is arriving or waits for its response.
    pub(super) request_pending: AtomicBool,
    /// Bytes moved in either direction since this was last reset.
    pub(super) bytes_moved: AtomicBool,
    /// hyper's shutdown must leave the socket open, because the connection is being parked.
    pub(super) is_parking: AtomicBool,
}

impl ConnectionSlot {
    /// Completes when the client has sent a byte or is gone.
    pub(super) fn readable(&self) -> impl Future<Output = Result<()>> {
        // The futures of the stream itself are ten times as large.
        std::future::poll_fn(|context| self.stream.poll_read_ready(context))
    }

    fn record_write(&mut self, progress: Poll<Result<usize>>, context: &mut Context<'_>) -> Poll<Result<usize>> {
        self.activity.bytes_moved.store(true, Ordering::Relaxed);
        if progress.is_ready() {
            self.activity.request_pending.store(false, Ordering::Relaxed);
        }
        self.with_deadline(progress, context)
    }

    /// Fails a write that has made no progress for the write timeout.
    fn with_deadline<T>(&mut self, progress: Poll<Result<T>>, context: &mut Context<'_>) -> Poll<Result<T>> {
        if progress.is_ready() {
            self.write_deadline = None;
            return progress;
        }
        let timeout = self.write_timeout;
        let deadline = self.write_deadline.get_or_insert_with(|| Box::pin(tokio::time::sleep(timeout)));
        deadline.as_mut().poll(context).map(|()| Err(Error::new(ErrorKind::TimedOut, "the client does not read")))
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.open.dec();
    }
}

impl AsyncRead for ConnectionSlot {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<Result<()>> {
        let before = into.filled().len();
        let progress = Pin::new(&mut self.stream).poll_read(context, into);
        if into.filled().len() > before {
            self.activity.request_pending.store(true, Ordering::Relaxed);
            self.activity.bytes_moved.store(true, Ordering::Relaxed);
        }
        progress
    }
}

impl AsyncWrite for ConnectionSlot {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        let progress = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.record_write(progress, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        let progress = Pin::new(&mut self.stream).poll_write_vectored(context, bytes);
        self.record_write(progress, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        let progress = Pin::new(&mut self.stream).poll_flush(context);
        self.with_deadline(progress, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        if self.activity.is_parking.load(Ordering::Relaxed) {
            return Poll::Ready(Ok(()));
        }
        let progress = Pin::new(&mut self.stream).poll_shutdown(context);
        self.with_deadline(progress, context)
    }
}

/// The limit of one listener. Trusted proxies, which bring the connections of many clients, and this machine are
/// exempt.
#[derive(Debug)]
pub struct AddressLimit {
    slots: Arc<KeyedSlots<IpAddr>>,
    exempt: Vec<Cidr>,
    is_loopback_exempt: bool,
}

/// The address holds as many connections as it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AddressFull;

impl AddressLimit {
    pub fn new(max_connections: usize, trusted_proxies: &[Cidr]) -> AddressLimit {
        AddressLimit {
            slots: KeyedSlots::new(max_connections),
            exempt: trusted_proxies.to_vec(),
            is_loopback_exempt: true,
        }
    }

    /// A slot for a connection of this address; `None` for an exempt address.
    pub(super) fn take(&self, peer: IpAddr) -> std::result::Result<Option<Box<KeyedSlot<IpAddr>>>, AddressFull> {
        if self.exempts(peer) {
            return Ok(None);
        }
        let slot = self.slots.take(Network::of(peer).host).ok_or(AddressFull)?;
        Ok(Some(Box::new(slot)))
    }

    fn exempts(&self, peer: IpAddr) -> bool {
        let peer = peer.to_canonical();
        self.exempt.iter().any(|proxies| proxies.contains(peer)) || self.is_loopback_exempt && peer.is_loopback()
    }

    /// A limit for tests, whose clients are all on this machine.
    #[cfg(test)]
    pub(super) fn with_loopback(max_connections: usize) -> AddressLimit {
        AddressLimit { is_loopback_exempt: false, ..AddressLimit::new(max_connections, &[]) }
    }
}

#[cfg(test)]
mod tests;
