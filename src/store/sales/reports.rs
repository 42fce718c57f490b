//! Numbers about sales. For the cockpit: the counters that `serve` processes store, and the orders of a sale by status.
//! For reports: the orders of one sale along their index, how places and entries were served, and stored digests.

use std::collections::BTreeMap;

use boxed::boxed;
use jiff::Timestamp;
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

use crate::sales::columns;
use crate::{OrderTotals, SaleStore, StoreResult, column, for_rows, pair, row};
use base::counters::CounterSnapshot;
use domain::sale_digest::Group;
use domain::sale_digest::{AGE_BOUNDS_MS, OrderFact};
use domain::{Alarm, AlarmEvent, ModeName, Money, OrderId, Sale, SaleDigest, SaleId};

/// Orders that are in memory at once.
const BATCH_SIZE: i64 = 1_000;

/// Selects accounts that took part in a sale with a waiting room, when they joined (`at_ms`), and whether they `won`,
/// which means that they were called. Tenths are by `at_ms`, `entry`. Only the first segment counts, because only its
/// places are shuffled among each other. Each half reads along its index.
const PLACES: &str = "SELECT user_id, joined_at_ms AS at_ms, entry, 0 AS won FROM queue_places
       WHERE sale_id = $1 AND segment = 0 AND called_at_ms IS NULL
     UNION ALL SELECT user_id, joined_at_ms AS at_ms, entry, 1 AS won FROM queue_places
       WHERE sale_id = $1 AND segment = 0 AND called_at_ms IS NOT NULL";
/// Selects the ranked entries of a draw. An entry won if its rank is below the number of units.
const ENTRIES: &str = "SELECT user_id, entered_at_ms AS at_ms, entry, CASE WHEN rank < $2 THEN 1 ELSE 0 END AS won
     FROM draw_entries WHERE sale_id = $1 AND rank IS NOT NULL";

#[boxed]
impl SaleStore<'_> {
    /// Reads the orders of a sale into its digest, and how the accounts that took part were served.
    pub async fn digest_sale(self, sale: &Sale, now: Timestamp) -> StoreResult<SaleDigest> {
        let opened = sale.window.opens_at.unwrap_or(now);
        let closes = sale.window.closes_at.filter(|closes| *closes < now).unwrap_or(now);
        let mut digest = SaleDigest::new(opened, closes);
        let mut after = String::new();
        loop {
            let batch = self.order_facts(sale.id, &after).await?;
            batch.iter().for_each(|(_, order)| digest.add(order, sale.total));
            match batch.last() {
                Some((last, _)) if batch.len() as i64 == BATCH_SIZE => after = last.to_string(),
                _ => break,
            }
        }
        let took_part = match sale.mode.name() {
            ModeName::Rush => None,
            ModeName::WaitingRoom => Some(PLACES),
            ModeName::Draw => Some(ENTRIES),
        };
        if let Some(took_part) = took_part {
            digest.tenths = self.tenths(sale, took_part).await?;
            let ages = self.ages(sale, took_part, opened).await?;
            digest.ages.iter_mut().zip(ages).for_each(|(group, all)| *group = all);
        }
        let waiters = "SELECT state, COUNT(*) AS accounts FROM waiters WHERE sale_id = $1 GROUP BY state";
        digest.waiters = self.all(query!(waiters; sale.id), pair("state", "accounts")).await?.into_iter().collect();
        Ok(digest)
    }

    /// The next orders of a sale, in the order of their ids and so of their reservations.
    async fn order_facts(self, sale: SaleId, after: &str) -> StoreResult<Vec<(OrderId, OrderFact)>> {
        let sql = "SELECT orders.id, orders.quantity, orders.status, orders.reason, orders.reserved_at_ms,
               order_events.at_ms AS paid_at_ms, users.created_at_ms AS registered_at_ms,
               (SELECT MIN(at_ms) FROM order_events WHERE order_id = orders.id
                  AND status IN ('cancelled', 'refund_pending')) AS ended_at_ms
             FROM orders LEFT JOIN order_events ON order_events.order_id = orders.id AND order_events.status = 'paid'
               LEFT JOIN users ON users.id = orders.user_id
             WHERE orders.sale_id = $1 AND orders.id > $2 ORDER BY orders.id LIMIT $3";
        let query = query!(sql; sale, after, BATCH_SIZE);
        let read = |row: &_| {
            let fact = read!(row => OrderFact {
                units: "quantity", status, reason, reserved_at: "reserved_at_ms", paid_at: "paid_at_ms",
                ended_at: "ended_at_ms", registered_at: "registered_at_ms",
            })?;
            Ok((row::get(row, "id")?, fact))
        };
        self.all(query, read).await
    }

    /// Tenths of the accounts that took part, in the order in which they came. The condition on `$2` is there because
    /// the statement must use every parameter.
    async fn tenths(self, sale: &Sale, took_part: &str) -> StoreResult<Vec<Group>> {
        let sql = format!(
            "SELECT tenth, COUNT(*) AS accounts, CAST(SUM(won) AS BIGINT) AS won
             FROM (SELECT NTILE(10) OVER (ORDER BY at_ms, entry) AS tenth, won FROM ({took_part}) AS places) AS tenths
             WHERE $2 >= 0 GROUP BY tenth ORDER BY tenth"
        );
        let query = query!(AssertSqlSafe(sql); sale.id, sale.total);
        self.all(query, |row| Ok(Group { all: row::int(row, "accounts")?, won: row::int(row, "won")? })).await
    }

    /// The number of accounts that took part, by their age at the opening.
    async fn ages(self, sale: &Sale, took_part: &str, opened: Timestamp) -> StoreResult<Vec<Group>> {
        let bounds = AGE_BOUNDS_MS.iter().enumerate();
        let cases: String =
            bounds.map(|(group, bound)| format!("WHEN $3 - users.created_at_ms < {bound} THEN {group} ")).collect();
        let oldest = AGE_BOUNDS_MS.len();
        let sql = format!(
            "SELECT CAST(age AS BIGINT) AS age, COUNT(*) AS accounts, CAST(SUM(won) AS BIGINT) AS won
             FROM (SELECT CASE {cases} ELSE {oldest} END AS age, won
                   FROM ({took_part}) AS places JOIN users ON users.id = places.user_id) AS ages
             WHERE $2 >= 0 GROUP BY age"
        );
        let query = query!(AssertSqlSafe(sql); sale.id, sale.total, opened);
        let read = |row: &_| {
            let group = Group { all: row::int(row, "accounts")?, won: row::int(row, "won")? };
            Ok((row::int(row, "age")? as usize, group))
        };
        let mut groups = vec![Group::default(); oldest + 1];
        for (age, group) in self.all(query, read).await? {
            groups[age] = group;
        }
        Ok(groups)
    }

    /// The digest that was stored when nothing of the sale was under way any more.
    pub async fn kept_digest(self, sale: SaleId) -> StoreResult<Option<SaleDigest>> {
        let sql = "SELECT digest FROM sale_reports WHERE sale_id = $1";
        self.optional(query!(sql; sale), |row| row::json(row, "digest")).await
    }

    /// Stores the digest of a sale, unless it has one already.
    pub async fn keep_digest(self, sale: SaleId, digest: &SaleDigest, now: Timestamp) -> StoreResult<()> {
        let text = serde_json::to_string(digest).map_err(|error| sqlx::Error::Encode(error.into()))?;
        let sql = "INSERT INTO sale_reports (sale_id, at_ms, digest) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
        self.run(query!(sql; sale, now, text)).await
    }

    /// Sales that are over and have no stored digest.
    pub async fn sales_without_digest(self, limit: i64) -> StoreResult<Vec<Sale>> {
        let sql = select!(
            columns,
            "FROM sales WHERE state = 'ended' AND shadow = 0 AND ",
            super::is_over!(),
            " AND NOT EXISTS (SELECT 1 FROM sale_reports WHERE sale_id = sales.id) ORDER BY id LIMIT $1"
        );
        self.all(query!(sql; limit), super::sale).await
    }

    /// The previous sale: the latest one of the same goods, or of any goods. A running sale counts once it has sold
    /// something.
    pub async fn sale_before(self, of: &Sale) -> StoreResult<Option<Sale>> {
        let Some(opened) = of.window.opens_at else { return Ok(None) };
        let begin = select!(
            columns,
            "FROM sales WHERE opens_at_ms < $1 AND id <> $2 AND shadow = 0
               AND (state = 'ended' OR (state IN ('live', 'paused') AND granted > 0))"
        );
        let end = "ORDER BY opens_at_ms DESC, id DESC LIMIT 1";
        for goods in ["goods_id = $3", "$3 > 0"] {
            let sql = format!("{begin} AND {goods} {end}");
            let query = query!(AssertSqlSafe(sql); opened, of.id, of.goods_id);
            if let Some(found) = self.optional(query, super::sale).await? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Money of paid orders of a sale that went back or is about to.
    pub async fn refunded_in_parts(self, sale: &Sale) -> StoreResult<Money> {
        let sql = "SELECT CAST(COALESCE(SUM(partial_refunds.amount), 0) AS BIGINT) AS amount FROM orders
               JOIN partial_refunds ON partial_refunds.order_id = orders.id
             WHERE orders.sale_id = $1 AND orders.status = 'paid'";
        let amount = self.optional(query!(sql; sale.id), column("amount")).await?;
        Ok(Money { amount: amount.unwrap_or_default(), ..sale.price })
    }

    /// What paid orders of a sale paid for shipping.
    pub async fn paid_shipping(self, sale: &Sale) -> StoreResult<Money> {
        let sql = "SELECT CAST(COALESCE(SUM(shipping), 0) AS BIGINT) AS amount FROM orders
             WHERE sale_id = $1 AND status = 'paid'";
        let amount = self.optional(query!(sql; sale.id), column("amount")).await?;
        Ok(Money { amount: amount.unwrap_or_default(), ..sale.price })
    }
}

/// The process name of the row that holds the folded counters of ended processes.
const FOLDED: &str = "";

/// The orders of one sale by status, and the units that are not released yet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OrderCounts {
    pub totals: OrderTotals,
    /// Units of ended orders that the stock backend has not released yet.
    pub unreleased: i64,
}

fn numbers(row: &AnyRow) -> sqlx::Result<CounterSnapshot> {
    row::json(row, "numbers")
}

fn written(numbers: &CounterSnapshot) -> String {
    serde_json::to_string(numbers).unwrap_or_else(|_| "{}".to_owned())
}

#[boxed]
impl SaleStore<'_> {
    /// Stores the counters of one process.
    pub async fn save_counters(
        self,
        process: &str,
        registry: &[(SaleId, CounterSnapshot)],
        now: Timestamp,
    ) -> StoreResult<()> {
        let sql = "INSERT INTO tallies (sale_id, process, at_ms, numbers) VALUES $rows ON CONFLICT (sale_id, process)
             DO UPDATE SET at_ms = excluded.at_ms, numbers = excluded.numbers";
        for query in for_rows(sql, registry, |(sale, numbers)| values![sale, process, now, written(numbers)]) {
            let mut tx = self.begin().await?;
            tx.run(query).await?;
            tx.commit().await?;
        }
        Ok(())
    }

    /// The sum of a sale's counters over all processes but one.
    pub async fn counters_of_others(self, sale: SaleId, process: &str) -> StoreResult<CounterSnapshot> {
        let sql = "SELECT numbers FROM tallies WHERE sale_id = $1 AND process <> $2";
        let all = self.all(query!(sql; sale, process), numbers).await?;
        Ok(all.iter().fold(CounterSnapshot::default(), |sum, counters| sum.plus(counters)))
    }

    /// Folds the rows of processes that have not written since `before` into one row per sale. Returns the number of
    /// folded rows. The rows are deleted first, so that only one of several callers folds each row.
    pub async fn fold_counters(self, before: Timestamp, now: Timestamp) -> StoreResult<usize> {
        let mut tx = self.begin().await?;
        let sql = "DELETE FROM tallies WHERE at_ms < $1 AND process <> $2 RETURNING sale_id, numbers";
        let gone = tx.fetch_all(query!(sql; before, FOLDED)).await?;
        let mut sums: BTreeMap<i64, CounterSnapshot> = BTreeMap::new();
        for row in &gone {
            let sum = sums.entry(row::int(row, "sale_id")?).or_default();
            *sum = sum.plus(&numbers(row)?);
        }
        for (sale, sum) in sums {
            // This creates the row, or locks the existing one.
            let sql = "INSERT INTO tallies (sale_id, process, at_ms, numbers) VALUES ($1, $2, $3, '{}')
                 ON CONFLICT (sale_id, process) DO UPDATE SET at_ms = excluded.at_ms RETURNING numbers";
            let known = tx.one(query!(sql; sale, FOLDED, now), numbers).await?;
            let sum = sum.plus(&known);
            let query = query!("UPDATE tallies SET numbers = $3 WHERE sale_id = $1 AND process = $2"; sale, FOLDED,
                written(&sum));
            tx.run(query).await?;
        }
        tx.commit().await?;
        Ok(gone.len())
    }

    /// The orders of a sale by status.
    pub async fn count_orders(self, sale: SaleId) -> StoreResult<OrderCounts> {
        let totals = self.orders().order_totals(&[sale]).await?.remove(&sale).unwrap_or_default();
        Ok(OrderCounts { totals, unreleased: self.unreleased(sale).await? })
    }

    /// Units in pending releases of a sale. The table is short: releases are deleted as soon as they are done.
    pub async fn unreleased(self, sale: SaleId) -> StoreResult<i64> {
        let sql = "SELECT CAST(COALESCE(SUM(quantity), 0) AS BIGINT) AS units FROM releases WHERE sale_id = $1";
        self.one(query!(sql; sale), column("units")).await
    }
}

// The alarms of a sale. Each process that samples the sale records the changes that it sees. Processes see the same
// changes up to seconds apart, so an alarm that rises just after its end counts as continued.

const MIN_GAP_MS: i64 = 5_000;

#[boxed]
impl SaleStore<'_> {
    /// Records which alarms of a sale rose and which ended.
    pub async fn record_alarms(self, sale: SaleId, rose: &[Alarm], ended: &[Alarm], now: Timestamp) -> StoreResult<()> {
        let now = now.as_millisecond();
        let mut tx = self.begin().await?;
        for alarm in ended {
            let end =
                "UPDATE sale_alarms SET ended_at_ms = $3 WHERE sale_id = $1 AND alarm = $2 AND ended_at_ms IS NULL";
            tx.run(query!(end; sale, alarm, now)).await?;
        }
        for alarm in rose {
            let go_on =
                "UPDATE sale_alarms SET ended_at_ms = NULL WHERE sale_id = $1 AND alarm = $2 AND ended_at_ms > $3
                 AND NOT EXISTS (SELECT 1 FROM sale_alarms WHERE sale_id = $1 AND alarm = $2 AND ended_at_ms IS NULL)";
            if tx.changed(query!(go_on; sale, alarm, now - MIN_GAP_MS)).await? == 0 {
                let rise =
                    "INSERT INTO sale_alarms (sale_id, alarm, rose_at_ms) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
                tx.run(query!(rise; sale, alarm, now)).await?;
            }
        }
        tx.commit().await?;
        Ok(())
    }

    /// The newest alarms of a sale, newest first.
    pub async fn alarms(self, sale: SaleId, limit: i64) -> StoreResult<Vec<AlarmEvent>> {
        let sql = "SELECT alarm, rose_at_ms, ended_at_ms FROM sale_alarms WHERE sale_id = $1
             ORDER BY rose_at_ms DESC, alarm DESC LIMIT $2";
        let event = |row: &AnyRow| read!(row => AlarmEvent { alarm, rose_at: "rose_at_ms", ended_at: "ended_at_ms" });
        self.all(query!(sql; sale, limit), event).await
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
        let rows: i64 = store.one(query!("SELECT COUNT(*) AS n FROM tallies"), column("n")).await.unwrap();
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
