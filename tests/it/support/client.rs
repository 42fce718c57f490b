//! A small HTTP client with keep-alive and one cookie. An unexpected answer fails the test with its request and text.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderValue, Method, Request, header};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client as Legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use serde_json::Value;

use super::wait::{eventually, pause};

const RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);
const INSIST_TIMEOUT: Duration = Duration::from_secs(240);
const RELOAD_INTERVAL: Duration = Duration::from_millis(20);

/// The connections of a test; clones share them.
#[derive(Clone)]
pub struct Connections(Legacy<HttpConnector, Full<Bytes>>);

impl Connections {
    pub fn new() -> Connections {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let mut builder = Legacy::builder(TokioExecutor::new());
        // Shorter than the shop's timeout. Otherwise the shop would now and then close a connection just as it is used
        // again.
        builder.pool_timer(TokioTimer::new()).pool_idle_timeout(Duration::from_secs(3));
        Connections(builder.build(connector))
    }
}

/// A client with a cookie. Clones share it.
#[derive(Clone)]
pub struct Client {
    connections: Connections,
    /// The servers, used in turn.
    origins: Arc<[String]>,
    turn: Arc<AtomicUsize>,
    cookie: Arc<Mutex<Option<String>>>,
}

/// An HTTP response.
#[derive(Debug, Clone)]
pub struct Answer {
    /// Method and path of the request.
    request: String,
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Client {
    pub fn new(connections: Connections, origins: Arc<[String]>) -> Client {
        Client { connections, origins, turn: Arc::default(), cookie: Arc::default() }
    }

    /// A client with the same connections and servers, without the cookie.
    pub fn another(&self) -> Client {
        Client::new(self.connections.clone(), self.origins.clone())
    }

    /// The same client with this cookie.
    pub fn with_cookie(self, cookie: &str) -> Client {
        *self.cookie.lock().unwrap_or_else(PoisonError::into_inner) = Some(cookie.to_owned());
        self
    }

    pub fn cookie(&self) -> Option<String> {
        self.cookie.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The same client, for the n-th server only.
    pub fn at(&self, n: usize) -> Client {
        Client { origins: Arc::from([self.origins[n].clone()]), ..self.clone() }
    }

    /// The same client, for another origin.
    pub fn with_origin(&self, origin: &str) -> Client {
        Client { origins: Arc::from([origin.to_owned()]), ..self.clone() }
    }

    pub fn request(&self, method: Method, path: &str) -> RequestBuilder<'_> {
        RequestBuilder { client: self, method, path: path.to_owned(), headers: HeaderMap::new(), body: Bytes::new() }
    }

    /// Gets a page as a browser does: a page that is being computed is loaded again until it is there.
    pub async fn get(&self, path: &str) -> Answer {
        loop {
            let answer = self.request(Method::GET, path).send().await;
            if answer.header("refresh").is_empty() {
                return answer;
            }
            tokio::time::sleep(RELOAD_INTERVAL).await;
        }
    }

    /// Asks until there is an answer with this status, and returns it.
    pub async fn wait_for(&self, path: &str, status: u16, within: Duration) -> Answer {
        eventually(&format!("{path} answers {status}"), within, async || {
            let answer = self.request(Method::GET, path).try_send().await?;
            if answer.status == status { Ok(answer) } else { Err(answer.text()) }
        })
        .await
    }

    pub async fn post(&self, path: &str, json: Value) -> Answer {
        self.request(Method::POST, path).json(&json).send().await
    }

    /// Sends a request until there is an answer that neither a dead process nor a limit causes.
    pub async fn insist(&self, path: &str, body: &Value) -> (u16, Value) {
        let began = Instant::now();
        while began.elapsed() < INSIST_TIMEOUT {
            if let Ok(answer) = self.request(Method::POST, path).json(body).try_send().await
                && answer.status < 500
                && answer.status != 429
            {
                let json = if answer.text().starts_with('{') { answer.json() } else { Value::Null };
                return (answer.status, json);
            }
            pause(50).await;
        }
        panic!("no answer to {path}");
    }

    fn origin(&self) -> &str {
        &self.origins[self.turn.fetch_add(1, Ordering::Relaxed) % self.origins.len()]
    }

    /// Stores the session's cookie as a browser does. Other cookies, such as a hint for scripts and the device's, are
    /// not stored.
    fn keep_cookie(&self, headers: &HeaderMap) {
        let lines = headers.get_all(header::SET_COOKIE).iter().filter_map(|line| line.to_str().ok());
        for line in lines.filter(|line| line.starts_with("seckill=") || line.starts_with("__Host-seckill=")) {
            let pair = line.split(';').next().unwrap_or_default();
            let cookie = if line.contains("Max-Age=0") { None } else { Some(pair.to_owned()) };
            *self.cookie.lock().unwrap_or_else(PoisonError::into_inner) = cookie;
        }
    }
}

/// A request before it is sent.
pub struct RequestBuilder<'a> {
    client: &'a Client,
    method: Method,
    path: String,
    headers: HeaderMap,
    body: Bytes,
}

impl RequestBuilder<'_> {
    pub fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.append(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        self
    }

    pub fn body(mut self, content_type: &str, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self.header("content-type", content_type)
    }

    pub fn json(self, json: &Value) -> Self {
        self.body("application/json", json.to_string())
    }

    pub fn form(self, fields: &[(&str, &str)]) -> Self {
        let text = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        self.body("application/x-www-form-urlencoded", text)
    }

    /// Sends the request. Fails when there is no answer.
    pub async fn send(self) -> Answer {
        let request = format!("{} {}", self.method, self.path);
        self.try_send().await.unwrap_or_else(|error| panic!("{request}: {error}"))
    }

    /// Sends the request, and returns the answer or why there is none.
    pub async fn try_send(self) -> Result<Answer, String> {
        let name = format!("{} {}", self.method, self.path);
        let uri = format!("{}{}", self.client.origin(), self.path);
        let mut request = Request::builder().method(self.method).uri(uri).body(Full::new(self.body)).unwrap();
        *request.headers_mut() = self.headers;
        if let Some(cookie) = self.client.cookie() {
            // As bytes, because some tests send invalid cookies.
            request.headers_mut().append(header::COOKIE, HeaderValue::from_bytes(cookie.as_bytes()).unwrap());
        }
        let exchange = async {
            let response = self.client.connections.0.request(request).await.map_err(|error| format!("{error:?}"))?;
            let (parts, body) = response.into_parts();
            let body = body.collect().await.map_err(|error| format!("{error:?}"))?.to_bytes();
            Ok(Answer { request: name, status: parts.status.as_u16(), headers: parts.headers, body })
        };
        let answer: Result<Answer, String> =
            tokio::time::timeout(RESPONSE_TIMEOUT, exchange).await.map_err(|_| "no answer".to_owned())?;
        self.client.keep_cookie(&answer.as_ref().map_err(String::clone)?.headers);
        answer
    }
}

impl Answer {
    /// Fails unless the answer has this status.
    #[track_caller]
    pub fn expect(self, status: u16) -> Answer {
        assert_eq!(self.status, status, "{} answered {} {}", self.request, self.status, self.text());
        self
    }

    /// Fails unless the answer is a problem document with this status and code.
    #[track_caller]
    pub fn expect_problem(self, status: u16, code: &str) -> Answer {
        let answer = self.expect(status);
        assert_eq!(answer.header("content-type"), "application/problem+json", "{}", answer.request);
        let json = answer.json();
        assert_eq!(json["code"], code, "{} answered {json}", answer.request);
        assert_eq!(json["status"], status, "{} answered {json}", answer.request);
        answer
    }

    /// The body as JSON. Fails if it is not JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|_| panic!("{} answered {} with no JSON: {}", self.request, self.status, self.text()))
    }

    /// The code of a problem; empty otherwise.
    pub fn code(&self) -> String {
        let json: Value = serde_json::from_slice(&self.body).unwrap_or_default();
        json["code"].as_str().unwrap_or_default().to_owned()
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The value of a header; empty if it is absent.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }
}
