//! The part of a sale's page about questions.

use super::SalePage;
use domain::question::{OPEN_ANSWERS, ShownAnswer};

impl SalePage<'_> {
    /// The answers that are open to read, and those behind them.
    pub(super) fn split_answers(&self) -> (&[ShownAnswer], &[ShownAnswer]) {
        self.answers.split_at(self.answers.len().min(OPEN_ANSWERS))
    }

    /// The page is the same for all: no question was typed, and none refused.
    pub(super) fn typed_question(&self) -> &'static str {
        ""
    }

    pub(super) fn question_error(&self) -> Option<&'static str> {
        None
    }
}
