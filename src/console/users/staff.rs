//! The console's page about the staff, for owners.

use crate::prelude::*;
use crate::users::page::{StaffPage, StaffPageState, TemporaryPassword};
use accounts::AccountRefusal;
use accounts::administration::staff_role;
use store::{AccountChange, AccountEdit};

type OwnerRequest = StaffVisit<ManageStaff>;

pub async fn list((State(shop), _, visitor): OwnerRequest, Query(NoticeQuery { done }): Query<NoticeQuery>) -> Answer {
    page(&shop, &visitor, StatusCode::OK, StaffPageState { done, ..StaffPageState::default() }).await
}

impl StaffPageState {
    fn with_password(temporary: TemporaryPassword) -> StaffPageState {
        StaffPageState { temporary: Some(temporary), ..StaffPageState::default() }
    }

    fn with_problem(problem: &'static str) -> StaffPageState {
        StaffPageState { problem: Some(problem), ..StaffPageState::default() }
    }
}

async fn page(shop: &Shop, visitor: &Visitor, status: StatusCode, state: StaffPageState) -> Answer {
    let staff = shop.store.accounts().staff().await?;
    let chrome = visitor.chrome_at(staff_path(visitor.locale));
    let policy = shop.store.accounts().staff_policy().await?;
    personal(status, &StaffPage { chrome, staff, policy, shown: state })
}

fn staff_path(locale: Locale) -> String {
    format!("/admin/users?show=staff&lang={locale}")
}

inputs! {
    /// The form that gives a role to an existing account, or that creates an account.
    StaffMemberForm { username, role, confirm }
    RoleForm {
        role, confirm,
        /// The version of the account that the form shows.
        version,
    }
    /// The form that sets whether all staff need a second factor.
    PolicyForm {
        second_factor_required, confirm,
        /// The version of the policy that the form shows.
        version,
    }
}

impl StaffMemberForm {
    fn with_error(self, form: &'static str, field: &'static str, code: &'static str) -> StaffPageState {
        let errors = vec![FieldError::new(field, code)];
        StaffPageState { form, username: self.username, role: self.role, errors, ..StaffPageState::default() }
    }
}

pub async fn appoint((State(shop), staff, visitor): OwnerRequest, Form(form): Form<StaffMemberForm>) -> Answer {
    let unprocessable = StatusCode::UNPROCESSABLE_ENTITY;
    let user = shop.store.accounts().user_named(form.username.trim()).await?;
    let (Some(user), Some(role)) = (&user, staff_role(&form.role)) else {
        let (field, code) = if user.is_none() { ("username", "no_such_user") } else { ("role", "bad_role") };
        return page(&shop, &visitor, unprocessable, form.with_error("appoint", field, code)).await;
    };
    if form.confirm != "yes" {
        return page(&shop, &visitor, unprocessable, form.with_error("appoint", "confirm", "confirm")).await;
    }
    change((State(shop), staff, visitor), user.id, Some(AccountChange::SetRole(role)), "appoint").await
}

/// Creates an account. This answer carries its one-time password, which is stored only as a hash.
pub async fn create(
    (State(shop), staff, visitor): OwnerRequest,
    Repeatable(request): Repeatable,
    Form(form): Form<StaffMemberForm>,
) -> Answer {
    let unprocessable = StatusCode::UNPROCESSABLE_ENTITY;
    let Some(role) = staff_role(&form.role) else {
        return page(&shop, &visitor, unprocessable, form.with_error("create", "role", "bad_role")).await;
    };
    match shop.accounts.add_staff(&staff.session, form.username.trim(), role, request).await? {
        Ok((user, password)) => {
            let temporary = TemporaryPassword { username: user.username, password, is_new: true };
            let shown = page(&shop, &visitor, StatusCode::OK, StaffPageState::with_password(temporary)).await?;
            Ok((Extension(NotKept), shown).into_response())
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

/// The version in a form. A form of an older program has none.
fn shown_version(version: &str) -> Option<Vec<i64>> {
    version.parse().ok().map(|version| vec![version])
}

pub async fn set_role(visit: OwnerRequest, PathIds(id): PathIds<UserId>, Form(form): Form<RoleForm>) -> Answer {
    let role = staff_role(&form.role).filter(|_| form.confirm == "yes");
    let edit = AccountEdit { id, versions: shown_version(&form.version) };
    change(visit, edit, role.map(AccountChange::SetRole), "role").await
}

pub async fn dismiss(visit: OwnerRequest, PathIds(id): PathIds<UserId>, Form(form): Form<ConfirmForm>) -> Answer {
    change(visit, id, form.is_confirmed().then_some(AccountChange::SetRole(Role::User)), "dismiss").await
}

pub async fn reset_second_factor(
    visit: OwnerRequest,
    PathIds(id): PathIds<UserId>,
    Form(form): Form<ConfirmForm>,
) -> Answer {
    change(visit, id, form.is_confirmed().then_some(AccountChange::ResetSecondFactor), "reset").await
}

/// This answer carries the temporary password, which is stored only as a hash.
pub async fn reset_password(
    (State(shop), staff, visitor): OwnerRequest,
    PathIds(id): PathIds<UserId>,
    Form(form): Form<ConfirmForm>,
) -> Answer {
    if !form.is_confirmed() {
        return not_confirmed(&shop, &visitor).await;
    }
    match shop.accounts.reset_password(&staff.session, id).await {
        Ok(made) => {
            let (user, password) = made?;
            let temporary = TemporaryPassword { username: user.username, password, is_new: false };
            page(&shop, &visitor, StatusCode::OK, StaffPageState::with_password(temporary)).await
        }
        Err(refusal) => refused(&shop, &visitor, refusal.into()).await,
    }
}

pub async fn set_policy((State(shop), staff, visitor): OwnerRequest, Form(form): Form<PolicyForm>) -> Answer {
    if form.confirm != "yes" {
        return not_confirmed(&shop, &visitor).await;
    }
    let required = form.second_factor_required == "yes";
    let versions = shown_version(&form.version);
    match shop.accounts.require_second_factor(&staff.session, versions.as_deref(), required).await {
        Ok(_) => Ok(see_other(&format!("{}&done=policy", staff_path(visitor.locale)))),
        Err(refusal) => refused(&shop, &visitor, refusal.into()).await,
    }
}

/// Applies a confirmed change to a member of the staff and redirects to the page. Otherwise the page shows the problem.
async fn change(
    (State(shop), staff, visitor): OwnerRequest,
    edit: impl Into<AccountEdit>,
    confirmed: Option<AccountChange>,
    done: &str,
) -> Answer {
    let Some(change) = confirmed else { return not_confirmed(&shop, &visitor).await };
    match shop.accounts.change_account(&staff.session, edit, &change).await {
        Ok(_) => Ok(see_other(&format!("{}&done={done}", staff_path(visitor.locale)))),
        Err(refusal) => refused(&shop, &visitor, refusal.into()).await,
    }
}

async fn not_confirmed(shop: &Shop, visitor: &Visitor) -> Answer {
    page(shop, visitor, StatusCode::UNPROCESSABLE_ENTITY, StaffPageState::with_problem("not_confirmed")).await
}

async fn refused(shop: &Shop, visitor: &Visitor, refusal: Problem) -> Answer {
    let code = refusal.code();
    match code {
        Code::LastOwner | Code::Yourself | Code::NotAllowed | Code::SecondFactorRequired => {
            page(shop, visitor, code.status(), StaffPageState::with_problem(code.as_str())).await
        }
        // Forms send no `If-Match`, so the version in the form was stale.
        Code::StaleVersion => {
            page(shop, visitor, StatusCode::CONFLICT, StaffPageState::with_problem(code.as_str())).await
        }
        _ => Err(refusal),
    }
}
