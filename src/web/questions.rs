//! Questions of shoppers about the goods of a sale, and their answers. Answered questions are shown on the pages of the
//! goods, which are rendered again when an answer changes. The races are described in `store/questions.rs`.

use std::sync::Arc;
use std::time::Duration;

use boxed::boxed;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use tracing::{info, warn};

use base::rate_limit::UserLimit;
use domain::{GoodsId, Locale, Question, QuestionChange, QuestionId, QuestionStatus, SaleId, SaleState, UserId};
use engine::catalogue::Catalogue;
use store::{AskOutcome, NewQuestion, QuestionRefusal, Store, StoreError, WithdrawQuestionOutcome};

/// An account may ask this many questions at once, and then one per interval. The limit on open questions is not
/// enough: withdrawing one makes room for the next.
const ASK_BURST: u64 = 10;
pub const ASK_INTERVAL: Duration = Duration::from_secs(60);

/// Why a question is not asked or withdrawn.
#[derive(Debug, thiserror::Error)]
pub enum AskRefusal {
    #[error("there is no such sale")]
    NoSuchSale,
    #[error("too many questions at once")]
    RateLimited,
    #[error("too many questions wait for their answers")]
    TooMany,
    #[error("the account was deleted")]
    NoSuchAccount,
    #[error("the account has no such question")]
    NoSuchQuestion,
    #[error("the question was answered")]
    Answered,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Questions, for their owners and for staff.
pub struct Questions {
    store: Store,
    catalogue: Arc<Catalogue>,
    limit: UserLimit,
}

#[boxed]
impl Questions {
    pub fn new(store: Store, catalogue: Arc<Catalogue>) -> Questions {
        Questions { store, catalogue, limit: UserLimit::every(ASK_INTERVAL, ASK_BURST) }
    }

    /// Asks about the goods of a sale that has a page. Returns whether the question is new: asking again in the same
    /// words before the answer returns the first question.
    pub async fn ask(
        &self,
        user: UserId,
        sale: SaleId,
        locale: Locale,
        text: String,
    ) -> Result<(Question, bool), AskRefusal> {
        let entry = self.catalogue.entry(sale).await?;
        let is_shown = |sale: &domain::Sale| sale.state != SaleState::Draft && !sale.shadow;
        let entry = entry.filter(|entry| is_shown(&entry.sale)).ok_or(AskRefusal::NoSuchSale)?;
        if !self.limit.allows(user) {
            return Err(AskRefusal::RateLimited);
        }
        let new = NewQuestion { user: Some(user), goods: entry.goods.id, sale, locale, text };
        match self.store.questions().ask(&new).await? {
            AskOutcome::Asked(question) => {
                info!(question = %question.id, goods = %question.goods_id, "a question was asked");
                Ok((question, true))
            }
            AskOutcome::Known(question) => Ok((question, false)),
            AskOutcome::TooMany => Err(AskRefusal::TooMany),
            AskOutcome::NoSuchAccount => Err(AskRefusal::NoSuchAccount),
        }
    }

    /// Deletes a question that has no answer yet.
    pub async fn withdraw(&self, user: UserId, id: QuestionId) -> Result<(), AskRefusal> {
        match self.store.questions().withdraw(user, id).await? {
            WithdrawQuestionOutcome::Withdrawn => Ok(()),
            WithdrawQuestionOutcome::Answered => Err(AskRefusal::Answered),
            WithdrawQuestionOutcome::NoSuchQuestion => Err(AskRefusal::NoSuchQuestion),
        }
    }

    /// Answers, hides or shows a question again, and has the pages of its goods rendered.
    pub async fn change(
        &self,
        id: QuestionId,
        versions: Option<&[i64]>,
        change: QuestionChange,
        actor: &str,
    ) -> Result<Question, QuestionRefusal> {
        let question = self.store.questions().change(id, versions, change, actor).await?;
        info!(question = %id, status = %question.status, actor, "question changed");
        if let Err(error) = self.catalogue.refresh().await {
            warn!(%error, "the catalogue could not be read after a change; it is read again");
        }
        Ok(question)
    }
}

// Questions about goods, as the API shows them.

/// A question as its owner sees it. Staff see it with more.
#[derive(Serialize, JsonSchema)]
pub struct QuestionJson {
    id: QuestionId,
    sale_id: SaleId,
    goods_id: GoodsId,
    locale: Locale,
    text: String,
    /// `open`: without an answer; `hidden`: not shown.
    status: QuestionStatus,
    asked_at: Timestamp,
    answer: Option<String>,
    /// Of the first answer.
    answered_at: Option<Timestamp>,
}

impl From<Question> for QuestionJson {
    fn from(question: Question) -> Self {
        QuestionJson {
            id: question.id,
            sale_id: question.sale_id,
            goods_id: question.goods_id,
            locale: question.locale,
            text: question.text,
            status: question.status,
            asked_at: question.asked_at,
            answer: question.answer,
            answered_at: question.answered_at,
        }
    }
}
