//! The pages for a lost password, and for the verification of a mail address.

use askama::Template;

use crate::sign_in::view::Beside;
use pages::filters;
use web::shared::FieldError;
use web::views::{Chrome, error_text};
use words::problem;

/// The form that asks for a link, or the page after it was sent.
#[derive(Debug, Template)]
#[template(path = "recovery/recovery.html")]
pub struct RecoveryRequestPage {
    pub chrome: Chrome,
    pub is_sent: bool,
    /// A problem code.
    pub error: Option<&'static str>,
    pub beside: Beside,
}

impl RecoveryRequestPage {
    fn error_text(&self) -> Option<&'static str> {
        self.error.map(|code| problem(code).text(self.chrome.locale))
    }
}

/// The form for a new password, or the page after it was set.
#[derive(Debug, Template)]
#[template(path = "recovery/new_password.html")]
pub struct NewPasswordPage {
    pub chrome: Chrome,
    /// The token of the link. The form sends it back.
    pub token: String,
    pub username: String,
    /// The account has a second factor.
    pub needs_code: bool,
    pub is_done: bool,
    pub errors: Vec<FieldError>,
    pub beside: Beside,
}

impl NewPasswordPage {
    fn error_text(&self, field: &str) -> Option<&'static str> {
        error_text(&self.chrome, &self.errors, field)
    }
}

/// The button that verifies an address, or the page after it was pressed.
#[derive(Debug, Template)]
#[template(path = "recovery/verify_address.html")]
pub struct VerifyAddressPage {
    pub chrome: Chrome,
    /// The token of the link. The form sends it back.
    pub token: String,
    pub username: String,
    pub address: String,
    pub is_done: bool,
    pub beside: Beside,
}
