//! Numbers for the cockpit: the counters that `serve` processes store, and the orders of a sale by status.

use std::collections::BTreeMap;

use jiff::Timestamp;
use sqlx::AssertSqlSafe;

use crate::{MAX_ROWS, OrderTotals, SaleStore, StoreError, placeholders, row};
use base::counters::CounterSnapshot;
use domain::{Alarm, AlarmEvent, SaleId};

/// The process name of the row that holds the folded counters of ended processes.
const FOLDED: &str = "";

/// The orders of one sale by status, and the units that are not released yet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OrderCounts {
    pub totals: OrderTotals,
    /// Units of ended orders that the stock backend has not released yet.
    pub unreleased: i64,
}

fn numbers(text: &str) -> Result<CounterSnapshot, sqlx::Error> {
    serde_json::from_str(text).map_err(|_| row::undecodable("numbers"))
}

fn text(numbers: &CounterSnapshot) -> String {
    serde_json::to_string(numbers).unwrap_or_else(|_| "{}".to_owned())
}

impl SaleStore<'_> {
    /// Stores the counters of one process.
    pub async fn save_counters(
        self,
        process: &str,
        registry: &[(SaleId, CounterSnapshot)],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        for chunk in registry.chunks(MAX_ROWS) {
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

    /// The sum of a sale's counters over all processes but one.
    pub async fn counters_of_others(self, sale: SaleId, process: &str) -> Result<CounterSnapshot, StoreError> {
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

    /// Folds the rows of processes that have not written since `before` into one row per sale. Returns the number of
    /// folded rows. The rows are deleted first, so that only one of several callers folds each row.
    pub async fn fold_counters(self, before: Timestamp, now: Timestamp) -> Result<usize, StoreError> {
        let mut tx = self.begin().await?;
        let gone = sqlx::query("DELETE FROM tallies WHERE at_ms < $1 AND process <> $2 RETURNING sale_id, numbers")
            .bind(before.as_millisecond())
            .bind(FOLDED)
            .fetch_all(&mut *tx)
            .await?;
        let mut sums: BTreeMap<i64, CounterSnapshot> = BTreeMap::new();
        for row in &gone {
            let sum = sums.entry(row::int(row, "sale_id")?).or_default();
            *sum = sum.plus(&numbers(&row::text(row, "numbers")?)?);
        }
        for (sale, sum) in sums {
            // This creates the row, or locks the existing one.
            let known = sqlx::query(
                "INSERT INTO tallies (sale_id, process, at_ms, numbers) VALUES ($1, $2, $3, '{}')
                 ON CONFLICT (sale_id, process) DO UPDATE SET at_ms = excluded.at_ms RETURNING numbers",
            );
            let known = known.bind(sale).bind(FOLDED).bind(now.as_millisecond()).fetch_one(&mut *tx).await?;
            let sum = sum.plus(&numbers(&row::text(&known, "numbers")?)?);
            let write = sqlx::query("UPDATE tallies SET numbers = $3 WHERE sale_id = $1 AND process = $2");
            write.bind(sale).bind(FOLDED).bind(text(&sum)).execute(&mut *tx).await?;
        }
        tx.commit().await?;
        Ok(gone.len())
    }

    /// The orders of a sale by status.
    pub async fn count_orders(self, sale: SaleId) -> Result<OrderCounts, StoreError> {
        let totals = self.orders().order_totals(&[sale]).await?.remove(&sale).unwrap_or_default();
        Ok(OrderCounts { totals, unreleased: self.unreleased(sale).await? })
    }

    /// Units in pending releases of a sale. The table is short: releases are deleted as soon as they are done.
    pub async fn unreleased(self, sale: SaleId) -> Result<i64, StoreError> {
        let sql = "SELECT CAST(COALESCE(SUM(quantity), 0) AS BIGINT) AS units FROM releases WHERE sale_id = $1";
        let row = sqlx::query(sql).bind(sale.0).fetch_one(&self.pool).await?;
        Ok(row::int(&row, "units")?)
    }
}

// The alarms of a sale. Each process that samples the sale records the changes that it sees. Processes see the same
// changes up to seconds apart, so an alarm that rises just after its end counts as continued.

const MIN_GAP_MS: i64 = 5_000;

impl SaleStore<'_> {
    /// Records which alarms of a sale rose and which ended.
    pub async fn record_alarms(
        self,
        sale: SaleId,
        rose: &[Alarm],
        ended: &[Alarm],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let now = now.as_millisecond();
        let mut tx = self.begin().await?;
        for alarm in ended {
            let end =
                "UPDATE sale_alarms SET ended_at_ms = $3 WHERE sale_id = $1 AND alarm = $2 AND ended_at_ms IS NULL";
            sqlx::query(end).bind(sale.0).bind(alarm.as_str()).bind(now).execute(&mut *tx).await?;
        }
        for alarm in rose {
            let go_on =
                "UPDATE sale_alarms SET ended_at_ms = NULL WHERE sale_id = $1 AND alarm = $2 AND ended_at_ms > $3
                 AND NOT EXISTS (SELECT 1 FROM sale_alarms WHERE sale_id = $1 AND alarm = $2 AND ended_at_ms IS NULL)";
            let go_on = sqlx::query(go_on).bind(sale.0).bind(alarm.as_str()).bind(now - MIN_GAP_MS);
            if go_on.execute(&mut *tx).await?.rows_affected() == 0 {
                let rise =
                    "INSERT INTO sale_alarms (sale_id, alarm, rose_at_ms) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
                sqlx::query(rise).bind(sale.0).bind(alarm.as_str()).bind(now).execute(&mut *tx).await?;
            }
        }
        tx.commit().await?;
        Ok(())
    }

    /// The newest alarms of a sale, newest first.
    pub async fn alarms(self, sale: SaleId, limit: i64) -> Result<Vec<AlarmEvent>, StoreError> {
        let sql = "SELECT alarm, rose_at_ms, ended_at_ms FROM sale_alarms WHERE sale_id = $1
             ORDER BY rose_at_ms DESC, alarm DESC LIMIT $2";
        let rows = sqlx::query(sql).bind(sale.0).bind(limit).fetch_all(&self.pool).await?;
        let event = |row| -> Result<AlarmEvent, sqlx::Error> {
            let (alarm, rose_at) = (row::parsed(row, "alarm")?, row::time(row, "rose_at_ms")?);
            Ok(AlarmEvent { alarm, rose_at, ended_at: row::optional_time(row, "ended_at_ms")? })
        };
        Ok(rows.iter().map(event).collect::<Result<_, _>>()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Store;

    fn snapshot(asked: u64) -> CounterSnapshot {
        CounterSnapshot { asked, gate: vec![0, asked], ..CounterSnapshot::default() }
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    #[tokio::test]
    async fn counters_of_ended_processes_are_folded_and_still_counted() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&base::config::sqlite_in(dir.path())).unwrap();
        store.migrate().await.unwrap();
        let (one, two) = (SaleId(1), SaleId(2));
        for (process, seconds, asked) in [("a", 10, 5), ("b", 20, 7), ("a", 30, 6), ("c", 100, 1)] {
            store
                .sales()
                .save_counters(process, &[(one, snapshot(asked)), (two, snapshot(1))], at(seconds))
                .await
                .unwrap();
        }
        assert_eq!(store.sales().counters_of_others(one, "c").await.unwrap(), snapshot(13));
        assert_eq!(store.sales().fold_counters(at(50), at(101)).await.unwrap(), 4);
        assert_eq!(store.sales().fold_counters(at(50), at(102)).await.unwrap(), 0);
        assert_eq!(store.sales().counters_of_others(one, "c").await.unwrap(), snapshot(13));
        // Processes that end later are folded into the same row.
        assert_eq!(store.sales().fold_counters(at(200), at(201)).await.unwrap(), 2);
        assert_eq!(store.sales().counters_of_others(one, "x").await.unwrap(), snapshot(14));
        let rows: i64 = sqlx::query_scalar("SELECT COUNT(*) FROM tallies").fetch_one(&store.pool).await.unwrap();
        assert_eq!(rows, 2);
    }

    fn moment(ms: i64) -> Timestamp {
        Timestamp::from_millisecond(1_800_000_000_000 + ms).unwrap()
    }

    #[tokio::test]
    async fn alarm_that_two_processes_see_is_recorded_once() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&base::config::sqlite_in(dir.path())).unwrap();
        store.migrate().await.unwrap();
        let (sale, slow) = (SaleId(1), [Alarm::Slow]);
        for (ms, rose, ended) in [
            (0, &slow[..], &[][..]),
            (900, &slow, &[]),
            // One process sees the end before the other one has seen the rise.
            (20_000, &[], &slow),
            (20_900, &slow, &[]),
            (21_900, &[], &slow),
            (60_000, &slow, &[Alarm::Drift]),
        ] {
            store.sales().record_alarms(sale, rose, ended, moment(ms)).await.unwrap();
        }
        let first = AlarmEvent { alarm: Alarm::Slow, rose_at: moment(0), ended_at: Some(moment(21_900)) };
        let second = AlarmEvent { alarm: Alarm::Slow, rose_at: moment(60_000), ended_at: None };
        assert_eq!(store.sales().alarms(sale, 9).await.unwrap(), [second, first]);
        assert_eq!(store.sales().alarms(sale, 1).await.unwrap(), [second]);
        assert_eq!(store.sales().alarms(SaleId(2), 9).await.unwrap(), []);
    }
}
