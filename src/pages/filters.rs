//! What templates do with values.

use std::fmt::Display;

use askama::filters::Safe;
use askama::{Result, Template, Values};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::picture::{Place, Shot, Shown};

/// `2026-11-21 20:00 UTC`, for readers whose browser does not turn it into their own time.
#[askama::filter_fn]
pub fn utc(at: &Timestamp, _: &dyn Values) -> Result<String> {
    let seconds = if at.as_second() % 60 == 0 { "" } else { ":%S" };
    Ok(at.to_zoned(TimeZone::UTC).strftime(&format!("%Y-%m-%d %H:%M{seconds} UTC")).to_string())
}

/// Puts a value where a text has `{}`.
#[askama::filter_fn]
pub fn fill<T: AsRef<str>, V: Display>(text: T, _: &dyn Values, value: V) -> Result<String> {
    Ok(crate::i18n::fill(text.as_ref(), value))
}

/// A number with its thousands apart, as both languages write it.
#[askama::filter_fn]
pub fn count<N: Display>(number: N, _: &dyn Values) -> Result<String> {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) && !grouped.ends_with('-') {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    Ok(grouped)
}

/// The address of a file under `static/`.
#[askama::filter_fn]
pub fn asset(name: &str, _: &dyn Values) -> Result<&'static str> {
    Ok(super::assets::url(name))
}

/// A picture as it stands in a place (see [`Place`]), or the drawing that stands in for it.
#[askama::filter_fn]
pub fn shot<P: Shown, A: Display>(picture: P, _: &dyn Values, place: &str, alt: A) -> Result<Safe<String>> {
    Shot::new(picture.shown(), Place::named(place), &alt.to_string()).render().map(Safe)
}
