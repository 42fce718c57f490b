//! The JSON API. `docs/api.md` and `src/web/openapi.json` describe shapes and codes.

// Buying.
pub mod sales;

pub mod queues;

pub mod draws;

pub mod waitlist;

pub mod eligibility;

pub mod questions;

pub mod orders;

pub mod addresses;

// Money.
pub mod payments;

pub mod wallet;

pub mod packets;

// Accounts.
pub mod accounts;

pub mod recovery;

pub mod own_account;

pub mod passkeys;

pub mod push;

// The staff.
pub mod admin;

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;

use super::Shop;
use super::extract::session::SignedIn;

/// What most handlers of a signed-in user extract.
type UserCall = (State<Arc<Shop>>, SignedIn);

/// A response whose JSON text is written already.
fn json_response(status: StatusCode, text: impl Into<Bytes>) -> Response {
    let mut response = Response::new(Body::from(text.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
