//! The console's pages about accounts.

use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use crate::lists::saved_views::list_bar;
use crate::log::page::subject_path;
use crate::users::search::{UserSearchQuery, find_users};
use crate::users::view::{UserPage, UsersPage};
use crate::{StaffVisit, StaffVisitTo};
use accounts::staff_rules::check_block_reason;
use domain::mail::masked;
use domain::{ConsoleList, Locale, UserId};
use store::AccountChange;
use web::Shop;
use web::extract::session::{SupportShoppers, ViewConsole};
use web::extract::visitor::Visitor;
use web::extract::{Form, PathIds, Query};
use web::problem::{Code, Problem};
use web::shared::pagination::DEFAULT_PAGE_SIZE;
use web::shared::response::{personal, see_other};
use web::shared::wallet::balance_of;
use web::shared::{FieldError, NoticeQuery};

pub async fn list(
    (State(shop), staff, visitor): StaffVisit<ViewConsole>,
    RawQuery(raw): RawQuery,
    Query(query): Query<UserSearchQuery>,
) -> Result<Response, Problem> {
    let found = find_users(&shop.store, &query).await?;
    let bar = list_bar(&shop, staff.session.user_id, visitor.locale, ConsoleList::Users, raw.as_deref()).await?;
    let page = UsersPage {
        bar,
        may_act: staff.may::<SupportShoppers>(),
        chrome: visitor.chrome(),
        users: found.items,
        q: query.q,
        paged: query.before.is_given(),
        older: found.next,
    };
    personal(StatusCode::OK, &page)
}

pub async fn show(
    (State(shop), _, visitor, PathIds(id)): StaffVisitTo<ViewConsole, UserId>,
    Query(NoticeQuery { done }): Query<NoticeQuery>,
) -> Result<Response, Problem> {
    page(&shop, &visitor, StatusCode::OK, id, UserPageState { done, ..UserPageState::default() }).await
}

/// What the page shows besides the account.
#[derive(Default)]
struct UserPageState {
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
    state: UserPageState,
) -> Result<Response, Problem> {
    let user = shop.store.accounts().user(id).await?.ok_or(Code::NotFound)?;
    let sessions = shop.store.sessions().sessions_of(id, shop.clock.now()).await?;
    let orders = shop.orders.list(id, &[], None, DEFAULT_PAGE_SIZE).await?.items;
    let balance = balance_of(&shop.store, id).await?;
    let mail = shop.store.accounts().mail_of(id).await?.and_then(|mail| mail.address).map(|address| masked(&address));
    let chrome = visitor.chrome_at(user_path(visitor.locale, id));
    let log_path = subject_path(visitor.locale, &format!("user {id}"));
    let UserPageState { reason, errors, problem, done } = state;
    let page = UserPage { chrome, user, sessions, orders, balance, reason, errors, problem, done, log_path, mail };
    personal(status, &page)
}

fn user_path(locale: Locale, id: UserId) -> String {
    format!("/admin/users/{id}?lang={locale}")
}

/// The form of every action on the page. Only blocking has a reason.
#[derive(Deserialize)]
pub struct UserActionForm {
    #[serde(default)]
    confirm: String,
    #[serde(default)]
    reason: String,
}

type UserAction = StaffVisitTo<SupportShoppers, UserId>;

pub async fn block(visit: UserAction, Form(form): Form<UserActionForm>) -> Result<Response, Problem> {
    match check_block_reason(&form.reason) {
        Ok(reason) => change(visit, form, AccountChange::Block { reason }).await,
        Err(code) => {
            let (State(shop), _, visitor, PathIds(id)) = visit;
            let errors = vec![FieldError::new("reason", code)];
            let state = UserPageState { reason: form.reason, errors, ..UserPageState::default() };
            page(&shop, &visitor, StatusCode::UNPROCESSABLE_ENTITY, id, state).await
        }
    }
}

pub async fn unblock(visit: UserAction, Form(form): Form<UserActionForm>) -> Result<Response, Problem> {
    change(visit, form, AccountChange::Unblock).await
}

pub async fn end_sessions(visit: UserAction, Form(form): Form<UserActionForm>) -> Result<Response, Problem> {
    change(visit, form, AccountChange::EndSessions).await
}

/// Sends the user a link that starts a recovery. The user finishes it.
pub async fn start_recovery(
    (State(shop), staff, visitor, PathIds(id)): UserAction,
    Form(form): Form<UserActionForm>,
) -> Result<Response, Problem> {
    let refused = async |status: StatusCode, code: &'static str| {
        let state = UserPageState { problem: Some(code), ..UserPageState::default() };
        page(&shop, &visitor, status, id, state).await
    };
    if form.confirm != "yes" {
        return refused(StatusCode::UNPROCESSABLE_ENTITY, "not_confirmed").await;
    }
    match shop.accounts.start_recovery_for(&staff.session, id).await? {
        Ok(()) => Ok(see_other(&format!("{}&done=start-recovery", user_path(visitor.locale, id)))),
        Err(refusal) => {
            let code = Problem::from(refusal).code();
            refused(code.status(), code.as_str()).await
        }
    }
}

async fn change(
    (State(shop), staff, visitor, PathIds(id)): UserAction,
    form: UserActionForm,
    change: AccountChange,
) -> Result<Response, Problem> {
    if form.confirm != "yes" {
        let state = UserPageState { reason: form.reason, problem: Some("not_confirmed"), ..UserPageState::default() };
        return page(&shop, &visitor, StatusCode::UNPROCESSABLE_ENTITY, id, state).await;
    }
    let refusal = match shop.accounts.change_account(&staff.session, id, &change).await {
        Ok(_) => return Ok(see_other(&format!("{}&done={}", user_path(visitor.locale, id), change.action()))),
        Err(refusal) => Problem::from(refusal),
    };
    match refusal.code() {
        Code::LastOwner | Code::Yourself | Code::NotAllowed => {
            let problem = Some(refusal.code().as_str());
            let state = UserPageState { reason: form.reason, problem, ..UserPageState::default() };
            page(&shop, &visitor, refusal.code().status(), id, state).await
        }
        _ => Err(refusal),
    }
}
