//! Content negotiation: prepared content is sent compressed or plain, or not at all if the browser has it.

use askama::Template;
use axum::Json;
use axum::body::{Body, Bytes};
use axum::http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, ETAG, IF_NONE_MATCH, LOCATION, VARY};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{Html, IntoResponse, Redirect, Response};
use serde::Serialize;

use crate::Answer;
use crate::cache_policy::Cache;
use crate::extract::entity_tag;
use pages::compression::Compressed;

/// Content with its prepared encodings.
pub struct Content<'a> {
    content_type: &'static str,
    etag: &'a str,
    plain: &'a Bytes,
    compressed: Option<&'a Compressed>,
}

impl<'a> Content<'a> {
    pub fn new(
        content_type: &'static str,
        etag: &'a str,
        plain: &'a Bytes,
        compressed: Option<&'a Compressed>,
    ) -> Content<'a> {
        Content { content_type, etag, plain, compressed }
    }

    /// The response to a request with these headers.
    pub fn answer(&self, request: &HeaderMap, cache: Cache) -> Response {
        let mut headers = HeaderMap::with_capacity(8);
        if let Ok(etag) = HeaderValue::from_str(self.etag) {
            headers.insert(ETAG, etag);
        }
        if self.compressed.is_some() {
            headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
        }
        if has_already(request, self.etag) {
            return (StatusCode::NOT_MODIFIED, cache, headers).into_response();
        }
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(self.content_type));
        let (body, encoding) = self.encoded(request);
        if let Some(encoding) = encoding {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static(encoding));
        }
        (cache, headers, Body::from(body.clone())).into_response()
    }

    fn encoded(&self, request: &HeaderMap) -> (&Bytes, Option<&'static str>) {
        match self.compressed {
            Some(forms) if accepts(request, "br") => (&forms.br, Some("br")),
            Some(forms) if accepts(request, "gzip") => (&forms.gzip, Some("gzip")),
            _ => (self.plain, None),
        }
    }
}

/// Whether `Accept-Encoding` names this coding, or all of them, and does not refuse it.
fn accepts(request: &HeaderMap, coding: &str) -> bool {
    let lines = request.get_all(ACCEPT_ENCODING).iter().filter_map(|line| line.to_str().ok());
    let mut by_star = false;
    for entry in lines.flat_map(|line| line.split(',')) {
        let mut parts = entry.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let quality = parts.find_map(|part| part.strip_prefix("q=")).map_or(1.0, |q| q.parse().unwrap_or(0.0));
        if name.eq_ignore_ascii_case(coding) {
            return quality > 0.0;
        }
        by_star |= name == "*" && quality > 0.0;
    }
    by_star
}

/// Whether `If-None-Match` names this tag. The comparison is weak, as for every conditional GET.
fn has_already(request: &HeaderMap, etag: &str) -> bool {
    let lines = request.get_all(IF_NONE_MATCH).iter().filter_map(|line| line.to_str().ok());
    let etag = etag.trim_start_matches("W/");
    lines.flat_map(|line| line.split(',').map(str::trim)).any(|tag| tag == "*" || tag.trim_start_matches("W/") == etag)
}

// Responses of pages and forms.

/// A page rendered for one visitor. No cache stores it.
pub fn personal(status: StatusCode, page: &impl Template) -> Answer {
    Ok((status, Cache::Private, Html(page.render()?)).into_response())
}

/// The answer to an API request that created something, which can be read at `location`.
pub fn created(location: String, body: impl Serialize) -> Response {
    (StatusCode::CREATED, Cache::Private, [(LOCATION, location)], Json(body)).into_response()
}

/// The answer to an API request, for its client alone. No cache stores it.
pub fn private(body: impl Serialize) -> Response {
    (Cache::Private, Json(body)).into_response()
}

/// The same about something that has a version.
pub fn versioned(version: i64, body: impl Serialize) -> Response {
    ([(ETAG, entity_tag(version))], private(body)).into_response()
}

/// The answer to an API request that was carried out, when there is nothing to read.
pub fn no_content() -> Response {
    (StatusCode::NO_CONTENT, Cache::Private, ()).into_response()
}

/// The redirect after a successful form (post, redirect, get).
pub fn see_other(path: &str) -> Response {
    (Cache::Private, Redirect::to(path)).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(headers: &[(&'static str, &'static str)]) -> Response {
        let (plain, forms) = (Bytes::from("plain"), Compressed { br: Bytes::from("b"), gzip: Bytes::from("g") });
        let content = Content::new("text/html; charset=utf-8", "W/\"abc\"", &plain, Some(&forms));
        let request: HeaderMap =
            headers.iter().map(|&(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value))).collect();
        content.answer(&request, Cache::Page)
    }

    fn encoding(accept: &'static str) -> Option<String> {
        let response = answer(&[("accept-encoding", accept)]);
        assert_eq!(response.headers()[VARY], "accept-encoding");
        Some(response.headers().get(CONTENT_ENCODING)?.to_str().unwrap().to_owned())
    }

    #[test]
    fn smallest_accepted_encoding_is_sent() {
        assert_eq!(encoding("gzip, deflate, br, zstd").as_deref(), Some("br"));
        assert_eq!(encoding("gzip, br;q=0").as_deref(), Some("gzip"));
        assert_eq!(encoding("BR;q=0.1").as_deref(), Some("br"));
        assert_eq!(encoding("*").as_deref(), Some("br"));
        assert_eq!(encoding("*, br;q=0, gzip;q=0"), None);
        assert_eq!(encoding("identity"), None);
        assert_eq!(encoding(""), None);
    }

    #[test]
    fn content_that_the_browser_has_is_not_sent_again() {
        for tag in ["W/\"abc\"", "\"abc\"", "\"x\", W/\"abc\"", "*"] {
            let response = answer(&[("if-none-match", tag)]);
            assert_eq!(response.status(), StatusCode::NOT_MODIFIED, "{tag}");
            assert_eq!(response.headers()[ETAG], "W/\"abc\"");
            assert!(response.headers().contains_key("cache-control") && response.headers().contains_key(VARY));
        }
        assert_eq!(answer(&[("if-none-match", "\"abcd\"")]).status(), StatusCode::OK);
        assert_eq!(answer(&[]).status(), StatusCode::OK);
    }
}
