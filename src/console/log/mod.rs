//! The audit log, for programs and as a page.

pub mod fields;
pub mod line;

use serde_json::value::RawValue;
use url::form_urlencoded::byte_serialize;

use crate::lists::saved_views::{ListBar, list_bar};
use crate::log::line::{Fact, LogLine, LogLink, LogNames, LogWords, Piece};
use crate::prelude::*;
use domain::network::masked;
use store::{AuditFilter, AuditRow};
use web::extract::{Permission, ViewSecurity};
use web::shared::validation::{period, zone_of_days, zone_or_own};
use words::audit_action;

answers! {
    AuditLogPage { entries: Vec<AuditEntry>; next: String }
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
pub async fn list((State(shop), staff): StaffCall<ViewConsole>, Query(query): Query<AuditLogQuery>) -> Answer {
    let page = audit_log_page(&shop.store, &staff, &query).await?;
    let entries = page.items.into_iter().map(AuditEntry::from).collect();
    Ok(private(AuditLogPage { entries, next: page.next }))
}

// The query of the audit log, as its page and the API read it.

/// The filter as typed, and the cursor of the page.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AuditLogQuery {
    /// A username.
    pub actor: String,
    /// For example `block` or `start`.
    pub action: String,
    /// For example `sale 7`, or `user` and an id.
    pub subject: String,
    /// A date or time, UTC.
    pub from: String,
    /// The end of the period, exclusive.
    pub to: String,
    /// The time zone of `from` and `to` when they are days; UTC when it is empty.
    pub zone: String,
    /// `oldest` for the oldest first. Only the page reads it.
    #[schemars(skip)]
    pub sort: String,
    /// The id of the last entry on the page before.
    pub before: Cursor,
}

impl AuditLogQuery {
    /// The filter of the fields that can be read, and an error for each of the others.
    pub fn filter(&self) -> (AuditFilter, Vec<FieldError>) {
        let mut errors = Vec::new();
        let [from, to] = period(&self.from, &self.to, &self.zone, &mut errors);
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
async fn audit_log_page<P: Permission>(
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

/// The address of the page with this filter and a later cursor.
fn next_page_path(query: &AuditLogQuery, locale: Locale, before: &str) -> String {
    let query = link_query([
        ("lang", locale.as_str()),
        ("actor", &query.actor),
        ("action", &query.action),
        ("subject", &query.subject),
        ("from", &query.from),
        ("to", &query.to),
        ("zone", zone_of_days(&query.zone, &query.from, &query.to)),
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

pub async fn page(
    (State(shop), staff, visitor): StaffVisit<ViewConsole>,
    RawQuery(raw): RawQuery,
    Query(mut query): Query<AuditLogQuery>,
) -> Answer {
    let bar = list_bar(&shop, staff.session.user_id, visitor.locale, ConsoleList::Log, raw.as_deref()).await?;
    query.zone = zone_or_own(&query.zone, &visitor.shop).1;
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
    /// The name of an action. An action of another version of the program is shown as it is.
    fn action_name<'a>(&self, action: &'a str) -> &'a str {
        action.parse().map_or(action, |action| audit_action(self.chrome.locale, action).name)
    }
}

web::operations! { "administrators"
    /// The audit log, newest first
    GET "/api/admin/audit-log" listLogEntries = list;
        200 AuditLogPage;
}
