//! The layer around operations that do much harm in wrong hands: refunds, exports, changes of the staff. Staff enter their
//! password, and a code if they have a second factor, before the first of them and again after a while ([`Accounts::step_up`]).
//!
//! A program is answered 403 `step_up_needed`. The sender of a form gets a page that asks for the password and carries the
//! form's fields, so that nothing has to be entered twice: sent to the same address, it proves and carries out.
//!
//! [`Accounts::step_up`]: crate::accounts::Accounts::step_up

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequestParts, Request, State};
use axum::http::header::CONTENT_LENGTH;
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use url::form_urlencoded;

use super::Shop;
use super::extract::visitor::Visitor;
use super::extract::{MAX_BODY_BYTES, body};
use super::problem::{Code, Problem};
use super::shared::FieldError;
use super::shared::response::personal;
use super::views::StepUpPage;
use crate::accounts::{AccountRefusal, Device, Session};

/// Fields of the page's form. No other form has fields of these names.
const PASSWORD: &str = "step_up_password";
const CODE: &str = "step_up_code";
/// The language of a page, in the query of its address.
const LANGUAGE: &str = "lang";

/// The layer. Who is no staff passes: the handler refuses.
pub async fn required(State(shop): State<Arc<Shop>>, request: Request, next: Next) -> Result<Response, Problem> {
    let session = shop.accounts.session(request.headers()).filter(Session::is_staff);
    let Some(session) = session else { return Ok(next.run(request).await) };
    if shop.accounts.is_proved(&session).await? {
        return Ok(next.run(request).await);
    }
    if request.uri().path().starts_with("/api/") {
        return Err(Code::StepUpNeeded.into());
    }
    let (mut parts, content) = request.into_parts();
    let mut form = StepUpForm::read(&parts, body(&parts.headers, content, MAX_BODY_BYTES).await?);
    let Some(password) = form.password.take() else { return page(&shop, &session, &parts, form, None).await };
    let Ok(device) = Device::from_request_parts(&mut parts, &shop).await;
    match shop.accounts.step_up(&session, &device, password.into(), form.code.as_deref()).await {
        Ok(()) => Ok(next.run(form.into_request(parts)).await),
        Err(refusal) => page(&shop, &session, &parts, form, Some(field_of(refusal)?)).await,
    }
}

/// A form on its way to its handler.
struct StepUpForm {
    password: Option<String>,
    code: Option<String>,
    /// What the handler reads.
    fields: Vec<(String, String)>,
}

impl StepUpForm {
    /// The form in the body of a `POST`, or in the query of a `GET`.
    fn read(parts: &Parts, content: Bytes) -> StepUpForm {
        let text = match parts.method {
            Method::GET => parts.uri.query().unwrap_or_default().as_bytes(),
            _ => &content,
        };
        let mut form = StepUpForm { password: None, code: None, fields: Vec::new() };
        for (name, value) in form_urlencoded::parse(text).into_owned() {
            match name.as_str() {
                PASSWORD => form.password = Some(value),
                CODE => form.code = Some(value),
                LANGUAGE if parts.method == Method::GET => {}
                _ => form.fields.push((name, value)),
            }
        }
        form
    }

    /// The request without the password and the code.
    fn into_request(self, mut parts: Parts) -> Request {
        let text = form_urlencoded::Serializer::new(String::new()).extend_pairs(self.fields).finish();
        parts.headers.remove(CONTENT_LENGTH);
        Request::from_parts(parts, Body::from(text))
    }
}

async fn page(
    shop: &Shop,
    session: &Session,
    parts: &Parts,
    form: StepUpForm,
    error: Option<FieldError>,
) -> Result<Response, Problem> {
    let user = shop.store.user(session.user_id).await?.ok_or(Code::NotSignedIn)?;
    let visitor = Visitor::of(&parts.uri, &parts.headers, shop);
    let action = match parts.method {
        Method::GET => format!("{}?{LANGUAGE}={}", parts.uri.path(), visitor.locale),
        _ => visitor.path.clone(),
    };
    let page = StepUpPage {
        chrome: visitor.chrome_at(section_path(&visitor)),
        action,
        fields: form.fields,
        needs_code: user.second_factor.is_some(),
        takes_passkey: user.passkeys > 0 && shop.accounts.takes_passkeys(),
        errors: Vec::from_iter(error),
    };
    let status = if page.errors.is_empty() { StatusCode::FORBIDDEN } else { StatusCode::UNPROCESSABLE_ENTITY };
    personal(status, &page)
}

/// The page of the console that the form belongs to.
fn section_path(visitor: &Visitor) -> String {
    // Exports are of orders and of the books, which stand beside them.
    let section = if visitor.path.starts_with("/admin/staff") { "/admin/staff" } else { "/admin/orders" };
    format!("{section}?{LANGUAGE}={}", visitor.locale)
}

/// The field that a refusal is about.
fn field_of(refusal: AccountRefusal) -> Result<FieldError, Problem> {
    match refusal {
        AccountRefusal::WrongPassword => Ok(FieldError::new(PASSWORD, "wrong_password")),
        AccountRefusal::BadCode => Ok(FieldError::new(CODE, "bad_code")),
        AccountRefusal::PasskeyNeeded => Ok(FieldError::new(PASSWORD, "passkey_needed")),
        AccountRefusal::Throttled(_) => Ok(FieldError::new(PASSWORD, "wait")),
        refusal => Err(refusal.into()),
    }
}
