//! The pages for a lost password: asking for a link, and setting a new password by it.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header::SET_COOKIE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{AppendHeaders, IntoResponse, Response};
use serde::Deserialize;

use crate::recovery::link::LinkToken;
use crate::recovery::view::{NewPasswordPage, RecoveryRequestPage};
use crate::sign_in::page::beside;
use accounts::AccountRefusal;
use web::Shop;
use web::extract::client::ClientDevice;
use web::extract::visitor::Visitor;
use web::extract::{Form, Secret};
use web::problem::Problem;
use web::shared::FieldError;
use web::shared::paths::recovery_path;
use web::shared::response::personal;

pub async fn show(State(shop): State<Arc<Shop>>, visitor: Visitor) -> Result<Response, Problem> {
    request_page(&shop, &visitor, StatusCode::OK, false, None)
}

#[derive(Deserialize)]
pub struct RecoveryForm {
    #[serde(default)]
    account: String,
}

/// The answer is the same for every name and address.
pub async fn request(
    State(shop): State<Arc<Shop>>,
    ClientDevice(device): ClientDevice,
    visitor: Visitor,
    Form(form): Form<RecoveryForm>,
) -> Result<Response, Problem> {
    match shop.accounts.request_recovery(&device, &form.account, visitor.locale).await {
        Ok(()) => request_page(&shop, &visitor, StatusCode::OK, true, None),
        Err(refusal @ AccountRefusal::Throttled(_)) => {
            let code = Problem::from(refusal).code();
            request_page(&shop, &visitor, code.status(), false, Some(code.as_str()))
        }
        Err(refusal) => Err(refusal.into()),
    }
}

fn request_page(
    shop: &Shop,
    visitor: &Visitor,
    status: StatusCode,
    is_sent: bool,
    error: Option<&'static str>,
) -> Result<Response, Problem> {
    let chrome = visitor.chrome_at(recovery_path(visitor.locale));
    personal(status, &RecoveryRequestPage { chrome, is_sent, error, beside: beside(shop, visitor.locale, "") })
}

/// The form behind the link of a message. Showing it changes nothing.
pub async fn new_password(
    State(shop): State<Arc<Shop>>,
    visitor: Visitor,
    LinkToken(token): LinkToken,
) -> Result<Response, Problem> {
    form(&shop, &visitor, token, StatusCode::OK, Vec::new()).await
}

async fn form(
    shop: &Shop,
    visitor: &Visitor,
    token: String,
    status: StatusCode,
    errors: Vec<FieldError>,
) -> Result<Response, Problem> {
    let user = shop.accounts.user_of_recovery(&token).await.map_err(|refusal| unusable(visitor, refusal))?;
    let page = NewPasswordPage {
        chrome: visitor.chrome_at(format!("{}/password", recovery_path(visitor.locale))),
        token,
        needs_code: user.second_factor.is_some(),
        username: user.username,
        is_done: false,
        errors,
        beside: beside(shop, visitor.locale, ""),
    };
    personal(status, &page)
}

/// A link that is not valid leads back to the form that sends another link.
fn unusable(visitor: &Visitor, refusal: AccountRefusal) -> Problem {
    Problem::from(refusal).back(recovery_path(visitor.locale))
}

#[derive(Deserialize)]
pub struct NewPasswordForm {
    #[serde(default)]
    token: String,
    new_password: Secret,
    #[serde(default)]
    code: String,
}

pub async fn set_password(
    State(shop): State<Arc<Shop>>,
    ClientDevice(device): ClientDevice,
    visitor: Visitor,
    Form(NewPasswordForm { token, new_password, code }): Form<NewPasswordForm>,
) -> Result<Response, Problem> {
    let error = match shop.accounts.recover(&device, &token, new_password.0, Some(&code)).await {
        Ok(known) => return done(&shop, &visitor, known),
        Err(AccountRefusal::WeakPassword) => FieldError::new("new_password", "weak_password"),
        Err(AccountRefusal::CodeNeeded(_) | AccountRefusal::BadCode) => FieldError::new("code", "bad_code"),
        Err(AccountRefusal::Throttled(_)) => FieldError::new("code", "wait"),
        Err(refusal) => return Err(unusable(&visitor, refusal)),
    };
    form(&shop, &visitor, token, StatusCode::UNPROCESSABLE_ENTITY, vec![error]).await
}

/// Opens no session: the shopper logs in with the new password, and the code.
fn done(shop: &Shop, visitor: &Visitor, known: HeaderValue) -> Result<Response, Problem> {
    let mut chrome = visitor.chrome_at(recovery_path(visitor.locale));
    chrome.username = None;
    let page = NewPasswordPage {
        chrome,
        token: String::new(),
        needs_code: false,
        username: String::new(),
        is_done: true,
        errors: Vec::new(),
        beside: beside(shop, visitor.locale, ""),
    };
    let cookies = AppendHeaders([(SET_COOKIE, shop.accounts.removal_cookie()), (SET_COOKIE, known)]);
    Ok((cookies, personal(StatusCode::OK, &page)?).into_response())
}
