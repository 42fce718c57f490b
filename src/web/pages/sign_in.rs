//! The pages of login and registration.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::SET_COOKIE;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use crate::accounts::{AccountRefusal, Device, Session};
use crate::web::Shop;
use crate::web::extract::visitor::{Visitor, login_path, own_path};
use crate::web::extract::{Form, Query, Secret};
use crate::web::problem::Problem;
use crate::web::shared::response::{personal, see_other};
use crate::web::views::{CodePage, SignInPage};

#[derive(Deserialize)]
pub struct SignInQuery {
    #[serde(default)]
    next: String,
}

#[derive(Deserialize)]
pub struct SignInForm {
    username: String,
    password: Secret,
    #[serde(default)]
    next: String,
}

pub async fn login(visitor: Visitor, Query(query): Query<SignInQuery>) -> Result<Response, Problem> {
    blank(&visitor, false, &query.next)
}

pub async fn registration(visitor: Visitor, Query(query): Query<SignInQuery>) -> Result<Response, Problem> {
    blank(&visitor, true, &query.next)
}

/// The empty form. A visitor with a session is redirected to the destination at once.
fn blank(visitor: &Visitor, register: bool, next: &str) -> Result<Response, Problem> {
    if visitor.session.is_some() {
        return Ok(see_other(&destination(visitor, next)));
    }
    form(visitor, StatusCode::OK, register, String::new(), next, None)
}

fn form(
    visitor: &Visitor,
    status: StatusCode,
    register: bool,
    username: String,
    next: &str,
    error: Option<&'static str>,
) -> Result<Response, Problem> {
    let next = own_path(next).unwrap_or_default();
    // Without the rest of the query: the language switch links to this path.
    let login = login_path(visitor.locale, next);
    let path = if register { login.replacen("login", "register", 1) } else { login };
    let chrome = visitor.chrome_at(path);
    personal(status, &SignInPage { chrome, register, username, next: next.to_owned(), error })
}

pub async fn log_in(
    State(shop): State<Arc<Shop>>,
    device: Device,
    visitor: Visitor,
    Form(form): Form<SignInForm>,
) -> Result<Response, Problem> {
    let result = shop.accounts.log_in(&device, &form.username, form.password.0, None).await;
    if let Err(AccountRefusal::CodeNeeded(half)) = result {
        return code_page(&visitor, StatusCode::OK, half, &form.next, None);
    }
    respond(&shop, &visitor, false, (form.username, form.next), result).await
}

pub async fn register(
    State(shop): State<Arc<Shop>>,
    device: Device,
    visitor: Visitor,
    Form(form): Form<SignInForm>,
) -> Result<Response, Problem> {
    let result = shop.accounts.register(&device, &form.username, form.password.0).await;
    respond(&shop, &visitor, true, (form.username, form.next), result).await
}

#[derive(Deserialize)]
pub struct CodeForm {
    #[serde(default)]
    half: String,
    #[serde(default)]
    code: String,
    #[serde(default)]
    next: String,
}

/// The second step: the code of an account with a second factor.
pub async fn log_in_with_code(
    State(shop): State<Arc<Shop>>,
    device: Device,
    visitor: Visitor,
    Form(form): Form<CodeForm>,
) -> Result<Response, Problem> {
    let result = shop.accounts.log_in_with_code(&device, &form.half, &form.code).await;
    match result {
        Err(refusal @ (AccountRefusal::BadCode | AccountRefusal::Throttled(_))) => {
            let problem = Problem::from(refusal);
            code_page(&visitor, problem.code().status(), form.half, &form.next, Some(problem.code().as_str()))
        }
        result => respond(&shop, &visitor, false, (String::new(), form.next), result).await,
    }
}

fn code_page(
    visitor: &Visitor,
    status: StatusCode,
    half: String,
    next: &str,
    error: Option<&'static str>,
) -> Result<Response, Problem> {
    let next = own_path(next).unwrap_or_default();
    let chrome = visitor.chrome_at(login_path(visitor.locale, next));
    personal(status, &CodePage { chrome, proof: half, next: next.to_owned(), error })
}

/// The cookie and the redirect to the destination, or the form with the refusal.
async fn respond(
    shop: &Shop,
    visitor: &Visitor,
    register: bool,
    (username, next): (String, String),
    result: Result<Session, AccountRefusal>,
) -> Result<Response, Problem> {
    let refusal = match result {
        Ok(session) => {
            shop.accounts.end_replaced(visitor.session.as_ref()).await;
            let cookie = [(SET_COOKIE, shop.accounts.cookie(&session))];
            return Ok((cookie, see_other(&destination(visitor, &next))).into_response());
        }
        Err(AccountRefusal::Store(error)) => return Err(error.into()),
        Err(refusal) => Problem::from(refusal),
    };
    form(visitor, refusal.code().status(), register, username, &next, Some(refusal.code().as_str()))
}

fn destination(visitor: &Visitor, next: &str) -> String {
    own_path(next).map_or_else(|| format!("/{}/", visitor.locale), str::to_owned)
}

pub async fn log_out(State(shop): State<Arc<Shop>>, visitor: Visitor) -> Result<Response, Problem> {
    if let Some(session) = &visitor.session {
        shop.accounts.log_out(session).await?;
    }
    Ok(([(SET_COOKIE, shop.accounts.removal_cookie())], see_other(&format!("/{}/", visitor.locale))).into_response())
}
