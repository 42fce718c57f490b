//! A small HTTP client: keep-alive, one cookie, answers that explain themselves when they are not what was expected.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderValue, Method, Request, header};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client as Legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use serde_json::Value;

const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// The connections of a test; clones share them.
#[derive(Clone)]
pub struct Connections(Legacy<HttpConnector, Full<Bytes>>);

impl Connections {
    pub fn new() -> Connections {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let mut builder = Legacy::builder(TokioExecutor::new());
        // Sooner than the shop, which would close a connection at the moment of the next question now and then.
        builder.pool_timer(TokioTimer::new()).pool_idle_timeout(Duration::from_secs(3));
        Connections(builder.build(connector))
    }
}

/// Somebody who asks. Clones are the same somebody.
#[derive(Clone)]
pub struct Client {
    connections: Connections,
    /// Where the shop is; several servers are asked in turn.
    origins: Arc<[String]>,
    turn: Arc<AtomicUsize>,
    cookie: Arc<Mutex<Option<String>>>,
}

/// What came back.
#[derive(Debug, Clone)]
pub struct Answer {
    /// Method and path of the question.
    asked: String,
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Client {
    pub fn new(connections: Connections, origins: Arc<[String]>) -> Client {
        Client { connections, origins, turn: Arc::default(), cookie: Arc::default() }
    }

    /// The same somebody with this cookie.
    pub fn with_cookie(self, cookie: &str) -> Client {
        *self.cookie.lock().unwrap_or_else(PoisonError::into_inner) = Some(cookie.to_owned());
        self
    }

    pub fn cookie(&self) -> Option<String> {
        self.cookie.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whoever asks only the n-th server.
    pub fn at(&self, n: usize) -> Client {
        Client { origins: Arc::from([self.origins[n].clone()]), ..self.clone() }
    }

    /// The same somebody, who asks there.
    pub fn elsewhere(&self, origin: &str) -> Client {
        Client { origins: Arc::from([origin.to_owned()]), ..self.clone() }
    }

    pub fn ask(&self, method: Method, path: &str) -> Asking<'_> {
        Asking { client: self, method, path: path.to_owned(), headers: HeaderMap::new(), body: Bytes::new() }
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.ask(Method::GET, path).send().await
    }

    pub async fn post(&self, path: &str, json: Value) -> Answer {
        self.ask(Method::POST, path).json(&json).send().await
    }

    fn origin(&self) -> &str {
        &self.origins[self.turn.fetch_add(1, Ordering::Relaxed) % self.origins.len()]
    }

    /// ReplayGrants the session's cookie as a browser does; the hint beside it is for scripts.
    fn keep_cookie(&self, headers: &HeaderMap) {
        let lines = headers.get_all(header::SET_COOKIE).iter().filter_map(|line| line.to_str().ok());
        for line in lines.filter(|line| line.contains("HttpOnly")) {
            let pair = line.split(';').next().unwrap_or_default();
            let kept = if line.contains("Max-Age=0") { None } else { Some(pair.to_owned()) };
            *self.cookie.lock().unwrap_or_else(PoisonError::into_inner) = kept;
        }
    }
}

/// A question in the making.
pub struct Asking<'a> {
    client: &'a Client,
    method: Method,
    path: String,
    headers: HeaderMap,
    body: Bytes,
}

impl Asking<'_> {
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

    /// The answer; fails when there is none.
    pub async fn send(self) -> Answer {
        let asked = format!("{} {}", self.method, self.path);
        self.try_send().await.unwrap_or_else(|error| panic!("{asked}: {error}"))
    }

    /// The answer, or why there is none.
    pub async fn try_send(self) -> Result<Answer, String> {
        let asked = format!("{} {}", self.method, self.path);
        let uri = format!("{}{}", self.client.origin(), self.path);
        let mut request = Request::builder().method(self.method).uri(uri).body(Full::new(self.body)).unwrap();
        *request.headers_mut() = self.headers;
        if let Some(cookie) = self.client.cookie() {
            // As bytes: forged cookies are part of the tests.
            request.headers_mut().append(header::COOKIE, HeaderValue::from_bytes(cookie.as_bytes()).unwrap());
        }
        let whole = async {
            let response = self.client.connections.0.request(request).await.map_err(|error| format!("{error:?}"))?;
            let (parts, body) = response.into_parts();
            let body = body.collect().await.map_err(|error| format!("{error:?}"))?.to_bytes();
            Ok(Answer { asked, status: parts.status.as_u16(), headers: parts.headers, body })
        };
        let answer: Result<Answer, String> =
            tokio::time::timeout(ANSWER_WITHIN, whole).await.map_err(|_| "no answer".to_owned())?;
        self.client.keep_cookie(&answer.as_ref().map_err(String::clone)?.headers);
        answer
    }
}

impl Answer {
    /// This answer, if it has the status.
    #[track_caller]
    pub fn expect(self, status: u16) -> Answer {
        assert_eq!(self.status, status, "{} answered {} {}", self.asked, self.status, self.text());
        self
    }

    /// This answer, if it is the problem with this status and code, in the form that the contract promises.
    #[track_caller]
    pub fn expect_problem(self, status: u16, code: &str) -> Answer {
        let answer = self.expect(status);
        assert_eq!(answer.header("content-type"), "application/problem+json", "{}", answer.asked);
        let json = answer.json();
        assert_eq!(json["code"], code, "{} answered {json}", answer.asked);
        assert_eq!(json["status"], status, "{} answered {json}", answer.asked);
        answer
    }

    /// The body, if it is JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|_| panic!("{} answered {} with no JSON: {}", self.asked, self.status, self.text()))
    }

    /// The code of a problem, or nothing.
    pub fn code(&self) -> String {
        let json: Value = serde_json::from_slice(&self.body).unwrap_or_default();
        json["code"].as_str().unwrap_or_default().to_owned()
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// A header, or nothing.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }
}
