//! Making and changing a sale, with the checklist before its start.

use askama::Template;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::{Chrome, FieldError, complaint, label};
use crate::control::checklist::{Check, CheckState};
use crate::domain::{Goods, Locale, Rush, SaleId, SaleState};
use crate::i18n::{fill, text};
use crate::pages::filters;

/// Making a sale. All values are as typed.
#[derive(Debug, Template)]
#[template(path = "admin/sale_form.html")]
pub struct AdminSaleForm {
    pub chrome: Chrome,
    /// The sale that is changed; `None` for a new one.
    pub sale: Option<(SaleId, SaleState)>,
    pub goods: Vec<Goods>,
    pub goods_id: String,
    pub price: String,
    pub list_price: String,
    pub currency: String,
    pub total: String,
    pub per_user_limit: String,
    /// RFC 3339 in UTC from the script, or without it `2026-11-21T20:00`, which also means UTC.
    pub opens_at: String,
    pub closes_at: String,
    /// Buckets, lot, and spread in milliseconds; empty is the default.
    pub rush: [String; 3],
    /// Of this form, so that it makes one sale however often it is sent.
    pub key: String,
    /// Of the sale as it is shown.
    pub version: String,
    pub errors: Vec<FieldError>,
    /// Something that went wrong with the whole form.
    pub warning: Option<&'static str>,
    /// Another sale of the same goods at the same time.
    pub overlap: Option<SaleId>,
    /// Something that is good to know.
    pub note: Option<String>,
    pub checklist: Vec<Check>,
}

impl AdminSaleForm {
    fn complaint(&self, field: &str) -> Option<&'static str> {
        complaint(&self.chrome, &self.errors, field)
    }

    fn label<'a>(&self, field: &'a str) -> &'a str {
        label(&self.chrome, field)
    }

    fn chosen(&self, goods: &Goods) -> bool {
        self.goods_id == goods.id.to_string()
    }

    /// The price is doubtful and can be confirmed.
    fn asks_about_price(&self) -> bool {
        self.errors.iter().any(|error| error.code == "not_lower")
    }

    fn rush_lines(&self) -> [(&'static str, &str, &'static str); 3] {
        let t = &self.chrome.text().sales;
        let [buckets, lot, spread] = self.rush.each_ref().map(String::as_str);
        [("buckets", buckets, t.buckets_help), ("lot", lot, t.lot_help), ("spread_ms", spread, t.spread_help)]
    }

    /// Something there is not as it usually is.
    fn shows_rush(&self) -> bool {
        let usual = Rush::default();
        let usual = [i64::from(usual.buckets), usual.lot, usual.spread_ms].map(|number| number.to_string());
        let odd = self.rush.iter().zip(&usual).any(|(typed, usual)| !typed.is_empty() && typed != usual);
        odd || self.rush_lines().iter().any(|(field, ..)| self.complaint(field).is_some())
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
#[template(path = "admin/checklist.html")]
pub struct CheckList<'a> {
    pub locale: Locale,
    pub checks: &'a [Check],
}

impl CheckList<'_> {
    fn count(&self, state: CheckState) -> usize {
        self.checks.iter().filter(|check| check.state == state).count()
    }

    fn worst(&self) -> CheckState {
        let has = |state| self.count(state) > 0;
        [CheckState::NotOk, CheckState::Warning].into_iter().find(|s| has(*s)).unwrap_or(CheckState::Ok)
    }

    /// The verdict on the whole.
    fn summary(&self) -> String {
        let t = &text(self.locale).checklist;
        match self.worst() {
            CheckState::NotOk => fill(t.not_ready, self.count(CheckState::NotOk)),
            CheckState::Warning => fill(t.almost, self.count(CheckState::Warning)),
            CheckState::Ok => t.ready.to_owned(),
        }
    }

    fn title(&self) -> &'static str {
        text(self.locale).checklist.title
    }

    fn state(&self, check: &Check) -> &'static str {
        let t = &text(self.locale).checklist;
        match check.state {
            CheckState::Ok => t.state_ok,
            CheckState::Warning => t.state_warning,
            CheckState::NotOk => t.state_not_ok,
        }
    }

    fn name(&self, check: &Check) -> &'static str {
        self.words(check.check)
    }

    /// One sentence on what was found and what to do.
    pub fn sentence(&self, check: &Check) -> String {
        fill(self.words(check.finding.as_str()), check.value.as_deref().unwrap_or_default())
    }

    fn words(&self, key: &'static str) -> &'static str {
        text(self.locale).checklist.entries().find(|(name, _)| *name == key).map_or(key, |(_, words)| words)
    }
}

/// A sale that has begun cannot be changed any more.
#[derive(Debug, Template)]
#[template(path = "admin/sale_locked.html")]
pub struct AdminSaleLocked {
    pub chrome: Chrome,
    pub id: SaleId,
}

impl AdminSaleLocked {
    fn why(&self) -> &'static str {
        crate::i18n::problem("has_begun").text(self.chrome.locale)
    }
}

/// What a `datetime-local` field can show, in UTC, of a time as it was posted.
pub(super) fn for_time_field(posted: &str) -> String {
    match posted.parse::<Timestamp>() {
        Ok(at) => at.to_zoned(TimeZone::UTC).strftime("%Y-%m-%dT%H:%M:%S").to_string(),
        Err(_) => posted.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::checklist::Finding;

    #[test]
    fn every_finding_has_words_in_both_languages() {
        for locale in Locale::ALL {
            let list = CheckList { locale, checks: &[] };
            for finding in Finding::ALL {
                assert_ne!(list.words(finding.as_str()), finding.as_str());
                assert_ne!(list.words(finding.check()), finding.check());
            }
        }
    }

    #[test]
    fn the_worst_thing_decides() {
        let said = |findings: &[Finding]| {
            let checks: Vec<Check> = findings.iter().map(|f| Check::from(*f)).collect();
            CheckList { locale: Locale::En, checks: &checks }.render().unwrap()
        };
        assert!(said(&[Finding::PageCurrent]).contains("Everything is ready."));
        assert!(said(&[Finding::PageCurrent, Finding::WindowEndless]).contains("1 to look at."));
        let html = said(&[Finding::PageOld, Finding::WindowEndless, Finding::ControlMissing]);
        assert!(html.contains("2 not ready.") && html.contains("data-state=\"not_ok\""));
    }
}
