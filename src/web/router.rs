//! The whole shop as one service: the routes of the crates above, within the middleware. Their `routes.rs` has the addresses
//! of pages, and leads to those of the API.

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::handler::Handler;
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderValue, Uri};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
pub use axum::routing::MethodFilter;
use axum::routing::{MethodRouter, on};
use futures::future::BoxFuture;
use tower::ServiceBuilder;

use crate::document::Api;
use crate::extract::query_value;
use crate::{Code, Problem, Shop, account_limits, idempotency};
use domain::Locale;

/// Routes before the middleware.
pub type Routes = Router<Arc<Shop>>;

/// The shop as a service. It needs no socket.
pub fn router(shop: Arc<Shop>, routes: Routes) -> Router {
    let middleware = ServiceBuilder::new()
        .layer(from_fn_with_state(shop.clone(), crate::middleware::frame))
        .layer(crate::middleware::same_origin(&shop.config));
    routes
        .fallback(async || Problem::new(Code::NotFound))
        .method_not_allowed_fallback(async || Problem::new(Code::MethodNotAllowed))
        .layer(middleware)
        .with_state(shop)
}

/// The shop of a process whose start waits for the database. Nothing is known yet, also not who asks in which language.
pub fn starting_router() -> Router {
    let unavailable = async |uri: Uri| {
        let mut response = Problem::new(Code::Unavailable).into_response();
        if !uri.path().starts_with("/api/") {
            let words = words::problem(Code::Unavailable.as_str());
            let (zh, en) = (words.text(Locale::Zh), words.text(Locale::En));
            let page = format!(
                "<!doctype html><html lang=\"zh\"><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" content=\"5\">\
                 <title>503</title><p>{zh}<p lang=\"en\">{en}</html>"
            );
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
            *response.body_mut() = page.into();
        }
        let headers = [
            (CACHE_CONTROL, "no-store"),
            (CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
            (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        ];
        (headers, response)
    };
    Router::new().fallback(unavailable)
}

// `get`, `post` and so on, for handlers whose type is erased.
//
// The compiler proves again that the future of a handler is `Send` for everything that it instantiates with the
// handler's type, and axum has some ten such types and functions. That future holds the futures of all that the
// handler calls, so the proofs for four hundred handlers took half of the time in which this crate compiles. With an
// erased type, one proof is left.

type Answer = BoxFuture<'static, Response>;

#[derive(Clone)]
struct Erased(Arc<dyn Fn(Request, Arc<Shop>) -> Answer + Send + Sync>);

impl Handler<(), Arc<Shop>> for Erased {
    type Future = Answer;

    fn call(self, request: Request, shop: Arc<Shop>) -> Answer {
        (self.0)(request, shop)
    }
}

fn erased<T: 'static>(handler: impl Handler<T, Arc<Shop>, Future = Answer>) -> Erased {
    Erased(Arc::new(move |request, shop| handler.clone().call(request, shop)))
}

/// Defines functions with the names in `axum::routing`. Several methods of one path are merged:
/// `get(show).merge(post(edit))`.
macro_rules! methods {
    ($($name:ident $filter:ident),*) => {$(
        pub fn $name<T: 'static>(handler: impl Handler<T, Arc<Shop>, Future = Answer>) -> MethodRouter<Arc<Shop>> {
            on(MethodFilter::$filter, erased(handler))
        }
    )*};
}

/// What a file adds to the document of the API, and its routes.
pub type Operations = (fn(&mut Api), fn(&Arc<Shop>) -> Routes);

/// The route of an operation of the API. Two of the words in its row are layers around the handler.
pub fn operation<T: 'static>(
    method: MethodFilter,
    handler: impl Handler<T, Arc<Shop>, Future = Answer>,
    words: &[&str],
    shop: &Arc<Shop>,
) -> MethodRouter<Arc<Shop>> {
    let mut route = on(method, erased(handler));
    if words.contains(&"repeatable") {
        route = route.route_layer(from_fn_with_state(shop.clone(), idempotency::repeatable));
    }
    if words.contains(&"limited") {
        route = route.route_layer(from_fn_with_state(shop.clone(), account_limits::limited));
    }
    route
}

/// A tab of a page: the value of `show` in the query, and what answers it.
pub struct PageTab(&'static str, Erased);

pub fn tab<T: 'static>(name: &'static str, handler: impl Handler<T, Arc<Shop>, Future = Answer>) -> PageTab {
    PageTab(name, erased(handler))
}

/// A page with tabs. Without the name of another tab it shows the first.
pub fn tabs<const N: usize>(tabs: [PageTab; N]) -> MethodRouter<Arc<Shop>> {
    let pick = move |request: Request, shop| {
        let shown = request.uri().query().and_then(|query| query_value(query, "show")).unwrap_or_default();
        let PageTab(_, handler) = tabs.iter().find(|PageTab(name, _)| *name == shown).unwrap_or(&tabs[0]);
        (handler.0)(request, shop)
    };
    on(MethodFilter::GET, Erased(Arc::new(pick)))
}

methods!(get GET, post POST, put PUT, patch PATCH, delete DELETE);
