//! The processes of the role `serve` that are alive, and the secret that all processes share.

use std::collections::HashSet;
use std::time::Duration;

use super::{ProcessStore, StoreError, row};

impl ProcessStore<'_> {
    /// Reports that a process is alive.
    pub async fn report(self, process: &str) -> Result<(), StoreError> {
        let now = self.now().await?;
        let sql = "INSERT INTO processes (name, seen_at_ms) VALUES ($1, $2)
             ON CONFLICT (name) DO UPDATE SET seen_at_ms = excluded.seen_at_ms";
        sqlx::query(sql).bind(process).bind(now.as_millisecond()).execute(&self.pool).await?;
        Ok(())
    }

    /// The processes that have reported within the time `within`.
    pub async fn living(self, within: Duration) -> Result<HashSet<String>, StoreError> {
        let since = self.now().await? - within;
        let query = sqlx::query("SELECT name FROM processes WHERE seen_at_ms >= $1").bind(since.as_millisecond());
        Ok(self.all(query, |row| row::text(row, "name")).await?.into_iter().collect())
    }

    /// Removes a process that stops, and processes that have not reported within the time `dead_after`.
    pub async fn remove(self, process: &str, dead_after: Duration) -> Result<(), StoreError> {
        let dead_since = self.now().await? - dead_after;
        let query = sqlx::query("DELETE FROM processes WHERE name = $1 OR seen_at_ms < $2");
        query.bind(process).bind(dead_since.as_millisecond()).execute(&self.pool).await?;
        Ok(())
    }

    /// The fingerprint of the secret with which a process was started last.
    pub async fn secret_fingerprint(self) -> Result<Option<String>, StoreError> {
        let sql = "SELECT fingerprint FROM shop_secret WHERE id = 1";
        self.optional(sqlx::query(sql), |row| row::text(row, "fingerprint")).await
    }

    pub async fn set_secret_fingerprint(self, fingerprint: &str) -> Result<(), StoreError> {
        let sql = "INSERT INTO shop_secret (id, fingerprint) VALUES (1, $1)
             ON CONFLICT (id) DO UPDATE SET fingerprint = excluded.fingerprint";
        sqlx::query(sql).bind(fingerprint).execute(&self.pool).await?;
        Ok(())
    }
}
