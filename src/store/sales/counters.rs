//! What the serving processes have counted, and how the orders of a sale stand: the numbers of the cockpit.

use std::collections::BTreeMap;

use jiff::Timestamp;
use sqlx::AssertSqlSafe;

use crate::counters::CounterSnapshot;
use crate::domain::{OrderStatus, SaleId};
use crate::store::{ROWS, Store, StoreError, placeholders, row};

/// Under this name stands what all processes have counted that are gone.
const GONE: &str = "";

/// Orders in one status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counted {
    pub orders: i64,
    pub units: i64,
}

/// How the orders of one sale stand.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OrderCounts {
    pub by_status: BTreeMap<&'static str, Counted>,
    /// Units of ended orders that the backend of stock has not let go of yet.
    pub unreleased: i64,
}

impl OrderCounts {
    pub fn of(&self, status: OrderStatus) -> Counted {
        self.by_status.get(status.as_str()).copied().unwrap_or_default()
    }
}

fn numbers(text: &str) -> Result<CounterSnapshot, sqlx::Error> {
    serde_json::from_str(text).map_err(|_| row::undecodable("numbers"))
}

fn text(numbers: &CounterSnapshot) -> String {
    serde_json::to_string(numbers).unwrap_or_else(|_| "{}".to_owned())
}

impl Store {
    /// Writes down what one process has counted by now, in one statement.
    pub async fn put_tallies(
        &self,
        process: &str,
        registry: &[(SaleId, CounterSnapshot)],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        for chunk in registry.chunks(ROWS) {
            let sql = format!(
                "INSERT INTO tallies (sale_id, process, at_ms, numbers) VALUES {} ON CONFLICT (sale_id, process)
                 DO UPDATE SET at_ms = excluded.at_ms, numbers = excluded.numbers",
                placeholders(chunk.len(), 4)
            );
            let mut tx = self.begin().await?;
            let mut query = sqlx::query(AssertSqlSafe(sql));
            for (sale, numbers) in chunk {
                query = query.bind(sale.0).bind(process.to_owned()).bind(now.as_millisecond()).bind(text(numbers));
            }
            query.execute(&mut *tx).await?;
            tx.commit().await?;
        }
        Ok(())
    }

    /// What all processes but one have counted about a sale.
    pub async fn tallies_of_others(&self, sale: SaleId, process: &str) -> Result<CounterSnapshot, StoreError> {
        let rows = sqlx::query("SELECT numbers FROM tallies WHERE sale_id = $1 AND process <> $2")
            .bind(sale.0)
            .bind(process.to_owned())
            .fetch_all(&self.pool)
            .await?;
        let mut sum = CounterSnapshot::default();
        for row in &rows {
            sum = sum.plus(&numbers(&row::text(row, "numbers")?)?);
        }
        Ok(sum)
    }

    /// Adds up the rows of processes that have not written since `before`: one row for each sale. The answer is how
    /// many rows are gone. Deleting comes first, so that of several who try one gets each row.
    pub async fn fold_tallies(&self, before: Timestamp, now: Timestamp) -> Result<usize, StoreError> {
        let mut tx = self.begin().await?;
        let gone = sqlx::query("DELETE FROM tallies WHERE at_ms < $1 AND process <> $2 RETURNING sale_id, numbers")
            .bind(before.as_millisecond())
            .bind(GONE)
            .fetch_all(&mut *tx)
            .await?;
        let mut sums: BTreeMap<i64, CounterSnapshot> = BTreeMap::new();
        for row in &gone {
            let sum = sums.entry(row::int(row, "sale_id")?).or_default();
            *sum = sum.plus(&numbers(&row::text(row, "numbers")?)?);
        }
        for (sale, sum) in sums {
            // An update that changes nothing locks the row, or is the first to write it.
            let known = sqlx::query(
                "INSERT INTO tallies (sale_id, process, at_ms, numbers) VALUES ($1, $2, $3, '{}')
                 ON CONFLICT (sale_id, process) DO UPDATE SET at_ms = excluded.at_ms RETURNING numbers",
            );
            let known = known.bind(sale).bind(GONE).bind(now.as_millisecond()).fetch_one(&mut *tx).await?;
            let sum = sum.plus(&numbers(&row::text(&known, "numbers")?)?);
            let write = sqlx::query("UPDATE tallies SET numbers = $3 WHERE sale_id = $1 AND process = $2");
            write.bind(sale).bind(GONE).bind(text(&sum)).execute(&mut *tx).await?;
        }
        tx.commit().await?;
        Ok(gone.len())
    }

    /// How the orders of a sale stand. Reads the index of all of them: not for every second.
    pub async fn count_orders(&self, sale: SaleId) -> Result<OrderCounts, StoreError> {
        let rows = sqlx::query(
            "SELECT status, COUNT(*) AS orders, CAST(SUM(quantity) AS BIGINT) AS units FROM orders
             WHERE sale_id = $1 GROUP BY status",
        )
        .bind(sale.0)
        .fetch_all(&self.pool)
        .await?;
        let mut counts = OrderCounts { unreleased: self.unreleased(sale).await?, ..OrderCounts::default() };
        for row in &rows {
            let status: OrderStatus = row::parsed(row, "status")?;
            let counted = Counted { orders: row::int(row, "orders")?, units: row::int(row, "units")? };
            counts.by_status.insert(status.as_str(), counted);
        }
        Ok(counts)
    }

    /// Units of a sale's ended orders that are still held. The table of releases is short: rows leave it at once.
    pub async fn unreleased(&self, sale: SaleId) -> Result<i64, StoreError> {
        let sql = "SELECT CAST(COALESCE(SUM(quantity), 0) AS BIGINT) AS units FROM releases WHERE sale_id = $1";
        let row = sqlx::query(sql).bind(sale.0).fetch_one(&self.pool).await?;
        Ok(row::int(&row, "units")?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(asked: u64) -> CounterSnapshot {
        CounterSnapshot { asked, gate: vec![0, asked], ..CounterSnapshot::default() }
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    #[tokio::test]
    async fn what_gone_processes_counted_is_folded_and_still_counts() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&crate::config::sqlite_in(dir.path())).unwrap();
        store.migrate().await.unwrap();
        let (one, two) = (SaleId(1), SaleId(2));
        for (process, seconds, asked) in [("a", 10, 5), ("b", 20, 7), ("a", 30, 6), ("c", 100, 1)] {
            store.put_tallies(process, &[(one, counted(asked)), (two, counted(1))], at(seconds)).await.unwrap();
        }
        assert_eq!(store.tallies_of_others(one, "c").await.unwrap(), counted(13));
        assert_eq!(store.fold_tallies(at(50), at(101)).await.unwrap(), 4);
        assert_eq!(store.fold_tallies(at(50), at(102)).await.unwrap(), 0);
        assert_eq!(store.tallies_of_others(one, "c").await.unwrap(), counted(13));
        // The next generation goes into the same row.
        assert_eq!(store.fold_tallies(at(200), at(201)).await.unwrap(), 2);
        assert_eq!(store.tallies_of_others(one, "x").await.unwrap(), counted(14));
        let rows: i64 = sqlx::query_scalar("SELECT COUNT(*) FROM tallies").fetch_one(&store.pool).await.unwrap();
        assert_eq!(rows, 2);
    }
}
