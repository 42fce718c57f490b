//! Bounds of what staff enter about goods and sales, and parsers of amounts, times and time zones as entered. Pages show
//! times in the browser's zone, so the script of a list sends the zone along.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;

use crate::{FieldError, FieldProblem, Problem};
use domain::text::{is_line, is_paragraphs};
use domain::{Bilingual, Currency, Money, ShopSettings, Window};
use store::SaleDraft;

const MAX_NAME_CHARS: usize = 200;
/// Names of categories share one line.
const MAX_CATEGORY_NAME_CHARS: usize = 40;
/// Names of variants stand beside each other.
const MAX_VARIANT_CHARS: usize = 30;
const MAX_DESCRIPTION_CHARS: usize = 10_000;

impl From<FieldError> for FieldProblem {
    fn from(error: FieldError) -> Self {
        FieldProblem { field: error.field.to_owned(), code: error.code }
    }
}

/// The errors of the checks that fail: whether the value is right, its field, and the code of the error.
pub fn failed(
    checks: impl IntoIterator<Item = (bool, &'static str, &'static str)>,
) -> impl Iterator<Item = FieldError> {
    checks.into_iter().filter(|(is_right, ..)| !is_right).map(|(_, field, code)| FieldError { field, code })
}

/// Refuses values if one of the checks fails.
pub fn check(checks: impl IntoIterator<Item = (bool, &'static str, &'static str)>) -> Result<(), Problem> {
    let mut wrong = failed(checks).peekable();
    match wrong.peek() {
        Some(_) => Err(Problem::invalid(wrong)),
        None => Ok(()),
    }
}

pub fn check_name(name: &Bilingual) -> Vec<FieldError> {
    check_name_of(name, MAX_NAME_CHARS)
}

pub fn check_category_name(name: &Bilingual) -> Vec<FieldError> {
    check_name_of(name, MAX_CATEGORY_NAME_CHARS)
}

fn check_name_of(name: &Bilingual, max_chars: usize) -> Vec<FieldError> {
    let fields = [("name_zh", name.zh.trim()), ("name_en", name.en.trim())];
    let checks = fields.map(|(field, text)| match text {
        "" => (false, field, "required"),
        text if !is_line(text) => (false, field, "bad_text"),
        text => (text.chars().count() <= max_chars, field, "too_long"),
    });
    failed(checks).collect()
}

/// The name of a variant is given in both languages or in none.
pub fn check_variant(variant: &Bilingual) -> Vec<FieldError> {
    let [zh, en] = [variant.zh.trim(), variant.en.trim()];
    let checks = [("variant_zh", zh, en), ("variant_en", en, zh)].map(|(field, text, other)| match text {
        "" => (other.is_empty(), field, "required"),
        text if !is_line(text) => (false, field, "bad_text"),
        text => (text.chars().count() <= MAX_VARIANT_CHARS, field, "too_long"),
    });
    failed(checks).collect()
}

pub fn check_description(description: &Bilingual) -> Vec<FieldError> {
    let fields = [("description_zh", &description.zh), ("description_en", &description.en)];
    let checks = fields.map(|(field, text)| match text.chars().count() <= MAX_DESCRIPTION_CHARS {
        true => (is_paragraphs(text), field, "bad_text"),
        false => (false, field, "too_long"),
    });
    failed(checks).collect()
}

/// The errors of a sale, by field.
pub fn check_sale(draft: &SaleDraft) -> Vec<FieldError> {
    draft.mistakes().into_iter().map(|(field, code)| FieldError { field, code }).collect()
}

/// The shortest sale, in milliseconds. A shorter one is a typing error.
const MIN_DURATION_MS: i64 = 60_000;

/// The errors of a window at the time `now`, by field. The window of a draft may have passed: drafts are finished
/// later.
pub fn check_window(window: Window, draft: bool, now: Timestamp) -> Vec<FieldError> {
    let [opened, closed] = [window.opens_at, window.closes_at].map(|at| !draft && at.is_some_and(|at| at <= now));
    let lasts = window.opens_at.zip(window.closes_at).map(|(o, c)| c.as_millisecond() - o.as_millisecond());
    let too_short = !closed && lasts.is_some_and(|ms| (1..MIN_DURATION_MS).contains(&ms));
    failed([
        (!opened, "opens_at", "in_past"),
        (!closed, "closes_at", "in_past"),
        (!too_short, "closes_at", "too_short"),
    ])
    .collect()
}

/// Values that are possible but probably wrong, by field.
pub fn doubts(draft: &SaleDraft) -> Vec<FieldError> {
    let not_lower = draft.list_price.is_some_and(|list| draft.price.amount >= list.amount);
    failed([(!not_lower, "price", "not_lower")]).collect()
}

/// Parses an amount as entered: `1999`, `1999.5`, `1999.00`.
pub fn price(text: &str, currency: Currency) -> Option<Money> {
    Money::from_decimal(text.trim(), currency)
}

/// Parses a time as a script or a `datetime-local` field sends it. Without an offset it is UTC.
pub fn time(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    text.parse().ok().or_else(|| Some(text.parse::<DateTime>().ok()?.to_zoned(TimeZone::UTC).ok()?.timestamp()))
}

/// Parses a field that may be empty: `Some(None)` for an empty text, `None` for one that cannot be read.
pub fn optional<T>(text: &str, parse: impl Fn(&str) -> Option<T>) -> Option<Option<T>> {
    match text.trim() {
        "" => Some(None),
        text => parse(text).map(Some),
    }
}

/// A zone of the tz database with its name; `None` for an unknown one.
pub fn time_zone(name: &str) -> Option<(TimeZone, String)> {
    let zone = TimeZone::get(name.trim()).ok()?;
    let name = zone.iana_name()?.to_owned();
    Some((zone, name))
}

/// The zone of a page; the shop's for an unknown name.
pub fn zone_or_own(name: &str, shop: &ShopSettings) -> (TimeZone, String) {
    time_zone(name).or_else(|| time_zone(&shop.time_zone)).unwrap_or_else(|| (TimeZone::UTC, "UTC".to_owned()))
}

/// Reads the fields `from` and `to`: instants, or days that begin at midnight of `zone`, which is UTC when it is empty.
/// An empty field is `None`. Adds an error for each field that cannot be read.
pub fn period(from: &str, to: &str, zone: &str, errors: &mut Vec<FieldError>) -> [Option<Timestamp>; 2] {
    let zone = match zone.trim() {
        "" => Some(TimeZone::UTC),
        name => time_zone(name).map(|(zone, _)| zone),
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
pub fn zone_of_days<'a>(zone: &'a str, from: &str, to: &str) -> &'a str {
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
    use domain::{GoodsId, Rush, SaleMode, Window};

    fn draft() -> SaleDraft {
        SaleDraft {
            goods_id: GoodsId(1),
            price: Money::new(199_900, Currency::CNY),
            list_price: None,
            total: 100,
            per_user_limit: 2,
            window: Window { opens_at: time("2026-11-21T20:00"), closes_at: time("2026-11-21T21:00") },
            rush: Rush::default(),
            mode: SaleMode::Rush,
            eligibility: Default::default(),
        }
    }

    #[test]
    fn window_is_checked_against_the_clock() {
        let window = |opens, closes| Window { opens_at: time(opens), closes_at: time(closes) };
        let first_error = |opens, closes, draft| {
            check_window(window(opens, closes), draft, time("2026-11-21T12:00").unwrap())
                .first()
                .map(|e| (e.field, e.code))
        };
        assert_eq!(first_error("2026-11-21T12:01", "2026-11-21T12:02", false), None);
        assert_eq!(first_error("2026-11-21T12:01", "2026-11-21T12:01:59", false), Some(("closes_at", "too_short")));
        assert_eq!(first_error("2026-11-21T12:00", "", false), Some(("opens_at", "in_past")));
        assert_eq!(first_error("", "2026-11-21T12:00", false), Some(("closes_at", "in_past")));
        assert_eq!(first_error("2026-11-20T12:00", "2026-11-20T13:00", true), None, "a draft is finished later");
        assert_eq!(first_error("", "", false), None);
        assert_eq!(doubts(&SaleDraft { list_price: Some(Money::new(199_900, Currency::CNY)), ..draft() }).len(), 1);
        assert_eq!(doubts(&SaleDraft { list_price: Some(Money::new(199_901, Currency::CNY)), ..draft() }), []);
    }

    #[test]
    fn time_without_an_offset_is_utc() {
        let utc = "2026-11-21T12:00:00Z".parse().ok();
        for text in ["2026-11-21T12:00:00Z", "2026-11-21T20:00:00+08:00", "2026-11-21T12:00", " 2026-11-21T12:00:00 "] {
            assert_eq!(time(text), utc, "{text}");
        }
        for wrong in ["", "soon", "2026-02-30T12:00", "12:00"] {
            assert_eq!(time(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn sale_errors_name_their_fields() {
        assert_eq!(check_sale(&draft()), []);
        let mut wrong = draft();
        wrong.per_user_limit = 101;
        assert_eq!(check_sale(&wrong), [FieldError::new("per_user_limit", "bad_limit")]);
        let dear = SaleDraft { total: 100_000, per_user_limit: 100_000, ..draft() };
        let dear = SaleDraft { price: Money::new(1_000_000_000_000, Currency::CNY), ..dear };
        assert_eq!(check_sale(&dear), [FieldError::new("per_user_limit", "amount_too_large")]);
        assert_eq!(check_sale(&SaleDraft { per_user_limit: 9_007, ..dear }), []);
        wrong.total = 0;
        wrong.per_user_limit = 0;
        wrong.price.amount = -1;
        wrong.list_price = Some(Money::new(1, Currency::parse("USD").unwrap()));
        wrong.window.closes_at = wrong.window.opens_at;
        let fields: Vec<_> = check_sale(&wrong).iter().map(|e| e.field).collect();
        assert_eq!(fields, ["price", "list_price", "total", "per_user_limit", "closes_at"]);
    }

    #[test]
    fn goods_need_a_name_in_both_languages() {
        assert_eq!(check_name(&Bilingual::new("手机", "Phone")), []);
        assert_eq!(check_name(&Bilingual::new(" ", "x".repeat(201))).len(), 2);
        assert_eq!(check_description(&Bilingual::new("", "")), []);
        assert_eq!(check_description(&Bilingual::new("", "x".repeat(10_001)))[0].field, "description_en");
        for text in ["Pho\u{202e}ne", "Pho\u{7}ne"] {
            let bad = Bilingual::new("手机", text);
            assert_eq!(check_name(&bad), [FieldError::new("name_en", "bad_text")]);
            assert_eq!(check_category_name(&bad), [FieldError::new("name_en", "bad_text")]);
            assert_eq!(check_variant(&bad), [FieldError::new("variant_en", "bad_text")]);
            assert_eq!(check_description(&bad), [FieldError::new("description_en", "bad_text")]);
        }
    }

    fn read_period(from: &str, zone: &str) -> (Option<String>, Vec<FieldError>) {
        let mut errors = Vec::new();
        let [from, to] = period(from, "", zone, &mut errors);
        assert_eq!(to, None);
        (from.map(|at| at.to_string()), errors)
    }

    #[test]
    fn days_begin_at_midnight_of_the_zone_and_times_are_instants() {
        let at = |text: &str| (Some(text.to_owned()), Vec::new());
        assert_eq!(read_period("2026-11-21", ""), at("2026-11-21T00:00:00Z"));
        assert_eq!(read_period("2026-11-21", "Asia/Shanghai"), at("2026-11-20T16:00:00Z"));
        assert_eq!(read_period("2026-11-21", "America/New_York"), at("2026-11-21T05:00:00Z"));
        assert_eq!(read_period("2026-11-21T12:00:00Z", "Asia/Shanghai"), at("2026-11-21T12:00:00Z"));
        assert_eq!(read_period("2026-11-21", "Nowhere/Else").1, [FieldError::new("zone", "unknown")]);
        assert_eq!(read_period("soon", "Asia/Shanghai").1, [FieldError::new("from", "bad_time")]);
    }
}
