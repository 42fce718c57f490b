//! Logging in and registering.

use askama::Template;
use jiff::Timestamp;

use accounts::RegistrationPrice;
use domain::proof_of_work::{ITERATIONS, PARTS};
use domain::{Locale, Money, Phase, Picture, SaleId};
use engine::catalogue::CatalogueEntry;
use pages::filters;
use web::views::Chrome;
use web::views::passkeys::passkey_words;
use words::{Text, field_error, problem};

/// The login form, or the registration form.
#[derive(Debug, Template)]
#[template(path = "sign_in/sign_in.html")]
pub struct SignInPage {
    pub chrome: Chrome,
    pub register: bool,
    /// The name as entered before.
    pub username: String,
    /// The path to go to afterwards, on this origin; empty for the list of sales.
    pub next: String,
    /// Problem codes; several when name and password are both refused.
    pub errors: Vec<&'static str>,
    pub price: PriceField,
    /// Whether browsers offer passkeys at the shop's address.
    pub takes_passkeys: bool,
    pub beside: Beside,
}

/// What stands beside a form on the way into an account.
#[derive(Debug)]
pub struct Beside {
    /// The sale that the visitor came for. `None` if no sale is on or ahead.
    pub sale: Option<SaleBeside>,
    /// How long an order waits for its payment, in minutes. `None` if it is not a whole number of minutes.
    pub payment_minutes: Option<u64>,
}

/// A sale beside the form.
#[derive(Debug)]
pub struct SaleBeside {
    pub sale: SaleId,
    pub goods_name: String,
    pub picture: Option<Picture>,
    pub price: Money,
    pub phase: Phase,
    pub opens_at: Option<Timestamp>,
    /// The time at the shop.
    pub now: Timestamp,
    /// Whether the form leads to this sale.
    pub is_destination: bool,
    /// Whether the sale has rules about who may take part.
    pub has_rules: bool,
}

impl SaleBeside {
    pub fn new(
        entry: &CatalogueEntry,
        locale: Locale,
        phase: Phase,
        now: Timestamp,
        is_destination: bool,
    ) -> SaleBeside {
        let (sale, goods) = (&entry.sale, &entry.goods);
        SaleBeside {
            sale: sale.id,
            goods_name: goods.name.get(locale).to_owned(),
            picture: goods.cover().cloned(),
            price: sale.price,
            phase,
            opens_at: sale.window.opens_at.filter(|_| phase == Phase::Upcoming),
            now,
            is_destination,
            has_rules: !sale.eligibility.are_none(),
        }
    }

    /// Why the sale stands beside the form.
    pub(crate) fn label(&self, t: &Text) -> &'static str {
        match self.phase {
            _ if self.is_destination => t.account.beside_destination,
            Phase::Upcoming => t.account.beside_next,
            _ => t.shop.list_live,
        }
    }

    /// The state of a sale that has no start to wait for.
    pub(crate) fn state(&self, t: &Text) -> &'static str {
        match self.phase {
            Phase::Upcoming => t.shop.opens_unknown,
            Phase::Open => t.script.phase_open,
            Phase::SoldOut => t.script.phase_sold_out,
            Phase::Paused => t.script.phase_paused,
            Phase::Ended => t.script.phase_ended,
        }
    }
}

/// The proof of work that a registration needs, and its solution if there is one.
#[derive(Debug, Default)]
pub struct PriceField {
    /// `None` if no proof of work is needed.
    pub price: Option<RegistrationPrice>,
    /// The numbers of the solution, separated by commas.
    pub proof: String,
    /// Whether a verified mail address can replace the proof of work, which needs a mail server.
    pub takes_mail: bool,
}

impl PriceField {
    /// The verified mail address that replaces the proof of work.
    fn contact(&self) -> Option<&str> {
        self.price.as_ref().and_then(|price| price.contact.as_deref())
    }

    /// The proof of work, unless a verified address replaces it.
    fn open(&self) -> Option<&RegistrationPrice> {
        self.price.as_ref().filter(|price| price.contact.is_none())
    }
}

impl SignInPage {
    fn passkey_words(&self) -> Vec<(&'static str, &'static str)> {
        passkey_words(&self.chrome)
    }

    /// What the worker needs besides the challenge, as JSON.
    fn puzzle(&self, price: &RegistrationPrice) -> String {
        format!(r#"{{"bits":{},"parts":{PARTS},"iterations":{ITERATIONS}}}"#, price.bits)
    }

    fn error_text(&self, code: &'static str) -> &'static str {
        problem(code).text(self.chrome.locale)
    }

    /// The error that describes the name: its own, or one that is not about a field.
    fn name_error(&self) -> Option<&'static str> {
        self.errors.iter().copied().find(|code| *code != "weak_password")
    }

    fn is_name_refused(&self) -> bool {
        matches!(self.name_error(), Some("username_taken" | "bad_username"))
    }

    /// The error that describes the password.
    fn password_error(&self) -> Option<&'static str> {
        self.errors.iter().copied().find(|code| !matches!(*code, "username_taken" | "bad_username"))
    }

    fn is_password_refused(&self) -> bool {
        self.password_error() == Some("weak_password")
    }
}

/// The pages of a mail address that replaces the proof of work at registration.
#[derive(Debug, Template)]
#[template(path = "sign_in/registration_contact.html")]
pub struct ContactPage {
    pub chrome: Chrome,
    pub step: ContactStep,
    pub beside: Beside,
}

#[derive(Debug)]
pub enum ContactStep {
    /// A message is on its way.
    Sent { address: String },
    /// No message is sent, for the reason with this code of a field's error.
    Refused { challenge: String, address: String, error: &'static str },
    /// The button behind the link.
    Confirm { token: String, address: String },
    /// The address is verified. The link leads to a form of the registration.
    Done { link: String },
}

impl ContactPage {
    fn error_text(&self, code: &'static str) -> &'static str {
        field_error(self.chrome.locale, code)
    }
}

/// The second step of the login, after the password was accepted.
#[derive(Debug, Template)]
#[template(path = "sign_in/second_step.html")]
pub struct CodePage {
    pub chrome: Chrome,
    /// The signed proof that the password was accepted.
    pub proof: String,
    /// The path to go to afterwards, on this origin; empty for the list of sales.
    pub next: String,
    /// A problem code.
    pub error: Option<&'static str>,
    pub beside: Beside,
}

impl CodePage {
    fn error_text(&self) -> Option<&'static str> {
        self.error.map(|code| problem(code).text(self.chrome.locale))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::Locale;
    use web::views::test_chrome;

    #[test]
    fn login_form_keeps_its_values_and_escapes_them() {
        let hostile = "\"><script>alert(1)</script>";
        let page = SignInPage {
            chrome: test_chrome(Locale::Zh, "/zh/login"),
            register: false,
            username: hostile.into(),
            next: hostile.into(),
            errors: vec!["bad_credentials"],
            price: PriceField::default(),
            takes_passkeys: false,
            beside: Beside { sale: None, payment_minutes: None },
        };
        let html = page.render().unwrap();
        assert_eq!(html.matches("<script").count(), 2, "those of every page and of passwords");
        assert!(html.contains("alert(1)") && html.contains("用户名或密码不正确"));
        assert!(!html.contains("分钟"), "no time to pay is promised");
    }
}
