//! The audit log.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use uuid::Uuid;

use crate::StaffCall;
use domain::network::masked;
use domain::{AuditAction, Page};
use store::{AuditFilter, AuditRow, Store};
use web::cache_policy::Cache;
use web::extract::Query;
use web::extract::session::{Permission, Staff, ViewConsole, ViewSecurity};
use web::problem::Problem;
use web::shared::pagination::{Cursor, LARGE_PAGE_SIZE};
use web::shared::{FieldError, time_zone};

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

// The query of the audit log, as its page and the API read it.

/// The filter as typed, and the cursor of the page.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub struct AuditLogQuery {
    /// A username.
    #[serde(default)]
    pub actor: String,
    /// For example `block` or `start`.
    #[serde(default)]
    pub action: String,
    /// For example `sale 7`, or `user` and an id.
    #[serde(default)]
    pub subject: String,
    /// A date or time, UTC.
    #[serde(default)]
    pub from: String,
    /// The end of the period, exclusive.
    #[serde(default)]
    pub to: String,
    /// The time zone of `from` and `to` when they are days; UTC when it is empty.
    #[serde(default)]
    pub zone: String,
    /// `oldest` for the oldest first. Only the page reads it.
    #[serde(default)]
    #[schemars(skip)]
    pub sort: String,
    /// The id of the last entry on the page before.
    #[serde(default)]
    pub before: Cursor,
}

impl AuditLogQuery {
    /// The filter of the fields that can be read, and an error for each of the others.
    pub fn filter(&self) -> (AuditFilter, Vec<FieldError>) {
        let mut errors = Vec::new();
        let [from, to] = time_zone::period(&self.from, &self.to, &self.zone, &mut errors);
        let filter = AuditFilter {
            actor: self.actor.trim().to_owned(),
            action: self.action.trim().to_owned(),
            subject: self.subject.trim().to_owned(),
            from,
            to,
            oldest_first: self.sort == "oldest",
        };
        (filter, errors)
    }

    pub fn is_blank(&self) -> bool {
        [&self.actor, &self.action, &self.subject, &self.from, &self.to].into_iter().all(|text| text.trim().is_empty())
    }
}

/// One page of the log, newest first. Addresses of log-ins are masked except for staff who read the security events.
pub async fn audit_log_page<P: Permission>(
    store: &Store,
    staff: &Staff<P>,
    query: &AuditLogQuery,
) -> Result<Page<AuditRow, String>, Problem> {
    let (mut filter, errors) = query.filter();
    if !errors.is_empty() {
        return Err(Problem::invalid(errors));
    }
    if let Some(Ok(number)) = filter.subject.strip_prefix("order ").map(str::parse)
        && let Some(id) = store.orders().with_numbers(&[number]).await?.get(&number)
    {
        filter.subject = format!("order {id}");
    }
    let before = query.before.read::<Uuid>("before")?.map(|id| id.to_string());
    let mut rows = store.audit_log().list(&filter, before.as_deref(), LARGE_PAGE_SIZE as i64 + 1).await?;
    if !staff.may::<ViewSecurity>() {
        rows.iter_mut().filter(|row| row.action == AuditAction::LogIn.as_str()).for_each(mask_address);
    }
    Ok(Page::cut(rows, LARGE_PAGE_SIZE, |row| row.id.clone()))
}

fn mask_address(row: &mut AuditRow) {
    if let Ok(mut details) = serde_json::from_str::<Value>(&row.after)
        && let Some(Value::String(address)) = details.get_mut("address")
    {
        *address = masked(address);
        row.after = details.to_string();
    }
}

web::operations! { "administrators"
    /// The audit log, newest first
    GET "/api/admin/audit-log" listLogEntries = list;
        200 AuditLogPage;
}
