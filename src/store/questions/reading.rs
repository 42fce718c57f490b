//! Lists of questions: for pages, for their owners and for staff.

use sqlx::Row;
use sqlx::any::AnyRow;

use super::{columns, question};
use crate::{QuestionStore, StoreError, escaped_pattern, row};
use domain::question::{AnswersByGoods, MAX_SHOWN_ANSWERS};
use domain::{Bilingual, GoodsId, Locale, Question, QuestionId, QuestionStatus, ShownAnswer, UserId};

/// A text that sorts after every UUID.
const AFTER_ALL: &str = "g";

/// A search reads this many questions, the latest ones.
const MAX_SEARCHED: i64 = 2000;

/// A question with the name of its goods and its account.
#[derive(Debug, Clone)]
pub struct FoundQuestion {
    pub question: Question,
    pub goods_name: Bilingual,
    /// The name of the account that asked.
    pub username: Option<String>,
}

macro_rules! found {
    () => {
        concat!(
            "SELECT ",
            columns!(),
            ", name_zh, name_en, username FROM questions JOIN goods ON goods.id = goods_id
             LEFT JOIN users ON users.id = user_id"
        )
    };
}

fn found(row: &AnyRow) -> Result<FoundQuestion, sqlx::Error> {
    Ok(FoundQuestion {
        question: question(row)?,
        goods_name: Bilingual::new(row::text(row, "name_zh")?, row::text(row, "name_en")?),
        username: row.try_get("username")?,
    })
}

impl QuestionStore<'_> {
    /// A question, for staff.
    pub async fn get(self, id: QuestionId) -> Result<Option<FoundQuestion>, StoreError> {
        let sql = concat!(found!(), " WHERE questions.id = $1");
        self.optional(sqlx::query(sql).bind(id.to_string()), found).await
    }

    /// Questions with a status, after `cursor`. Open questions come oldest first, because their askers have waited
    /// longest; the others newest first.
    pub async fn list(
        self,
        status: QuestionStatus,
        cursor: Option<QuestionId>,
        limit: i64,
    ) -> Result<Vec<FoundQuestion>, StoreError> {
        let (sql, cursor) = match status {
            QuestionStatus::Open => (
                concat!(
                    found!(),
                    " WHERE status = $1 AND questions.id > $2 ORDER BY questions.status, questions.id LIMIT $3"
                ),
                cursor.map_or_else(String::new, |id| id.to_string()),
            ),
            QuestionStatus::Answered | QuestionStatus::Hidden => (
                concat!(
                    found!(),
                    " WHERE status = $1 AND questions.id < $2 ORDER BY questions.status DESC, questions.id DESC LIMIT $3"
                ),
                upper_bound(cursor),
            ),
        };
        self.all(sqlx::query(sql).bind(status.as_str()).bind(cursor).bind(limit), found).await
    }

    /// Questions with these words, newest first. Searches only the latest [`MAX_SEARCHED`], because no index finds a
    /// part of a text.
    pub async fn search(self, words: &str, limit: i64) -> Result<Vec<FoundQuestion>, StoreError> {
        let sql = concat!(
            found!(),
            " WHERE questions.id >= COALESCE((SELECT id FROM questions ORDER BY id DESC LIMIT 1 OFFSET $1), '')
               AND LOWER(text) LIKE $2 ESCAPE '\\' ORDER BY questions.id DESC LIMIT $3"
        );
        let pattern = format!("%{}%", escaped_pattern(&words.to_lowercase()));
        self.all(sqlx::query(sql).bind(MAX_SEARCHED - 1).bind(pattern).bind(limit), found).await
    }

    /// The questions of an account, newest first, before `before`.
    pub async fn questions_of(
        self,
        user: UserId,
        before: Option<QuestionId>,
        limit: i64,
    ) -> Result<Vec<FoundQuestion>, StoreError> {
        let sql = concat!(found!(), " WHERE user_id = $1 AND questions.id < $2 ORDER BY questions.id DESC LIMIT $3");
        self.all(sqlx::query(sql).bind(user.to_string()).bind(upper_bound(before)).bind(limit), found).await
    }

    /// The answers that pages show, by goods: the latest [`MAX_SHOWN_ANSWERS`] per language.
    pub async fn shown_answers(self) -> Result<AnswersByGoods, StoreError> {
        let mut shown = AnswersByGoods::new();
        for locale in Locale::ALL {
            for (goods, answer) in self.shown_answers_in(locale).await? {
                shown.entry(goods).or_default().of_mut(locale).push(answer);
            }
        }
        Ok(shown)
    }

    /// In the statement, `since` is the time of the oldest shown answer of each goods. It is computed first, and once
    /// per goods, so that the answers are found along the index from there. `CROSS JOIN` makes SQLite use this order.
    async fn shown_answers_in(self, locale: Locale) -> Result<Vec<(GoodsId, ShownAnswer)>, StoreError> {
        let sql = "WITH spans AS MATERIALIZED (SELECT id AS goods, COALESCE((SELECT answered_at_ms FROM questions
                 WHERE goods_id = goods.id AND locale = $1 AND status = 'answered'
                 ORDER BY answered_at_ms DESC LIMIT 1 OFFSET $2), 0) AS since FROM goods)
             SELECT goods_id, text, answer, answered_at_ms FROM spans CROSS JOIN questions
             WHERE goods_id = goods AND locale = $1 AND status = 'answered' AND answered_at_ms >= since
             ORDER BY goods_id, answered_at_ms DESC, questions.id DESC";
        let query = sqlx::query(sql).bind(locale.as_str()).bind(MAX_SHOWN_ANSWERS as i64 - 1);
        let read = |row: &AnyRow| {
            let answer = ShownAnswer {
                question: row::text(row, "text")?,
                answer: row::text(row, "answer")?,
                answered_at: row::time(row, "answered_at_ms")?,
            };
            Ok((GoodsId(row::int(row, "goods_id")?), answer))
        };
        self.all(query, read).await
    }
}

/// A bound above the ids of a page that goes back in time.
fn upper_bound(cursor: Option<QuestionId>) -> String {
    cursor.map_or_else(|| AFTER_ALL.to_owned(), |id| id.to_string())
}
