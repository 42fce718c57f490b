//! The form that asks for the password again, and a shopper's page with it.

use askama::Template;

use crate::views::passkeys::passkey_words;
use crate::views::{Chrome, FieldError, error_text};
use pages::filters;

/// Asks for the password, and carries the fields of the form that needs it.
#[derive(Debug, Template)]
#[template(path = "shared/step_up_form.html")]
pub struct StepUpForm {
    /// The chrome's path is the path of the page with the first form.
    pub chrome: Chrome,
    /// The address of the operation.
    pub action: String,
    /// Names and values of the first form, as entered.
    pub fields: Vec<(String, String)>,
    pub needs_code: bool,
    /// Whether a passkey may replace the password.
    pub takes_passkey: bool,
    pub errors: Vec<FieldError>,
}

impl StepUpForm {
    fn passkey_words(&self) -> Vec<(&'static str, &'static str)> {
        passkey_words(&self.chrome)
    }

    fn error_text(&self, field: &str) -> Option<&'static str> {
        error_text(&self.chrome, &self.errors, field)
    }
}

/// Shown before money leaves the wallet.
#[derive(Debug, Template)]
#[template(path = "shared/step_up.html")]
pub struct StepUpPage {
    pub chrome: Chrome,
    pub form: StepUpForm,
}

impl StepUpPage {
    /// Names and values that were filled in before, if it was the form of a red packet.
    fn summary(&self) -> Vec<(&'static str, &str)> {
        let t = &self.chrome.text().packets;
        let of_packet = [("total", t.total), ("count", t.count), ("greeting", t.greeting)];
        let filled = |(name, words)| {
            let (_, value) = self.form.fields.iter().find(|(field, value)| field == name && !value.is_empty())?;
            Some((words, value.as_str()))
        };
        of_packet.into_iter().filter_map(filled).collect()
    }
}
