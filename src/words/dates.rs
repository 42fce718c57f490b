//! Days and times as people say them. `dateOf`, `timeOfDay` and `when` of `static/lib.js` say them the same way in the
//! visitor's zone: change both.

use jiff::civil::Date;
use jiff::{Timestamp, Zoned};

use domain::Locale;

/// What a page knows of the present.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Present {
    /// A page for one visitor was made at this moment.
    At(Timestamp),
    /// A page that is kept for all visitors was made in the year of this moment. It may be read on any later day, so it
    /// has no "today".
    InYearOf(Timestamp),
}

/// A day, with its year only if that is another one.
pub fn day(locale: Locale, date: Date, this_year: i16) -> String {
    let format = match (locale, date.year() == this_year) {
        (Locale::Zh, true) => "%-m月%-d日",
        (Locale::Zh, false) => "%Y年%-m月%-d日",
        (Locale::En, true) => "%b %-d",
        (Locale::En, false) => "%b %-d, %Y",
    };
    date.strftime(format).to_string()
}

/// The time of day, of 24 hours in both languages.
pub fn time_of_day(at: &Zoned, with_seconds: bool) -> String {
    at.strftime(if with_seconds { "%H:%M:%S" } else { "%H:%M" }).to_string()
}

/// "today 19:37", "tomorrow 08:00", "Nov 28 19:37".
pub fn when(locale: Locale, at: &Zoned, present: Present, with_seconds: bool) -> String {
    format!("{} {}", day_said(locale, at, present), time_of_day(at, with_seconds))
}

/// Whether a time is on the day of a page for one visitor.
pub fn is_today(at: &Zoned, present: Present) -> bool {
    matches!(present, Present::At(now) if now.to_zoned(at.time_zone().clone()).date() == at.date())
}

fn day_said(locale: Locale, at: &Zoned, present: Present) -> String {
    let (Present::At(now) | Present::InYearOf(now)) = present;
    let (date, today) = (at.date(), now.to_zoned(at.time_zone().clone()).date());
    let is_near = |other: Result<Date, jiff::Error>| other.is_ok_and(|other| other == date);
    let said = match present {
        Present::InYearOf(_) => None,
        Present::At(_) if date == today => Some(["今天", "today"]),
        Present::At(_) if is_near(today.tomorrow()) => Some(["明天", "tomorrow"]),
        Present::At(_) if is_near(today.yesterday()) => Some(["昨天", "yesterday"]),
        Present::At(_) => None,
    };
    match (said, locale) {
        (Some([zh, _]), Locale::Zh) => zh.to_owned(),
        (Some([_, en]), Locale::En) => en.to_owned(),
        (None, _) => day(locale, date, today.year()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::tz::TimeZone;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn said(locale: Locale, time: &str, present: Present) -> String {
        when(locale, &at(time).to_zoned(TimeZone::get("Asia/Shanghai").unwrap()), present, false)
    }

    #[test]
    fn days_are_those_of_the_zone() {
        // 00:30 on the 1st of December in Shanghai.
        let now = Present::At(at("2026-11-30T16:30:00Z"));
        for (time, zh, en) in [
            ("2026-11-30T16:00:00Z", "今天 00:00", "today 00:00"),
            ("2026-11-30T15:59:59Z", "昨天 23:59", "yesterday 23:59"),
            ("2026-12-01T16:00:00Z", "明天 00:00", "tomorrow 00:00"),
            ("2026-11-28T11:37:00Z", "11月28日 19:37", "Nov 28 19:37"),
            ("2027-09-05T11:37:00Z", "2027年9月5日 19:37", "Sep 5, 2027 19:37"),
        ] {
            assert_eq!((said(Locale::Zh, time, now).as_str(), said(Locale::En, time, now).as_str()), (zh, en));
        }
    }

    #[test]
    fn page_that_is_kept_knows_no_today() {
        let made = Present::InYearOf(at("2026-11-30T16:30:00Z"));
        assert_eq!(said(Locale::En, "2026-11-30T16:30:00Z", made), "Dec 1 00:30");
        assert_eq!(said(Locale::Zh, "2026-12-31T16:00:00Z", made), "2027年1月1日 00:00");
    }
}
