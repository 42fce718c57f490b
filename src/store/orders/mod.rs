//! Orders in the database: reads for owners, operators and the audit, cancellation, and releases of units.
//!
//! An order that ends leaves a pending release: its units are still taken in the stock backend. The release is written
//! in the transaction that ends the order, and deleted once the backend has released the units, so no unit is lost.
//! Releasing twice changes nothing.

pub(super) mod changes;
pub(super) mod holds;
pub(super) mod intake;
pub(super) mod invoices;
pub(super) mod parcels;
pub(super) mod reservations;
pub(super) mod returns;
pub(super) mod search;
pub(super) mod staff_actions;

use std::collections::HashMap;
use std::time::Duration;

use boxed::boxed;
use jiff::Timestamp;
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

use crate::pool::Connection;
use crate::sales::add_sold;
use crate::{
    Bound, LockPatience, OrderStore, StoreResult, Tx, bound, column, for_ids, for_rows, linked_accounts, list,
    next_attempt, page_below, pair, row, sales, staff,
};
use domain::order::OrderEvent;
use domain::{Address, LinkDigest, Order, OrderId, OrderStatus, Reservation, SaleId, UserId};
use search::{STATUS_UNINDEXED, status_condition};

/// How much longer an overdue order waits for its payment to be closed.
const CLOSING_TIME: Duration = Duration::from_secs(10);

macro_rules! columns {
    () => {
        "id, day_number, sale_id, user_id, quantity, amount, shipping, currency, status, reason, message, address, reserved_at_ms, \
         created_at_ms, pay_by_ms"
    };
}
pub(super) use columns;

pub(super) fn order(row: &AnyRow) -> sqlx::Result<Order> {
    read!(row => Order {
        id, number: "day_number", sale_id, user_id, quantity, amount, shipping, status, reason, message,
        address = row::json(row, "address")?, reserved_at: "reserved_at_ms", created_at: "created_at_ms",
        pay_by: "pay_by_ms",
    })
}

#[boxed]
impl OrderStore<'_> {
    /// The statuses of these orders, without orders that do not exist.
    pub async fn order_statuses(self, orders: &[OrderId]) -> StoreResult<HashMap<OrderId, OrderStatus>> {
        let sql = "SELECT id, status FROM orders WHERE id IN $ids";
        self.all_of(sql, &[], orders, pair("id", "status")).await
    }

    pub async fn get(self, sale: SaleId, id: OrderId) -> StoreResult<Option<Order>> {
        let sql = select!(columns, "FROM orders WHERE id = $1 AND sale_id = $2");
        self.optional(query!(sql; id, sale), order).await
    }

    /// An order of any sale.
    pub async fn order_with_id(self, id: OrderId) -> StoreResult<Option<Order>> {
        Ok(read(&mut self.pool.acquire().await?, id).await?)
    }

    /// Every status change of the order so far, oldest first.
    pub async fn history(self, of: &Order) -> StoreResult<Vec<OrderEvent>> {
        Ok(self.steps(of).await?.into_iter().map(|step| step.event).collect())
    }

    /// Sets the delivery address of an unpaid order with what shipping costs there, or the missing address of a paid
    /// order. Returns `false` if there is no such order or its address is fixed ([`Order::takes_address`]). `links` are
    /// digests of the address, for finding linked accounts.
    ///
    /// The cost of shipping stays while the order goes to the same place. If the amount changes, the order's open
    /// payments are closed; a payment of the earlier amount that was made already is refunded.
    pub async fn set_address(
        self,
        sale: SaleId,
        id: OrderId,
        address: &Address,
        links: &[LinkDigest],
    ) -> StoreResult<bool> {
        let text = serde_json::to_string(address).map_err(|e| sqlx::Error::Encode(e.into()))?;
        let mut tx = self.begin().await?;
        tx.run(query!("UPDATE orders SET status = status WHERE id = $1 AND sale_id = $2"; id, sale)).await?;
        let found = read(&mut tx, id).await?.filter(|order| order.sale_id == sale && order.takes_address());
        let Some(mut order) = found else { return Ok(false) };
        let before = order.amount;
        let is_elsewhere = order.address.as_deref().is_none_or(|earlier| !earlier.is_in_town_of(address));
        if order.status == OrderStatus::Unpaid && is_elsewhere {
            let table = staff::shipping_of(&mut tx, sale).await?;
            order.set_shipping(table.cost(order.goods(), address));
        }
        let sql = "UPDATE orders SET address = $2, amount = $3, shipping = $4 WHERE id = $1";
        tx.run(query!(sql; id, text, order.amount.amount, order.shipping.amount)).await?;
        if order.amount != before {
            close_payments_of(&mut tx, &[id]).await?;
        }
        linked_accounts::note_order(&mut tx, (sale, order.user_id), links).await?;
        tx.changes.edited(id);
        tx.commit_and(true).await
    }

    /// A user's orders with one of the statuses (any status if empty), newest first, older than the order `before`.
    pub async fn orders_of(
        self,
        user: UserId,
        statuses: &[OrderStatus],
        before: Option<OrderId>,
        limit: i64,
    ) -> StoreResult<Vec<Order>> {
        let with = status_condition(STATUS_UNINDEXED, statuses)
            .map(|condition| format!("AND {condition}"))
            .unwrap_or_default();
        let sql = format!(
            "SELECT {} FROM orders WHERE user_id = $1 AND id < $2 {with} ORDER BY id DESC LIMIT $3",
            columns!()
        );
        self.all(query!(AssertSqlSafe(sql); user, page_below(before), limit), order).await
    }

    /// The statuses of a user's newest orders, at most `limit` of them.
    pub async fn order_statuses_of(self, user: UserId, limit: i64) -> StoreResult<Vec<OrderStatus>> {
        let sql = "SELECT status FROM orders WHERE user_id = $1 ORDER BY id DESC LIMIT $2";
        self.all(query!(sql; user, limit), column("status")).await
    }

    /// The live order of an account in a sale.
    pub async fn live_order_of(self, sale: SaleId, user: UserId) -> StoreResult<Option<OrderId>> {
        let sql = "SELECT id FROM orders WHERE sale_id = $1 AND user_id = $2 AND status IN ('unpaid', 'paid')";
        self.optional(query!(sql; sale, user), column("id")).await
    }

    /// Which order of its sale this is, counted from 1 by id and so by time, without rejected orders. `None` beyond
    /// `limit`, so that the count reads at most this many rows. An earlier order may still be on its way to the
    /// database.
    pub async fn order_number(self, sale: SaleId, id: OrderId, limit: i64) -> StoreResult<Option<i64>> {
        let sql = "SELECT COUNT(*) AS earlier FROM (SELECT 1 FROM orders
             WHERE sale_id = $1 AND id < $2 AND status <> 'rejected' LIMIT $3) AS before_it";
        let earlier = self.optional(query!(sql; sale, id, limit), column("earlier")).await?.unwrap_or(limit);
        Ok((earlier < limit).then_some(earlier + 1))
    }

    /// Units in live orders of a sale, by order id, after the order `after`.
    pub async fn live_orders(self, sale: SaleId, after: Option<OrderId>, limit: i64) -> StoreResult<Vec<HeldUnits>> {
        let sql = select!(
            held_columns,
            "FROM orders
             WHERE sale_id = $1 AND status IN ('unpaid', 'paid') AND id > $2 ORDER BY id LIMIT $3"
        );
        self.all(query!(sql; sale, after.map_or_else(String::new, |id| id.to_string()), limit), held_units).await
    }

    /// Unpaid orders whose payment window is over, the longest overdue first, without orders of the sales `except`. An
    /// order whose payment is still open at the provider has [`CLOSING_TIME`] more, because its money may have been
    /// captured at the last second.
    pub async fn overdue_orders(self, except: &[SaleId], limit: i64) -> StoreResult<Vec<(SaleId, OrderId)>> {
        let others = match except.len() {
            0 => String::new(),
            count => format!("AND sale_id NOT IN {}", list(count, 2)),
        };
        let sql = format!(
            "SELECT sale_id, id FROM orders WHERE status = 'unpaid' AND pay_by_ms <= $1 {others}
               AND (pay_by_ms <= $1 - {} OR NOT EXISTS (SELECT 1 FROM payments
                 WHERE payments.order_id = orders.id AND payments.close_at_ms IS NOT NULL))
             ORDER BY pay_by_ms LIMIT $2",
            CLOSING_TIME.as_millis()
        );
        let query = bound(query!(AssertSqlSafe(sql); self.now().await?, limit), except.iter().map(Bound::value));
        self.all(query, pair("sale_id", "id")).await
    }

    /// Cancels these orders of a sale if they are still unpaid, and returns their units to the sale in the same
    /// transaction. The result has the units of the orders that this call cancelled.
    pub async fn cancel(
        self,
        sale: SaleId,
        orders: &[OrderId],
        reason: &'static str,
        patience: LockPatience,
    ) -> StoreResult<Vec<HeldUnits>> {
        let mut tx = self.begin_with(patience).await?;
        let cancelled = cancel_within(&mut tx, sale, orders, reason, "").await?;
        tx.commit_and(cancelled).await
    }

    /// Cancels those of these orders whose payment window is over now: it may have been extended since they were listed.
    pub async fn expire(self, sale: SaleId, orders: &[OrderId], patience: LockPatience) -> StoreResult<Vec<HeldUnits>> {
        let mut tx = self.begin_with(patience).await?;
        let overdue = format!("AND pay_by_ms <= {}", tx.now.as_millisecond());
        let cancelled = cancel_within(&mut tx, sale, orders, "unpaid", &overdue).await?;
        tx.commit_and(cancelled).await
    }
}

/// As [`OrderStore::cancel`], within a transaction, for orders that meet `condition` as well.
async fn cancel_within(
    tx: &mut Tx,
    sale: SaleId,
    orders: &[OrderId],
    reason: &'static str,
    condition: &str,
) -> sqlx::Result<Vec<HeldUnits>> {
    let now = tx.now;
    sales::lock(tx, sale).await?;
    let sql = format!(
        concat!(
            "UPDATE orders SET status = 'cancelled', reason = $1
             WHERE status = 'unpaid' AND sale_id = $2 {} AND id IN $ids RETURNING ",
            held_columns!()
        ),
        condition
    );
    let cancelled: Vec<HeldUnits> = tx.all_of(&sql, &values![reason, sale], orders, held_units).await?;
    for held in &cancelled {
        let change = (OrderStatus::Unpaid, OrderStatus::Cancelled);
        tx.changes.moved((sale, held.order_id), change, held.quantity.into());
    }
    if !cancelled.is_empty() {
        let units: i64 = cancelled.iter().map(|held| i64::from(held.quantity)).sum();
        add_sold(tx, sale, -units).await?;
        add_releases(tx, &cancelled).await?;
        let ids: Vec<OrderId> = cancelled.iter().map(|held| held.order_id).collect();
        add_events(tx, &ids, OrderStatus::Cancelled, now).await?;
        close_payments_of(tx, &ids).await?;
    }
    Ok(cancelled)
}

pub(super) async fn read(connection: &mut Connection, id: OrderId) -> sqlx::Result<Option<Order>> {
    let sql = select!(columns, "FROM orders WHERE id = $1");
    connection.optional(query!(sql; id), order).await
}

/// Records that orders reached a status.
pub(super) async fn add_events(
    tx: &mut Tx,
    orders: &[OrderId],
    status: OrderStatus,
    now: Timestamp,
) -> sqlx::Result<()> {
    let sql = "INSERT INTO order_events (order_id, status, at_ms) VALUES $rows ON CONFLICT DO NOTHING";
    tx.run_all(for_rows(sql, orders, |id| values![id, status, now])).await
}

/// Makes the open payments of orders that ended or were paid due for closing at once, in the same transaction.
pub(crate) async fn close_payments_of(tx: &mut Tx, orders: &[OrderId]) -> sqlx::Result<()> {
    let sql = "UPDATE payments SET close_at_ms = 0 WHERE close_at_ms IS NOT NULL AND order_id IN $ids";
    tx.run_all(for_ids(sql, &[], orders)).await
}

/// Units that an order holds. The backend releases them only if the user's hold still belongs to this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldUnits {
    pub order_id: OrderId,
    pub sale_id: SaleId,
    pub user_id: UserId,
    pub quantity: u32,
}

impl HeldUnits {
    /// The units of a reservation.
    pub fn of(r: &Reservation) -> HeldUnits {
        HeldUnits { order_id: r.order_id, sale_id: r.sale_id, user_id: r.user_id, quantity: r.quantity }
    }
}

#[boxed]
impl OrderStore<'_> {
    /// The oldest pending releases.
    pub async fn pending_releases(self, limit: i64) -> StoreResult<Vec<HeldUnits>> {
        let sql = "SELECT order_id AS id, sale_id, user_id, quantity FROM releases ORDER BY order_id LIMIT $1";
        self.all(query!(sql; limit), held_units).await
    }

    /// Pending releases whose next attempt is due. Releases that have waited longest come first.
    pub async fn due_releases(self, limit: i64) -> StoreResult<Vec<HeldUnits>> {
        let sql = "SELECT order_id AS id, sale_id, user_id, quantity FROM releases WHERE next_attempt_at_ms <= $1
             ORDER BY next_attempt_at_ms, order_id LIMIT $2";
        self.all(query!(sql; self.now().await?, limit), held_units).await
    }

    /// Postpones the next attempt of releases, by half a second at first and by up to eight seconds.
    pub async fn postpone_releases(self, orders: &[OrderId]) -> StoreResult<()> {
        let now = self.now().await?.as_millisecond();
        let sql = format!("UPDATE releases SET {} WHERE order_id IN $ids", next_attempt(500, 4));
        self.run_all(for_ids(&sql, &values![now], orders)).await
    }

    /// Deletes releases of sales that are retired, deleted or sold by draw, because the backend holds no units of them.
    /// A late copy of an order, or a refund, may have requested them. Returns how many were deleted.
    pub async fn delete_releases_of_retired_sales(self) -> StoreResult<u64> {
        let sql = "DELETE FROM releases WHERE NOT EXISTS
               (SELECT 1 FROM sales WHERE sales.id = releases.sale_id AND sales.retired_at_ms IS NULL
                  AND sales.mode <> 'draw')";
        self.changed(query!(sql)).await
    }

    /// Deletes releases that the stock backend has carried out.
    pub async fn delete_releases(self, orders: &[OrderId]) -> StoreResult<()> {
        self.run_all(for_ids("DELETE FROM releases WHERE order_id IN $ids", &[], orders)).await
    }

    /// Adds releases for units that ended orders hold again although their first release is done.
    pub async fn request_releases(self, releases: &[HeldUnits]) -> StoreResult<()> {
        let mut tx = self.begin().await?;
        add_releases(&mut tx, releases).await?;
        Ok(tx.commit().await?)
    }
}

async fn add_releases(tx: &mut Tx, releases: &[HeldUnits]) -> sqlx::Result<()> {
    let sql = "INSERT INTO releases (order_id, sale_id, user_id, quantity) VALUES $rows ON CONFLICT DO NOTHING";
    tx.run_all(for_rows(sql, releases, |r| values![r.order_id, r.sale_id, r.user_id, r.quantity])).await
}

/// The columns of `orders` that [`held_units`] maps.
macro_rules! held_columns {
    () => {
        "id, sale_id, user_id, quantity"
    };
}
pub(super) use held_columns;

/// Maps a row with the [`held_columns`] of an order.
fn held_units(row: &AnyRow) -> sqlx::Result<HeldUnits> {
    read!(row => HeldUnits { order_id: "id", sale_id, user_id, quantity })
}
