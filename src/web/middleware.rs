//! The frame around every handler: an id for each request, refusal of requests from other sites, the security headers,
//! panics that become 500, and errors in the form that suits whoever asked: problem details under `/api/`, a page
//! elsewhere.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, REFERRER_POLICY, SET_COOKIE,
    STRICT_TRANSPORT_SECURITY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, Method, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use futures::FutureExt;
use tower_http::csrf::{CsrfLayer, ProtectionError};
use tracing::{Instrument, Span, error, info_span, warn};

use super::Shop;
use crate::accounts;
use crate::config::WebConfig;
use crate::web::cache_policy::Cache;
use crate::web::extract::visitor::{Visitor, login_path};
use crate::web::problem::{Code, Problem, Refused};
use crate::web::views::{MessagePage, Template};

const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Nothing from elsewhere, nothing inline, no frames. Templates keep to it.
const PAGE_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'self'; img-src 'self' data:; style-src 'self'; script-src 'self'; object-src 'none'; \
     base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
);
/// An answer for programs that ends up in a browser's window does nothing there.
const API_POLICY: HeaderValue = HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'");

/// What pages carry besides their policy. With a stricter referrer policy browsers would not tell the origin of a
/// posted form, and our own forms would look like another site's.
const PAGE_HEADERS: [(HeaderName, HeaderValue); 3] = [
    (REFERRER_POLICY, HeaderValue::from_static("same-origin")),
    (
        HeaderName::from_static("permissions-policy"),
        HeaderValue::from_static("camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
    ),
    (HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin")),
];

const HTTPS_ONLY: HeaderValue = HeaderValue::from_static("max-age=31536000");

/// Who asks, judged by the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Audience {
    /// Everybody at once: the button, the token, the purchase, the red packet. Gets what is needed and no more.
    Crowd,
    Program,
    Person,
}

impl Audience {
    fn of(path: &str) -> Audience {
        match path {
            path if path.starts_with("/api/sales/") || path.starts_with("/api/packets/") || path == "/api/ping" => {
                Audience::Crowd
            }
            path if path.starts_with("/api/") => Audience::Program,
            _ => Audience::Person,
        }
    }
}

/// What is remembered of a request until its answer is there.
struct Asked {
    id: HeaderValue,
    audience: Audience,
    method: Method,
    uri: Uri,
    /// Only of a person's request: to show an error in their language.
    headers: Option<HeaderMap>,
}

impl Asked {
    fn of(request: &Request) -> Asked {
        let audience = Audience::of(request.uri().path());
        Asked {
            id: request_id(request.headers()),
            audience,
            method: request.method().clone(),
            uri: request.uri().clone(),
            headers: (audience == Audience::Person).then(|| request.headers().clone()),
        }
    }

    fn id(&self) -> &str {
        self.id.to_str().unwrap_or_default()
    }

    /// Log lines in between carry the request's id. The crowd's have none: it would cost more than the rest.
    fn span(&self) -> Span {
        match self.audience {
            Audience::Crowd => Span::none(),
            _ => info_span!("request", id = self.id(), method = %self.method, path = self.uri.path()),
        }
    }

    /// The page on which a form was: forms post to an address below their page's. Empty when nothing was posted.
    fn page(&self) -> &str {
        match self.uri.path() {
            _ if self.method.is_safe() => "",
            path if path.starts_with("/admin") => "/admin",
            path => path.rsplit_once('/').map_or("", |(page, _)| page),
        }
    }
}

/// The outermost layer.
pub async fn frame(State(shop): State<Arc<Shop>>, request: Request, next: Next) -> Response {
    let asked = Asked::of(&request);
    let handled = AssertUnwindSafe(next.run(request)).catch_unwind().instrument(asked.span()).await;
    let mut response = handled.unwrap_or_else(|panic| panicked(&panic).into_response());
    if let Some(refused) = response.extensions_mut().remove::<Refused>() {
        log(&asked, &refused);
        if let Some(headers) = &asked.headers {
            let visitor = Visitor::of(&asked.uri, headers, &shop);
            response = as_page(response, &asked, visitor, refused);
        }
    }
    if let Some(hint) = accounts::hint(response.headers()) {
        response.headers_mut().append(SET_COOKIE, hint);
    }
    dress(response.headers_mut(), &asked, shop.config.is_https());
    response
}

fn panicked(panic: &(dyn Any + Send)) -> Problem {
    let words = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    Problem::internal(format!("panicked: {}", words.unwrap_or("for reasons unknown")))
}

/// The one place where a failure of a request is logged. Refusals are not failures.
fn log(asked: &Asked, refused: &Refused) {
    let Some(cause) = &refused.cause else { return };
    let (request_id, method, path) = (asked.id(), asked.method.as_str(), asked.uri.path());
    if refused.code == Code::Internal {
        error!(request_id, method, path, error = %cause, "request failed");
    } else {
        warn!(request_id, method, path, error = %cause, code = refused.code.as_str(), "request could not be served");
    }
}

/// The problem as a page, or the way to the login. ReplayGrants the problem's status and headers.
fn as_page(mut response: Response, asked: &Asked, visitor: Visitor, refused: Refused) -> Response {
    let back = refused.back.unwrap_or_else(|| asked.page().to_owned());
    if refused.code == Code::NotSignedIn {
        let next = if asked.method.is_safe() { &visitor.path } else { &back };
        return (Cache::Private, Redirect::to(&login_path(visitor.locale, next))).into_response();
    }
    let mut chrome = visitor.chrome();
    if !back.is_empty() {
        // What was posted has no page of its own that the language switch could lead to.
        chrome.path.clone_from(&back);
    }
    let page = MessagePage {
        chrome,
        status: response.status().as_u16(),
        code: refused.code.as_str().to_owned(),
        back,
        again: refused.again.map(|quantity| (asked.uri.path().to_owned(), quantity)),
    };
    match page.render() {
        Ok(html) => {
            *response.body_mut() = Body::from(html);
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
            response.headers_mut().remove(CONTENT_LENGTH);
        }
        Err(cause) => error!(request_id = asked.id(), error = %cause, "the page about a problem has one itself"),
    }
    response
}

fn dress(headers: &mut HeaderMap, asked: &Asked, https: bool) {
    headers.insert(X_REQUEST_ID, asked.id.clone());
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if asked.method.is_safe() && !headers.contains_key(CACHE_CONTROL) {
        headers.insert(CACHE_CONTROL, Cache::Private.header());
    }
    match asked.audience {
        Audience::Crowd => {}
        Audience::Program => {
            headers.insert(CONTENT_SECURITY_POLICY, API_POLICY);
        }
        Audience::Person => {
            headers.insert(CONTENT_SECURITY_POLICY, PAGE_POLICY);
            headers.extend(PAGE_HEADERS.into_iter().map(|(name, value)| (Some(name), value)));
            if https {
                headers.insert(STRICT_TRANSPORT_SECURITY, HTTPS_ONLY);
            }
        }
    }
}

/// The id that a proxy gave the request, if it looks like one, else a new one.
fn request_id(headers: &HeaderMap) -> HeaderValue {
    let sane = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
    let given = headers.get(X_REQUEST_ID).filter(|id| (8..=64).contains(&id.len()) && id.as_bytes().iter().all(sane));
    given.cloned().unwrap_or_else(new_id)
}

/// Random per process, then counted: unique, and cheaper than randomness for each.
fn new_id() -> HeaderValue {
    static PROCESS: LazyLock<u32> = LazyLock::new(rand::random);
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let id = format!("{:08x}-{:06x}", *PROCESS, NEXT.fetch_add(1, Ordering::Relaxed));
    HeaderValue::from_maybe_shared(axum::body::Bytes::from(id)).unwrap_or(HeaderValue::from_static("unnamed"))
}

/// Refuses requests that change something and come from another site. Behind a proxy that rewrites `Host`, the public
/// origin is what tells our own pages apart.
pub fn same_origin(config: &WebConfig) -> CsrfLayer<fn(ProtectionError) -> Response> {
    let layer = CsrfLayer::new().add_trusted_origin(&config.public_url);
    let layer = layer.expect("the configuration takes only origins");
    layer.with_rejection_response((|_| Problem::new(Code::CrossSite).into_response()) as fn(_) -> _)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(method: Method, uri: &'static str) -> Asked {
        let mut request = Request::new(Body::empty());
        *request.method_mut() = method;
        *request.uri_mut() = Uri::from_static(uri);
        Asked::of(&request)
    }

    #[test]
    fn an_id_is_taken_over_only_when_it_looks_like_one() {
        let id = |given: &str| {
            let headers = HeaderMap::from_iter([(X_REQUEST_ID, HeaderValue::from_bytes(given.as_bytes()).unwrap())]);
            request_id(&headers).to_str().unwrap().to_owned()
        };
        assert_eq!(id("0198c0de-0000-7000-8000-000000000001"), "0198c0de-0000-7000-8000-000000000001");
        for odd in ["", "short", "has space in it", "<script>alert(1)</script>", &"x".repeat(65)] {
            assert_ne!(id(odd), odd);
        }
        assert_ne!(new_id(), new_id());
    }

    #[test]
    fn going_back_leads_to_the_page_with_the_form() {
        assert_eq!(asked(Method::POST, "/zh/sales/7/buy").page(), "/zh/sales/7");
        assert_eq!(asked(Method::POST, "/en/orders/7/x/pay?y=z").page(), "/en/orders/7/x");
        assert_eq!(asked(Method::POST, "/admin/sales/7/stop").page(), "/admin");
        assert_eq!(asked(Method::GET, "/en/orders/7/x").page(), "");
    }

    #[test]
    fn the_crowd_gets_few_headers_and_people_get_all() {
        let dressed = |uri| {
            let asked = asked(Method::GET, uri);
            let mut headers = HeaderMap::new();
            dress(&mut headers, &asked, true);
            headers
        };
        assert_eq!(dressed("/api/sales/7/button").len(), 3);
        assert!(dressed("/api/me").contains_key(CONTENT_SECURITY_POLICY));
        let page = dressed("/zh/");
        for name in ["referrer-policy", "permissions-policy", "cross-origin-opener-policy", "content-security-policy"] {
            assert!(page.contains_key(name), "{name}");
        }
        assert_eq!(page[CACHE_CONTROL], "no-store");
        assert!(page.contains_key(STRICT_TRANSPORT_SECURITY));
    }
}
