//! Reading requests: strictly, within bounds of size and time, and with mistakes named by field.

pub mod client;
pub mod session;
pub mod visitor;

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::rejection::{FormRejection, QueryRejection};
use axum::extract::{DefaultBodyLimit, FromRequest, FromRequestParts, Path, Request};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use secrecy::SecretString;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use super::Shop;
use crate::domain::SaleId;
use crate::web::problem::{Code, Problem};

/// The largest body of an API request or form, in bytes.
pub const MOST_BYTES: usize = 16 * 1024;
/// The largest form with pictures in it, in bytes; nginx is told the same.
pub const MOST_BYTES_WITH_PICTURES: usize = 32 * 1024 * 1024;
/// How long a body may take to arrive: whoever sends one byte a second does not hold a handler.
const BODY_WITHIN: Duration = Duration::from_secs(10);
pub const PICTURE_WITHIN: Duration = Duration::from_secs(60);

/// A body of at most so many bytes.
pub async fn body(headers: &HeaderMap, body: Body, most: usize) -> Result<Bytes, Problem> {
    let announced = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    if announced.is_some_and(|length| length > most) {
        return Err(Code::TooLarge.into());
    }
    let within = if most > MOST_BYTES { PICTURE_WITHIN } else { BODY_WITHIN };
    match timeout(within, axum::body::to_bytes(body, most)).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(error)) if is_too_long(&error) => Err(Code::TooLarge.into()),
        // The client went away, or sent chunks that are none.
        Ok(Err(_)) => Err(Code::BadRequest.into()),
        Err(_) => Err(Code::RequestTimeout.into()),
    }
}

fn is_too_long(error: &axum::Error) -> bool {
    let mut cause: Option<&dyn std::error::Error> = Some(error);
    while let Some(error) = cause {
        if error.is::<http_body_util::LengthLimitError>() {
            return true;
        }
        cause = error.source();
    }
    false
}

/// The body of a request that says it is JSON.
pub async fn json_body(request: Request) -> Result<Bytes, Problem> {
    let (parts, content) = request.into_parts();
    if !is_json(&parts.headers) {
        return Err(Problem::new(Code::UnsupportedMediaType).detail("Send application/json."));
    }
    body(&parts.headers, content, MOST_BYTES).await
}

fn is_json(headers: &HeaderMap) -> bool {
    let essence = |value: &str| value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let named = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    named.is_some_and(|value| value == "application/json" || essence(value) == "application/json")
}

/// A value from a JSON text, or what is wrong with it by field.
pub fn from_json<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T, Problem> {
    serde_json::from_slice(text).map_err(|error| {
        // Only now, because keeping track of the path costs time.
        let mut reader = serde_json::Deserializer::from_slice(text);
        let path = serde_path_to_error::deserialize::<_, T>(&mut reader).err().map(|e| e.path().to_string());
        json_problem(path.as_deref(), &error)
    })
}

/// A JSON body. Types say with `deny_unknown_fields` that they are complete.
pub struct Json<T>(pub T);

impl<T: DeserializeOwned> FromRequest<Arc<Shop>> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &Arc<Shop>) -> Result<Self, Problem> {
        from_json(&json_body(request).await?).map(Json)
    }
}

/// The words are about the client's own text, so the client may read them.
fn json_problem(path: Option<&str>, error: &serde_json::Error) -> Problem {
    let words = error.to_string();
    if !error.is_data() {
        return Problem::new(Code::BadJson).detail(words);
    }
    let (code, named) = match words.split('`').nth(1) {
        Some(name) if words.starts_with("missing field") => ("required", Some(name)),
        Some(name) if words.starts_with("unknown field") => ("unknown", Some(name)),
        Some(name) if words.starts_with("duplicate field") => ("repeated", Some(name)),
        _ => ("bad_type", None),
    };
    let mut parts: Vec<&str> = path.into_iter().flat_map(|path| path.split('.')).collect();
    parts.retain(|part| !part.is_empty() && *part != "?");
    // For an unknown field the path may or may not end in its name.
    if let Some(named) = named.filter(|named| parts.last() != Some(named)) {
        parts.push(named);
    }
    match parts.is_empty() {
        true => Problem::new(Code::Invalid).detail(words),
        false => Problem::invalid_field(parts.join("."), code).detail(words),
    }
}

/// A text that no log ever shows.
#[derive(Deserialize)]
#[serde(from = "String")]
pub struct Secret(pub SecretString);

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Secret(text.into())
    }
}

/// A posted form.
pub struct Form<T>(pub T);

impl<T: DeserializeOwned> FromRequest<Arc<Shop>> for Form<T> {
    type Rejection = Problem;

    async fn from_request(mut request: Request, shop: &Arc<Shop>) -> Result<Self, Problem> {
        DefaultBodyLimit::max(MOST_BYTES).apply(&mut request);
        match timeout(BODY_WITHIN, axum::Form::<T>::from_request(request, shop)).await {
            Ok(Ok(axum::Form(value))) => Ok(Form(value)),
            Ok(Err(rejection)) => Err(form_problem(&rejection)),
            Err(_) => Err(Code::RequestTimeout.into()),
        }
    }
}

fn form_problem(rejection: &FormRejection) -> Problem {
    Problem::new(match rejection {
        FormRejection::InvalidFormContentType(_) => Code::UnsupportedMediaType,
        FormRejection::BytesRejection(inner) if inner.status() == StatusCode::PAYLOAD_TOO_LARGE => Code::TooLarge,
        _ => Code::BadRequest,
    })
}

/// The values of a query.
pub struct Query<T>(pub T);

impl<T: DeserializeOwned> FromRequestParts<Arc<Shop>> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, shop: &Arc<Shop>) -> Result<Self, Problem> {
        let read = axum::extract::Query::<T>::from_request_parts(parts, shop).await;
        read.map(|query| Query(query.0))
            .map_err(|rejection: QueryRejection| Problem::new(Code::Invalid).detail(rejection.body_text()))
    }
}

/// PathIds in the path. One that cannot be an id leads to nothing: 404.
pub struct PathIds<T>(pub T);

impl<T: DeserializeOwned + Send> FromRequestParts<Arc<Shop>> for PathIds<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, shop: &Arc<Shop>) -> Result<Self, Problem> {
        let read = Path::<T>::from_request_parts(parts, shop).await;
        read.map(|path| PathIds(path.0)).map_err(|_| Code::NotFound.into())
    }
}

/// The sale in the path of what shoppers ask for.
pub struct SalePath(pub SaleId);

impl FromRequestParts<Arc<Shop>> for SalePath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, shop: &Arc<Shop>) -> Result<Self, Problem> {
        let read = Path::<SaleId>::from_request_parts(parts, shop).await;
        read.map(|path| SalePath(path.0)).map_err(|_| Code::NoSuchSale.into())
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;
    use axum::response::IntoResponse;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its shape matters")]
    struct Sample {
        name: Name,
        count: u32,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its shape matters")]
    struct Name {
        zh: String,
    }

    async fn complaint(text: &str) -> serde_json::Value {
        let response = from_json::<Sample>(text.as_bytes()).unwrap_err().into_response();
        let bytes = axum::body::to_bytes(response.into_body(), 10_000).await.unwrap();
        serde_json::from_slice(&bytes).unwrap()
    }

    #[tokio::test]
    async fn mistakes_are_named_by_field() {
        let cases = [
            (r#"{"name":{"zh":"x"},"count":"5"}"#, "count", "bad_type"),
            (r#"{"name":{"zh":7},"count":5}"#, "name.zh", "bad_type"),
            (r#"{"name":{},"count":5}"#, "name.zh", "required"),
            (r#"{"name":{"zh":"x"}}"#, "count", "required"),
            (r#"{"nome":{"zh":"x"},"count":5}"#, "nome", "unknown"),
            (r#"{"name":{"zh":"x","fr":"y"},"count":5}"#, "name.fr", "unknown"),
            (r#"{"count":5,"count":5,"name":{"zh":"x"}}"#, "count", "repeated"),
        ];
        for (text, field, code) in cases {
            let json = complaint(text).await;
            assert_eq!(json["status"], 422, "{text}");
            assert_eq!(json["fields"], serde_json::json!([{"field": field, "code": code}]), "{text}");
        }
        for text in ["", "{", "{\"count\":}", "nonsense", r#"{"name":{"zh":"x"},"count":5} more"#] {
            assert_eq!(complaint(text).await["code"], "bad_json", "{text}");
        }
    }

    #[tokio::test]
    async fn bodies_have_bounds() {
        let read = async |announced: Option<&'static str>, size: usize| {
            let headers = announced.map(|length| (CONTENT_LENGTH, HeaderValue::from_static(length)));
            let read = body(&headers.into_iter().collect(), Body::from(vec![0; size]), 10).await;
            read.map(|bytes| bytes.len()).map_err(|problem| problem.code())
        };
        assert_eq!(read(None, 10).await, Ok(10));
        assert_eq!(read(None, 11).await, Err(Code::TooLarge));
        assert_eq!(read(Some("11"), 0).await, Err(Code::TooLarge));
    }
}
