//! Template filters.

use std::fmt::Display;

use askama::filters::Safe;
use askama::{Result, Template, Values};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::picture::{AsPicture, PictureView, Placement};

/// `2026-11-21 20:00 UTC`, for browsers whose script does not replace it by local time.
#[askama::filter_fn]
pub fn utc(at: &Timestamp, _: &dyn Values) -> Result<String> {
    Ok(utc_text(*at))
}

/// The same text as the filter `utc`, for code outside of templates.
pub fn utc_text(at: Timestamp) -> String {
    let seconds = if at.as_second() % 60 == 0 { "" } else { ":%S" };
    at.to_zoned(TimeZone::UTC).strftime(&format!("%Y-%m-%d %H:%M{seconds} UTC")).to_string()
}

/// Replaces `{}` in a text by a value.
#[askama::filter_fn]
pub fn fill<T: AsRef<str>, V: Display>(text: T, _: &dyn Values, value: V) -> Result<String> {
    Ok(words::fill(text.as_ref(), value))
}

/// A number with thousands separators: `12,345` in both languages.
#[askama::filter_fn]
pub fn count<N: Display>(number: N, _: &dyn Values) -> Result<String> {
    Ok(grouped(number))
}

/// A whole number with thousands separators.
pub fn grouped(number: impl Display) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) && !grouped.ends_with('-') {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Renders a text in Markdown as harmless HTML.
#[askama::filter_fn]
pub fn markdown<T: AsRef<str>>(text: T, _: &dyn Values) -> Result<Safe<String>> {
    Ok(Safe(super::markdown::to_html(text.as_ref())))
}

/// The address of a file under `static/`.
#[askama::filter_fn]
pub fn asset(name: &str, _: &dyn Values) -> Result<&'static str> {
    Ok(super::assets::url(name))
}

/// The markup of a picture, or of its placeholder, at a placement such as `card` (see [`Placement`]).
#[askama::filter_fn]
pub fn picture<P: AsPicture, A: Display>(picture: P, _: &dyn Values, placement: &str, alt: A) -> Result<Safe<String>> {
    PictureView::new(picture.as_picture(), Placement::from_name(placement), &alt.to_string()).render().map(Safe)
}
