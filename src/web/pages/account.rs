//! A person's own account, without scripts.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::{CONTENT_DISPOSITION, SET_COOKIE};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use uuid::Uuid;

use crate::accounts::{AccountRefusal, Device, Enrolment, Session};
use crate::domain::Locale;
use crate::domain::wallet::{Account, money};
use crate::store::Deletion;
use crate::web::Shop;
use crate::web::cache_policy::Cache;
use crate::web::extract::session::SignedIn;
use crate::web::extract::visitor::Visitor;
use crate::web::extract::{Form, PathIds, Query, Secret};
use crate::web::pages::{personal, see_other};
use crate::web::problem::{Code, Problem};
use crate::web::shared::FieldError;
use crate::web::views::{AccountPage, DeletedPage, RecoveryPage, SecondFactorPage};

#[derive(Deserialize)]
pub struct Done {
    /// What was done just now.
    #[serde(default)]
    done: String,
}

type Asking = (State<Arc<Shop>>, SignedIn, Visitor);

pub fn account_path(locale: Locale) -> String {
    format!("/{locale}/account")
}

fn done(visitor: &Visitor, what: &str) -> Response {
    see_other(&format!("{}?done={what}", account_path(visitor.locale)))
}

pub async fn show(
    (State(shop), SignedIn(session), visitor): Asking,
    Query(Done { done }): Query<Done>,
) -> Result<Response, Problem> {
    page(&shop, &session, &visitor, Mistakes { done, ..Mistakes::default() }).await
}

/// What a form is shown again with.
#[derive(Default)]
struct Mistakes {
    status: Option<StatusCode>,
    form: &'static str,
    errors: Vec<FieldError>,
    /// A problem that belongs to no field.
    problem: Option<&'static str>,
    typed_name: String,
    done: String,
}

impl Mistakes {
    fn of(form: &'static str, error: FieldError) -> Mistakes {
        Mistakes { form, errors: vec![error], ..Mistakes::default() }
    }
}

async fn page(shop: &Shop, session: &Session, visitor: &Visitor, mistakes: Mistakes) -> Result<Response, Problem> {
    let user = shop.store.user(session.user_id).await?.ok_or(Code::NotSignedIn)?;
    let balance = money(shop.store.wallet_balance(Account::User(user.id)).await?);
    let recovery_left = shop.store.recovery_left(user.id).await?;
    let sessions = shop.accounts.sessions_of(session).await?;
    let mut chrome = visitor.chrome();
    chrome.path = account_path(visitor.locale);
    let refused = !mistakes.errors.is_empty();
    let status = if refused { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    let page = AccountPage {
        chrome,
        user,
        balance,
        recovery_left,
        sessions,
        current: session.id,
        form: mistakes.form,
        errors: mistakes.errors,
        problem: mistakes.problem,
        typed_name: mistakes.typed_name,
        done: mistakes.done,
    };
    personal(mistakes.status.unwrap_or(status), &page)
}

/// The field that a refusal is about.
fn field_of(refusal: AccountRefusal) -> Result<FieldError, Problem> {
    match refusal {
        AccountRefusal::WrongPassword => Ok(FieldError { field: "password", code: "wrong_password" }),
        AccountRefusal::WeakPassword => Ok(FieldError { field: "new_password", code: "weak_password" }),
        AccountRefusal::BadCode => Ok(FieldError { field: "code", code: "bad_code" }),
        AccountRefusal::Throttled(_) => Ok(FieldError { field: "password", code: "wait" }),
        refusal => Err(refusal.into()),
    }
}

#[derive(Deserialize)]
pub struct NewPassword {
    password: Secret,
    new_password: Secret,
}

pub async fn change_password(
    (State(shop), SignedIn(session), visitor): Asking,
    device: Device,
    Form(form): Form<NewPassword>,
) -> Result<Response, Problem> {
    match shop.accounts.change_password(&session, &device, form.password.0, form.new_password.0).await {
        Ok(next) => {
            let cookie = [(SET_COOKIE, shop.accounts.cookie(&next))];
            Ok((cookie, done(&visitor, "password")).into_response())
        }
        Err(refusal) => page(&shop, &session, &visitor, Mistakes::of("password", field_of(refusal)?)).await,
    }
}

pub async fn end_session(
    (State(shop), SignedIn(session), visitor): Asking,
    PathIds(id): PathIds<Uuid>,
) -> Result<Response, Problem> {
    let back = account_path(visitor.locale);
    if !shop.accounts.end_own(&session, id).await.map_err(|error| Problem::from(error).back(&back))? {
        return Err(Problem::new(Code::NotFound).back(back));
    }
    Ok(if id == session.id { farewell(&shop, &visitor) } else { done(&visitor, "session") })
}

pub async fn end_all_sessions((State(shop), SignedIn(session), visitor): Asking) -> Result<Response, Problem> {
    shop.accounts.log_out_everywhere(&session).await?;
    Ok(farewell(&shop, &visitor))
}

fn farewell(shop: &Shop, visitor: &Visitor) -> Response {
    ([(SET_COOKIE, shop.accounts.farewell())], see_other(&format!("/{}/login", visitor.locale))).into_response()
}

pub async fn enrol((State(shop), SignedIn(session), visitor): Asking) -> Result<Response, Problem> {
    enrolment(&visitor, shop.accounts.enrol(&session)?, Vec::new())
}

fn enrolment(visitor: &Visitor, enrolment: Enrolment, errors: Vec<FieldError>) -> Result<Response, Problem> {
    let status = if errors.is_empty() { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY };
    let mut chrome = visitor.chrome();
    chrome.path = format!("{}/second-factor", account_path(visitor.locale));
    let Enrolment { secret, url, sealed } = enrolment;
    personal(status, &SecondFactorPage { chrome, secret, url, sealed, errors })
}

#[derive(Deserialize)]
pub struct FirstCode {
    #[serde(default)]
    enrolment: String,
    password: Secret,
    #[serde(default)]
    code: String,
}

/// The recovery codes are in the answer itself: they are never shown again.
pub async fn set_second_factor(
    (State(shop), SignedIn(session), visitor): Asking,
    device: Device,
    Form(form): Form<FirstCode>,
) -> Result<Response, Problem> {
    let FirstCode { enrolment: sealed, password, code } = form;
    match shop.accounts.set_second_factor(&session, &device, &sealed, password.0, &code).await {
        Ok(codes) => {
            let mut chrome = visitor.chrome();
            chrome.path = account_path(visitor.locale);
            personal(StatusCode::OK, &RecoveryPage { chrome, codes })
        }
        Err(refusal) => {
            let error = field_of(refusal)?;
            enrolment(&visitor, shop.accounts.enrol_again(&session, &sealed)?, vec![error])
        }
    }
}

#[derive(Deserialize)]
pub struct Removal {
    password: Secret,
    #[serde(default)]
    code: String,
}

pub async fn remove_second_factor(
    (State(shop), SignedIn(session), visitor): Asking,
    device: Device,
    Form(form): Form<Removal>,
) -> Result<Response, Problem> {
    match shop.accounts.remove_second_factor(&session, &device, form.password.0, &form.code).await {
        Ok(()) => Ok(done(&visitor, "factor-off")),
        Err(refusal) => page(&shop, &session, &visitor, Mistakes::of("factor", field_of(refusal)?)).await,
    }
}

pub async fn export(State(shop): State<Arc<Shop>>, SignedIn(session): SignedIn) -> Result<Response, Problem> {
    let data = shop.store.export_of(session.user_id, shop.clock.now()).await?.ok_or(Code::NotSignedIn)?;
    let name = [(CONTENT_DISPOSITION, "attachment; filename=\"seckill-my-data.json\"")];
    Ok((Cache::Private, name, axum::Json(data)).into_response())
}

#[derive(Deserialize)]
pub struct Farewell {
    #[serde(default)]
    username: String,
    password: Secret,
    /// `yes` to leave what the wallet holds to the shop.
    #[serde(default)]
    give_up_wallet: String,
}

pub async fn delete(
    (State(shop), SignedIn(session), visitor): Asking,
    device: Device,
    Form(form): Form<Farewell>,
) -> Result<Response, Problem> {
    let mut again = Mistakes { form: "delete", typed_name: form.username.clone(), ..Mistakes::default() };
    let give_up = form.give_up_wallet == "yes";
    match try_delete(&shop, &session, &device, &form.username, form.password, give_up).await {
        Ok(()) => {
            let mut chrome = visitor.chrome();
            chrome.username = None;
            chrome.role = crate::store::Role::User;
            chrome.path = format!("/{}/login", visitor.locale);
            let cookie = [(SET_COOKIE, shop.accounts.farewell())];
            Ok((cookie, personal(StatusCode::OK, &DeletedPage { chrome })?).into_response())
        }
        Err(NotDeleted::Field(error)) => {
            again.errors = vec![error];
            page(&shop, &session, &visitor, again).await
        }
        Err(NotDeleted::Problem(problem))
            if matches!(problem.code(), Code::OrdersOpen | Code::StaffAccount | Code::WalletNotEmpty) =>
        {
            again.status = Some(problem.code().status());
            again.problem = Some(problem.code().as_str());
            page(&shop, &session, &visitor, again).await
        }
        Err(NotDeleted::Problem(problem)) => Err(problem),
    }
}

/// Why an account is still there.
pub enum NotDeleted {
    Field(FieldError),
    Problem(Problem),
}

impl<E: Into<Problem>> From<E> for NotDeleted {
    fn from(error: E) -> Self {
        NotDeleted::Problem(error.into())
    }
}

/// Deletes the account, unless its name was not typed, the password is wrong, an order is still open, or money is left
/// that is not given up.
pub async fn try_delete(
    shop: &Shop,
    session: &Session,
    device: &Device,
    username: &str,
    password: Secret,
    give_up: bool,
) -> Result<(), NotDeleted> {
    if username.trim().to_lowercase() != session.username.to_lowercase() {
        return Err(NotDeleted::Field(FieldError { field: "username", code: "not_your_name" }));
    }
    match shop.orders.is_under_way(session.user_id, &shop.catalogue.active()).await? {
        Some(false) => {}
        Some(true) => return Err(Code::OrdersOpen.into()),
        None => return Err(Code::Unavailable.into()),
    }
    match shop.accounts.delete(session, device, password.0, give_up).await {
        Ok(Deletion::Done(_) | Deletion::Gone) => Ok(()),
        Ok(Deletion::OrdersOpen) => Err(Code::OrdersOpen.into()),
        Ok(Deletion::WalletNotEmpty) => Err(Code::WalletNotEmpty.into()),
        Ok(Deletion::IsStaff) => Err(Code::StaffAccount.into()),
        Err(refusal) => Err(field_of(refusal).map_or_else(NotDeleted::Problem, NotDeleted::Field)),
    }
}
