//! Questions about the goods of a sale: the answered ones, and the questions of an account.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::UserCall;
use domain::question::check_question;
use domain::{Locale, Page, QuestionId, SaleState, ShownAnswer};
use web::Shop;
use web::cache_policy::Cache;
use web::extract::session::SignedIn;
use web::extract::{self, PathIds, Query, SalePath};
use web::problem::{Code, Problem};
use web::questions::QuestionJson;
use web::shared::pagination::{Cursor, DEFAULT_PAGE_SIZE};

#[derive(Serialize, JsonSchema)]
struct ShownJson<'a> {
    locale: Locale,
    text: &'a str,
    answer: &'a str,
    answered_at: Timestamp,
}

#[derive(Serialize, JsonSchema)]
struct ShownList<'a> {
    questions: Vec<ShownJson<'a>>,
}

/// The questions that the sale's pages show, in both languages.
pub async fn shown(State(shop): State<Arc<Shop>>, SalePath(sale): SalePath) -> Result<Response, Problem> {
    let entry = shop.catalogue.entry(sale).await?.filter(|entry| entry.sale.state != SaleState::Draft);
    let (entry, answers) = (entry.ok_or(Code::NoSuchSale)?, shop.catalogue.answers());
    let mut questions = Vec::new();
    for locale in Locale::ALL {
        let of_goods = answers.get(&entry.goods.id).map_or(&[][..], |answers| answers.of(locale));
        questions.extend(of_goods.iter().map(|ShownAnswer { question, answer, answered_at }| ShownJson {
            locale,
            text: question,
            answer,
            answered_at: *answered_at,
        }));
    }
    Ok((Cache::Page, Json(ShownList { questions })).into_response())
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AskBody {
    /// Plain text. Shown with the answer, without the account.
    #[schemars(length(min = 5, max = 300))]
    text: String,
    /// The language of the question, on whose pages it is shown.
    locale: Locale,
}

#[derive(Serialize, JsonSchema)]
struct OneQuestion {
    question: QuestionJson,
}

/// Asks a question. 201 with the question; 200 with the first one if the same words wait for an answer already.
pub async fn ask(
    (State(shop), SignedIn(session)): UserCall,
    SalePath(sale): SalePath,
    extract::Json(body): extract::Json<AskBody>,
) -> Result<Response, Problem> {
    let text = check_question(&body.text).map_err(|code| Problem::invalid_field("text", code))?;
    let (question, is_new) = shop.questions.ask(session.user_id, sale, body.locale, text).await?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Cache::Private, Json(OneQuestion { question: question.into() })).into_response())
}

#[derive(Deserialize, JsonSchema)]
pub struct QuestionListQuery {
    #[serde(default)]
    before: Cursor,
}

#[derive(Serialize, JsonSchema)]
struct OwnList {
    questions: Vec<QuestionJson>,
    /// For `?before=`; `null` on the last page.
    next: Option<QuestionId>,
}

/// The questions of the account, newest first.
pub async fn own(
    (State(shop), SignedIn(session)): UserCall,
    Query(query): Query<QuestionListQuery>,
) -> Result<Response, Problem> {
    let before = query.before.read("before")?;
    let found = shop.store.questions().questions_of(session.user_id, before, DEFAULT_PAGE_SIZE as i64 + 1).await?;
    let page = Page::cut(found, DEFAULT_PAGE_SIZE, |found| found.question.id);
    let questions = page.items.into_iter().map(|found| found.question.into()).collect();
    Ok((Cache::Private, Json(OwnList { questions, next: page.next })).into_response())
}

/// Deletes a question that has no answer yet.
pub async fn withdraw(
    (State(shop), SignedIn(session)): UserCall,
    PathIds(id): PathIds<QuestionId>,
) -> Result<Response, Problem> {
    shop.questions.withdraw(session.user_id, id).await?;
    Ok((StatusCode::NO_CONTENT, Cache::Private, ()).into_response())
}

web::operations! { "sales"
    /// What was asked about the goods of a sale, and the answers
    ///
    /// What the pages of the sale show: in each language the latest 30, without a word about who asked.
    GET "/api/sales/{sale}/questions" showAnswers = shown;
        200 ShownList<'_>, "May be cached like the page.";
    /// Ask about the goods of a sale
    ///
    /// Asked again in the same words before it is answered, it is the first question.
    POST "/api/sales/{sale}/questions" askQuestion = ask, example(r#"{"text": "Is it waterproof?", "locale": "en"}"#);
        200 OneQuestion, "The same words wait for their answer already.";
        201 OneQuestion;
        refuses TooManyQuestions RateLimited;
    /// The user's questions about goods, newest first
    GET "/api/questions" listQuestions = own, tag("accounts");
        200 OwnList;
        refuses RateLimited;
    /// Withdraw a question that has no answer
    DELETE "/api/questions/{question}" withdrawQuestion = withdraw, tag("accounts");
        204 ();
        refuses AlreadyAnswered;
}
