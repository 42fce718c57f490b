//! The console's page about the staff, for owners.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use super::{ConfirmForm, StaffVisit};
use crate::accounts::AccountRefusal;
use crate::accounts::staff_rules::staff_role;
use crate::domain::{Locale, UserId};
use crate::store::{AccountChange, Role};
use crate::web::Shop;
use crate::web::extract::session::ManageStaff;
use crate::web::extract::visitor::Visitor;
use crate::web::extract::{Form, PathIds, Query};
use crate::web::problem::{Code, Problem};
use crate::web::shared::response::{personal, see_other};
use crate::web::shared::{FieldError, NoticeQuery};
use crate::web::views::StaffPage;

type OwnerRequest = StaffVisit<ManageStaff>;

pub async fn list(
    (State(shop), _, visitor): OwnerRequest,
    Query(NoticeQuery { done }): Query<NoticeQuery>,
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
    let chrome = visitor.chrome_at(staff_path(visitor.locale));
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
        let errors = vec![FieldError::new(field, code)];
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
    change((State(shop), staff, visitor), user.id, Some(AccountChange::SetRole(role)), "appoint").await
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
    visit: OwnerRequest,
    PathIds(id): PathIds<UserId>,
    Form(form): Form<RoleForm>,
) -> Result<Response, Problem> {
    let role = staff_role(&form.role).filter(|_| form.confirm == "yes");
    change(visit, id, role.map(AccountChange::SetRole), "role").await
}

pub async fn dismiss(
    visit: OwnerRequest,
    PathIds(id): PathIds<UserId>,
    Form(form): Form<ConfirmForm>,
) -> Result<Response, Problem> {
    change(visit, id, form.is_confirmed().then_some(AccountChange::SetRole(Role::User)), "dismiss").await
}

pub async fn reset_second_factor(
    visit: OwnerRequest,
    PathIds(id): PathIds<UserId>,
    Form(form): Form<ConfirmForm>,
) -> Result<Response, Problem> {
    change(visit, id, form.is_confirmed().then_some(AccountChange::ResetSecondFactor), "reset").await
}

/// Applies a confirmed change to a member of the staff and redirects to the page. Otherwise the page shows the problem.
async fn change(
    (State(shop), staff, visitor): OwnerRequest,
    id: UserId,
    confirmed: Option<AccountChange>,
    done: &str,
) -> Result<Response, Problem> {
    let Some(change) = confirmed else {
        let state = StaffPageState { problem: Some("not_confirmed"), ..StaffPageState::default() };
        return page(&shop, &visitor, StatusCode::UNPROCESSABLE_ENTITY, state).await;
    };
    let refusal = match shop.accounts.change_account(&staff.session, id, &change).await {
        Ok(_) => return Ok(see_other(&format!("{}&done={done}", staff_path(visitor.locale)))),
        Err(refusal) => Problem::from(refusal),
    };
    match refusal.code() {
        Code::LastOwner | Code::Yourself | Code::NotAllowed => {
            let state = StaffPageState { problem: Some(refusal.code().as_str()), ..StaffPageState::default() };
            page(&shop, &visitor, refusal.code().status(), state).await
        }
        _ => Err(refusal),
    }
}
