//! Operations that need the password again, and a code if the account has a second factor. Operations of the staff that
//! do much harm in wrong hands, such as refunds, exports and changes of the staff, are behind [`required`]. Handlers
//! that spend from a wallet refuse by themselves ([`Accounts::check_spending`]).
//!
//! A program is answered 403 `step_up_needed`. The sender of a form gets a page that asks for the password and carries
//! the form's fields, so that nothing has to be entered twice ([`asked_of_forms`]). The page is sent to the form's
//! address, where the password is checked and the form carried out.
//!
//! [`Accounts::check_spending`]: accounts::Accounts::check_spending

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequestParts, Request, State};
use axum::http::header::CONTENT_LENGTH;
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use boxed::boxed;
use url::form_urlencoded;

use crate::extract::{ClientDevice, MAX_BODY_BYTES, Visitor, body};
use crate::problem::ProblemContext;
use crate::shared::paths::console_link;
use crate::views::{AdminStepUpPage, StepUpForm, StepUpPage};
use crate::{Answer, Code, FieldError, Problem, Shop, personal};
use accounts::{AccountRefusal, Session};

/// Fields of the page's form. No other form has fields with these names.
const PASSWORD: &str = "step_up_password";
const CODE: &str = "step_up_code";
/// The language of a page, in the query of its address.
const LANGUAGE: &str = "lang";

/// The layer around operations of the staff. A request without a staff session passes: the handler refuses it. So does the
/// request of a program: its token was made after the password, with the scope for this.
#[boxed]
pub async fn required(State(shop): State<Arc<Shop>>, request: Request, next: Next) -> Answer {
    match shop.accounts.session(request.headers()).filter(Session::is_staff) {
        Some(session) if !shop.accounts.is_proved(&session).await? => Err(Code::StepUpNeeded.into()),
        _ => Ok(next.run(request).await),
    }
}

/// The layer around forms that may be refused with `step_up_needed`.
#[boxed]
pub async fn asked_of_forms(State(shop): State<Arc<Shop>>, request: Request, next: Next) -> Answer {
    let path = request.uri().path();
    let (is_form, is_for_staff) = (!path.starts_with("/api/"), path.starts_with("/admin"));
    // Shoppers must not learn about the console, so if they send one of its forms, its handler answers.
    let asked = |session: &Session| is_form && (!is_for_staff || session.is_staff());
    let Some(session) = shop.accounts.session(request.headers()).filter(asked) else {
        return Ok(next.run(request).await);
    };
    let (mut parts, content) = request.into_parts();
    let mut content = body(&parts.headers, content, MAX_BODY_BYTES).await?;
    let mut form = StepUpFields::read(&parts, &content);
    if let Some(password) = form.password.take() {
        let Ok(ClientDevice(device)) = ClientDevice::from_request_parts(&mut parts, &shop).await;
        let proof = shop.accounts.step_up(&session, &device, password.into(), form.code.as_deref()).await;
        if let Err(refusal) = proof {
            return page(&shop, &session, &parts, form, Some(field_of(refusal)?)).await;
        }
        content = form.encoded();
        parts.headers.remove(CONTENT_LENGTH);
    }
    let answer = next.run(Request::from_parts(parts.clone(), Body::from(content))).await;
    match answer.extensions().get::<ProblemContext>() {
        Some(problem) if problem.code == Code::StepUpNeeded => page(&shop, &session, &parts, form, None).await,
        _ => Ok(answer),
    }
}

/// A form on its way to its handler.
struct StepUpFields {
    password: Option<String>,
    code: Option<String>,
    /// What the handler reads.
    fields: Vec<(String, String)>,
}

impl StepUpFields {
    /// The form in the body of a `POST`, or in the query of a `GET`.
    fn read(parts: &Parts, content: &[u8]) -> StepUpFields {
        let text = match parts.method {
            Method::GET => parts.uri.query().unwrap_or_default().as_bytes(),
            _ => content,
        };
        let mut form = StepUpFields { password: None, code: None, fields: Vec::new() };
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

    /// The form without the password and the code.
    fn encoded(&self) -> Bytes {
        form_urlencoded::Serializer::new(String::new()).extend_pairs(&self.fields).finish().into()
    }
}

async fn page(shop: &Shop, session: &Session, parts: &Parts, form: StepUpFields, error: Option<FieldError>) -> Answer {
    let user = shop.store.accounts().user(session.user_id).await?.ok_or(Code::NotSignedIn)?;
    let visitor = Visitor::of(&parts.uri, &parts.headers, shop);
    let action = match parts.method {
        Method::GET => format!("{}?{LANGUAGE}={}", parts.uri.path(), visitor.locale),
        _ => visitor.path.clone(),
    };
    let form = StepUpForm {
        chrome: visitor.chrome_at(section_path(&visitor)),
        action,
        fields: form.fields,
        needs_code: user.second_factor.is_some(),
        takes_passkey: user.passkeys > 0 && shop.accounts.passkeys().are_taken(),
        errors: Vec::from_iter(error),
    };
    let status = if form.errors.is_empty() { StatusCode::FORBIDDEN } else { StatusCode::UNPROCESSABLE_ENTITY };
    match is_of_console(&visitor) {
        true => personal(status, &AdminStepUpPage { chrome: form.chrome.clone(), form }),
        false => personal(status, &StepUpPage { chrome: form.chrome.clone(), form }),
    }
}

fn is_of_console(visitor: &Visitor) -> bool {
    visitor.path.starts_with("/admin")
}

/// The page that the form belongs to.
fn section_path(visitor: &Visitor) -> String {
    if !is_of_console(visitor) {
        // Forms of packets are sent to the list; forms of orders, to a path below the order's page.
        let path = visitor.path.split('?').next().unwrap_or_default();
        return match path.strip_suffix("/packets") {
            Some(_) => format!("{path}/new"),
            None => path.rsplit_once('/').map_or(path, |(order, _)| order).to_owned(),
        };
    }
    // Exports are of orders and of the books, whose page stands beside the orders.
    let pages = [
        ("/admin/staff", "/admin/users?show=staff"),
        ("/admin/tokens", "/admin/system?show=tokens"),
        ("/admin/packets", "/admin/packets"),
        ("/admin/webhooks", "/admin/system?show=webhooks"),
    ];
    let page =
        pages.into_iter().find(|(path, _)| visitor.path.starts_with(path)).map_or("/admin/orders", |(_, page)| page);
    console_link(page, visitor.locale)
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
