//! The catalogue's revision, and the audit log of what administrators did.

use jiff::Timestamp;
use serde::Serialize;
use sqlx::{AssertSqlSafe, Row};
use uuid::Uuid;

use super::{Store, StoreError, Tx, row};

/// One line of the audit log; `before` and `after` are JSON, empty where there is nothing.
#[derive(Debug, Clone, Serialize)]
pub struct AuditRow {
    pub id: String,
    pub at: Timestamp,
    pub actor: String,
    pub action: String,
    pub subject: String,
    pub before: String,
    pub after: String,
}

/// Raises the revision; the catalogue's row stays locked, so changes happen one after the other.
pub(super) async fn touch(tx: &mut Tx) -> Result<(), sqlx::Error> {
    sqlx::query("UPDATE catalogue SET revision = revision + 1 WHERE id = 1").execute(&mut **tx).await?;
    Ok(())
}

/// As `touch`, and takes the next number of a counter.
pub(super) async fn next_id(tx: &mut Tx, counter: &'static str) -> Result<i64, sqlx::Error> {
    let sql =
        format!("UPDATE catalogue SET revision = revision + 1, {counter} = {counter} + 1 RETURNING {counter} AS id");
    sqlx::query(AssertSqlSafe(sql)).fetch_one(&mut **tx).await?.try_get("id")
}

/// Writes down who did what.
pub(super) async fn log<T: Serialize>(
    tx: &mut Tx,
    actor: &str,
    action: &str,
    subject: &str,
    before: Option<&T>,
    after: Option<&T>,
    now: Timestamp,
) -> Result<(), sqlx::Error> {
    let json = |value: Option<&T>| match value {
        Some(value) => serde_json::to_string(value).map_err(|e| sqlx::Error::Encode(e.into())),
        None => Ok(String::new()),
    };
    sqlx::query(
        "INSERT INTO audit_log (id, at_ms, actor, action, subject, before, after) VALUES ($1, $2, $3, $4, $5, $6, $7)",
    )
    .bind(Uuid::now_v7().to_string())
    .bind(now.as_millisecond())
    .bind(actor)
    .bind(action)
    .bind(subject)
    .bind(json(before)?)
    .bind(json(after)?)
    .execute(&mut **tx)
    .await?;
    Ok(())
}

impl Store {
    /// Writes down what somebody of the staff did that touches nothing else in the database.
    pub async fn write_down<T: Serialize>(
        &self,
        actor: &str,
        action: &str,
        subject: &str,
        before: &T,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        log(&mut tx, actor, action, subject, Some(before), None, now).await?;
        Ok(tx.commit().await?)
    }

    /// Rises with every change of goods or sales.
    pub async fn revision(&self) -> Result<i64, StoreError> {
        let row = sqlx::query("SELECT revision FROM catalogue WHERE id = 1").fetch_one(&self.pool).await?;
        Ok(row::int(&row, "revision")?)
    }

    /// The audit log, newest first, from before the row with id `before`.
    pub async fn audit_log(&self, before: Option<&str>, most: i64) -> Result<Vec<AuditRow>, StoreError> {
        let rows = sqlx::query(
            "SELECT id, at_ms, actor, action, subject, before, after FROM audit_log
             WHERE id < $1 ORDER BY id DESC LIMIT $2",
        )
        // Sorts after every UUID.
        .bind(before.unwrap_or("g"))
        .bind(most)
        .fetch_all(&self.pool)
        .await?;
        let read = |row| {
            Ok(AuditRow {
                id: row::text(row, "id")?,
                at: row::time(row, "at_ms")?,
                actor: row::text(row, "actor")?,
                action: row::text(row, "action")?,
                subject: row::text(row, "subject")?,
                before: row::text(row, "before")?,
                after: row::text(row, "after")?,
            })
        };
        Ok(rows.iter().map(read).collect::<Result<_, sqlx::Error>>()?)
    }
}
