//! Leases: of jobs that one process at a time should do.

use std::time::Duration;

use jiff::Timestamp;
use sqlx::Row;

use super::{Store, StoreError};

/// The right to do a job for a while. The token rises with every new holder, so that a late one can be told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    pub token: i64,
}

impl Store {
    /// Takes or prolongs a lease; `None` while somebody else holds it.
    pub async fn lease(
        &self,
        name: &str,
        holder: &str,
        now: Timestamp,
        time: Duration,
    ) -> Result<Option<Lease>, StoreError> {
        let expires = now.as_millisecond() + time.as_millis() as i64;
        let row = sqlx::query(
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
        .bind(now.as_millisecond())
        .fetch_optional(&self.pool)
        .await?;
        row.map(|row| Ok(Lease { token: row.try_get("token")? })).transpose()
    }

    /// Whether some process holds a lease at this moment.
    pub async fn is_leased(&self, name: &str, now: Timestamp) -> Result<bool, StoreError> {
        let held = sqlx::query("SELECT 1 FROM leases WHERE name = $1 AND expires_at_ms >= $2");
        Ok(held.bind(name).bind(now.as_millisecond()).fetch_optional(&self.pool).await?.is_some())
    }

    /// Gives a lease back, so that the next holder need not wait for its end.
    pub async fn give_back(&self, name: &str, holder: &str) -> Result<(), StoreError> {
        sqlx::query("UPDATE leases SET expires_at_ms = 0 WHERE name = $1 AND holder = $2")
            .bind(name)
            .bind(holder)
            .execute(&self.pool)
            .await?;
        Ok(())
    }
}
