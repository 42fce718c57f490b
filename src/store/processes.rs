//! The processes of the role `serve` that are alive, the secret that all processes share, and what data control has to do.

use std::collections::HashSet;
use std::time::Duration;

use boxed::boxed;
use sqlx::AssertSqlSafe;

use crate::{LeaseStore, ProcessStore, Store, StoreResult, column};

#[boxed]
impl ProcessStore<'_> {
    /// Reports that a process is alive.
    pub async fn report(self, process: &str) -> StoreResult<()> {
        let sql = "INSERT INTO processes (name, seen_at_ms) VALUES ($1, $2)
             ON CONFLICT (name) DO UPDATE SET seen_at_ms = excluded.seen_at_ms";
        self.run(query!(sql; process, self.now().await?)).await
    }

    /// The processes that have reported within the time `within`.
    pub async fn living(self, within: Duration) -> StoreResult<HashSet<String>> {
        let since = self.now().await? - within;
        let query = query!("SELECT name FROM processes WHERE seen_at_ms >= $1"; since);
        Ok(self.all(query, column("name")).await?.into_iter().collect())
    }

    /// Removes a process that stops, and processes that have not reported within the time `dead_after`.
    pub async fn remove(self, process: &str, dead_after: Duration) -> StoreResult<()> {
        let dead_since = self.now().await? - dead_after;
        self.run(query!("DELETE FROM processes WHERE name = $1 OR seen_at_ms < $2"; process, dead_since)).await
    }

    /// The fingerprint of the secret with which a process was started last.
    pub async fn secret_fingerprint(self) -> StoreResult<Option<String>> {
        self.optional(query!("SELECT fingerprint FROM shop_secret WHERE id = 1"), column("fingerprint")).await
    }

    pub async fn set_secret_fingerprint(self, fingerprint: &str) -> StoreResult<()> {
        let sql = "INSERT INTO shop_secret (id, fingerprint) VALUES (1, $1)
             ON CONFLICT (id) DO UPDATE SET fingerprint = excluded.fingerprint";
        self.run(query!(sql; fingerprint)).await
    }
}

// Leases on jobs that only one process runs at a time. The database's clock decides when a lease ends, so a host whose
// clock is wrong neither holds a lease for ever nor loses it early.
//
// A lease saves work, but it protects nothing. Its holder may be frozen between two statements and continue after
// another process has taken over. So every step must protect its own writes: see `docs/decisions/0025`.

#[boxed]
impl LeaseStore<'_> {
    /// Acquires or renews a lease. Returns `false` if another process holds it.
    pub async fn acquire(self, name: &str, holder: &str, duration: Duration) -> StoreResult<bool> {
        // The time may be a little old when it is used. Then the lease ends earlier, and no lease is taken too early.
        let now = self.now().await?.as_millisecond();
        // The token counts the holders, for operators.
        let sql = "INSERT INTO leases (name, holder, token, expires_at_ms) VALUES ($1, $2, 1, $3)
             ON CONFLICT (name) DO UPDATE SET
               token = CASE WHEN leases.holder = excluded.holder THEN leases.token ELSE leases.token + 1 END,
               holder = excluded.holder,
               expires_at_ms = excluded.expires_at_ms
             WHERE leases.holder = excluded.holder OR leases.expires_at_ms < $4";
        Ok(self.changed(query!(sql; name, holder, now + duration.as_millis() as i64, now)).await? == 1)
    }

    /// Whether a process holds the lease now.
    pub async fn is_held(self, name: &str) -> StoreResult<bool> {
        let now = self.now().await?;
        self.exists(query!("SELECT 1 FROM leases WHERE name = $1 AND expires_at_ms >= $2"; name, now)).await
    }

    /// Releases a lease, so that the next holder does not wait for its expiry.
    pub async fn release(self, name: &str, holder: &str) -> StoreResult<()> {
        self.run(query!("UPDATE leases SET expires_at_ms = 0 WHERE name = $1 AND holder = $2"; name, holder)).await
    }
}

// Which jobs of data control have something to do. One statement asks for all of them, so that a quiet shop does not ask for
// each job twice a second.

/// Jobs, and the rows that a job is run for; `$1` is the database's time. A condition may hold although the job then finds
/// nothing to do; one that misses a row makes the job late. Each reads one entry of an index.
const JOBS: [(&str, &str); 10] = [
    // The job waits for an opening within its interval, so it has to run shortly before.
    (
        "schedule",
        "SELECT 1 FROM sales WHERE retired_at_ms IS NULL AND (state = 'scheduled' AND opens_at_ms <= $1 + 2000
           OR state IN ('scheduled', 'live', 'paused') AND closes_at_ms <= $1 + 2000)",
    ),
    ("overdue orders", "SELECT 1 FROM orders WHERE status = 'unpaid' AND pay_by_ms <= $1"),
    ("releases", "SELECT 1 FROM releases WHERE next_attempt_at_ms <= $1"),
    (
        "refunds",
        "SELECT 1 FROM payments WHERE status = 'refund_pending' AND next_attempt_at_ms <= $1
         UNION ALL SELECT 1 FROM partial_refunds WHERE refunded_at_ms IS NULL AND next_attempt_at_ms <= $1",
    ),
    (
        "closing of payments",
        "SELECT 1 FROM payments WHERE close_at_ms <= $1
         UNION ALL SELECT 1 FROM payments WHERE ask_at_ms <= $1 AND close_at_ms IS NOT NULL",
    ),
    ("order numbers", "SELECT 1 FROM orders WHERE day_number IS NULL"),
    ("webhooks", "SELECT 1 FROM sandbox_webhooks WHERE next_at_ms <= $1"),
    ("mail", "SELECT 1 FROM mails WHERE state = 'waiting' AND subscription_id IS NULL AND next_attempt_at_ms <= $1"),
    (
        "push",
        "SELECT 1 FROM mails WHERE state = 'waiting' AND subscription_id IS NOT NULL AND next_attempt_at_ms <= $1",
    ),
    ("red packets", "SELECT 1 FROM packets WHERE state = 'open' UNION ALL SELECT 1 FROM packets WHERE recovering = 1"),
];

/// The jobs that [`Store::jobs_due`] knows.
pub const WATCHED_JOBS: [&str; JOBS.len()] = {
    let mut names = [""; JOBS.len()];
    let mut n = 0;
    while n < names.len() {
        names[n] = JOBS[n].0;
        n += 1;
    }
    names
};

#[boxed]
impl Store {
    /// The [`WATCHED_JOBS`] that have something to do.
    pub async fn jobs_due(&self) -> StoreResult<HashSet<&'static str>> {
        let sql = JOBS.map(|(job, rows)| format!("SELECT '{job}' AS job WHERE EXISTS ({rows})")).join(" UNION ALL ");
        let due: Vec<String> = self.all(query!(AssertSqlSafe(sql); self.now().await?), column("job")).await?;
        Ok(WATCHED_JOBS.into_iter().filter(|job| due.iter().any(|due| due == job)).collect())
    }
}
