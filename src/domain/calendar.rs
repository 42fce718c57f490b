//! Months of the sales calendar: whole weeks from Monday on, and the instants at which a day begins and ends in a time
//! zone.

use std::fmt;
use std::str::FromStr;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan};

/// A month within [`YEARS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Month {
    first: Date,
}

/// The years that the calendar shows.
const YEARS: std::ops::RangeInclusive<i16> = 2000..=2199;

impl Month {
    /// The month of a date, with the year clamped to [`YEARS`].
    pub fn of(date: Date) -> Month {
        let year = date.year().clamp(*YEARS.start(), *YEARS.end());
        // The first day of a month exists in every year.
        Month { first: Date::new(year, date.month(), 1).unwrap_or(date) }
    }

    /// The month at an instant in a time zone.
    pub fn at(now: Timestamp, zone: &TimeZone) -> Month {
        Month::of(now.to_zoned(zone.clone()).date())
    }

    pub fn first(self) -> Date {
        self.first
    }

    pub fn next(self) -> Month {
        Month::of(self.first.checked_add(1.month()).unwrap_or(self.first))
    }

    pub fn previous(self) -> Month {
        Month::of(self.first.checked_sub(1.month()).unwrap_or(self.first))
    }

    pub fn contains(self, date: Date) -> bool {
        (date.year(), date.month()) == (self.first.year(), self.first.month())
    }

    /// Every week with a day of the month, from Monday to Sunday.
    pub fn weeks(self) -> Vec<Vec<Date>> {
        let before = i64::from(self.first.weekday().to_monday_zero_offset());
        let days = before + i64::from(self.first.days_in_month());
        let dates: Vec<Date> =
            (0..(days + 6) / 7 * 7).map(|n| self.first.saturating_add((n - before).days())).collect();
        dates.chunks(7).map(<[Date]>::to_vec).collect()
    }
}

/// The text of the query parameter: `?month=2026-11`.
impl fmt::Display for Month {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}", self.first.year(), self.first.month())
    }
}

impl FromStr for Month {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (year, month) = text.split_once('-').ok_or(())?;
        let first = Date::new(year.parse().map_err(|_| ())?, month.parse().map_err(|_| ())?, 1).map_err(|_| ())?;
        if YEARS.contains(&first.year()) { Ok(Month { first }) } else { Err(()) }
    }
}

/// The instant so many milliseconds later, or earlier if they are negative.
pub(crate) fn shifted(at: Timestamp, ms: i64) -> Timestamp {
    let end = if ms < 0 { Timestamp::MIN } else { Timestamp::MAX };
    at.saturating_add(SignedDuration::from_millis(ms)).unwrap_or(end)
}

/// The instants at which a day and the next day begin: 23 or 25 hours apart on days of a clock change.
pub fn day(date: Date, zone: &TimeZone) -> (Timestamp, Timestamp) {
    [date, date.saturating_add(1.day())]
        .map(|date| date.to_zoned(zone.clone()).map_or(Timestamp::MAX, |zoned| zoned.timestamp()))
        .into()
}

/// The instant of an hour of a day in local time.
pub fn hour(date: Date, hour: i8, zone: &TimeZone) -> Option<Timestamp> {
    Some(date.at(hour, 0, 0, 0).to_zoned(zone.clone()).ok()?.timestamp())
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    fn weeks(month: &str) -> Vec<Vec<Date>> {
        month.parse::<Month>().unwrap().weeks()
    }

    #[test]
    fn weeks_are_whole_from_monday_to_sunday() {
        let november = weeks("2026-11");
        assert_eq!(november.len(), 6, "the month begins on a Sunday");
        assert_eq!((november[0][0], november[0][6]), (date(2026, 10, 26), date(2026, 11, 1)));
        assert_eq!(november[5][6], date(2026, 12, 6));
        let exact = weeks("2027-02");
        assert_eq!((exact.len(), exact[0][0], exact[3][6]), (4, date(2027, 2, 1), date(2027, 2, 28)));
        let leap = weeks("2028-02");
        assert!(leap.concat().contains(&date(2028, 2, 29)));
        for month in ["2026-01", "2026-12", "2028-02", "2199-12", "2000-01"] {
            let days = weeks(month).concat();
            assert!(days.windows(2).all(|two| two[0].tomorrow().unwrap() == two[1]), "{month}");
            assert_eq!(days.len() % 7, 0);
        }
    }

    #[test]
    fn months_follow_one_another_across_years() {
        let month = |text: &str| text.parse::<Month>().unwrap();
        assert_eq!(month("2026-12").next().to_string(), "2027-01");
        assert_eq!(month("2026-01").previous().to_string(), "2025-12");
        assert_eq!(month("2026-03").previous().next(), month("2026-03"));
        assert_eq!(month("2199-12").next().to_string(), "2199-01", "the last year of the calendar");
        assert!(month("2026-11").contains(date(2026, 11, 30)) && !month("2026-11").contains(date(2025, 11, 30)));
        for wrong in ["", "2026", "2026-13", "2026-00", "1999-12", "9999-12", "2026-11-01", "x-1"] {
            assert_eq!(wrong.parse::<Month>(), Err(()), "{wrong}");
        }
    }

    #[test]
    fn day_has_23_or_25_hours_at_a_clock_change() {
        let hours = |zone: &str, date| {
            let (begins, ends) = day(date, &TimeZone::get(zone).unwrap());
            ends.duration_since(begins).as_hours()
        };
        assert_eq!(hours("America/New_York", date(2026, 3, 8)), 23);
        assert_eq!(hours("America/New_York", date(2026, 11, 1)), 25);
        assert_eq!(hours("Asia/Shanghai", date(2026, 11, 1)), 24);
        let begins = day(date(2026, 11, 21), &TimeZone::get("Asia/Shanghai").unwrap()).0;
        assert_eq!(begins.to_string(), "2026-11-20T16:00:00Z");
        // This day has no midnight: it begins at 01:00.
        assert_eq!(hours("America/Santiago", date(2026, 9, 6)), 23);
    }

    #[test]
    fn current_month_depends_on_the_time_zone() {
        let now: Timestamp = "2026-11-30T20:00:00Z".parse().unwrap();
        assert_eq!(Month::at(now, &TimeZone::UTC).to_string(), "2026-11");
        assert_eq!(Month::at(now, &TimeZone::get("Asia/Shanghai").unwrap()).to_string(), "2026-12");
        let evening = hour(date(2026, 11, 21), 20, &TimeZone::get("Asia/Shanghai").unwrap());
        assert_eq!(evening.unwrap().to_string(), "2026-11-21T12:00:00Z");
    }
}
