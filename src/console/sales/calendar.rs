//! The calendar of sales, one month per page, in the time zone that the query names.

use jiff::SignedDuration;
use jiff::civil::Date;

use crate::prelude::*;
use domain::calendar::{Month, day, hour};
use web::shared::validation::zone_or_own;

/// The opening hour that the calendar proposes for a new sale: the evening, when most shoppers have time.
const DEFAULT_OPENING_HOUR: i8 = 20;

inputs! {
    CalendarQuery { month, zone }
}

pub async fn show((State(shop), _, visitor): StaffVisit<ViewConsole>, Query(query): Query<CalendarQuery>) -> Answer {
    let now = shop.clock.now();
    let (zone, zone_name) = zone_or_own(&query.zone, &visitor.shop);
    // A month that cannot be read means the current one.
    let month = query.month.parse().unwrap_or_else(|()| Month::at(now, &zone));
    let weeks = month.weeks();
    let [first, last] = [weeks.first().and_then(|w| w.first()), weeks.last().and_then(|w| w.last())];
    let (from, to) = match first.zip(last) {
        Some((first, last)) => (day(*first, &zone).0, day(*last, &zone).1),
        None => (now, now),
    };
    let sales = shop.store.sales().sales_between(from, to).await?;
    let goods = shop.store.goods().list().await?;
    let sales: Vec<_> = sales.into_iter().map(|sale| (goods_name(&sale, &goods, &visitor), sale)).collect();
    let weeks = weeks.into_iter().map(|dates| week(&dates, month, &sales, &zone, now)).collect();
    personal(StatusCode::OK, &CalendarPage { chrome: visitor.chrome(), month, zone: zone_name, weeks })
}

fn goods_name(sale: &Sale, goods: &[Goods], visitor: &Visitor) -> String {
    let goods = goods.iter().find(|goods| goods.id == sale.goods_id);
    goods.map(|goods| goods.name.get(visitor.locale).to_owned()).unwrap_or_default()
}

/// The first and the last day that a sale touches. A sale without an end would fill every later day, so it stands only
/// on the day it opens. `None` for a sale without an opening time.
fn days_of(sale: &Sale, zone: &TimeZone) -> Option<(Date, Date)> {
    let opens = sale.window.opens_at?;
    // The sale is over at the instant of closing.
    let last =
        sale.window.closes_at.map(|closes| closes - SignedDuration::from_millis(1)).map_or(opens, |at| at.max(opens));
    Some((opens.to_zoned(zone.clone()).date(), last.to_zoned(zone.clone()).date()))
}

fn week(dates: &[Date], month: Month, sales: &[(String, Sale)], zone: &TimeZone, now: Timestamp) -> CalendarWeek {
    let on_calendar = sales.iter().filter_map(|(name, sale)| {
        let (from, to) = days_of(sale, zone)?;
        let opens = sale.window.opens_at?.to_zoned(zone.clone());
        let at = opens.strftime("%H:%M").to_string();
        Some(CalendarSale { id: sale.id, name: name.clone(), state: sale.state, at, from, to })
    });
    let (bars, short): (Vec<_>, Vec<_>) = on_calendar.partition(|sale| sale.from < sale.to);
    let days = dates.iter().map(|&date| {
        let (begins, ends) = day(date, zone);
        CalendarDay {
            date,
            in_month: month.contains(date),
            today: (begins..ends).contains(&now),
            new_at: hour(date, DEFAULT_OPENING_HOUR, zone).filter(|_| ends > now),
            sales: short.iter().filter(|sale| sale.from == date).cloned().collect(),
        }
    });
    CalendarWeek { days: days.collect(), lanes: lanes(dates, bars) }
}

/// Sales of several days as bars of one week, one below the other where they share a day.
fn lanes(dates: &[Date], mut sales: Vec<CalendarSale>) -> Vec<Vec<CalendarCell>> {
    let (Some(&first), Some(&last)) = (dates.first(), dates.last()) else { return Vec::new() };
    sales.retain(|sale| sale.from <= last && sale.to >= first);
    sales.sort_by_key(|sale| (sale.from, sale.id));
    let index = |date: Date| dates.iter().position(|day| *day == date);
    let mut lanes: Vec<Vec<CalendarCell>> = Vec::new();
    let width = |lane: &[CalendarCell]| lane.iter().map(CalendarCell::days).sum::<usize>();
    for sale in sales {
        let from = index(sale.from).unwrap_or(0);
        let to = index(sale.to).unwrap_or(dates.len() - 1);
        let free = lanes.iter().position(|lane| width(lane) <= from);
        let lane = free.unwrap_or_else(|| {
            lanes.push(Vec::new());
            lanes.len() - 1
        });
        let used = width(&lanes[lane]);
        lanes[lane].extend((used..from).map(|_| CalendarCell::Free));
        lanes[lane].push(CalendarCell::Bar {
            days: to + 1 - from,
            begins: sale.from >= first,
            ends: sale.to <= last,
            sale,
        });
    }
    for lane in &mut lanes {
        let used = width(lane);
        lane.extend((used..dates.len()).map(|_| CalendarCell::Free));
    }
    lanes
}

/// A sale with the days that it touches.
#[derive(Debug, Clone)]
pub struct CalendarSale {
    pub id: SaleId,
    pub name: String,
    pub state: SaleState,
    /// The opening time.
    pub at: String,
    pub from: Date,
    pub to: Date,
}

/// A cell of a lane.
#[derive(Debug)]
pub enum CalendarCell {
    /// A day that has no bar in this lane.
    Free,
    Bar {
        sale: CalendarSale,
        /// Days of this week.
        days: usize,
        /// Whether the first and the last day of the sale are in this week.
        begins: bool,
        ends: bool,
    },
}

impl CalendarCell {
    /// How many days of the week it covers.
    pub fn days(&self) -> usize {
        match self {
            CalendarCell::Free => 1,
            CalendarCell::Bar { days, .. } => *days,
        }
    }
}

/// A day of the grid.
#[derive(Debug)]
pub struct CalendarDay {
    pub date: Date,
    /// `false` for days of the months before and after, which fill the weeks.
    pub in_month: bool,
    pub today: bool,
    /// The opening time that a new sale on this day would get; `None` once the day is over.
    pub new_at: Option<Timestamp>,
    /// The sales that begin and end on the day.
    pub sales: Vec<CalendarSale>,
}

/// A week from Monday to Sunday.
#[derive(Debug)]
pub struct CalendarWeek {
    pub days: Vec<CalendarDay>,
    /// Rows of bars. Each row spans all days of the week.
    pub lanes: Vec<Vec<CalendarCell>>,
}

/// One month of sales.
#[derive(Debug, Template)]
#[template(path = "sales/console_calendar.html")]
struct CalendarPage {
    chrome: Chrome,
    month: Month,
    /// The time zone of days and times.
    zone: String,
    weeks: Vec<CalendarWeek>,
}

impl CalendarPage {
    fn title(&self) -> String {
        let format = if self.chrome.locale == Locale::Zh { "%Y年%-m月" } else { "%B %Y" };
        self.month.first().strftime(format).to_string()
    }

    fn weekdays(&self) -> [&'static str; 7] {
        let t = &self.chrome.text().sales;
        [t.monday, t.tuesday, t.wednesday, t.thursday, t.friday, t.saturday, t.sunday]
    }

    /// The day and month, for screen readers and narrow screens.
    fn day(&self, date: &Date) -> String {
        let format = if self.chrome.locale == Locale::Zh { "%-m月%-d日" } else { "%B %-d" };
        date.strftime(format).to_string()
    }

    /// The first and the last day of a sale.
    fn days(&self, sale: &CalendarSale) -> String {
        format!("{} – {}", self.day(&sale.from), self.day(&sale.to))
    }

    /// Whether the sale touches a day of the month. On a phone, which lists days, other sales are left out.
    fn touches_month(&self, sale: &CalendarSale) -> bool {
        sale.to >= self.month.first() && sale.from < self.month.next().first()
    }

    fn weekday(&self, day: &CalendarDay) -> &'static str {
        self.weekdays()[usize::from(day.date.weekday().to_monday_zero_offset().unsigned_abs())]
    }

    fn is_empty(&self) -> bool {
        let has_sales = |day: &CalendarDay| day.in_month && !day.sales.is_empty();
        let is_bar = |cell: &CalendarCell| matches!(cell, CalendarCell::Bar { sale, .. } if self.touches_month(sale));
        let mut weeks = self.weeks.iter();
        !weeks.any(|week| week.days.iter().any(has_sales) || week.lanes.iter().flatten().any(is_bar))
    }

    fn path(&self, month: Month) -> String {
        format!("/admin/calendar?month={month}&zone={}&lang={}", self.zone.replace('+', "%2B"), self.chrome.locale)
    }

    /// The cockpit of a sale that has begun; the form of one that has not.
    fn sale_path(&self, sale: &CalendarSale) -> String {
        let page = if sale.state.is_planned() { "/edit" } else { "" };
        format!("/admin/sales/{}{page}?lang={}", sale.id, self.chrome.locale)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{Currency, GoodsId, Money, SaleId, SaleMode, SaleState, Window};

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
            rush: domain::Rush::default(),
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

    fn month_of(sales: &[(String, Sale)], zone: &str, now: &str) -> Vec<CalendarWeek> {
        let (zone, _) = zone_or_own(zone, &Default::default());
        let month: Month = "2026-11".parse().unwrap();
        let week = |dates: Vec<Date>| week(&dates, month, sales, &zone, now.parse().unwrap());
        month.weeks().into_iter().map(week).collect()
    }

    /// The days on which a sale of one day stands, with the time of its opening.
    fn days(opens: &str, closes: &str, zone: &str) -> Vec<(i8, String)> {
        let weeks = month_of(&[sale(opens, closes)], zone, "2026-11-21T12:00:00Z");
        assert!(weeks.iter().all(|week| week.lanes.is_empty()), "no bar");
        let days = weeks.into_iter().flat_map(|week| week.days).filter(|day| !day.sales.is_empty());
        days.map(|day| (day.date.day(), day.sales[0].at.clone())).collect()
    }

    /// The lanes of each week: `.` is a free day, a bar has one letter for each of its days; `<` and `>` mark where it
    /// goes on in the weeks beside.
    fn bars(sales: &[(String, Sale)]) -> Vec<Vec<String>> {
        let cell = |cell: &CalendarCell| match cell {
            CalendarCell::Free => ".".to_owned(),
            CalendarCell::Bar { days, begins, ends, .. } => {
                format!("{}{}{}", if *begins { "" } else { "<" }, "x".repeat(*days), if *ends { "" } else { ">" })
            }
        };
        let lane = |lane: &Vec<CalendarCell>| lane.iter().map(cell).collect::<String>();
        let weeks = month_of(sales, "UTC", "2026-11-21T12:00:00Z");
        weeks.iter().map(|week| week.lanes.iter().map(lane).collect()).collect()
    }

    #[test]
    fn sale_of_one_day_stands_on_that_day() {
        let on = |day: i8, at: &str| vec![(day, at.to_owned())];
        assert_eq!(days("2026-11-05T20:00:00Z", "2026-11-05T21:00:00Z", "UTC"), on(5, "20:00"));
        assert_eq!(days("2026-11-05T20:00:00Z", "2026-11-06T00:00:00Z", "UTC"), on(5, "20:00"), "not the next");
        assert_eq!(days("2026-11-05T20:00:00Z", "", "UTC"), on(5, "20:00"), "without an end where it opens");
        assert_eq!(days("", "", "UTC"), []);
    }

    #[test]
    fn sale_of_several_days_is_one_bar_in_each_week() {
        // The month begins on a Sunday, so the first week has only that day.
        let empty: Vec<String> = Vec::new();
        let one = |opens: &str, closes: &str| bars(&[sale(opens, closes)]);
        let of = |first: &str, second: &str| {
            let lane = |text: &str| if text.is_empty() { empty.clone() } else { vec![text.to_owned()] };
            vec![lane(first), lane(second), empty.clone(), empty.clone(), empty.clone(), empty.clone()]
        };
        assert_eq!(one("2026-11-04T20:00:00Z", "2026-11-06T00:00:01Z"), of("", "..xxx.."));
        assert_eq!(one("2026-10-31T20:00:00Z", "2026-11-01T10:00:00Z"), of(".....xx", ""), "from the month before");
        assert_eq!(one("2026-10-30T20:00:00Z", "2026-11-03T10:00:00Z"), of("....xxx>", "<xx....."));
    }

    #[test]
    fn bars_that_share_a_day_stand_below_each_other() {
        let sales = [
            sale("2026-11-02T10:00:00Z", "2026-11-04T10:00:00Z"),
            sale("2026-11-04T12:00:00Z", "2026-11-05T10:00:00Z"),
            sale("2026-11-06T12:00:00Z", "2026-11-07T10:00:00Z"),
        ];
        assert_eq!(bars(&sales)[1], ["xxx.xx.", "..xx..."]);
    }

    #[test]
    fn days_begin_at_midnight_of_the_zone() {
        let on = |day: i8, at: &str| vec![(day, at.to_owned())];
        assert_eq!(days("2026-11-05T20:00:00Z", "2026-11-05T21:00:00Z", "Asia/Shanghai"), on(6, "04:00"));
        // Clocks go back on the first of November; this is the second 01:30 of that night.
        assert_eq!(days("2026-11-01T06:30:00Z", "2026-11-01T07:00:00Z", "America/New_York"), on(1, "01:30"));
        assert_eq!(zone_or_own("nowhere", &Default::default()).1, "UTC");
        assert_eq!(zone_or_own("Asia/Shanghai", &Default::default()).1, "Asia/Shanghai");
    }

    #[test]
    fn calendar_offers_a_new_sale_only_until_the_day_is_over() {
        let weeks = month_of(&[], "UTC", "2026-11-21T12:00:00Z");
        let days: Vec<_> = weeks.into_iter().flat_map(|week| week.days).filter(|day| day.in_month).collect();
        assert_eq!(days[19].new_at, None);
        assert_eq!(days[20].new_at.unwrap().to_string(), "2026-11-21T20:00:00Z");
        assert!(days[20].today && !days[19].today && !days[21].today);
    }
}
