//! Accounts of shoppers and staff.

use axum::Extension;
use axum::Json as Answer;
use axum::extract::State;
use axum::http::header::ETAG;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::users::search::{UserSearchQuery, find_users};
use crate::{StaffCall, StaffCallTo};
use accounts::staff_rules::{check_block_reason, staff_role};
use domain::Role;
use domain::UserId;
use store::{AccountChange, AccountEdit, StaffPolicy, User};
use web::cache_policy::Cache;
use web::extract::precondition::{entity_tag, expected_versions};
use web::extract::repeatable::Repeatable;
use web::extract::session::{ManageStaff, Permission, SupportShoppers, ViewConsole};
use web::extract::{Json, PathIds, Query};
use web::idempotency::NotKept;
use web::problem::{Code, Problem};
use web::shared::orders::OrderJson;
use web::shared::pagination::DEFAULT_PAGE_SIZE;
use web::shared::response::created;
use web::shared::sessions::SessionJson;

fn json_of(user: &User) -> Value {
    json!({
        "id": user.id, "username": user.username, "role": user.role.as_str(), "created_at": user.created_at,
        "logged_in_at": user.logged_in_at, "blocked_at": user.blocked_at, "blocked_reason": user.blocked_reason,
        "deleted_at": user.deleted_at, "second_factor": user.second_factor.is_some(),
        "must_change_password": user.must_change_password,
    })
}

fn private(body: Value) -> Response {
    (Cache::Private, Answer(body)).into_response()
}

/// An answer about something that has a version.
fn versioned(version: i64, body: Value) -> Response {
    ([(ETAG, entity_tag(version))], private(body)).into_response()
}

pub async fn users(
    (State(shop), _): StaffCall<ViewConsole>,
    Query(query): Query<UserSearchQuery>,
) -> Result<Response, Problem> {
    let found = find_users(&shop.store, &query).await?;
    let users: Vec<Value> = found.items.iter().map(json_of).collect();
    Ok(private(json!({"users": users, "next": found.next})))
}

pub async fn user((State(shop), _, PathIds(id)): StaffCallTo<ViewConsole, UserId>) -> Result<Response, Problem> {
    let user = shop.store.accounts().user(id).await?.ok_or(Code::NotFound)?;
    let sessions = shop.store.sessions().sessions_of(id, shop.clock.now()).await?;
    let sessions: Vec<SessionJson> = sessions.into_iter().map(|row| SessionJson::of(row, None)).collect();
    let orders = shop.orders.list(id, &[], None, DEFAULT_PAGE_SIZE).await?;
    let orders: Vec<OrderJson> = orders.items.into_iter().map(|order| OrderJson::of(order, None)).collect();
    Ok(versioned(user.version, json!({"user": json_of(&user), "sessions": sessions, "orders": orders})))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BlockRequest {
    reason: String,
}

pub async fn block(
    call: StaffCallTo<SupportShoppers, UserId>,
    Json(BlockRequest { reason }): Json<BlockRequest>,
) -> Result<Response, Problem> {
    let reason = check_block_reason(&reason).map_err(|code| Problem::invalid_field("reason", code))?;
    change(call, AccountChange::Block { reason }).await
}

pub async fn unblock(call: StaffCallTo<SupportShoppers, UserId>) -> Result<Response, Problem> {
    change(call, AccountChange::Unblock).await
}

pub async fn end_sessions(call: StaffCallTo<SupportShoppers, UserId>) -> Result<Response, Problem> {
    change(call, AccountChange::EndSessions).await
}

/// Sends the user a link that starts a recovery. The user finishes it.
pub async fn start_recovery(
    (State(shop), staff, PathIds(id)): StaffCallTo<SupportShoppers, UserId>,
) -> Result<StatusCode, Problem> {
    shop.accounts.start_recovery_for(&staff.session, id).await??;
    Ok(StatusCode::ACCEPTED)
}

async fn change<P: Permission>(call: StaffCallTo<P, UserId>, change: AccountChange) -> Result<Response, Problem> {
    change_version(call, None, change).await
}

/// Changes an account if it has one of these versions.
async fn change_version<P: Permission>(
    (State(shop), staff, PathIds(id)): StaffCallTo<P, UserId>,
    versions: Option<Vec<i64>>,
    change: AccountChange,
) -> Result<Response, Problem> {
    let user = shop.accounts.change_account(&staff.session, AccountEdit { id, versions }, &change).await?;
    Ok(versioned(user.version, json!({"user": json_of(&user)})))
}

pub async fn staff((State(shop), _): StaffCall<ManageStaff>) -> Result<Response, Problem> {
    let staff: Vec<Value> = shop.store.accounts().staff().await?.iter().map(json_of).collect();
    Ok(private(json!({"staff": staff})))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewStaffMember {
    username: String,
    role: String,
}

fn checked_role(name: &str) -> Result<Role, Problem> {
    staff_role(name).ok_or_else(|| Problem::invalid_field("role", "bad_role"))
}

/// Creates an account. The answer carries its one-time password, so it is not stored: a replay makes the same one
/// again.
pub async fn add_staff(
    (State(shop), by): StaffCall<ManageStaff>,
    Repeatable(request): Repeatable,
    Json(new): Json<NewStaffMember>,
) -> Result<Response, Problem> {
    let role = checked_role(&new.role)?;
    let (user, password) = shop.accounts.add_staff(&by.session, &new.username, role, request).await??;
    let body = json!({"user": json_of(&user), "password": password});
    Ok((Extension(NotKept), created(format!("/api/admin/users/{}", user.id), body)).into_response())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoleRequest {
    role: String,
}

/// Sets the role. With `If-Match`, only if the account has a version that it names.
pub async fn set_role(
    call: StaffCallTo<ManageStaff, UserId>,
    headers: HeaderMap,
    Json(new): Json<RoleRequest>,
) -> Result<Response, Problem> {
    change_version(call, expected_versions(&headers), AccountChange::SetRole(checked_role(&new.role)?)).await
}

/// Takes the role of a member of the staff away. With `If-Match`, only if the account has a version that it names.
pub async fn dismiss(call: StaffCallTo<ManageStaff, UserId>, headers: HeaderMap) -> Result<Response, Problem> {
    change_version(call, expected_versions(&headers), AccountChange::SetRole(Role::User)).await
}

fn policy_answer(policy: StaffPolicy) -> Response {
    versioned(policy.version, json!({"second_factor_required": policy.second_factor_required}))
}

pub async fn policy((State(shop), _): StaffCall<ManageStaff>) -> Result<Response, Problem> {
    Ok(policy_answer(shop.store.accounts().staff_policy().await?))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StaffPolicyBody {
    second_factor_required: bool,
}

/// Sets whether all staff need a second factor. With `If-Match`, only if the policy has a version that it names.
pub async fn set_policy(
    (State(shop), by): StaffCall<ManageStaff>,
    headers: HeaderMap,
    Json(policy): Json<StaffPolicyBody>,
) -> Result<Response, Problem> {
    let (versions, required) = (expected_versions(&headers), policy.second_factor_required);
    Ok(policy_answer(shop.accounts.require_second_factor(&by.session, versions.as_deref(), required).await?))
}

/// Gives a member of the staff a temporary password, which only this answer carries.
pub async fn reset_password(
    (State(shop), by, PathIds(id)): StaffCallTo<ManageStaff, UserId>,
) -> Result<Response, Problem> {
    let (user, password) = shop.accounts.reset_password(&by.session, id).await??;
    Ok(private(json!({"user": json_of(&user), "password": password})))
}

pub async fn reset_second_factor(call: StaffCallTo<ManageStaff, UserId>) -> Result<Response, Problem> {
    change(call, AccountChange::ResetSecondFactor).await
}
