//! The period of the books, as page, API and export read it in their query.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::Deserialize;

use store::Period;
use web::shared::FieldError;
use web::shared::validation::{optional, time};

/// The period as entered: times, or days of the shop. Without `from` it begins with the month, without `to` it ends now.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct BooksQuery {
    /// A time, or a day in the shop's time zone. Without it the period begins with the month.
    pub from: String,
    /// The end of the period, exclusive.
    pub to: String,
}

impl BooksQuery {
    /// The period, or an error for each field that cannot be read.
    pub fn period(&self, now: Timestamp, zone: &TimeZone) -> Result<Period, Vec<FieldError>> {
        let day_or_time = |text: &str| match text.contains(':') {
            true => time(text),
            false => Some(text.parse::<Date>().ok()?.to_zoned(zone.clone()).ok()?.timestamp()),
        };
        let (from, to) = (optional(&self.from, day_or_time), optional(&self.to, day_or_time));
        let wrong = [("from", from.is_none()), ("to", to.is_none())].into_iter().filter(|(_, is_wrong)| *is_wrong);
        let errors: Vec<_> = wrong.map(|(field, _)| FieldError::new(field, "bad_time")).collect();
        let (Some(from), Some(to)) = (from, to) else { return Err(errors) };
        let to = to.unwrap_or(now);
        let period = Period { from: from.unwrap_or_else(|| month_of(to, zone)), to };
        if period.from >= period.to {
            return Err(vec![FieldError::new("to", "time_order")]);
        }
        Ok(period)
    }
}

/// The beginning of the month that contains the moment before this time.
fn month_of(at: Timestamp, zone: &TimeZone) -> Timestamp {
    let last = at.saturating_sub(SignedDuration::from_millis(1)).unwrap_or(at);
    let first = last.to_zoned(zone.clone()).date().first_of_month().to_zoned(zone.clone());
    first.map_or(Timestamp::UNIX_EPOCH, |first| first.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(from: &str, to: &str) -> Result<String, Vec<FieldError>> {
        let query = BooksQuery { from: from.to_owned(), to: to.to_owned() };
        let period = query.period("2026-11-24T01:00:00Z".parse().unwrap(), &TimeZone::UTC)?;
        Ok(format!("{} {}", period.from, period.to))
    }

    #[test]
    fn period_is_the_month_unless_told_otherwise() {
        assert_eq!(read("", "").unwrap(), "2026-11-01T00:00:00Z 2026-11-24T01:00:00Z");
        assert_eq!(read("", "2026-10-01").unwrap(), "2026-09-01T00:00:00Z 2026-10-01T00:00:00Z");
        let query = BooksQuery { from: "2026-11-02".to_owned(), to: String::new() };
        let period = query.period(Timestamp::MAX, &TimeZone::get("Asia/Shanghai").unwrap()).unwrap();
        assert_eq!(period.from.to_string(), "2026-11-01T16:00:00Z", "a day of the shop");
        assert_eq!(read("2026-01-01", "2026-01-02T12:00").unwrap(), "2026-01-01T00:00:00Z 2026-01-02T12:00:00Z");
    }

    #[test]
    fn wrong_times_are_named() {
        assert_eq!(read("x", "y").unwrap_err().len(), 2);
        assert_eq!(read("2026-01-02", "2026-01-02").unwrap_err(), [FieldError::new("to", "time_order")]);
    }
}
