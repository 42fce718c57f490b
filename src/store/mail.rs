//! Messages on their way: an outbox. A message is written in the transaction that it speaks of, and sent later by data
//! control ([`mail`](crate::mail)).

use std::sync::Mutex;

use jiff::Timestamp;
use serde_json::Value;
use sqlx::Row;
use sqlx::any::AnyRow;
use uuid::{ContextV7, Uuid};

use super::{Store, StoreError, Tx, next_attempt, row};
use crate::domain::{Locale, MailKind, MailState, UserId};

/// How long messages can be read in the console.
const KEEP: std::time::Duration = std::time::Duration::from_secs(30 * 24 * 3600);
/// Puts messages of one process and millisecond in their order.
static IDS: Mutex<ContextV7> = Mutex::new(ContextV7::new());
/// Rows per statement that deletes.
const PURGE_SIZE: i64 = 1000;
/// No more messages than this are counted.
const MAX_COUNTED: i64 = 10_000;

/// A message.
#[derive(Debug, Clone)]
pub struct Mail {
    /// A UUID of version 7. Rows sort by it.
    pub id: String,
    /// The account that it speaks of.
    pub user_id: UserId,
    /// The name of that account.
    pub username: String,
    pub recipient: String,
    pub locale: Locale,
    pub kind: MailKind,
    /// What the text names.
    pub facts: Value,
    pub created_at: Timestamp,
    /// From then on it is not sent any more, and its link is not valid.
    pub expires_at: Timestamp,
    pub state: MailState,
    pub attempts: i64,
    /// Of the last attempt.
    pub error: Option<String>,
}

/// A message to be written.
#[derive(Debug)]
pub(super) struct NewMail<'a> {
    pub user: UserId,
    pub recipient: &'a str,
    pub locale: Locale,
    pub kind: MailKind,
    pub facts: Value,
    /// From then on the message is not worth sending, if that is before the end of its kind's lifetime.
    pub useful_until: Option<Timestamp>,
}

/// Writes a message within the transaction that it speaks of.
pub(super) async fn write(tx: &mut Tx, mail: &NewMail<'_>) -> Result<(), sqlx::Error> {
    let now = tx.now;
    let id = Uuid::new_v7(uuid::Timestamp::from_unix(
        &IDS,
        u64::try_from(now.as_second()).unwrap_or_default(),
        u32::try_from(now.subsec_nanosecond()).unwrap_or_default(),
    ));
    let expires_at = now.saturating_add(mail.kind.lifetime()).unwrap_or(now);
    let expires_at = mail.useful_until.map_or(expires_at, |until| until.min(expires_at));
    sqlx::query(
        "INSERT INTO mails (id, user_id, recipient, locale, kind, facts, created_at_ms, expires_at_ms,
           next_attempt_at_ms) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
    )
    .bind(id.to_string())
    .bind(mail.user.to_string())
    .bind(mail.recipient)
    .bind(mail.locale.as_str())
    .bind(mail.kind.as_str())
    .bind(mail.facts.to_string())
    .bind(now.as_millisecond())
    .bind(expires_at.as_millisecond())
    .bind(now.as_millisecond())
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Writes a message to the verified address of an account, if it has one, in the account's language.
pub(super) async fn notify(tx: &mut Tx, user: UserId, kind: MailKind, facts: Value) -> Result<(), sqlx::Error> {
    notify_until(tx, user, kind, facts, None).await
}

/// As [`notify`], with the time after which the message is not worth sending.
pub(super) async fn notify_until(
    tx: &mut Tx,
    user: UserId,
    kind: MailKind,
    facts: Value,
    useful_until: Option<Timestamp>,
) -> Result<(), sqlx::Error> {
    let sql = "SELECT address, locale FROM mail_addresses WHERE user_id = $1 AND address IS NOT NULL";
    let found = sqlx::query(sql).bind(user.to_string()).fetch_optional(&mut **tx).await?;
    let Some(found) = found else { return Ok(()) };
    let (recipient, locale) = (row::text(&found, "address")?, row::parsed(&found, "locale")?);
    write(tx, &NewMail { user, recipient: &recipient, locale, kind, facts, useful_until }).await
}

macro_rules! columns {
    () => {
        "mails.id, user_id, username, recipient, locale, kind, facts, mails.created_at_ms, expires_at_ms, state,
         attempts, error"
    };
}

fn mail(row: &AnyRow) -> Result<Mail, sqlx::Error> {
    Ok(Mail {
        id: row::text(row, "id")?,
        user_id: row::parsed(row, "user_id")?,
        username: row::text(row, "username")?,
        recipient: row::text(row, "recipient")?,
        locale: row::parsed(row, "locale")?,
        kind: row::parsed(row, "kind")?,
        facts: serde_json::from_str(&row::text(row, "facts")?).map_err(|_| row::undecodable("facts"))?,
        created_at: row::time(row, "created_at_ms")?,
        expires_at: row::time(row, "expires_at_ms")?,
        state: row::parsed(row, "state")?,
        attempts: row::int(row, "attempts")?,
        error: row.try_get("error")?,
    })
}

impl Store {
    /// Messages that wait and are due, those that have waited longest first.
    pub async fn mails_due(&self, limit: i64) -> Result<Vec<Mail>, StoreError> {
        let sql = concat!(
            "SELECT ",
            columns!(),
            " FROM mails JOIN users ON users.id = user_id WHERE state = 'waiting' AND next_attempt_at_ms <= $1
             ORDER BY next_attempt_at_ms, mails.id LIMIT $2"
        );
        let now = self.now().await?.as_millisecond();
        self.all(sqlx::query(sql).bind(now).bind(limit), mail).await
    }

    /// Counts an attempt that is about to be made, and puts the next one off for the time that it may take, so that another
    /// process does not make it too. `false` when another process was first.
    pub async fn claim_mail(&self, of: &Mail, duration: std::time::Duration) -> Result<bool, StoreError> {
        let until = self.now().await?.saturating_add(duration).unwrap_or(Timestamp::MAX).as_millisecond();
        let sql = "UPDATE mails SET attempts = attempts + 1, next_attempt_at_ms = $3
             WHERE id = $1 AND attempts = $2 AND state = 'waiting'";
        let query = sqlx::query(sql).bind(of.id.clone()).bind(of.attempts).bind(until);
        Ok(query.execute(&self.pool).await?.rows_affected() == 1)
    }

    /// Records that the mail server accepted a message, or that it is given up.
    pub async fn end_mail(&self, id: &str, state: MailState, error: Option<&str>) -> Result<(), StoreError> {
        let sql = "UPDATE mails SET state = $2, ended_at_ms = $3, error = $4 WHERE id = $1 AND state = 'waiting'";
        let now = self.now().await?.as_millisecond();
        let query = sqlx::query(sql).bind(id.to_owned()).bind(state.as_str()).bind(now).bind(error.map(str::to_owned));
        query.execute(&self.pool).await?;
        Ok(())
    }

    /// Puts the next attempt off: by two seconds after the first one, then twice as long each time, at most by about an hour.
    pub async fn postpone_mail(&self, id: &str, error: &str) -> Result<(), StoreError> {
        // The attempt itself was counted when it began.
        let postponed = next_attempt(1000, 12).replacen("attempts = attempts + 1, ", "", 1);
        let sql = format!("UPDATE mails SET {postponed}, error = $3 WHERE id = $2 AND state = 'waiting'");
        let now = self.now().await?.as_millisecond();
        let query = sqlx::query(sqlx::AssertSqlSafe(sql)).bind(now).bind(id.to_owned()).bind(error.to_owned());
        query.execute(&self.pool).await?;
        Ok(())
    }

    /// How many messages wait, up to ten thousand.
    pub async fn mails_waiting(&self) -> Result<i64, StoreError> {
        let sql = "SELECT COUNT(*) AS n FROM (SELECT 1 FROM mails WHERE state = 'waiting'
             ORDER BY next_attempt_at_ms LIMIT $1) AS waiting";
        let row = sqlx::query(sql).bind(MAX_COUNTED).fetch_one(&self.pool).await?;
        Ok(row::int(&row, "n")?)
    }

    /// Messages before the one with this id, newest first.
    pub async fn mails(&self, before: Option<&str>, limit: i64) -> Result<Vec<Mail>, StoreError> {
        let sql = concat!(
            "SELECT ",
            columns!(),
            " FROM mails JOIN users ON users.id = user_id WHERE mails.id < $1 ORDER BY mails.id DESC LIMIT $2"
        );
        // `g` sorts after every UUID.
        self.all(sqlx::query(sql).bind(before.unwrap_or("g").to_owned()).bind(limit), mail).await
    }

    /// The messages of one account, newest first.
    pub async fn mails_of(&self, user: UserId) -> Result<Vec<Mail>, StoreError> {
        let sql = concat!(
            "SELECT ",
            columns!(),
            " FROM mails JOIN users ON users.id = user_id WHERE user_id = $1 ORDER BY mails.id DESC LIMIT 500"
        );
        self.all(sqlx::query(sql).bind(user.to_string()), mail).await
    }

    /// Deletes a bounded number of messages that are older than 30 days, and devices that were not seen for half a year.
    /// Returns whether there may be more.
    pub async fn purge_mails(&self) -> Result<bool, StoreError> {
        let now = self.now().await?;
        let sql = "DELETE FROM mails WHERE id IN (SELECT id FROM mails WHERE created_at_ms < $1
               ORDER BY created_at_ms LIMIT $2)";
        let query = sqlx::query(sql).bind((now - KEEP).as_millisecond()).bind(PURGE_SIZE);
        let deleted = query.execute(&self.pool).await?.rows_affected();
        self.purge_known_devices(now).await?;
        Ok(deleted == PURGE_SIZE as u64)
    }
}
