//! The account of the signed-in user: password, sessions, second factor, export, deletion.

use axum::Json as Answer;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::SET_COOKIE;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::json;
use uuid::Uuid;

use crate::UserCall;
use crate::account::changes::{delete_account, export_account};
use accounts::DeletionRequest;
use web::cache_policy::Cache;
use web::extract::client::ClientDevice;
use web::extract::session::SignedIn;
use web::extract::{Json, PathIds, Secret};
use web::problem::{Code, Problem};
use web::shared::sessions::SessionJson;

pub async fn show((State(shop), SignedIn(session)): UserCall) -> Result<Response, Problem> {
    let user = shop.store.accounts().user(session.user_id).await?.ok_or(Code::NotSignedIn)?;
    let mail = shop.store.accounts().mail_of(user.id).await?;
    let account = json!({
        "id": user.id, "username": user.username, "role": user.role.as_str(), "created_at": user.created_at,
        "second_factor": user.second_factor.is_some(), "must_change_password": user.must_change_password,
        "passkeys": user.passkeys,
        "mail": {
            "address": mail.as_ref().and_then(|mail| mail.address.as_deref()),
            "pending": mail.as_ref().and_then(|mail| mail.pending.as_deref()),
        },
        "recovery_codes_left": shop.store.credentials().recovery_codes_left(user.id).await?,
    });
    Ok((Cache::Private, Answer(json!({"account": account}))).into_response())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PasswordChangeBody {
    password: Secret,
    new_password: Secret,
}

/// Ends all other sessions. The response carries the cookie of a new session.
pub async fn change_password(
    (State(shop), SignedIn(session)): UserCall,
    ClientDevice(device): ClientDevice,
    Json(body): Json<PasswordChangeBody>,
) -> Result<Response, Problem> {
    let next = shop.accounts.change_password(&session, &device, body.password.0, body.new_password.0).await?;
    Ok((StatusCode::NO_CONTENT, [(SET_COOKIE, shop.accounts.cookie(&next))]).into_response())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepUpBody {
    password: Secret,
    /// The code of the second factor, if the account has one.
    code: Option<String>,
}

/// Checks the password again, before operations of the staff that ask for it.
pub async fn step_up(
    (State(shop), SignedIn(session)): UserCall,
    ClientDevice(device): ClientDevice,
    Json(body): Json<StepUpBody>,
) -> Result<StatusCode, Problem> {
    shop.accounts.step_up(&session, &device, body.password.0, body.code.as_deref()).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub async fn sessions((State(shop), SignedIn(session)): UserCall) -> Result<Response, Problem> {
    let rows = shop.accounts.sessions_of(&session).await?;
    let sessions: Vec<SessionJson> = rows.into_iter().map(|row| SessionJson::of(row, Some(session.id))).collect();
    Ok((Cache::Private, Answer(json!({"sessions": sessions}))).into_response())
}

pub async fn end_session(
    (State(shop), SignedIn(session)): UserCall,
    PathIds(id): PathIds<Uuid>,
) -> Result<StatusCode, Problem> {
    match shop.accounts.end_own(&session, id).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(Code::NotFound.into()),
    }
}

pub async fn end_all_sessions((State(shop), SignedIn(session)): UserCall) -> Result<Response, Problem> {
    shop.accounts.log_out_everywhere(&session).await?;
    Ok((StatusCode::NO_CONTENT, [(SET_COOKIE, shop.accounts.removal_cookie())]).into_response())
}

pub async fn enrol((State(shop), SignedIn(session)): UserCall) -> Result<Response, Problem> {
    let enrolment = shop.accounts.enrol(&session)?;
    let answer = json!({"secret": enrolment.secret, "url": enrolment.url, "enrolment": enrolment.signed});
    Ok((Cache::Private, Answer(answer)).into_response())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SecondFactorBody {
    enrolment: String,
    password: Secret,
    code: String,
    /// A code of the second factor that is replaced, or a recovery code.
    present_code: Option<String>,
}

pub async fn set_second_factor(
    (State(shop), SignedIn(session)): UserCall,
    ClientDevice(device): ClientDevice,
    Json(body): Json<SecondFactorBody>,
) -> Result<Response, Problem> {
    let SecondFactorBody { enrolment, password, code, present_code } = body;
    let present = present_code.as_deref();
    let codes = shop.accounts.set_second_factor(&session, &device, &enrolment, password.0, &code, present).await?;
    Ok((Cache::Private, Answer(json!({"recovery_codes": codes}))).into_response())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SecondFactorRemovalBody {
    password: Secret,
    code: String,
}

pub async fn remove_second_factor(
    (State(shop), SignedIn(session)): UserCall,
    ClientDevice(device): ClientDevice,
    Json(body): Json<SecondFactorRemovalBody>,
) -> Result<StatusCode, Problem> {
    shop.accounts.remove_second_factor(&session, &device, body.password.0, &body.code).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub async fn export((State(shop), SignedIn(session)): UserCall) -> Result<Response, Problem> {
    export_account(&shop, &session).await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccountDeletionBody {
    username: String,
    password: Secret,
    #[serde(default)]
    give_up_wallet: bool,
}

pub async fn delete(
    (State(shop), SignedIn(session)): UserCall,
    ClientDevice(device): ClientDevice,
    Json(body): Json<AccountDeletionBody>,
) -> Result<Response, Problem> {
    let AccountDeletionBody { username, password, give_up_wallet } = body;
    let request = DeletionRequest { username, password: password.0, give_up_wallet };
    delete_account(&shop, &session, &device, request).await?;
    Ok((StatusCode::NO_CONTENT, [(SET_COOKIE, shop.accounts.removal_cookie())]).into_response())
}
