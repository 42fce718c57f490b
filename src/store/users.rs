//! People who may sign in.

use jiff::Timestamp;
use sqlx::any::AnyRow;

use super::{Store, StoreError, row};
use crate::domain::UserId;

/// What somebody is to the shop. All but `User` are staff.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    User,
    /// The owner: may do everything, also appoint others.
    Admin,
    /// Runs sales and keeps the catalogue.
    Operator,
    /// Helps shoppers with their orders and accounts.
    Support,
    /// Looks, and changes nothing.
    Viewer,
}

impl Role {
    pub const ALL: [Role; 5] = [Role::User, Role::Admin, Role::Operator, Role::Support, Role::Viewer];

    pub fn as_str(self) -> &'static str {
        match self {
            Role::User => "user",
            Role::Admin => "admin",
            Role::Operator => "operator",
            Role::Support => "support",
            Role::Viewer => "viewer",
        }
    }

    pub fn is_staff(self) -> bool {
        self != Role::User
    }
}

impl std::str::FromStr for Role {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        Role::ALL.into_iter().find(|role| role.as_str() == text).ok_or(())
    }
}

/// An account with the hash of its password.
#[derive(Debug, Clone)]
pub struct User {
    pub id: UserId,
    pub username: String,
    pub password_hash: String,
    pub role: Role,
}

macro_rules! columns {
    () => {
        "id, username, password_hash, role"
    };
}

fn user(row: &AnyRow) -> Result<User, sqlx::Error> {
    Ok(User {
        id: row::parsed(row, "id")?,
        username: row::text(row, "username")?,
        password_hash: row::text(row, "password_hash")?,
        role: row::parsed(row, "role")?,
    })
}

/// Names that differ only in case are one name.
fn key(username: &str) -> String {
    username.to_lowercase()
}

impl Store {
    /// Adds an account; `false` when the name is taken.
    pub async fn add_user(&self, user: &User, now: Timestamp) -> Result<bool, StoreError> {
        let done = sqlx::query(
            "INSERT INTO users (id, username, username_key, password_hash, role, created_at_ms)
             VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING",
        )
        .bind(user.id.to_string())
        .bind(&user.username)
        .bind(key(&user.username))
        .bind(&user.password_hash)
        .bind(user.role.as_str())
        .bind(now.as_millisecond())
        .execute(&self.pool)
        .await?;
        Ok(done.rows_affected() == 1)
    }

    pub async fn user_named(&self, username: &str) -> Result<Option<User>, StoreError> {
        let row = sqlx::query(concat!("SELECT ", columns!(), " FROM users WHERE username_key = $1"))
            .bind(key(username))
            .fetch_optional(&self.pool)
            .await?;
        Ok(row.as_ref().map(user).transpose()?)
    }

    pub async fn user(&self, id: UserId) -> Result<Option<User>, StoreError> {
        let row = sqlx::query(concat!("SELECT ", columns!(), " FROM users WHERE id = $1"))
            .bind(id.to_string())
            .fetch_optional(&self.pool)
            .await?;
        Ok(row.as_ref().map(user).transpose()?)
    }

    pub async fn set_password(&self, id: UserId, password_hash: &str) -> Result<(), StoreError> {
        sqlx::query("UPDATE users SET password_hash = $2 WHERE id = $1")
            .bind(id.to_string())
            .bind(password_hash)
            .execute(&self.pool)
            .await?;
        Ok(())
    }
}
