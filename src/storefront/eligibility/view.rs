//! Who may take part in a sale, for one shopper.

use askama::Template;
use jiff::Timestamp;

use domain::{EligibilityRule, Ineligible, Money, SaleId};
use engine::eligibility::RuleState;
use pages::filters;
use web::views::Chrome;
use words::problem;

/// The rules of a sale, and what the account lacks.
#[derive(Debug, Template)]
#[template(path = "eligibility/eligibility.html")]
pub struct EligibilityPage {
    pub chrome: Chrome,
    pub sale: SaleId,
    pub goods_name: String,
    pub accounts_before: Option<Timestamp>,
    pub deposit: Option<Money>,
    pub states: Vec<RuleState>,
    /// An invitation code that could not be redeemed, as typed.
    pub refused_code: Option<String>,
}

impl EligibilityPage {
    fn summary(&self) -> &'static str {
        let t = &self.chrome.text().eligibility;
        match self.states.iter().any(|state| state.lacks.is_some()) {
            _ if self.states.is_empty() => t.no_rules,
            true => t.some_lack,
            false => t.all_met,
        }
    }

    fn rule(&self, state: &RuleState) -> &'static str {
        self.chrome.text().eligibility.rule(&state.rule)
    }

    /// The moment that the rule names.
    fn moment(&self, state: &RuleState) -> Option<Timestamp> {
        self.accounts_before.filter(|_| state.rule == EligibilityRule::AccountsBefore)
    }

    /// The amount that the rule names.
    fn deposit(&self, state: &RuleState) -> Option<Money> {
        self.deposit.filter(|_| state.rule == EligibilityRule::Deposit)
    }

    fn needs_deposit(&self, state: &RuleState) -> bool {
        state.lacks == Some(Ineligible::DepositNeeded)
    }

    /// What the account lacks, and what to do about it.
    fn lacking(&self, state: &RuleState) -> Option<&'static str> {
        state.lacks.map(|lacks| problem(lacks.as_str()).text(self.chrome.locale))
    }

    fn needs_address(&self, state: &RuleState) -> bool {
        state.lacks == Some(Ineligible::AddressNeeded)
    }

    /// Whether to ask for a contact here: only at the first rule that lacks one.
    fn needs_contact(&self, state: &RuleState) -> bool {
        let lacks = |state: &&RuleState| state.lacks == Some(Ineligible::ContactNotVerified);
        self.states.iter().find(lacks) == Some(state)
    }

    fn needs_code(&self, state: &RuleState) -> bool {
        state.lacks == Some(Ineligible::InvitationNeeded)
    }

    fn code_error(&self) -> Option<&'static str> {
        self.refused_code.as_ref().map(|_| problem("bad_invitation").text(self.chrome.locale))
    }

    fn typed_code(&self) -> &str {
        self.refused_code.as_deref().unwrap_or_default()
    }
}
