//! The HTTP client of shoppers and bots. It sends each request at its due instant, or as soon after it as the generator
//! can, and counts every response.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::http::{HeaderValue, Method, Request, header};
use boxed::boxed;
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use jiff::Timestamp;
use serde::Deserialize;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep_until, timeout};

use crate::measure::{LoadRecorder, ResponseClass, Step};
use domain::waiting_room::Place;
use domain::{DrawState, OrderId, OrderStatus, Phase};

/// How long a response may take: longer than shoppers wait.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(10);
/// Requests in flight at the same time, each on its own connection. The number is below the usual limit of open files.
pub(super) const MAX_CONNECTIONS: usize = 768;
/// When an idle connection is closed. This is sooner than nginx and the shop do it; otherwise they would now and then
/// close a connection just as it is used again.
const IDLE_TIMEOUT: Duration = Duration::from_secs(3);

/// All requests of a rehearsal pass through one client.
pub struct ApiClient {
    client: Client<HttpConnector, Full<Bytes>>,
    origin: String,
    connections: Semaphore,
    recorder: Arc<LoadRecorder>,
}

pub struct ApiRequest<'a> {
    pub method: Method,
    pub path: &'a str,
    pub cookie: &'a HeaderValue,
    pub json: Option<String>,
}

pub struct ApiResponse {
    pub class: ResponseClass,
    /// The HTTP status; 0 if there was no response.
    pub status: u16,
    /// The code of a problem; empty otherwise. Without a response: the reason in words.
    pub code: String,
    pub retry_after: Option<Duration>,
    pub body: Bytes,
}

/// The part of a problem document that names the problem.
#[derive(Deserialize)]
struct ProblemCode {
    code: String,
}

impl<'a> ApiRequest<'a> {
    pub fn get(path: &'a str, cookie: &'a HeaderValue) -> ApiRequest<'a> {
        ApiRequest { method: Method::GET, path, cookie, json: None }
    }

    pub fn post(path: &'a str, cookie: &'a HeaderValue, json: String) -> ApiRequest<'a> {
        ApiRequest { method: Method::POST, path, cookie, json: Some(json) }
    }
}

impl ApiResponse {
    /// The body, if it parses as `T`.
    pub fn read<'a, T: Deserialize<'a>>(&'a self) -> Option<T> {
        serde_json::from_slice(&self.body).ok()
    }

    /// The body of a good response, if it parses as `T`.
    pub(crate) fn good<'a, T: Deserialize<'a>>(&'a self) -> Option<T> {
        self.read().filter(|_| self.class == ResponseClass::Good)
    }

    fn none(reason: &str) -> ApiResponse {
        let class = ResponseClass::Error;
        ApiResponse { class, status: 0, code: reason.to_owned(), retry_after: None, body: Bytes::new() }
    }
}

#[boxed]
impl ApiClient {
    pub fn new(origin: &str, recorder: Arc<LoadRecorder>) -> ApiClient {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(RESPONSE_TIMEOUT));
        let mut builder = Client::builder(TokioExecutor::new());
        builder.pool_timer(TokioTimer::new()).pool_idle_timeout(IDLE_TIMEOUT).pool_max_idle_per_host(MAX_CONNECTIONS);
        let connections = Semaphore::new(MAX_CONNECTIONS);
        ApiClient { client: builder.build(connector), origin: origin.to_owned(), connections, recorder }
    }

    /// Sends the request at the instant `due`, or as soon after it as the generator can.
    pub async fn send(&self, step: Step, due: Instant, request: ApiRequest<'_>) -> ApiResponse {
        sleep_until(due).await;
        let connection = self.connections.acquire().await;
        self.recorder.request_sent(due.elapsed());
        let mut response = match timeout(RESPONSE_TIMEOUT, self.exchange(request)).await {
            Ok(Ok(response)) => response,
            Ok(Err(_)) => ApiResponse::none("connection failed"),
            Err(_) => ApiResponse::none("no answer in time"),
        };
        drop(connection);
        response.class = self.recorder.response(step, due.elapsed(), response.status, &response.code);
        response
    }

    async fn exchange(&self, request: ApiRequest<'_>) -> anyhow::Result<ApiResponse> {
        let mut http = Request::builder()
            .method(request.method)
            .uri(format!("{}{}", self.origin, request.path))
            .header(header::COOKIE, request.cookie)
            .header(header::ACCEPT_ENCODING, "br, gzip")
            .header(header::USER_AGENT, "seckill-rehearse");
        if request.json.is_some() {
            http = http.header(header::CONTENT_TYPE, "application/json");
        }
        let body = Full::from(request.json.unwrap_or_default());
        let (parts, body) = self.client.request(http.body(body)?).await?.into_parts();
        let body = body.collect().await?.to_bytes();
        let status = parts.status.as_u16();
        let code = match status {
            400.. => serde_json::from_slice(&body).map_or_else(|_| String::new(), |problem: ProblemCode| problem.code),
            _ => String::new(),
        };
        let seconds = parts.headers.get(header::RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
        let retry_after = seconds.map(Duration::from_secs);
        Ok(ApiResponse { class: ResponseClass::Good, status, code, retry_after, body })
    }
}

// The parts of the shop's responses that simulated shoppers and bots read.

#[derive(Deserialize)]
pub struct ButtonResponse {
    pub phase: Phase,
    pub opens_at: Option<Timestamp>,
    pub now: Timestamp,
    pub poll_after_ms: u64,
    pub spread_ms: u32,
}

#[derive(Deserialize)]
pub struct TokenResponse {
    pub token: String,
    /// The account's own moment in the spread, if it is still to come.
    pub not_before: Option<Timestamp>,
}

/// The account's place in a waiting room.
#[derive(Deserialize)]
pub struct PlaceResponse {
    pub place: PlaceBody,
}

#[derive(Deserialize)]
pub struct PlaceBody {
    pub segment: i64,
    /// `None` until the list is locked.
    pub number: Option<i64>,
}

/// The fields of the response about a waiting room that are used here.
#[derive(Deserialize)]
pub struct LineResponse {
    pub phase: Phase,
    pub locked_at: Option<Timestamp>,
    /// The last place that was called.
    pub serving: Option<Place>,
    pub left: i64,
    pub seats: i64,
    pub poll_after_ms: u64,
}

/// The account's entry in a draw.
#[derive(Deserialize)]
pub struct EntryResponse {
    pub entry: EntryBody,
    pub draw: DrawState,
}

#[derive(Deserialize)]
pub struct EntryBody {
    /// The rank, from 1, once the draw was held.
    pub rank: Option<i64>,
    pub order_id: Option<OrderId>,
}

/// The part of a refusal that contains the account's own moment.
#[derive(Deserialize)]
pub struct TooEarlyResponse {
    pub not_before: Option<Timestamp>,
}

/// The fields of a response about an order that are used here.
#[derive(Deserialize)]
pub struct OrderResponse {
    pub order: OrderBody,
    #[serde(default)]
    pub repeated: bool,
}

#[derive(Deserialize)]
pub struct OrderBody {
    pub id: OrderId,
    pub status: OrderStatus,
}

#[derive(Deserialize)]
pub struct PaymentResponse {
    pub checkout_url: String,
}
