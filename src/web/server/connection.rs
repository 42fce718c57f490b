//! One connection from its first byte to its end. While requests come, hyper speaks HTTP on it, with two buffers and the
//! state of a request; a connection that has been quiet for a moment is parked: nothing is left of it but its socket and
//! this small task, so that ten thousand people who look at their screens cost little.

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

use crate::web::problem::{Code, Problem};
use crate::web::server::limits::{ConnectionSlot, Limits};

/// The most that hyper gathers of one connection, in bytes: a request's head, or answers on their way out. Heads of
/// honest clients have a few hundred bytes.
const BUFFER: usize = 32 * 1024;
/// So many times as long as a new connection one that was busy may be quiet before it is parked: in a crowd its turn comes
/// rarely.
const BUSY: u32 = 8;

/// Answers until either side has had enough.
#[expect(clippy::manual_async_fn, reason = "an async function would keep everything it is given twice")]
pub(super) fn converse(
    mut slot: ConnectionSlot,
    from: SocketAddr,
    router: Router,
    limits: Limits,
    stop: CancellationToken,
) -> impl Future<Output = ()> + Send {
    async move {
        let mut patience = limits.quiet;
        while speaks(&slot, limits.head_within, &stop).await {
            // Boxed, so that a parked task is small.
            match Box::pin(answer(slot, from, router.clone(), limits, &mut patience, &stop)).await {
                Some(parked) => slot = parked,
                None => return,
            }
        }
    }
}

/// Whether the client says something in time, and before the stop.
async fn speaks(slot: &ConnectionSlot, within: Duration, stop: &CancellationToken) -> bool {
    tokio::select! {
        biased;
        () = stop.cancelled() => false,
        readable = slot.readable() => readable.is_ok(),
        () = sleep(within) => false,
    }
}

/// Speaks HTTP until the connection ends, or is quiet: then the answer is its slot. Every request adds to the patience.
async fn answer(
    slot: ConnectionSlot,
    from: SocketAddr,
    router: Router,
    limits: Limits,
    patience: &mut Duration,
    stop: &CancellationToken,
) -> Option<ConnectionSlot> {
    let activity = slot.activity.clone();
    let guest = Guest { router, from, seated: slot.seated };
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(limits.head_within).max_buf_size(BUFFER);
    // Whoever has asked is answered, gone or not: looking for that would take a read, and a new buffer to read into, for
    // every answer that is waited for.
    http.half_close(true);
    let mut connection = http.serve_connection(TokioIo::new(slot), guest);
    let mut over = pin!(sleep(*patience));
    let mut ending = false;
    loop {
        tokio::select! {
            biased;
            // What went wrong is the client's affair.
            _ = &mut connection => return None,
            () = &mut over => {}
        }
        // Looked at now and then only: a lock for each request would be shared by all of them.
        let moved = activity.touched.swap(false, Ordering::Relaxed);
        let quiet = !moved && !activity.asking.load(Ordering::Relaxed);
        if !ending && (quiet || stop.is_cancelled()) {
            // An idle connection ends at once. One that is not ends after its answer, which is right as well.
            ending = true;
            activity.parking.store(quiet, Ordering::Relaxed);
            Pin::new(&mut connection).graceful_shutdown();
            let ended = futures::poll!(&mut connection);
            activity.parking.store(false, Ordering::Relaxed);
            if let Poll::Ready(ended) = ended {
                let parts = connection.into_parts();
                let clean = quiet && ended.is_ok() && parts.read_buf.is_empty();
                // Whatever moved a byte in that instant was not idle.
                return (clean && !activity.touched.load(Ordering::Relaxed)).then(|| parts.io.into_inner());
            }
        }
        if moved {
            *patience = (*patience * 2).min(limits.quiet * BUSY);
        }
        over.as_mut().reset(Instant::now() + *patience);
    }
}

/// The handlers, for a connection that has a slot; otherwise a refusal.
struct Guest {
    router: Router,
    from: SocketAddr,
    seated: bool,
}

impl hyper::service::Service<Request<Incoming>> for Guest {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Either<RouteFuture<Infallible>, Ready<Result<Response<Body>, Infallible>>>;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        if self.seated {
            request.extensions_mut().insert(ConnectInfo(self.from));
            // A router is always ready.
            return Either::Left(self.router.clone().call(request));
        }
        let mut answer = Problem::new(Code::Overloaded).into_response();
        answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        Either::Right(std::future::ready(Ok(answer)))
    }
}
