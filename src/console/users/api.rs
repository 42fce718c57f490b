//! Accounts of shoppers and staff.

use crate::prelude::*;
use accounts::administration::{check_block_reason, staff_role};
use store::{AccountChange, AccountEdit, StaffPolicy, User, UserSearch};
use web::extract::Permission;
use web::shared::SessionJson;
use web::shared::orders::OrderJson;

/// An account as the staff see it.
#[derive(Serialize, JsonSchema)]
struct AccountJson {
    id: UserId,
    username: String,
    role: Role,
    created_at: Timestamp,
    logged_in_at: Option<Timestamp>,
    blocked_at: Option<Timestamp>,
    blocked_reason: Option<String>,
    deleted_at: Option<Timestamp>,
    second_factor: bool,
    must_change_password: bool,
}

impl From<User> for AccountJson {
    fn from(user: User) -> Self {
        AccountJson {
            second_factor: user.second_factor.is_some(),
            id: user.id,
            username: user.username,
            role: user.role,
            created_at: user.created_at,
            logged_in_at: user.logged_in_at,
            blocked_at: user.blocked_at,
            blocked_reason: user.blocked_reason,
            deleted_at: user.deleted_at,
            must_change_password: user.must_change_password,
        }
    }
}

answers! {
    OneAccount { user: AccountJson }
    AccountList { users: Vec<AccountJson>; next: UserId }
    StaffList { staff: Vec<AccountJson> }
    AccountDetail { user: AccountJson, sessions: Vec<SessionJson>, orders: Vec<OrderJson> }
    /// An account whose password only this answer has.
    AccountWithPassword { user: AccountJson, password: String }
}

pub async fn users((State(shop), _): StaffCall<ViewConsole>, Query(query): Query<UserSearchQuery>) -> Answer {
    let found = find_users(&shop.store, &query).await?;
    let users = found.items.into_iter().map(AccountJson::from).collect();
    Ok(private(AccountList { users, next: found.next }))
}

pub async fn user((State(shop), _, PathIds(id)): StaffCallTo<ViewConsole, UserId>) -> Answer {
    let user = shop.store.accounts().user(id).await?.ok_or(Code::NotFound)?;
    let sessions = shop.store.sessions().sessions_of(id, shop.clock.now()).await?;
    let sessions = sessions.into_iter().map(SessionJson::masked).collect();
    let orders = shop.orders.list(id, &[], None, DEFAULT_PAGE_SIZE).await?;
    let orders = orders.items.into_iter().map(OrderJson::masked).collect();
    Ok(versioned(user.version, AccountDetail { user: user.into(), sessions, orders }))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BlockRequest {
    #[schemars(length(min = 1, max = 500))]
    reason: String,
}

pub async fn block(call: Call, Json(BlockRequest { reason }): Json<BlockRequest>) -> Answer {
    let reason = check_block_reason(&reason).map_err(|code| Problem::invalid_field("reason", code))?;
    change(call, AccountChange::Block { reason }).await
}

type Call = StaffCallTo<SupportShoppers, UserId>;

handlers! {
    change(call: Call)
    unblock AccountChange::Unblock;
    end_sessions AccountChange::EndSessions;
}

/// Sends the user a link that starts a recovery. The user finishes it.
pub async fn start_recovery((State(shop), staff, PathIds(id)): Call) -> Answer<StatusCode> {
    shop.accounts.start_recovery_for(&staff.session, id).await??;
    Ok(StatusCode::ACCEPTED)
}

async fn change<P: Permission>(call: StaffCallTo<P, UserId>, change: AccountChange) -> Answer {
    change_version(call, None, change).await
}

/// Changes an account if it has one of these versions.
async fn change_version<P: Permission>(
    (State(shop), staff, PathIds(id)): StaffCallTo<P, UserId>,
    versions: Option<Vec<i64>>,
    change: AccountChange,
) -> Answer {
    let user = shop.accounts.change_account(&staff.session, AccountEdit { id, versions }, &change).await?;
    Ok(versioned(user.version, OneAccount { user: user.into() }))
}

pub async fn staff((State(shop), _): StaffCall<ManageStaff>) -> Answer {
    let staff = shop.store.accounts().staff().await?.into_iter().map(AccountJson::from).collect();
    Ok(private(StaffList { staff }))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewStaffMember {
    #[schemars(length(min = 3, max = 32))]
    username: String,
    #[schemars(extend("enum" = ["admin", "operator", "support", "viewer"]))]
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
) -> Answer {
    let role = checked_role(&new.role)?;
    let (user, password) = shop.accounts.add_staff(&by.session, &new.username, role, request).await??;
    let location = format!("/api/admin/users/{}", user.id);
    let body = AccountWithPassword { user: user.into(), password };
    Ok((Extension(NotKept), created(location, body)).into_response())
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RoleRequest {
    #[schemars(extend("enum" = ["admin", "operator", "support", "viewer"]))]
    role: String,
}

/// Sets the role. With `If-Match`, only if the account has a version that it names.
pub async fn set_role(
    call: StaffCallTo<ManageStaff, UserId>,
    headers: HeaderMap,
    Json(new): Json<RoleRequest>,
) -> Answer {
    change_version(call, expected_versions(&headers), AccountChange::SetRole(checked_role(&new.role)?)).await
}

/// Takes the role of a member of the staff away. With `If-Match`, only if the account has a version that it names.
pub async fn dismiss(call: StaffCallTo<ManageStaff, UserId>, headers: HeaderMap) -> Answer {
    change_version(call, expected_versions(&headers), AccountChange::SetRole(Role::User)).await
}

fn policy_answer(policy: StaffPolicy) -> Response {
    versioned(policy.version, StaffPolicyBody { second_factor_required: policy.second_factor_required })
}

pub async fn policy((State(shop), _): StaffCall<ManageStaff>) -> Answer {
    Ok(policy_answer(shop.store.accounts().staff_policy().await?))
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StaffPolicyBody {
    /// Staff without a second factor get 403 `second_factor_required` from the console and its API.
    second_factor_required: bool,
}

/// Sets whether all staff need a second factor. With `If-Match`, only if the policy has a version that it names.
pub async fn set_policy(
    (State(shop), by): StaffCall<ManageStaff>,
    headers: HeaderMap,
    Json(policy): Json<StaffPolicyBody>,
) -> Answer {
    let (versions, required) = (expected_versions(&headers), policy.second_factor_required);
    Ok(policy_answer(shop.accounts.require_second_factor(&by.session, versions.as_deref(), required).await?))
}

/// Gives a member of the staff a temporary password, which only this answer carries.
pub async fn reset_password((State(shop), by, PathIds(id)): StaffCallTo<ManageStaff, UserId>) -> Answer {
    let (user, password) = shop.accounts.reset_password(&by.session, id).await??;
    Ok(private(AccountWithPassword { user: user.into(), password }))
}

pub async fn reset_second_factor(call: StaffCallTo<ManageStaff, UserId>) -> Answer {
    change(call, AccountChange::ResetSecondFactor).await
}

// The search for accounts, as the console's page and the API take it in their query.

/// A part of a user name or an id, and the cursor of the page.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct UserSearchQuery {
    /// The start of a username, or an id.
    pub q: String,
    pub before: Cursor,
    /// `oldest` or `name`, for a list of all accounts. A search by name is always sorted by name. Only the page reads
    /// it.
    #[schemars(skip)]
    pub sort: String,
    #[schemars(skip)]
    pub hide: String,
}

impl UserSearchQuery {
    fn search(&self) -> UserSearch {
        match (UserSearch::typed(&self.q), self.sort.as_str()) {
            (UserSearch::All, "oldest") => UserSearch::Oldest,
            (UserSearch::All, "name") => UserSearch::ByName,
            (search, _) => search,
        }
    }
}

/// One page of accounts, newest first unless the query says otherwise.
pub async fn find_users(store: &Store, query: &UserSearchQuery) -> Result<Page<User, UserId>, Problem> {
    let before = query.before.read("before")?;
    let users = store.accounts().find_users(&query.search(), before, LARGE_PAGE_SIZE as i64 + 1).await?;
    Ok(Page::cut(users, LARGE_PAGE_SIZE, |user| user.id))
}

web::operations! { "administrators"
    /// What the shop asks of its staff (owners only)
    GET "/api/admin/staff-policy" readStaffPolicy = policy, versioned;
        200 StaffPolicyBody;
    /// Require a second factor of all staff, or no longer (owners only)
    PUT "/api/admin/staff-policy" setStaffPolicy = set_policy, if_match, versioned;
        200 StaffPolicyBody;
        refuses StepUpNeeded;
    /// The staff (owners only)
    GET "/api/admin/staff" listStaff = staff;
        200 StaffList, "All users with a staff role.";
    /// Create a staff account (owners only)
    POST "/api/admin/staff" appointStaff = add_staff, located;
        201 AccountWithPassword, "With a one-time password that is returned only once. Under one key the same \
            password is made again, without `Idempotent-Replayed`.";
        refuses StepUpNeeded UsernameTaken BadUsername;
    /// Give a user a staff role, or change it (owners only); the user's sessions end
    PATCH "/api/admin/staff/{user}" changeRole = set_role, if_match, versioned;
        200 OneAccount;
        refuses StepUpNeeded LastOwner;
    /// Remove a user from staff (owners only)
    DELETE "/api/admin/staff/{user}" dismissStaff = dismiss, if_match, versioned;
        200 OneAccount, "The account, now without a staff role.";
        refuses StepUpNeeded LastOwner;
    /// Give a member of the staff a temporary password (owners only); the member's sessions end
    POST "/api/admin/staff/{user}/reset-password" resetPasswordOfStaff = reset_password;
        200 AccountWithPassword, "The account and the password, which has to be replaced within 72 hours. It cannot \
            be read again.";
        refuses StepUpNeeded Yourself RateLimited;
    /// Reset the second factor of a user (owners only)
    DELETE "/api/admin/staff/{user}/second-factor" removeSecondFactorOfStaff = reset_second_factor;
        200 OneAccount;
        refuses StepUpNeeded;
    /// Accounts, newest first; those that a text in `q` finds by name
    GET "/api/admin/users" searchUsers = users;
        200 AccountList;
    /// One account with its sessions and latest orders
    GET "/api/admin/users/{user}" showUser = user, versioned;
        200 AccountDetail, "The account, with the version of what staff change.";
    /// Block an account; its sessions end at once
    POST "/api/admin/users/{user}/block" blockUser = block, versioned;
        200 OneAccount;
        refuses LastOwner Yourself;
    /// End all sessions of an account
    POST "/api/admin/users/{user}/end-sessions" endSessionsOfUser = end_sessions, versioned;
        200 OneAccount;
    /// Send a link that sets a new password to the verified address of a shopper
    POST "/api/admin/users/{user}/start-recovery" startRecoveryOfUser = start_recovery;
        202 (), "A message is on its way. Only its reader can finish the recovery.";
        refuses NoMailAddress RateLimited;
    /// Unblock an account
    POST "/api/admin/users/{user}/unblock" unblockUser = unblock, versioned;
        200 OneAccount;
}
