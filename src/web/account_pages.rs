//! Logging in and registering, without scripts.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::SET_COOKIE;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use super::Shop;
use super::client::Client;
use super::input::{Form, Query, Secret};
use super::pages::{personal, see_other};
use super::visitor::{Visitor, login_path, own_path};
use crate::accounts::{AccountRefusal, Session};
use crate::error::Problem;
use crate::pages::views::SignInPage;

#[derive(Deserialize)]
pub struct Next {
    #[serde(default)]
    next: String,
}

#[derive(Deserialize)]
pub struct Credentials {
    username: String,
    password: Secret,
    #[serde(default)]
    next: String,
}

pub async fn login(visitor: Visitor, Query(next): Query<Next>) -> Result<Response, Problem> {
    blank(&visitor, false, &next.next)
}

pub async fn registration(visitor: Visitor, Query(next): Query<Next>) -> Result<Response, Problem> {
    blank(&visitor, true, &next.next)
}

/// Whoever is signed in already goes where they wanted to.
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
    let mut chrome = visitor.chrome();
    // Without what else the address carried: the page leads to itself in the other language.
    chrome.path = login_path(visitor.locale, next);
    if register {
        chrome.path = chrome.path.replacen("login", "register", 1);
    }
    personal(status, &SignInPage { chrome, register, username, next: next.to_owned(), error })
}

pub async fn log_in(
    State(shop): State<Arc<Shop>>,
    client: Client,
    visitor: Visitor,
    Form(form): Form<Credentials>,
) -> Result<Response, Problem> {
    let tried = shop.accounts.log_in(client.0, &form.username, form.password.0).await;
    outcome(&shop, &visitor, false, (form.username, form.next), tried)
}

pub async fn register(
    State(shop): State<Arc<Shop>>,
    visitor: Visitor,
    Form(form): Form<Credentials>,
) -> Result<Response, Problem> {
    let tried = shop.accounts.register(&form.username, form.password.0).await;
    outcome(&shop, &visitor, true, (form.username, form.next), tried)
}

/// The cookie and the way on, or the form again with what was typed.
fn outcome(
    shop: &Shop,
    visitor: &Visitor,
    register: bool,
    (username, next): (String, String),
    tried: Result<Session, AccountRefusal>,
) -> Result<Response, Problem> {
    let refusal = match tried {
        Ok(session) => {
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

pub async fn log_out(State(shop): State<Arc<Shop>>, visitor: Visitor) -> Response {
    ([(SET_COOKIE, shop.accounts.farewell())], see_other(&format!("/{}/", visitor.locale))).into_response()
}
