//! The console's page about the staff, for owners.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use super::users::Confirmation;
use crate::accounts::AccountRefusal;
use crate::domain::{Locale, UserId};
use crate::store::{PersonChange, Role};
use crate::web::Shop;
use crate::web::extract::session::{Own, Staff};
use crate::web::extract::visitor::Visitor;
use crate::web::extract::{Form, PathIds, Query};
use crate::web::pages::{personal, see_other};
use crate::web::problem::{Code, Problem};
use crate::web::shared::FieldError;
use crate::web::views::StaffPage;

#[derive(Deserialize)]
pub struct Done {
    #[serde(default)]
    done: String,
}

type Asking = (State<Arc<Shop>>, Staff<Own>, Visitor);

pub async fn list((State(shop), _, visitor): Asking, Query(Done { done }): Query<Done>) -> Result<Response, Problem> {
    page(&shop, &visitor, StatusCode::OK, Again { done, ..Again::default() }).await
}

/// What the page is shown again with.
#[derive(Default)]
struct Again {
    /// The form with the mistakes: `appoint`, `create`, or none.
    form: &'static str,
    username: String,
    role: String,
    errors: Vec<FieldError>,
    problem: Option<&'static str>,
    done: String,
    /// A new member's name and password, shown this once.
    created: Option<(String, String)>,
}

async fn page(shop: &Shop, visitor: &Visitor, status: StatusCode, again: Again) -> Result<Response, Problem> {
    let staff = shop.store.staff().await?;
    let mut chrome = visitor.chrome();
    chrome.path = staff_path(visitor.locale);
    let Again { form, username, role, errors, problem, done, created } = again;
    personal(status, &StaffPage { chrome, staff, form, username, role, errors, problem, done, created })
}

fn staff_path(locale: Locale) -> String {
    format!("/admin/staff?lang={locale}")
}

fn done(visitor: &Visitor, what: &str) -> Response {
    see_other(&format!("{}&done={what}", staff_path(visitor.locale)))
}

#[derive(Deserialize)]
pub struct Appointment {
    #[serde(default)]
    username: String,
    #[serde(default)]
    role: String,
    #[serde(default)]
    confirm: String,
}

/// A role of the staff by its name.
pub fn staff_role(text: &str) -> Option<Role> {
    text.parse().ok().filter(|role: &Role| role.is_staff())
}

impl Appointment {
    fn role(&self) -> Option<Role> {
        staff_role(&self.role)
    }

    fn again(self, form: &'static str, field: &'static str, code: &'static str) -> Again {
        let errors = vec![FieldError { field, code }];
        Again { form, username: self.username, role: self.role, errors, ..Again::default() }
    }
}

pub async fn appoint(
    (State(shop), staff, visitor): Asking,
    Form(form): Form<Appointment>,
) -> Result<Response, Problem> {
    let unprocessable = StatusCode::UNPROCESSABLE_ENTITY;
    let user = shop.store.user_named(form.username.trim()).await?;
    let (Some(user), Some(role)) = (&user, form.role()) else {
        let (field, code) = if user.is_none() { ("username", "no_such_user") } else { ("role", "bad_role") };
        return page(&shop, &visitor, unprocessable, form.again("appoint", field, code)).await;
    };
    if form.confirm != "yes" {
        return page(&shop, &visitor, unprocessable, form.again("appoint", "confirm", "confirm")).await;
    }
    carry_out(&shop, &staff, &visitor, user.id, PersonChange::SetRole(role), "appoint").await
}

/// The new password is in the answer itself: it is never shown again.
pub async fn create((State(shop), staff, visitor): Asking, Form(form): Form<Appointment>) -> Result<Response, Problem> {
    let unprocessable = StatusCode::UNPROCESSABLE_ENTITY;
    let Some(role) = form.role() else {
        return page(&shop, &visitor, unprocessable, form.again("create", "role", "bad_role")).await;
    };
    match shop.accounts.add_staff(&staff.session, form.username.trim(), role).await? {
        Ok((user, password)) => {
            let again = Again { created: Some((user.username, password)), ..Again::default() };
            page(&shop, &visitor, StatusCode::OK, again).await
        }
        Err(AccountRefusal::UsernameTaken) => {
            page(&shop, &visitor, StatusCode::CONFLICT, form.again("create", "username", "username_taken")).await
        }
        Err(AccountRefusal::BadUsername) => {
            page(&shop, &visitor, unprocessable, form.again("create", "username", "bad_username")).await
        }
        Err(refusal) => Err(refusal.into()),
    }
}

#[derive(Deserialize)]
pub struct NewRole {
    #[serde(default)]
    role: String,
    #[serde(default)]
    confirm: String,
}

pub async fn set_role(
    (State(shop), staff, visitor): Asking,
    PathIds(id): PathIds<UserId>,
    Form(form): Form<NewRole>,
) -> Result<Response, Problem> {
    let role = staff_role(&form.role).filter(|_| form.confirm == "yes");
    let Some(role) = role else { return unconfirmed(&shop, &visitor).await };
    carry_out(&shop, &staff, &visitor, id, PersonChange::SetRole(role), "role").await
}

pub async fn dismiss(
    (State(shop), staff, visitor): Asking,
    PathIds(id): PathIds<UserId>,
    Form(form): Form<Confirmation>,
) -> Result<Response, Problem> {
    if form.confirm != "yes" {
        return unconfirmed(&shop, &visitor).await;
    }
    carry_out(&shop, &staff, &visitor, id, PersonChange::SetRole(Role::User), "dismiss").await
}

pub async fn reset_second_factor(
    (State(shop), staff, visitor): Asking,
    PathIds(id): PathIds<UserId>,
    Form(form): Form<Confirmation>,
) -> Result<Response, Problem> {
    if form.confirm != "yes" {
        return unconfirmed(&shop, &visitor).await;
    }
    carry_out(&shop, &staff, &visitor, id, PersonChange::ResetSecondFactor, "reset").await
}

async fn unconfirmed(shop: &Shop, visitor: &Visitor) -> Result<Response, Problem> {
    let again = Again { problem: Some("not_confirmed"), ..Again::default() };
    page(shop, visitor, StatusCode::UNPROCESSABLE_ENTITY, again).await
}

async fn carry_out(
    shop: &Shop,
    staff: &Staff<Own>,
    visitor: &Visitor,
    id: UserId,
    change: PersonChange,
    what: &str,
) -> Result<Response, Problem> {
    let refusal = match shop.accounts.change_person(&staff.session, id, &change).await {
        Ok(_) => return Ok(done(visitor, what)),
        Err(refusal) => Problem::from(refusal),
    };
    match refusal.code() {
        Code::LastOwner | Code::Yourself | Code::NotAllowed => {
            let again = Again { problem: Some(refusal.code().as_str()), ..Again::default() };
            page(shop, visitor, refusal.code().status(), again).await
        }
        _ => Err(refusal),
    }
}
