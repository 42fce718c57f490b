//! The feed of changed orders, for programs that keep a copy of all orders and must not miss a change.

use axum::Json as Answer;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::StaffCall;
use crate::orders::api::{FoundOrderJson, found_orders};
use web::cache_policy::Cache;
use web::extract::Query;
use web::extract::session::ViewConsole;
use web::problem::{Code, Problem};
use web::shared::pagination::Cursor;

#[derive(Deserialize, JsonSchema)]
pub struct ChangesQuery {
    /// The cursor `next` of the previous page. Without it, the oldest change that is kept is the first.
    #[serde(default)]
    after: Cursor,
}

#[derive(Serialize, JsonSchema)]
struct ChangedOrderList {
    /// The orders as they are now, the oldest change first.
    #[schemars(length(max = 200))]
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

web::operations! { "administrators"
    /// Follow all changes of orders, the oldest change first
    ///
    /// Orders that were added or changed (status, address, hold, money that went back, name of the owner) after the
    /// cursor, as they are now. No change is missed: an order is listed at least once after each of its changes, so it
    /// may come again as it was. Keep `next` once the page is stored, and ask again with it: at once while `has_more`
    /// is true, later otherwise. Changes are kept for 30 days. Orders whose last change is older are found by `GET
    /// /api/admin/orders`; orders of rehearsals are left out.
    GET "/api/admin/orders/changes" followOrders = list;
        200 ChangedOrderList;
        refuses CursorExpired;
}
