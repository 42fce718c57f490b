//! How long a response may be cached, and where. [`frame`](crate::middleware::frame) forbids caching of every
//! `GET` response that does not choose.

use std::convert::Infallible;

use axum::http::HeaderValue;
use axum::http::header::CACHE_CONTROL;
use axum::response::{IntoResponseParts, ResponseParts};

/// The kind of a response for caches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cache {
    /// Live data that is the same for all clients. A CDN requests it once a second, whatever its own load.
    Live,
    /// A pre-rendered page: the same for all visitors, changes rarely, and a stale copy is better than an error.
    Page,
    /// A path that changes with its content.
    Forever,
    /// A fixed path whose content changes with the program. Caches compare their copy before each use.
    Revalidate,
    /// The redirect of `/`, which depends only on a header.
    Redirect,
    /// Data of one user.
    Private,
}

impl Cache {
    pub fn header(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Cache::Live => "public, max-age=1",
            Cache::Page => "public, max-age=5, stale-while-revalidate=60, stale-if-error=86400",
            Cache::Forever => "public, max-age=31536000, immutable",
            Cache::Revalidate => "no-cache",
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
