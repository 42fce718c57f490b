//! The id of a request that carries an idempotency key.

use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use uuid::Uuid;

use crate::Shop;
use domain::RefundId;
use store::RequestId;

/// The id that all attempts of the request share; `None` for a request without a key. A handler writes it with what it
/// creates. [`crate::idempotency`] sets it.
#[derive(Debug, Clone, Copy)]
pub struct Repeatable(pub Option<RequestId>);

impl Repeatable {
    /// The id of a refund that the request asks for.
    pub fn refund(self) -> RefundId {
        RefundId(self.0.map_or_else(Uuid::now_v7, |RequestId(id)| id))
    }
}

impl FromRequestParts<Arc<Shop>> for Repeatable {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &Arc<Shop>) -> Result<Self, Infallible> {
        Ok(Repeatable(parts.extensions.get::<RequestId>().copied()))
    }
}
