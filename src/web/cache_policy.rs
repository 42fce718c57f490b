//! How long an answer may be kept, and by whom. Whatever nobody decided about is not kept at all (`guard` sees to that).

use std::convert::Infallible;

use axum::http::HeaderValue;
use axum::http::header::CACHE_CONTROL;
use axum::response::{IntoResponseParts, ResponseParts};

/// What an answer is, as far as caches are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cache {
    /// Live, and the same for everybody: a CDN asks us once a second, however many people ask it.
    Live,
    /// A rendered page: the same for everybody, changes rarely, and an old one is better than none.
    Page,
    /// An address that changes with its content.
    Forever,
    /// Where `/` leads, which depends on a header only.
    Redirect,
    /// Somebody's own.
    Private,
}

impl Cache {
    pub fn header(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Cache::Live => "public, max-age=1",
            Cache::Page => "public, max-age=5, stale-while-revalidate=60, stale-if-error=86400",
            Cache::Forever => "public, max-age=31536000, immutable",
            Cache::Redirect => "public, max-age=300",
            Cache::Private => "no-store",
        })
    }
}

impl IntoResponseParts for Cache {
    type Error = Infallible;

    fn into_response_parts(self, mut parts: ResponseParts) -> Result<ResponseParts, Infallible> {
        parts.headers_mut().insert(CACHE_CONTROL, self.header());
        Ok(parts)
    }
}
