//! The console's pages about people, and the log of what staff did.

use askama::Template;
use serde_json::Value;

use super::{FieldError, complaint};
use crate::domain::{Money, Order, UserId};
use crate::i18n::problem;
use crate::pages::filters;
use crate::store::{AuditRow, Role, SessionRow, User};
use crate::web::views::Chrome;

/// Where an account stands, as a word for the style sheet and one for people.
fn state_of<'a>(chrome: &'a Chrome, user: &User) -> (&'static str, &'a str) {
    let t = &chrome.text().people;
    match user {
        user if user.deleted_at.is_some() => ("cancelled", t.state_deleted),
        user if user.is_blocked() => ("rejected", t.state_blocked),
        user if user.must_change_password => ("unpaid", t.state_new),
        _ => ("paid", t.state_active),
    }
}

fn words_of(chrome: &Chrome, code: Option<&'static str>) -> Option<&'static str> {
    code.map(|code| problem(code).text(chrome.locale))
}

/// Everybody with an account, or those that were searched for.
#[derive(Debug, Template)]
#[template(path = "admin/users.html")]
pub struct UsersPage {
    pub chrome: Chrome,
    pub users: Vec<User>,
    /// As typed.
    pub q: String,
    /// Whether this is not the first page.
    pub paged: bool,
    pub older: Option<UserId>,
}

impl UsersPage {
    fn state(&self, user: &User) -> (&'static str, &str) {
        state_of(&self.chrome, user)
    }
}

/// One account, with what can be done to it.
#[derive(Debug, Template)]
#[template(path = "admin/user.html")]
pub struct UserPage {
    pub chrome: Chrome,
    pub user: User,
    pub sessions: Vec<SessionRow>,
    pub orders: Vec<Order>,
    /// What the wallet holds.
    pub balance: Money,
    /// For blocking, as typed.
    pub reason: String,
    pub errors: Vec<FieldError>,
    /// A problem code.
    pub problem: Option<&'static str>,
    /// What was done just now; anything unknown is not shown.
    pub done: String,
    pub log_path: String,
}

impl UserPage {
    fn state(&self) -> (&'static str, &str) {
        state_of(&self.chrome, &self.user)
    }

    fn complaint(&self, field: &str) -> Option<&'static str> {
        complaint(&self.chrome, &self.errors, field)
    }

    fn problem(&self) -> Option<&'static str> {
        words_of(&self.chrome, self.problem)
    }

    fn praise(&self) -> Option<&'static str> {
        let t = &self.chrome.text().people;
        match self.done.as_str() {
            "block" => Some(t.done_block),
            "unblock" => Some(t.done_unblock),
            "end-sessions" => Some(t.done_end_sessions),
            _ => None,
        }
    }

    fn path(&self, action: &str) -> String {
        format!("/admin/users/{}/{action}", self.user.id)
    }

    /// Whether whoever looks may change this account: shoppers' with support, staff's with an owner, never a deleted
    /// one.
    fn may_change(&self) -> bool {
        let role = if self.user.role.is_staff() { self.chrome.owns() } else { self.chrome.helps_shoppers() };
        role && self.user.deleted_at.is_none()
    }
}

/// The staff, and the ways to join and leave it.
#[derive(Debug, Template)]
#[template(path = "admin/staff.html")]
pub struct StaffPage {
    pub chrome: Chrome,
    pub staff: Vec<User>,
    /// The form with the mistakes: `appoint`, `create`, or none.
    pub form: &'static str,
    pub username: String,
    pub role: String,
    pub errors: Vec<FieldError>,
    pub problem: Option<&'static str>,
    pub done: String,
    /// A new member's name and password, shown this once.
    pub created: Option<(String, String)>,
}

impl StaffPage {
    const ROLES: [Role; 4] = [Role::Admin, Role::Operator, Role::Support, Role::Viewer];

    fn state(&self, user: &User) -> (&'static str, &str) {
        state_of(&self.chrome, user)
    }

    fn complaint(&self, form: &str, field: &str) -> Option<&'static str> {
        (self.form == form).then(|| complaint(&self.chrome, &self.errors, field))?
    }

    fn typed(&self, form: &str) -> &str {
        if self.form == form { &self.username } else { "" }
    }

    fn chosen(&self, form: &str, role: &Role) -> bool {
        self.form == form && self.role == role.as_str()
    }

    fn about(&self, role: &Role) -> &'static str {
        let t = &self.chrome.text().people;
        match role {
            Role::Admin => t.about_admin,
            Role::Operator => t.about_operator,
            Role::Support => t.about_support,
            Role::Viewer | Role::User => t.about_viewer,
        }
    }

    fn problem(&self) -> Option<&'static str> {
        words_of(&self.chrome, self.problem)
    }

    fn praise(&self) -> Option<&'static str> {
        let t = &self.chrome.text().people;
        match self.done.as_str() {
            "role" => Some(t.done_role),
            "dismiss" => Some(t.done_dismiss),
            "reset" => Some(t.done_reset),
            "appoint" => Some(t.done_appoint),
            _ => None,
        }
    }
}

/// One value that an action changed; empty where there was none.
#[derive(Debug, PartialEq, Eq)]
pub struct Changed {
    pub key: String,
    pub before: String,
    pub after: String,
}

/// Who did what, newest first.
#[derive(Debug, Template)]
#[template(path = "admin/log.html")]
pub struct AdminLogPage {
    pub chrome: Chrome,
    pub rows: Vec<AuditRow>,
    /// Where older entries are.
    pub older: Option<String>,
    /// Every kind of action that there is.
    pub actions: Vec<String>,
    pub filtered: bool,
    pub actor: String,
    pub action: String,
    pub subject: String,
    pub from: String,
    pub to: String,
    pub errors: Vec<FieldError>,
}

impl AdminLogPage {
    fn complaint(&self, field: &str) -> Option<&'static str> {
        complaint(&self.chrome, &self.errors, field)
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
            "replay" => t.cockpit.replay,
            "discard" => t.cockpit.discard,
            "archive" => t.goods.archive,
            "unarchive" => t.goods.unarchive,
            "block" => t.people.action_block,
            "unblock" => t.people.action_unblock,
            "end-sessions" => t.people.action_end_sessions,
            "dismiss" => t.people.action_dismiss,
            "set-role" => t.people.action_set_role,
            "add-staff" => t.people.action_add_staff,
            "reset-second-factor" => t.people.action_reset,
            "log-in" => t.people.action_log_in,
            "log-in-failed" => t.people.action_log_in_failed,
            "change-password" => t.people.action_password,
            "set-second-factor" => t.people.action_factor_on,
            "remove-second-factor" => t.people.action_factor_off,
            other => other,
        }
    }

    fn changes(&self, row: &AuditRow) -> Vec<Changed> {
        changes(&row.before, &row.after)
    }
}

/// What differs between two records.
fn changes(before: &str, after: &str) -> Vec<Changed> {
    let record = |text: &str| match serde_json::from_str(text) {
        Ok(Value::Object(record)) => record,
        Ok(value) => serde_json::Map::from_iter([(String::new(), value)]),
        Err(_) => serde_json::Map::new(),
    };
    let (before, after) = (record(before), record(after));
    let words = |value: Option<&Value>| match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    };
    let keys = before.keys().chain(after.keys().filter(|key| !before.contains_key(*key)));
    let changed = keys.filter(|key| before.get(*key) != after.get(*key));
    let changed =
        changed.map(|key| Changed { key: key.clone(), before: words(before.get(key)), after: words(after.get(key)) });
    changed.filter(|change| !(change.before.is_empty() && change.after.is_empty())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_records_only_what_differs() {
        let changed = |key: &str, before: &str, after: &str| Changed {
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
