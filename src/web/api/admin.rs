//! What an administrator may look into.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::orders::{OrderJson, OrderList, Page};
use crate::domain::UserId;
use crate::error::Problem;
use crate::store::AuditRow;
use crate::web::Shop;
use crate::web::admin::log::{LogQuery, page_of_log};
use crate::web::cache::Cache;
use crate::web::input::Query;
use crate::web::order_pages::page_of_orders;
use crate::web::session::{Look, Staff};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OrderSearch {
    username: String,
    before: Option<String>,
}

#[derive(Serialize)]
struct FoundOrder {
    user_id: UserId,
    #[serde(flatten)]
    order: OrderJson,
}

/// The orders of one user, newest first.
pub async fn orders(
    State(shop): State<Arc<Shop>>,
    _: Staff<Look>,
    Query(search): Query<OrderSearch>,
) -> Result<Response, Problem> {
    let before = Page { before: search.before }.before()?;
    let (orders, next) = match shop.store.user_named(&search.username).await? {
        Some(user) => page_of_orders(&shop, user.id, before).await?,
        None => (Vec::new(), None),
    };
    let found = |order: crate::domain::Order| FoundOrder { user_id: order.user_id, order: OrderJson::of(order, None) };
    let orders: Vec<FoundOrder> = orders.into_iter().map(found).collect();
    Ok((Cache::Private, Json(OrderList { orders, next })).into_response())
}

#[derive(Serialize)]
struct Log {
    entries: Vec<LogEntry>,
    /// For `?before=`; `null` on the last page.
    next: Option<String>,
}

#[derive(Serialize)]
struct LogEntry {
    id: String,
    at: Timestamp,
    actor: String,
    action: String,
    subject: String,
    before: Option<Box<RawValue>>,
    after: Option<Box<RawValue>>,
}

impl From<AuditRow> for LogEntry {
    fn from(row: AuditRow) -> Self {
        // Empty where there was nothing: not a JSON text, hence `null`.
        let json = |text: String| RawValue::from_string(text).ok();
        LogEntry {
            id: row.id,
            at: row.at,
            actor: row.actor,
            action: row.action,
            subject: row.subject,
            before: json(row.before),
            after: json(row.after),
        }
    }
}

/// Who did what, newest first.
pub async fn audit_log(
    State(shop): State<Arc<Shop>>,
    _: Staff<Look>,
    Query(query): Query<LogQuery>,
) -> Result<Response, Problem> {
    let (rows, next) = page_of_log(&shop, &query).await?;
    let entries = rows.into_iter().map(LogEntry::from).collect();
    Ok((Cache::Private, Json(Log { entries, next })).into_response())
}
