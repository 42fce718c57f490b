//! Extractors: they read requests strictly, within bounds of size and time, and name errors by field. None of them lets a
//! text with a NUL pass ([`text`]).

pub mod client;
mod json;
pub mod program;
pub mod session;
pub mod text;
pub mod visitor;

use std::borrow::Cow;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use axum::http::header::{ACCESS_CONTROL_ALLOW_ORIGIN, CONTENT_LENGTH, CONTENT_TYPE, IF_MATCH, ORIGIN, VARY};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue};
use axum::response::Response;
use boxed::boxed;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use secrecy::SecretString;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use crate::{Code, Problem, Shop};
use domain::SaleId;

pub use axum::extract::State;
pub use client::{ClientAddress, ClientDevice, PayingPhone};
pub use json::{Json, from_json, json_body};
pub use session::{
    AnswerQuestions, DecideApprovals, ManageSales, ManageStaff, ManageWebhooks, Permission, ReadAddresses, ReadMail,
    SignedIn, Staff, SupportShoppers, ViewBooks, ViewConsole, ViewSecurity,
};
pub use visitor::{Density, Visitor, locale, login_path, own_path, query_value};

/// The largest body of an API request or form, in bytes.
pub const MAX_BODY_BYTES: usize = 16 * 1024;
/// The largest form with long texts, in bytes: 10,000 Chinese characters in each language are 180 KB as a form.
const MAX_LONG_FORM_BYTES: usize = 256 * 1024;
/// The largest form with pictures, in bytes. The configuration of nginx has the same bound.
pub const MAX_UPLOAD_BYTES: usize = 32 * 1024 * 1024;
/// How long a body may take to arrive, so that a client that sends one byte a second does not occupy a handler.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);
/// The same for forms with pictures.
pub const UPLOAD_TIMEOUT: Duration = Duration::from_secs(60);

/// Reads a body of at most `max_bytes`.
pub async fn body(headers: &HeaderMap, body: Body, max_bytes: usize) -> Result<Bytes, Problem> {
    let announced = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    if announced.is_some_and(|length| length > max_bytes) {
        return Err(Code::TooLarge.into());
    }
    let limit = if max_bytes > MAX_BODY_BYTES { UPLOAD_TIMEOUT } else { BODY_TIMEOUT };
    match timeout(limit, axum::body::to_bytes(body, max_bytes)).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(error)) if is_too_long(&error) => Err(Code::TooLarge.into()),
        // The connection broke, or the chunked encoding is invalid.
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

fn has_type(headers: &HeaderMap, wanted: &str) -> bool {
    let named = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = named.and_then(|value| value.split(';').next()).unwrap_or_default().trim();
    essence.eq_ignore_ascii_case(wanted)
}

/// Text that is never logged.
#[derive(Deserialize)]
#[serde(from = "String")]
pub struct Secret(pub SecretString);

impl JsonSchema for Secret {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Secret".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Secret(text.into())
    }
}

/// A posted form.
pub struct Form<T>(pub T);

impl<T: DeserializeOwned> FromRequest<Arc<Shop>> for Form<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &Arc<Shop>) -> Result<Self, Problem> {
        read_form(&posted(request, MAX_BODY_BYTES).await?).map(Form)
    }
}

/// A posted form with long texts.
pub struct LongForm<T>(pub T);

impl<T: DeserializeOwned> FromRequest<Arc<Shop>> for LongForm<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &Arc<Shop>) -> Result<Self, Problem> {
        read_form(&posted(request, MAX_LONG_FORM_BYTES).await?).map(LongForm)
    }
}

fn read_form<T: DeserializeOwned>(form: &[u8]) -> Result<T, Problem> {
    serde_urlencoded::from_bytes(form).map_err(|_| Code::BadRequest.into())
}

/// The body of a request whose content type is a form.
#[boxed]
async fn posted(request: Request, max_bytes: usize) -> Result<Bytes, Problem> {
    let (parts, content) = request.into_parts();
    let content = body(&parts.headers, content, max_bytes).await?;
    let query = parts.uri.query().unwrap_or_default();
    if text::has_encoded_nul(&content) || text::has_encoded_nul(query.as_bytes()) {
        return Err(text::nul_problem(None));
    }
    match has_type(&parts.headers, "application/x-www-form-urlencoded") {
        true => Ok(content),
        false => Err(Code::UnsupportedMediaType.into()),
    }
}

/// A query string.
pub struct Query<T>(pub T);

impl<T: DeserializeOwned> FromRequestParts<Arc<Shop>> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &Arc<Shop>) -> Result<Self, Problem> {
        let query = parts.uri.query().unwrap_or_default();
        if text::has_encoded_nul(query.as_bytes()) {
            return Err(text::nul_problem(None));
        }
        serde_urlencoded::from_str(query).map(Query).map_err(|error| query_problem::<T>(query, &error))
    }
}

/// Names the key whose value alone is refused as well.
fn query_problem<T: DeserializeOwned>(query: &str, error: &serde_urlencoded::de::Error) -> Problem {
    let is_wrong = |pair: &&str| {
        serde_urlencoded::from_str::<T>(pair).is_err_and(|error| !error.to_string().starts_with("missing field"))
    };
    let wrong = query.split('&').find(is_wrong).and_then(|pair| url::form_urlencoded::parse(pair.as_bytes()).next());
    match wrong {
        Some((key, _)) => Problem::invalid_field(key, "bad_type").detail(error.to_string()),
        None => Problem::new(Code::Invalid).detail(error.to_string()),
    }
}

/// Ids in the path. A segment that is not an id is 404.
pub struct PathIds<T>(pub T);

impl<T: DeserializeOwned + Send> FromRequestParts<Arc<Shop>> for PathIds<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, shop: &Arc<Shop>) -> Result<Self, Problem> {
        match Path::<T>::from_request_parts(parts, shop).await {
            // A text, because no id has such a character.
            Ok(_) if text::has_encoded_nul(parts.uri.path().as_bytes()) => Err(text::nul_problem(None)),
            Ok(path) => Ok(PathIds(path.0)),
            Err(_) => Err(Code::NotFound.into()),
        }
    }
}

/// The page that asks, if it is one of another origin.
pub struct AskingPage(Option<HeaderValue>);

impl FromRequestParts<Arc<Shop>> for AskingPage {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &Arc<Shop>) -> Result<Self, Infallible> {
        Ok(AskingPage(parts.headers.get(ORIGIN).cloned()))
    }
}

impl AskingPage {
    /// Lets the page read the public state of a sale that stands in front of the page's shop. Nothing that a browser
    /// sends with such a request counts. Other sales get no header, so that their answers cost nothing more.
    pub fn let_read(self, shop: &Shop, sale: SaleId, answer: &mut Response) {
        let Some(front) = shop.catalogue.front(sale) else { return };
        answer.headers_mut().insert(VARY, HeaderValue::from_static("origin"));
        let listed = |origin: &HeaderValue| front.origins().any(|listed| listed.as_bytes() == origin.as_bytes());
        if let Some(origin) = self.0.filter(listed) {
            answer.headers_mut().insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        }
    }
}

/// The sale in the path of an endpoint for shoppers. A segment that is not an id is `no_such_sale`.
pub struct SalePath(pub SaleId);

impl FromRequestParts<Arc<Shop>> for SalePath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, shop: &Arc<Shop>) -> Result<Self, Problem> {
        let read = Path::<SaleId>::from_request_parts(parts, shop).await;
        read.map(|path| SalePath(path.0)).map_err(|_| Code::NoSuchSale.into())
    }
}

// Versions of what is edited: the entity tag in an answer, and `If-Match` in a request.

/// The entity tag of a version.
pub fn entity_tag(version: i64) -> String {
    format!("\"{version}\"")
}

/// The versions that `If-Match` names. `None` without the header and for `*`, which every version matches. A tag that
/// is not a version matches none.
pub fn expected_versions(headers: &HeaderMap) -> Option<Vec<i64>> {
    let mut lines = headers.get_all(IF_MATCH).iter().peekable();
    lines.peek()?;
    let mut versions = Vec::new();
    for tag in lines.flat_map(|line| line.to_str().unwrap_or_default().split(',')).map(str::trim) {
        if tag == "*" {
            return None;
        }
        let quoted = tag.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        versions.extend(quoted.and_then(|version| version.parse::<i64>().ok()));
    }
    Some(versions)
}

#[cfg(test)]
mod fuzz {
    use super::*;
    use testing::fuzz::texts;

    #[test]
    fn any_header_names_versions_or_none() {
        texts(&["\"7\", \"9\"", "*", "W/\"7\""], |text| {
            let Ok(line) = text.parse() else { return };
            for version in expected_versions(&HeaderMap::from_iter([(IF_MATCH, line)])).into_iter().flatten() {
                assert!(text.contains(&version.unsigned_abs().to_string()), "{text}");
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;
    use axum::response::IntoResponse;

    use super::*;

    #[tokio::test]
    async fn query_errors_name_the_key() {
        #[derive(Debug, Deserialize)]
        #[expect(dead_code, reason = "only the shape is tested")]
        struct TestQuery {
            after: String,
            limit: Option<u32>,
        }
        let fields = async |query: &str| {
            let error = serde_urlencoded::from_str::<TestQuery>(query).unwrap_err();
            let body = query_problem::<TestQuery>(query, &error).into_response().into_body();
            let text = axum::body::to_bytes(body, 10_000).await.unwrap();
            serde_json::from_slice::<serde_json::Value>(&text).unwrap()["fields"].clone()
        };
        assert_eq!(fields("after=x&%6cimit=many").await, serde_json::json!([{"field": "limit", "code": "bad_type"}]));
        assert_eq!(fields("limit=5").await, serde_json::Value::Null, "the key that is missing is in the detail");
    }

    #[tokio::test]
    async fn body_above_the_limit_is_refused() {
        let read = async |announced: Option<&'static str>, size: usize| {
            let headers = announced.map(|length| (CONTENT_LENGTH, HeaderValue::from_static(length)));
            let read = body(&headers.into_iter().collect(), Body::from(vec![0; size]), 10).await;
            read.map(|bytes| bytes.len()).map_err(|problem| problem.code())
        };
        assert_eq!(read(None, 10).await, Ok(10));
        assert_eq!(read(None, 11).await, Err(Code::TooLarge));
        assert_eq!(read(Some("11"), 0).await, Err(Code::TooLarge));
    }

    #[test]
    fn versions_are_read_from_every_form_of_if_match() {
        let read = |lines: &[&'static str]| {
            let lines = lines.iter().map(|line| (IF_MATCH, line.parse().unwrap()));
            expected_versions(&HeaderMap::from_iter(lines))
        };
        assert_eq!(read(&[]), None);
        assert_eq!(read(&["*"]), None);
        assert_eq!(read(&["\"7\""]), Some(vec![7]));
        assert_eq!(read(&["\"7\", \"9\""]), Some(vec![7, 9]));
        for matches_nothing in ["7", "W/\"7\"", "\"x\"", "\"\"", ""] {
            assert_eq!(read(&[matches_nothing]), Some(vec![]), "{matches_nothing}");
        }
    }
}
