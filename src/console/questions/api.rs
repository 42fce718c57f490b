//! Questions of shoppers about goods.

use axum::Json as Answer;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::ETAG;
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{StaffCall, StaffCallTo};
use domain::question::check_answer;
use domain::{Bilingual, Page, QuestionChange, QuestionId, QuestionStatus, UserId};
use store::FoundQuestion;
use web::cache_policy::Cache;
use web::extract::session::{AnswerQuestions, ViewConsole};
use web::extract::{Json, PathIds, Query, entity_tag, expected_versions};
use web::problem::{Code, Problem};
use web::questions::QuestionJson;
use web::shared::FieldError;
use web::shared::pagination::{Cursor, LARGE_PAGE_SIZE};

/// A question as staff see it.
#[derive(Serialize, JsonSchema)]
struct ShopperQuestionJson {
    #[serde(flatten)]
    question: QuestionJson,
    goods_name: Bilingual,
    /// `null` once the account is deleted.
    user_id: Option<UserId>,
    username: Option<String>,
    version: i64,
}

impl From<FoundQuestion> for ShopperQuestionJson {
    fn from(FoundQuestion { question, goods_name, username }: FoundQuestion) -> Self {
        let (user_id, version) = (question.user_id, question.version);
        ShopperQuestionJson { question: question.into(), goods_name, user_id, username, version }
    }
}

#[derive(Deserialize, JsonSchema)]
pub struct QuestionsQuery {
    /// Empty for questions without an answer.
    #[serde(default)]
    #[schemars(extend("enum" = ["open", "answered", "hidden"]))]
    status: String,
    #[serde(default)]
    before: Cursor,
}

#[derive(Serialize, JsonSchema)]
struct QuestionList {
    questions: Vec<ShopperQuestionJson>,
    /// For `?before=`; `null` on the last page.
    next: Option<QuestionId>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "OneShopperQuestion")]
struct OneQuestion {
    question: ShopperQuestionJson,
}

/// Questions with one status. Questions without an answer come oldest first, the others newest first.
pub async fn list(
    (State(shop), _): StaffCall<ViewConsole>,
    Query(query): Query<QuestionsQuery>,
) -> Result<Response, Problem> {
    let status = match query.status.as_str() {
        "" => QuestionStatus::Open,
        status => status.parse().map_err(|()| FieldError::new("status", "bad_status"))?,
    };
    let cursor = query.before.read("before")?;
    let found = shop.store.questions().list(status, cursor, LARGE_PAGE_SIZE as i64 + 1).await?;
    let page = Page::cut(found, LARGE_PAGE_SIZE, |found| found.question.id);
    let questions = page.items.into_iter().map(ShopperQuestionJson::from).collect();
    Ok((Cache::Private, Answer(QuestionList { questions, next: page.next })).into_response())
}

pub async fn show((State(shop), _, PathIds(id)): StaffCallTo<ViewConsole, QuestionId>) -> Result<Response, Problem> {
    Ok(answer_with(shop.store.questions().get(id).await?.ok_or(Code::NotFound)?))
}

fn answer_with(found: FoundQuestion) -> Response {
    let version = [(ETAG, entity_tag(found.question.version))];
    (Cache::Private, version, Answer(OneQuestion { question: found.into() })).into_response()
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerBody {
    /// Plain text, public.
    #[schemars(length(min = 1, max = 1000))]
    answer: String,
}

type Call = StaffCallTo<AnswerQuestions, QuestionId>;

/// Answers a question, or replaces its answer.
pub async fn answer(call: Call, headers: HeaderMap, Json(body): Json<AnswerBody>) -> Result<Response, Problem> {
    let text = check_answer(&body.answer).map_err(|code| Problem::invalid_field("answer", code))?;
    change(call, &headers, QuestionChange::Answer(text)).await
}

pub async fn hide(call: Call, headers: HeaderMap) -> Result<Response, Problem> {
    change(call, &headers, QuestionChange::Hide).await
}

pub async fn unhide(call: Call, headers: HeaderMap) -> Result<Response, Problem> {
    change(call, &headers, QuestionChange::Unhide).await
}

/// Changes a question. With `If-Match`, only if it has a version that it names.
async fn change(
    (State(shop), staff, PathIds(id)): Call,
    headers: &HeaderMap,
    change: QuestionChange,
) -> Result<Response, Problem> {
    let versions = expected_versions(headers);
    let question = shop.questions.change(id, versions.as_deref(), change, staff.actor()).await?;
    let found = shop.store.questions().get(id).await?.ok_or(Code::NotFound)?;
    Ok(answer_with(FoundQuestion { question, ..found }))
}

web::operations! { "administrators"
    /// Questions of shoppers about goods
    ///
    /// Those without an answer oldest first, the others newest first.
    GET "/api/admin/questions" listShopperQuestions = list;
        200 QuestionList;
    /// One question
    GET "/api/admin/questions/{question}" showShopperQuestion = show, versioned;
        200 OneQuestion;
    /// Answer a question, or change its answer
    ///
    /// Publishes it on the pages of the goods in the question's language. With the first answer the asker gets a
    /// message.
    PUT "/api/admin/questions/{question}/answer" answerQuestion = answer, if_match, versioned;
        200 OneQuestion;
        refuses QuestionHidden;
    /// Take a question off the pages, or out of those to answer
    ///
    /// Repeating it changes nothing.
    POST "/api/admin/questions/{question}/hide" hideQuestion = hide, if_match, versioned;
        200 OneQuestion;
    /// Undo hiding
    ///
    /// Repeating it changes nothing.
    POST "/api/admin/questions/{question}/unhide" unhideQuestion = unhide, if_match, versioned;
        200 OneQuestion;
}
