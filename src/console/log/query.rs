//! The query of the audit log, as its page and the API read it.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use domain::network::masked;
use domain::{AuditAction, Page};
use store::{AuditFilter, AuditRow, Store};
use web::extract::session::{Permission, Staff, ViewSecurity};
use web::problem::Problem;
use web::shared::FieldError;
use web::shared::pagination::{Cursor, LARGE_PAGE_SIZE};
use web::shared::time_zone;

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
    let (filter, errors) = query.filter();
    if !errors.is_empty() {
        return Err(Problem::invalid(errors));
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
