//! What the script of passkeys says, in the language of the page.

use crate::views::Chrome;
use words::{field_error, problem};

const PROBLEMS: [&str; 8] = [
    "bad_passkey",
    "too_many_passkeys",
    "passkey_taken",
    "rate_limited",
    "blocked",
    "overloaded",
    "unavailable",
    "not_signed_in",
];
const FIELD_ERRORS: [&str; 5] = ["wrong_password", "bad_code", "required", "too_long", "bad_text"];

/// Codes and their texts.
pub fn passkey_words(chrome: &Chrome) -> Vec<(&'static str, &'static str)> {
    let t = &chrome.text().passkeys;
    let problems = PROBLEMS.map(|code| (code, problem(code).text(chrome.locale)));
    let errors = FIELD_ERRORS.map(|code| (code, field_error(chrome.locale, code)));
    let own = [("cancelled", t.cancelled), ("failed", t.failed)];
    problems.into_iter().chain(errors).chain(own).collect()
}
