//! Passkeys of accounts, and their use. A challenge is spent in the same transaction as the change that its answer
//! allows.

use jiff::Timestamp;
use sqlx::any::AnyRow;
use uuid::Uuid;

use super::log_own_change;
use super::registrations::spend;
use crate::{CredentialStore, StoreError, User, row};
use domain::{AuditAction, UserId};
use webauthn::has_advanced;

/// Passkeys that one account may have.
pub const MAX_PASSKEYS_PER_USER: i64 = 10;

/// A passkey.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passkey {
    pub id: Uuid,
    pub user_id: UserId,
    /// The id in base64url, like the key.
    pub credential_id: String,
    /// The key in COSE.
    pub public_key: String,
    pub sign_count: u32,
    pub name: String,
    pub created_at: Timestamp,
    pub used_at: Option<Timestamp>,
}

/// A challenge that an authenticator has answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnsweredChallenge {
    pub id: String,
    /// When the challenge expires. From then on it is refused anyway.
    pub expires_at: Timestamp,
}

/// The outcome of adding a passkey.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PasskeyAddition {
    Added,
    /// The challenge was answered before.
    Spent,
    /// The account has [`MAX_PASSKEYS_PER_USER`] passkeys, or is gone.
    TooMany,
    /// The credential belongs to an account already.
    Taken,
}

/// The outcome of using a passkey.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PasskeyUse {
    Used,
    /// The challenge was answered before.
    Spent,
    /// The counter did not increase, so the authenticator was copied.
    Copied,
    /// The passkey was removed.
    Gone,
}

macro_rules! columns {
    () => {
        "id, user_id, credential_id, public_key, sign_count, name, created_at_ms, used_at_ms"
    };
}

fn passkey(row: &AnyRow) -> Result<Passkey, sqlx::Error> {
    Ok(Passkey {
        id: row::parsed(row, "id")?,
        user_id: row::parsed(row, "user_id")?,
        credential_id: row::text(row, "credential_id")?,
        public_key: row::text(row, "public_key")?,
        sign_count: u32::try_from(row::int(row, "sign_count")?).unwrap_or(u32::MAX),
        name: row::text(row, "name")?,
        created_at: row::time(row, "created_at_ms")?,
        used_at: row::optional_time(row, "used_at_ms")?,
    })
}

impl CredentialStore<'_> {
    /// The passkeys of a user, the oldest first.
    pub async fn passkeys_of(self, user: UserId) -> Result<Vec<Passkey>, StoreError> {
        let sql = concat!("SELECT ", columns!(), " FROM passkeys WHERE user_id = $1 ORDER BY id");
        self.all(sqlx::query(sql).bind(user.to_string()), passkey).await
    }

    pub async fn passkey_of_credential(self, credential_id: &str) -> Result<Option<Passkey>, StoreError> {
        let sql = concat!("SELECT ", columns!(), " FROM passkeys WHERE credential_id = $1");
        self.optional(sqlx::query(sql).bind(credential_id.to_owned()), passkey).await
    }

    /// Adds a passkey, with a line in the audit log if it is an account of the staff.
    pub async fn add_passkey(
        self,
        user: &User,
        new: &Passkey,
        challenge: &AnsweredChallenge,
    ) -> Result<PasskeyAddition, StoreError> {
        let mut tx = self.begin().await?;
        let now = tx.now;
        let id = user.id.to_string();
        // Serializes additions to one account, and orders them with its deletion.
        let lock = "UPDATE users SET role = role WHERE id = $1 AND deleted_at_ms IS NULL";
        if sqlx::query(lock).bind(&id).execute(&mut *tx).await?.rows_affected() == 0 {
            return Ok(PasskeyAddition::TooMany);
        }
        if !spend(&mut tx, &challenge.id, challenge.expires_at).await? {
            return Ok(PasskeyAddition::Spent);
        }
        let count = sqlx::query("SELECT COUNT(*) AS n FROM passkeys WHERE user_id = $1").bind(&id);
        if row::int(&count.fetch_one(&mut *tx).await?, "n")? >= MAX_PASSKEYS_PER_USER {
            return Ok(PasskeyAddition::TooMany);
        }
        let added = sqlx::query(
            "INSERT INTO passkeys (id, user_id, credential_id, public_key, sign_count, name, created_at_ms)
             VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING",
        )
        .bind(new.id.to_string())
        .bind(&id)
        .bind(&new.credential_id)
        .bind(&new.public_key)
        .bind(i64::from(new.sign_count))
        .bind(&new.name)
        .bind(new.created_at.as_millisecond())
        .execute(&mut *tx)
        .await?;
        if added.rows_affected() == 0 {
            return Ok(PasskeyAddition::Taken);
        }
        log_own_change(&mut tx, user, AuditAction::AddPasskey, now).await?;
        tx.commit().await?;
        Ok(PasskeyAddition::Added)
    }

    /// Removes a passkey of a user. Returns `false` if the user has no such passkey.
    pub async fn remove_passkey(self, user: &User, id: Uuid) -> Result<bool, StoreError> {
        let mut tx = self.begin().await?;
        let now = tx.now;
        let query = sqlx::query("DELETE FROM passkeys WHERE user_id = $1 AND id = $2").bind(user.id.to_string());
        if query.bind(id.to_string()).execute(&mut *tx).await?.rows_affected() == 0 {
            return Ok(false);
        }
        log_own_change(&mut tx, user, AuditAction::RemovePasskey, now).await?;
        tx.commit().await?;
        Ok(true)
    }

    /// Records a use: spends the challenge and sets the new counter, or changes nothing.
    pub async fn use_passkey(
        self,
        id: Uuid,
        sign_count: u32,
        challenge: &AnsweredChallenge,
    ) -> Result<PasskeyUse, StoreError> {
        let mut tx = self.begin().await?;
        let now = tx.now.as_millisecond();
        // Locks the row, so that two uses at once compare their counters one after the other.
        let lock = "UPDATE passkeys SET used_at_ms = $2 WHERE id = $1 RETURNING sign_count";
        let query = sqlx::query(lock).bind(id.to_string()).bind(now);
        let Some(row) = query.fetch_optional(&mut *tx).await? else { return Ok(PasskeyUse::Gone) };
        if !spend(&mut tx, &challenge.id, challenge.expires_at).await? {
            return Ok(PasskeyUse::Spent);
        }
        let before = u32::try_from(row::int(&row, "sign_count")?).unwrap_or(u32::MAX);
        if !has_advanced(before, sign_count) {
            return Ok(PasskeyUse::Copied);
        }
        let count = "UPDATE passkeys SET sign_count = $2 WHERE id = $1";
        sqlx::query(count).bind(id.to_string()).bind(i64::from(sign_count)).execute(&mut *tx).await?;
        tx.commit().await?;
        Ok(PasskeyUse::Used)
    }
}
