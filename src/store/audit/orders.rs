//! Orders: sold units, totals, and one live order per user.

use std::collections::BTreeMap;

use sqlx::AssertSqlSafe;

use super::{Snapshot, Steps};
use crate::{StatusCount, StoreError, row};
use domain::{OrderStatus, SaleId};

/// Live orders that one statement may check.
const MAX_ORDERS_AT_ONCE: i64 = 50_000;

/// Orders and units by sale and status.
type Totals = BTreeMap<(SaleId, &'static str), StatusCount>;

/// The result of counting all orders.
#[derive(Debug, Default)]
pub struct CountedOrders {
    pub miscounted_sales: Vec<String>,
    pub wrong_totals: Vec<String>,
}

impl Snapshot {
    /// Counts all orders. Describes sales whose `sold` differs from the units of their live orders, and totals that
    /// differ from the number of their orders.
    pub async fn count_orders(&mut self) -> Result<CountedOrders, StoreError> {
        let counted = self.counted().await?;
        let mut found = CountedOrders::default();
        for (sale, sold) in self.sold().await? {
            let live = [OrderStatus::Unpaid, OrderStatus::Paid];
            let units = live.iter().filter_map(|status| counted.get(&(sale, status.as_str()))).map(|count| count.units);
            let units: i64 = units.sum();
            if units != sold {
                found.miscounted_sales.push(format!("sale {sale}: {sold} sold, {units} in live orders"));
            }
        }
        found.wrong_totals = self.wrong_totals(&counted).await?;
        Ok(found)
    }

    async fn counted(&mut self) -> Result<Totals, StoreError> {
        let sql = "SELECT sale_id, status, COUNT(*) AS orders, CAST(SUM(quantity) AS BIGINT) AS units FROM orders
             WHERE id > $1 AND id <= $2 GROUP BY sale_id, status";
        let mut counted = Totals::new();
        let mut steps = Steps::<String>::over("orders", "id");
        while let Some(step) = steps.next(self).await? {
            for (key, count) in self.all(step.bind(sqlx::query(sql)), total).await? {
                counted.entry(key).or_default().add(count.orders, count.units);
            }
        }
        Ok(counted)
    }

    async fn wrong_totals(&mut self, counted: &Totals) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT sale_id, status, CAST(SUM(orders) AS BIGINT) AS orders, CAST(SUM(units) AS BIGINT) AS units
             FROM order_totals GROUP BY sale_id, status";
        let mut both: BTreeMap<_, (StatusCount, StatusCount)> =
            counted.iter().map(|(key, count)| (*key, (StatusCount::default(), *count))).collect();
        for (key, kept) in self.all(sqlx::query(sql), total).await? {
            both.entry(key).or_default().0 = kept;
        }
        let wrong = both.into_iter().filter(|(_, (kept, counted))| kept != counted);
        let describe = |((sale, status), (kept, counted)): ((SaleId, &str), (StatusCount, StatusCount))| {
            format!(
                "sale {sale}: {} orders with {} units are {status}, the totals say {} with {}",
                counted.orders, counted.units, kept.orders, kept.units
            )
        };
        Ok(wrong.map(describe).collect())
    }

    async fn sold(&mut self) -> Result<Vec<(SaleId, i64)>, StoreError> {
        let query = sqlx::query("SELECT id, sold FROM sales ORDER BY id");
        self.all(query, |row| Ok((SaleId(row::int(row, "id")?), row::int(row, "sold")?))).await
    }

    /// Describes users with more than one live order of a sale. The unique index should make this impossible.
    pub async fn users_with_two_orders(&mut self) -> Result<Vec<String>, StoreError> {
        let (mut problems, mut first, mut orders) = (Vec::new(), 0, 0);
        for (SaleId(sale), sold) in self.sold().await? {
            if sold > MAX_ORDERS_AT_ONCE {
                problems.extend(self.two_orders_of(sale).await?);
            } else {
                orders += sold;
            }
            if orders > MAX_ORDERS_AT_ONCE || sold > MAX_ORDERS_AT_ONCE {
                // A large sale was checked alone just now, so the range ends before it.
                let last = if sold > MAX_ORDERS_AT_ONCE { sale - 1 } else { sale };
                problems.extend(self.two_orders(first, last).await?);
                (first, orders) = (sale + 1, 0);
            }
        }
        problems.extend(self.two_orders(first, i64::MAX).await?);
        Ok(problems)
    }

    /// Checks all sales with ids from `first` to `last` in one statement.
    async fn two_orders(&mut self, first: i64, last: i64) -> Result<Vec<String>, StoreError> {
        let query = sqlx::query(
            "SELECT 'user ' || user_id || ' has several live orders of sale ' || CAST(sale_id AS TEXT) AS problem
             FROM orders WHERE status IN ('unpaid', 'paid') AND sale_id >= $1 AND sale_id <= $2
             GROUP BY sale_id, user_id HAVING COUNT(*) > 1",
        );
        self.all(query.bind(first).bind(last), |row| row::text(row, "problem")).await
    }

    /// Checks a large sale by ranges of its users.
    async fn two_orders_of(&mut self, sale: i64) -> Result<Vec<String>, StoreError> {
        let rows = format!("orders WHERE sale_id = {sale} AND status IN ('unpaid', 'paid') AND");
        let sql = format!(
            "SELECT 'user ' || user_id || ' has several live orders of sale {sale}' AS problem
             FROM {rows} user_id > $1 AND user_id <= $2 GROUP BY user_id HAVING COUNT(*) > 1"
        );
        let (mut problems, mut steps) = (Vec::new(), Steps::<String>::along(rows, "user_id"));
        while let Some(step) = steps.next(self).await? {
            let query = step.bind(sqlx::query(AssertSqlSafe(sql.as_str())));
            problems.extend(self.all(query, |row| row::text(row, "problem")).await?);
        }
        Ok(problems)
    }
}

fn total(row: &sqlx::any::AnyRow) -> Result<((SaleId, &'static str), StatusCount), sqlx::Error> {
    let status: OrderStatus = row::parsed(row, "status")?;
    let count = StatusCount { orders: row::int(row, "orders")?, units: row::int(row, "units")? };
    Ok(((SaleId(row::int(row, "sale_id")?), status.as_str()), count))
}
