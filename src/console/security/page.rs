//! The console's page of security events, for owners.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use jiff::Timestamp;

use crate::StaffVisit;
use crate::security::api::{SecurityQuery, security_page};
use domain::{Locale, SecurityClass, UserId};
use pages::{Chrome, filters};
use store::{SecurityEventRow, SecurityTotal};
use web::extract::Query;
use web::extract::session::ViewSecurity;
use web::problem::Problem;
use web::shared::negotiation::personal;
use web::shared::paths::link_query;
use web::shared::{FieldError, time_zone};
use web::views::error_text;
use words::{security_class, security_detail};

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
    format!("/admin/log?show=security&{query}")
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
    query.zone = time_zone::or_own(&query.zone, &visitor.shop).1;
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
    let chrome = visitor.chrome_at(format!("/admin/log?show=security&lang={}", visitor.locale));
    personal(status, &SecurityPage { chrome, plots, rows, names, older, filtered, query, errors })
}

const HOURS: usize = 24;
const HOUR_MS: i64 = 3_600_000;
/// The plot of a class in its own units: a bar of 8 and a gap of 2 for each hour.
const BAR_STEP: usize = 10;
const PLOT_HEIGHT: f64 = 28.0;
/// The lowest bar that can be seen.
const MIN_BAR: f64 = 2.0;

/// The events of a day, and the events that match a filter, newest first.
#[derive(Debug, Template)]
#[template(path = "security/security.html")]
pub struct SecurityPage {
    pub chrome: Chrome,
    pub plots: Vec<SecurityPlot>,
    pub rows: Vec<SecurityEventRow>,
    pub names: HashMap<UserId, String>,
    /// The path of the next page.
    pub older: Option<String>,
    pub filtered: bool,
    pub query: SecurityQuery,
    pub errors: Vec<FieldError>,
}

impl SecurityPage {
    fn error_text(&self, field: &str) -> Option<&'static str> {
        error_text(&self.chrome, &self.errors, field)
    }

    fn classes(&self) -> impl Iterator<Item = &'static str> + use<> {
        SecurityClass::ALL.into_iter().map(SecurityClass::as_str)
    }

    fn class<'a>(&self, class: &'a str) -> &'a str {
        security_class(self.chrome.locale, class)
    }

    fn detail<'a>(&self, detail: &'a str) -> &'a str {
        security_detail(self.chrome.locale, detail)
    }

    fn name(&self, account: &UserId) -> Option<&str> {
        self.names.get(account).map(String::as_str)
    }
}

/// The events of one class by hour, during 24 hours.
#[derive(Debug, PartialEq, Eq)]
pub struct SecurityPlot {
    pub class: String,
    pub total: i64,
    pub peak: i64,
    hours: [i64; HOURS],
}

/// One hour of a plot, in its units.
struct Bar {
    x: usize,
    y: f64,
    height: f64,
}

impl SecurityPlot {
    /// A plot of each class that has events, in the order of the classes. `from` is the first hour.
    pub fn of(totals: &[SecurityTotal], from: Timestamp) -> Vec<SecurityPlot> {
        let mut plots: BTreeMap<(usize, &str), [i64; HOURS]> = BTreeMap::new();
        for total in totals {
            let hour = (total.hour.as_millisecond() - from.as_millisecond()) / HOUR_MS;
            let order = total.class.parse::<SecurityClass>().map_or(usize::MAX, |class| class as usize);
            let Some(hour) = usize::try_from(hour).ok().filter(|hour| *hour < HOURS) else { continue };
            plots.entry((order, &total.class)).or_default()[hour] += total.events;
        }
        let plot = |((_, class), hours): ((usize, &str), [i64; HOURS])| SecurityPlot {
            class: class.to_owned(),
            total: hours.iter().sum(),
            peak: hours.iter().copied().max().unwrap_or_default(),
            hours,
        };
        plots.into_iter().map(plot).collect()
    }

    fn bars(&self) -> impl Iterator<Item = Bar> {
        self.hours.iter().enumerate().filter(|(_, events)| **events > 0).map(|(hour, events)| {
            let height = (PLOT_HEIGHT * *events as f64 / self.peak as f64).max(MIN_BAR);
            Bar { x: hour * BAR_STEP, y: PLOT_HEIGHT - height, height }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plot_has_a_bar_for_each_hour_with_events() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let total = |hour: &str, class: &str, events| SecurityTotal { hour: at(hour), class: class.to_owned(), events };
        let totals = [
            total("2026-11-21T12:00:00Z", "webhook_refused", 1),
            total("2026-11-21T11:00:00Z", "log_in_failed", 400),
            total("2026-11-20T13:00:00Z", "log_in_failed", 1),
            total("2026-11-20T12:00:00Z", "log_in_failed", 7),
        ];
        let plots = SecurityPlot::of(&totals, at("2026-11-20T13:00:00Z"));
        assert_eq!(
            plots.iter().map(|plot| plot.class.as_str()).collect::<Vec<_>>(),
            ["log_in_failed", "webhook_refused"]
        );
        assert_eq!((plots[0].total, plots[0].peak), (401, 400));
        let bars: Vec<_> = plots[0].bars().map(|bar| (bar.x, bar.y, bar.height)).collect();
        assert_eq!(bars, [(0, 26.0, 2.0), (220, 0.0, 28.0)]);
        assert_eq!(plots[1].bars().map(|bar| bar.x).collect::<Vec<_>>(), [230]);
    }
}
