//! The console's pages that ask for the password again.

use askama::Template;

use super::{Chrome, FieldError, error_text};
use crate::pages::filters;
use crate::web::views::passkeys::passkey_words;

/// Asks for the password, and carries the fields of the form that needs it.
#[derive(Debug, Template)]
#[template(path = "admin/step_up.html")]
pub struct StepUpPage {
    pub chrome: Chrome,
    /// The address of the operation.
    pub action: String,
    /// Names and values, as entered before.
    pub fields: Vec<(String, String)>,
    pub needs_code: bool,
    /// A passkey may stand for the password.
    pub takes_passkey: bool,
    pub errors: Vec<FieldError>,
}

impl StepUpPage {
    fn passkey_words(&self) -> Vec<(&'static str, &'static str)> {
        passkey_words(&self.chrome)
    }

    fn error_text(&self, field: &str) -> Option<&'static str> {
        error_text(&self.chrome, &self.errors, field)
    }
}

/// Links to the export that the password was asked for.
#[derive(Debug, Template)]
#[template(path = "admin/stepped_up.html")]
pub struct SteppedUpPage {
    pub chrome: Chrome,
    pub next: String,
}
