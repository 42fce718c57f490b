//! The console's pages about accounts.

use crate::lists::bulk::BulkAction;
use crate::lists::bulk::users::BulkUserAction;
use crate::lists::saved_views::{ColumnLink, ListBar, SortLink, list_bar};
use crate::log::subject_path;
use crate::prelude::*;
use crate::users::api::{UserSearchQuery, find_users};
use accounts::administration::check_block_reason;
use domain::mail;
use store::{AccountChange, SessionRow, StaffPolicy, User};
use web::shared::balance_of;

pub async fn list(
    (State(shop), staff, visitor): StaffVisit<ViewConsole>,
    RawQuery(raw): RawQuery,
    Query(query): Query<UserSearchQuery>,
) -> Answer {
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
) -> Answer {
    page(&shop, &visitor, StatusCode::OK, id, UserPageState { done, ..UserPageState::default() }).await
}

/// What the page shows besides the account.
#[derive(Debug, Default)]
struct UserPageState {
    /// The reason for a block, as entered.
    reason: String,
    errors: Vec<FieldError>,
    /// A problem code.
    problem: Option<&'static str>,
    /// The action that the page reports as done. Unknown values show nothing.
    done: String,
}

async fn page(shop: &Shop, visitor: &Visitor, status: StatusCode, id: UserId, shown: UserPageState) -> Answer {
    let user = shop.store.accounts().user(id).await?.ok_or(Code::NotFound)?;
    let sessions = shop.store.sessions().sessions_of(id, shop.clock.now()).await?;
    let orders = shop.orders.list(id, &[], None, DEFAULT_PAGE_SIZE).await?.items;
    let balance = balance_of(&shop.store, id).await?;
    let mail =
        shop.store.accounts().mail_of(id).await?.and_then(|mail| mail.address).map(|address| mail::masked(&address));
    let chrome = visitor.chrome_at(user_path(visitor.locale, id));
    let log_path = subject_path(visitor.locale, &format!("user {id}"));
    personal(status, &UserPage { chrome, user, sessions, orders, balance, shown, log_path, mail })
}

fn user_path(locale: Locale, id: UserId) -> String {
    format!("/admin/users/{id}?lang={locale}")
}

type UserAction = StaffVisitTo<SupportShoppers, UserId>;

pub async fn block(visit: UserAction, Form(form): Form<ReasonForm>) -> Answer {
    match check_block_reason(&form.reason) {
        Ok(reason) => change(visit, Form(form), AccountChange::Block { reason }).await,
        Err(code) => {
            let (State(shop), _, visitor, PathIds(id)) = visit;
            let errors = vec![FieldError::new("reason", code)];
            let state = UserPageState { reason: form.reason, errors, ..UserPageState::default() };
            page(&shop, &visitor, StatusCode::UNPROCESSABLE_ENTITY, id, state).await
        }
    }
}

handlers! {
    change(visit: UserAction, form: Form<ReasonForm>)
    unblock AccountChange::Unblock;
    end_sessions AccountChange::EndSessions;
}

/// Sends the user a link that starts a recovery. The user finishes it.
pub async fn start_recovery(
    (State(shop), staff, visitor, PathIds(id)): UserAction,
    Form(form): Form<ReasonForm>,
) -> Answer {
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
    Form(form): Form<ReasonForm>,
    change: AccountChange,
) -> Answer {
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

/// The state of an account: a class of the style sheet, and a word.
fn state_of<'a>(chrome: &'a Chrome, user: &User) -> (&'static str, &'a str) {
    let t = &chrome.text().people;
    match user {
        user if user.deleted_at.is_some() => ("cancelled", t.state_deleted),
        user if user.is_blocked() => ("rejected", t.state_blocked),
        user if user.must_change_password => ("unpaid", t.state_new),
        _ => ("paid", t.state_active),
    }
}

fn problem_text(chrome: &Chrome, code: Option<&'static str>) -> Option<&'static str> {
    code.map(|code| problem(code).text(chrome.locale))
}

/// The accounts that match a search.
#[derive(Debug, Template)]
#[template(path = "users/users.html")]
struct UsersPage {
    chrome: Chrome,
    users: Vec<User>,
    /// The search as entered.
    q: String,
    /// Whether this is not the first page.
    paged: bool,
    older: Option<UserId>,
    bar: ListBar,
    /// Whether the member of the staff may act on several accounts.
    may_act: bool,
}

impl UsersPage {
    fn columns(&self) -> Vec<ColumnLink> {
        let p = &self.chrome.text().people;
        self.bar.columns(&[("state", p.col_state), ("role", p.col_role), ("since", p.col_since), ("seen", p.col_seen)])
    }

    /// Only names can be sorted by: the log-in has no index.
    fn sort_by_name(&self) -> SortLink {
        self.bar.sort(self.chrome.text().people.col_name, "name", None)
    }

    fn bulk_actions(&self) -> [(BulkUserAction, &'static str); 2] {
        BulkUserAction::ALL.map(|action| (action, action.verb(self.chrome.text())))
    }
}

/// One account with its actions.
#[derive(Debug, Template)]
#[template(path = "users/user.html")]
struct UserPage {
    chrome: Chrome,
    user: User,
    sessions: Vec<SessionRow>,
    orders: Vec<Order>,
    /// The balance of the wallet.
    balance: Money,
    shown: UserPageState,
    log_path: String,
    /// The verified address, masked.
    mail: Option<String>,
}

impl UserPage {
    fn problem(&self) -> Option<&'static str> {
        problem_text(&self.chrome, self.shown.problem)
    }

    fn notice(&self) -> Option<&'static str> {
        let t = &self.chrome.text().people;
        match self.shown.done.as_str() {
            "block" => Some(t.done_block),
            "unblock" => Some(t.done_unblock),
            "end-sessions" => Some(t.done_end_sessions),
            "start-recovery" => Some(self.chrome.text().recovery.done_start),
            _ => None,
        }
    }

    fn path(&self, action: &str) -> String {
        format!("/admin/users/{}/{action}", self.user.id)
    }

    /// Whether the viewer may start the recovery of the account: only for shoppers with an address.
    fn may_recover(&self) -> bool {
        self.may_change() && self.mail.is_some() && !self.user.role.is_staff() && !self.user.is_blocked()
    }

    /// Whether the viewer may change the account: support may change shoppers, owners may change staff. A deleted
    /// account cannot be changed.
    fn may_change(&self) -> bool {
        let role = if self.user.role.is_staff() { self.chrome.owns() } else { self.chrome.helps_shoppers() };
        role && self.user.deleted_at.is_none()
    }
}

/// A temporary password of a member of the staff.
#[derive(Debug)]
pub struct TemporaryPassword {
    pub username: String,
    pub password: String,
    /// Whether the account is new. Otherwise its password was reset.
    pub is_new: bool,
}

/// What the page shows besides the list of staff.
#[derive(Debug, Default)]
pub struct StaffPageState {
    /// The form with the errors: `appoint`, `create`, or none.
    pub form: &'static str,
    pub username: String,
    pub role: String,
    pub errors: Vec<FieldError>,
    pub problem: Option<&'static str>,
    pub done: String,
    /// A temporary password that was just made. Only this answer shows it.
    pub temporary: Option<TemporaryPassword>,
}

/// The staff, with the forms that appoint, add and dismiss.
#[derive(Debug, Template)]
#[template(path = "users/staff.html")]
pub struct StaffPage {
    pub chrome: Chrome,
    pub staff: Vec<User>,
    /// Whether the owners require a second factor of all staff.
    pub policy: StaffPolicy,
    pub shown: StaffPageState,
}

impl StaffPage {
    const ROLES: [Role; 4] = [Role::Admin, Role::Operator, Role::Support, Role::Viewer];

    /// How many members of the staff have no second factor.
    fn without_factor(&self) -> usize {
        self.staff.iter().filter(|user| !user.has_second_factor()).count()
    }

    /// Whether the account belongs to the owner who reads the page.
    fn is_viewer(&self, user: &User) -> bool {
        self.chrome.username.as_deref() == Some(&user.username)
    }

    fn error_text(&self, form: &str, field: &str) -> Option<&'static str> {
        (self.shown.form == form).then(|| error_text(&self.chrome, &self.shown.errors, field))?
    }

    fn typed(&self, form: &str) -> &str {
        if self.shown.form == form { &self.shown.username } else { "" }
    }

    fn chosen(&self, form: &str, role: &Role) -> bool {
        self.shown.form == form && self.shown.role == role.as_str()
    }

    fn about(&self, role: &Role) -> &'static str {
        let t = &self.chrome.text().people;
        match role {
            Role::Admin => t.about_admin,
            Role::Operator => t.about_operator,
            Role::Support => t.about_support,
            Role::Viewer | Role::User => t.about_viewer,
        }
    }

    fn problem(&self) -> Option<&'static str> {
        problem_text(&self.chrome, self.shown.problem)
    }

    fn notice(&self) -> Option<&'static str> {
        let t = &self.chrome.text().people;
        match self.shown.done.as_str() {
            "role" => Some(t.done_role),
            "policy" => Some(if self.policy.second_factor_required { t.done_policy_on } else { t.done_policy_off }),
            "dismiss" => Some(t.done_dismiss),
            "reset" => Some(t.done_reset),
            "appoint" => Some(t.done_appoint),
            _ => None,
        }
    }
}
