//! Responses of pages and forms.

use askama::Template;
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Redirect, Response};

use crate::web::cache_policy::Cache;
use crate::web::problem::Problem;

/// A page rendered for one visitor. No cache keeps it.
pub fn personal(status: StatusCode, page: &impl Template) -> Result<Response, Problem> {
    Ok((status, Cache::Private, Html(page.render()?)).into_response())
}

/// The redirect after a successful form (post, redirect, get).
pub fn see_other(path: &str) -> Response {
    (Cache::Private, Redirect::to(path)).into_response()
}
