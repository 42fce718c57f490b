//! The second factor of an account: the authenticator's secret, used codes, and recovery codes.

use jiff::Timestamp;
use serde_json::json;
use uuid::Uuid;

use super::log_own_change;
use super::sessions;
use crate::{CredentialStore, Revocation, StoreError, User, mail, row};
use domain::{AuditAction, MailKind, UserId};

impl CredentialStore<'_> {
    /// Sets the encrypted secret and the hashes of new recovery codes. `step` is the time step of the code that
    /// confirmed the secret. Ends all sessions but `keep`.
    pub async fn set_second_factor(
        self,
        user: &User,
        secret: &str,
        step: i64,
        recovery: &[String],
        keep: Uuid,
        now: Timestamp,
    ) -> Result<Vec<Revocation>, StoreError> {
        let mut tx = self.begin().await?;
        let ended = sessions::end_others(&mut tx, user.id, keep, now).await?;
        let id = user.id.to_string();
        sqlx::query("UPDATE users SET second_factor = $2, second_factor_step = $3 WHERE id = $1")
            .bind(&id)
            .bind(secret)
            .bind(step)
            .execute(&mut *tx)
            .await?;
        sqlx::query("DELETE FROM recovery_codes WHERE user_id = $1").bind(&id).execute(&mut *tx).await?;
        for hash in recovery {
            sqlx::query("INSERT INTO recovery_codes (user_id, hash) VALUES ($1, $2)")
                .bind(&id)
                .bind(hash)
                .execute(&mut *tx)
                .await?;
        }
        let replaces = user.second_factor.is_some();
        let kind = if replaces { MailKind::SecondFactorReplaced } else { MailKind::SecondFactorOn };
        mail::notify(&mut tx, user.id, kind, json!({})).await?;
        log_own_change(&mut tx, user, AuditAction::SetSecondFactor, now).await?;
        tx.commit().await?;
        Ok(ended)
    }

    /// Removes the secret and the recovery codes. Ends all sessions but `keep`.
    pub async fn remove_second_factor(
        self,
        user: &User,
        keep: Uuid,
        now: Timestamp,
    ) -> Result<Vec<Revocation>, StoreError> {
        let mut tx = self.begin().await?;
        let ended = sessions::end_others(&mut tx, user.id, keep, now).await?;
        let id = user.id.to_string();
        for sql in
            ["UPDATE users SET second_factor = NULL WHERE id = $1", "DELETE FROM recovery_codes WHERE user_id = $1"]
        {
            sqlx::query(sql).bind(&id).execute(&mut *tx).await?;
        }
        mail::notify(&mut tx, user.id, MailKind::SecondFactorOff, json!({})).await?;
        log_own_change(&mut tx, user, AuditAction::RemoveSecondFactor, now).await?;
        tx.commit().await?;
        Ok(ended)
    }

    /// The encrypted secrets of users after `after`, by id. Reads the table of users along its key.
    pub async fn second_factors(self, after: Option<UserId>, limit: i64) -> Result<Vec<(UserId, String)>, StoreError> {
        let sql =
            "SELECT id, second_factor FROM users WHERE id > $1 AND second_factor IS NOT NULL ORDER BY id LIMIT $2";
        let after = after.map(|user| user.to_string()).unwrap_or_default();
        let rows = sqlx::query(sql).bind(after).bind(limit).fetch_all(&self.pool).await?;
        let read = |row| Ok((row::parsed(row, "id")?, row::text(row, "second_factor")?));
        Ok(rows.iter().map(read).collect::<Result<_, sqlx::Error>>()?)
    }

    /// Replaces an encrypted secret if it is still `old`. Returns `false` if it was changed or removed.
    pub async fn replace_second_factor(self, user: UserId, old: &str, new: &str) -> Result<bool, StoreError> {
        let sql = "UPDATE users SET second_factor = $3 WHERE id = $1 AND second_factor = $2";
        let done = sqlx::query(sql).bind(user.to_string()).bind(old).bind(new).execute(&self.pool).await?;
        Ok(done.rows_affected() == 1)
    }

    /// Marks a time step and all earlier ones as used. Returns `false` if it was used before.
    pub async fn consume_code_step(self, user: UserId, step: i64) -> Result<bool, StoreError> {
        let sql = "UPDATE users SET second_factor_step = $2 WHERE id = $1 AND second_factor_step < $2";
        let done = sqlx::query(sql).bind(user.to_string()).bind(step).execute(&self.pool).await?;
        Ok(done.rows_affected() == 1)
    }

    /// Deletes a recovery code, and sends mail to the account's address. Returns `false` if there is no such code.
    pub async fn consume_recovery_code(self, user: UserId, hash: &str) -> Result<bool, StoreError> {
        let mut tx = self.begin().await?;
        let sql = "DELETE FROM recovery_codes WHERE user_id = $1 AND hash = $2";
        let done = sqlx::query(sql).bind(user.to_string()).bind(hash).execute(&mut *tx).await?;
        if done.rows_affected() == 0 {
            return Ok(false);
        }
        mail::notify(&mut tx, user, MailKind::RecoveryCodeUsed, json!({})).await?;
        tx.commit().await?;
        Ok(true)
    }

    pub async fn recovery_codes_left(self, user: UserId) -> Result<i64, StoreError> {
        let sql = "SELECT COUNT(*) AS n FROM recovery_codes WHERE user_id = $1";
        let row = sqlx::query(sql).bind(user.to_string()).fetch_one(&self.pool).await?;
        Ok(row::int(&row, "n")?)
    }
}
