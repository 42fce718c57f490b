//! The console's page of questions about goods.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use crate::questions::view::{AdminQuestionsPage, AnswerFormState, QuestionNotice};
use crate::{StaffVisit, StaffVisitTo};
use domain::question::check_answer;
use domain::{Page, Question, QuestionChange, QuestionId, QuestionStatus};
use store::QuestionRefusal;
use web::Shop;
use web::extract::session::{AnswerQuestions, ViewConsole};
use web::extract::visitor::Visitor;
use web::extract::{Form, PathIds, Query};
use web::problem::{Code, Problem};
use web::shared::FieldError;
use web::shared::pagination::{Cursor, DEFAULT_PAGE_SIZE};
use web::shared::response::{personal, see_other};

const PATH: &str = "/admin/questions";

#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
pub struct QuestionsQuery {
    /// Unknown values mean questions without an answer.
    status: String,
    /// The cursor where the page before ended, for either order.
    before: Cursor,
    /// The action that the page reports as done, and its question. Unknown values show nothing.
    done: String,
    question: String,
}

pub async fn list(
    (State(shop), staff, visitor): StaffVisit<ViewConsole>,
    Query(query): Query<QuestionsQuery>,
) -> Result<Response, Problem> {
    let status = query.status.parse().unwrap_or(QuestionStatus::Open);
    let cursor = query.before.read("before")?;
    let found = shop.store.questions().list(status, cursor, DEFAULT_PAGE_SIZE as i64 + 1).await?;
    let found = Page::cut(found, DEFAULT_PAGE_SIZE, |found| found.question.id);
    let page = AdminQuestionsPage {
        chrome: visitor.chrome_at(format!("{PATH}?lang={}&status={status}", visitor.locale)),
        status: Some(status),
        questions: found.items,
        next: found.next,
        is_later: cursor.is_some(),
        may_act: staff.may::<AnswerQuestions>(),
        notice: notice(&shop, &visitor, &query).await?,
        form: None,
    };
    personal(StatusCode::OK, &page)
}

/// What the page reports as done. A question that was hidden can be shown again from there.
async fn notice(shop: &Shop, visitor: &Visitor, query: &QuestionsQuery) -> Result<Option<QuestionNotice>, Problem> {
    let t = &words::text(visitor.locale).questions;
    Ok(match query.done.as_str() {
        "answer" => Some(QuestionNotice::Done(t.done_answer)),
        "unhide" => Some(QuestionNotice::Done(t.done_unhide)),
        "hide" => {
            let Ok(id) = query.question.parse() else { return Ok(None) };
            let hidden = shop.store.questions().get(id).await?.map(|found| found.question);
            let hidden = hidden.filter(|question| question.status == QuestionStatus::Hidden);
            hidden.map(|question| QuestionNotice::Hidden(Box::new(question)))
        }
        _ => None,
    })
}

/// A single question, to which the audit log leads.
pub async fn show(
    (State(shop), staff, visitor, PathIds(id)): StaffVisitTo<ViewConsole, QuestionId>,
) -> Result<Response, Problem> {
    let may_act = staff.may::<AnswerQuestions>();
    single(&shop, &visitor, id, PageState { status: StatusCode::OK, may_act, warning: None, form: None }).await
}

/// What the page of a single question shows besides the question.
struct PageState {
    status: StatusCode,
    may_act: bool,
    warning: Option<&'static str>,
    form: Option<AnswerFormState>,
}

async fn single(shop: &Shop, visitor: &Visitor, id: QuestionId, state: PageState) -> Result<Response, Problem> {
    let found = shop.store.questions().get(id).await?.ok_or(Code::NotFound)?;
    let page = AdminQuestionsPage {
        chrome: visitor.chrome_at(format!("{PATH}/{id}?lang={}", visitor.locale)),
        status: None,
        questions: vec![found],
        next: None,
        is_later: false,
        may_act: state.may_act,
        notice: state.warning.map(QuestionNotice::Warning),
        form: state.form,
    };
    personal(state.status, &page)
}

#[derive(Deserialize)]
pub struct QuestionForm {
    /// The version of the question that the form was filled with.
    #[serde(default)]
    version: String,
    #[serde(default)]
    answer: String,
}

type Visit = StaffVisitTo<AnswerQuestions, QuestionId>;

pub async fn answer(visit: Visit, Form(form): Form<QuestionForm>) -> Result<Response, Problem> {
    match check_answer(&form.answer) {
        Ok(text) => change(visit, "answer", QuestionChange::Answer(text), form).await,
        Err(code) => {
            let (State(shop), _, visitor, PathIds(id)) = visit;
            let errors = vec![FieldError::new("answer", code)];
            let form = Some(AnswerFormState { text: form.answer, errors });
            let status = StatusCode::UNPROCESSABLE_ENTITY;
            single(&shop, &visitor, id, PageState { status, may_act: true, warning: None, form }).await
        }
    }
}

pub async fn hide(visit: Visit, Form(form): Form<QuestionForm>) -> Result<Response, Problem> {
    change(visit, "hide", QuestionChange::Hide, form).await
}

pub async fn unhide(visit: Visit, Form(form): Form<QuestionForm>) -> Result<Response, Problem> {
    change(visit, "unhide", QuestionChange::Unhide, form).await
}

async fn change(
    (State(shop), staff, visitor, PathIds(id)): Visit,
    name: &'static str,
    change: QuestionChange,
    form: QuestionForm,
) -> Result<Response, Problem> {
    let before = shop.store.questions().get(id).await?.ok_or(Code::NotFound)?.question;
    // A text that is not a version matches none.
    let versions: Vec<i64> = form.version.parse().into_iter().collect();
    let t = &words::text(visitor.locale).questions;
    let warning = match shop.questions.change(id, Some(&versions), change, staff.actor()).await {
        Ok(_) => return Ok(see_other(&list_after(&visitor, name, &before))),
        Err(QuestionRefusal::ChangedMeanwhile) => t.changed,
        Err(QuestionRefusal::Hidden) => t.is_hidden,
        Err(refusal) => return Err(refusal.into()),
    };
    let typed = Some(form.answer).filter(|text| !text.is_empty());
    let form = typed.map(|text| AnswerFormState { text, errors: Vec::new() });
    let state = PageState { status: StatusCode::CONFLICT, may_act: true, warning: Some(warning), form };
    single(&shop, &visitor, id, state).await
}

/// The list that contained the question before the action.
fn list_after(visitor: &Visitor, done: &str, before: &Question) -> String {
    let status = before.status;
    format!("{PATH}?lang={}&status={status}&done={done}&question={}", visitor.locale, before.id)
}
