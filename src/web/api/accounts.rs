//! Registering, signing in and out.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::SET_COOKIE;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};

use crate::accounts::Session;
use crate::domain::UserId;
use crate::error::Problem;
use crate::web::Shop;
use crate::web::cache::Cache;
use crate::web::client::Client;
use crate::web::input::{Json, Secret};
use crate::web::session::SignedIn;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Credentials {
    username: String,
    password: Secret,
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
    Json(credentials): Json<Credentials>,
) -> Result<Response, Problem> {
    let session = shop.accounts.register(&credentials.username, credentials.password.0).await?;
    Ok(signed_in(&shop, StatusCode::CREATED, &session))
}

pub async fn log_in(
    State(shop): State<Arc<Shop>>,
    client: Client,
    Json(credentials): Json<Credentials>,
) -> Result<Response, Problem> {
    let session = shop.accounts.log_in(client.0, &credentials.username, credentials.password.0).await?;
    Ok(signed_in(&shop, StatusCode::OK, &session))
}

pub async fn log_out(State(shop): State<Arc<Shop>>) -> Response {
    (StatusCode::NO_CONTENT, [(SET_COOKIE, shop.accounts.farewell())]).into_response()
}

pub async fn me(SignedIn(session): SignedIn) -> Response {
    (Cache::Private, who(&session)).into_response()
}
