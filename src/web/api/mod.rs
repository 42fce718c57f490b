//! The JSON API. Shapes and codes are those of the contract.

pub mod sales;
pub mod wallet;

pub mod addresses;
pub mod orders;
pub mod payments;

pub mod packets;

pub mod accounts;
pub mod own_account;

pub mod admin;
use axum::body::{Body, Bytes};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;

/// A JSON text that is ready.
fn written(status: StatusCode, text: impl Into<Bytes>) -> Response {
    let mut response = Response::new(Body::from(text.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
