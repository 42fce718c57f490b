//! Responses of pages and forms.

use askama::Template;
use axum::Json;
use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::response::{Html, IntoResponse, Redirect, Response};
use serde::Serialize;

use crate::cache_policy::Cache;
use crate::problem::Problem;

/// A page rendered for one visitor. No cache stores it.
pub fn personal(status: StatusCode, page: &impl Template) -> Result<Response, Problem> {
    Ok((status, Cache::Private, Html(page.render()?)).into_response())
}

/// The answer to an API request that created something, which can be read at `location`.
pub fn created(location: String, body: impl Serialize) -> Response {
    (StatusCode::CREATED, Cache::Private, [(LOCATION, location)], Json(body)).into_response()
}

/// The redirect after a successful form (post, redirect, get).
pub fn see_other(path: &str) -> Response {
    (Cache::Private, Redirect::to(path)).into_response()
}
