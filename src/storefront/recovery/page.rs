//! The page behind a link that sets a new password, and how such links are opened. `sign_in::by_mail` asks for them.

use std::sync::Arc;

use askama::Template;
use axum::extract::FromRequestParts;
use axum::http::header::{REFERRER_POLICY, SET_COOKIE};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{AppendHeaders, IntoResponse, Response};
use serde::Deserialize;

use crate::DeviceVisit;
use crate::sign_in::page::{Beside, beside};
use accounts::{AccountRefusal, min_password_chars};
use pages::{Chrome, filters};
use web::extract::session::cookie;
use web::extract::{ClientDevice, Form, Secret, State, Visitor, query_value};
use web::shared::paths::recovery_path;
use web::{Answer, FieldError, Problem, Shop, error_text, personal, see_other};

/// The form behind the link of a message. Showing it changes nothing.
pub async fn new_password(State(shop): State<Arc<Shop>>, visitor: Visitor, LinkToken(token): LinkToken) -> Answer {
    form(&shop, &visitor, token, StatusCode::OK, Vec::new()).await
}

async fn form(shop: &Shop, visitor: &Visitor, token: String, status: StatusCode, errors: Vec<FieldError>) -> Answer {
    let user = shop.accounts.user_of_recovery(&token).await.map_err(|refusal| unusable(visitor, refusal))?;
    let page = NewPasswordPage {
        chrome: visitor.chrome_at(format!("{}/password", recovery_path(visitor.locale))),
        token,
        needs_code: user.second_factor.is_some(),
        min_chars: min_password_chars(user.role),
        username: user.username,
        is_done: false,
        errors,
        beside: beside(shop, ""),
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
    (State(shop), ClientDevice(device), visitor): DeviceVisit,
    Form(NewPasswordForm { token, new_password, code }): Form<NewPasswordForm>,
) -> Answer {
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
fn done(shop: &Shop, visitor: &Visitor, known: HeaderValue) -> Answer {
    let mut chrome = visitor.chrome_at(recovery_path(visitor.locale));
    chrome.username = None;
    let page = NewPasswordPage {
        chrome,
        token: String::new(),
        needs_code: false,
        min_chars: 0,
        username: String::new(),
        is_done: true,
        errors: Vec::new(),
        beside: beside(shop, ""),
    };
    let cookies = AppendHeaders([(SET_COOKIE, shop.accounts.removal_cookie()), (SET_COOKIE, known)]);
    Ok((cookies, personal(StatusCode::OK, &page)?).into_response())
}

// Tokens of links in messages. The link has its token in the query. Its first request is answered with a redirect to the
// page without it, and the token goes there in a cookie: so the files of the page, the language switch, the log-in
// beside it and the logs of a proxy get no address with a token.

/// Longer than it takes to choose a password, in seconds. The token itself has a time of its own.
const LIFETIME_SECONDS: u32 = 30 * 60;

/// The token of the link that was opened last in this browser. Empty without one, which no link has.
pub struct LinkToken(pub String);

impl FromRequestParts<Arc<Shop>> for LinkToken {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, shop: &Arc<Shop>) -> Result<Self, Response> {
        let secure = shop.config.is_https();
        let Some(token) = parts.uri.query().and_then(|query| query_value(query, "token")) else {
            return Ok(LinkToken(cookie(&parts.headers, name(secure)).unwrap_or_default().to_owned()));
        };
        let kept = [(SET_COOKIE, keep(&token, secure)), (REFERRER_POLICY, HeaderValue::from_static("no-referrer"))];
        Err((kept, see_other(parts.uri.path())).into_response())
    }
}

fn name(secure: bool) -> &'static str {
    if secure { "__Host-seckill_link" } else { "seckill_link" }
}

fn keep(token: &str, secure: bool) -> HeaderValue {
    // Signed texts have these characters only.
    let is_plain = token.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    let (token, name) = (if is_plain { token } else { "" }, name(secure));
    let secure = if secure { "; Secure" } else { "" };
    let text = format!("{name}={token}; Path=/; HttpOnly; SameSite=Lax{secure}; Max-Age={LIFETIME_SECONDS}");
    HeaderValue::try_from(text).expect("letters, digits and signs are valid in headers")
}

/// The form for a new password, or the page after it was set.
#[derive(Debug, Template)]
#[template(path = "recovery/new_password.html")]
struct NewPasswordPage {
    chrome: Chrome,
    /// The token of the link. The form sends it back.
    token: String,
    username: String,
    /// The account has a second factor.
    needs_code: bool,
    /// The characters that the new password has at least.
    min_chars: usize,
    is_done: bool,
    errors: Vec<FieldError>,
    beside: Beside,
}

/// The button that verifies an address, or the page after it was pressed.
#[derive(Debug, Template)]
#[template(path = "recovery/verify_address.html")]
pub struct VerifyAddressPage {
    pub chrome: Chrome,
    /// The token of the link. The form sends it back.
    pub token: String,
    pub username: String,
    pub address: String,
    pub is_done: bool,
    pub beside: Beside,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookie_holds_a_token_and_nothing_else() {
        let text = |token| keep(token, true).to_str().unwrap().to_owned();
        assert_eq!(text("a.B-1_"), "__Host-seckill_link=a.B-1_; Path=/; HttpOnly; SameSite=Lax; Secure; Max-Age=1800");
        assert!(text("a; Domain=x").starts_with("__Host-seckill_link=; Path=/;"));
    }
}
