//! The whole shop as one service: the routes of the crates above, within the middleware. Every address stands in their
//! `routes.rs`, grouped by caller.

pub mod methods;

use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn_with_state;
use tower::ServiceBuilder;

use crate::Shop;
use crate::problem::{Code, Problem};

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
