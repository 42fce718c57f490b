//! The calendar of sales, one month per page, in the time zone that the query names.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::Deserialize;

use super::StaffVisit;
use crate::domain::calendar::{Month, day, hour};
use crate::domain::{Goods, Sale};
use crate::web::extract::Query;
use crate::web::extract::session::ViewConsole;
use crate::web::extract::visitor::Visitor;
use crate::web::problem::Problem;
use crate::web::shared::response::personal;
use crate::web::shared::time_zone;
use crate::web::views::{CalendarDay, CalendarPage, CalendarSale};

/// The opening hour that the calendar proposes for a new sale: the evening, when most shoppers have time.
const DEFAULT_OPENING_HOUR: i8 = 20;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct CalendarQuery {
    month: String,
    zone: String,
}

pub async fn show(
    (State(shop), _, visitor): StaffVisit<ViewConsole>,
    Query(query): Query<CalendarQuery>,
) -> Result<Response, Problem> {
    let now = shop.clock.now();
    let (zone, zone_name) = time_zone::or_utc(&query.zone);
    // A month that cannot be read means the current one.
    let month = query.month.parse().unwrap_or_else(|()| Month::at(now, &zone));
    let weeks = month.weeks();
    let [first, last] = [weeks.first().and_then(|w| w.first()), weeks.last().and_then(|w| w.last())];
    let (from, to) = match first.zip(last) {
        Some((first, last)) => (day(*first, &zone).0, day(*last, &zone).1),
        None => (now, now),
    };
    let sales = shop.store.sales_between(from, to).await?;
    let goods = shop.store.all_goods().await?;
    let sales: Vec<_> = sales.into_iter().map(|sale| (goods_name(&sale, &goods, &visitor), sale)).collect();
    let weeks =
        weeks.into_iter().map(|week| week.into_iter().map(|date| cell(date, month, &sales, &zone, now)).collect());
    let weeks = weeks.collect();
    personal(StatusCode::OK, &CalendarPage { chrome: visitor.chrome(), month, zone: zone_name, weeks })
}

fn goods_name(sale: &Sale, goods: &[Goods], visitor: &Visitor) -> String {
    let goods = goods.iter().find(|goods| goods.id == sale.goods_id);
    goods.map(|goods| goods.name.get(visitor.locale).to_owned()).unwrap_or_default()
}

fn cell(date: Date, month: Month, sales: &[(String, Sale)], zone: &TimeZone, now: Timestamp) -> CalendarDay {
    let (begins, ends) = day(date, zone);
    let sales = sales.iter().filter_map(|(name, sale)| {
        let opens = sale.window.opens_at?;
        // A sale without an end would fill every later day; it is listed only on the day it opens.
        let until = sale.window.closes_at.unwrap_or(opens);
        let starts = (opens >= begins).then(|| opens.to_zoned(zone.clone()).strftime("%H:%M").to_string());
        let touches = opens < ends && (until > begins || starts.is_some());
        touches.then(|| CalendarSale { id: sale.id, name: name.clone(), state: sale.state, starts })
    });
    CalendarDay {
        date,
        in_month: month.contains(date),
        today: (begins..ends).contains(&now),
        new_at: hour(date, DEFAULT_OPENING_HOUR, zone).filter(|_| ends > now),
        sales: sales.collect(),
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;
    use crate::domain::{Currency, GoodsId, Money, SaleId, SaleMode, SaleState, Window};

    fn sale(opens: &str, closes: &str) -> (String, Sale) {
        let window = Window { opens_at: opens.parse().ok(), closes_at: closes.parse().ok() };
        let sale = Sale {
            id: SaleId(7),
            goods_id: GoodsId(1),
            price: Money::new(1, Currency::CNY),
            list_price: None,
            total: 1,
            sold: 0,
            granted: 0,
            per_user_limit: 1,
            window,
            rush: crate::domain::Rush::default(),
            mode: SaleMode::Rush,
            state: SaleState::Scheduled,
            version: 1,
            epoch: 0,
            shadow: false,
            eligibility: Default::default(),
            spread_seed: None,
        };
        ("Phone".into(), sale)
    }

    fn days(opens: &str, closes: &str, zone: &str) -> Vec<(i8, Option<String>)> {
        let (zone, _) = time_zone::or_utc(zone);
        let sales = [sale(opens, closes)];
        let now = "2026-11-21T12:00:00Z".parse().unwrap();
        let month: Month = "2026-11".parse().unwrap();
        let cells = (1..=30).map(|n| cell(date(2026, 11, n), month, &sales, &zone, now));
        cells.filter(|cell| !cell.sales.is_empty()).map(|c| (c.date.day(), c.sales[0].starts.clone())).collect()
    }

    #[test]
    fn calendar_lists_a_sale_on_every_day_that_it_touches() {
        let starts = |text: &str| Some(text.to_owned());
        assert_eq!(days("2026-11-05T20:00:00Z", "2026-11-05T21:00:00Z", "UTC"), [(5, starts("20:00"))]);
        assert_eq!(
            days("2026-11-05T20:00:00Z", "2026-11-07T00:00:01Z", "UTC"),
            [(5, starts("20:00")), (6, None), (7, None)]
        );
        assert_eq!(days("2026-11-05T20:00:00Z", "2026-11-06T00:00:00Z", "UTC"), [(5, starts("20:00"))], "not the next");
        assert_eq!(days("2026-10-31T20:00:00Z", "2026-11-01T10:00:00Z", "UTC"), [(1, None)], "from the month before");
        assert_eq!(days("2026-11-05T20:00:00Z", "", "UTC"), [(5, starts("20:00"))], "without an end where it opens");
        assert_eq!(days("", "", "UTC"), []);
    }

    #[test]
    fn days_begin_at_midnight_of_the_zone() {
        let starts = |text: &str| Some(text.to_owned());
        assert_eq!(days("2026-11-05T20:00:00Z", "2026-11-05T21:00:00Z", "Asia/Shanghai"), [(6, starts("04:00"))]);
        // Clocks go back on the first of November; this is the second 01:30 of that night.
        let night = days("2026-11-01T06:30:00Z", "2026-11-01T07:00:00Z", "America/New_York");
        assert_eq!(night, [(1, starts("01:30"))]);
        assert_eq!(time_zone::or_utc("nowhere").1, "UTC");
        assert_eq!(time_zone::or_utc("Asia/Shanghai").1, "Asia/Shanghai");
    }

    #[test]
    fn calendar_offers_a_new_sale_only_until_the_day_is_over() {
        let now = "2026-11-21T12:00:00Z".parse().unwrap();
        let month: Month = "2026-11".parse().unwrap();
        let cell = |n| cell(date(2026, 11, n), month, &[], &TimeZone::UTC, now);
        assert_eq!(cell(20).new_at, None);
        assert_eq!(cell(21).new_at.unwrap().to_string(), "2026-11-21T20:00:00Z");
        assert!(cell(21).today && !cell(20).today && !cell(22).today);
    }
}
