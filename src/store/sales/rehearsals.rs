//! Rehearsals: sales that are in no list, with test accounts that buy in them, and their removal.

use boxed::boxed;
use jiff::Timestamp;

use crate::sales::changes::touch;
use crate::sales::{columns, lock, sale};
use crate::{ListLock, MAX_ROWS, NewSession, SaleStore, StoreResult, User, for_rows};
use domain::{AuditAction, Sale, SaleId};

/// Deletes everything that belongs to the rehearsal's sale `$1`, in an order that satisfies the foreign keys: rows that
/// refer to an order, a payment or a user come before the row that they refer to.
const DELETE_ALL: [&str; 32] = [
    "DELETE FROM sandbox_webhooks WHERE EXISTS (SELECT 1 FROM payments JOIN orders ON orders.id = payments.order_id
       WHERE orders.sale_id = $1 AND sandbox_webhooks.body LIKE '%' || payments.id || '%')",
    "DELETE FROM sandbox_payments WHERE id IN (SELECT payments.id FROM payments
       JOIN orders ON orders.id = payments.order_id WHERE orders.sale_id = $1)",
    "DELETE FROM webhook_events WHERE payment_id IN (SELECT payments.id FROM payments
       JOIN orders ON orders.id = payments.order_id WHERE orders.sale_id = $1)",
    "DELETE FROM payment_cases WHERE payment_id IN (SELECT payments.id FROM payments
       JOIN orders ON orders.id = payments.order_id WHERE orders.sale_id = $1)",
    "DELETE FROM failed_refunds WHERE order_id IN (SELECT id FROM orders WHERE sale_id = $1)",
    "DELETE FROM partial_refunds WHERE order_id IN (SELECT id FROM orders WHERE sale_id = $1)",
    "DELETE FROM payments WHERE order_id IN (SELECT id FROM orders WHERE sale_id = $1)",
    "DELETE FROM order_events WHERE order_id IN (SELECT id FROM orders WHERE sale_id = $1)",
    "DELETE FROM hold_appeals WHERE hold_id IN (SELECT id FROM order_holds WHERE order_id IN (SELECT id FROM orders
       WHERE sale_id = $1))",
    "DELETE FROM order_holds WHERE order_id IN (SELECT id FROM orders WHERE sale_id = $1)",
    "DELETE FROM invoices WHERE order_id IN (SELECT id FROM orders WHERE sale_id = $1)",
    "DELETE FROM goods_returns WHERE order_id IN (SELECT id FROM orders WHERE sale_id = $1)",
    "DELETE FROM parcel_steps WHERE order_id IN (SELECT id FROM orders WHERE sale_id = $1)",
    "DELETE FROM account_signals WHERE sale_id = $1",
    "DELETE FROM releases WHERE sale_id = $1",
    "DELETE FROM orders WHERE sale_id = $1",
    "DELETE FROM order_totals WHERE sale_id = $1",
    "DELETE FROM queue_places WHERE sale_id = $1",
    "DELETE FROM queue_segments WHERE sale_id = $1",
    "DELETE FROM queue_joins WHERE sale_id = $1",
    "DELETE FROM queues WHERE sale_id = $1",
    "DELETE FROM draw_entries WHERE sale_id = $1",
    "DELETE FROM draws WHERE sale_id = $1",
    "DELETE FROM tallies WHERE sale_id = $1",
    "DELETE FROM sale_alarms WHERE sale_id = $1",
    "DELETE FROM sale_reports WHERE sale_id = $1",
    "DELETE FROM sale_buckets WHERE sale_id = $1",
    "DELETE FROM addresses WHERE user_id IN (SELECT id FROM users WHERE rehearsal = $1)",
    "DELETE FROM revocations WHERE subject IN (SELECT id FROM users WHERE rehearsal = $1)",
    "DELETE FROM sessions WHERE user_id IN (SELECT id FROM users WHERE rehearsal = $1)",
    "DELETE FROM users WHERE rehearsal = $1",
    "DELETE FROM sales WHERE id = $1",
];

#[boxed]
impl SaleStore<'_> {
    /// Sales of rehearsals, including aborted ones.
    pub async fn rehearsed_sales(self) -> StoreResult<Vec<Sale>> {
        self.all(query!(select!(columns, "FROM sales WHERE shadow = 1 ORDER BY id")), sale).await
    }

    /// Adds the test accounts of a rehearsal with one session each.
    pub async fn add_test_accounts(self, sale: SaleId, users: &[User], sessions: &[NewSession]) -> StoreResult<()> {
        for (users, sessions) in users.chunks(MAX_ROWS).zip(sessions.chunks(MAX_ROWS)) {
            let mut tx = self.begin().await?;
            let sql = "INSERT INTO users (id, username, username_key, password_hash, role, created_at_ms, rehearsal)
                 VALUES $rows";
            tx.run_all(for_rows(sql, users, |user| {
                let User { id, username, password_hash, role, created_at, .. } = user;
                values![id, username, username.to_lowercase(), password_hash, role, created_at, sale]
            }))
            .await?;
            let sql = "INSERT INTO sessions (id, user_id, created_at_ms, seen_at_ms, expires_at_ms, address, agent)
                 VALUES $rows";
            let sessions: Vec<(&User, &NewSession)> = users.iter().zip(sessions).collect();
            tx.run_all(for_rows(sql, &sessions, |(user, session)| {
                let NewSession { id, issued_at, expires_at, address, agent, .. } = session;
                values![id, user.id, issued_at, issued_at, expires_at, address, agent]
            }))
            .await?;
            tx.commit().await?;
        }
        Ok(())
    }

    /// Removes a rehearsal's sale with everything that belongs to it, in one transaction. The sale must be retired,
    /// because reservations still under way would refer to a sale that does not exist. Returns `false` if there is no
    /// such rehearsal.
    pub async fn remove_rehearsal(self, sale: SaleId, actor: &str, now: Timestamp) -> StoreResult<bool> {
        let mut tx = self.begin().await?;
        let Some(before) = lock(&mut tx, sale).await?.filter(|sale| sale.shadow) else { return Ok(false) };
        touch(&mut tx).await?;
        tx.lock_list(ListLock::Exclusive, sale).await?;
        for sql in DELETE_ALL {
            tx.run(query!(sql; sale)).await?;
        }
        tx.log(actor, AuditAction::Delete, &format!("sale {sale}"), Some(&before), None, now).await?;
        tx.commit_and(true).await
    }

    /// Deletes counters and alarms of sales that no longer exist. A process may store some while the sale is being
    /// removed.
    pub async fn delete_orphaned_counters(self) -> StoreResult<()> {
        self.run(query!("DELETE FROM tallies WHERE sale_id NOT IN (SELECT id FROM sales)")).await?;
        self.run(query!("DELETE FROM sale_alarms WHERE sale_id NOT IN (SELECT id FROM sales)")).await
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;
    use sqlx::AssertSqlSafe;
    use uuid::Uuid;

    use super::*;
    use crate::fixture::new_store;
    use crate::{Announce, GoodsDraft, SaleDraft, SaveOptions, Store, UserSearch, column};
    use base::clock::Clock;
    use domain::{Bilingual, Currency, Money, OrderId, Reservation, Role, UserId, Window};

    fn session(now: Timestamp) -> NewSession {
        let expires_at = now + SignedDuration::from_hours(1);
        NewSession {
            id: Uuid::now_v7(),
            issued_at: now,
            expires_at,
            address: "127.0.0.1".into(),
            agent: "x".into(),
            is_proved: true,
        }
    }

    async fn rows(store: &Store, table: &str) -> i64 {
        let sql = AssertSqlSafe(format!("SELECT COUNT(*) AS n FROM {table}"));
        store.one(query!(sql), column("n")).await.unwrap()
    }

    #[tokio::test]
    async fn removing_a_rehearsal_removes_all_of_it_and_nothing_else() {
        let (_dir, store) = new_store(&Clock::system()).await;
        let now: Timestamp = "2026-11-21T12:00:00Z".parse().unwrap();
        let text = Bilingual::new("手机", "Phone");
        let draft = GoodsDraft { name: Some(text.clone()), description: Some(text), ..GoodsDraft::default() };
        let goods = store.goods().put(None, draft, "test", now).await.unwrap().unwrap();
        let draft = SaleDraft {
            goods_id: goods.id,
            price: Money::new(1, Currency::CNY),
            total: 5,
            per_user_limit: 1,
            window: Window { opens_at: Some(now), closes_at: None },
            ..SaleDraft::blank()
        };
        let enter = |shadow| SaveOptions { announce: Announce::Schedule, shadow, ..SaveOptions::default() };
        let real = store.sales().create_with(&draft, &enter(false), "test", now).await.unwrap();
        let shadow = store.sales().create_with(&draft, &enter(true), "test", now).await.unwrap();
        let user = |name: &str| User::new(UserId(Uuid::now_v7()), name, String::new(), Role::User, now);
        let (shopper, test_account) = (user("mei"), user("rehearsal 2/1"));
        store.accounts().add_user(&shopper).await.unwrap();
        store.sales().add_test_accounts(shadow.id, std::slice::from_ref(&test_account), &[session(now)]).await.unwrap();
        for (sale, user) in [(&real, &shopper), (&shadow, &test_account)] {
            let order_id = OrderId(Uuid::now_v7());
            let order = Reservation { order_id, sale_id: sale.id, user_id: user.id, quantity: 1, reserved_at: now };
            store.orders().persist_orders(&[order], std::time::Duration::ZERO).await.unwrap();
        }
        assert_eq!(
            store.sales().rehearsed_sales().await.unwrap().iter().map(|sale| sale.id).collect::<Vec<_>>(),
            [shadow.id]
        );
        assert_eq!(store.accounts().find_users(&UserSearch::All, None, 9).await.unwrap().len(), 1, "no test accounts");
        assert_eq!(store.orders().find(&Default::default(), 9).await.unwrap().len(), 1, "no orders of rehearsals");
        assert_eq!(store.sales().sales_between(now, now + SignedDuration::from_hours(1)).await.unwrap().len(), 1);
        assert_eq!(store.payments().pending_counts().await.unwrap().unpaid_orders, 1, "nor wait any");
        assert!(store.sales().overlapping(&real).await.unwrap().is_none(), "a rehearsal overlaps with no sale");

        assert!(!store.sales().remove_rehearsal(real.id, "test", now).await.unwrap(), "only rehearsals can be removed");
        assert!(store.sales().remove_rehearsal(shadow.id, "test", now).await.unwrap());
        assert!(!store.sales().remove_rehearsal(shadow.id, "test", now).await.unwrap());
        for (table, left) in [("sales", 1), ("orders", 1), ("users", 1), ("sessions", 0)] {
            assert_eq!(rows(&store, table).await, left, "{table}");
        }
    }
}
