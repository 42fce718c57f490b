//! Changes of orders by transactions: the feed of these changes for programs that must not miss one, and the totals of
//! orders and units of each sale by status.
//!
//! A transaction notes the orders that it adds or changes in [`Tx::changes`]. Its commit writes their ids to
//! `order_changes` and the totals, in one round trip. Even a large batch of orders is only a few rows. So totals and
//! orders never differ.
//!
//! **Order of the feed.** Transactions commit in another order than they begin, so neither a time nor a sequence says
//! what a reader has seen. So a change gets its position after its commit: the reader locks `order_feed` and numbers
//! the changes that have no position yet. Changes that commit later get higher positions. So a position stands for all
//! changes that a reader has seen, without a clock or a bound on how long a transaction takes.
//!
//! Changes are stored for [`KEEP_CHANGES`]. A purge numbers old changes that no reader has read, deletes them, and
//! notes the last position that it deleted. A reader whose position is older gets `None`.
//!
//! **Totals.** Payments of one sale are concurrent and do not lock the sale. With one row per sale each would wait
//! until the previous payment is flushed to disk. So every total has [`SHARDS`] rows, of which a transaction changes
//! one, and a reader adds them up. The alternative, rows that are folded later, needs a job, and readers pay for its
//! backlog. The rows are the last ones that a transaction locks, in the order of their key. The statement is sent
//! together with the commit, so they are not locked during a round trip.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use boxed::boxed;
use jiff::Timestamp;
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;
use uuid::{NoContext, Uuid};

use crate::{AFTER_ALL, FoundOrder, OrderStore, StoreResult, Tx, column, pair, row};
use domain::ids::first_id_of;
use domain::{OrderId, OrderStatus, SaleId};

/// Ids in one row. PostgreSQL compresses larger rows.
const MAX_ORDERS_PER_ROW: usize = 50;
/// Rows per page of the feed.
const MAX_ROWS_PER_PAGE: i64 = 100;
/// Orders per page of the feed.
const MAX_CHANGED_ORDERS: usize = 200;
/// How far back a reader may begin.
pub(crate) const KEEP_CHANGES: Duration = Duration::from_secs(30 * 24 * 3600);
/// Rows per statement of a purge.
const PURGE_SIZE: i64 = 1000;

/// The changes that a transaction makes to orders.
#[derive(Debug, Default)]
pub(crate) struct OrderChanges {
    pub(crate) totals: TotalChanges,
    orders: Vec<OrderId>,
}

impl OrderChanges {
    /// Notes a new order with these units.
    pub(crate) fn added(&mut self, sale: SaleId, order: OrderId, status: OrderStatus, units: i64) {
        self.totals.added(sale, order, status, units);
        self.orders.push(order);
    }

    /// Notes that an order with these units changed its status.
    pub(crate) fn moved(&mut self, (sale, order): (SaleId, OrderId), change: (OrderStatus, OrderStatus), units: i64) {
        self.totals.moved((sale, order), change, units);
        self.orders.push(order);
    }

    /// Notes that something other than the order's status changed.
    pub(crate) fn edited(&mut self, order: OrderId) {
        self.orders.push(order);
    }

    /// The statements that write the changes of a transaction that began `at`; `None` if there are none. They contain
    /// only numbers, statuses and UUIDs, so they need no parameters.
    pub(crate) fn sql(&self, at: jiff::Timestamp) -> Option<String> {
        let statements = [self.totals.sql(), self.feed_sql(at)];
        let statements: Vec<String> = statements.into_iter().flatten().collect();
        (!statements.is_empty()).then(|| statements.join("; "))
    }

    fn feed_sql(&self, at: jiff::Timestamp) -> Option<String> {
        let row = |orders: &[OrderId]| {
            let ids: Vec<String> = orders.iter().map(OrderId::to_string).collect();
            format!("('{}','{}')", id_at(at), ids.join(","))
        };
        let rows: Vec<String> = self.orders.chunks(MAX_ORDERS_PER_ROW).map(row).collect();
        (!rows.is_empty()).then(|| format!("INSERT INTO order_changes (id, orders) VALUES {}", rows.join(",")))
    }
}

/// A UUID of version 7 of this time.
pub fn id_at(at: jiff::Timestamp) -> Uuid {
    let seconds = u64::try_from(at.as_second()).unwrap_or_default();
    Uuid::new_v7(uuid::Timestamp::from_unix(NoContext, seconds, at.subsec_nanosecond().unsigned_abs()))
}

/// One page of the feed.
#[derive(Debug)]
pub struct ChangedOrders {
    /// Orders as they are now, the oldest change first.
    pub orders: Vec<FoundOrder>,
    /// The position after which the next page begins.
    pub next: i64,
    /// Whether there are changes for the next page already.
    pub has_more: bool,
}

/// Rows of the feed with their positions.
type FeedRows = Vec<(i64, Vec<OrderId>)>;

/// The ids of one page without repetitions, the position of its last row, and whether more rows follow.
fn page_of(rows: FeedRows, after: i64) -> (Vec<OrderId>, i64, bool) {
    let (mut ids, mut seen, mut next) = (Vec::new(), HashSet::new(), after);
    let mut has_more = rows.len() as i64 == MAX_ROWS_PER_PAGE;
    for (position, orders) in rows {
        if ids.len() + orders.len() > MAX_CHANGED_ORDERS {
            has_more = true;
            break;
        }
        ids.extend(orders.into_iter().filter(|id| seen.insert(*id)));
        next = position;
    }
    (ids, next, has_more)
}

#[boxed]
impl OrderStore<'_> {
    /// The orders that were changed after this position, or since the oldest stored change if there is no position. An
    /// order that changes again appears again. `None` if changes after the position were deleted, or if the feed has
    /// not reached the position, which means that a backup was restored.
    pub async fn changed_orders(self, after: Option<i64>) -> StoreResult<Option<ChangedOrders>> {
        let after = match after {
            Some(after) => after,
            None => self.feed_bounds().await?.0,
        };
        let mut found = self.feed_rows(after).await?;
        if (found.len() as i64) < MAX_ROWS_PER_PAGE && self.number_changes().await? {
            found = self.feed_rows(after).await?;
        }
        // Read last, so that a purge between the reads is noticed.
        let (purged, numbered) = self.feed_bounds().await?;
        if after < purged || after > numbered {
            return Ok(None);
        }
        let (ids, next, has_more) = page_of(found, after);
        let mut orders: HashMap<OrderId, FoundOrder> =
            self.delivered_orders(&ids).await?.into_iter().map(|found| (found.order.id, found)).collect();
        let orders = ids.iter().filter_map(|id| orders.remove(id)).collect();
        Ok(Some(ChangedOrders { orders, next, has_more }))
    }

    /// Deletes a bounded number of old changes. Returns whether there may be more.
    pub async fn purge_order_changes(self) -> StoreResult<bool> {
        let mut tx = self.begin().await?;
        let horizon = first_id_of(tx.now - KEEP_CHANGES);
        let numbered = lock_feed(&mut tx).await?;
        number(&mut tx, numbered, Some(&horizon), PURGE_SIZE).await?;
        let sql = "DELETE FROM order_changes WHERE id < $1 AND position IN (SELECT position FROM order_changes
               WHERE position > 0 ORDER BY position LIMIT $2) RETURNING position";
        let deleted: Vec<i64> = tx.all(query!(sql; horizon, PURGE_SIZE), column("position")).await?;
        if let Some(last) = deleted.iter().max() {
            tx.run(query!("UPDATE order_feed SET purged = $1 WHERE id = 1 AND purged < $1"; last)).await?;
        }
        tx.commit_and(deleted.len() as i64 == PURGE_SIZE).await
    }

    /// The last position that was deleted, and the last one that was given.
    async fn feed_bounds(self) -> StoreResult<(i64, i64)> {
        self.one(query!("SELECT purged, numbered FROM order_feed WHERE id = 1"), pair("purged", "numbered")).await
    }

    async fn feed_rows(self, after: i64) -> StoreResult<FeedRows> {
        let sql = "SELECT position, orders FROM order_changes WHERE position > $1 ORDER BY position LIMIT $2";
        let read = |row: &sqlx::any::AnyRow| {
            let ids: Option<Vec<OrderId>> = row::text(row, "orders")?.split(',').map(|id| id.parse().ok()).collect();
            Ok((row::int(row, "position")?, ids.ok_or_else(|| row::undecodable("orders"))?))
        };
        self.all(query!(sql; after, MAX_ROWS_PER_PAGE), read).await
    }

    /// Gives positions to as many changes as a page has. Returns whether there were any.
    async fn number_changes(self) -> StoreResult<bool> {
        // Most readers ask before there is something new. They must not write anything.
        let sql = "SELECT id FROM order_changes WHERE position IS NULL ORDER BY id LIMIT 1";
        if !self.exists(query!(sql)).await? {
            return Ok(false);
        }
        let mut tx = self.begin().await?;
        let numbered = lock_feed(&mut tx).await?;
        let count = number(&mut tx, numbered, None, MAX_ROWS_PER_PAGE).await?;
        tx.commit_and(count > 0).await
    }
}

/// Locks the feed until the transaction's end. Returns the last position that was given.
async fn lock_feed(tx: &mut Tx) -> sqlx::Result<i64> {
    let sql = "UPDATE order_feed SET numbered = numbered WHERE id = 1 RETURNING numbered";
    tx.one(query!(sql), column("numbered")).await
}

/// Gives positions after `last` to changes without one, the oldest first, at most `limit`, and only to ids below
/// `horizon`. The caller has locked the feed, so each statement sees all changes that were numbered before.
async fn number(tx: &mut Tx, last: i64, horizon: Option<&str>, limit: i64) -> sqlx::Result<usize> {
    let sql = "SELECT id FROM order_changes WHERE position IS NULL AND id < $1 ORDER BY id LIMIT $2";
    let found: Vec<Uuid> = tx.all(query!(sql; horizon.unwrap_or(AFTER_ALL), limit), column("id")).await?;
    if found.is_empty() {
        return Ok(0);
    }
    let row = |(id, position): (&Uuid, i64)| format!("('{id}',CAST({position} AS BIGINT))");
    let rows: Vec<String> = found.iter().zip(last + 1..).map(row).collect();
    let sql = format!(
        "WITH numbers(change, number) AS (VALUES {}) UPDATE order_changes SET position = numbers.number FROM numbers
         WHERE order_changes.id = numbers.change AND order_changes.position IS NULL",
        rows.join(",")
    );
    tx.execute(sqlx::raw_sql(AssertSqlSafe(sql))).await?;
    tx.run(query!("UPDATE order_feed SET numbered = numbered + $1 WHERE id = 1"; rows.len() as i64)).await?;
    Ok(rows.len())
}

/// Rows per total.
const SHARDS: u8 = 16;

/// Number and units of the orders in one status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StatusCount {
    pub orders: i64,
    pub units: i64,
}

impl StatusCount {
    pub(crate) fn add(&mut self, orders: i64, units: i64) {
        self.orders += orders;
        self.units += units;
    }
}

/// The orders of one sale by status.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OrderTotals {
    pub by_status: BTreeMap<&'static str, StatusCount>,
}

impl OrderTotals {
    pub fn of(&self, status: OrderStatus) -> StatusCount {
        self.by_status.get(status.as_str()).copied().unwrap_or_default()
    }
}

/// The changes that a transaction makes to the totals.
#[derive(Debug, Default)]
pub(crate) struct TotalChanges {
    by_row: BTreeMap<(SaleId, &'static str), StatusCount>,
    shard: u8,
}

impl TotalChanges {
    /// Notes a new order with these units.
    pub(crate) fn added(&mut self, sale: SaleId, order: OrderId, status: OrderStatus, units: i64) {
        // The last byte of an order's id is random.
        self.shard = order.0.as_bytes()[15] % SHARDS;
        self.add(sale, status, 1, units);
    }

    /// Notes that an order with these units changed its status.
    pub(crate) fn moved(
        &mut self,
        (sale, order): (SaleId, OrderId),
        (from, to): (OrderStatus, OrderStatus),
        units: i64,
    ) {
        self.added(sale, order, to, units);
        self.add(sale, from, -1, -units);
    }

    fn add(&mut self, sale: SaleId, status: OrderStatus, orders: i64, units: i64) {
        self.by_row.entry((sale, status.as_str())).or_default().add(orders, units);
    }

    /// The statement that writes the changes; `None` if there are none. It contains only numbers and statuses, so it
    /// needs no parameters.
    pub(crate) fn sql(&self) -> Option<String> {
        let rows: Vec<String> = self
            .by_row
            .iter()
            .map(|((sale, status), count)| {
                format!("({sale},'{status}',{},{},{})", self.shard, count.orders, count.units)
            })
            .collect();
        (!rows.is_empty()).then(|| {
            format!(
                "INSERT INTO order_totals (sale_id, status, shard, orders, units) VALUES {}
                 ON CONFLICT (sale_id, status, shard) DO UPDATE SET orders = order_totals.orders + excluded.orders,
                   units = order_totals.units + excluded.units",
                rows.join(",")
            )
        })
    }
}

/// The orders of a sale with a status.
pub(crate) fn count(row: &AnyRow) -> sqlx::Result<((SaleId, &'static str), StatusCount)> {
    let status: OrderStatus = row::get(row, "status")?;
    Ok(((row::get(row, "sale_id")?, status.as_str()), read!(row => StatusCount { orders, units })?))
}

#[boxed]
impl OrderStore<'_> {
    /// The orders of each of these sales by status. A sale without orders is missing.
    pub async fn order_totals(self, sales: &[SaleId]) -> StoreResult<HashMap<SaleId, OrderTotals>> {
        let sql = "SELECT sale_id, status, CAST(SUM(orders) AS BIGINT) AS orders, CAST(SUM(units) AS BIGINT) AS units
             FROM order_totals WHERE sale_id IN $ids GROUP BY sale_id, status";
        let mut totals: HashMap<SaleId, OrderTotals> = HashMap::new();
        let counts: Vec<_> = self.all_of(sql, &[], sales, count).await?;
        for ((sale, status), count) in counts {
            totals.entry(sale).or_default().by_status.insert(status, count);
        }
        Ok(totals)
    }

    /// The orders of a sale that are not paid yet.
    pub async fn unpaid(self, sale: SaleId) -> StoreResult<i64> {
        let totals = self.order_totals(&[sale]).await?.remove(&sale);
        Ok(totals.map_or(0, |totals| totals.of(OrderStatus::Unpaid).orders))
    }

    /// Until when the newest order of a sale can be paid: units of its unpaid orders come back by then. Ids of orders
    /// rise with time.
    pub async fn last_pay_by(self, sale: SaleId) -> StoreResult<Option<Timestamp>> {
        let sql = "SELECT pay_by_ms FROM orders WHERE sale_id = $1 ORDER BY id DESC LIMIT 1";
        self.optional(query!(sql; sale), column("pay_by_ms")).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Store;
    use crate::fixture::new_store;
    use base::clock::Clock;

    /// Commits a transaction that changed this many orders.
    async fn change(store: &Store, orders: usize) {
        let mut tx = store.begin().await.unwrap();
        (0..orders).for_each(|_| tx.changes.edited(OrderId(Uuid::now_v7())));
        tx.commit().await.unwrap();
    }

    #[tokio::test]
    async fn pages_are_bounded_in_rows_and_orders() {
        let (_dir, store) = new_store(&Clock::system()).await;
        change(&store, 430).await;
        let (mut after, mut pages) = (0, Vec::new());
        loop {
            let page = store.orders().changed_orders(Some(after)).await.unwrap().unwrap();
            pages.push(page.next - after);
            after = page.next;
            if !page.has_more {
                break;
            }
        }
        assert_eq!(pages, [4, 4, 1], "rows of 50 orders");
        for _ in 0..MAX_ROWS_PER_PAGE + 1 {
            change(&store, 1).await;
        }
        let page = store.orders().changed_orders(Some(after)).await.unwrap().unwrap();
        assert_eq!((page.next, page.has_more), (after + MAX_ROWS_PER_PAGE, true));
        let page = store.orders().changed_orders(Some(page.next)).await.unwrap().unwrap();
        assert_eq!((page.next, page.has_more), (after + MAX_ROWS_PER_PAGE + 1, false));
    }

    #[tokio::test]
    async fn reader_that_was_away_for_too_long_is_told_so() {
        let clock = Clock::manual(jiff::Timestamp::UNIX_EPOCH + Duration::from_secs(1_800_000_000));
        let (_dir, store) = new_store(&clock).await;
        let next = async |after| store.orders().changed_orders(after).await.unwrap().map(|page| page.next);
        change(&store, 1).await;
        assert_eq!(next(Some(0)).await, Some(1));
        clock.advance(KEEP_CHANGES / 2);
        // No reader reads these changes before they are purged.
        change(&store, 1).await;
        change(&store, 1).await;
        assert!(!store.orders().purge_order_changes().await.unwrap());
        assert_eq!(next(Some(0)).await, Some(3));

        clock.advance(KEEP_CHANGES / 2 + Duration::from_secs(1));
        change(&store, 1).await;
        store.orders().purge_order_changes().await.unwrap();
        assert_eq!(next(Some(0)).await, None);
        assert_eq!(next(Some(1)).await, Some(4), "its changes are kept");
        change(&store, 1).await;
        clock.advance(KEEP_CHANGES * 2);
        store.orders().purge_order_changes().await.unwrap();
        assert_eq!(next(Some(4)).await, None, "the fifth was never numbered by a reader");
        assert_eq!(next(Some(5)).await, Some(5));
        assert_eq!(next(None).await, Some(5), "the oldest change that is kept");
        assert_eq!(next(Some(6)).await, None, "no change ever had this position");
    }
}
