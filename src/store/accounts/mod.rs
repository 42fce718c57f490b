//! Accounts: shoppers and staff, and customers of another shop. Those have no password, and one account for each id
//! that the other shop gives.
//!
//! Registrations are counted for all processes together. A count falls by one after each of its intervals. It is stored
//! in the table of guesses as the time at which it will be zero, as are the proofs of work that were spent.

pub(super) mod addresses;
pub(super) mod changes;
pub(super) mod contacts;
pub(super) mod credentials;
pub(super) mod export;
pub(super) mod sessions;

use std::collections::HashMap;

use boxed::boxed;
use jiff::Timestamp;
use sha2::{Digest, Sha256};
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

use crate::pool::Connection;
use crate::{AFTER_ALL, AccountStore, StoreResult, Tx, column, escaped_pattern, linked_accounts, pair, row};
use contacts::{RegistrationContact, RegistrationDevice};
use credentials::{lock_count, set_count};
use domain::{AuditAction, LinkDigest, Role, UserId};

/// The outcome of a registration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RegisterOutcome {
    Added,
    NameTaken,
    /// The address that was verified for the registration belongs to another account by now.
    ContactTaken,
}

/// An account with the hash of its password.
#[derive(Debug, Clone)]
pub struct User {
    pub id: UserId,
    pub username: String,
    pub password_hash: String,
    pub role: Role,
    pub created_at: Timestamp,
    pub logged_in_at: Option<Timestamp>,
    pub blocked_at: Option<Timestamp>,
    pub blocked_reason: Option<String>,
    /// When the owner deleted the account. Only its orders are left then.
    pub deleted_at: Option<Timestamp>,
    /// Whether the password was set by another person and must be replaced.
    pub must_change_password: bool,
    /// When a password that was set by another person expires.
    pub password_expires_at: Option<Timestamp>,
    /// The encrypted secret of the authenticator app.
    pub second_factor: Option<String>,
    /// The number of passkeys.
    pub passkeys: i64,
    /// The id of a customer of another shop. The account then has no password, and is never of the staff.
    pub external_id: Option<String>,
    /// Increases by one with every change that staff make.
    pub version: i64,
}

impl User {
    /// A new account.
    pub fn new(id: UserId, username: &str, password_hash: String, role: Role, now: Timestamp) -> User {
        User {
            id,
            username: username.to_owned(),
            password_hash,
            role,
            created_at: now,
            logged_in_at: None,
            blocked_at: None,
            blocked_reason: None,
            deleted_at: None,
            must_change_password: false,
            password_expires_at: None,
            second_factor: None,
            passkeys: 0,
            external_id: None,
            version: 1,
        }
    }

    pub fn is_blocked(&self) -> bool {
        self.blocked_at.is_some()
    }

    /// Whether the account can be signed in to with more than a password: an authenticator app or a passkey.
    pub fn has_second_factor(&self) -> bool {
        self.second_factor.is_some() || self.passkeys > 0
    }
}

/// A search over accounts: all of them, by the beginning of the name, or by id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UserSearch {
    /// All accounts: newest first, oldest first or by name. Each order has an index.
    All,
    Oldest,
    ByName,
    Named(String),
    Id(UserId),
}

impl UserSearch {
    /// Parses a search field: an id if it is one, otherwise the beginning of a name.
    pub fn typed(text: &str) -> UserSearch {
        match text.trim() {
            "" => UserSearch::All,
            text => text.parse().map_or_else(|_| UserSearch::Named(key(text)), UserSearch::Id),
        }
    }
}

column_list!(columns: "id, username, password_hash, role, created_at_ms, logged_in_at_ms, blocked_at_ms, blocked_reason,
    deleted_at_ms, must_change_password, password_expires_at_ms, second_factor, external_id,
    version,
    (SELECT COUNT(*) FROM passkeys WHERE passkeys.user_id = users.id) AS passkeys");

fn user(row: &AnyRow) -> sqlx::Result<User> {
    read!(row => User {
        id, username, password_hash, role, created_at: "created_at_ms", logged_in_at: "logged_in_at_ms",
        blocked_at: "blocked_at_ms", blocked_reason, deleted_at: "deleted_at_ms", must_change_password,
        password_expires_at: "password_expires_at_ms", second_factor, passkeys, external_id, version,
    })
}

/// Whether the account in a row with these two columns of `users` is deleted or blocked, and so cannot buy.
pub(super) fn is_closed(row: &AnyRow) -> sqlx::Result<bool> {
    Ok(row::has(row, "deleted_at_ms")? || row::has(row, "blocked_at_ms")?)
}

/// The unique key of a user name: names that differ only in case are the same name.
fn key(username: &str) -> String {
    username.to_lowercase()
}

/// The name key of a deleted account. It keeps the name reserved, so that a new account cannot impersonate the old one.
pub(super) fn tombstone(username: &str) -> String {
    let digest = Sha256::digest(key(username));
    digest.iter().fold("deleted ".to_owned(), |text, byte| format!("{text}{byte:02x}"))
}

/// Logs a change that staff make to their own account. Changes by shoppers are not logged.
async fn log_own_change(tx: &mut Tx, user: &User, action: AuditAction, now: Timestamp) -> sqlx::Result<()> {
    if !user.role.is_staff() {
        return Ok(());
    }
    tx.log::<serde_json::Value>(&user.username, action, &format!("user {}", user.id), None, None, now).await
}

#[boxed]
impl AccountStore<'_> {
    /// Adds an account. Returns `false` if the name is taken, also by a deleted account.
    pub async fn add_user(self, user: &User) -> StoreResult<bool> {
        let mut tx = self.begin().await?;
        let added = add(&mut tx, user).await?;
        tx.commit_and(added).await
    }

    /// Like [`AccountStore::add_user`], for an account that registers. `links` are for finding linked accounts; `contact` is
    /// the verified address that stood in for proof of work.
    pub async fn register_user(
        self,
        user: &User,
        links: &[LinkDigest],
        contact: Option<(&RegistrationContact, RegistrationDevice<'_>)>,
    ) -> StoreResult<RegisterOutcome> {
        let mut tx = self.begin().await?;
        if !add(&mut tx, user).await? {
            return Ok(RegisterOutcome::NameTaken);
        }
        linked_accounts::note_registration(&mut tx, user.id, links, user.created_at).await?;
        if let Some((contact, device)) = contact
            && !contacts::hand_over(&mut tx, user, contact, device).await?
        {
            return Ok(RegisterOutcome::ContactTaken);
        }
        tx.commit_and(RegisterOutcome::Added).await
    }

    /// The names of users. Deleted users are missing.
    pub async fn usernames(self, ids: &[UserId]) -> StoreResult<HashMap<UserId, String>> {
        let sql = "SELECT id, username FROM users WHERE id IN $ids";
        self.all_of(sql, &[], ids, pair("id", "username")).await
    }

    pub async fn user_named(self, username: &str) -> StoreResult<Option<User>> {
        self.optional(query!(select!(columns, "FROM users WHERE username_key = $1"); key(username)), user).await
    }

    pub async fn user(self, id: UserId) -> StoreResult<Option<User>> {
        Ok(read(&mut self.pool.acquire().await?, id).await?)
    }

    /// Accounts after the account `before`, without the accounts of rehearsals, in the order of the search. A search
    /// for a name reads the accounts whose name begins like it along the index of names.
    pub async fn find_users(self, search: &UserSearch, before: Option<UserId>, limit: i64) -> StoreResult<Vec<User>> {
        let after_name = "username_key > COALESCE((SELECT username_key FROM users WHERE id = $2), '')";
        let (condition, order) = match search {
            UserSearch::Id(id) => return Ok(self.user(*id).await?.into_iter().collect()),
            UserSearch::ByName => (after_name.to_owned(), "username_key"),
            UserSearch::Oldest => ("id > $2".to_owned(), "id"),
            UserSearch::All => ("id < $2".to_owned(), "id DESC"),
            UserSearch::Named(_) => {
                // SQLite uses no index for LIKE. It orders texts by their bytes, so a range over the index finds the
                // same names.
                let range = if self.shares_clock() { " AND username_key < $3 || $5" } else { "" };
                let like = "username_key LIKE $4 ESCAPE '\\' AND username_key >= $3";
                (format!("{like}{range} AND {after_name}"), "username_key")
            }
        };
        let sql = format!(
            "SELECT {} FROM users WHERE {condition} AND rehearsal IS NULL ORDER BY {order} LIMIT $1",
            columns!()
        );
        let first = if *search == UserSearch::All { AFTER_ALL } else { "" };
        let before = before.map_or_else(|| first.to_owned(), |id| id.to_string());
        let mut query = query!(AssertSqlSafe(sql); limit, before);
        if let UserSearch::Named(name) = search {
            query = query.bind(name).bind(format!("{}%", escaped_pattern(name)));
            if self.shares_clock() {
                query = query.bind(char::MAX.to_string());
            }
        }
        self.all(query, user).await
    }

    /// The accounts of all staff.
    pub async fn staff(self) -> StoreResult<Vec<User>> {
        let sql = select!(columns, "FROM users WHERE role <> 'user' ORDER BY id");
        self.all(query!(sql), user).await
    }
}

pub(super) async fn add(tx: &mut Tx, user: &User) -> sqlx::Result<bool> {
    let sql = "INSERT INTO users (id, username, username_key, password_hash, role, created_at_ms, must_change_password,
           password_expires_at_ms)
         SELECT $1, $2, $3, $4, $5, CAST($6 AS BIGINT), CAST($7 AS BIGINT), CAST($8 AS BIGINT)
         WHERE NOT EXISTS (SELECT 1 FROM users WHERE username_key = $9) ON CONFLICT DO NOTHING";
    let query = query!(sql; user.id, &user.username, key(&user.username), &user.password_hash, user.role,
        user.created_at, user.must_change_password, user.password_expires_at, tombstone(&user.username));
    Ok(tx.changed(query).await? == 1)
}

pub(super) async fn read(connection: &mut Connection, id: UserId) -> sqlx::Result<Option<User>> {
    let sql = select!(columns, "FROM users WHERE id = $1");
    connection.optional(query!(sql; id), user).await
}

/// The account of another shop's customer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalAccount {
    pub id: UserId,
    /// Since when the account counts: since when the other shop has known its customer.
    pub since: Timestamp,
    /// Whether the other shop has verified how it reaches the customer.
    pub is_verified: bool,
    /// Blocked or deleted here.
    pub is_closed: bool,
}

fn account(row: &AnyRow) -> sqlx::Result<ExternalAccount> {
    read!(row => ExternalAccount {
        id, since: "created_at_ms", is_verified: "external_verified", is_closed = is_closed(row)?,
    })
}

#[boxed]
impl AccountStore<'_> {
    /// The account with this id at the other shop.
    pub async fn external(self, external_id: &str) -> StoreResult<Option<ExternalAccount>> {
        let sql = "SELECT id, created_at_ms, external_verified, blocked_at_ms, deleted_at_ms FROM users
             WHERE external_id = $1";
        self.optional(query!(sql; external_id), account).await
    }

    /// Adds the account of a customer, or changes what the other shop says about it. `new` has the id of a new account.
    /// Returns whether it is new. No one can sign in by the name of the account: its password is no hash, and no name
    /// that a shopper may choose has a colon.
    pub async fn put_external(self, external_id: &str, new: &ExternalAccount) -> StoreResult<bool> {
        let name = format!("ext:{external_id}");
        let sql = "INSERT INTO users (id, username, username_key, password_hash, role, created_at_ms, external_id,
               external_verified) VALUES ($1, $2, $2, 'none', $3, $4, $5, $6) ON CONFLICT DO NOTHING";
        let added =
            self.changed(query!(sql; new.id, name, Role::User, new.since, external_id, new.is_verified)).await?;
        if added == 1 {
            return Ok(true);
        }
        let sql = "UPDATE users SET created_at_ms = $2, external_verified = $3 WHERE external_id = $1";
        self.run(query!(sql; external_id, new.since, new.is_verified)).await?;
        Ok(false)
    }
}

/// A count of registrations.
#[derive(Debug, Clone)]
pub struct RegistrationCount {
    pub key: String,
    /// Milliseconds after which one registration is forgotten.
    pub interval_ms: i64,
    /// The count grows up to this number.
    pub most: i64,
}

/// The outcome of counting a registration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountOutcome {
    Counted,
    /// The counts have grown since the challenge was issued, and its proof of work is too small for them.
    TooEasy,
    /// The proof was already spent on another account.
    Spent,
}

#[boxed]
impl AccountStore<'_> {
    /// The present counts, in the order of `of`.
    pub async fn registrations(self, of: &[RegistrationCount]) -> StoreResult<Vec<u64>> {
        let now = self.now().await?.as_millisecond();
        let mut counts = Vec::with_capacity(of.len());
        for count in of {
            let query = query!("SELECT restored_at_ms FROM guesses WHERE key = $1"; &count.key);
            let until = self.optional(query, column("restored_at_ms")).await?.unwrap_or(now);
            counts.push(counted(until - now, count));
        }
        Ok(counts)
    }

    /// Counts a registration and spends its proof, if `is_enough` says that the proof is enough for the counts before it.
    pub async fn count_registration(
        self,
        of: &[RegistrationCount],
        is_enough: impl Fn(&[u64]) -> bool,
        proof: Option<(&str, Timestamp)>,
    ) -> StoreResult<CountOutcome> {
        let mut tx = self.begin().await?;
        let mut counts = Vec::with_capacity(of.len());
        for count in of {
            let ahead = i64::try_from(lock_count(&mut tx, &count.key).await?).unwrap_or(i64::MAX);
            counts.push(counted(ahead, count));
            let next = ahead.saturating_add(count.interval_ms).min(count.interval_ms * count.most);
            set_count(&mut tx, &count.key, next).await?;
        }
        if !is_enough(&counts) {
            return Ok(CountOutcome::TooEasy);
        }
        if let Some((id, expires_at)) = proof
            && !spend(&mut tx, id, expires_at).await?
        {
            return Ok(CountOutcome::Spent);
        }
        tx.commit_and(CountOutcome::Counted).await
    }

    /// Marks what works once as spent until it expires. Returns `false` if it was spent before.
    pub async fn spend(self, id: &str, expires_at: Timestamp) -> StoreResult<bool> {
        let mut tx = self.begin().await?;
        let is_first = spend(&mut tx, id, expires_at).await?;
        tx.commit_and(is_first).await
    }

    /// Deletes expired challenges, which are refused anyway.
    pub async fn purge_spent_proofs(self) -> StoreResult<()> {
        self.run(query!("DELETE FROM spent_proofs WHERE expires_at_ms <= $1"; self.now().await?)).await
    }
}

/// Marks a challenge as spent until it expires. Returns `false` if it was spent before.
async fn spend(tx: &mut Tx, challenge: &str, expires_at: Timestamp) -> sqlx::Result<bool> {
    let sql = "INSERT INTO spent_proofs (id, expires_at_ms) VALUES ($1, $2) ON CONFLICT DO NOTHING";
    Ok(tx.changed(query!(sql; challenge, expires_at)).await? == 1)
}

fn counted(ahead_ms: i64, count: &RegistrationCount) -> u64 {
    u64::try_from(ahead_ms).unwrap_or_default().div_ceil(count.interval_ms.max(1).unsigned_abs())
}
