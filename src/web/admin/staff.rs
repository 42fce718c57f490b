//! The console's page about the staff, for owners.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use super::ConfirmForm;
use crate::accounts::AccountRefusal;
use crate::accounts::staff_rules::staff_role;
use crate::domain::{Locale, UserId};
use crate::store::{AccountChange, Role};
use crate::web::Shop;
use crate::web::extract::session::{ManageStaff, Staff};
use crate::web::extract::visitor::Visitor;
use crate::web::extract::{Form, PathIds, Query};
use crate::web::problem::{Code, Problem};
use crate::web::shared::FieldError;
use crate::web::shared::response::{personal, see_other};
use crate::web::views::StaffPage;

/// The action that the page reports as done.
#[derive(Deserialize)]
pub struct StaffNoticeQuery {
    #[serde(default)]
    done: String,
}

type OwnerRequest = (State<Arc<Shop>>, Staff<ManageStaff>, Visitor);

pub async fn list(
    (State(shop), _, visitor): OwnerRequest,
    Query(StaffNoticeQuery { done }): Query<StaffNoticeQuery>,
) -> Result<Response, Problem> {
    page(&shop, &visitor, StatusCode::OK, StaffPageState { done, ..StaffPageState::default() }).await
}

/// What the page shows besides the list of staff.
#[derive(Default)]
struct StaffPageState {
    /// The form with the errors: `appoint`, `create`, or none.
    form: &'static str,
    username: String,
    role: String,
    errors: Vec<FieldError>,
    problem: Option<&'static str>,
    done: String,
    /// Name and password of a new account, shown only in this answer.
    created: Option<(String, String)>,
}

async fn page(shop: &Shop, visitor: &Visitor, status: StatusCode, state: StaffPageState) -> Result<Response, Problem> {
    let staff = shop.store.staff().await?;
    let mut chrome = visitor.chrome();
    chrome.path = staff_path(visitor.locale);
    let StaffPageState { form, username, role, errors, problem, done, created } = state;
    personal(status, &StaffPage { chrome, staff, form, username, role, errors, problem, done, created })
}

fn staff_path(locale: Locale) -> String {
    format!("/admin/staff?lang={locale}")
}

/// The form that gives a role to an existing account, or that creates an account.
#[derive(Deserialize)]
pub struct StaffMemberForm {
    #[serde(default)]
    username: String,
    #[serde(default)]
    role: String,
    #[serde(default)]
    confirm: String,
}

impl StaffMemberForm {
    fn with_error(self, form: &'static str, field: &'static str, code: &'static str) -> StaffPageState {
        let errors = vec![FieldError { field, code }];
        StaffPageState { form, username: self.username, role: self.role, errors, ..StaffPageState::default() }
    }
}

pub async fn appoint(
    (State(shop), staff, visitor): OwnerRequest,
    Form(form): Form<StaffMemberForm>,
) -> Result<Response, Problem> {
    let unprocessable = StatusCode::UNPROCESSABLE_ENTITY;
    let user = shop.store.user_named(form.username.trim()).await?;
    let (Some(user), Some(role)) = (&user, staff_role(&form.role)) else {
        let (field, code) = if user.is_none() { ("username", "no_such_user") } else { ("role", "bad_role") };
        return page(&shop, &visitor, unprocessable, form.with_error("appoint", field, code)).await;
    };
    if form.confirm != "yes" {
        return page(&shop, &visitor, unprocessable, form.with_error("appoint", "confirm", "confirm")).await;
    }
    change(&shop, &staff, &visitor, user.id, AccountChange::SetRole(role), "appoint").await
}

/// Creates an account. The answer itself carries its one-time password, which is stored only as a hash.
pub async fn create(
    (State(shop), staff, visitor): OwnerRequest,
    Form(form): Form<StaffMemberForm>,
) -> Result<Response, Problem> {
    let unprocessable = StatusCode::UNPROCESSABLE_ENTITY;
    let Some(role) = staff_role(&form.role) else {
        return page(&shop, &visitor, unprocessable, form.with_error("create", "role", "bad_role")).await;
    };
    match shop.accounts.add_staff(&staff.session, form.username.trim(), role).await? {
        Ok((user, password)) => {
            let state = StaffPageState { created: Some((user.username, password)), ..StaffPageState::default() };
            page(&shop, &visitor, StatusCode::OK, state).await
        }
        Err(AccountRefusal::UsernameTaken) => {
            page(&shop, &visitor, StatusCode::CONFLICT, form.with_error("create", "username", "username_taken")).await
        }
        Err(AccountRefusal::BadUsername) => {
            page(&shop, &visitor, unprocessable, form.with_error("create", "username", "bad_username")).await
        }
        Err(refusal) => Err(refusal.into()),
    }
}

#[derive(Deserialize)]
pub struct RoleForm {
    #[serde(default)]
    role: String,
    #[serde(default)]
    confirm: String,
}

pub async fn set_role(
    (State(shop), staff, visitor): OwnerRequest,
    PathIds(id): PathIds<UserId>,
    Form(form): Form<RoleForm>,
) -> Result<Response, Problem> {
    let role = staff_role(&form.role).filter(|_| form.confirm == "yes");
    let Some(role) = role else { return unconfirmed(&shop, &visitor).await };
    change(&shop, &staff, &visitor, id, AccountChange::SetRole(role), "role").await
}

pub async fn dismiss(
    (State(shop), staff, visitor): OwnerRequest,
    PathIds(id): PathIds<UserId>,
    Form(form): Form<ConfirmForm>,
) -> Result<Response, Problem> {
    if !form.is_confirmed() {
        return unconfirmed(&shop, &visitor).await;
    }
    change(&shop, &staff, &visitor, id, AccountChange::SetRole(Role::User), "dismiss").await
}

pub async fn reset_second_factor(
    (State(shop), staff, visitor): OwnerRequest,
    PathIds(id): PathIds<UserId>,
    Form(form): Form<ConfirmForm>,
) -> Result<Response, Problem> {
    if !form.is_confirmed() {
        return unconfirmed(&shop, &visitor).await;
    }
    change(&shop, &staff, &visitor, id, AccountChange::ResetSecondFactor, "reset").await
}

async fn unconfirmed(shop: &Shop, visitor: &Visitor) -> Result<Response, Problem> {
    let state = StaffPageState { problem: Some("not_confirmed"), ..StaffPageState::default() };
    page(shop, visitor, StatusCode::UNPROCESSABLE_ENTITY, state).await
}

async fn change(
    shop: &Shop,
    staff: &Staff<ManageStaff>,
    visitor: &Visitor,
    id: UserId,
    change: AccountChange,
    done: &str,
) -> Result<Response, Problem> {
    let refusal = match shop.accounts.change_account(&staff.session, id, &change).await {
        Ok(_) => return Ok(see_other(&format!("{}&done={done}", staff_path(visitor.locale)))),
        Err(refusal) => Problem::from(refusal),
    };
    match refusal.code() {
        Code::LastOwner | Code::Yourself | Code::NotAllowed => {
            let state = StaffPageState { problem: Some(refusal.code().as_str()), ..StaffPageState::default() };
            page(shop, visitor, refusal.code().status(), state).await
        }
        _ => Err(refusal),
    }
}
