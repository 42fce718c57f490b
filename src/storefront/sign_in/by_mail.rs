//! Getting into an account by mail: the form that asks for a message, with the code of a log-in or with the link that sets a
//! new password, and the form for the code.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::{MethodRouter, get, post};
use serde::Deserialize;

use crate::DeviceVisit;
use crate::sign_in::page::{Beside, SignInQuery, beside, code_page, respond};
use accounts::AccountRefusal;
use domain::MailKind;
use pages::{Chrome, filters};
use web::extract::{ClientDevice, Form, Query, Visitor, own_path};
use web::shared::paths::recovery_path;
use web::{Answer, Problem, Shop, personal};
use words::problem;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ByMailForm {
    account: String,
    code: String,
    next: String,
}

/// The form that asks for a message of this kind.
pub fn form_for(kind: MailKind) -> MethodRouter<Arc<Shop>> {
    let show = async move |State(shop): State<Arc<Shop>>, visitor: Visitor, Query(query): Query<SignInQuery>| {
        page(&shop, &visitor, kind, ByMailForm { next: query.next, ..ByMailForm::default() }, false, None)
    };
    get(show).merge(post(async move |shop, device, visitor, form| request(kind, shop, device, visitor, form).await))
}

/// Sends the message. The answer is the same for every name and address.
async fn request(
    kind: MailKind,
    State(shop): State<Arc<Shop>>,
    ClientDevice(device): ClientDevice,
    visitor: Visitor,
    Form(form): Form<ByMailForm>,
) -> Answer {
    match shop.accounts.request_access(&device, &form.account, kind, visitor.locale).await {
        Ok(()) => page(&shop, &visitor, kind, form, true, None),
        Err(refusal) => page(&shop, &visitor, kind, form, false, Some(refusal)),
    }
}

pub async fn log_in((State(shop), ClientDevice(device), visitor): DeviceVisit, Form(form): Form<ByMailForm>) -> Answer {
    match shop.accounts.log_in_with_mailed_code(&device, &form.account, &form.code, None).await {
        Err(AccountRefusal::CodeNeeded(half)) => code_page(&shop, &visitor, StatusCode::OK, half, &form.next, None),
        Err(refusal @ (AccountRefusal::BadCode | AccountRefusal::Throttled(_) | AccountRefusal::NameThrottled(_))) => {
            page(&shop, &visitor, MailKind::SignInCode, form, true, Some(refusal))
        }
        result => respond(&shop, &visitor, (form.account, form.next), result, None).await,
    }
}

fn page(
    shop: &Shop,
    visitor: &Visitor,
    kind: MailKind,
    ByMailForm { account, next, .. }: ByMailForm,
    is_sent: bool,
    refusal: Option<AccountRefusal>,
) -> Answer {
    let error = match refusal {
        Some(AccountRefusal::Store(error)) => return Err(error.into()),
        refusal => refusal.map(|refusal| Problem::from(refusal).code()),
    };
    let next = own_path(&next).unwrap_or_default().to_owned();
    let is_recovery = kind == MailKind::Recovery;
    let path = if is_recovery { recovery_path(visitor.locale) } else { format!("/{}/login/mail", visitor.locale) };
    let beside = beside(shop, &next);
    let chrome = visitor.chrome_at(path);
    let status = error.map_or(StatusCode::OK, |code| code.status());
    let error = error.map(|code| code.as_str());
    personal(status, &ByMailPage { chrome, is_recovery, account, next, is_sent, error, beside })
}

/// The form for a name or an address, and then what follows: the form for the code, or that a link is on its way.
#[derive(Debug, Template)]
#[template(path = "sign_in/by_mail.html")]
struct ByMailPage {
    chrome: Chrome,
    is_recovery: bool,
    /// The name or the address as entered.
    account: String,
    /// The path to go to afterwards, on this origin; empty for the list of sales.
    next: String,
    is_sent: bool,
    /// A problem code.
    error: Option<&'static str>,
    beside: Beside,
}

impl ByMailPage {
    fn title(&self) -> &'static str {
        let t = &self.chrome.text().recovery;
        match (self.is_recovery, self.is_sent) {
            (false, _) => t.code_title,
            (true, false) => t.forgot_title,
            (true, true) => t.sent_title,
        }
    }

    fn lead(&self) -> &'static str {
        let t = &self.chrome.text().recovery;
        match (self.is_recovery, self.is_sent) {
            (false, false) => t.code_lead,
            (false, true) => t.code_sent,
            (true, false) => t.forgot_lead,
            (true, true) => t.sent_text,
        }
    }

    fn error_text(&self) -> Option<&'static str> {
        self.error.map(|code| problem(code).text(self.chrome.locale))
    }
}
