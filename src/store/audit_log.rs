//! The audit log: actions of staff, each logged in the transaction that performs it.

use boxed::boxed;
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use serde_json::json;
use sqlx::AssertSqlSafe;
use uuid::Uuid;

use super::{AFTER_ALL, AuditLogStore, StoreResult, Tx, bound, column, conditions};
use domain::ids::first_id_of;
use domain::{AuditAction, Order};

/// One line of the audit log. `before` and `after` are JSON, or empty if there is nothing to show.
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
    /// The subject of a line, such as `sale 7`.
    pub subject: String,
    pub from: Option<Timestamp>,
    /// Lines at this time or later are left out.
    pub to: Option<Timestamp>,
    /// Ids sort by time, so every index serves both directions.
    pub oldest_first: bool,
}

impl Tx {
    /// Adds a line to the log.
    pub(super) async fn log<T: Serialize>(
        &mut self,
        actor: &str,
        action: AuditAction,
        subject: &str,
        before: Option<&T>,
        after: Option<&T>,
        now: Timestamp,
    ) -> sqlx::Result<()> {
        let sql = "INSERT INTO audit_log (id, at_ms, actor, action, subject, before, after)
             VALUES ($1, $2, $3, $4, $5, $6, $7)";
        self.run(query!(sql; Uuid::now_v7(), now, actor, action, subject, json(before)?, json(after)?)).await
    }
}

fn json<T: Serialize>(value: Option<&T>) -> sqlx::Result<String> {
    let text = value.map(serde_json::to_string).transpose().map_err(|e| sqlx::Error::Encode(e.into()))?;
    Ok(text.unwrap_or_default())
}

/// How far the clocks that make ids and times may be apart.
const CLOCK_TOLERANCE: SignedDuration = SignedDuration::from_hours(1);

fn apart(at: Timestamp, by: SignedDuration) -> Timestamp {
    at.saturating_add(by).unwrap_or(at)
}

#[boxed]
impl AuditLogStore<'_> {
    /// Logs an event that changes nothing else in the database, such as a failed log-in.
    pub async fn log_event<T: Serialize>(
        self,
        actor: &str,
        action: AuditAction,
        subject: &str,
        details: &T,
        now: Timestamp,
    ) -> StoreResult<()> {
        let mut tx = self.begin().await?;
        tx.log(actor, action, subject, None, Some(details), now).await?;
        Ok(tx.commit().await?)
    }

    /// Logs that staff read the recipient of an order: a line about the order and one about the account whose data it is, so
    /// that both lead to it.
    pub async fn log_recipient_read(self, actor: &str, order: &Order, reason: &str, now: Timestamp) -> StoreResult<()> {
        const ACTION: AuditAction = AuditAction::RevealRecipient;
        let (id, user) = (order.id, order.user_id);
        let of_order = json!({"reason": reason, "account": user});
        let of_account = json!({"reason": reason, "order": id});
        let mut tx = self.begin().await?;
        tx.log(actor, ACTION, &format!("order {id}"), None, Some(&of_order), now).await?;
        tx.log(actor, ACTION, &format!("user {user}"), None, Some(&of_account), now).await?;
        Ok(tx.commit().await?)
    }

    /// Logs that staff removed something that is not in the database, such as a dead letter.
    pub async fn log_removal<T: Serialize>(
        self,
        actor: &str,
        action: AuditAction,
        subject: &str,
        before: &T,
        now: Timestamp,
    ) -> StoreResult<()> {
        let mut tx = self.begin().await?;
        tx.log(actor, action, subject, Some(before), None, now).await?;
        Ok(tx.commit().await?)
    }

    /// Lines of the audit log after the row `before`, newest first unless the filter says otherwise.
    pub async fn list(self, filter: &AuditFilter, before: Option<&str>, limit: i64) -> StoreResult<Vec<AuditRow>> {
        let (conditions, values) = conditions(
            5,
            [
                ("LOWER(actor) =", filter.actor.to_lowercase()),
                ("action =", filter.action.clone()),
                ("subject =", filter.subject.clone()),
                // Ids sort by the time at which they were made, which is nearly the line's time.
                ("id >=", filter.from.map(|at| first_id_of(apart(at, -CLOCK_TOLERANCE))).unwrap_or_default()),
                ("id <", filter.to.map(|at| first_id_of(apart(at, CLOCK_TOLERANCE))).unwrap_or_default()),
            ],
        );
        // `first` sorts before or after every UUID.
        let (beyond, direction, first) = if filter.oldest_first { (">", "ASC", "") } else { ("<", "DESC", AFTER_ALL) };
        let sql = format!(
            "SELECT id, at_ms, actor, action, subject, before, after FROM audit_log
             WHERE id {beyond} $1 AND at_ms >= $2 AND at_ms < $3{conditions} ORDER BY id {direction} LIMIT $4"
        );
        let query = query!(AssertSqlSafe(sql); before.unwrap_or(first),
            filter.from.map_or(i64::MIN, Timestamp::as_millisecond),
            filter.to.map_or(i64::MAX, Timestamp::as_millisecond), limit);
        self.all(
            bound(query, values),
            |row| read!(row => AuditRow { id, at: "at_ms", actor, action, subject, before, after }),
        )
        .await
    }

    /// Every action name that occurs in the log.
    pub async fn audit_actions(self) -> StoreResult<Vec<String>> {
        // This reads the index once per action. `DISTINCT` would read the whole index.
        let sql = "WITH RECURSIVE actions(action) AS (SELECT MIN(action) FROM audit_log UNION ALL
               SELECT (SELECT MIN(action) FROM audit_log WHERE action > actions.action) FROM actions
               WHERE actions.action IS NOT NULL)
             SELECT action FROM actions WHERE action IS NOT NULL";
        self.all(query!(sql), column("action")).await
    }
}
