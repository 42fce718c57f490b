//! Questions about goods: the form that asks one, and an account's own questions.

use askama::Template;

use domain::question::{MAX_QUESTION_CHARS, MIN_QUESTION_CHARS};
use domain::{Question, QuestionId, QuestionStatus, SaleId};
use pages::filters;
use web::views::Chrome;
use words::{field_error, problem};

/// The form that asks about the goods of a sale.
#[derive(Debug, Template)]
#[template(path = "questions/ask.html")]
pub struct AskPage {
    pub chrome: Chrome,
    pub sale: SaleId,
    pub goods_name: String,
    pub typed: String,
    /// Whether the text was typed before the log-in.
    pub is_kept: bool,
    /// The code that says what is wrong with the text.
    pub wrong: Option<&'static str>,
    /// The code that says why the question is not asked now.
    pub refused: Option<&'static str>,
}

impl AskPage {
    fn typed_question(&self) -> &str {
        &self.typed
    }

    fn question_error(&self) -> Option<&'static str> {
        self.wrong.map(|code| field_error(self.chrome.locale, code))
    }

    fn refusal(&self) -> Option<&'static str> {
        self.refused.map(|code| problem(code).text(self.chrome.locale))
    }
}

/// A question as its owner sees it.
#[derive(Debug)]
pub struct OwnQuestion {
    pub question: Question,
    pub goods_name: String,
    /// Whether the sale on whose page it was asked still has a page.
    pub has_page: bool,
}

/// The questions of an account, newest first.
#[derive(Debug, Template)]
#[template(path = "questions/own_questions.html")]
pub struct OwnQuestionsPage {
    pub chrome: Chrome,
    pub questions: Vec<OwnQuestion>,
    /// A cursor for `before`; `None` on the last page.
    pub older: Option<QuestionId>,
    pub is_later: bool,
    pub notice: Option<&'static str>,
}

impl OwnQuestionsPage {
    fn status(&self, question: &Question) -> &'static str {
        let t = &self.chrome.text().questions;
        match question.status {
            QuestionStatus::Open => t.status_open,
            QuestionStatus::Answered => t.status_answered,
            QuestionStatus::Hidden => t.status_hidden,
        }
    }

    fn is_hidden(&self, question: &Question) -> bool {
        question.status == QuestionStatus::Hidden
    }
}
