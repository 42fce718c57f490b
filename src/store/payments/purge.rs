//! Deletes rows about payments that are not needed any more.

use std::time::Duration;

use jiff::Timestamp;

use crate::{PaymentStore, StoreError};

/// How long applied webhooks are remembered. A webhook that is sent again later is refused, because its signature is
/// too old. And a payment is captured only once anyway.
const KEEP_WEBHOOKS: Duration = Duration::from_secs(90 * 24 * 3600);
/// How long the sandbox remembers payments that were never made, or that were refunded. Captured payments stay, because
/// they may be refunded at any time.
const KEEP_SANDBOX_PAYMENTS: Duration = Duration::from_secs(30 * 24 * 3600);
/// How long payments are kept that were closed without money. A late report about one is a case about an unknown payment.
const KEEP_UNMADE_PAYMENTS: Duration = Duration::from_secs(30 * 24 * 3600);
/// How long the lines of bills are kept: a payment may be captured here so long after its line was on a bill.
const KEEP_BILL_LINES: Duration = Duration::from_secs(90 * 24 * 3600);
/// Rows per statement.
const PURGE_SIZE: i64 = 1000;

impl PaymentStore<'_> {
    /// Deletes a bounded number of old webhooks. Returns whether there may be more.
    pub async fn purge_webhooks(self) -> Result<bool, StoreError> {
        let sql = "DELETE FROM webhook_events WHERE webhook_id IN (SELECT webhook_id FROM webhook_events
               WHERE received_at_ms < $1 ORDER BY received_at_ms LIMIT $2)";
        let before = self.now().await? - KEEP_WEBHOOKS;
        let query = sqlx::query(sql).bind(before.as_millisecond()).bind(PURGE_SIZE);
        Ok(query.execute(&self.pool).await?.rows_affected() == PURGE_SIZE as u64)
    }

    /// Deletes a bounded number of old payments that were closed without money. Returns whether there may be more.
    pub async fn purge_payments(self) -> Result<bool, StoreError> {
        let sql = "DELETE FROM payments WHERE id IN (SELECT id FROM payments
               WHERE id < $1 AND status = 'created' AND closed_at_ms IS NOT NULL AND mismatched_at_ms IS NULL
                 AND held_at_ms IS NULL AND NOT EXISTS (SELECT 1 FROM payment_cases WHERE payment_id = payments.id)
               ORDER BY id LIMIT $2)";
        let before = self.now().await? - KEEP_UNMADE_PAYMENTS;
        let query = sqlx::query(sql).bind(first_id_at(before)).bind(PURGE_SIZE);
        Ok(query.execute(&self.pool).await?.rows_affected() == PURGE_SIZE as u64)
    }

    /// Deletes a bounded number of old lines of bills. Returns whether there may be more.
    pub async fn purge_bill_lines(self) -> Result<bool, StoreError> {
        let before = self.now().await? - KEEP_BILL_LINES;
        let sql = "DELETE FROM bill_lines WHERE run < $1 AND line IN
             (SELECT line FROM bill_lines WHERE run < $1 ORDER BY run, line LIMIT $2)";
        let query = sqlx::query(sql).bind(first_id_at(before)).bind(PURGE_SIZE);
        Ok(query.execute(&self.pool).await?.rows_affected() >= PURGE_SIZE as u64)
    }

    /// Deletes a bounded number of old payments of the sandbox. Returns whether there may be more.
    pub async fn purge_sandbox(self) -> Result<bool, StoreError> {
        let sql = "DELETE FROM sandbox_payments WHERE id IN (SELECT id FROM sandbox_payments
               WHERE id < $1 AND status <> 'captured' ORDER BY id LIMIT $2)";
        let before = self.now().await? - KEEP_SANDBOX_PAYMENTS;
        let query = sqlx::query(sql).bind(first_id_at(before)).bind(PURGE_SIZE);
        Ok(query.execute(&self.pool).await?.rows_affected() == PURGE_SIZE as u64)
    }
}

/// The lowest id of payments that were started at this time: the first 48 bits of a UUID of version 7 are milliseconds.
fn first_id_at(at: Timestamp) -> String {
    let ms = at.as_millisecond().max(0);
    format!("{:08x}-{:04x}-7000-8000-000000000000", ms >> 16, ms & 0xffff)
}

#[cfg(test)]
mod tests {
    use crate::Store;
    use uuid::{NoContext, Uuid};

    use super::*;
    use base::clock::Clock;

    fn id(at: Timestamp) -> Uuid {
        let (seconds, nanos) = (at.as_second() as u64, at.subsec_nanosecond() as u32);
        Uuid::new_v7(uuid::Timestamp::from_unix(NoContext, seconds, nanos))
    }

    #[tokio::test]
    async fn old_webhooks_and_unused_sandbox_payments_are_deleted() {
        let dir = tempfile::tempdir().unwrap();
        let clock = Clock::manual(Timestamp::UNIX_EPOCH + Duration::from_secs(1_800_000_000));
        let store = Store::open(&format!("sqlite://{}/t.sqlite", dir.path().display())).unwrap().with_clock(&clock);
        store.migrate().await.unwrap();
        let now = clock.now();
        let execute = async |sql: String| {
            sqlx::query(sqlx::AssertSqlSafe(sql)).execute(&store.pool).await.unwrap();
        };
        for (age, status) in [(29, "open"), (31, "open"), (31, "captured"), (31, "declined"), (31, "refunded")] {
            let id = id(now - Duration::from_secs(age * 24 * 3600));
            execute(format!(
                "INSERT INTO sandbox_payments (id, amount, currency, return_path, status)
                 VALUES ('{id}', 1, 'CNY', '/', '{status}')"
            ))
            .await;
        }
        for age in [89, 91] {
            let at = (now - Duration::from_secs(age * 24 * 3600)).as_millisecond();
            execute(format!("INSERT INTO webhook_events (webhook_id, received_at_ms) VALUES ('msg_{age}', {at})"))
                .await;
        }
        for (age, name, closed) in [(29, "young", "1"), (31, "old", "1"), (31, "open", "NULL")] {
            let id = id(now - Duration::from_secs(age * 24 * 3600));
            execute(format!(
                "INSERT INTO payments (id, user_id, provider, amount, currency, status, created_at_ms, closed_at_ms)
                 VALUES ('{id}', '{name}', 'sandbox', 100, 'CNY', 'created', 0, {closed})"
            ))
            .await;
        }
        assert!(!store.payments().purge_payments().await.unwrap());
        assert!(!store.payments().purge_sandbox().await.unwrap() && !store.payments().purge_webhooks().await.unwrap());
        let left = async |sql: &'static str| {
            let rows = store.all(sqlx::query(sql), |row| crate::row::text(row, "what")).await;
            rows.unwrap()
        };
        assert_eq!(left("SELECT status AS what FROM sandbox_payments ORDER BY status").await, ["captured", "open"]);
        assert_eq!(left("SELECT user_id AS what FROM payments ORDER BY user_id").await, ["open", "young"]);
        assert_eq!(left("SELECT webhook_id AS what FROM webhook_events").await, ["msg_89"]);
    }
}
