//! The console's page of questions about goods.

use askama::Template;

use domain::question::MAX_ANSWER_CHARS;
use domain::{Locale, Question, QuestionId, QuestionStatus};
use pages::filters;
use store::FoundQuestion;
use web::shared::FieldError;
use web::views::{Chrome, error_text};

/// An answer as it was entered, and why it was not saved.
#[derive(Debug, Default)]
pub struct AnswerFormState {
    pub text: String,
    pub errors: Vec<FieldError>,
}

/// What the page says above the list.
#[derive(Debug)]
pub enum QuestionNotice {
    Done(&'static str),
    /// Names the question, which can be shown again.
    Hidden(Box<Question>),
    Warning(&'static str),
}

/// Questions of one status, or a single one, with the forms that answer and hide them.
#[derive(Debug, Template)]
#[template(path = "questions/console_questions.html")]
pub struct AdminQuestionsPage {
    pub chrome: Chrome,
    /// `None` on the page of a single question.
    pub status: Option<QuestionStatus>,
    pub questions: Vec<FoundQuestion>,
    /// A cursor for `before`; `None` on the last page.
    pub next: Option<QuestionId>,
    pub is_later: bool,
    pub may_act: bool,
    pub notice: Option<QuestionNotice>,
    /// The form of the single question, after it could not be carried out.
    pub form: Option<AnswerFormState>,
}

impl AdminQuestionsPage {
    /// The lists by status: path, name, and whether it is the one shown.
    fn tabs(&self) -> [(String, &'static str, bool); 3] {
        let t = &self.chrome.text().questions;
        QuestionStatus::ALL.map(|status| (self.path_of(status), t.status(status), self.status == Some(status)))
    }

    fn path_of(&self, status: QuestionStatus) -> String {
        format!("/admin/questions?lang={}&status={status}", self.chrome.locale)
    }

    /// The first page of this list.
    fn first_page(&self) -> String {
        self.path_of(self.status.unwrap_or(QuestionStatus::Open))
    }

    fn next_page(&self, cursor: &QuestionId) -> String {
        format!("{}&before={cursor}", self.first_page())
    }

    /// The words of the links to the first and to the next page. Questions without an answer are listed oldest first.
    fn page_links(&self) -> (&'static str, &'static str) {
        let t = &self.chrome.text().questions;
        if self.status == Some(QuestionStatus::Open) { (t.longest, t.later) } else { (t.newest, t.older) }
    }

    fn empty(&self) -> &'static str {
        let t = &self.chrome.text().questions;
        match self.status {
            Some(QuestionStatus::Answered) => t.empty_answered,
            Some(QuestionStatus::Hidden) => t.empty_hidden,
            Some(QuestionStatus::Open) | None => t.empty_open,
        }
    }

    fn is_hidden(&self, question: &Question) -> bool {
        question.status == QuestionStatus::Hidden
    }

    fn language(&self, question: &Question) -> &'static str {
        let t = &self.chrome.text().questions;
        match question.locale {
            Locale::Zh => t.in_zh,
            Locale::En => t.in_en,
        }
    }

    fn status_of(&self, question: &Question) -> &'static str {
        self.chrome.text().questions.status(question.status)
    }

    /// The text that the form of a question is filled with.
    fn entered<'a>(&'a self, question: &'a Question) -> &'a str {
        match &self.form {
            Some(form) => &form.text,
            None => question.answer.as_deref().unwrap_or_default(),
        }
    }

    fn answer_error(&self) -> Option<&'static str> {
        error_text(&self.chrome, &self.form.as_ref()?.errors, "answer")
    }
}
