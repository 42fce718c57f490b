//! Offers: the first accounts on a waitlist are called, each with the id of its future order. The stock backend grants
//! the units as for any purchase. Once the order is in the database, the account gets a message.
//!
//! A call is stored, and repeating the claim for its order grants nothing twice. So a process may die between any two
//! of these steps.

use std::collections::VecDeque;

use serde_json::json;
use sqlx::Row;
use sqlx::any::AnyRow;
use uuid::Uuid;

use super::line::MAX_COUNTED_WAITERS;
use crate::accounts::is_closed;
use crate::mail::notify_all;
use crate::{LockPatience, StoreError, Tx, WaitlistStore, row, sales};
use domain::claim::Claim;
use domain::{Bucket, MailKind, OrderId, OrderStatus, Sale, SaleId, UserId};

/// Accounts per transaction. Few, so that the waitlist is locked only for a short time.
const MAX_CALLS: i64 = 256;

/// Accounts that one transaction passes over. A bound on its time, but more than wait in practice.
const MAX_PASSED_OVER: usize = 10_000;

/// How many called accounts have their order, and how many orders were rejected.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OffersMade {
    /// Accounts that have their order.
    pub offered: usize,
    /// Orders that the database rejected. Their accounts go on waiting in their places.
    pub rejected: usize,
}

/// An account whose turn it is.
struct Turn {
    user_id: UserId,
    quantity: i64,
    place: i64,
    order_id: Option<OrderId>,
    /// Whether the account is blocked, deleted, or has another order of the sale.
    cannot_buy: bool,
}

fn turn(row: &AnyRow) -> Result<Turn, sqlx::Error> {
    let order: Option<String> = row.try_get("order_id")?;
    let live: Option<String> = row.try_get("live_order")?;
    // A live order with the called id is the offer itself, which is about to be recorded.
    let has_another = live.is_some() && live != order;
    Ok(Turn {
        user_id: row::parsed(row, "user_id")?,
        quantity: row::int(row, "quantity")?,
        place: row::int(row, "place")?,
        order_id: order.map(|id| id.parse().map_err(|_| row::undecodable("order_id"))).transpose()?,
        cannot_buy: is_closed(row)? || has_another,
    })
}

impl WaitlistStore<'_> {
    /// Sales in the stock backend that have a waitlist.
    pub async fn sales_with_waitlists(self) -> Result<Vec<Sale>, StoreError> {
        self.sales()
            .sales_where(concat!(
                "SELECT ",
                sales::columns!(),
                " FROM sales WHERE id IN (SELECT sale_id FROM waitlists) AND retired_at_ms IS NULL AND mode = 'rush'
             ORDER BY id"
            ))
            .await
    }

    /// Records offers whose orders have arrived, and writes messages to their accounts in the same transaction.
    pub async fn note_offers(self, sale: SaleId) -> Result<OffersMade, StoreError> {
        let called = "SELECT 1 FROM waiters JOIN orders ON orders.id = waiters.order_id
             WHERE waiters.sale_id = $1 AND state = 'waiting' AND order_id IS NOT NULL LIMIT 1";
        if self.optional(sqlx::query(called).bind(sale.0), |_| Ok(())).await?.is_none() {
            return Ok(OffersMade::default());
        }
        let mut tx = self.begin_with(LockPatience::Short).await?;
        let Some((now, _)) = self.lock_waitlist(&mut tx, sale).await? else { return Ok(OffersMade::default()) };
        let sql = "SELECT waiters.user_id, order_id, status, pay_by_ms FROM waiters
             JOIN orders ON orders.id = waiters.order_id
             WHERE waiters.sale_id = $1 AND state = 'waiting' AND order_id IS NOT NULL LIMIT $2";
        let arrived = sqlx::query(sql).bind(sale.0).bind(MAX_CALLS).fetch_all(&mut *tx).await?;
        let mut made = OffersMade::default();
        for row in &arrived {
            let (user, order): (UserId, OrderId) = (row::parsed(row, "user_id")?, row::parsed(row, "order_id")?);
            let status: OrderStatus = row::parsed(row, "status")?;
            let set = match status {
                OrderStatus::Rejected => "order_id = NULL, called_at_ms = NULL, since_ms = $3",
                _ => "state = 'offered', since_ms = $3",
            };
            let sql = format!("UPDATE waiters SET {set} WHERE sale_id = $1 AND user_id = $2 AND state = 'waiting'");
            let query = sqlx::query(sqlx::AssertSqlSafe(sql)).bind(sale.0).bind(user.to_string());
            query.bind(now.as_millisecond()).execute(&mut *tx).await?;
            if status == OrderStatus::Unpaid {
                let pay_by = row::time(row, "pay_by_ms")?;
                let facts = json!({"sale": sale, "order": order, "pay_by": pay_by});
                notify_all(&mut tx, &[user], MailKind::UnitOffered, &facts, Some(pay_by)).await?;
            }
            match status {
                OrderStatus::Rejected => made.rejected += 1,
                _ => made.offered += 1,
            }
        }
        tx.commit().await?;
        Ok(made)
    }

    /// Calls the first accounts on the waitlist for `free` units, and returns the claims of all accounts that are
    /// called and wait for their order. Accounts that cannot buy are skipped. Accounts of buckets that stand still are
    /// passed over, and stay where they are. A claim has the units that its account wants, as far as they are left.
    pub async fn call_waiters(
        self,
        sale: &Sale,
        free: i64,
        standing_still: &[Bucket],
    ) -> Result<Vec<Claim>, StoreError> {
        let mut tx = self.begin_with(LockPatience::Short).await?;
        let Some((now, due_below)) = self.lock_waitlist(&mut tx, sale.id).await? else { return Ok(Vec::new()) };
        let stands_still =
            |turn: &Turn| standing_still.contains(&Bucket::of_user(sale.id, sale.rush.buckets, turn.user_id));
        let mut turns = VecDeque::from(next_turns(&mut tx, sale.id, due_below, None).await?);
        let (mut claims, mut left, mut passed_over) = (Vec::new(), free, 0);
        while left > 0
            && let Some(turn) = turns.pop_front()
        {
            if stands_still(&turn) {
                passed_over += 1;
                if turns.is_empty() && passed_over < MAX_PASSED_OVER {
                    turns = next_turns(&mut tx, sale.id, due_below, Some(&turn)).await?.into();
                }
                continue;
            }
            if turn.cannot_buy {
                skip(&mut tx, sale.id, turn.user_id).await?;
                continue;
            }
            let quantity = turn.quantity.min(left).min(sale.per_user_limit);
            left -= quantity;
            let order_id = match turn.order_id {
                Some(order) => order,
                None => call(&mut tx, sale.id, turn.user_id, now).await?,
            };
            claims.push(Claim { user_id: turn.user_id, order_id, quantity: quantity as u32 });
        }
        tx.commit().await?;
        Ok(claims)
    }

    /// Offers of a sale whose orders are still unpaid, among the latest [`MAX_COUNTED_WAITERS`].
    pub async fn count_open_offers(self, sale: SaleId) -> Result<i64, StoreError> {
        let sql = "SELECT COUNT(*) AS n FROM (SELECT order_id FROM waiters WHERE sale_id = $1 AND state = 'offered'
               ORDER BY called_at_ms DESC LIMIT $2) AS latest
             JOIN orders ON orders.id = latest.order_id WHERE status = 'unpaid'";
        let row = sqlx::query(sql).bind(sale.0).bind(MAX_COUNTED_WAITERS).fetch_one(&self.pool).await?;
        Ok(row::int(&row, "n")?)
    }
}

/// Accounts that wait in segments that are over, in their order, after this one.
async fn next_turns(tx: &mut Tx, sale: SaleId, due_below: i64, after: Option<&Turn>) -> Result<Vec<Turn>, sqlx::Error> {
    let sql = "SELECT waiters.user_id, waiters.quantity, place, order_id, deleted_at_ms, blocked_at_ms,
           (SELECT id FROM orders WHERE orders.sale_id = waiters.sale_id AND orders.user_id = waiters.user_id
              AND orders.status IN ('unpaid', 'paid')) AS live_order
         FROM waiters LEFT JOIN users ON users.id = waiters.user_id
         WHERE sale_id = $1 AND state = 'waiting' AND place < $2 AND place >= $3 AND (place > $3 OR user_id > $4)
         ORDER BY place, user_id LIMIT $5";
    let (place, user) = after.map_or((i64::MIN, String::new()), |turn| (turn.place, turn.user_id.to_string()));
    let query = sqlx::query(sql).bind(sale.0).bind(due_below).bind(place).bind(user).bind(MAX_CALLS);
    query.fetch_all(&mut **tx).await?.iter().map(turn).collect()
}

async fn call(tx: &mut Tx, sale: SaleId, user: UserId, now: jiff::Timestamp) -> Result<OrderId, sqlx::Error> {
    let order = OrderId(Uuid::now_v7());
    let sql = "UPDATE waiters SET order_id = $3, called_at_ms = $4 WHERE sale_id = $1 AND user_id = $2";
    let query = sqlx::query(sql).bind(sale.0).bind(user.to_string()).bind(order.to_string());
    query.bind(now.as_millisecond()).execute(&mut **tx).await?;
    Ok(order)
}

async fn skip(tx: &mut Tx, sale: SaleId, user: UserId) -> Result<(), sqlx::Error> {
    let sql = "UPDATE waiters SET state = 'skipped' WHERE sale_id = $1 AND user_id = $2 AND state = 'waiting'";
    sqlx::query(sql).bind(sale.0).bind(user.to_string()).execute(&mut **tx).await?;
    Ok(())
}
