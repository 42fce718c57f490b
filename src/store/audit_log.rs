//! The audit log: actions of staff, each logged in the transaction that performs it.

use jiff::Timestamp;
use serde::Serialize;
use sqlx::AssertSqlSafe;
use uuid::Uuid;

use super::{Store, StoreError, Tx, row};

/// One line of the audit log. `before` and `after` are JSON, empty where there is nothing to show.
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

/// A filter over the log. An empty text matches every line.
#[derive(Debug, Clone, Default)]
pub struct AuditFilter {
    pub actor: String,
    pub action: String,
    /// Such as `sale 7`.
    pub subject: String,
    pub from: Option<Timestamp>,
    /// Exclusive.
    pub to: Option<Timestamp>,
}

/// Adds a line to the log within the transaction `tx`.
pub(super) async fn log<T: Serialize>(
    tx: &mut Tx,
    actor: &str,
    action: &str,
    subject: &str,
    before: Option<&T>,
    after: Option<&T>,
    now: Timestamp,
) -> Result<(), sqlx::Error> {
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

fn json<T: Serialize>(value: Option<&T>) -> Result<String, sqlx::Error> {
    let text = value.map(serde_json::to_string).transpose().map_err(|e| sqlx::Error::Encode(e.into()))?;
    Ok(text.unwrap_or_default())
}

impl Store {
    /// Logs an event that changes nothing else in the database, such as a failed log-in.
    pub async fn log_event<T: Serialize>(
        &self,
        actor: &str,
        action: &str,
        subject: &str,
        details: &T,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        log(&mut tx, actor, action, subject, None, Some(details), now).await?;
        Ok(tx.commit().await?)
    }

    /// Logs that staff removed something that is not in the database, such as a dead letter.
    pub async fn log_removal<T: Serialize>(
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

    /// Lines of the audit log, newest first, older than the row `before`.
    pub async fn audit_log(
        &self,
        filter: &AuditFilter,
        before: Option<&str>,
        limit: i64,
    ) -> Result<Vec<AuditRow>, StoreError> {
        // Without a subject the condition is left out: with it in an `OR` no database would use the index.
        let of_subject = if filter.subject.is_empty() { "$4 = ''" } else { "subject = $4" };
        let sql = format!(
            "SELECT id, at_ms, actor, action, subject, before, after FROM audit_log
             WHERE id < $1 AND ($2 = '' OR LOWER(actor) = $2) AND ($3 = '' OR action = $3)
               AND {of_subject} AND at_ms >= $5 AND at_ms < $6
             ORDER BY id DESC LIMIT $7"
        );
        let query = sqlx::query(AssertSqlSafe(sql))
            // Sorts after every UUID.
            .bind(before.unwrap_or("g"))
            .bind(filter.actor.to_lowercase())
            .bind(&filter.action)
            .bind(&filter.subject)
            .bind(filter.from.map_or(i64::MIN, Timestamp::as_millisecond))
            .bind(filter.to.map_or(i64::MAX, Timestamp::as_millisecond))
            .bind(limit);
        self.all(query, |row| {
            Ok(AuditRow {
                id: row::text(row, "id")?,
                at: row::time(row, "at_ms")?,
                actor: row::text(row, "actor")?,
                action: row::text(row, "action")?,
                subject: row::text(row, "subject")?,
                before: row::text(row, "before")?,
                after: row::text(row, "after")?,
            })
        })
        .await
    }

    /// Every action name that occurs in the log.
    pub async fn audit_actions(&self) -> Result<Vec<String>, StoreError> {
        let query = sqlx::query("SELECT DISTINCT action FROM audit_log ORDER BY action");
        self.all(query, |row| row::text(row, "action")).await
    }
}
