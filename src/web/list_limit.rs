//! The layer around lists of what an account has. Each page of a list is a query over many rows, so an account may read
//! them only at a rate that a person does not reach. The API's lists and the pages' lists count together.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;

use crate::Shop;
use crate::problem::{Code, Problem};
use base::rate_limit::UserLimit;

/// Lists that an account reads at once before the rate applies.
const BURST: u64 = 50;

pub fn limit(per_second: u32) -> UserLimit {
    UserLimit::every(Duration::from_secs(1) / per_second.max(1), BURST.max(per_second.into()))
}

/// A request without a session passes: the handler refuses it.
pub async fn limited(State(shop): State<Arc<Shop>>, request: Request, next: Next) -> Result<Response, Problem> {
    let session = shop.accounts.session(request.headers());
    match session.is_some_and(|session| !shop.lists.allows(session.user_id)) {
        true => Err(Code::RateLimited.into()),
        false => Ok(next.run(request).await),
    }
}
