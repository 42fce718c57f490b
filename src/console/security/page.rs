//! The console's page of security events, for owners.

use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use jiff::Timestamp;

use crate::StaffVisit;
use crate::security::query::{SecurityQuery, security_page};
use crate::security::view::{SecurityPage, SecurityPlot};
use domain::Locale;
use web::extract::Query;
use web::extract::session::ViewSecurity;
use web::problem::Problem;
use web::shared::links::link_query;
use web::shared::response::personal;
use web::shared::time_zone;

const HOUR: Duration = Duration::from_secs(3600);

/// The address of the page with this filter and a later cursor.
fn next_page_path(query: &SecurityQuery, locale: Locale, before: &str) -> String {
    let query = link_query([
        ("lang", locale.as_str()),
        ("class", &query.class),
        ("account", &query.account),
        ("network", &query.network),
        ("from", &query.from),
        ("to", &query.to),
        ("zone", time_zone::of_days(&query.zone, &query.from, &query.to)),
        ("before", before),
    ]);
    format!("/admin/security?{query}")
}

/// The first of the 24 hours that end with the current one.
fn first_hour(now: Timestamp) -> Timestamp {
    let hour_ms = HOUR.as_millis() as i64;
    let this_hour = now.as_millisecond().div_euclid(hour_ms) * hour_ms;
    Timestamp::from_millisecond(this_hour - 23 * hour_ms).unwrap_or(now)
}

pub async fn show(
    (State(shop), _, visitor): StaffVisit<ViewSecurity>,
    Query(mut query): Query<SecurityQuery>,
) -> Result<Response, Problem> {
    query.zone = time_zone::or_utc(&query.zone).1;
    let from = first_hour(shop.clock.now());
    let plots = SecurityPlot::of(&shop.store.security_events().totals(from).await?, from);
    let (status, errors, page, names) = match query.filter(&shop.store).await? {
        Ok(filter) => {
            let (page, names) = security_page(&shop.store, &filter, &query.before).await?;
            (StatusCode::OK, Vec::new(), Some(page), names)
        }
        Err(errors) => (StatusCode::UNPROCESSABLE_ENTITY, errors, None, Default::default()),
    };
    let (rows, next) = page.map_or_else(Default::default, |page| (page.items, page.next));
    let older = next.map(|id| next_page_path(&query, visitor.locale, &id));
    let filtered = !query.is_blank() || query.before.is_given();
    let chrome = visitor.chrome_at(format!("/admin/security?lang={}", visitor.locale));
    personal(status, &SecurityPage { chrome, plots, rows, names, older, filtered, query, errors })
}
