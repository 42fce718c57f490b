//! The counters of a sale as server-sent events, for the cockpit.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::SocketAddr;

use axum::extract::{ConnectInfo, FromRequestParts};
use axum::http::header::CACHE_CONTROL;
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, Request};
use axum::response::sse::{Event, KeepAlive, Sse};
use tokio::time::{Interval, MissedTickBehavior, interval_at, timeout};
use tokio_util::sync::CancellationToken;

use crate::prelude::*;
use control::cockpit::{OpeningCounts, Sample, Viewer};
use web::account_limits::StreamSlot;
use web::extract::SalePath;

/// After this time a browser reconnects if the stream broke.
const RECONNECT_INTERVAL: Duration = Duration::from_secs(2);
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(10);
/// A viewer who loses the permission is disconnected within this time. A session that ended is noticed at the next sample.
const PERMISSION_CHECK_INTERVAL: Duration = Duration::from_secs(10);
const PERMISSION_CHECK_TIMEOUT: Duration = Duration::from_secs(2);

/// An open stream.
struct LiveStream {
    shop: Arc<Shop>,
    /// The head of the request, with which the permission is checked again.
    head: Parts,
    viewer: Viewer,
    closing: CancellationToken,
    permission_check: Interval,
    /// Events to send before the next sample.
    first: VecDeque<Event>,
    /// The opening as it was last sent.
    opening: Option<OpeningCounts>,
    ended: bool,
    _slot: StreamSlot,
}

/// Sends `history` once, a `sample` each second, the `opening` when it has changed, and at last `end` with the reason.
pub async fn live(
    State(shop): State<Arc<Shop>>,
    staff: Staff<ViewConsole>,
    ClientAddress(client): ClientAddress,
    SalePath(sale): SalePath,
    headers: HeaderMap,
) -> Answer {
    shop.catalogue.entry(sale).await?.ok_or(Code::NoSuchSale)?;
    let account = staff.session.user_id;
    let Some(slot) = shop.streams.take(account, client) else {
        shop.security.record(SecurityClass::StreamLimited, Some(account), Some(client), "");
        return Err(Code::TooManyStreams.into());
    };
    let viewer = shop.cockpit.watch(sale);
    let last_seen = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse::<i64>().ok());
    let history: Vec<_> = viewer.history.iter().filter(|point| last_seen.is_none_or(|seen| point.at > seen)).collect();
    let first = VecDeque::from([event("history", &history).retry(RECONNECT_INTERVAL)]);
    let mut permission_check =
        interval_at(tokio::time::Instant::now() + PERMISSION_CHECK_INTERVAL, PERMISSION_CHECK_INTERVAL);
    permission_check.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut head, ()) = Request::new(()).into_parts();
    head.headers = headers;
    // A refusal is recorded with the network of the client.
    head.extensions.insert(ConnectInfo(SocketAddr::from((client, 0))));
    let closing = shop.cockpit.closing();
    let live =
        LiveStream { shop, head, viewer, closing, permission_check, first, opening: None, ended: false, _slot: slot };
    let events = stream::unfold(live, |mut live| async {
        let event = live.next().await?;
        Some((Ok::<_, Infallible>(event), live))
    });
    let mut response = Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE_INTERVAL)).into_response();
    response.headers_mut().insert(CACHE_CONTROL, Cache::Private.header());
    // A proxy that buffers the response would delay the events.
    response.headers_mut().insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    Ok(response)
}

impl LiveStream {
    async fn next(&mut self) -> Option<Event> {
        if let Some(event) = self.first.pop_front() {
            return Some(event);
        }
        if self.ended {
            return None;
        }
        loop {
            tokio::select! {
                biased;
                () = self.closing.cancelled() => return Some(self.end("stopping")),
                _ = self.permission_check.tick() => {
                    if !self.may_look().await {
                        return Some(self.end("not_allowed"));
                    }
                }
                sample = self.viewer.next() => return Some(match sample {
                    Some(_) if self.shop.accounts.session(&self.head.headers).is_none() => self.end("not_allowed"),
                    Some(sample) => {
                        self.send_opening(&sample);
                        event("sample", &*sample).id(sample.at.as_millisecond().to_string())
                    }
                    None => self.end("stopping"),
                }),
            }
        }
    }

    /// Sends the opening after the sample if it has changed.
    fn send_opening(&mut self, sample: &Sample) {
        if sample.opening.is_some() && sample.opening != self.opening {
            self.opening.clone_from(&sample.opening);
            self.first.extend(self.opening.as_ref().map(|opening| event("opening", opening)));
        }
    }

    /// `false` only when the permission is certainly gone. An unavailable database does not end the stream.
    async fn may_look(&mut self) -> bool {
        let checked =
            timeout(PERMISSION_CHECK_TIMEOUT, Staff::<ViewConsole>::from_request_parts(&mut self.head, &self.shop))
                .await;
        match checked {
            Ok(Err(problem)) => !problem.code().status().is_client_error(),
            _ => true,
        }
    }

    fn end(&mut self, reason: &'static str) -> Event {
        self.ended = true;
        event("end", &serde_json::json!({"reason": reason}))
    }
}

fn event(name: &str, data: &impl Serialize) -> Event {
    let text = serde_json::to_string(data).unwrap_or_else(|_| "null".into());
    Event::default().event(name).data(text)
}

web::operations! { "administrators"
    /// Live data of a sale: funnel, stock, queue, rates
    ///
    /// Server-sent events: `history` once with the points of the last 15 minutes (after `Last-Event-ID` only newer
    /// ones), then a `sample` each second with the moment as its id, `opening` when it has changed (requests and grants
    /// in slots of 10 ms of the first five seconds), and `end` with a `reason` (`stopping`, `not_allowed`). `alarms`
    /// names what needs a look (`slow`, `errors`, `drift`, `nearly_sold`). Each part of a sample has its own age. Its
    /// `value` is null while its service does not answer, and the whole part is null if the service is not configured.
    GET "/api/admin/sales/{sale}/live" watchSale = live, events;
        200 String;
        refuses TooManyStreams;
}
