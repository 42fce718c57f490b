//! The calendar of sales.

use askama::Template;
use jiff::Timestamp;
use jiff::civil::Date;

use crate::Chrome;
use domain::calendar::Month;
use domain::{Locale, SaleId, SaleState};
use pages::filters;

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
pub struct CalendarPage {
    pub chrome: Chrome,
    pub month: Month,
    /// The time zone of days and times.
    pub zone: String,
    pub weeks: Vec<CalendarWeek>,
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
        let format = if self.chrome.locale == Locale::Zh { "%-m月%-d日" } else { "%-d %B" };
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
