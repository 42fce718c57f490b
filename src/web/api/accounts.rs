//! Registering, signing in and out.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header::SET_COOKIE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};

use crate::accounts::{Device, Session};
use crate::domain::UserId;
use crate::web::Shop;
use crate::web::cache_policy::Cache;
use crate::web::extract::session::SignedIn;
use crate::web::extract::{Json, Secret};
use crate::web::problem::Problem;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Credentials {
    username: String,
    password: Secret,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CredentialsAndCode {
    username: String,
    password: Secret,
    /// Of the authenticator, or a recovery code.
    code: Option<String>,
}

#[derive(Serialize)]
struct Who<'a> {
    user: User<'a>,
}

#[derive(Serialize)]
struct User<'a> {
    id: UserId,
    username: &'a str,
    role: &'static str,
}

fn who(session: &Session) -> axum::Json<Who<'_>> {
    let Session { user_id, username, role, .. } = session;
    axum::Json(Who { user: User { id: *user_id, username, role: role.as_str() } })
}

fn signed_in(shop: &Shop, status: StatusCode, session: &Session) -> Response {
    (status, Cache::Private, [(SET_COOKIE, shop.accounts.cookie(session))], who(session)).into_response()
}

pub async fn register(
    State(shop): State<Arc<Shop>>,
    device: Device,
    Json(credentials): Json<Credentials>,
) -> Result<Response, Problem> {
    let session = shop.accounts.register(&device, &credentials.username, credentials.password.0).await?;
    Ok(signed_in(&shop, StatusCode::CREATED, &session))
}

pub async fn log_in(
    State(shop): State<Arc<Shop>>,
    device: Device,
    Json(credentials): Json<CredentialsAndCode>,
) -> Result<Response, Problem> {
    let CredentialsAndCode { username, password, code } = credentials;
    let session = shop.accounts.log_in(&device, &username, password.0, code.as_deref()).await?;
    Ok(signed_in(&shop, StatusCode::OK, &session))
}

pub async fn log_out(State(shop): State<Arc<Shop>>, headers: HeaderMap) -> Result<Response, Problem> {
    if let Some(session) = shop.accounts.session(&headers) {
        shop.accounts.log_out(&session).await?;
    }
    Ok((StatusCode::NO_CONTENT, [(SET_COOKIE, shop.accounts.farewell())]).into_response())
}

pub async fn me(SignedIn(session): SignedIn) -> Response {
    (Cache::Private, who(&session)).into_response()
}
