//! Requests of programs, which carry a token: `Authorization: Bearer sk_…`.
//!
//! [`authenticated`] wraps the handling of such a request. It takes away the cookies, so that nothing below reads a session
//! beside a token, and the two headers by which browsers say where a request comes from: no other site can make a browser
//! send this header. Then it checks the token and leaves the [`Program`] to the extractors: [`Caller`], and `Staff` for a
//! permission that the token has as a scope.

use std::marker::PhantomData;
use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{FromRequestParts, Request};
use axum::http::header::{AUTHORIZATION, COOKIE, HeaderName, ORIGIN};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::extract::client::client_address;
use crate::{Code, Problem, Shop};
use accounts::{Program, RateState, TokenRefusal};
use domain::api_token::{PREFIX, is_token};
use domain::{Scope, SecurityClass, UserId};

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const LIMIT: HeaderName = HeaderName::from_static("ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("ratelimit-reset");

/// The token of a request. Other kinds of authorization are for proxies in front of the shop.
fn token_of(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    (scheme.eq_ignore_ascii_case("bearer") && token.starts_with(PREFIX)).then_some(token)
}

/// Whether a program sends the request.
pub fn is_from_program(request: &Request) -> bool {
    request.headers().contains_key(AUTHORIZATION) && token_of(request.headers()).is_some()
}

/// Refuses a request with a token in its address: addresses stand in the logs of every server on the way.
pub fn check_address(request: &Request, shop: &Shop) -> Result<(), Problem> {
    let Some(query) = request.uri().query().filter(|query| query.contains("sk")) else { return Ok(()) };
    let mut pairs = url::form_urlencoded::parse(query.as_bytes());
    if !pairs.any(|(key, value)| is_token(&key) || is_token(&value)) {
        return Ok(());
    }
    let client = client_address(request.extensions(), request.headers(), shop);
    shop.security.record(SecurityClass::TokenRefused, None, Some(client), "token_in_address");
    let text = "Send the token in the header Authorization: Bearer. It stands in logs now: revoke it.";
    Err(Problem::new(Code::BadRequest).detail(text))
}

/// Handles the request of a program, and tells it what is left of its rate.
pub async fn authenticated(shop: &Shop, mut request: Request, next: Next) -> Response {
    for name in [COOKIE, ORIGIN, SEC_FETCH_SITE] {
        request.headers_mut().remove(name);
    }
    // Pages are for people.
    if !request.uri().path().starts_with("/api/") {
        return next.run(request).await;
    }
    let client = client_address(request.extensions(), request.headers(), shop);
    let token = token_of(request.headers()).unwrap_or_default().to_owned();
    let program = match program(shop, &token, client).await {
        Ok(program) => program,
        Err(problem) => return problem.into_response(),
    };
    let Some(rate) = program.charge() else {
        request.extensions_mut().insert(program);
        return next.run(request).await;
    };
    let mut response = match rate.is_allowed {
        true => {
            request.extensions_mut().insert(program);
            next.run(request).await
        }
        false => Problem::new(Code::RateLimited).retry_after(rate.reset).into_response(),
    };
    let RateState { limit, remaining, reset, .. } = rate;
    for (name, value) in [(LIMIT, limit), (REMAINING, remaining), (RESET, reset)] {
        response.headers_mut().insert(name, HeaderValue::from(value));
    }
    response
}

async fn program(shop: &Shop, token: &str, client: IpAddr) -> Result<Arc<Program>, Problem> {
    let refusal = match shop.accounts.program(token, client).await {
        Ok(program) => return Ok(program),
        Err(refusal) => refusal,
    };
    let (detail, problem) = match refusal {
        TokenRefusal::Unknown => {
            ("token_unknown", Problem::new(Code::BadApiToken).detail("The shop has no such token, or it was revoked."))
        }
        TokenRefusal::Expired => ("token_expired", Problem::new(Code::BadApiToken).detail("The token has expired.")),
        TokenRefusal::Orphaned => {
            let text = "The account that made the token is blocked, or no longer of the staff.";
            ("token_orphaned", Problem::new(Code::BadApiToken).detail(text))
        }
        TokenRefusal::ForeignNetwork => ("token_network", Code::ForeignNetwork.into()),
        TokenRefusal::Store(error) => return Err(error.into()),
    };
    shop.security.record(SecurityClass::TokenRefused, None, Some(client), detail);
    Err(problem)
}

/// The program that sent a request, if it did and its token was taken.
pub fn program_of(extensions: &axum::http::Extensions) -> Option<&Arc<Program>> {
    extensions.get::<Arc<Program>>()
}

/// Who sends a request, for what is counted or stored per caller: a program by its token, everyone else by the account.
pub fn caller_id(shop: &Shop, request: &Request) -> Option<UserId> {
    match program_of(request.extensions()) {
        Some(program) => Some(UserId(program.token().id)),
        None => shop.accounts.session(request.headers()).map(|session| session.user_id),
    }
}

/// Refuses a program whose token lacks a scope.
pub fn check_scope(program: &Program, scope: Scope) -> Result<(), Problem> {
    match program.has(scope) {
        true => Ok(()),
        false => Err(Problem::new(Code::ScopeMissing).detail(format!("The token lacks the scope {scope}."))),
    }
}

/// A scope that only programs have.
pub trait ProgramScope: Send + Sync + 'static {
    const SCOPE: Scope;
}

/// Reserve units for shoppers of another shop.
#[derive(Debug, Clone, Copy)]
pub struct Reserve;

/// Name shoppers of another shop.
#[derive(Debug, Clone, Copy)]
pub struct Shoppers;

impl ProgramScope for Reserve {
    const SCOPE: Scope = Scope::Reserve;
}

impl ProgramScope for Shoppers {
    const SCOPE: Scope = Scope::Shoppers;
}

/// The program that sent the request, with a token that has the scope. Without a token the answer is 401.
pub struct Caller<S: ProgramScope> {
    pub program: Arc<Program>,
    scope: PhantomData<S>,
}

impl<S: ProgramScope> FromRequestParts<Arc<Shop>> for Caller<S> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &Arc<Shop>) -> Result<Self, Problem> {
        let program = program_of(&parts.extensions).ok_or(Code::BadApiToken)?.clone();
        check_scope(&program, S::SCOPE)?;
        Ok(Caller { program, scope: PhantomData })
    }
}
