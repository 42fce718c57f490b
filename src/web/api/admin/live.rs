//! A sale, live: server-sent events for the cockpit.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Request, header::CACHE_CONTROL};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::stream;
use serde::Serialize;
use tokio::time::{Interval, MissedTickBehavior, interval_at, timeout};
use tokio_util::sync::CancellationToken;

use crate::cockpit::Viewer;
use crate::web::Shop;
use crate::web::cache_policy::Cache;
use crate::web::extract::SalePath;
use crate::web::extract::session::{Look, Staff};
use crate::web::problem::{Code, Problem};

/// How soon a browser comes back when the stream breaks.
const RETRY: Duration = Duration::from_secs(2);
const HEARTBEAT: Duration = Duration::from_secs(10);
/// Whoever loses the right to look sees nothing new after so long.
const CHECK_EVERY: Duration = Duration::from_secs(10);
const CHECK_WITHIN: Duration = Duration::from_secs(2);

/// A stream in progress.
struct Watching {
    shop: Arc<Shop>,
    /// The head of the request, to ask again who it is.
    head: Parts,
    viewer: Viewer,
    closing: CancellationToken,
    check: Interval,
    /// What is sent before anything else.
    first: VecDeque<Event>,
    ended: bool,
}

/// `history` once, then a `sample` each second, then `end` with the reason.
pub async fn live(
    State(shop): State<Arc<Shop>>,
    _: Staff<Look>,
    SalePath(sale): SalePath,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    shop.catalogue.entry(sale).await?.ok_or(Code::NoSuchSale)?;
    let viewer = shop.cockpit.watch(sale);
    let seen = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse::<i64>().ok());
    let news: Vec<_> = viewer.history.iter().filter(|point| seen.is_none_or(|seen| point.at > seen)).collect();
    let first = VecDeque::from([event("history", &news).retry(RETRY)]);
    let mut check = interval_at(tokio::time::Instant::now() + CHECK_EVERY, CHECK_EVERY);
    check.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut head, ()) = Request::new(()).into_parts();
    head.headers = headers;
    let closing = shop.cockpit.closing();
    let watching = Watching { shop, head, viewer, closing, check, first, ended: false };
    let events = stream::unfold(watching, |mut watching| async {
        let event = watching.next().await?;
        Some((Ok::<_, Infallible>(event), watching))
    });
    let mut response = Sse::new(events).keep_alive(KeepAlive::new().interval(HEARTBEAT)).into_response();
    response.headers_mut().insert(CACHE_CONTROL, Cache::Private.header());
    // A proxy that collects events before it passes them on would make them old.
    response.headers_mut().insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    Ok(response)
}

impl Watching {
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
                _ = self.check.tick() => {
                    if !self.may_look().await {
                        return Some(self.end("not_allowed"));
                    }
                }
                sample = self.viewer.next() => return Some(match sample {
                    Some(sample) => event("sample", &*sample).id(sample.at.as_millisecond().to_string()),
                    None => self.end("stopping"),
                }),
            }
        }
    }

    /// `false` only when that is certain: a database that is away is a reason to go on watching.
    async fn may_look(&mut self) -> bool {
        let asked = timeout(CHECK_WITHIN, Staff::<Look>::from_request_parts(&mut self.head, &self.shop)).await;
        match asked {
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
