//! Leases on jobs that only one process runs at a time. The database's clock decides when a lease ends, so a host whose
//! clock is wrong neither holds a lease for ever nor loses it early.
//!
//! A lease saves work, but it protects nothing. Its holder may be frozen between two statements and continue after
//! another process has taken over. So every step must protect its own writes: see `docs/decisions/0025`.

use std::time::Duration;

use super::{LeaseStore, StoreError};

impl LeaseStore<'_> {
    /// Acquires or renews a lease. Returns `false` if another process holds it.
    pub async fn acquire(self, name: &str, holder: &str, duration: Duration) -> Result<bool, StoreError> {
        // The time may be a little old when it is used. Then the lease ends earlier, and no lease is taken too early.
        let now = self.now().await?.as_millisecond();
        // The token counts the holders, for operators.
        let query = sqlx::query(
            "INSERT INTO leases (name, holder, token, expires_at_ms) VALUES ($1, $2, 1, $3)
             ON CONFLICT (name) DO UPDATE SET
               token = CASE WHEN leases.holder = excluded.holder THEN leases.token ELSE leases.token + 1 END,
               holder = excluded.holder,
               expires_at_ms = excluded.expires_at_ms
             WHERE leases.holder = excluded.holder OR leases.expires_at_ms < $4",
        )
        .bind(name)
        .bind(holder)
        .bind(now + duration.as_millis() as i64)
        .bind(now);
        Ok(query.execute(&self.pool).await?.rows_affected() == 1)
    }

    /// Whether a process holds the lease now.
    pub async fn is_held(self, name: &str) -> Result<bool, StoreError> {
        let held = sqlx::query("SELECT 1 FROM leases WHERE name = $1 AND expires_at_ms >= $2");
        let now = self.now().await?.as_millisecond();
        Ok(held.bind(name).bind(now).fetch_optional(&self.pool).await?.is_some())
    }

    /// Releases a lease, so that the next holder does not wait for its expiry.
    pub async fn release(self, name: &str, holder: &str) -> Result<(), StoreError> {
        sqlx::query("UPDATE leases SET expires_at_ms = 0 WHERE name = $1 AND holder = $2")
            .bind(name)
            .bind(holder)
            .execute(&self.pool)
            .await?;
        Ok(())
    }
}
