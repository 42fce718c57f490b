//! Questions of shoppers about goods, and the answers of the shop.

use std::collections::HashMap;

use jiff::Timestamp;

use super::text::{tidy, tidy_lines};
use super::wire::wire_enum;
use super::{GoodsId, Locale, QuestionId, SaleId, UserId};

/// The shortest question, in characters. A shorter text asks nothing.
pub const MIN_QUESTION_CHARS: usize = 5;
pub const MAX_QUESTION_CHARS: usize = 300;
pub const MAX_ANSWER_CHARS: usize = 1000;
/// Questions of one account that may wait for an answer at the same time.
pub const MAX_OPEN_QUESTIONS: i64 = 5;
/// How many answers the pages of a catalogue item show per language: the latest ones.
pub const MAX_SHOWN_ANSWERS: usize = 30;
/// How many of these answers a page shows before the reader asks for more.
pub const OPEN_ANSWERS: usize = 3;

wire_enum! {
    pub enum QuestionStatus {
        Open = "open",
        /// Shown on the pages of the goods.
        Answered = "answered",
        /// Staff took it off the pages, or will not answer it.
        Hidden = "hidden",
    }
}

/// A question with its answer. Both are plain text in one language.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    pub id: QuestionId,
    pub goods_id: GoodsId,
    /// The sale on whose page the question was asked. If it was a draft, it may be deleted by now.
    pub sale_id: SaleId,
    /// `None` if the account was deleted, or if the shop itself wrote the question.
    pub user_id: Option<UserId>,
    pub locale: Locale,
    pub text: String,
    pub asked_at: Timestamp,
    pub status: QuestionStatus,
    pub answer: Option<String>,
    /// When the first answer was given.
    pub answered_at: Option<Timestamp>,
    pub version: i64,
}

/// The part of a question that pages show. It has nothing about the people who asked and answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownAnswer {
    pub question: String,
    pub answer: String,
    pub answered_at: Timestamp,
}

/// The answers about one catalogue item that pages show, the latest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShownAnswers {
    pub zh: Vec<ShownAnswer>,
    pub en: Vec<ShownAnswer>,
}

impl ShownAnswers {
    pub fn of(&self, locale: Locale) -> &[ShownAnswer] {
        match locale {
            Locale::Zh => &self.zh,
            Locale::En => &self.en,
        }
    }

    pub fn of_mut(&mut self, locale: Locale) -> &mut Vec<ShownAnswer> {
        match locale {
            Locale::Zh => &mut self.zh,
            Locale::En => &mut self.en,
        }
    }
}

/// The shown answers of each catalogue item.
pub type AnswersByGoods = HashMap<GoodsId, ShownAnswers>;

/// What staff do with a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QuestionChange {
    /// Gives the first answer, or another one in its place.
    Answer(String),
    Hide,
    /// Undoes hiding.
    Unhide,
}

/// A question in one line, tidied; or the code of what is wrong with it.
pub fn check_question(text: &str) -> Result<String, &'static str> {
    let text = tidy(text);
    match text.chars().count() {
        0 => Err("required"),
        count if count < MIN_QUESTION_CHARS => Err("question_too_short"),
        count if count > MAX_QUESTION_CHARS => Err("question_too_long"),
        _ => Ok(text),
    }
}

/// An answer, tidied line by line; or the code of what is wrong with it.
pub fn check_answer(text: &str) -> Result<String, &'static str> {
    let text = tidy_lines(text);
    match text.chars().count() {
        0 => Err("required"),
        count if count > MAX_ANSWER_CHARS => Err("answer_too_long"),
        _ => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_one_line_of_5_to_300_characters() {
        assert_eq!(check_question("  Is it\r\n water\u{202e}proof? "), Ok("Is it waterproof?".to_owned()));
        assert_eq!(check_question(" \n\u{202e}"), Err("required"));
        assert_eq!(check_question("防水吗？"), Err("question_too_short"));
        assert_eq!(check_question("它防水吗？").map(|text| text.chars().count()), Ok(MIN_QUESTION_CHARS));
        assert!(check_question(&"字".repeat(MAX_QUESTION_CHARS)).is_ok());
        assert_eq!(check_question(&"字".repeat(MAX_QUESTION_CHARS + 1)), Err("question_too_long"));
    }

    #[test]
    fn answers_keep_their_lines() {
        assert_eq!(check_answer("  Yes.\r\n\r\nDown  to 2 m.\n"), Ok("Yes.\n\nDown to 2 m.".to_owned()));
        assert_eq!(check_answer(" \n "), Err("required"));
        assert!(check_answer(&"字".repeat(MAX_ANSWER_CHARS)).is_ok());
        assert_eq!(check_answer(&"字".repeat(MAX_ANSWER_CHARS + 1)), Err("answer_too_long"));
    }
}
