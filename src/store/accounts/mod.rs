//! Accounts: shoppers and staff.

pub(super) mod addresses;
pub(super) mod changes;
pub(super) mod contacts;
pub(super) mod credentials;
pub(super) mod export;
pub(super) mod external;
pub(super) mod registrations;
pub(super) mod sessions;

use std::collections::HashMap;

use jiff::Timestamp;
use sha2::{Digest, Sha256};
use sqlx::any::AnyRow;
use sqlx::{AssertSqlSafe, Row};

use contacts::{RegistrationContact, RegistrationDevice};

use super::{AccountStore, StoreError, Tx, audit_log, bind_ids, escaped_pattern, linked_accounts, list, padded, row};
use crate::pool::Connection;
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

macro_rules! columns {
    () => {
        "id, username, password_hash, role, created_at_ms, logged_in_at_ms, blocked_at_ms, blocked_reason,
         deleted_at_ms, must_change_password, password_expires_at_ms, second_factor, external_id,
         version,
         (SELECT COUNT(*) FROM passkeys WHERE passkeys.user_id = users.id) AS passkeys"
    };
}

fn user(row: &AnyRow) -> Result<User, sqlx::Error> {
    Ok(User {
        id: row::parsed(row, "id")?,
        username: row::text(row, "username")?,
        password_hash: row::text(row, "password_hash")?,
        role: row::parsed(row, "role")?,
        created_at: row::time(row, "created_at_ms")?,
        logged_in_at: row::optional_time(row, "logged_in_at_ms")?,
        blocked_at: row::optional_time(row, "blocked_at_ms")?,
        blocked_reason: row.try_get("blocked_reason")?,
        deleted_at: row::optional_time(row, "deleted_at_ms")?,
        must_change_password: row::int(row, "must_change_password")? != 0,
        password_expires_at: row::optional_time(row, "password_expires_at_ms")?,
        second_factor: row.try_get("second_factor")?,
        passkeys: row::int(row, "passkeys")?,
        external_id: row.try_get("external_id")?,
        version: row::int(row, "version")?,
    })
}

/// Whether the account in a row with these two columns of `users` is deleted or blocked, and so cannot buy.
pub(super) fn is_closed(row: &AnyRow) -> Result<bool, sqlx::Error> {
    let has = |column| Ok::<_, sqlx::Error>(row.try_get::<Option<i64>, _>(column)?.is_some());
    Ok(has("deleted_at_ms")? || has("blocked_at_ms")?)
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
async fn log_own_change(tx: &mut Tx, user: &User, action: AuditAction, now: Timestamp) -> Result<(), sqlx::Error> {
    if !user.role.is_staff() {
        return Ok(());
    }
    audit_log::log::<serde_json::Value>(tx, &user.username, action, &format!("user {}", user.id), None, None, now).await
}

impl AccountStore<'_> {
    /// Adds an account. Returns `false` if the name is taken, also by a deleted account.
    pub async fn add_user(self, user: &User) -> Result<bool, StoreError> {
        let mut tx = self.begin().await?;
        let added = add(&mut tx, user).await?;
        tx.commit().await?;
        Ok(added)
    }

    /// Like [`AccountStore::add_user`], for an account that registers. `links` are for finding linked accounts; `contact` is
    /// the verified address that stood in for proof of work.
    pub async fn register_user(
        self,
        user: &User,
        links: &[LinkDigest],
        contact: Option<(&RegistrationContact, RegistrationDevice<'_>)>,
    ) -> Result<RegisterOutcome, StoreError> {
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
        tx.commit().await?;
        Ok(RegisterOutcome::Added)
    }

    /// The names of users. Deleted users are missing.
    pub async fn usernames(self, ids: &[UserId]) -> Result<HashMap<UserId, String>, StoreError> {
        let mut names = HashMap::new();
        for chunk in padded(ids) {
            let sql = format!("SELECT id, username FROM users WHERE id IN {}", list(chunk.len(), 0));
            let query = bind_ids(sqlx::query(AssertSqlSafe(sql)), &chunk);
            for row in query.fetch_all(&self.pool).await? {
                names.insert(row::parsed(&row, "id")?, row::text(&row, "username")?);
            }
        }
        Ok(names)
    }

    pub async fn user_named(self, username: &str) -> Result<Option<User>, StoreError> {
        let query =
            sqlx::query(concat!("SELECT ", columns!(), " FROM users WHERE username_key = $1")).bind(key(username));
        self.optional(query, user).await
    }

    pub async fn user(self, id: UserId) -> Result<Option<User>, StoreError> {
        Ok(read(&mut self.pool.acquire().await?, id).await?)
    }

    /// Accounts after the account `before`, without the accounts of rehearsals, in the order of the search. A search
    /// for a name reads the accounts whose name begins like it along the index of names.
    pub async fn find_users(
        self,
        search: &UserSearch,
        before: Option<UserId>,
        limit: i64,
    ) -> Result<Vec<User>, StoreError> {
        let before = before.map(|id| id.to_string());
        let query = match search {
            UserSearch::Id(id) => return Ok(self.user(*id).await?.into_iter().collect()),
            UserSearch::ByName => {
                let sql = concat!(
                    "SELECT ",
                    columns!(),
                    " FROM users WHERE username_key > COALESCE((SELECT username_key FROM users WHERE id = $2), '')
                        AND rehearsal IS NULL ORDER BY username_key LIMIT $1"
                );
                sqlx::query(sql).bind(limit).bind(before.unwrap_or_default())
            }
            UserSearch::Oldest => {
                let sql = concat!(
                    "SELECT ",
                    columns!(),
                    " FROM users WHERE id > $2 AND rehearsal IS NULL ORDER BY id LIMIT $1"
                );
                sqlx::query(sql).bind(limit).bind(before.unwrap_or_default())
            }
            UserSearch::All => {
                let sql = concat!(
                    "SELECT ",
                    columns!(),
                    " FROM users WHERE id < $2 AND rehearsal IS NULL ORDER BY id DESC LIMIT $1"
                );
                // "g" sorts after every UUID.
                sqlx::query(sql).bind(limit).bind(before.unwrap_or_else(|| "g".to_owned()))
            }
            UserSearch::Named(name) => {
                // SQLite uses no index for LIKE. It orders texts by their bytes, so a range over the index finds the
                // same names.
                let range = if self.shares_clock() { " AND username_key < $3 || $5" } else { "" };
                let sql = format!(
                    concat!(
                        "SELECT ",
                        columns!(),
                        " FROM users WHERE username_key LIKE $4 ESCAPE '\\' AND username_key >= $3{range}
                            AND username_key > COALESCE((SELECT username_key FROM users WHERE id = $2), '')
                            AND rehearsal IS NULL ORDER BY username_key LIMIT $1"
                    ),
                    range = range
                );
                let pattern = format!("{}%", escaped_pattern(name));
                let query = sqlx::query(AssertSqlSafe(sql)).bind(limit).bind(before.unwrap_or_default());
                let query = query.bind(name.clone()).bind(pattern);
                if self.shares_clock() { query.bind(char::MAX.to_string()) } else { query }
            }
        };
        self.all(query, user).await
    }

    /// The accounts of all staff.
    pub async fn staff(self) -> Result<Vec<User>, StoreError> {
        let sql = concat!("SELECT ", columns!(), " FROM users WHERE role <> 'user' ORDER BY id");
        self.all(sqlx::query(sql), user).await
    }
}

pub(super) async fn add(tx: &mut Tx, user: &User) -> Result<bool, sqlx::Error> {
    let done = sqlx::query(
        "INSERT INTO users (id, username, username_key, password_hash, role, created_at_ms, must_change_password,
           password_expires_at_ms)
         SELECT $1, $2, $3, $4, $5, CAST($6 AS BIGINT), CAST($7 AS BIGINT), CAST($8 AS BIGINT)
         WHERE NOT EXISTS (SELECT 1 FROM users WHERE username_key = $9) ON CONFLICT DO NOTHING",
    )
    .bind(user.id.to_string())
    .bind(&user.username)
    .bind(key(&user.username))
    .bind(&user.password_hash)
    .bind(user.role.as_str())
    .bind(user.created_at.as_millisecond())
    .bind(i64::from(user.must_change_password))
    .bind(user.password_expires_at.map(Timestamp::as_millisecond))
    .bind(tombstone(&user.username))
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected() == 1)
}

pub(super) async fn read(connection: &mut Connection, id: UserId) -> Result<Option<User>, sqlx::Error> {
    let sql = concat!("SELECT ", columns!(), " FROM users WHERE id = $1");
    let row = sqlx::query(sql).bind(id.to_string()).fetch_optional(connection).await?;
    row.as_ref().map(user).transpose()
}
