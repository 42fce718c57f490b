//! Notices before something begins or ends: reminders of the start of sales, and of the end of the time to pay. Data
//! control writes them ([`control`](control)). Each is written in the transaction that records it, so only once.

use boxed::boxed;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use sqlx::any::AnyRow;

use super::{ReminderStore, StoreResult, Tx, column, for_ids, goods, mail, pair, row, sales};
use domain::{MailKind, OrderId, SaleId, SaleState, UserId};

/// How long before the start, and before the end of the time to pay, notices are written.
const LEAD_TIME: SignedDuration = SignedDuration::from_mins(5);
/// Accounts per transaction.
const MAX_NOTICES: i64 = 256;

/// A reminder as its account sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnReminder {
    pub is_set: bool,
    /// How many accounts have a reminder of the sale.
    pub accounts: i64,
    /// The verified address of the account.
    pub address: Option<String>,
    /// Whether a browser of the account has subscribed.
    pub is_pushed: bool,
}

/// Removes the reminders of an account that is deleted.
pub(super) async fn remove_all(tx: &mut Tx, user: UserId) -> sqlx::Result<()> {
    for sql in [
        "UPDATE reminder_counts SET accounts = accounts - 1
         WHERE sale_id IN (SELECT sale_id FROM reminders WHERE user_id = $1)",
        "DELETE FROM reminders WHERE user_id = $1",
    ] {
        tx.run(query!(sql; user)).await?;
    }
    Ok(())
}

#[boxed]
impl ReminderStore<'_> {
    /// Records that an account wants a reminder of the start of a sale.
    pub async fn set(self, sale: SaleId, user: UserId) -> StoreResult<()> {
        let mut tx = self.begin().await?;
        let sql = "INSERT INTO reminders (sale_id, user_id, created_at_ms) VALUES ($1, $2, $3)
             ON CONFLICT (sale_id, user_id) DO NOTHING";
        if tx.changed(query!(sql; sale, user, tx.now)).await? == 1 {
            let sql = "INSERT INTO reminder_counts (sale_id, accounts) VALUES ($1, 1)
                 ON CONFLICT (sale_id) DO UPDATE SET accounts = reminder_counts.accounts + 1";
            tx.run(query!(sql; sale)).await?;
        }
        Ok(tx.commit().await?)
    }

    pub async fn remove(self, sale: SaleId, user: UserId) -> StoreResult<()> {
        let mut tx = self.begin().await?;
        if tx.changed(query!("DELETE FROM reminders WHERE sale_id = $1 AND user_id = $2"; sale, user)).await? == 1 {
            tx.run(query!("UPDATE reminder_counts SET accounts = accounts - 1 WHERE sale_id = $1"; sale)).await?;
        }
        Ok(tx.commit().await?)
    }

    /// Whether an account has a reminder of a sale, and where the reminder goes.
    pub async fn get(self, sale: SaleId, user: UserId) -> StoreResult<OwnReminder> {
        let sql = "SELECT COALESCE((SELECT accounts FROM reminder_counts WHERE sale_id = $1), 0) AS accounts,
               (SELECT COUNT(*) FROM reminders WHERE sale_id = $1 AND user_id = $2) AS own,
               (SELECT address FROM mail_addresses WHERE user_id = $2) AS address,
               (SELECT COUNT(*) FROM push_subscriptions WHERE user_id = $2) AS browsers";
        self.one(query!(sql; sale, user), |row| {
            read!(row => OwnReminder {
                is_set = row::int(row, "own")? > 0, accounts, address, is_pushed = row::int(row, "browsers")? > 0,
            })
        })
        .await
    }

    /// How many accounts have a reminder of a sale.
    pub async fn count(self, sale: SaleId) -> StoreResult<i64> {
        let query = query!("SELECT accounts FROM reminder_counts WHERE sale_id = $1"; sale);
        Ok(self.optional(query, column("accounts")).await?.unwrap_or_default())
    }

    pub(super) async fn reminders_for_export(self, user: UserId) -> StoreResult<Vec<Value>> {
        let sql = "SELECT sale_id, created_at_ms FROM reminders WHERE user_id = $1 ORDER BY sale_id";
        let exported = |row: &AnyRow| {
            Ok(json!({"sale_id": row::get::<SaleId>(row, "sale_id")?, "created_at": row::time(row, "created_at_ms")?}))
        };
        self.all(query!(sql; user), exported).await
    }

    /// Sales that start ([`Sale::starts_at`](domain::Sale::starts_at)) within [`LEAD_TIME`].
    pub async fn sales_about_to_start(self) -> StoreResult<Vec<SaleId>> {
        let now = self.now().await?;
        let sql =
            "SELECT id FROM sales WHERE state = 'scheduled' AND opens_at_ms - COALESCE(queue_prequeue_s, 0) * 1000 > $1
             AND opens_at_ms - COALESCE(queue_prequeue_s, 0) * 1000 <= $2 ORDER BY id";
        self.all(query!(sql; now, now + LEAD_TIME), column("id")).await
    }

    /// Writes notices to a bounded number of accounts that a sale starts soon. Returns whether there may be more.
    pub async fn tell_of_start(self, id: SaleId) -> StoreResult<bool> {
        let mut tx = self.begin().await?;
        let Some(sale) = sales::read(&mut tx, id).await? else { return Ok(false) };
        let starts_at = sale.starts_at().filter(|at| sale.state == SaleState::Scheduled && *at > tx.now);
        let Some(starts_at) = starts_at else { return Ok(false) };
        let sql = "SELECT user_id FROM reminders WHERE sale_id = $1 AND told_at_ms IS NULL ORDER BY user_id LIMIT $2";
        let users: Vec<UserId> = tx.all(query!(sql; id, MAX_NOTICES), column("user_id")).await?;
        let told_at = tx.now;
        let sql = "UPDATE reminders SET told_at_ms = $2 WHERE sale_id = $1 AND user_id IN $ids";
        tx.run_all(for_ids(sql, &values![id, told_at], &users)).await?;
        let facts = json!({"goods": goods::name(&mut tx, sale.goods_id).await?, "sale": id, "at": starts_at});
        mail::notify_all(&mut tx, &users, MailKind::SaleStarts, &facts, Some(starts_at)).await?;
        tx.commit_and(users.len() as i64 == MAX_NOTICES).await
    }

    /// Writes notices to the owners of a bounded number of unpaid orders that their time to pay ends within
    /// [`LEAD_TIME`]. An order with a shorter payment window gets no notice. Returns whether there may be more.
    pub async fn tell_of_payment_end(self) -> StoreResult<bool> {
        let mut tx = self.begin().await?;
        let until = (tx.now + LEAD_TIME).as_millisecond();
        // This also locks the row. A new row begins with orders that can still be paid.
        let sql = "INSERT INTO payment_notices (id, pay_by_ms, order_id) VALUES (1, $1, '')
             ON CONFLICT (id) DO UPDATE SET order_id = payment_notices.order_id RETURNING pay_by_ms, order_id";
        let (told_until, last) = tx.one(query!(sql; tx.now), pair::<i64, String>("pay_by_ms", "order_id")).await?;
        // Orders after the last one whose accounts can get messages.
        let sql = "SELECT id, sale_id, user_id, pay_by_ms FROM orders WHERE status = 'unpaid'
             AND pay_by_ms >= $1 AND pay_by_ms < $2 AND (pay_by_ms > $1 OR id > $3)
             AND (EXISTS (SELECT 1 FROM push_subscriptions WHERE push_subscriptions.user_id = orders.user_id)
               OR EXISTS (SELECT 1 FROM mail_addresses
                 WHERE mail_addresses.user_id = orders.user_id AND mail_addresses.address IS NOT NULL))
             ORDER BY pay_by_ms, id LIMIT $4";
        let orders = tx.fetch_all(query!(sql; told_until, until, last, MAX_NOTICES)).await?;
        for row in &orders {
            let (order, user): (OrderId, UserId) = (row::get(row, "id")?, row::get(row, "user_id")?);
            let pay_by: Timestamp = row::get(row, "pay_by_ms")?;
            let facts = json!({"sale": row::get::<SaleId>(row, "sale_id")?, "order": order, "pay_by": pay_by});
            mail::notify_all(&mut tx, &[user], MailKind::PaymentEnds, &facts, Some(pay_by)).await?;
        }
        let is_full = orders.len() as i64 == MAX_NOTICES;
        let (pay_by, order) = match orders.last().filter(|_| is_full) {
            Some(last) => (row::int(last, "pay_by_ms")?, row::text(last, "id")?),
            None => (until, String::new()),
        };
        tx.run(query!("UPDATE payment_notices SET pay_by_ms = $1, order_id = $2 WHERE id = 1"; pay_by, order)).await?;
        tx.commit_and(is_full).await
    }

    /// Deletes a bounded number of reminders of sales that have ended. Returns whether there may be more.
    pub async fn purge(self) -> StoreResult<bool> {
        let sql = "DELETE FROM reminders WHERE (sale_id, user_id) IN (SELECT sale_id, user_id FROM reminders
             WHERE sale_id IN (SELECT id FROM sales WHERE state = 'ended') LIMIT $1)";
        Ok(self.changed(query!(sql; MAX_NOTICES)).await? == MAX_NOTICES as u64)
    }
}
