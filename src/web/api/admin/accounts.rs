//! Accounts of shoppers and staff, for those who look after them.

use std::sync::Arc;

use axum::Json as Answer;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::domain::UserId;
use crate::store::{PersonChange, Role, User};
use crate::web::Shop;
use crate::web::admin::staff::staff_role;
use crate::web::admin::users::{Search, checked_reason, page_of_users};
use crate::web::api::orders::OrderJson;
use crate::web::api::own_account::SessionJson;
use crate::web::cache_policy::Cache;
use crate::web::extract::session::{Duty, HelpShoppers, Look, Own, Staff};
use crate::web::extract::{Json, PathIds, Query};
use crate::web::pages::orders::page_of_orders;
use crate::web::problem::{Code, Problem};

fn json_of(user: &User) -> Value {
    json!({
        "id": user.id, "username": user.username, "role": user.role.as_str(), "created_at": user.created_at,
        "logged_in_at": user.logged_in_at, "blocked_at": user.blocked_at, "blocked_reason": user.blocked_reason,
        "deleted_at": user.deleted_at, "second_factor": user.second_factor.is_some(),
        "must_change_password": user.must_change_password,
    })
}

fn private(status: StatusCode, body: Value) -> Response {
    (status, Cache::Private, Answer(body)).into_response()
}

pub async fn users(
    State(shop): State<Arc<Shop>>,
    _: Staff<Look>,
    Query(search): Query<Search>,
) -> Result<Response, Problem> {
    let (users, next) = page_of_users(&shop, &search).await?;
    let users: Vec<Value> = users.iter().map(json_of).collect();
    Ok(private(StatusCode::OK, json!({"users": users, "next": next})))
}

pub async fn user(
    State(shop): State<Arc<Shop>>,
    _: Staff<Look>,
    PathIds(id): PathIds<UserId>,
) -> Result<Response, Problem> {
    let user = shop.store.user(id).await?.ok_or(Code::NotFound)?;
    let sessions = shop.store.sessions_of(id, shop.clock.now()).await?;
    let sessions: Vec<SessionJson> = sessions.into_iter().map(|row| SessionJson::of(row, None)).collect();
    let (orders, _) = page_of_orders(&shop, id, &[], None).await?;
    let orders: Vec<OrderJson> = orders.into_iter().map(|order| OrderJson::of(order, None)).collect();
    Ok(private(StatusCode::OK, json!({"user": json_of(&user), "sessions": sessions, "orders": orders})))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reason {
    reason: String,
}

type Help = (State<Arc<Shop>>, Staff<HelpShoppers>, PathIds<UserId>);

pub async fn block(
    (State(shop), staff, PathIds(id)): Help,
    Json(Reason { reason }): Json<Reason>,
) -> Result<Response, Problem> {
    let reason = checked_reason(&reason).map_err(|code| Problem::invalid_field("reason", code))?;
    change(&shop, &staff, id, PersonChange::Block { reason }).await
}

pub async fn unblock((State(shop), staff, PathIds(id)): Help) -> Result<Response, Problem> {
    change(&shop, &staff, id, PersonChange::Unblock).await
}

pub async fn end_sessions((State(shop), staff, PathIds(id)): Help) -> Result<Response, Problem> {
    change(&shop, &staff, id, PersonChange::EndSessions).await
}

async fn change<D: Duty>(shop: &Shop, staff: &Staff<D>, id: UserId, change: PersonChange) -> Result<Response, Problem> {
    let user = shop.accounts.change_person(&staff.session, id, &change).await?;
    Ok(private(StatusCode::OK, json!({"user": json_of(&user)})))
}

pub async fn staff(State(shop): State<Arc<Shop>>, _: Staff<Own>) -> Result<Response, Problem> {
    let staff: Vec<Value> = shop.store.staff().await?.iter().map(json_of).collect();
    Ok(private(StatusCode::OK, json!({"staff": staff})))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewStaff {
    username: String,
    role: String,
}

fn role(text: &str) -> Result<Role, Problem> {
    staff_role(text).ok_or_else(|| Problem::invalid_field("role", "bad_role"))
}

/// The answer carries the one-time password.
pub async fn add_staff(
    State(shop): State<Arc<Shop>>,
    by: Staff<Own>,
    Json(new): Json<NewStaff>,
) -> Result<Response, Problem> {
    let (user, password) = shop.accounts.add_staff(&by.session, &new.username, role(&new.role)?).await??;
    Ok(private(StatusCode::CREATED, json!({"user": json_of(&user), "password": password})))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewRole {
    role: String,
}

type Owner = (State<Arc<Shop>>, Staff<Own>, PathIds<UserId>);

pub async fn set_role((State(shop), by, PathIds(id)): Owner, Json(new): Json<NewRole>) -> Result<Response, Problem> {
    change(&shop, &by, id, PersonChange::SetRole(role(&new.role)?)).await
}

pub async fn dismiss((State(shop), by, PathIds(id)): Owner) -> Result<Response, Problem> {
    change(&shop, &by, id, PersonChange::SetRole(Role::User)).await
}

pub async fn reset_second_factor((State(shop), by, PathIds(id)): Owner) -> Result<Response, Problem> {
    change(&shop, &by, id, PersonChange::ResetSecondFactor).await
}
