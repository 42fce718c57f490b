//! The console's page of the audit log.

use askama::Template;
use serde_json::{Map, Value};

use super::{FieldError, error_text};
use crate::pages::filters;
use crate::store::AuditRow;
use crate::web::shared::audit_log_query::AuditLogQuery;
use crate::web::views::Chrome;

/// One value that an action changed. An absent value is empty.
#[derive(Debug, PartialEq, Eq)]
pub struct ChangedValue {
    pub key: String,
    pub before: String,
    pub after: String,
}

/// The entries that match a filter, newest first.
#[derive(Debug, Template)]
#[template(path = "admin/log.html")]
pub struct AdminLogPage {
    pub chrome: Chrome,
    pub rows: Vec<AuditRow>,
    /// The path of the next page.
    pub older: Option<String>,
    /// The actions that the filter offers.
    pub actions: Vec<String>,
    pub filtered: bool,
    pub query: AuditLogQuery,
    pub errors: Vec<FieldError>,
}

impl AdminLogPage {
    fn error_text(&self, field: &str) -> Option<&'static str> {
        error_text(&self.chrome, &self.errors, field)
    }

    fn verb<'a>(&self, action: &'a str) -> &'a str {
        let t = self.chrome.text();
        match action {
            "create" => t.admin.create,
            "edit" => t.admin.edit,
            "start" => t.admin.start,
            "pause" => t.admin.pause,
            "resume" => t.admin.resume,
            "stop" => t.admin.stop,
            "top-up" => t.admin.top_up,
            "schedule" => t.sales.schedule,
            "unschedule" => t.sales.unschedule,
            "delete" => t.sales.delete,
            "cancel" => t.support.cancel,
            "refund" => t.support.refund,
            "refund_part" => t.support.refund_part,
            "retry_refund" => t.cases.refund,
            "request-refund" => t.approvals.action_request,
            "approve-refund" => t.approvals.action_approve,
            "decline-refund" => t.approvals.action_decline,
            "void-refund" => t.approvals.action_void,
            "settle_payment" => t.cases.settle,
            "export-books" => t.books.action_export,
            "reveal-recipient" => t.support.reveal,
            "replay" => t.cockpit.replay,
            "discard" => t.cockpit.discard,
            "make-invitations" => t.eligibility_console.make_title,
            "revoke-invitations" => t.eligibility_console.action_revoke,
            "archive" => t.goods.archive,
            "unarchive" => t.goods.unarchive,
            "block" => t.people.action_block,
            "unblock" => t.people.action_unblock,
            "end-sessions" => t.people.action_end_sessions,
            "dismiss" => t.people.action_dismiss,
            "set-role" => t.people.action_set_role,
            "add-staff" => t.people.action_add_staff,
            "reset-second-factor" => t.people.action_reset,
            "staff-policy" => t.people.action_policy,
            "reset-password" => t.people.action_reset_password,
            "start-recovery" => t.recovery.action_start,
            "recover-password" => t.recovery.action_recover,
            "verify-mail" => t.recovery.action_verify,
            "remove-mail" => t.recovery.action_remove,
            "export-orders" => t.people.action_export_orders,
            "log-in" => t.people.action_log_in,
            "log-in-failed" => t.people.action_log_in_failed,
            "change-password" => t.people.action_password,
            "set-second-factor" => t.people.action_factor_on,
            "remove-second-factor" => t.people.action_factor_off,
            "add-passkey" => t.passkeys.action_add,
            "remove-passkey" => t.passkeys.action_remove,
            other => other,
        }
    }

    fn changes(&self, row: &AuditRow) -> Vec<ChangedValue> {
        changes(&row.before, &row.after)
    }
}

/// The values that differ between two JSON records.
fn changes(before: &str, after: &str) -> Vec<ChangedValue> {
    let [before, after] = [before, after].map(record);
    let keys = before.keys().chain(after.keys().filter(|key| !before.contains_key(*key)));
    let changed = keys.filter(|key| before.get(*key) != after.get(*key));
    let changed = changed.map(|key| ChangedValue {
        key: key.clone(),
        before: value_text(before.get(key)),
        after: value_text(after.get(key)),
    });
    changed.filter(|change| !(change.before.is_empty() && change.after.is_empty())).collect()
}

/// A text that is not JSON counts as empty.
fn record(text: &str) -> Map<String, Value> {
    match serde_json::from_str(text) {
        Ok(Value::Object(record)) => record,
        Ok(value) => Map::from_iter([(String::new(), value)]),
        Err(_) => Map::new(),
    }
}

fn value_text(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_lists_only_values_that_differ() {
        let changed = |key: &str, before: &str, after: &str| ChangedValue {
            key: key.into(),
            before: before.into(),
            after: after.into(),
        };
        let (before, after) = (r#"{"a":1,"b":"x","c":null}"#, r#"{"a":1,"b":"y","c":null,"d":{"e":2}}"#);
        assert_eq!(changes(before, after), [changed("b", "x", "y"), changed("d", "", r#"{"e":2}"#)]);
        assert_eq!(changes("", r#"{"a":1}"#), [changed("a", "", "1")]);
        assert_eq!(changes("", ""), []);
        assert_eq!(changes("not json", "7"), [changed("", "", "7")]);
    }
}
