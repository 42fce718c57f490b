//! Orders and units of each sale by status. Transactions that change orders note the changes here ([`Tx::changes`]).
//! They are written with the commit, so totals and orders never differ.
//!
//! Payments of one sale are concurrent and do not lock the sale. With one row per sale each would wait until the
//! previous payment is flushed to disk. So every total has [`SHARDS`] rows, of which a transaction changes one, and a
//! reader adds them up. The alternative, rows that are folded later, needs a job, and readers pay for its backlog.
//!
//! The rows are the last ones that a transaction locks, in the order of their key. The statement is sent together with
//! the commit, so they are not locked during a round trip.

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;
use sqlx::AssertSqlSafe;

use crate::{OrderStore, StoreError, list, padded, row};
use domain::{OrderId, OrderStatus, SaleId};

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

impl OrderStore<'_> {
    /// The orders of each of these sales by status. A sale without orders is missing.
    pub async fn order_totals(self, sales: &[SaleId]) -> Result<HashMap<SaleId, OrderTotals>, StoreError> {
        let mut totals: HashMap<SaleId, OrderTotals> = HashMap::new();
        for chunk in padded(sales) {
            let sql = format!(
                "SELECT sale_id, status, CAST(SUM(orders) AS BIGINT) AS orders, CAST(SUM(units) AS BIGINT) AS units
                 FROM order_totals WHERE sale_id IN {} GROUP BY sale_id, status",
                list(chunk.len(), 0)
            );
            let query = chunk.iter().fold(sqlx::query(AssertSqlSafe(sql)), |query, sale| query.bind(sale.0));
            for row in &query.fetch_all(&self.pool).await? {
                let status: OrderStatus = row::parsed(row, "status")?;
                let count = StatusCount { orders: row::int(row, "orders")?, units: row::int(row, "units")? };
                let of_sale = totals.entry(SaleId(row::int(row, "sale_id")?)).or_default();
                of_sale.by_status.insert(status.as_str(), count);
            }
        }
        Ok(totals)
    }

    /// The orders of a sale that are not paid yet.
    pub async fn unpaid(self, sale: SaleId) -> Result<i64, StoreError> {
        let totals = self.order_totals(&[sale]).await?.remove(&sale);
        Ok(totals.map_or(0, |totals| totals.of(OrderStatus::Unpaid).orders))
    }

    /// Until when the newest order of a sale can be paid: units of its unpaid orders come back by then. Ids of orders
    /// rise with time.
    pub async fn last_pay_by(self, sale: SaleId) -> Result<Option<Timestamp>, StoreError> {
        let sql = "SELECT pay_by_ms FROM orders WHERE sale_id = $1 ORDER BY id DESC LIMIT 1";
        self.optional(sqlx::query(sql).bind(sale.0), |row| row::time(row, "pay_by_ms")).await
    }
}
