//! The console's pages of linked accounts: accounts of a sale that seem to belong together.

use std::collections::BTreeMap;

use askama::Template;
use jiff::Timestamp;

use crate::Chrome;
use crate::linked_accounts::review_view::{ReviewForm, ReviewFormState, ReviewNotice};
use domain::{LinkReason, SaleId, UserId};
use orders::linked_accounts::{GroupSummary, MEMBERS_PAGE_SIZE, ReviewedGroup, ReviewedOrder};
use pages::filters::{self, grouped};
use words::fill;

/// The most orders that one request acts on. Each account on a page has at most one live order.
pub const MAX_REVIEWED_ORDERS: usize = MEMBERS_PAGE_SIZE;

/// The groups of linked accounts of a sale, the largest first.
#[derive(Debug, Template)]
#[template(path = "linked_accounts/groups.html")]
pub struct GroupsPage {
    pub chrome: Chrome,
    pub sale: SaleId,
    pub goods_name: String,
    pub groups: Vec<GroupSummary>,
    /// Where the next page begins.
    pub next: Option<usize>,
    pub is_later: bool,
    /// When the accounts were compared.
    pub read_at: Timestamp,
    pub is_renewing: bool,
}

/// Why accounts are linked, in words.
fn in_words(chrome: &Chrome, reasons: &BTreeMap<LinkReason, usize>) -> Vec<String> {
    let t = &chrome.text().review;
    let words = |reason: &LinkReason| match reason {
        LinkReason::Address => t.by_address,
        LinkReason::Contact => t.by_contact,
        LinkReason::Instrument => t.by_instrument,
        LinkReason::Registration => t.by_registration,
    };
    reasons.iter().map(|(reason, accounts)| fill(words(reason), grouped(accounts))).collect()
}

impl GroupsPage {
    fn reasons(&self, of: &GroupSummary) -> Vec<String> {
        in_words(&self.chrome, &of.reasons)
    }
}

/// One group with its orders, and the forms that act on them.
#[derive(Debug, Template)]
#[template(path = "linked_accounts/group.html")]
pub struct GroupPage {
    pub chrome: Chrome,
    pub sale: SaleId,
    pub goods_name: String,
    pub of: ReviewedGroup,
    /// The last member on the page before.
    pub after: Option<UserId>,
    pub may_act: bool,
    pub notice: Option<ReviewNotice>,
    pub form: ReviewFormState,
}

impl GroupPage {
    fn reasons(&self) -> Vec<String> {
        in_words(&self.chrome, &self.of.summary.reasons)
    }

    /// The forms that apply to some of the orders.
    fn forms(&self) -> Vec<ReviewForm> {
        let t = &self.chrome.text().review;
        let held = |order: &ReviewedOrder| order.is_live() && order.hold.is_some();
        let free = |order: &ReviewedOrder| order.is_live() && order.hold.is_none();
        let forms = [
            self.form_for("hold", t.hold, t.hold_text, free),
            self.form_for("release", t.release, t.release_text, held),
            ReviewForm { is_dangerous: true, ..self.form_for("refund", t.refund, t.refund_text, held) },
        ];
        forms.into_iter().filter(|form| !form.orders.is_empty()).collect()
    }

    fn form_for(
        &self,
        action: &'static str,
        verb: &'static str,
        words: &'static str,
        applies: impl Fn(&ReviewedOrder) -> bool,
    ) -> ReviewForm {
        let orders: Vec<_> =
            self.of.orders.iter().filter(|order| applies(order)).map(|order| &order.found.order).collect();
        let amounts = orders.iter().map(|order| order.amount);
        let currency = orders.first().map(|order| order.amount.currency);
        let amount = currency.filter(|currency| orders.iter().all(|order| order.amount.currency == *currency));
        let amount = amount.map(|currency| domain::Money::new(amounts.map(|one| one.amount).sum(), currency));
        ReviewForm {
            action,
            verb,
            words,
            units: orders.iter().map(|order| u64::from(order.quantity)).sum(),
            amount,
            after: self.after,
            orders: orders.iter().map(|order| order.id).collect(),
            is_dangerous: false,
        }
    }
}
