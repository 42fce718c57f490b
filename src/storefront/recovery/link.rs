//! Tokens of links in messages. The link has its token in the query. Its first request is answered with a redirect to the
//! page without it, and the token goes there in a cookie: so the files of the page, the language switch, the log-in
//! beside it and the logs of a proxy get no address with a token.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::HeaderValue;
use axum::http::header::{REFERRER_POLICY, SET_COOKIE};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};

use web::Shop;
use web::extract::cookies::cookie;
use web::extract::visitor::query_value;
use web::shared::response::see_other;

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
