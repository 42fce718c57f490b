//! A person's own account, and the second step of logging in.

use askama::Template;
use uuid::Uuid;

use super::Chrome;
use super::packets::qr_code;
use crate::domain::Money;
use crate::i18n::{field_error, problem};
use crate::pages::filters;
use crate::store::{SessionRow, User};
use crate::web::shared::FieldError;

/// Asks for the code after a right password.
#[derive(Debug, Template)]
#[template(path = "second_step.html")]
pub struct CodePage {
    pub chrome: Chrome,
    /// Stands for the password.
    pub half: String,
    /// Where to go afterwards, a path of ours; empty for the list.
    pub next: String,
    /// A problem code.
    pub error: Option<&'static str>,
}

impl CodePage {
    fn complaint(&self) -> Option<&'static str> {
        self.error.map(|code| problem(code).text(self.chrome.locale))
    }
}

/// The account with its forms; one of them may come back with mistakes.
#[derive(Debug, Template)]
#[template(path = "own_account.html")]
pub struct AccountPage {
    pub chrome: Chrome,
    pub user: User,
    /// What the wallet holds.
    pub balance: Money,
    pub recovery_left: i64,
    pub sessions: Vec<SessionRow>,
    /// The session that looks at this page.
    pub current: Uuid,
    /// The form that the mistakes are in: `password`, `factor`, `delete`, or none.
    pub form: &'static str,
    pub errors: Vec<FieldError>,
    /// A problem code, of the form.
    pub problem: Option<&'static str>,
    pub typed_name: String,
    /// What was done just now; anything unknown is not shown.
    pub done: String,
}

impl AccountPage {
    fn complaint(&self, form: &str, field: &str) -> Option<&'static str> {
        let error = self.errors.iter().find(|e| self.form == form && e.field == field)?;
        Some(field_error(self.chrome.locale, error.code))
    }

    fn problem_of(&self, form: &str) -> Option<&'static str> {
        let code = self.problem.filter(|_| self.form == form)?;
        Some(problem(code).text(self.chrome.locale))
    }

    fn praise(&self) -> Option<&'static str> {
        let t = &self.chrome.text().member;
        match self.done.as_str() {
            "password" => Some(t.done_password),
            "session" => Some(t.done_session),
            "factor-off" => Some(t.done_factor_off),
            _ => None,
        }
    }

    fn device<'a>(&self, session: &'a SessionRow) -> &'a str {
        if session.agent.is_empty() { self.chrome.text().member.unknown_device } else { &session.agent }
    }
}

/// Setting up an authenticator.
#[derive(Debug, Template)]
#[template(path = "second_factor.html")]
pub struct SecondFactorPage {
    pub chrome: Chrome,
    pub secret: String,
    pub url: String,
    pub sealed: String,
    pub errors: Vec<FieldError>,
}

impl SecondFactorPage {
    fn complaint(&self, field: &str) -> Option<&'static str> {
        let error = self.errors.iter().find(|e| e.field == field)?;
        Some(field_error(self.chrome.locale, error.code))
    }

    /// The address as a picture, inside the page itself: it is nobody else's business.
    fn picture(&self) -> Option<String> {
        qr_code(&self.url)
    }

    /// In groups of four, as people read.
    fn groups(&self) -> String {
        let letters: Vec<char> = self.secret.chars().collect();
        letters.chunks(4).map(String::from_iter).collect::<Vec<_>>().join(" ")
    }
}

/// The recovery codes, this once.
#[derive(Debug, Template)]
#[template(path = "recovery_codes.html")]
pub struct RecoveryPage {
    pub chrome: Chrome,
    pub codes: Vec<String>,
}

/// After an account was deleted.
#[derive(Debug, Template)]
#[template(path = "deleted.html")]
pub struct DeletedPage {
    pub chrome: Chrome,
}
