//! The feed of changed orders, for programs that keep a copy of all orders and must not miss a change.

use axum::Json as Answer;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};

use crate::StaffCall;
use crate::orders::api::{FoundOrderJson, found_orders};
use web::cache_policy::Cache;
use web::extract::Query;
use web::extract::session::ViewConsole;
use web::problem::{Code, Problem};
use web::shared::pagination::Cursor;

#[derive(Deserialize)]
pub struct ChangesQuery {
    #[serde(default)]
    after: Cursor,
}

#[derive(Serialize)]
struct ChangedOrderList {
    /// The orders as they are now, the oldest change first.
    orders: Vec<FoundOrderJson>,
    /// For `?after=`. Never `null`: the next changes come after it.
    next: String,
    /// Whether the next page has changes already.
    has_more: bool,
}

/// Orders that were changed after the cursor, or since the oldest change that is stored.
pub async fn list(
    (State(shop), _): StaffCall<ViewConsole>,
    Query(query): Query<ChangesQuery>,
) -> Result<Response, Problem> {
    let page = shop.store.orders().changed_orders(query.after.read("after")?).await?.ok_or(Code::CursorExpired)?;
    let orders = found_orders(&shop.store, page.orders).await?;
    let list = ChangedOrderList { orders, next: page.next.to_string(), has_more: page.has_more };
    Ok((Cache::Private, Answer(list)).into_response())
}
