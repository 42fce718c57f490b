//! The console's pages about shoppers and everybody else with an account.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use super::log::subject_path;
use crate::domain::wallet::{Account, money};
use crate::domain::{Locale, UserId};
use crate::store::{PersonChange, User, UserSearch};
use crate::web::Shop;
use crate::web::extract::session::{Duty, HelpShoppers, Look, Staff};
use crate::web::extract::visitor::Visitor;
use crate::web::extract::{Form, PathIds, Query};
use crate::web::pages::orders::page_of_orders;
use crate::web::pages::{personal, see_other};
use crate::web::problem::{Code, Problem};
use crate::web::shared::FieldError;
use crate::web::views::{UserPage, UsersPage};

/// Accounts on one page.
const PAGE: usize = 50;
const REASON_CHARS: usize = 500;

#[derive(Deserialize)]
pub struct Search {
    #[serde(default)]
    pub q: String,
    pub before: Option<UserId>,
}

pub async fn list(
    State(shop): State<Arc<Shop>>,
    _: Staff<Look>,
    visitor: Visitor,
    Query(search): Query<Search>,
) -> Result<Response, Problem> {
    let (users, older) = page_of_users(&shop, &search).await?;
    let page = UsersPage { chrome: visitor.chrome(), users, q: search.q, paged: search.before.is_some(), older };
    personal(StatusCode::OK, &page)
}

/// One page of accounts, newest first, and where the next one begins.
pub async fn page_of_users(shop: &Shop, search: &Search) -> Result<(Vec<User>, Option<UserId>), Problem> {
    let most = PAGE as i64 + 1;
    let mut users = shop.store.find_users(&UserSearch::typed(&search.q), search.before, most).await?;
    let more = users.len() > PAGE;
    users.truncate(PAGE);
    let next = users.last().filter(|_| more).map(|user| user.id);
    Ok((users, next))
}

#[derive(Deserialize)]
pub struct Done {
    #[serde(default)]
    done: String,
}

pub async fn show(
    State(shop): State<Arc<Shop>>,
    _: Staff<Look>,
    visitor: Visitor,
    PathIds(id): PathIds<UserId>,
    Query(Done { done }): Query<Done>,
) -> Result<Response, Problem> {
    page(&shop, &visitor, StatusCode::OK, id, Again { done, ..Again::default() }).await
}

/// What the page is shown again with.
#[derive(Default)]
struct Again {
    reason: String,
    errors: Vec<FieldError>,
    problem: Option<&'static str>,
    done: String,
}

async fn page(
    shop: &Shop,
    visitor: &Visitor,
    status: StatusCode,
    id: UserId,
    again: Again,
) -> Result<Response, Problem> {
    let user = shop.store.user(id).await?.ok_or(Code::NotFound)?;
    let sessions = shop.store.sessions_of(id, shop.clock.now()).await?;
    let (orders, _) = page_of_orders(shop, id, &[], None).await?;
    let balance = money(shop.store.wallet_balance(Account::User(id)).await?);
    let mut chrome = visitor.chrome();
    chrome.path = user_path(visitor.locale, id);
    let log_path = subject_path(visitor.locale, &format!("user {id}"));
    let Again { reason, errors, problem, done } = again;
    personal(status, &UserPage { chrome, user, sessions, orders, balance, reason, errors, problem, done, log_path })
}

pub fn user_path(locale: Locale, id: UserId) -> String {
    format!("/admin/users/{id}?lang={locale}")
}

/// What every form carries, so that nothing happens by a slip of the finger.
#[derive(Deserialize)]
pub struct Confirmation {
    #[serde(default)]
    pub confirm: String,
    #[serde(default)]
    reason: String,
}

type Asking = (State<Arc<Shop>>, Staff<HelpShoppers>, Visitor, PathIds<UserId>);

pub async fn block(
    (State(shop), staff, visitor, PathIds(id)): Asking,
    Form(form): Form<Confirmation>,
) -> Result<Response, Problem> {
    match checked_reason(&form.reason) {
        Ok(reason) => carry_out(&shop, &staff, &visitor, id, form, PersonChange::Block { reason }).await,
        Err(code) => {
            let errors = vec![FieldError { field: "reason", code }];
            let again = Again { reason: form.reason, errors, ..Again::default() };
            page(&shop, &visitor, StatusCode::UNPROCESSABLE_ENTITY, id, again).await
        }
    }
}

pub async fn unblock(
    (State(shop), staff, visitor, PathIds(id)): Asking,
    Form(form): Form<Confirmation>,
) -> Result<Response, Problem> {
    carry_out(&shop, &staff, &visitor, id, form, PersonChange::Unblock).await
}

pub async fn end_sessions(
    (State(shop), staff, visitor, PathIds(id)): Asking,
    Form(form): Form<Confirmation>,
) -> Result<Response, Problem> {
    carry_out(&shop, &staff, &visitor, id, form, PersonChange::EndSessions).await
}

/// The reason as it is kept, or what is wrong with it.
pub fn checked_reason(text: &str) -> Result<String, &'static str> {
    match text.trim() {
        "" => Err("required"),
        text if text.chars().count() > REASON_CHARS => Err("too_long"),
        text => Ok(text.to_owned()),
    }
}

async fn carry_out<D: Duty>(
    shop: &Shop,
    staff: &Staff<D>,
    visitor: &Visitor,
    id: UserId,
    form: Confirmation,
    change: PersonChange,
) -> Result<Response, Problem> {
    if form.confirm != "yes" {
        let again = Again { reason: form.reason, problem: Some("not_confirmed"), ..Again::default() };
        return page(shop, visitor, StatusCode::UNPROCESSABLE_ENTITY, id, again).await;
    }
    let refusal = match shop.accounts.change_person(&staff.session, id, &change).await {
        Ok(_) => return Ok(see_other(&format!("{}&done={}", user_path(visitor.locale, id), change.action()))),
        Err(refusal) => Problem::from(refusal),
    };
    match refusal.code() {
        Code::LastOwner | Code::Yourself | Code::NotAllowed => {
            let again = Again { reason: form.reason, problem: Some(refusal.code().as_str()), ..Again::default() };
            page(shop, visitor, refusal.code().status(), id, again).await
        }
        _ => Err(refusal),
    }
}
