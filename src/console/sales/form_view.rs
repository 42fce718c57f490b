//! The form of a sale, and the checklist before its start.

use askama::Template;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::label;
use crate::sales::checklist_text::{checklist_words, finding_sentence};
use crate::sales::form_input::SaleForm;
use control::checklist::{CheckState, ChecklistItem};
use domain::{Goods, Locale, Rush, SaleId, SaleState};
use pages::filters;
use web::shared::FieldError;
use web::views::{Chrome, error_text};
use words::{fill, text};

/// The form of a new sale, or of a sale that has not begun. All values are as entered.
#[derive(Debug, Template)]
#[template(path = "sales/console_sale_form.html")]
pub struct AdminSaleForm {
    pub chrome: Chrome,
    /// `None` for a new sale.
    pub sale: Option<(SaleId, SaleState)>,
    pub goods: Vec<Goods>,
    pub form: SaleForm,
    pub errors: Vec<FieldError>,
    /// An error of the form as a whole.
    pub warning: Option<&'static str>,
    /// Another sale of the same goods at the same time.
    pub overlap: Option<SaleId>,
    /// Information above the form.
    pub note: Option<String>,
    pub checklist: Vec<ChecklistItem>,
}

impl AdminSaleForm {
    fn error_text(&self, field: &str) -> Option<&'static str> {
        error_text(&self.chrome, &self.errors, field)
    }

    fn label<'a>(&self, field: &'a str) -> &'a str {
        label(&self.chrome, field)
    }

    fn chosen(&self, goods: &Goods) -> bool {
        self.form.goods_id == goods.id.to_string()
    }

    /// Whether the price is not below the list price and has to be confirmed.
    fn needs_price_confirmation(&self) -> bool {
        self.errors.iter().any(|error| error.code == "not_lower")
    }

    /// What the expected demand says about the mode. `None` until the demand is entered.
    fn advice(&self) -> Option<String> {
        let t = &self.chrome.text().waiting_room_console;
        let [accounts, units] = [&self.form.expected_accounts, &self.form.total].map(|text| text.trim().parse::<i64>());
        let (accounts, units) = (accounts.ok()?, units.ok().filter(|units| *units > 0)?);
        let (text, times) = if accounts > units { (t.advice_rush, accounts / units) } else { (t.advice_enough, 1) };
        Some([accounts, units, times].into_iter().fold(text.to_owned(), |text, number| fill(&text, number)))
    }

    fn queue_fields(&self) -> [(&'static str, &str, &'static str); 3] {
        let t = &self.chrome.text().waiting_room_console;
        [
            ("queue_prequeue_s", &self.form.queue_prequeue_s, t.prequeue_help),
            ("queue_gather_s", &self.form.queue_gather_s, t.gather_help),
            ("queue_seat_s", &self.form.queue_seat_s, t.seat_help),
        ]
    }

    fn rush_fields(&self) -> [(&'static str, &str, &'static str); 3] {
        let t = &self.chrome.text().sales;
        let SaleForm { buckets, lot, spread_ms, .. } = &self.form;
        [("spread_ms", spread_ms, t.spread_help), ("buckets", buckets, t.buckets_help), ("lot", lot, t.lot_help)]
    }

    /// The rules about who may take part: field, words, and whether it is ticked.
    fn rules(&self) -> [(&'static str, &'static str, bool); 5] {
        let (t, form) = (&self.chrome.text().eligibility_console, &self.form);
        [
            ("old_accounts", t.old_accounts, form.old_accounts == "yes"),
            ("verified_contact", t.verified_contact, form.verified_contact == "yes"),
            ("one_per_contact", t.one_per_contact, form.one_per_contact == "yes"),
            ("one_per_address", t.one_per_address, form.one_per_address == "yes"),
            ("invitation", t.invitation, form.invitation == "yes"),
        ]
    }

    /// Whether a rush setting differs from its default or has an error.
    fn shows_rush(&self) -> bool {
        let default = Rush::default();
        let defaults = [default.spread_ms, i64::from(default.buckets), default.lot].map(|number| number.to_string());
        self.rush_fields().iter().zip(defaults).any(|((field, value, _), default)| {
            (!value.is_empty() && *value != default) || self.error_text(field).is_some()
        })
    }

    /// Whether the sale is a draw that was announced.
    fn has_draw(&self) -> bool {
        self.form.mode == "draw" && self.sale.is_some() && !self.is_draft()
    }

    fn is_draft(&self) -> bool {
        self.sale.is_some_and(|(_, state)| state == SaleState::Draft)
    }

    fn checks(&self) -> CheckList<'_> {
        CheckList { locale: self.chrome.locale, checks: &self.checklist }
    }
}

/// The part of a page that shows a checklist: `{{ checks.render()?|safe }}`.
#[derive(Debug, Template)]
#[template(path = "sales/console_checklist.html")]
pub struct CheckList<'a> {
    pub locale: Locale,
    pub checks: &'a [ChecklistItem],
}

impl CheckList<'_> {
    fn count(&self, state: CheckState) -> usize {
        self.checks.iter().filter(|check| check.state == state).count()
    }

    pub(crate) fn worst_state(&self) -> CheckState {
        let states = [CheckState::NotOk, CheckState::Warning];
        states.into_iter().find(|state| self.count(*state) > 0).unwrap_or(CheckState::Ok)
    }

    /// One sentence about the whole list.
    pub(crate) fn summary(&self) -> String {
        let t = &text(self.locale).checklist;
        match self.worst_state() {
            CheckState::NotOk => fill(t.not_ready, self.count(CheckState::NotOk)),
            CheckState::Warning => fill(t.almost, self.count(CheckState::Warning)),
            CheckState::Ok => t.ready.to_owned(),
        }
    }

    fn title(&self) -> &'static str {
        text(self.locale).checklist.title
    }

    fn state(&self, check: &ChecklistItem) -> &'static str {
        let t = &text(self.locale).checklist;
        match check.state {
            CheckState::Ok => t.state_ok,
            CheckState::Warning => t.state_warning,
            CheckState::NotOk => t.state_not_ok,
        }
    }

    fn name(&self, check: &ChecklistItem) -> &'static str {
        checklist_words(self.locale, check.check)
    }

    pub(crate) fn sentence(&self, check: &ChecklistItem) -> String {
        finding_sentence(self.locale, check)
    }
}

/// The page instead of the form of a sale that has begun.
#[derive(Debug, Template)]
#[template(path = "sales/console_sale_locked.html")]
pub struct AdminSaleLocked {
    pub chrome: Chrome,
    pub id: SaleId,
}

impl AdminSaleLocked {
    fn reason(&self) -> &'static str {
        words::problem("has_begun").text(self.chrome.locale)
    }
}

/// The value of a `datetime-local` field, in UTC, for a time as it was posted.
pub(crate) fn for_time_field(posted: &str) -> String {
    match posted.parse::<Timestamp>() {
        Ok(at) => at.to_zoned(TimeZone::UTC).strftime("%Y-%m-%dT%H:%M:%S").to_string(),
        Err(_) => posted.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use control::checklist::Finding;

    #[test]
    fn summary_names_the_worst_state() {
        let html_of = |findings: &[Finding]| {
            let checks: Vec<ChecklistItem> = findings.iter().map(|f| ChecklistItem::from(*f)).collect();
            CheckList { locale: Locale::En, checks: &checks }.render().unwrap()
        };
        assert!(html_of(&[Finding::PageCurrent]).contains("Everything is ready."));
        assert!(html_of(&[Finding::PageCurrent, Finding::WindowEndless]).contains("Needs attention: 1."));
        let html = html_of(&[Finding::PageOld, Finding::WindowEndless, Finding::ControlMissing]);
        assert!(html.contains("Not ready: 2.") && html.contains("data-state=\"not_ok\""));
    }
}
