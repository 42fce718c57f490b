//! Requests that create or add something, and that may be sent again. The layer around their handlers reads the key of
//! a request: the header `Idempotency-Key` of a program, or `once` in the query of a form's address, which the shop's
//! own forms have. The first answer is stored for a day per account or token, method, path and key. A replay gets that
//! answer.
//!
//! A refusal is not stored, because nothing was made: the key is free again. After an error of the shop, or if the
//! process died, the next attempt is carried out with the id of the first ([`RequestId`]), so that the request takes
//! effect once.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequestParts, Request, State};
use axum::http::header::{CONTENT_TYPE, ETAG, HeaderName, LOCATION};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use sha2::{Digest, Sha256};
use tracing::{Instrument, warn};
use uuid::Uuid;

use crate::extract::program::caller_id;
use crate::extract::{MAX_BODY_BYTES, body};
use crate::{Answer, Code, Problem, Shop};
use domain::RefundId;
use store::{Attempt, KeptAnswer, KeyedRequest, RequestId, RequestState, StoreResult};

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// Marks the stored answer in a replay.
const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");
/// The parameter of a form's address that holds its key.
const FORM_KEY: &str = "once";
/// The longest key, in bytes.
const MAX_KEY_LENGTH: usize = 255;
/// How long a request waits for the first one with the same key, such as the second click of a double click.
const WAIT_FOR_FIRST: Duration = Duration::from_secs(2);
const WAIT_INTERVAL: Duration = Duration::from_millis(100);
/// The largest answer that is stored, in bytes. Goods with long descriptions have a tenth of it.
const MAX_ANSWER_BYTES: usize = 1024 * 1024;
/// Marks an answer with secrets, which is not stored: the handler makes the same secrets again from the id of the
/// request.
#[derive(Debug, Clone, Copy)]
pub struct NotKept;

/// Headers that are stored with an answer.
static KEPT_HEADERS: [HeaderName; 3] = [CONTENT_TYPE, LOCATION, ETAG];

/// The layer around the handlers of requests that may be sent again.
pub async fn repeatable(State(shop): State<Arc<Shop>>, request: Request, next: Next) -> Answer {
    let Some(key) = key_of(&request)? else { return Ok(next.run(request).await) };
    // Without a session or a token the handler refuses.
    let Some(user) = caller_id(&shop, &request) else { return Ok(next.run(request).await) };
    let (parts, content) = request.into_parts();
    let (content, digest) = digest(&parts.headers, content).await?;
    let keyed = KeyedRequest { user, request: format!("{} {}", parts.method, parts.uri.path()), key, body: digest };
    let attempt = match begin(&shop, &keyed).await? {
        RequestState::Begun(attempt) => attempt,
        RequestState::Answered(kept) => return replay(kept),
        RequestState::OtherBody => return Err(Code::KeyReused.into()),
        RequestState::UnderWay => return Err(Problem::new(Code::UnderWay).retry_after(1)),
    };
    let mut request = Request::from_parts(parts, content);
    request.extensions_mut().insert(attempt.request);
    // The work goes on if the client hangs up, so that its answer is stored.
    let handling = tokio::spawn(async move { finish(&shop, attempt, next.run(request).await).await }.in_current_span());
    match handling.await {
        Ok(answer) => answer,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(error) => Err(Problem::internal(error)),
    }
}

/// The request's key, if it has one.
fn key_of(request: &Request) -> Result<Option<String>, Problem> {
    let query = request.uri().query().unwrap_or_default();
    let of_form = query.split('&').find_map(|pair| pair.strip_prefix(FORM_KEY)?.strip_prefix('='));
    let mut headers = request.headers().get_all(IDEMPOTENCY_KEY).iter();
    let key = match (headers.next(), headers.next()) {
        (None, _) => of_form.map(str::as_bytes),
        (Some(key), None) => Some(key.as_bytes()),
        (Some(_), Some(_)) => return Err(Problem::invalid_field(IDEMPOTENCY_KEY.as_str(), "repeated")),
    };
    let Some(key) = key else { return Ok(None) };
    let is_valid = (1..=MAX_KEY_LENGTH).contains(&key.len()) && key.iter().all(u8::is_ascii_graphic);
    match std::str::from_utf8(key).ok().filter(|_| is_valid) {
        Some(key) => Ok(Some(key.to_owned())),
        None => Err(Problem::invalid_field(IDEMPOTENCY_KEY.as_str(), "bad_text")),
    }
}

/// The body and its digest. A form with pictures is not compared, because a browser writes it differently each time.
async fn digest(headers: &HeaderMap, content: Body) -> Result<(Body, String), Problem> {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if kind.trim_start().to_ascii_lowercase().starts_with("multipart/") {
        return Ok((content, String::new()));
    }
    let bytes = body(headers, content, MAX_BODY_BYTES).await?;
    let digest = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    Ok((Body::from(bytes), digest))
}

/// Begins an attempt, or waits a moment for the attempt that is under way.
async fn begin(shop: &Shop, keyed: &KeyedRequest) -> StoreResult<RequestState> {
    let mut waited = Duration::ZERO;
    loop {
        let state = shop.store.idempotency().begin_request(keyed).await?;
        if state != RequestState::UnderWay || waited >= WAIT_FOR_FIRST {
            return Ok(state);
        }
        tokio::time::sleep(WAIT_INTERVAL).await;
        waited += WAIT_INTERVAL;
    }
}

/// Stores the answer if the request was carried out.
async fn finish(shop: &Shop, attempt: Attempt, answer: Response) -> Answer {
    let has_secrets = answer.extensions().get::<NotKept>().is_some();
    if has_secrets || !is_done(&answer) {
        let refused = !has_secrets && (answer.status().is_client_error() || answer.status().is_success());
        let ended = shop.store.idempotency().end_attempt(attempt, refused).await;
        note(attempt, ended);
        return Ok(answer);
    }
    let (parts, content) = answer.into_parts();
    let bytes = axum::body::to_bytes(content, MAX_ANSWER_BYTES).await.map_err(Problem::internal)?;
    let headers = KEPT_HEADERS.iter().filter_map(|name| Some((name.as_str(), parts.headers.get(name)?.to_str().ok()?)));
    let kept = KeptAnswer {
        status: parts.status.as_u16(),
        headers: serde_json::to_string(&headers.collect::<Vec<_>>()).map_err(Problem::internal)?,
        body: String::from_utf8(bytes.to_vec()).map_err(Problem::internal)?,
    };
    note(attempt, shop.store.idempotency().keep_answer(attempt, &kept).await);
    Ok(Response::from_parts(parts, Body::from(bytes)))
}

/// Whether the request was carried out: its answer is a redirect, or meant for programs. A page shows the form again.
fn is_done(answer: &Response) -> bool {
    let is_page = answer.headers().get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"text/html"));
    answer.status().is_redirection() || (answer.status().is_success() && !is_page)
}

/// Logs that an answer could not be stored. It is sent all the same, because the next attempt makes nothing new.
fn note(attempt: Attempt, result: StoreResult<()>) {
    if let Err(error) = result {
        warn!(request = %attempt.request.0, %error, "the answer to a keyed request is not stored; a replay runs again");
    }
}

fn replay(kept: KeptAnswer) -> Answer {
    let mut answer = Response::new(Body::from(kept.body));
    *answer.status_mut() = StatusCode::from_u16(kept.status).map_err(Problem::internal)?;
    let headers: Vec<(String, String)> = serde_json::from_str(&kept.headers).map_err(Problem::internal)?;
    for (name, value) in headers {
        let name = HeaderName::try_from(name).map_err(Problem::internal)?;
        answer.headers_mut().insert(name, HeaderValue::try_from(value).map_err(Problem::internal)?);
    }
    answer.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    Ok(answer)
}

// The id of a request that carries an idempotency key.

/// The id that all attempts of the request share; `None` for a request without a key. A handler writes it with what it
/// creates. [`crate::idempotency`] sets it.
#[derive(Debug, Clone, Copy)]
pub struct Repeatable(pub Option<RequestId>);

impl Repeatable {
    /// The id of a refund that the request asks for.
    pub fn refund(self) -> RefundId {
        RefundId(self.0.map_or_else(Uuid::now_v7, |RequestId(id)| id))
    }
}

impl FromRequestParts<Arc<Shop>> for Repeatable {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &Arc<Shop>) -> Result<Self, Infallible> {
        Ok(Repeatable(parts.extensions.get::<RequestId>().copied()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(uri: &str, headers: &[&str]) -> Result<Option<String>, Code> {
        let mut request = Request::builder().uri(uri);
        for value in headers {
            request = request.header(IDEMPOTENCY_KEY, *value);
        }
        key_of(&request.body(Body::empty()).unwrap()).map_err(|problem| problem.code())
    }

    #[test]
    fn key_comes_from_the_header_or_from_the_address_of_a_form() {
        assert_eq!(key("/api/packets", &[]), Ok(None));
        assert_eq!(key("/api/packets?lang=en", &["a-key"]), Ok(Some("a-key".into())));
        assert_eq!(key("/admin/sales/7/top-up?lang=en&once=f00d", &[]), Ok(Some("f00d".into())));
        assert_eq!(key("/api/packets", &["x".repeat(255).as_str()]), Ok(Some("x".repeat(255))));
        for wrong in ["", "with space", "x".repeat(256).as_str()] {
            assert_eq!(key("/api/packets", &[wrong]), Err(Code::Invalid), "{wrong}");
        }
        assert_eq!(key("/api/packets", &["one", "two"]), Err(Code::Invalid));
        assert_eq!(key("/admin/goods?once=", &[]), Err(Code::Invalid));
    }
}
