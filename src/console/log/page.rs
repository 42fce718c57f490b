//! The console's page of the audit log.

use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::response::Response;
use url::form_urlencoded::byte_serialize;

use crate::StaffVisit;
use crate::lists::saved_views::list_bar;
use crate::log::query::{AuditLogQuery, audit_log_page};
use crate::log::view::AdminLogPage;
use crate::log::words::{LogNames, LogWords};
use domain::{ConsoleList, Locale, Page};
use store::AuditRow;
use web::Shop;
use web::extract::Query;
use web::extract::session::ViewConsole;
use web::problem::Problem;
use web::shared::goods::goods_name_and_cover;
use web::shared::links::link_query;
use web::shared::response::personal;
use web::shared::time_zone;

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

/// The names of the sales, categories and accounts that the lines mention. One query reads the accounts; the others are
/// in memory.
async fn names(shop: &Shop, rows: &[AuditRow], locale: Locale) -> Result<LogNames, Problem> {
    let (sales, users) = LogNames::wanted(rows);
    let sales = sales
        .into_iter()
        .filter_map(|id| Some((id, goods_name_and_cover(Some(&*shop.catalogue.known(id)?), locale).0)));
    let categories = shop.catalogue.categories();
    let categories = categories.iter().map(|category| (category.id, category.name.get(locale).to_owned()));
    let users = shop.store.accounts().usernames(&users).await?;
    Ok(LogNames { sales: sales.collect(), categories: categories.collect(), users })
}

pub async fn show(
    (State(shop), staff, visitor): StaffVisit<ViewConsole>,
    RawQuery(raw): RawQuery,
    Query(mut query): Query<AuditLogQuery>,
) -> Result<Response, Problem> {
    let bar = list_bar(&shop, staff.session.user_id, visitor.locale, ConsoleList::Log, raw.as_deref()).await?;
    query.zone = time_zone::or_utc(&query.zone).1;
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
