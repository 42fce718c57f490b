//! The middleware around every handler: request ids, refusal of cross-site requests, security headers, panics as 500,
//! the log line of a failed request, and problems as problem details under `/api/` or as a page elsewhere.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use askama::Template;
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

use crate::extract::{Visitor, login_path, program};
use crate::problem::ProblemContext;
use crate::security::WatchedRequest;
use crate::shared::paths::sale_of_path;
use crate::shared::{current_sales, onward_from};
use crate::views::MessagePage;
use crate::{Cache, Code, Problem, Shop, query_keys};
use base::config::WebConfig;
use domain::Locale;
use pages::onward::OnwardSale;

const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Only own resources, nothing inline, no frames. Templates keep to it.
const PAGE_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'self'; img-src 'self' data:; style-src 'self'; script-src 'self'; worker-src 'self'; \
     object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
);
/// An API response that a browser opens in a window can load and run nothing.
const API_POLICY: HeaderValue = HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'");

/// Headers of pages besides their policy. With a stricter referrer policy browsers omit the origin of a posted form,
/// and the shop's own forms would be refused as cross-site.
const PAGE_HEADERS: [(HeaderName, HeaderValue); 3] = [
    (REFERRER_POLICY, HeaderValue::from_static("same-origin")),
    (
        HeaderName::from_static("permissions-policy"),
        HeaderValue::from_static("camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
    ),
    (HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin")),
];

const HTTPS_ONLY: HeaderValue = HeaderValue::from_static("max-age=31536000");

const HOT_PATHS: [&str; 3] = ["/api/sales/", "/api/packets/", "/api/v1/sales/"];

/// The kind of client. It follows from the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Audience {
    /// Clients on the hot path: button, token, purchase, red packet, reservation. They get no page about a problem and no line in the log.
    HotPath,
    Program,
    Browser,
}

impl Audience {
    fn of(path: &str) -> Audience {
        match path {
            path if HOT_PATHS.iter().any(|hot| path.starts_with(hot)) || path == "/api/ping" => Audience::HotPath,
            path if path.starts_with("/api/") => Audience::Program,
            _ => Audience::Browser,
        }
    }
}

/// What the middleware remembers of a request until its response is complete.
struct RequestContext {
    id: HeaderValue,
    audience: Audience,
    method: Method,
    uri: Uri,
    /// Only for a browser's request: the page about a problem is in its language.
    headers: Option<HeaderMap>,
}

impl RequestContext {
    fn of(request: &Request) -> RequestContext {
        let audience = Audience::of(request.uri().path());
        RequestContext {
            id: request_id(request.headers()),
            audience,
            method: request.method().clone(),
            uri: request.uri().clone(),
            headers: (audience == Audience::Browser).then(|| request.headers().clone()),
        }
    }

    fn id(&self) -> &str {
        self.id.to_str().unwrap_or_default()
    }

    /// The span that gives log lines the request's id. The hot path has none: a span would cost more than the handler.
    fn span(&self) -> Span {
        match self.audience {
            Audience::HotPath => Span::none(),
            _ => info_span!("request", id = self.id(), method = %self.method, path = self.uri.path()),
        }
    }

    /// The path of the page with the form. A form posts to a path below its page. Empty for safe methods.
    fn form_page(&self) -> &str {
        match self.uri.path() {
            _ if self.method.is_safe() => "",
            path if path.starts_with("/admin") => "/admin",
            path => path.rsplit_once('/').map_or("", |(page, _)| page),
        }
    }
}

/// The outermost layer of the router.
pub async fn frame(State(shop): State<Arc<Shop>>, request: Request, next: Next) -> Response {
    let context = RequestContext::of(&request);
    let watched = match context.audience {
        Audience::HotPath => Some(WatchedRequest::on_hot_path()),
        _ => WatchedRequest::of(&request, &shop),
    };
    let checked = program::check_address(&request, &shop).and_then(|()| query_keys::check(shop.document, &request));
    let mut response = match checked {
        Ok(()) => {
            let is_from_program = program::is_from_program(&request);
            let handled = async {
                match is_from_program {
                    // Boxed, so that the future of everyone else's request stays small.
                    true => Box::pin(program::authenticated(&shop, request, next)).await,
                    false => next.run(request).await,
                }
            };
            let handled = AssertUnwindSafe(handled).catch_unwind().instrument(context.span()).await;
            handled.unwrap_or_else(|panic| panic_problem(&panic).into_response())
        }
        Err(problem) => problem.into_response(),
    };
    let problem = response.extensions_mut().remove::<ProblemContext>();
    if let Some(watched) = watched {
        watched.record(&shop.security, response.status(), problem.as_ref().map(|problem| problem.code));
    }
    if let Some(problem) = problem {
        log(&context, &problem);
        if let Some(headers) = &context.headers {
            let visitor = Visitor::of(&context.uri, headers, &shop);
            response = problem_page(&shop, response, &context, visitor, problem);
        }
    }
    let hint = accounts::hint_cookie(response.headers());
    let device = shop.accounts.device_cookie(response.headers());
    for cookie in [hint, device].into_iter().flatten() {
        response.headers_mut().append(SET_COOKIE, cookie);
    }
    add_headers(response.headers_mut(), &context, shop.config.is_https());
    response
}

fn panic_problem(panic: &(dyn Any + Send)) -> Problem {
    let message = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    Problem::internal(format!("panicked: {}", message.unwrap_or("without a message")))
}

/// Logs a failed request; no other place does. A refusal has no cause and is not logged.
fn log(request: &RequestContext, problem: &ProblemContext) {
    let Some(cause) = &problem.cause else { return };
    let (request_id, method, path) = (request.id(), request.method.as_str(), request.uri.path());
    if problem.code == Code::Internal {
        error!(request_id, method, path, error = %cause, "request failed");
    } else {
        warn!(request_id, method, path, error = %cause, code = problem.code.as_str(), "request could not be served");
    }
}

/// The problem as a page with the status and headers of the response; a redirect to the login for a visitor who is not
/// signed in.
fn problem_page(
    shop: &Shop,
    mut response: Response,
    request: &RequestContext,
    visitor: Visitor,
    problem: ProblemContext,
) -> Response {
    let back = problem.back.unwrap_or_else(|| request.form_page().to_owned());
    if problem.code == Code::NotSignedIn {
        let next = if request.method.is_safe() { &visitor.path } else { &back };
        return (Cache::Private, Redirect::to(&login_path(visitor.locale, next))).into_response();
    }
    let mut chrome = visitor.chrome();
    if !back.is_empty() {
        // The path of a posted form answers no GET, so the language switch leads back to the form's page.
        chrome.path.clone_from(&back);
    }
    let page = MessagePage {
        onward: leads_on_to(shop, problem.code, request.uri.path(), visitor.locale),
        chrome,
        status: response.status().as_u16(),
        code: problem.code.as_str().to_owned(),
        back,
        again: problem.again.map(|quantity| (request.uri.path().to_owned(), quantity)),
        not_before: problem.not_before,
    };
    match page.render() {
        Ok(html) => {
            *response.body_mut() = Body::from(html);
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
            response.headers_mut().remove(CONTENT_LENGTH);
        }
        Err(cause) => {
            error!(request_id = request.id(), error = %cause, "the page about a problem could not be rendered")
        }
    }
    response
}

/// Sales that the page links to, for a visitor who wanted to buy something, or who looked for a page that does not
/// exist.
fn leads_on_to(shop: &Shop, code: Code, path: &str, locale: Locale) -> Vec<OnwardSale> {
    match code {
        _ if path.starts_with("/admin") => Vec::new(),
        Code::SoldOut | Code::Ended => {
            let from = sale_of_path(path).and_then(|sale| shop.catalogue.known(sale));
            from.map(|from| onward_from(&shop.catalogue, locale, &from)).unwrap_or_default()
        }
        Code::NotFound | Code::NoSuchSale | Code::NoSuchPacket | Code::NoSuchDraw | Code::NoSuchWaitingRoom => {
            current_sales(&shop.catalogue, locale)
        }
        _ => Vec::new(),
    }
}

fn add_headers(headers: &mut HeaderMap, request: &RequestContext, https: bool) {
    headers.insert(X_REQUEST_ID, request.id.clone());
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if request.method.is_safe() && !headers.contains_key(CACHE_CONTROL) {
        headers.insert(CACHE_CONTROL, Cache::Private.header());
    }
    if https {
        headers.insert(STRICT_TRANSPORT_SECURITY, HTTPS_ONLY);
    }
    match request.audience {
        Audience::HotPath | Audience::Program => {
            headers.insert(CONTENT_SECURITY_POLICY, API_POLICY);
        }
        Audience::Browser => {
            headers.insert(CONTENT_SECURITY_POLICY, PAGE_POLICY);
            // Links with a token and pages of payments have a referrer policy of their own.
            for (name, value) in PAGE_HEADERS {
                headers.entry(name).or_insert(value);
            }
        }
    }
}

/// The id from a proxy's `X-Request-Id` if it is well-formed, otherwise a new id.
fn request_id(headers: &HeaderMap) -> HeaderValue {
    let given = headers.get(X_REQUEST_ID).filter(|id| (8..=64).contains(&id.len()));
    let sane =
        given.filter(|id| id.as_bytes().iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte)));
    sane.cloned().unwrap_or_else(new_id)
}

/// A random prefix per process and a counter: unique, and cheaper than a random id per request.
fn new_id() -> HeaderValue {
    static PROCESS: LazyLock<u32> = LazyLock::new(rand::random);
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let id = format!("{:08x}-{:06x}", *PROCESS, NEXT.fetch_add(1, Ordering::Relaxed));
    HeaderValue::from_maybe_shared(axum::body::Bytes::from(id)).unwrap_or(HeaderValue::from_static("unnamed"))
}

/// Refuses unsafe requests from other sites. Behind a proxy that rewrites `Host`, the configured public origin
/// identifies the shop's own pages.
pub fn same_origin(config: &WebConfig) -> CsrfLayer<fn(ProtectionError) -> Response> {
    let layer = CsrfLayer::new().add_trusted_origin(&config.public_url);
    let layer = layer.expect("the configuration takes only origins");
    layer.with_rejection_response((|_| Problem::new(Code::CrossSite).into_response()) as fn(_) -> _)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context(method: Method, uri: &'static str) -> RequestContext {
        let mut request = Request::new(Body::empty());
        *request.method_mut() = method;
        *request.uri_mut() = Uri::from_static(uri);
        RequestContext::of(&request)
    }

    #[test]
    fn request_id_is_accepted_only_in_its_form() {
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
    fn back_link_leads_to_the_page_with_the_form() {
        assert_eq!(context(Method::POST, "/zh/sales/7/buy").form_page(), "/zh/sales/7");
        assert_eq!(context(Method::POST, "/en/orders/7/x/pay?y=z").form_page(), "/en/orders/7/x");
        assert_eq!(context(Method::POST, "/admin/sales/7/stop").form_page(), "/admin");
        assert_eq!(context(Method::GET, "/en/orders/7/x").form_page(), "");
    }

    #[test]
    fn every_answer_has_security_headers_and_pages_get_all() {
        let headers_of = |uri| {
            let mut headers = HeaderMap::new();
            add_headers(&mut headers, &context(Method::GET, uri), true);
            headers
        };
        for hot in ["/api/sales/7/button", "/api/packets/7/claims", "/api/ping"] {
            assert_eq!(headers_of(hot).len(), 5, "{hot}");
            assert_eq!(headers_of(hot)[CONTENT_SECURITY_POLICY], API_POLICY, "{hot}");
            assert_eq!(headers_of(hot)[STRICT_TRANSPORT_SECURITY], HTTPS_ONLY, "{hot}");
        }
        assert!(headers_of("/api/me").contains_key(CONTENT_SECURITY_POLICY));
        let page = headers_of("/zh/");
        for name in ["referrer-policy", "permissions-policy", "cross-origin-opener-policy", "content-security-policy"] {
            assert!(page.contains_key(name), "{name}");
        }
        assert_eq!(page[CACHE_CONTROL], "no-store");
        assert!(page.contains_key(STRICT_TRANSPORT_SECURITY));
        assert!(headers_of("/api/me").contains_key(STRICT_TRANSPORT_SECURITY));
    }
}
