//! The console's page of payments that need attention.

use std::collections::HashMap;

use askama::Template;

use crate::payment_cases::page::PATH;
use crate::{Chrome, Tab};
use domain::{CaseKind, DisputeState, OrderId, OrderNumber};
use pages::filters;
use store::PaymentCase;
use words::CasesText;

/// The open cases, with the forms that ask for a refund or settle them, or the settled cases.
#[derive(Debug, Template)]
#[template(path = "payment_cases/payment_cases.html")]
pub struct PaymentCasesPage {
    pub chrome: Chrome,
    /// Whether these are the settled cases.
    pub settled: bool,
    pub cases: Vec<PaymentCase>,
    /// The numbers of their orders.
    pub numbers: HashMap<OrderId, OrderNumber>,
    /// A cursor for `before`; `None` on the last page.
    pub older: Option<String>,
    pub is_later: bool,
    pub may_act: bool,
    pub notice: Option<&'static str>,
    pub warning: Option<&'static str>,
}

impl PaymentCasesPage {
    fn number_of(&self, order: &OrderId) -> String {
        self.numbers.get(order).map(ToString::to_string).unwrap_or_default()
    }

    /// The lists of open and of settled cases.
    fn states(&self) -> [Tab; 2] {
        let t = &self.chrome.text().cases;
        let tab = |path: &str, name, is_here| Tab::new(&self.chrome, path, name, is_here);
        [tab(PATH, t.tab_open, !self.settled), tab(&format!("{PATH}&settled=true"), t.tab_settled, self.settled)]
    }
}

/// The actions on a case: last segment of the path, label, explanation.
pub(crate) fn actions(t: &CasesText, case: &PaymentCase) -> Vec<(&'static str, &'static str, &'static str)> {
    let refund = case.takes_refund().then_some(("refund", t.refund, t.refund_text));
    let text = if case.settles_as_refunded() { t.settle_failed_text } else { t.settle_text };
    refund.into_iter().chain([("settle", t.settle, text)]).collect()
}

/// What settled a case that no member of the staff has settled.
pub(crate) fn settled_by_itself(t: &CasesText, case: &PaymentCase) -> &'static str {
    if case.kind == CaseKind::Disputed { t.by_win } else { t.by_refund }
}
