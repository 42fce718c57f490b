//! The part of a sale's page about questions.

use super::SalePage;
use domain::question::{OPEN_ANSWERS, ShownAnswer};

impl SalePage<'_> {
    /// The answers that are shown at once, and the answers that are folded away.
    pub(super) fn split_answers(&self) -> (&[ShownAnswer], &[ShownAnswer]) {
        self.answers.split_at(self.answers.len().min(OPEN_ANSWERS))
    }

    /// Always empty: the page is the same for all visitors, so no question was typed.
    pub(super) fn typed_question(&self) -> &'static str {
        ""
    }

    pub(super) fn question_error(&self) -> Option<&'static str> {
        None
    }
}
