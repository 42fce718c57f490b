//! The pages of a log-in without a password: asking for a code by mail, and entering it.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use crate::sign_in::page::{Beside, SignInQuery, beside, code_page, respond};
use accounts::AccountRefusal;
use domain::MailKind;
use pages::{Chrome, filters};
use web::Shop;
use web::extract::client::ClientDevice;
use web::extract::visitor::{Visitor, own_path};
use web::extract::{Form, Query};
use web::problem::Problem;
use web::shared::negotiation::personal;
use words::problem;

pub async fn show(
    State(shop): State<Arc<Shop>>,
    visitor: Visitor,
    Query(SignInQuery { next, .. }): Query<SignInQuery>,
) -> Result<Response, Problem> {
    page(&shop, &visitor, StatusCode::OK, MailedCodeForm { next, ..MailedCodeForm::default() }, false, None)
}

#[derive(Debug, Default, Deserialize)]
pub struct MailedCodeForm {
    #[serde(default)]
    account: String,
    #[serde(default)]
    code: String,
    #[serde(default)]
    next: String,
}

/// Sends a code. The answer is the same for every name and address.
pub async fn request(
    State(shop): State<Arc<Shop>>,
    ClientDevice(device): ClientDevice,
    visitor: Visitor,
    Form(form): Form<MailedCodeForm>,
) -> Result<Response, Problem> {
    match shop.accounts.request_access(&device, &form.account, MailKind::SignInCode, visitor.locale).await {
        Ok(()) => page(&shop, &visitor, StatusCode::OK, form, true, None),
        Err(refusal) => refused(&shop, &visitor, form, false, refusal),
    }
}

pub async fn log_in(
    State(shop): State<Arc<Shop>>,
    ClientDevice(device): ClientDevice,
    visitor: Visitor,
    Form(form): Form<MailedCodeForm>,
) -> Result<Response, Problem> {
    match shop.accounts.log_in_with_mailed_code(&device, &form.account, &form.code, None).await {
        Err(AccountRefusal::CodeNeeded(half)) => code_page(&shop, &visitor, StatusCode::OK, half, &form.next, None),
        Err(refusal @ (AccountRefusal::BadCode | AccountRefusal::Throttled(_) | AccountRefusal::NameThrottled(_))) => {
            refused(&shop, &visitor, form, true, refusal)
        }
        result => respond(&shop, &visitor, (form.account, form.next), result, None).await,
    }
}

fn refused(
    shop: &Shop,
    visitor: &Visitor,
    form: MailedCodeForm,
    is_sent: bool,
    refusal: AccountRefusal,
) -> Result<Response, Problem> {
    if let AccountRefusal::Store(error) = refusal {
        return Err(error.into());
    }
    let code = Problem::from(refusal).code();
    page(shop, visitor, code.status(), form, is_sent, Some(code.as_str()))
}

fn page(
    shop: &Shop,
    visitor: &Visitor,
    status: StatusCode,
    MailedCodeForm { account, next, .. }: MailedCodeForm,
    is_sent: bool,
    error: Option<&'static str>,
) -> Result<Response, Problem> {
    let next = own_path(&next).unwrap_or_default().to_owned();
    let chrome = visitor.chrome_at(format!("/{}/login/mail", visitor.locale));
    let beside = beside(shop, visitor.locale, &next);
    personal(status, &MailedCodePage { chrome, account, next, is_sent, error, beside })
}

/// The form for a name or an address, and then the one for the code.
#[derive(Debug, Template)]
#[template(path = "sign_in/mail_code.html")]
struct MailedCodePage {
    chrome: Chrome,
    /// The name or the address as entered.
    account: String,
    /// The path to go to afterwards, on this origin; empty for the list of sales.
    next: String,
    is_sent: bool,
    /// A problem code.
    error: Option<&'static str>,
    beside: Beside,
}

impl MailedCodePage {
    fn error_text(&self) -> Option<&'static str> {
        self.error.map(|code| problem(code).text(self.chrome.locale))
    }
}
