//! The console's page of questions about goods.

use askama::Template;

use super::{Chrome, error_text};
use crate::domain::question::MAX_ANSWER_CHARS;
use crate::domain::{Locale, Question, QuestionId, QuestionStatus};
use crate::pages::filters;
use crate::store::FoundQuestion;
use crate::web::shared::FieldError;

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
    /// With the question that can be shown again.
    Hidden(Box<Question>),
    Warning(&'static str),
}

/// Questions of one status, or a single one, with the forms that answer and hide them.
#[derive(Debug, Template)]
#[template(path = "admin/questions.html")]
pub struct AdminQuestionsPage {
    pub chrome: Chrome,
    /// `None` on the page of a single question.
    pub status: Option<QuestionStatus>,
    pub questions: Vec<FoundQuestion>,
    /// A cursor for `before`; `None` on the last page.
    pub older: Option<QuestionId>,
    pub is_later: bool,
    pub may_act: bool,
    pub notice: Option<QuestionNotice>,
    /// Of the single question, after a form that could not be carried out.
    pub form: Option<AnswerFormState>,
}

impl AdminQuestionsPage {
    /// The lists by status: path, name, and whether this is the one.
    fn tabs(&self) -> [(String, &'static str, bool); 3] {
        let t = &self.chrome.text().questions;
        let named = [t.tab_open, t.tab_answered, t.tab_hidden];
        let mut named = QuestionStatus::ALL.into_iter().zip(named);
        std::array::from_fn(|_| {
            let (status, name) = named.next().expect("each status has a name");
            (self.path_of(status), name, self.status == Some(status))
        })
    }

    fn path_of(&self, status: QuestionStatus) -> String {
        format!("/admin/questions?lang={}&status={status}", self.chrome.locale)
    }

    /// The first page of this list.
    fn first_page(&self) -> String {
        self.path_of(self.status.unwrap_or(QuestionStatus::Open))
    }

    fn older_page(&self, before: &QuestionId) -> String {
        format!("{}&before={before}", self.first_page())
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
        let t = &self.chrome.text().questions;
        match question.status {
            QuestionStatus::Open => t.tab_open,
            QuestionStatus::Answered => t.tab_answered,
            QuestionStatus::Hidden => t.tab_hidden,
        }
    }

    /// What the form of a question is filled with.
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
