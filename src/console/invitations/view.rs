//! The console's page of a sale's invitation codes.

use askama::Template;

use crate::Chrome;
use domain::{Sale, SaleState};
use pages::filters;
use store::InvitationBatch;
use words::field_error;

/// The page's forms, after a refusal or after something was done.
#[derive(Debug, Default)]
pub struct InvitationsFormState {
    pub is_done: bool,
    pub typed_count: String,
    /// The code that says what is wrong with the count.
    pub wrong_count: Option<&'static str>,
    pub typed_code: String,
    pub wrong_code: Option<&'static str>,
}

/// Batches of codes as staff see them.
#[derive(Debug, Template)]
#[template(path = "invitations/invitations.html")]
pub struct AdminInvitationsPage {
    pub chrome: Chrome,
    pub goods_name: String,
    pub sale: Sale,
    pub batches: Vec<InvitationBatch>,
    pub may_act: bool,
    pub form: InvitationsFormState,
}

impl AdminInvitationsPage {
    /// Names and values of the counts of all batches.
    fn totals(&self) -> [(&'static str, i64); 4] {
        let t = &self.chrome.text().eligibility_console;
        let sum = |count: fn(&InvitationBatch) -> i64| self.batches.iter().map(count).sum();
        [
            (t.made, sum(|batch| batch.made)),
            (t.used, sum(|batch| batch.used)),
            (t.unused, sum(InvitationBatch::unused)),
            (t.revoked, sum(|batch| batch.revoked)),
        ]
    }

    fn can_make(&self) -> bool {
        self.may_act && self.sale.state != SaleState::Ended
    }

    fn count_error(&self) -> Option<&'static str> {
        self.form.wrong_count.map(|code| field_error(self.chrome.locale, code))
    }
}
