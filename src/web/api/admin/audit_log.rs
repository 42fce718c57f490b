//! What an administrator may look into.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::store::AuditRow;
use crate::web::Shop;
use crate::web::admin::log::{LogQuery, page_of_log};
use crate::web::cache_policy::Cache;
use crate::web::extract::Query;
use crate::web::extract::session::{Look, Staff};
use crate::web::problem::Problem;

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
pub async fn list(
    State(shop): State<Arc<Shop>>,
    _: Staff<Look>,
    Query(query): Query<LogQuery>,
) -> Result<Response, Problem> {
    let (rows, next) = page_of_log(&shop, &query).await?;
    let entries = rows.into_iter().map(LogEntry::from).collect();
    Ok((Cache::Private, Json(Log { entries, next })).into_response())
}
