//! Customers of another shop: accounts without a password, one for each id that the other shop gives.

use jiff::Timestamp;
use sqlx::any::AnyRow;

use super::is_closed;
use crate::{AccountStore, StoreError, row};
use domain::{Role, UserId};

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

fn account(row: &AnyRow) -> Result<ExternalAccount, sqlx::Error> {
    Ok(ExternalAccount {
        id: row::parsed(row, "id")?,
        since: row::time(row, "created_at_ms")?,
        is_verified: row::int(row, "external_verified")? == 1,
        is_closed: is_closed(row)?,
    })
}

impl AccountStore<'_> {
    /// The account with this id at the other shop.
    pub async fn external(self, external_id: &str) -> Result<Option<ExternalAccount>, StoreError> {
        let sql = "SELECT id, created_at_ms, external_verified, blocked_at_ms, deleted_at_ms FROM users
             WHERE external_id = $1";
        self.optional(sqlx::query(sql).bind(external_id), account).await
    }

    /// Adds the account of a customer, or changes what the other shop says about it. `new` has the id of a new account.
    /// Returns whether it is new. No one can sign in by the name of the account: its password is no hash, and no name
    /// that a shopper may choose has a colon.
    pub async fn put_external(self, external_id: &str, new: &ExternalAccount) -> Result<bool, StoreError> {
        let name = format!("ext:{external_id}");
        let sql = "INSERT INTO users (id, username, username_key, password_hash, role, created_at_ms, external_id,
               external_verified) VALUES ($1, $2, $2, 'none', $3, $4, $5, $6) ON CONFLICT DO NOTHING";
        let added = sqlx::query(sql)
            .bind(new.id.to_string())
            .bind(name)
            .bind(Role::User.as_str())
            .bind(new.since.as_millisecond())
            .bind(external_id)
            .bind(i64::from(new.is_verified))
            .execute(&self.pool)
            .await?;
        if added.rows_affected() == 1 {
            return Ok(true);
        }
        let sql = "UPDATE users SET created_at_ms = $2, external_verified = $3 WHERE external_id = $1";
        let query = sqlx::query(sql).bind(external_id).bind(new.since.as_millisecond());
        query.bind(i64::from(new.is_verified)).execute(&self.pool).await?;
        Ok(false)
    }
}
