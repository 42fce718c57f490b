//! Leases on jobs that one process at a time runs.

use std::time::Duration;

use jiff::Timestamp;

use super::{Store, StoreError, row};

/// A lease on a job. `token` is a fencing token: it rises with every new holder, so that a late holder is detected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    pub token: i64,
}

impl Store {
    /// Acquires or renews a lease. `None` while another process holds it.
    pub async fn acquire_lease(
        &self,
        name: &str,
        holder: &str,
        now: Timestamp,
        duration: Duration,
    ) -> Result<Option<Lease>, StoreError> {
        let expires = now.as_millisecond() + duration.as_millis() as i64;
        let query = sqlx::query(
            "INSERT INTO leases (name, holder, token, expires_at_ms) VALUES ($1, $2, 1, $3)
             ON CONFLICT (name) DO UPDATE SET
               token = CASE WHEN leases.holder = excluded.holder THEN leases.token ELSE leases.token + 1 END,
               holder = excluded.holder,
               expires_at_ms = excluded.expires_at_ms
             WHERE leases.holder = excluded.holder OR leases.expires_at_ms < $4
             RETURNING token",
        )
        .bind(name)
        .bind(holder)
        .bind(expires)
        .bind(now.as_millisecond());
        self.optional(query, |row| Ok(Lease { token: row::int(row, "token")? })).await
    }

    /// Whether a process holds the lease at `now`.
    pub async fn is_leased(&self, name: &str, now: Timestamp) -> Result<bool, StoreError> {
        let held = sqlx::query("SELECT 1 FROM leases WHERE name = $1 AND expires_at_ms >= $2");
        Ok(held.bind(name).bind(now.as_millisecond()).fetch_optional(&self.pool).await?.is_some())
    }

    /// Releases a lease, so that the next holder does not wait for its expiry.
    pub async fn release_lease(&self, name: &str, holder: &str) -> Result<(), StoreError> {
        sqlx::query("UPDATE leases SET expires_at_ms = 0 WHERE name = $1 AND holder = $2")
            .bind(name)
            .bind(holder)
            .execute(&self.pool)
            .await?;
        Ok(())
    }
}
