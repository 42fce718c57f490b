//! Questions about the goods of a sale: the answered ones, the questions of an account, and the form that asks one.

use std::sync::Arc;

use askama::Template;
use axum::http::header::SET_COOKIE;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::IntoResponse;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::eligibility::public_sale;
use crate::{SaleCall, UserCall, UserVisit};
use domain::question::{MAX_QUESTION_CHARS, MIN_QUESTION_CHARS, check_question};
use domain::{Locale, Page, Question, QuestionId, QuestionStatus, SaleId, SaleState, ShownAnswer};
use engine::catalogue::CatalogueEntry;
use pages::{Chrome, filters};
use store::FoundQuestion;
use web::extract::session::cookie;
use web::extract::{Form, Json, PathIds, Query, SalePath, SignedIn, State, Visitor, login_path};
use web::questions::{AskRefusal, QuestionJson};
use web::shared::pagination::BeforeQuery;
use web::shared::paths::{own_questions_path, questions_path};
use web::{Answer, Cache, Code, Cursor, DEFAULT_PAGE_SIZE, Problem, Shop, no_content, personal, private, see_other};
use words::{field_error, problem};

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
pub async fn shown(State(shop): State<Arc<Shop>>, SalePath(sale): SalePath) -> Answer {
    let (entry, answers) = (public_sale(&shop, sale).await?, shop.catalogue.answers());
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
pub async fn ask((State(shop), SignedIn(session), SalePath(sale)): SaleCall, Json(body): Json<AskBody>) -> Answer {
    let text = check_question(&body.text).map_err(|code| Problem::invalid_field("text", code))?;
    let (question, is_new) = shop.questions.ask(session.user_id, sale, body.locale, text).await?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Cache::Private, Json(OneQuestion { question: question.into() })).into_response())
}

#[derive(Serialize, JsonSchema)]
struct OwnList {
    questions: Vec<QuestionJson>,
    /// For `?before=`; `null` on the last page.
    next: Option<QuestionId>,
}

/// The questions of the account, newest first.
pub async fn own((State(shop), SignedIn(session)): UserCall, Query(query): Query<BeforeQuery>) -> Answer {
    let before = query.before.read("before")?;
    let found = shop.store.questions().questions_of(session.user_id, before, DEFAULT_PAGE_SIZE as i64 + 1).await?;
    let page = Page::cut(found, DEFAULT_PAGE_SIZE, |found| found.question.id);
    let questions = page.items.into_iter().map(|found| found.question.into()).collect();
    Ok(private(OwnList { questions, next: page.next }))
}

/// Deletes a question that has no answer yet.
pub async fn withdraw((State(shop), SignedIn(session)): UserCall, PathIds(id): PathIds<QuestionId>) -> Answer {
    shop.questions.withdraw(session.user_id, id).await?;
    Ok(no_content())
}

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
) -> Answer {
    let kept = kept_question(&headers);
    let state = FormState { is_kept: kept.is_some(), typed: kept.unwrap_or_default(), ..FormState::default() };
    page(&shop, &visitor, sale, StatusCode::OK, state).await
}

/// What the form shows.
#[derive(Debug, Default)]
struct FormState {
    typed: String,
    /// Whether the text was typed before the log-in.
    is_kept: bool,
    /// The code that says what is wrong with the text.
    wrong: Option<&'static str>,
    /// The code that says why the question is not asked now.
    refused: Option<&'static str>,
}

async fn page(shop: &Shop, visitor: &Visitor, sale: SaleId, status: StatusCode, form: FormState) -> Answer {
    let known = public_sale(shop, sale).await?;
    if known.sale.shadow {
        return Err(Code::NoSuchSale.into());
    }
    let chrome = visitor.chrome_at(questions_path(visitor.locale, sale));
    personal(status, &AskPage { chrome, known, form })
}

/// Asks a question. A visitor goes to the log-in first, and then back to the form with the same text.
pub async fn ask_by_form(
    State(shop): State<Arc<Shop>>,
    visitor: Visitor,
    PathIds(sale): PathIds<SaleId>,
    Form(form): Form<QuestionForm>,
) -> Answer {
    let text = match check_question(&form.text) {
        Ok(text) => text,
        Err(wrong) => {
            let state = FormState { typed: form.text, wrong: Some(wrong), ..FormState::default() };
            return page(&shop, &visitor, sale, StatusCode::UNPROCESSABLE_ENTITY, state).await;
        }
    };
    let locale = visitor.locale;
    let draft = |text: &str| [(SET_COOKIE, draft_cookie(&questions_path(locale, sale), shop.config.is_https(), text))];
    let Some(session) = &visitor.session else {
        let login = login_path(locale, &questions_path(locale, sale));
        return Ok((draft(&text), see_other(&login)).into_response());
    };
    match shop.questions.ask(session.user_id, sale, locale, text).await {
        Ok((_, is_new)) => {
            let done = if is_new { "asked" } else { "known" };
            let own = format!("{}?done={done}", own_questions_path(locale));
            Ok((draft(""), see_other(&own)).into_response())
        }
        Err(refusal @ (AskRefusal::TooMany | AskRefusal::RateLimited)) => {
            let code = Problem::from(refusal).code();
            let state = FormState { typed: form.text, refused: Some(code.as_str()), ..FormState::default() };
            page(&shop, &visitor, sale, code.status(), state).await
        }
        Err(refusal) => Err(refusal.into()),
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct OwnQuestionsQuery {
    before: Cursor,
    /// What the page reports as done. Unknown values show nothing.
    done: String,
}

/// The questions of the account, newest first.
pub async fn own_page(
    (State(shop), SignedIn(session), visitor): UserVisit,
    Query(query): Query<OwnQuestionsQuery>,
) -> Answer {
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

pub async fn withdraw_by_form(
    (State(shop), SignedIn(session), visitor): UserVisit,
    PathIds(id): PathIds<QuestionId>,
) -> Answer {
    let own = own_questions_path(visitor.locale);
    match shop.questions.withdraw(session.user_id, id).await {
        Ok(()) => Ok(see_other(&format!("{own}?done=withdrawn"))),
        Err(refusal) => Err(Problem::from(refusal).back(own)),
    }
}

/// The form that asks about the goods of a sale.
#[derive(Debug, Template)]
#[template(path = "questions/ask.html")]
struct AskPage {
    chrome: Chrome,
    known: Arc<CatalogueEntry>,
    form: FormState,
}

impl AskPage {
    /// What was entered, and what is wrong with it; empty if nothing is.
    fn entered(&self) -> (&str, &'static str) {
        let wrong = self.form.wrong.map(|code| field_error(self.chrome.locale, code));
        (&self.form.typed, wrong.unwrap_or_default())
    }

    fn refusal(&self) -> Option<&'static str> {
        self.form.refused.map(|code| problem(code).text(self.chrome.locale))
    }
}

/// A question as its owner sees it.
#[derive(Debug)]
pub struct OwnQuestion {
    pub question: Question,
    pub goods_name: String,
    /// Whether the sale on whose page it was asked still has a page.
    pub has_page: bool,
}

/// The questions of an account, newest first.
#[derive(Debug, Template)]
#[template(path = "questions/own_questions.html")]
struct OwnQuestionsPage {
    chrome: Chrome,
    questions: Vec<OwnQuestion>,
    /// A cursor for `before`; `None` on the last page.
    older: Option<QuestionId>,
    is_later: bool,
    notice: Option<&'static str>,
}

impl OwnQuestionsPage {
    fn status(&self, question: &Question) -> &'static str {
        let t = &self.chrome.text().questions;
        match question.status {
            QuestionStatus::Open => t.status_open,
            QuestionStatus::Answered => t.status_answered,
            QuestionStatus::Hidden => t.status_hidden,
        }
    }

    fn is_hidden(&self, question: &Question) -> bool {
        question.status == QuestionStatus::Hidden
    }
}

// The question that a visitor typed before logging in. A cookie in their browser holds it until they come back to the
// form.

const NAME: &str = "question";
/// Longer than a log-in or a registration takes, in seconds.
const LIFETIME_SECONDS: u32 = 30 * 60;

/// The `Set-Cookie` that stores a question, or deletes it if it is empty. The browser sends it to the form at `path` only.
/// `secure`: whether the shop is reached by https.
fn draft_cookie(path: &str, secure: bool, question: &str) -> HeaderValue {
    let (value, secure) = (URL_SAFE_NO_PAD.encode(question), if secure { "; Secure" } else { "" });
    let seconds = if question.is_empty() { 0 } else { LIFETIME_SECONDS };
    let text = format!("{NAME}={value}; Path={path}; HttpOnly; SameSite=Lax{secure}; Max-Age={seconds}");
    HeaderValue::try_from(text).expect("base64 and paths are valid in headers")
}

/// The question in a request's cookie; `None` if it could not be asked.
fn kept_question(headers: &HeaderMap) -> Option<String> {
    let bytes = URL_SAFE_NO_PAD.decode(cookie(headers, NAME)?).ok()?;
    check_question(std::str::from_utf8(&bytes).ok()?).ok()
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
    GET "/api/questions" listQuestions = own, limited, tag("accounts");
        200 OwnList;
    /// Withdraw a question that has no answer
    DELETE "/api/questions/{question}" withdrawQuestion = withdraw, tag("accounts");
        204 ();
        refuses AlreadyAnswered;
}

#[cfg(test)]
mod tests {
    use axum::http::header::COOKIE;

    use super::*;

    fn request_with(cookie: &str) -> HeaderMap {
        HeaderMap::from_iter([(COOKIE, cookie.parse().unwrap())])
    }

    #[test]
    fn kept_question_comes_back_and_is_sent_to_its_form_only() {
        let draft = |text| draft_cookie("/zh/sales/7/questions", true, text);
        let kept = draft("它防水吗；？; Path=/");
        let (value, attributes) = kept.to_str().unwrap().split_once("; ").unwrap();
        assert_eq!(attributes, "Path=/zh/sales/7/questions; HttpOnly; SameSite=Lax; Secure; Max-Age=1800");
        assert_eq!(kept_question(&request_with(&format!("a=b; {value}"))).as_deref(), Some("它防水吗；？; Path=/"));
        assert!(draft("").to_str().unwrap().starts_with("question=; Path=/zh/sales/7/questions"));
    }

    #[test]
    fn cookie_of_another_hand_is_no_question() {
        for value in ["question=", "question=%%%", "question=_w", "question=YQ", "other=SXMgaXQgd2V0Pw"] {
            assert_eq!(kept_question(&request_with(value)), None, "{value}");
        }
        let long = URL_SAFE_NO_PAD.encode("x".repeat(301));
        assert_eq!(kept_question(&request_with(&format!("question={long}"))), None);
    }
}

#[cfg(test)]
mod fuzz {
    use axum::http::header::COOKIE;

    use super::*;
    use testing::fuzz::texts;

    #[test]
    fn any_cookie_is_a_question_that_could_be_asked_or_none() {
        texts(&["question=SXMgaXQgd2V0Pw", "a=b; question=", "question=5a6D6Ziy5rC05ZCX77yf"], |text| {
            let Ok(line) = text.parse() else { return };
            if let Some(kept) = kept_question(&HeaderMap::from_iter([(COOKIE, line)])) {
                assert_eq!(check_question(&kept), Ok(kept));
            }
        });
    }
}
