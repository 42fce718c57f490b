//! Questions about goods: the form that asks one, and the page of an account's own questions.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header::SET_COOKIE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use crate::UserVisit;
use crate::questions::draft::{DraftPlace, kept_question};
use crate::questions::view::{AskPage, OwnQuestion, OwnQuestionsPage};
use domain::question::check_question;
use domain::{Page, QuestionId, SaleId, SaleState};
use store::FoundQuestion;
use web::Shop;
use web::extract::session::SignedIn;
use web::extract::visitor::{Visitor, login_path};
use web::extract::{Form, PathIds, Query};
use web::problem::{Code, Problem};
use web::questions::AskRefusal;
use web::shared::goods::goods_name_and_cover;
use web::shared::pagination::{Cursor, DEFAULT_PAGE_SIZE};
use web::shared::paths::{own_questions_path, questions_path};
use web::shared::response::{personal, see_other};

#[derive(Deserialize)]
pub struct QuestionForm {
    #[serde(default)]
    text: String,
}

/// The form by itself, with what was typed before the log-in.
pub async fn form(
    State(shop): State<Arc<Shop>>,
    visitor: Visitor,
    PathIds(sale): PathIds<SaleId>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let kept = kept_question(&headers);
    let state = FormState { is_kept: kept.is_some(), typed: kept.unwrap_or_default(), ..FormState::default() };
    page(&shop, &visitor, sale, StatusCode::OK, state).await
}

/// What the form shows.
#[derive(Default)]
struct FormState {
    typed: String,
    is_kept: bool,
    /// The code that says what is wrong with the text.
    wrong: Option<&'static str>,
    /// The code that says why the question is not asked now.
    refused: Option<&'static str>,
}

async fn page(
    shop: &Shop,
    visitor: &Visitor,
    sale: SaleId,
    status: StatusCode,
    state: FormState,
) -> Result<Response, Problem> {
    let entry = shop.catalogue.entry(sale).await?;
    let entry = entry.filter(|entry| entry.sale.state != SaleState::Draft && !entry.sale.shadow);
    let entry = entry.ok_or(Code::NoSuchSale)?;
    let page = AskPage {
        chrome: visitor.chrome_at(questions_path(visitor.locale, sale)),
        sale,
        goods_name: goods_name_and_cover(Some(&*entry), visitor.locale).0,
        typed: state.typed,
        is_kept: state.is_kept,
        wrong: state.wrong,
        refused: state.refused,
    };
    personal(status, &page)
}

/// Asks a question. A visitor goes to the log-in first, and then back to the form with the same text.
pub async fn ask(
    State(shop): State<Arc<Shop>>,
    visitor: Visitor,
    PathIds(sale): PathIds<SaleId>,
    Form(form): Form<QuestionForm>,
) -> Result<Response, Problem> {
    let text = match check_question(&form.text) {
        Ok(text) => text,
        Err(wrong) => {
            let state = FormState { typed: form.text, wrong: Some(wrong), ..FormState::default() };
            return page(&shop, &visitor, sale, StatusCode::UNPROCESSABLE_ENTITY, state).await;
        }
    };
    let (locale, secure) = (visitor.locale, shop.config.is_https());
    let place = DraftPlace { locale, sale, secure };
    let Some(session) = &visitor.session else {
        let login = login_path(locale, &questions_path(locale, sale));
        return Ok(([(SET_COOKIE, place.keep(&text))], see_other(&login)).into_response());
    };
    match shop.questions.ask(session.user_id, sale, locale, text).await {
        Ok((_, is_new)) => {
            let done = if is_new { "asked" } else { "known" };
            let own = format!("{}?done={done}", own_questions_path(locale));
            Ok(([(SET_COOKIE, place.forget())], see_other(&own)).into_response())
        }
        Err(refusal @ (AskRefusal::TooMany | AskRefusal::RateLimited)) => {
            let code = Problem::from(refusal).code();
            let state = FormState { typed: form.text, refused: Some(code.as_str()), ..FormState::default() };
            page(&shop, &visitor, sale, code.status(), state).await
        }
        Err(refusal) => Err(refusal.into()),
    }
}

#[derive(Deserialize)]
pub struct OwnQuestionsQuery {
    #[serde(default)]
    before: Cursor,
    /// What the page reports as done. Unknown values show nothing.
    #[serde(default)]
    done: String,
}

/// The questions of the account, newest first.
pub async fn own(
    (State(shop), SignedIn(session), visitor): UserVisit,
    Query(query): Query<OwnQuestionsQuery>,
) -> Result<Response, Problem> {
    let before = query.before.read("before")?;
    let found = shop.store.questions().questions_of(session.user_id, before, DEFAULT_PAGE_SIZE as i64 + 1).await?;
    let page = Page::cut(found, DEFAULT_PAGE_SIZE, |found| found.question.id);
    let mut questions = Vec::with_capacity(page.items.len());
    for FoundQuestion { question, goods_name, .. } in page.items {
        let entry = shop.catalogue.entry(question.sale_id).await?;
        let has_page = entry.is_some_and(|entry| entry.sale.state != SaleState::Draft);
        let goods_name = goods_name.get(visitor.locale).to_owned();
        questions.push(OwnQuestion { question, goods_name, has_page });
    }
    let t = &words::text(visitor.locale).questions;
    let notice = match query.done.as_str() {
        "asked" => Some(t.done_asked),
        "known" => Some(t.done_known),
        "withdrawn" => Some(t.done_withdrawn),
        _ => None,
    };
    let (chrome, is_later) = (visitor.chrome(), query.before.is_given());
    personal(StatusCode::OK, &OwnQuestionsPage { chrome, questions, older: page.next, is_later, notice })
}

pub async fn withdraw(
    (State(shop), SignedIn(session), visitor): UserVisit,
    PathIds(id): PathIds<QuestionId>,
) -> Result<Response, Problem> {
    let own = own_questions_path(visitor.locale);
    match shop.questions.withdraw(session.user_id, id).await {
        Ok(()) => Ok(see_other(&format!("{own}?done=withdrawn"))),
        Err(refusal) => Err(Problem::from(refusal).back(own)),
    }
}
