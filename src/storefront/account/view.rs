//! The account pages of a signed-in user.

use askama::Template;
use uuid::Uuid;

use domain::Money;
use pages::filters;
use store::{AccountMail, Passkey, SessionRow, User};
use web::packets::view::qr_code;
use web::shared::FieldError;
use web::views::passkeys::passkey_words;
use web::views::{Chrome, error_text};
use words::{fill, problem};

/// The account with its forms. After a failed submission one of the forms shows its errors.
#[derive(Debug, Template)]
#[template(path = "account/own_account.html")]
pub struct AccountPage {
    pub chrome: Chrome,
    pub user: User,
    /// The balance of the wallet.
    pub balance: Money,
    /// The part of the wallet that is set aside for sales.
    pub set_aside: Money,
    /// What deleting the account gives up: the balance, the money set aside, and the unclaimed money in open packets.
    pub at_stake: Money,
    pub recovery_left: i64,
    /// How many addresses are saved.
    pub addresses: usize,
    pub sessions: Vec<SessionRow>,
    /// The session of this request.
    pub current: Uuid,
    pub passkeys: Vec<Passkey>,
    /// Whether browsers offer passkeys at the shop's address.
    pub takes_passkeys: bool,
    /// The passkey that the form `passkey` is about.
    pub passkey: Option<Uuid>,
    /// The form with the errors: `password`, `factor`, `passkey`, `mail`, `mail-removal`, `delete`, or none.
    pub form: &'static str,
    pub errors: Vec<FieldError>,
    /// The problem code that the form shows.
    pub problem: Option<&'static str>,
    pub typed_name: String,
    pub mail: Option<AccountMail>,
    pub typed_address: String,
    /// The action that the page reports as done. Unknown values show nothing.
    pub done: String,
}

impl AccountPage {
    /// The anchors of the page's groups with their names, in their order.
    fn groups(&self) -> [(&'static str, &'static str); 4] {
        let t = &self.chrome.text().member;
        [("mine", t.group_mine), ("safety", t.group_safety), ("notices", t.group_notices), ("privacy", t.group_privacy)]
    }

    /// Whether the section with this anchor is unfolded: a form in it failed, or something in it was just done.
    fn is_open(&self, section: &str) -> bool {
        let of_form = match self.form {
            "password" => "password-form",
            "factor" => "second-factor",
            "passkey" => "passkeys",
            "mail" | "mail-removal" => "mail",
            form => form,
        };
        let of_action = match self.done.as_str() {
            "session" => "sessions",
            "factor-off" => "second-factor",
            "passkey-added" | "passkey-removed" => "passkeys",
            "mail" | "mail-removed" => "mail",
            _ => "",
        };
        let must_change = self.user.must_change_password && section == "password-form";
        section == of_form || section == of_action || must_change
    }

    /// A number of things that the account has, in words.
    fn counted(&self, number: usize, words: &str) -> String {
        match number {
            0 => self.chrome.text().member.none.to_owned(),
            number => fill(words, number),
        }
    }

    fn error_text(&self, form: &str, field: &str) -> Option<&'static str> {
        (self.form == form).then(|| error_text(&self.chrome, &self.errors, field))?
    }

    /// Whether the form that removes this passkey shows errors.
    fn is_refused(&self, passkey: &Passkey) -> bool {
        self.passkey == Some(passkey.id)
    }

    /// The text of an error in the form that removes this passkey.
    fn passkey_error(&self, of: &Passkey, field: &str) -> Option<&'static str> {
        self.is_refused(of).then(|| self.error_text("passkey", field))?
    }

    /// The id of a field in the form that removes this passkey.
    fn passkey_field(&self, of: &Passkey, field: &str) -> String {
        format!("{field}-{}", of.id)
    }

    fn passkey_words(&self) -> Vec<(&'static str, &'static str)> {
        passkey_words(&self.chrome)
    }

    fn problem_of(&self, form: &str) -> Option<&'static str> {
        let code = self.problem.filter(|_| self.form == form)?;
        Some(problem(code).text(self.chrome.locale))
    }

    fn verified_address(&self) -> Option<&str> {
        self.mail.as_ref()?.address.as_deref()
    }

    fn pending_address(&self) -> Option<&str> {
        self.mail.as_ref()?.pending.as_deref()
    }

    fn has_address(&self) -> bool {
        self.verified_address().is_some() || self.pending_address().is_some()
    }

    fn notice(&self) -> Option<&'static str> {
        let t = &self.chrome.text().member;
        match self.done.as_str() {
            "password" => Some(t.done_password),
            "session" => Some(t.done_session),
            "factor-off" => Some(t.done_factor_off),
            "passkey-added" => Some(self.chrome.text().passkeys.done_added),
            "passkey-removed" => Some(self.chrome.text().passkeys.done_removed),
            "mail" => Some(self.chrome.text().recovery.done_sent),
            "mail-removed" => Some(self.chrome.text().recovery.done_removed),
            _ => None,
        }
    }

    fn device<'a>(&self, session: &'a SessionRow) -> &'a str {
        if session.agent.is_empty() { self.chrome.text().member.unknown_device } else { &session.agent }
    }
}

/// The setup of an authenticator app.
#[derive(Debug, Template)]
#[template(path = "account/second_factor.html")]
pub struct SecondFactorPage {
    pub chrome: Chrome,
    pub secret: String,
    pub url: String,
    /// The signed enrolment, which the form sends back.
    pub signed: String,
    /// The account already has a second factor, so the form asks for its code too.
    pub replaces: bool,
    pub errors: Vec<FieldError>,
}

impl SecondFactorPage {
    fn error_text(&self, field: &str) -> Option<&'static str> {
        error_text(&self.chrome, &self.errors, field)
    }

    /// The QR code as a `data:` URL: the secret must not be requested under an address of its own.
    fn picture(&self) -> Option<String> {
        qr_code(&self.url)
    }

    /// The secret in groups of four letters, for typing.
    fn groups(&self) -> String {
        let letters: Vec<char> = self.secret.chars().collect();
        letters.chunks(4).map(String::from_iter).collect::<Vec<_>>().join(" ")
    }
}

/// The new recovery codes. Only this response shows them.
#[derive(Debug, Template)]
#[template(path = "account/recovery_codes.html")]
pub struct RecoveryPage {
    pub chrome: Chrome,
    pub codes: Vec<String>,
}

/// The page after the deletion of an account.
#[derive(Debug, Template)]
#[template(path = "account/deleted.html")]
pub struct DeletedPage {
    pub chrome: Chrome,
}
