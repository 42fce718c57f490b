//! What an administrator may look into.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use uuid::Uuid;

use crate::error::Problem;
use crate::store::AuditRow;
use crate::web::Shop;
use crate::web::cache::Cache;
use crate::web::input::Query;
use crate::web::session::{Look, Staff};

/// Entries of the log on one page.
pub const LOG_PAGE: i64 = 50;

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

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogPage {
    before: Option<String>,
}

/// Who did what, newest first.
pub async fn audit_log(
    State(shop): State<Arc<Shop>>,
    _: Staff<Look>,
    Query(page): Query<LogPage>,
) -> Result<Response, Problem> {
    if page.before.as_deref().is_some_and(|id| Uuid::try_parse(id).is_err()) {
        return Err(Problem::invalid_field("before", "bad_cursor"));
    }
    let mut rows = shop.store.audit_log(page.before.as_deref(), LOG_PAGE + 1).await?;
    let more = rows.len() as i64 > LOG_PAGE;
    rows.truncate(LOG_PAGE as usize);
    let next = rows.last().filter(|_| more).map(|row| row.id.clone());
    let entries = rows.into_iter().map(LogEntry::from).collect();
    Ok((Cache::Private, Json(Log { entries, next })).into_response())
}
