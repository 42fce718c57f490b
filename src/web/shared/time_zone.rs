//! Time zones that a query names, and the days of a filter in them. Pages show times in the browser's zone, so their
//! script sends it along.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::shared::FieldError;
use crate::shared::validation::time;
use domain::ShopSettings;

/// A zone of the tz database with its name; `None` for an unknown one.
pub fn named(name: &str) -> Option<(TimeZone, String)> {
    let zone = TimeZone::get(name.trim()).ok()?;
    let name = zone.iana_name()?.to_owned();
    Some((zone, name))
}

/// The zone of a page; the shop's for an unknown name.
pub fn or_own(name: &str, shop: &ShopSettings) -> (TimeZone, String) {
    named(name).or_else(|| named(&shop.time_zone)).unwrap_or_else(|| (TimeZone::UTC, "UTC".to_owned()))
}

/// Reads the fields `from` and `to`: instants, or days that begin at midnight of `zone`, which is UTC when it is empty.
/// An empty field is `None`. Adds an error for each field that cannot be read.
pub fn period(from: &str, to: &str, zone: &str, errors: &mut Vec<FieldError>) -> [Option<Timestamp>; 2] {
    let zone = match zone.trim() {
        "" => Some(TimeZone::UTC),
        name => named(name).map(|(zone, _)| zone),
    };
    if zone.is_none() {
        errors.push(FieldError::new("zone", "unknown"));
    }
    let zone = zone.unwrap_or(TimeZone::UTC);
    [("from", from), ("to", to)].map(|(field, text)| {
        let at = midnight(text, &zone).or_else(|| time(text));
        if at.is_none() && !text.trim().is_empty() {
            errors.push(FieldError::new(field, "bad_time"));
        }
        at
    })
}

/// The zone in a link to the same filter. Only a filter by days needs it.
pub fn of_days<'a>(zone: &'a str, from: &str, to: &str) -> &'a str {
    if from.trim().is_empty() && to.trim().is_empty() { "" } else { zone }
}

/// The beginning of a day; `None` for a text with a time.
fn midnight(text: &str, zone: &TimeZone) -> Option<Timestamp> {
    let day = Some(text.trim()).filter(|text| text.len() == "2026-11-21".len())?;
    Some(day.parse::<Date>().ok()?.to_zoned(zone.clone()).ok()?.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(from: &str, zone: &str) -> (Option<String>, Vec<FieldError>) {
        let mut errors = Vec::new();
        let [from, to] = period(from, "", zone, &mut errors);
        assert_eq!(to, None);
        (from.map(|at| at.to_string()), errors)
    }

    #[test]
    fn days_begin_at_midnight_of_the_zone_and_times_are_instants() {
        let at = |text: &str| (Some(text.to_owned()), Vec::new());
        assert_eq!(read("2026-11-21", ""), at("2026-11-21T00:00:00Z"));
        assert_eq!(read("2026-11-21", "Asia/Shanghai"), at("2026-11-20T16:00:00Z"));
        assert_eq!(read("2026-11-21", "America/New_York"), at("2026-11-21T05:00:00Z"));
        assert_eq!(read("2026-11-21T12:00:00Z", "Asia/Shanghai"), at("2026-11-21T12:00:00Z"));
        assert_eq!(read("2026-11-21", "Nowhere/Else").1, [FieldError::new("zone", "unknown")]);
        assert_eq!(read("soon", "Asia/Shanghai").1, [FieldError::new("from", "bad_time")]);
    }
}
