//! Questions about goods. Shoppers ask and withdraw, staff answer and hide. A change that pages show raises the
//! catalogue's revision, so that every process renders the pages again.
//!
//! **Races.** Questions of one account are asked one after the other, under the lock of its row, which also orders them
//! with the deletion of the account. Changes by staff lock the catalogue's row, then the question's. A withdrawal is
//! one conditional statement, so it either comes before the answer or does nothing.

use boxed::boxed;
use serde_json::{Value, json};
use sqlx::any::AnyRow;
use uuid::Uuid;

use crate::sales::changes::touch;
use crate::{
    QuestionStore, StoreError, StoreResult, Tx, escaped_pattern, expect_version, goods, mail, page_below, row,
};
use domain::question::{AnswersByGoods, MAX_OPEN_QUESTIONS, MAX_SHOWN_ANSWERS};
use domain::{
    AuditAction, Bilingual, GoodsId, Locale, MailKind, Question, QuestionChange, QuestionId, QuestionStatus, SaleId,
    ShownAnswer, UserId,
};

/// A new question.
#[derive(Debug, Clone)]
pub struct NewQuestion {
    /// The account that asks; `None` if the shop itself writes the question.
    pub user: Option<UserId>,
    pub goods: GoodsId,
    pub sale: SaleId,
    pub locale: Locale,
    pub text: String,
}

/// The outcome of asking a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AskOutcome {
    Asked(Question),
    /// The account has asked the same question before, and it waits for its answer.
    Known(Question),
    /// The account has [`MAX_OPEN_QUESTIONS`] open questions.
    TooMany,
    /// The account was deleted.
    NoSuchAccount,
}

/// The outcome of withdrawing a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WithdrawQuestionOutcome {
    Withdrawn,
    /// The question has been answered, so it stays on the page.
    Answered,
    /// The account has no such question.
    NoSuchQuestion,
}

/// Why staff cannot change a question.
#[derive(Debug, thiserror::Error)]
pub enum QuestionRefusal {
    #[error("there is no such question")]
    NoSuchQuestion,
    #[error("the question is of another version")]
    ChangedMeanwhile,
    #[error("the question is hidden")]
    Hidden,
    #[error(transparent)]
    Store(#[from] StoreError),
}

column_list!(columns: "questions.id, goods_id, sale_id, user_id, locale, text, asked_at_ms, status, answer,
     answered_at_ms, questions.version");

fn question(row: &AnyRow) -> sqlx::Result<Question> {
    read!(row => Question {
        id, goods_id, sale_id, user_id, locale, text, asked_at: "asked_at_ms", status, answer,
        answered_at: "answered_at_ms", version,
    })
}

#[boxed]
impl QuestionStore<'_> {
    /// Asks a question. If the account asks it again in the same words before it is answered, returns the first one.
    pub async fn ask(self, new: &NewQuestion) -> StoreResult<AskOutcome> {
        let mut tx = self.begin().await?;
        if let Some(user) = new.user {
            if !tx.lock_kept_user(user).await? {
                return Ok(AskOutcome::NoSuchAccount);
            }
            let open = open_questions(&mut tx, user).await?;
            let is_same = |known: &&Question| known.goods_id == new.goods && known.text == new.text;
            if let Some(known) = open.iter().find(is_same) {
                return Ok(AskOutcome::Known(known.clone()));
            }
            if open.len() as i64 >= MAX_OPEN_QUESTIONS {
                return Ok(AskOutcome::TooMany);
            }
        }
        let asked = Question {
            id: QuestionId(Uuid::now_v7()),
            goods_id: new.goods,
            sale_id: new.sale,
            user_id: new.user,
            locale: new.locale,
            text: new.text.clone(),
            asked_at: tx.now,
            status: QuestionStatus::Open,
            answer: None,
            answered_at: None,
            version: 1,
        };
        insert(&mut tx, &asked).await?;
        tx.commit_and(AskOutcome::Asked(asked)).await
    }

    /// Deletes a question that has no answer, for its owner.
    pub async fn withdraw(self, user: UserId, id: QuestionId) -> StoreResult<WithdrawQuestionOutcome> {
        let mut tx = self.begin().await?;
        let sql = "DELETE FROM questions WHERE id = $1 AND user_id = $2 AND answer IS NULL";
        if tx.changed(query!(sql; id, user)).await? == 1 {
            return tx.commit_and(WithdrawQuestionOutcome::Withdrawn).await;
        }
        Ok(match read(&mut tx, id).await?.is_some_and(|question| question.user_id == Some(user)) {
            true => WithdrawQuestionOutcome::Answered,
            false => WithdrawQuestionOutcome::NoSuchQuestion,
        })
    }

    /// Answers a question, hides it or shows it again. With `versions`, the question must be in one of these versions.
    /// If nothing changes, the version stays the same.
    pub async fn change(
        self,
        id: QuestionId,
        versions: Option<&[i64]>,
        change: QuestionChange,
        actor: &str,
    ) -> Result<Question, QuestionRefusal> {
        let mut tx = self.begin().await?;
        touch(&mut tx).await?;
        lock(&mut tx, id).await?;
        let before = read(&mut tx, id).await?.ok_or(QuestionRefusal::NoSuchQuestion)?;
        expect_version(before.version, versions, QuestionRefusal::ChangedMeanwhile)?;
        let (action, mut after) = match change {
            QuestionChange::Answer(_) if before.status == QuestionStatus::Hidden => {
                return Err(QuestionRefusal::Hidden);
            }
            QuestionChange::Answer(text) => {
                let answered_at = before.answered_at.or(Some(tx.now));
                let status = QuestionStatus::Answered;
                (AuditAction::Answer, Question { answer: Some(text), answered_at, status, ..before.clone() })
            }
            QuestionChange::Hide => {
                (AuditAction::HideQuestion, Question { status: QuestionStatus::Hidden, ..before.clone() })
            }
            QuestionChange::Unhide => {
                let status = if before.answer.is_some() { QuestionStatus::Answered } else { QuestionStatus::Open };
                let status = if before.status == QuestionStatus::Hidden { status } else { before.status };
                (AuditAction::UnhideQuestion, Question { status, ..before.clone() })
            }
        };
        if after == before {
            return Ok(before);
        }
        after.version += 1;
        update(&mut tx, &after).await?;
        let facts = [&before, &after].map(audit_facts);
        tx.log(actor, action, &format!("question {id}"), Some(&facts[0]), Some(&facts[1]), tx.now).await?;
        if before.answer.is_none() && after.answer.is_some() {
            tell_owner(&mut tx, &after).await?;
        }
        tx.commit_and(after).await
    }
}

/// The open questions of an account, at most one more than it may have.
async fn open_questions(tx: &mut Tx, user: UserId) -> sqlx::Result<Vec<Question>> {
    let sql = select!(columns, "FROM questions WHERE user_id = $1 AND status = 'open' ORDER BY questions.id LIMIT $2");
    tx.all(query!(sql; user, MAX_OPEN_QUESTIONS + 1), question).await
}

/// Locks a question, if there is one.
async fn lock(tx: &mut Tx, id: QuestionId) -> sqlx::Result<()> {
    tx.run(query!("UPDATE questions SET version = version WHERE id = $1"; id)).await
}

async fn read(tx: &mut Tx, id: QuestionId) -> sqlx::Result<Option<Question>> {
    let sql = select!(columns, "FROM questions WHERE questions.id = $1");
    tx.optional(query!(sql; id), question).await
}

async fn insert(tx: &mut Tx, question: &Question) -> sqlx::Result<()> {
    let sql = "INSERT INTO questions (id, goods_id, sale_id, user_id, locale, text, asked_at_ms, status)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
    let query = query!(sql; question.id, question.goods_id, question.sale_id, question.user_id, question.locale,
        &question.text, question.asked_at, question.status);
    tx.run(query).await
}

async fn update(tx: &mut Tx, question: &Question) -> sqlx::Result<()> {
    let sql = "UPDATE questions SET status = $2, answer = $3, answered_at_ms = $4, version = $5 WHERE id = $1";
    tx.run(query!(sql; question.id, question.status, &question.answer, question.answered_at, question.version)).await
}

/// The facts for the audit log. The shopper's words are left out, because they may be deleted with the account.
fn audit_facts(question: &Question) -> Value {
    json!({"goods_id": question.goods_id, "status": question.status, "answer": question.answer})
}

async fn tell_owner(tx: &mut Tx, question: &Question) -> sqlx::Result<()> {
    let Some(owner) = question.user_id else { return Ok(()) };
    let name = goods::name(tx, question.goods_id).await?;
    let facts = json!({"goods": name, "sale": question.sale_id, "answer": question.answer});
    mail::notify(tx, owner, MailKind::QuestionAnswered, facts).await
}

// Lists of questions: for pages, for their owners and for staff.

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
        select!(
            columns,
            ", name_zh, name_en, username FROM questions JOIN goods ON goods.id = goods_id
             LEFT JOIN users ON users.id = user_id"
        )
    };
}

fn found(row: &AnyRow) -> sqlx::Result<FoundQuestion> {
    read!(row => FoundQuestion { question = question(row)?, goods_name: "name", username })
}

#[boxed]
impl QuestionStore<'_> {
    /// A question, for staff.
    pub async fn get(self, id: QuestionId) -> StoreResult<Option<FoundQuestion>> {
        let sql = concat!(found!(), " WHERE questions.id = $1");
        self.optional(query!(sql; id), found).await
    }

    /// Questions with a status, after `cursor`. Open questions come oldest first, because their askers have waited
    /// longest; the others newest first.
    pub async fn list(
        self,
        status: QuestionStatus,
        cursor: Option<QuestionId>,
        limit: i64,
    ) -> StoreResult<Vec<FoundQuestion>> {
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
                page_below(cursor),
            ),
        };
        self.all(query!(sql; status, cursor, limit), found).await
    }

    /// Questions with these words, newest first. Searches only the latest [`MAX_SEARCHED`], because no index finds a
    /// part of a text.
    pub async fn search(self, words: &str, limit: i64) -> StoreResult<Vec<FoundQuestion>> {
        let sql = concat!(
            found!(),
            " WHERE questions.id >= COALESCE((SELECT id FROM questions ORDER BY id DESC LIMIT 1 OFFSET $1), '')
               AND LOWER(text) LIKE $2 ESCAPE '\\' ORDER BY questions.id DESC LIMIT $3"
        );
        let pattern = format!("%{}%", escaped_pattern(&words.to_lowercase()));
        self.all(query!(sql; MAX_SEARCHED - 1, pattern, limit), found).await
    }

    /// The questions of an account, newest first, before `before`.
    pub async fn questions_of(
        self,
        user: UserId,
        before: Option<QuestionId>,
        limit: i64,
    ) -> StoreResult<Vec<FoundQuestion>> {
        let sql = concat!(found!(), " WHERE user_id = $1 AND questions.id < $2 ORDER BY questions.id DESC LIMIT $3");
        self.all(query!(sql; user, page_below(before), limit), found).await
    }

    /// The answers that pages show, by goods: the latest [`MAX_SHOWN_ANSWERS`] per language.
    pub async fn shown_answers(self) -> StoreResult<AnswersByGoods> {
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
    async fn shown_answers_in(self, locale: Locale) -> StoreResult<Vec<(GoodsId, ShownAnswer)>> {
        let sql = "WITH spans AS MATERIALIZED (SELECT id AS goods, COALESCE((SELECT answered_at_ms FROM questions
                 WHERE goods_id = goods.id AND locale = $1 AND status = 'answered'
                 ORDER BY answered_at_ms DESC LIMIT 1 OFFSET $2), 0) AS since FROM goods)
             SELECT goods_id, text, answer, answered_at_ms FROM spans CROSS JOIN questions
             WHERE goods_id = goods AND locale = $1 AND status = 'answered' AND answered_at_ms >= since
             ORDER BY goods_id, answered_at_ms DESC, questions.id DESC";
        let query = query!(sql; locale, MAX_SHOWN_ANSWERS as i64 - 1);
        let read = |row: &AnyRow| {
            let answer = read!(row => ShownAnswer { question: "text", answer, answered_at: "answered_at_ms" })?;
            Ok((row::get(row, "goods_id")?, answer))
        };
        self.all(query, read).await
    }
}
