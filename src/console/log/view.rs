//! The console's page of the audit log.

use askama::Template;

use crate::lists::saved_views_view::{ListBar, SortLink};
use crate::log::query::AuditLogQuery;
use crate::log::words::{Fact, LogLine, LogLink, Piece};
use pages::filters;
use web::shared::FieldError;
use web::views::Chrome;
use web::views::error_text;
use words::audit_action;

/// The entries that match a filter, newest first.
#[derive(Debug, Template)]
#[template(path = "log/log.html")]
pub struct AdminLogPage {
    pub chrome: Chrome,
    pub lines: Vec<LogLine>,
    /// The path of the next page.
    pub older: Option<String>,
    /// The actions that the filter offers.
    pub actions: Vec<String>,
    pub filtered: bool,
    pub query: AuditLogQuery,
    pub errors: Vec<FieldError>,
    pub bar: ListBar,
}

impl AdminLogPage {
    /// Sorts by time, which is the order of every index of the log.
    fn sort(&self) -> SortLink {
        self.bar.sort(self.chrome.text().admin.log_at, "oldest", Some(""))
    }

    fn error_text(&self, field: &str) -> Option<&'static str> {
        error_text(&self.chrome, &self.errors, field)
    }

    /// The name of an action. An action of another version of the program is shown as it is.
    fn action_name<'a>(&self, action: &'a str) -> &'a str {
        action.parse().map_or(action, |action| audit_action(self.chrome.locale, action).name)
    }
}
