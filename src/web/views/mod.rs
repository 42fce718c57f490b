//! The pages that are rendered per request: each template has a struct with the same fields. Handlers fill the struct
//! and call `render()` of [`askama::Template`].

pub mod address;
pub mod console_step_up;
pub mod message;
pub mod passkeys;
pub mod review;
pub mod step_up;

pub use askama::Template;
pub use pages::Chrome;

use crate::shared::FieldError;
use words::field_error;

/// The text of a field's error, if it has one.
pub fn error_text(chrome: &Chrome, errors: &[FieldError], field: &str) -> Option<&'static str> {
    let error = errors.iter().find(|error| error.field == field)?;
    Some(field_error(chrome.locale, error.code))
}

/// The chrome of a page for a signed-in shopper.
pub fn test_chrome(locale: domain::Locale, path: &str) -> Chrome {
    Chrome {
        locale,
        path: path.into(),
        username: Some("mei".into()),
        role: domain::Role::User,
        is_compact: false,
        is_test: false,
    }
}
