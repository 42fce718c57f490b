//! The console's page of the audit log.

use askama::Template;
use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::response::Response;
use url::form_urlencoded::byte_serialize;

use crate::StaffVisit;
use crate::lists::saved_views::{ListBar, SortLink, list_bar};
use crate::log::api::{AuditLogQuery, audit_log_page};
use crate::log::words::{Fact, LogLine, LogLink, LogNames, LogWords, Piece};
use domain::{ConsoleList, Locale, Page};
use pages::{Chrome, filters};
use store::AuditRow;
use web::Shop;
use web::extract::Query;
use web::extract::session::ViewConsole;
use web::problem::Problem;
use web::shared::negotiation::personal;
use web::shared::paths::link_query;
use web::shared::{FieldError, goods_name_and_cover, time_zone};
use web::views::error_text;
use words::audit_action;

/// The address of the page with this filter and a later cursor.
fn next_page_path(query: &AuditLogQuery, locale: Locale, before: &str) -> String {
    let query = link_query([
        ("lang", locale.as_str()),
        ("actor", &query.actor),
        ("action", &query.action),
        ("subject", &query.subject),
        ("from", &query.from),
        ("to", &query.to),
        ("zone", time_zone::of_days(&query.zone, &query.from, &query.to)),
        ("sort", &query.sort),
        ("before", before),
    ]);
    format!("/admin/log?{query}")
}

/// The address of the log filtered by one subject.
pub fn subject_path(locale: Locale, subject: &str) -> String {
    let subject: String = byte_serialize(subject.as_bytes()).collect();
    format!("/admin/log?lang={locale}&subject={subject}")
}

/// The names of the sales, categories and accounts that the lines mention, and the numbers of orders. One query reads the
/// accounts, one the numbers; the others are in memory.
async fn names(shop: &Shop, rows: &[AuditRow], locale: Locale) -> Result<LogNames, Problem> {
    let (sales, users, orders) = LogNames::wanted(rows);
    let sales = sales
        .into_iter()
        .filter_map(|id| Some((id, goods_name_and_cover(Some(&*shop.catalogue.known(id)?), locale).0)));
    let categories = shop.catalogue.categories();
    let categories = categories.iter().map(|category| (category.id, category.name.get(locale).to_owned()));
    let users = shop.store.accounts().usernames(&users).await?;
    let orders = shop.store.orders().numbers_of(&orders).await?;
    Ok(LogNames { sales: sales.collect(), categories: categories.collect(), users, orders })
}

pub async fn show(
    (State(shop), staff, visitor): StaffVisit<ViewConsole>,
    RawQuery(raw): RawQuery,
    Query(mut query): Query<AuditLogQuery>,
) -> Result<Response, Problem> {
    let bar = list_bar(&shop, staff.session.user_id, visitor.locale, ConsoleList::Log, raw.as_deref()).await?;
    query.zone = time_zone::or_own(&query.zone, &visitor.shop).1;
    let errors = query.filter().1;
    let (status, page) = match errors.is_empty() {
        true => (StatusCode::OK, audit_log_page(&shop.store, &staff, &query).await?),
        false => (StatusCode::UNPROCESSABLE_ENTITY, Page { items: Vec::new(), next: None }),
    };
    let actions = shop.store.audit_log().audit_actions().await?;
    let names = names(&shop, &page.items, visitor.locale).await?;
    let words = LogWords::new(visitor.locale, &names);
    let lines = page.items.into_iter().map(|row| words.line(row)).collect();
    let older = page.next.map(|id| next_page_path(&query, visitor.locale, &id));
    let filtered = !query.is_blank() || query.before.is_given();
    let chrome = visitor.chrome_at(format!("/admin/log?lang={}", visitor.locale));
    personal(status, &AdminLogPage { chrome, lines, older, actions, filtered, query, errors, bar })
}

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
