//! One connection from its first byte to its end.
//!
//! While requests arrive, hyper serves HTTP/1.1 on the connection. It holds two buffers and the state of a request. A
//! connection that has been idle for a moment is parked: hyper's state is dropped and only the socket and this task of
//! half a kilobyte remain, so that ten thousand idle connections cost little memory. The next byte unparks it.

use std::convert::Infallible;
use std::future::Ready;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::header::CONNECTION;
use axum::http::{HeaderValue, Request};
use axum::response::{IntoResponse, Response};
use axum::routing::future::RouteFuture;
use futures::future::Either;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tower::Service;

use crate::server::limits::{ConnectionLimits, ConnectionSlot};
use crate::{Code, Problem};
use base::lifecycle::Shutdown;

/// Limit of hyper's buffer per connection, in bytes: the head of a request, or responses to be written. Heads of
/// browsers have a few hundred bytes.
const MAX_BUFFER_BYTES: usize = 32 * 1024;
/// The idle time before parking grows with each active period up to this multiple of [`ConnectionLimits::park_after`].
/// Under load the requests of one busy connection are far apart, and parking between them would cost more than it
/// saves.
const MAX_IDLE_FACTOR: u32 = 8;

/// How long a connection is kept open after the stop for a request that is on its way.
const LAST_REQUEST_TIMEOUT: Duration = Duration::from_millis(100);

/// How often a connection is looked at while the process drains.
const DRAIN_CHECK_INTERVAL: Duration = Duration::from_millis(20);

/// Serves a connection until the client closes it, a limit ends it, or the server stops.
#[expect(clippy::manual_async_fn, reason = "an async function would store each argument twice in its future")]
pub(super) fn serve_connection(
    mut slot: ConnectionSlot,
    peer: SocketAddr,
    router: Router,
    limits: ConnectionLimits,
    shutdown: Shutdown,
) -> impl Future<Output = ()> + Send {
    async move {
        let mut idle_time = limits.park_after;
        while wait_for_request(&slot, limits.head_timeout, &shutdown.stop).await {
            // Boxed, so that a parked task is small.
            match Box::pin(serve_http(slot, peer, router.clone(), limits, &mut idle_time, &shutdown)).await {
                Some(parked) => slot = parked,
                None => return,
            }
        }
    }
}

/// Waits for the first byte of a request. `false` after the timeout, when the client is gone, and soon after the stop: a
/// request may be on its way.
async fn wait_for_request(slot: &ConnectionSlot, timeout: Duration, stop: &CancellationToken) -> bool {
    tokio::select! {
        biased;
        readable = slot.readable() => return readable.is_ok(),
        () = stop.cancelled() => {}
        () = sleep(timeout) => return false,
    }
    tokio::time::timeout(LAST_REQUEST_TIMEOUT, slot.readable()).await.is_ok_and(|readable| readable.is_ok())
}

/// Serves HTTP until the connection ends (`None`) or has been idle for `idle_time` (its slot, to be parked). Each
/// active period doubles `idle_time`.
async fn serve_http(
    slot: ConnectionSlot,
    peer: SocketAddr,
    router: Router,
    limits: ConnectionLimits,
    idle_time: &mut Duration,
    shutdown: &Shutdown,
) -> Option<ConnectionSlot> {
    let activity = slot.activity.clone();
    let service = ConnectionService { router, peer, is_admitted: slot.is_admitted };
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(limits.head_timeout).max_buf_size(MAX_BUFFER_BYTES);
    // A request is answered even if the client is gone. Detecting that would take a read, and a buffer to read into,
    // during every request.
    http.half_close(true);
    http.keep_alive(!shutdown.draining.is_cancelled());
    let mut connection = http.serve_connection(TokioIo::new(slot), service);
    let mut idle_check = pin!(sleep(*idle_time));
    let mut is_closing = false;
    loop {
        tokio::select! {
            biased;
            // An error here is the client's fault, so it is not logged.
            _ = &mut connection => return None,
            () = &mut idle_check => {}
        }
        // Checked at intervals: resetting the timer at each request would contend for the runtime's timer lock.
        let was_active = activity.bytes_moved.swap(false, Ordering::Relaxed);
        let is_pending = activity.request_pending.load(Ordering::Relaxed);
        let is_idle = !was_active && !is_pending;
        let is_draining = shutdown.draining.is_cancelled();
        // While the process drains, a connection ends with the answer to a request. One that is idle is parked instead: the
        // client may be sending the next request, which would be lost.
        if !is_closing && (is_idle || is_draining && is_pending || shutdown.stop.is_cancelled()) {
            // hyper ends an idle connection at once, any other one after its response.
            is_closing = true;
            activity.is_parking.store(is_idle, Ordering::Relaxed);
            Pin::new(&mut connection).graceful_shutdown();
            let ended = futures::poll!(&mut connection);
            activity.is_parking.store(false, Ordering::Relaxed);
            if let Poll::Ready(ended) = ended {
                let parts = connection.into_parts();
                let is_clean = is_idle && ended.is_ok() && parts.read_buf.is_empty();
                // A byte that moved during the shutdown would be lost, so such a connection ends.
                return (is_clean && !activity.bytes_moved.load(Ordering::Relaxed)).then(|| parts.io.into_inner());
            }
        }
        if was_active {
            *idle_time = (*idle_time * 2).min(limits.park_after * MAX_IDLE_FACTOR);
        }
        let next_check = if is_draining { DRAIN_CHECK_INTERVAL } else { *idle_time };
        idle_check.as_mut().reset(Instant::now() + next_check);
    }
}

/// The router for an admitted connection. For any other, 503 `overloaded` and the end of the connection.
struct ConnectionService {
    router: Router,
    peer: SocketAddr,
    is_admitted: bool,
}

impl hyper::service::Service<Request<Incoming>> for ConnectionService {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Either<RouteFuture<Infallible>, Ready<Result<Response<Body>, Infallible>>>;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        if self.is_admitted {
            request.extensions_mut().insert(ConnectInfo(self.peer));
            // A router is always ready.
            return Either::Left(self.router.clone().call(request));
        }
        let mut refusal = Problem::new(Code::Overloaded).into_response();
        refusal.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        Either::Right(std::future::ready(Ok(refusal)))
    }
}
