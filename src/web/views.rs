//! The pages that are rendered per request: each template has a struct with the same fields. Handlers fill the struct
//! and call `render()` of [`askama::Template`].

pub use askama::Template;
use jiff::Timestamp;

use crate::FieldError;
use domain::{Address, AppealAnswer, HoldOutcome, Locale, OrderHold, Refusal, RefusalClass};
pub use pages::Chrome;
use pages::filters;
use pages::onward::OnwardSale;
use words::{HoldsText, Present, country, field_error, problem};

/// The text of a field's error, if it has one.
pub fn error_text(chrome: &Chrome, errors: &[FieldError], field: &str) -> Option<&'static str> {
    let error = errors.iter().find(|error| error.field == field)?;
    Some(field_error(chrome.locale, error.code))
}

/// The chrome of a page for a signed-in shopper.
pub fn test_chrome(locale: domain::Locale, path: &str) -> Chrome {
    let (username, now) = (Some("mei".into()), Timestamp::UNIX_EPOCH);
    Chrome { present: Present::At(now), username, ..Chrome::anonymous(&Default::default(), now, locale, path.into()) }
}

/// An address to be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddressView {
    pub recipient: String,
    pub phone: String,
    pub lines: Vec<String>,
    pub country: String,
}

impl AddressView {
    pub fn of(address: &Address, locale: Locale) -> AddressView {
        AddressView {
            recipient: address.recipient.clone(),
            phone: address.phone.clone(),
            lines: address.lines(),
            country: country(locale, &address.country).to_owned(),
        }
    }
}

// The page about a problem, for requests of a browser.

/// Explains the problem and links to where the visitor can go on.
#[derive(Debug, Template)]
#[template(path = "shared/message.html")]
pub struct MessagePage {
    pub chrome: Chrome,
    pub status: u16,
    /// The problem code. An unknown code shows the text of an internal error.
    pub code: String,
    /// The path of the "go back" link, on this origin; empty without one.
    pub back: String,
    /// For a refused purchase: the path of its form, and the quantity.
    pub again: Option<(String, i64)>,
    /// From when the visitor may buy.
    pub not_before: Option<Timestamp>,
    /// Sales to go on to, if the visitor came for something that is not there.
    pub onward: Vec<OnwardSale>,
}

impl MessagePage {
    fn title(&self) -> &'static str {
        problem(&self.code).title(self.chrome.locale)
    }

    fn text(&self) -> &'static str {
        problem(&self.code).text(self.chrome.locale)
    }

    /// Whether the page shows the status. Losing a sale is not shown as an error.
    fn is_failure(&self) -> bool {
        self.status == 404 || self.status >= 500
    }

    /// Whether another try may succeed.
    fn is_worth_retrying(&self) -> bool {
        let class = self.code.parse().map(Refusal::class);
        matches!(class, Ok(RefusalClass::Transient | RefusalClass::NotYet)) || self.code == "unavailable"
    }

    /// The visitor's moment in whole seconds, rounded up, so that a press at the time shown is not too early.
    fn own_moment(&self) -> Option<Timestamp> {
        let ms = self.not_before?.as_millisecond();
        Timestamp::from_second(ms.div_euclid(1000) + i64::from(ms.rem_euclid(1000) > 0)).ok()
    }

    /// The purchase that the page offers to try again.
    fn purchase(&self) -> Option<&(String, i64)> {
        self.again.as_ref().filter(|_| self.is_worth_retrying())
    }

    /// Whether reloading may help: nothing was posted, and the visitor did not cause the problem.
    fn is_reloadable(&self) -> bool {
        self.back.is_empty() && (self.status >= 500 || self.status == 429)
    }
}

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

/// One event: a hold, an appeal, or an answer.
#[derive(Debug)]
pub struct HoldEvent<'a> {
    pub at: Timestamp,
    pub what: &'static str,
    pub text: Option<&'a str>,
    /// The member of the staff, whose name owners do not see. `None` for the owner.
    pub by: Option<&'a str>,
}

/// The events of these holds, oldest first.
pub fn hold_events<'a>(t: &HoldsText, holds: &'a [OrderHold]) -> Vec<HoldEvent<'a>> {
    let mut events = Vec::new();
    for hold in holds {
        let (text, by) = (Some(hold.reason.as_str()), Some(hold.held_by.as_str()));
        events.push(HoldEvent { at: hold.held_at, what: t.event_held, text, by });
        for appeal in &hold.appeals {
            let text = Some(appeal.text.as_str()).filter(|text| !text.is_empty());
            events.push(HoldEvent { at: appeal.sent_at, what: t.event_appeal, text, by: None });
            // Other answers end the hold, which is a separate event.
            if let Some(given) = appeal.answer.as_ref().filter(|given| given.answer == AppealAnswer::Upheld) {
                let (text, by) = (given.reason.as_deref(), Some(given.by.as_str()));
                events.push(HoldEvent { at: given.at, what: t.event_upheld, text, by });
            }
        }
        if let Some(end) = &hold.end {
            let what = match end.outcome {
                HoldOutcome::Released => t.event_released,
                HoldOutcome::Refunded => t.event_refunded,
                HoldOutcome::Cancelled => t.event_cancelled,
            };
            events.push(HoldEvent { at: end.at, what, text: end.reason.as_deref(), by: Some(&end.by) });
        }
    }
    events
}

// The form that asks for the password again, and a shopper's page with it.

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

// The console's pages that ask for the password again.

#[derive(Debug, Template)]
#[template(path = "shared/console_step_up.html")]
pub struct AdminStepUpPage {
    pub chrome: Chrome,
    pub form: StepUpForm,
}

/// Links to the export that the password was asked for.
#[derive(Debug, Template)]
#[template(path = "shared/console_stepped_up.html")]
pub struct SteppedUpPage {
    pub chrome: Chrome,
    pub next: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::Locale;

    fn page(status: u16, code: &str, back: &str) -> String {
        let present = Present::At("2026-11-21T11:00:00Z".parse().unwrap());
        let chrome = Chrome { present, username: None, ..test_chrome(Locale::En, "/en/sales/7/buy") };
        let again = back.starts_with("/en/sales/").then(|| ("/en/sales/7/buy".to_owned(), 2));
        let not_before = (code == "too_early").then(|| "2026-11-21T12:00:06.001Z".parse().unwrap());
        let onward = Vec::new();
        MessagePage { chrome, status, code: code.into(), back: back.into(), again, not_before, onward }
            .render()
            .unwrap()
    }

    #[test]
    fn page_offers_another_try_only_if_it_may_succeed() {
        let busy = page(429, "busy", "/en/sales/7");
        assert!(busy.contains(r#"action="/en/sales/7/buy""#) && busy.contains(r#"name="quantity" value="2""#));
        let codes =
            [("not_open", true), ("not_called", true), ("bad_token", true), ("sold_out", false), ("by_draw", false)];
        for (code, is_offered) in codes {
            assert_eq!(page(409, code, "/en/sales/7").contains("Try again"), is_offered, "{code}");
        }
        let away = page(503, "unavailable", "");
        assert!(away.contains(r#"href="/en/sales/7/buy">Try again"#) && away.contains(r#"http-equiv="refresh""#));
    }

    #[test]
    fn page_tells_the_moment_of_the_account() {
        let early = page(429, "too_early", "/en/sales/7");
        assert!(early.contains("today 12:00:07") && early.contains(r#"datetime="2026-11-21T12:00:07Z""#));
        assert!(early.contains(r#"action="/en/sales/7/buy""#), "it can be pressed again from here");
    }

    #[test]
    fn sold_out_is_not_called_an_error() {
        let sold_out = page(409, "sold_out", "/en/sales/7");
        assert!(sold_out.contains("Sold out") && !sold_out.contains("Error"));
        assert!(page(503, "overloaded", "/en/sales/7").contains("Error 503"));
    }

    #[test]
    fn page_always_links_onward() {
        assert!(page(401, "not_signed_in", "/en/sales/7").contains("/en/login?next=%2Fen%2Fsales%2F7"));
        let unknown = page(500, "<script>", "");
        assert!(unknown.contains("Something went wrong") && unknown.contains("Browse sales"));
        assert!(!unknown.contains("Go back") && !unknown.contains("<script>"));
    }
}
