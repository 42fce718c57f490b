//! The calendar of sales.

use askama::Template;
use jiff::Timestamp;
use jiff::civil::Date;

use super::Chrome;
use crate::domain::calendar::Month;
use crate::domain::{Locale, SaleId, SaleState};
use crate::pages::filters;

/// A sale on one of its days.
#[derive(Debug)]
pub struct CalendarSale {
    pub id: SaleId,
    pub name: String,
    pub state: SaleState,
    /// The opening time; `None` on the days after the first.
    pub starts: Option<String>,
}

/// A day of the grid.
#[derive(Debug)]
pub struct CalendarDay {
    pub date: Date,
    /// Days of the months before and after fill the weeks.
    pub in_month: bool,
    pub today: bool,
    /// The opening time that a new sale on this day would get; `None` once the day is over.
    pub new_at: Option<Timestamp>,
    pub sales: Vec<CalendarSale>,
}

/// One month of sales.
#[derive(Debug, Template)]
#[template(path = "admin/calendar.html")]
pub struct CalendarPage {
    pub chrome: Chrome,
    pub month: Month,
    /// The time zone of days and times.
    pub zone: String,
    pub weeks: Vec<Vec<CalendarDay>>,
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

    /// The day with its month, for screen readers and narrow screens.
    fn day(&self, day: &CalendarDay) -> String {
        let format = if self.chrome.locale == Locale::Zh { "%-m月%-d日" } else { "%-d %B" };
        day.date.strftime(format).to_string()
    }

    fn weekday(&self, day: &CalendarDay) -> &'static str {
        self.weekdays()[usize::from(day.date.weekday().to_monday_zero_offset().unsigned_abs())]
    }

    fn is_empty(&self) -> bool {
        !self.weeks.iter().flatten().any(|day| day.in_month && !day.sales.is_empty())
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
