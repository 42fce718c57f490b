//! Sessions, which users see in their account, and revocations, for which every process polls.
//!
//! Locking order: the count of revocations, the user's row, the rest.

use boxed::boxed;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;
use uuid::Uuid;

use super::credentials;
use crate::{SessionStore, StoreResult, Tx, User, bound, column, padded};
use domain::{AuditAction, UserId};

/// A new session.
#[derive(Debug, Clone)]
pub struct NewSession {
    pub id: Uuid,
    pub issued_at: Timestamp,
    pub expires_at: Timestamp,
    pub address: String,
    pub agent: String,
    /// Whether the password, and the code of a second factor, were entered to open it.
    pub is_proved: bool,
}

/// A session as its owner sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRow {
    pub id: Uuid,
    pub created_at: Timestamp,
    /// When the session was last used, in the database's time. It is approximate, because processes store it every half
    /// minute.
    pub seen_at: Timestamp,
    pub address: String,
    pub agent: String,
}

/// A revocation: every cookie of this user or session that was issued up to `revoked_until` is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Revocation {
    /// The id of a user or of a session. Both are UUIDs and never equal.
    pub subject: Uuid,
    pub revoked_until: Timestamp,
    /// The number increases with every revocation.
    pub number: i64,
}

fn revocation(row: &AnyRow) -> sqlx::Result<Revocation> {
    read!(row => Revocation { subject, revoked_until: "dead_until_ms", number })
}

#[boxed]
impl SessionStore<'_> {
    /// Opens a session if the account has not changed since its password was checked. Log-ins of staff are logged.
    pub async fn open_session(self, user: &User, session: &NewSession) -> StoreResult<bool> {
        let mut tx = self.begin().await?;
        // This locks the row. So a block or a new password either comes before and is seen here, or comes after and
        // ends this session.
        let sql = "UPDATE users SET logged_in_at_ms = $3
             WHERE id = $1 AND password_hash = $2 AND role = $4 AND blocked_at_ms IS NULL AND deleted_at_ms IS NULL";
        if tx.changed(query!(sql; user.id, &user.password_hash, session.issued_at, user.role)).await? == 0 {
            return Ok(false);
        }
        insert(&mut tx, user.id, session).await?;
        credentials::note_device(&mut tx, user.id, session).await?;
        if user.role.is_staff() {
            let details = json!({"address": session.address, "agent": session.agent});
            let subject = format!("user {}", user.id);
            tx.log(&user.username, AuditAction::LogIn, &subject, None, Some(&details), session.issued_at).await?;
        }
        tx.commit_and(true).await
    }

    /// Sessions of a user that have not expired, the latest first.
    pub async fn sessions_of(self, user: UserId, now: Timestamp) -> StoreResult<Vec<SessionRow>> {
        let sql = "SELECT id, created_at_ms, seen_at_ms, address, agent FROM sessions
             WHERE user_id = $1 AND expires_at_ms > $2 ORDER BY seen_at_ms DESC, id DESC LIMIT 200";
        self.all(
            query!(sql; user, now),
            |row| read!(row => SessionRow { id, created_at: "created_at_ms", seen_at: "seen_at_ms", address, agent }),
        )
        .await
    }

    /// When a session was last used, in the database's time, as far as it is stored.
    pub async fn session_last_use(self, session: Uuid) -> StoreResult<Option<Timestamp>> {
        self.optional(query!("SELECT seen_at_ms FROM sessions WHERE id = $1"; session), column("seen_at_ms")).await
    }

    /// When the holder of a session last proved to be its owner, in the database's time. `None` if the session has
    /// ended.
    pub async fn session_proved_at(self, session: Uuid) -> StoreResult<Option<Timestamp>> {
        self.optional(query!("SELECT proved_at_ms FROM sessions WHERE id = $1"; session), column("proved_at_ms")).await
    }

    /// Records that the holder of a session has proved to be its owner. Returns `false` if the session has ended.
    pub async fn prove_session(self, session: Uuid) -> StoreResult<bool> {
        let mut tx = self.begin().await?;
        let proved = tx.changed(query!("UPDATE sessions SET proved_at_ms = $2 WHERE id = $1"; session, tx.now)).await?;
        tx.commit_and(proved == 1).await
    }

    /// Stores when sessions were last used, in the database's time, in the order of their ids and a bounded number per
    /// transaction. The count of revocations is locked first. Otherwise this could deadlock with another process that
    /// has the same sessions, or with the end of all sessions of a user, because a statement with many rows locks them
    /// in an order that only the database knows.
    pub async fn sessions_seen(self, seen: &[(Uuid, Timestamp)]) -> StoreResult<()> {
        let mut sorted = seen.to_vec();
        sorted.sort_unstable();
        for chunk in padded(&sorted) {
            let mut tx = self.begin().await?;
            lock_count(&mut tx).await?;
            let rows: Vec<String> =
                (1..=chunk.len()).map(|n| format!("(${}, CAST(${} AS BIGINT))", 2 * n - 1, 2 * n)).collect();
            let sql = format!(
                "WITH seen (id, at_ms) AS (VALUES {}) UPDATE sessions SET seen_at_ms = seen.at_ms FROM seen
                 WHERE sessions.id = seen.id AND sessions.seen_at_ms < seen.at_ms",
                rows.join(",")
            );
            tx.run(bound(query!(AssertSqlSafe(sql)), chunk.iter().flat_map(|(id, at)| values![id, at]))).await?;
            tx.commit().await?;
        }
        Ok(())
    }

    /// Ends one session. A cookie that was issued without a row for its session is revoked as well.
    pub async fn end_session(self, session: Uuid, now: Timestamp) -> StoreResult<Revocation> {
        let mut tx = self.begin().await?;
        let number = next_number(&mut tx).await?;
        tx.run(query!("DELETE FROM sessions WHERE id = $1"; session)).await?;
        let ended = write(&mut tx, Revocation { subject: session, revoked_until: ahead_of(now), number }).await?;
        tx.commit_and(ended).await
    }

    /// Ends all sessions of a user.
    pub async fn end_sessions(self, user: UserId, now: Timestamp) -> StoreResult<Revocation> {
        let mut tx = self.begin().await?;
        let number = next_number(&mut tx).await?;
        let ended = end_all(&mut tx, number, user, now).await?;
        tx.commit_and(ended).await
    }

    /// Revocations after `number`, in order.
    pub async fn revocations(self, number: i64, limit: i64) -> StoreResult<Vec<Revocation>> {
        let sql = "SELECT subject, dead_until_ms, number FROM revocations WHERE number > $1 ORDER BY number LIMIT $2";
        self.all(query!(sql; number, limit), revocation).await
    }

    /// Deletes expired sessions, and revocations of cookies that have expired. `lifetime` is the lifetime of a cookie.
    pub async fn purge_sessions(self, now: Timestamp, lifetime: SignedDuration) -> StoreResult<()> {
        let past = now.saturating_sub(lifetime).unwrap_or(Timestamp::MIN);
        let mut tx = self.begin().await?;
        for (sql, at) in [
            ("DELETE FROM revocations WHERE dead_until_ms < $1", past),
            ("DELETE FROM sessions WHERE expires_at_ms < $1", now),
        ] {
            tx.run(query!(sql; at)).await?;
        }
        Ok(tx.commit().await?)
    }
}

/// Locks the count of revocations until the end of the transaction, like [`next_number`].
async fn lock_count(tx: &mut Tx) -> sqlx::Result<()> {
    tx.run(query!("UPDATE revocation_count SET last = last WHERE id = 1")).await
}

/// The number of the next revocation. Locks the count until the end of the transaction, so that revocations become
/// visible in the order of their numbers and a reader misses none.
pub(super) async fn next_number(tx: &mut Tx) -> sqlx::Result<i64> {
    tx.one(query!("UPDATE revocation_count SET last = last + 1 WHERE id = 1 RETURNING last"), column("last")).await
}

/// Ends all sessions of a user, including one that a process with a faster clock has just opened.
pub(super) async fn end_all(tx: &mut Tx, number: i64, user: UserId, now: Timestamp) -> sqlx::Result<Revocation> {
    // A concurrent log-in waits for this row.
    tx.lock_user(user).await?;
    let latest = "SELECT COALESCE(MAX(created_at_ms), 0) AS latest FROM sessions WHERE user_id = $1";
    let latest: i64 = tx.one(query!(latest; user), column("latest")).await?;
    tx.run(query!("DELETE FROM sessions WHERE user_id = $1"; user)).await?;
    let revoked_until = now.max(Timestamp::from_millisecond(latest).unwrap_or(now));
    write(tx, Revocation { subject: user.0, revoked_until, number }).await
}

/// Ends all sessions of a user but one.
pub(super) async fn end_others(tx: &mut Tx, user: UserId, keep: Uuid, now: Timestamp) -> sqlx::Result<Vec<Revocation>> {
    lock_count(tx).await?;
    // A concurrent log-in waits for this row.
    tx.lock_user(user).await?;
    let ended = "DELETE FROM sessions WHERE user_id = $1 AND id <> $2 RETURNING id";
    let ended: Vec<_> = tx.all(query!(ended; user, keep), column("id")).await?;
    let mut revocations = Vec::new();
    for subject in ended {
        let number = next_number(tx).await?;
        revocations.push(write(tx, Revocation { subject, revoked_until: ahead_of(now), number }).await?);
    }
    Ok(revocations)
}

/// A time after the issue of every session that exists now, even if a process whose clock is ahead issued it.
fn ahead_of(now: Timestamp) -> Timestamp {
    now.saturating_add(SignedDuration::from_hours(1)).unwrap_or(now)
}

async fn write(tx: &mut Tx, new: Revocation) -> sqlx::Result<Revocation> {
    let sql = "INSERT INTO revocations (subject, dead_until_ms, number) VALUES ($1, $2, $3)
         ON CONFLICT (subject) DO UPDATE SET number = excluded.number, dead_until_ms =
           CASE WHEN excluded.dead_until_ms > revocations.dead_until_ms
                THEN excluded.dead_until_ms ELSE revocations.dead_until_ms END
         RETURNING subject, dead_until_ms, number";
    tx.one(query!(sql; new.subject, new.revoked_until, new.number), revocation).await
}

pub(super) async fn insert(tx: &mut Tx, user: UserId, session: &NewSession) -> sqlx::Result<()> {
    let sql =
        "INSERT INTO sessions (id, user_id, created_at_ms, seen_at_ms, expires_at_ms, address, agent, proved_at_ms)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
    let query = query!(sql; session.id, user, session.issued_at, tx.now, session.expires_at, &session.address,
        &session.agent, if session.is_proved { tx.now.as_millisecond() } else { 0 });
    tx.run(query).await
}
