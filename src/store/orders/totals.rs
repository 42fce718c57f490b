//! Orders and units of each sale by status. Transactions that change orders note it here ([`Tx::changes`]); it is written with
//! their commit, so that totals and orders never differ.
//!
//! Payments of one sale are concurrent and take no lock of the sale; one row per sale would put them in a queue, each
//! waiting for the flush of the one before. So every total has [`SHARDS`] rows, of which a transaction changes one, and
//! a reader adds them up. Rows to be folded later were the other way; they need a job, and readers pay for its backlog.
//!
//! The rows are the last that a transaction locks, in the order of their key, and the statement travels with the commit: they
//! are held for no round trip.

use std::collections::{BTreeMap, HashMap};

use sqlx::AssertSqlSafe;

use crate::{Store, StoreError, list, padded, row};
use domain::{OrderId, OrderStatus, SaleId};

/// Rows of one total.
const SHARDS: u8 = 16;

/// Orders in one status.
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

/// What a transaction changes in the totals.
#[derive(Debug, Default)]
pub(crate) struct TotalChanges {
    by_row: BTreeMap<(SaleId, &'static str), StatusCount>,
    shard: u8,
}

impl TotalChanges {
    /// An order with these units was added.
    pub(crate) fn added(&mut self, sale: SaleId, order: OrderId, status: OrderStatus, units: i64) {
        // The last byte of an order's id is random.
        self.shard = order.0.as_bytes()[15] % SHARDS;
        self.correct(sale, status, 1, units);
    }

    /// An order with these units changed its status.
    pub(crate) fn moved(
        &mut self,
        (sale, order): (SaleId, OrderId),
        (from, to): (OrderStatus, OrderStatus),
        units: i64,
    ) {
        self.added(sale, order, to, units);
        self.correct(sale, from, -1, -units);
    }

    pub(crate) fn correct(&mut self, sale: SaleId, status: OrderStatus, orders: i64, units: i64) {
        self.by_row.entry((sale, status.as_str())).or_default().add(orders, units);
    }

    /// The statement that writes the changes; `None` when there are none. Numbers and statuses only, so that it needs no
    /// parameters.
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

impl Store {
    /// The orders of each of these sales by status. A sale without orders is missing.
    pub async fn order_totals(&self, sales: &[SaleId]) -> Result<HashMap<SaleId, OrderTotals>, StoreError> {
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
}
