//! Asking the shop over HTTP, on time if the generator can, and counting every answer.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::http::{HeaderValue, Method, Request, header};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use serde::Deserialize;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep_until, timeout};

use super::measure::{Measure, Step, Worth};

/// Longer than people wait.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
/// Questions under way at the same time, each on a connection of its own; below the usual limit of open files.
pub(super) const CONNECTIONS: usize = 768;
/// Sooner than nginx and the shop, which would close a connection at the moment of the next question now and then.
const IDLE_FOR: Duration = Duration::from_secs(3);

/// Everybody's way to the shop.
pub struct Http {
    client: Client<HttpConnector, Full<Bytes>>,
    origin: String,
    places: Semaphore,
    measure: Arc<Measure>,
}

/// One question.
pub struct Question<'a> {
    pub method: Method,
    pub path: &'a str,
    pub cookie: &'a HeaderValue,
    pub json: Option<String>,
}

/// What came back.
pub struct Answer {
    pub worth: Worth,
    /// 0 when nothing came back.
    pub status: u16,
    /// Of a problem; empty otherwise.
    pub code: String,
    pub retry_after: Option<Duration>,
    pub body: Bytes,
}

/// The part of a problem that says which one it is.
#[derive(Deserialize)]
struct Problem {
    code: String,
}

impl<'a> Question<'a> {
    pub fn get(path: &'a str, cookie: &'a HeaderValue) -> Question<'a> {
        Question { method: Method::GET, path, cookie, json: None }
    }

    pub fn post(path: &'a str, cookie: &'a HeaderValue, json: String) -> Question<'a> {
        Question { method: Method::POST, path, cookie, json: Some(json) }
    }
}

impl Answer {
    /// The body, if it is what was hoped for.
    pub fn read<'a, T: Deserialize<'a>>(&'a self) -> Option<T> {
        serde_json::from_slice(&self.body).ok()
    }
}

impl Http {
    pub fn new(origin: &str, measure: Arc<Measure>) -> Http {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(ANSWER_WITHIN));
        let mut builder = Client::builder(TokioExecutor::new());
        builder.pool_timer(TokioTimer::new()).pool_idle_timeout(IDLE_FOR).pool_max_idle_per_host(CONNECTIONS);
        let places = Semaphore::new(CONNECTIONS);
        Http { client: builder.build(connector), origin: origin.to_owned(), places, measure }
    }

    /// Asks at the instant `due`, or as soon after it as the generator can.
    pub async fn ask(&self, step: Step, due: Instant, question: Question<'_>) -> Answer {
        sleep_until(due).await;
        let place = self.places.acquire().await;
        self.measure.sent(due.elapsed());
        let mut answer = match timeout(ANSWER_WITHIN, self.send(question)).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Answer::none("connection failed"),
            Err(_) => Answer::none("no answer in time"),
        };
        drop(place);
        answer.worth = self.measure.answered(step, due.elapsed(), answer.status, &answer.code);
        answer
    }

    async fn send(&self, question: Question<'_>) -> anyhow::Result<Answer> {
        let mut request = Request::builder()
            .method(question.method)
            .uri(format!("{}{}", self.origin, question.path))
            .header(header::COOKIE, question.cookie)
            .header(header::ACCEPT_ENCODING, "br, gzip")
            .header(header::USER_AGENT, "seckill-rehearse");
        if question.json.is_some() {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        let body = Full::from(question.json.unwrap_or_default());
        let (parts, body) = self.client.request(request.body(body)?).await?.into_parts();
        let body = body.collect().await?.to_bytes();
        let status = parts.status.as_u16();
        let code = match status {
            400.. => serde_json::from_slice(&body).map_or_else(|_| String::new(), |problem: Problem| problem.code),
            _ => String::new(),
        };
        let seconds = parts.headers.get(header::RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
        let retry_after = seconds.map(Duration::from_secs);
        Ok(Answer { worth: Worth::Good, status, code, retry_after, body })
    }
}

impl Answer {
    fn none(why: &str) -> Answer {
        Answer { worth: Worth::Error, status: 0, code: why.to_owned(), retry_after: None, body: Bytes::new() }
    }
}
