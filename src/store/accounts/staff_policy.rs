//! What the owners ask of all staff.

use serde_json::json;

use super::key;
use crate::domain::AuditAction;
use crate::store::{Actor, Store, StoreError, audit_log, row};

const READ: &str = "SELECT second_factor_required FROM staff_policy WHERE id = 1";

impl Store {
    /// Whether only staff with a second factor use the console.
    pub async fn requires_second_factor(&self) -> Result<bool, StoreError> {
        Ok(row::int(&sqlx::query(READ).fetch_one(&self.pool).await?, "second_factor_required")? != 0)
    }

    /// Requires it as long as there is no account of this name. Whether there was none.
    pub async fn require_second_factor_without(&self, username: &str) -> Result<bool, StoreError> {
        let sql = "UPDATE staff_policy SET second_factor_required = 1
                   WHERE id = 1 AND NOT EXISTS (SELECT 1 FROM users WHERE username_key = $1)";
        Ok(sqlx::query(sql).bind(key(username)).execute(&self.pool).await?.rows_affected() == 1)
    }

    /// Sets it, with a line in the audit log.
    pub async fn require_second_factor(&self, actor: &Actor, required: bool) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        let now = tx.now;
        let before: i64 = row::int(&sqlx::query(READ).fetch_one(&mut *tx).await?, "second_factor_required")?;
        let sql = "UPDATE staff_policy SET second_factor_required = $1 WHERE id = 1";
        sqlx::query(sql).bind(i64::from(required)).execute(&mut *tx).await?;
        let (before, after) = (json!({"second_factor": before != 0}), json!({"second_factor": required}));
        audit_log::log(&mut tx, &actor.name, AuditAction::StaffPolicy, "staff", Some(&before), Some(&after), now)
            .await?;
        Ok(tx.commit().await?)
    }
}
