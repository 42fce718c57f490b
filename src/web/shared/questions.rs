//! Questions about goods, as the API shows them.

use domain::{GoodsId, Locale, Question, QuestionId, QuestionStatus, SaleId};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

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
