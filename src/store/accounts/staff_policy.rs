//! The rules that owners set for all staff.

use serde_json::json;
use sqlx::any::AnyRow;

use super::key;
use crate::{AccountStore, Actor, StoreError, audit_log, row};
use domain::AuditAction;

/// The rules that owners set for all staff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StaffPolicy {
    /// Whether staff need a second factor to use the console.
    pub second_factor_required: bool,
    pub version: i64,
}

fn policy(row: &AnyRow) -> Result<StaffPolicy, sqlx::Error> {
    let second_factor_required = row::int(row, "second_factor_required")? != 0;
    Ok(StaffPolicy { second_factor_required, version: row::int(row, "version")? })
}

impl AccountStore<'_> {
    pub async fn staff_policy(self) -> Result<StaffPolicy, StoreError> {
        let sql = "SELECT second_factor_required, version FROM staff_policy WHERE id = 1";
        Ok(policy(&sqlx::query(sql).fetch_one(&self.pool).await?)?)
    }

    /// Requires a second factor if no account has this name. Returns whether it did.
    pub async fn require_second_factor_without(self, username: &str) -> Result<bool, StoreError> {
        let sql = "UPDATE staff_policy SET second_factor_required = 1, version = version + 1
                   WHERE id = 1 AND NOT EXISTS (SELECT 1 FROM users WHERE username_key = $1)";
        Ok(sqlx::query(sql).bind(key(username)).execute(&self.pool).await?.rows_affected() == 1)
    }

    /// Sets the rule, with a line in the audit log. Returns `None` and changes nothing if the policy is in none of the
    /// `versions`.
    pub async fn require_second_factor(
        self,
        actor: &Actor,
        versions: Option<&[i64]>,
        required: bool,
    ) -> Result<Option<StaffPolicy>, StoreError> {
        let mut tx = self.begin().await?;
        let now = tx.now;
        // This locks the row.
        let next =
            "UPDATE staff_policy SET version = version + 1 WHERE id = 1 RETURNING second_factor_required, version";
        let next = policy(&sqlx::query(next).fetch_one(&mut *tx).await?)?;
        if versions.is_some_and(|versions| !versions.contains(&(next.version - 1))) {
            return Ok(None);
        }
        let sql = "UPDATE staff_policy SET second_factor_required = $1 WHERE id = 1";
        sqlx::query(sql).bind(i64::from(required)).execute(&mut *tx).await?;
        let before = json!({"second_factor": next.second_factor_required});
        let after = json!({"second_factor": required});
        audit_log::log(&mut tx, &actor.name, AuditAction::StaffPolicy, "staff", Some(&before), Some(&after), now)
            .await?;
        tx.commit().await?;
        Ok(Some(StaffPolicy { second_factor_required: required, ..next }))
    }
}
