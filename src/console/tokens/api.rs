//! Tokens of programs: who has which, a new one, and the end of one.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json as Answer};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{StaffCall, StaffCallTo};
use accounts::TokenDraft;
use domain::{ApiToken, Scope};
use store::NewTokenOutcome;
use web::cache_policy::Cache;
use web::extract::session::ManageStaff;
use web::extract::{Json, PathIds};
use web::idempotency::{NotKept, Repeatable};
use web::problem::{Code, Problem};

#[derive(Serialize, JsonSchema)]
struct TokenList {
    tokens: Vec<ApiToken>,
}

#[derive(Serialize, JsonSchema)]
struct OneToken {
    token: ApiToken,
}

/// A token with its text, which only this answer has.
#[derive(Serialize, JsonSchema)]
struct TokenWithSecret {
    token: ApiToken,
    secret: String,
}

pub async fn list((State(shop), _): StaffCall<ManageStaff>) -> Result<Response, Problem> {
    let tokens = shop.store.api_tokens().list().await?;
    Ok((Cache::Private, Answer(TokenList { tokens })).into_response())
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewToken {
    /// The audit log names it.
    #[schemars(length(min = 1, max = 40))]
    name: String,
    #[schemars(length(min = 1))]
    scopes: Vec<Scope>,
    /// Such as `10.0.0.0/8`; anywhere without any.
    #[serde(default)]
    #[schemars(length(max = 20))]
    networks: Vec<String>,
    /// Requests a second to one process; any number if it is left out.
    #[schemars(range(min = 1, max = 100_000))]
    rate: Option<u32>,
    expires_at: Option<Timestamp>,
}

pub async fn create(
    (State(shop), staff): StaffCall<ManageStaff>,
    Repeatable(request): Repeatable,
    Json(body): Json<NewToken>,
) -> Result<Response, Problem> {
    staff.in_person()?;
    let NewToken { name, scopes, networks, rate, expires_at } = body;
    let draft = TokenDraft { name, scopes, networks, rate, expires_at };
    let mistakes = draft.mistakes(shop.clock.now());
    if !mistakes.is_empty() {
        return Err(Problem::invalid(mistakes));
    }
    let (token, secret) =
        shop.accounts.create_token((staff.session.user_id, staff.actor()), draft, request).await?.map_err(refused)?;
    let answer = (StatusCode::CREATED, Cache::Private, Answer(TokenWithSecret { token, secret }));
    Ok((Extension(NotKept), answer).into_response())
}

/// The problem of a token that was not made.
pub(super) fn refused(outcome: NewTokenOutcome) -> Code {
    match outcome {
        NewTokenOutcome::TooMany => Code::TooManyTokens,
        _ => Code::TokenNameTaken,
    }
}

pub async fn revoke((State(shop), staff, PathIds(id)): StaffCallTo<ManageStaff, Uuid>) -> Result<Response, Problem> {
    staff.in_person()?;
    let token = shop.accounts.revoke_token(staff.actor(), id).await?.ok_or(Code::NotFound)?;
    Ok((Cache::Private, Answer(OneToken { token })).into_response())
}

web::operations! { "administrators"
    /// Tokens of programs (owners only)
    GET "/api/admin/tokens" listApiTokens = list;
        200 TokenList, "The newest first, with revoked ones.";
    /// Make a token for a program (owners only, in person)
    POST "/api/admin/tokens" createApiToken = create;
        201 TokenWithSecret, "With its text, which is returned only once. Under one key the same text is made again, \
            without `Idempotent-Replayed`.";
        refuses StepUpNeeded TokenNameTaken TooManyTokens;
    /// Revoke a token (owners only, in person)
    ///
    /// Safe to repeat. Every process refuses the token within a second.
    DELETE "/api/admin/tokens/{token}" revokeApiToken = revoke;
        200 OneToken;
}
