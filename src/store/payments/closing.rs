//! The end of payments that were not captured, and the deletion of rows about payments that are not needed any more.

use std::collections::HashSet;
use std::time::Duration;

use boxed::boxed;
use jiff::Timestamp;
use sqlx::AssertSqlSafe;

use crate::payments::{Payment, columns, payment};
use crate::{PaymentStore, StoreResult, column};
use domain::ids::first_id_of;
use domain::{OrderId, PaymentId};

/// The shortest pause before a payment that could not be closed is closed again. The pause grows with the time that it
/// has been due.
const MIN_CLOSE_PAUSE: Duration = Duration::from_secs(10);
const MAX_CLOSE_PAUSE: Duration = Duration::from_secs(3600);
/// How long a notice may take before the provider is asked. Each further pause is as long as all before it.
const FIRST_QUESTION: Duration = Duration::from_secs(15);
/// The last question comes this long before a payment expires, so that an order that was paid for is not cancelled only
/// because the provider is slow at that moment.
const LAST_QUESTION: Duration = Duration::from_secs(15);

/// When the provider is first asked about a payment. `None`: the payment is closed before that.
pub(super) fn first_question(now: Timestamp, expires_at: Timestamp) -> Option<i64> {
    let first = now + FIRST_QUESTION;
    (first + LAST_QUESTION <= expires_at).then(|| first.as_millisecond())
}

#[boxed]
impl PaymentStore<'_> {
    /// Payments that are due for closing. Payments that have waited longest come first.
    pub async fn payments_to_close(self, limit: i64) -> StoreResult<Vec<Payment>> {
        let sql = select!(columns, "FROM payments WHERE close_at_ms <= $1 ORDER BY close_at_ms, id LIMIT $2");
        self.all(query!(sql; self.now().await?, limit), payment).await
    }

    /// Payments about which the provider shall be asked now, before they are due for closing. Sets when each is asked
    /// about again: the pauses double, and the last question comes shortly before the payment expires.
    pub async fn payments_to_ask(self, limit: i64) -> StoreResult<Vec<Payment>> {
        let sql = concat!(
            "UPDATE payments SET ask_at_ms = CASE WHEN 2 * $1 - created_at_ms < expires_at_ms - $3
                 THEN 2 * $1 - created_at_ms WHEN $1 < expires_at_ms - $3 THEN expires_at_ms - $3 END
             WHERE id IN (SELECT id FROM payments WHERE ask_at_ms <= $1 AND close_at_ms IS NOT NULL AND close_at_ms > $1
               ORDER BY ask_at_ms, id LIMIT $2)
             RETURNING ",
            columns!()
        );
        self.all(query!(sql; self.now().await?, limit, LAST_QUESTION.as_millis() as i64), payment).await
    }

    /// The payments of an order that can still be made at the provider.
    pub async fn open_payments(self, order: OrderId) -> StoreResult<Vec<Payment>> {
        let sql = select!(columns, "FROM payments WHERE order_id = $1 AND close_at_ms IS NOT NULL ORDER BY id");
        self.all(query!(sql; order), payment).await
    }

    /// Records that the provider has closed a payment.
    pub async fn close(self, id: PaymentId) -> StoreResult<()> {
        let sql = "UPDATE payments SET close_at_ms = NULL, closed_at_ms = $2 WHERE id = $1 AND close_at_ms IS NOT NULL";
        self.run(query!(sql; id, self.now().await?)).await
    }

    /// Postpones the closing of a payment that can still be made to the moment when it expires. Returns `false` if it has
    /// expired.
    pub async fn close_at_expiry(self, id: PaymentId) -> StoreResult<bool> {
        let sql = "UPDATE payments SET close_at_ms = expires_at_ms
             WHERE id = $1 AND close_at_ms IS NOT NULL AND expires_at_ms > $2";
        Ok(self.changed(query!(sql; id, self.now().await?)).await? == 1)
    }

    /// Makes the next question about a payment due at once, because its payer says that it is made.
    pub async fn ask_now(self, id: PaymentId) -> StoreResult<()> {
        let sql = "UPDATE payments SET ask_at_ms = $2 WHERE id = $1 AND ask_at_ms > $2";
        self.run(query!(sql; id, self.now().await?)).await
    }

    /// Records that a payer's attempt failed, and makes the payment due for closing at once.
    pub async fn decline(self, id: PaymentId) -> StoreResult<()> {
        let sql = "UPDATE payments SET close_at_ms = 0, declined_at_ms = $2 WHERE id = $1 AND close_at_ms IS NOT NULL";
        self.run(query!(sql; id, self.now().await?)).await
    }

    /// The orders among these whose last payment was declined.
    pub async fn declined_among(self, orders: &[OrderId]) -> StoreResult<HashSet<OrderId>> {
        let sql = "SELECT order_id FROM payments WHERE declined_at_ms IS NOT NULL
             AND id IN (SELECT MAX(id) FROM payments WHERE order_id IN $ids GROUP BY order_id)";
        self.all_of(sql, &[], orders, column("order_id")).await
    }

    /// Postpones the next attempt to close a payment, by half the time that it has been due.
    pub async fn postpone_close(self, id: PaymentId) -> StoreResult<()> {
        let due = "($2 - COALESCE(expires_at_ms, $2)) / 2";
        let sql = format!(
            "UPDATE payments SET close_at_ms = $2 + CASE WHEN {due} < $3 THEN $3 WHEN {due} > $4 THEN $4 ELSE {due} END
             WHERE id = $1 AND close_at_ms IS NOT NULL"
        );
        let query = query!(AssertSqlSafe(sql); id, self.now().await?, MIN_CLOSE_PAUSE.as_millis() as i64,
            MAX_CLOSE_PAUSE.as_millis() as i64);
        self.run(query).await
    }
}

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

#[boxed]
impl PaymentStore<'_> {
    /// Deletes a bounded number of old webhooks. Returns whether there may be more.
    pub async fn purge_webhooks(self) -> StoreResult<bool> {
        let before = values![self.now().await? - KEEP_WEBHOOKS];
        let old = "received_at_ms < $1 ORDER BY received_at_ms";
        self.purge_rows(["webhook_events", "webhook_id"], old, before).await
    }

    /// Deletes a bounded number of old payments that were closed without money. Returns whether there may be more.
    pub async fn purge_payments(self) -> StoreResult<bool> {
        let unmade = "id < $1 AND status = 'created' AND closed_at_ms IS NOT NULL AND mismatched_at_ms IS NULL
             AND held_at_ms IS NULL AND NOT EXISTS (SELECT 1 FROM payment_cases WHERE payment_id = payments.id)
             ORDER BY id";
        let before = values![first_id_of(self.now().await? - KEEP_UNMADE_PAYMENTS)];
        self.purge_rows(["payments", "id"], unmade, before).await
    }

    /// Deletes a bounded number of old lines of bills. Returns whether there may be more.
    pub async fn purge_bill_lines(self) -> StoreResult<bool> {
        let before = values![first_id_of(self.now().await? - KEEP_BILL_LINES)];
        self.purge_rows(["bill_lines", "run, line"], "run < $1 ORDER BY run, line", before).await
    }

    /// Deletes a bounded number of old payments of the sandbox. Returns whether there may be more.
    pub async fn purge_sandbox(self) -> StoreResult<bool> {
        let before = values![first_id_of(self.now().await? - KEEP_SANDBOX_PAYMENTS)];
        self.purge_rows(["sandbox_payments", "id"], "id < $1 AND status <> 'captured' ORDER BY id", before).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::new_store;
    use crate::id_at;
    use base::clock::Clock;

    #[tokio::test]
    async fn old_webhooks_and_unused_sandbox_payments_are_deleted() {
        let clock = Clock::manual(Timestamp::UNIX_EPOCH + Duration::from_secs(1_800_000_000));
        let (_dir, store) = new_store(&clock).await;
        let now = clock.now();
        let execute = async |sql: String| {
            store.run(query!(AssertSqlSafe(sql))).await.unwrap();
        };
        for (age, status) in [(29, "open"), (31, "open"), (31, "captured"), (31, "declined"), (31, "refunded")] {
            let id = id_at(now - Duration::from_secs(age * 24 * 3600));
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
            let id = id_at(now - Duration::from_secs(age * 24 * 3600));
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
