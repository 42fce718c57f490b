//! Questions of shoppers about goods: for programs, and the console's pages.

use crate::prelude::*;
use domain::question::{MAX_ANSWER_CHARS, check_answer};
use domain::{Question, QuestionChange, QuestionId, QuestionStatus};
use store::{FoundQuestion, QuestionRefusal};
use web::extract::AnswerQuestions;
use web::questions::QuestionJson;

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

#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct QuestionsQuery {
    /// Empty for questions without an answer.
    #[schemars(extend("enum" = ["open", "answered", "hidden"]))]
    status: String,
    before: Cursor,
}

answers! {
    QuestionList { questions: Vec<ShopperQuestionJson>; next: QuestionId }
    #[schemars(rename = "OneShopperQuestion")]
    OneQuestion { question: ShopperQuestionJson }
}

/// Questions with one status. Questions without an answer come oldest first, the others newest first.
pub async fn list((State(shop), _): StaffCall<ViewConsole>, Query(query): Query<QuestionsQuery>) -> Answer {
    let status = match query.status.as_str() {
        "" => QuestionStatus::Open,
        status => status.parse().map_err(|()| FieldError::new("status", "bad_status"))?,
    };
    let cursor = query.before.read("before")?;
    let found = shop.store.questions().list(status, cursor, LARGE_PAGE_SIZE as i64 + 1).await?;
    let page = Page::cut(found, LARGE_PAGE_SIZE, |found| found.question.id);
    let questions = page.items.into_iter().map(ShopperQuestionJson::from).collect();
    Ok(private(QuestionList { questions, next: page.next }))
}

pub async fn show((State(shop), _, PathIds(id)): StaffCallTo<ViewConsole, QuestionId>) -> Answer {
    Ok(answer_with(shop.store.questions().get(id).await?.ok_or(Code::NotFound)?))
}

fn answer_with(found: FoundQuestion) -> Response {
    versioned(found.question.version, OneQuestion { question: found.into() })
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
pub async fn answer(call: Call, headers: HeaderMap, Json(body): Json<AnswerBody>) -> Answer {
    let text = check_answer(&body.answer).map_err(|code| Problem::invalid_field("answer", code))?;
    change(call, headers, QuestionChange::Answer(text)).await
}

handlers! {
    change(call: Call, headers: HeaderMap)
    hide QuestionChange::Hide;
    unhide QuestionChange::Unhide;
}

/// Changes a question. With `If-Match`, only if it has a version that it names.
async fn change((State(shop), staff, PathIds(id)): Call, headers: HeaderMap, change: QuestionChange) -> Answer {
    let versions = expected_versions(&headers);
    let question = shop.questions.change(id, versions.as_deref(), change, staff.actor()).await?;
    let found = shop.store.questions().get(id).await?.ok_or(Code::NotFound)?;
    Ok(answer_with(FoundQuestion { question, ..found }))
}

const PATH: &str = "/admin/questions";

inputs! {
    QuestionsPageQuery {
        /// Unknown values mean questions without an answer.
        status,
        /// The cursor where the page before ended, for either order.
        before: Cursor,
        /// The action that the page reports as done, and its question. Unknown values show nothing.
        done,
        question,
    }
    QuestionForm {
        /// The version of the question that the form was filled with.
        version,
        answer,
    }
}

pub async fn page(
    (State(shop), staff, visitor): StaffVisit<ViewConsole>,
    Query(query): Query<QuestionsPageQuery>,
) -> Answer {
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
async fn notice(shop: &Shop, visitor: &Visitor, query: &QuestionsPageQuery) -> Result<Option<QuestionNotice>, Problem> {
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
pub async fn show_page((State(shop), staff, visitor, PathIds(id)): StaffVisitTo<ViewConsole, QuestionId>) -> Answer {
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

async fn single(shop: &Shop, visitor: &Visitor, id: QuestionId, state: PageState) -> Answer {
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

type Visit = StaffVisitTo<AnswerQuestions, QuestionId>;

pub async fn answer_by_form(visit: Visit, Form(form): Form<QuestionForm>) -> Answer {
    match check_answer(&form.answer) {
        Ok(text) => change_by_form(visit, Form(form), ("answer", QuestionChange::Answer(text))).await,
        Err(code) => {
            let (State(shop), _, visitor, PathIds(id)) = visit;
            let errors = vec![FieldError::new("answer", code)];
            let form = Some(AnswerFormState { text: form.answer, errors });
            let status = StatusCode::UNPROCESSABLE_ENTITY;
            single(&shop, &visitor, id, PageState { status, may_act: true, warning: None, form }).await
        }
    }
}

handlers! {
    change_by_form(visit: Visit, form: Form<QuestionForm>)
    hide_by_form ("hide", QuestionChange::Hide);
    unhide_by_form ("unhide", QuestionChange::Unhide);
}

async fn change_by_form(
    (State(shop), staff, visitor, PathIds(id)): Visit,
    Form(form): Form<QuestionForm>,
    (name, change): (&'static str, QuestionChange),
) -> Answer {
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
    /// Names the question, which can be shown again.
    Hidden(Box<Question>),
    Warning(&'static str),
}

/// Questions of one status, or a single one, with the forms that answer and hide them.
#[derive(Debug, Template)]
#[template(path = "questions/console_questions.html")]
struct AdminQuestionsPage {
    chrome: Chrome,
    /// `None` on the page of a single question.
    status: Option<QuestionStatus>,
    questions: Vec<FoundQuestion>,
    /// A cursor for `before`; `None` on the last page.
    next: Option<QuestionId>,
    is_later: bool,
    may_act: bool,
    notice: Option<QuestionNotice>,
    /// The form of the single question, after it could not be carried out.
    form: Option<AnswerFormState>,
}

impl AdminQuestionsPage {
    /// The lists by status: path, name, and whether it is the one shown.
    fn tabs(&self) -> [(String, &'static str, bool); 3] {
        let t = &self.chrome.text().questions;
        QuestionStatus::ALL.map(|status| (self.path_of(status), t.status(status), self.status == Some(status)))
    }

    fn path_of(&self, status: QuestionStatus) -> String {
        format!("/admin/questions?lang={}&status={status}", self.chrome.locale)
    }

    /// The first page of this list.
    fn first_page(&self) -> String {
        self.path_of(self.status.unwrap_or(QuestionStatus::Open))
    }

    fn next_page(&self, cursor: &QuestionId) -> String {
        format!("{}&before={cursor}", self.first_page())
    }

    /// The words of the links to the first and to the next page. Questions without an answer are listed oldest first.
    fn page_links(&self) -> (&'static str, &'static str) {
        let t = &self.chrome.text().questions;
        if self.status == Some(QuestionStatus::Open) { (t.longest, t.later) } else { (t.newest, t.older) }
    }

    fn empty(&self) -> &'static str {
        let t = &self.chrome.text().questions;
        match self.status {
            Some(QuestionStatus::Answered) => t.empty_answered,
            Some(QuestionStatus::Hidden) => t.empty_hidden,
            Some(QuestionStatus::Open) | None => t.empty_open,
        }
    }

    fn language(&self, question: &Question) -> &'static str {
        let t = &self.chrome.text().questions;
        match question.locale {
            Locale::Zh => t.in_zh,
            Locale::En => t.in_en,
        }
    }

    fn status_of(&self, question: &Question) -> &'static str {
        self.chrome.text().questions.status(question.status)
    }

    /// The text that the form of a question is filled with.
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
