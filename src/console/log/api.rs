//! The audit log.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::StaffCall;
use crate::log::query::{AuditLogQuery, audit_log_page};
use store::AuditRow;
use web::cache_policy::Cache;
use web::extract::Query;
use web::extract::session::ViewConsole;
use web::problem::Problem;

#[derive(Serialize, JsonSchema)]
struct AuditLogPage {
    entries: Vec<AuditEntry>,
    /// For `?before=`; `null` on the last page.
    next: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct AuditEntry {
    id: String,
    at: Timestamp,
    actor: String,
    action: String,
    subject: String,
    /// The object before, or null.
    before: Option<Box<RawValue>>,
    /// The object after, or null.
    after: Option<Box<RawValue>>,
}

impl From<AuditRow> for AuditEntry {
    fn from(row: AuditRow) -> Self {
        // A missing value is stored as an empty text. That is not JSON, so it becomes `null`.
        let [before, after] = [row.before, row.after].map(|text| RawValue::from_string(text).ok());
        AuditEntry { id: row.id, at: row.at, actor: row.actor, action: row.action, subject: row.subject, before, after }
    }
}

/// One page of the log, newest first.
pub async fn list(
    (State(shop), staff): StaffCall<ViewConsole>,
    Query(query): Query<AuditLogQuery>,
) -> Result<Response, Problem> {
    let page = audit_log_page(&shop.store, &staff, &query).await?;
    let entries = page.items.into_iter().map(AuditEntry::from).collect();
    Ok((Cache::Private, Json(AuditLogPage { entries, next: page.next })).into_response())
}

web::operations! { "administrators"
    /// The audit log, newest first
    GET "/api/admin/audit-log" listLogEntries = list;
        200 AuditLogPage;
}
