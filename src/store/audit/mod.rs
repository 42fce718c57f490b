//! The audit's view of the database. Every check reads one snapshot in steps. A step is a statement over a range of
//! keys that takes far less than a statement may, however large the table is. All steps of a check see the same
//! snapshot, so sums over all steps can be compared.

mod money;
mod orders;
mod recent;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use boxed::boxed;
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

pub use orders::CountedOrders;
pub use recent::Recent;

use super::pool::Connection;
use super::row::Column;
use super::{AnyQuery, AuditStore, Bound, StoreResult, bound, column};

/// Rows of the first step. Later steps have as many rows as take about [`STEP_TIME`]. The first step is small, so that
/// it ends in time even if PostgreSQL lacks statistics and compares each row with each; the next steps do not grow
/// then.
const FIRST_STEP: u64 = 1_000;
const STEP_SIZES: std::ops::RangeInclusive<u64> = 100..=200_000;
const STEP_TIME: Duration = Duration::from_millis(400);

/// Begins a transaction. PostgreSQL takes the snapshot with the first statement after this. JIT is off, because
/// compiling a statement that PostgreSQL expects to be long takes longer than a step.
const BEGIN: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL jit = off";
const BEGIN_SQLITE: &str = "BEGIN";

/// The database as it was at one moment.
pub struct Snapshot {
    connection: Connection,
    /// What is read of large tables. `None`: all.
    recent: Option<Arc<Recent>>,
    /// The number of rows that the steps have covered.
    pub(crate) progress: Arc<AtomicU64>,
}

#[boxed]
impl AuditStore<'_> {
    /// A snapshot of the database at the first statement. `progress` counts the rows that the steps have covered.
    pub async fn snapshot(self, progress: Arc<AtomicU64>) -> StoreResult<Snapshot> {
        let mut connection = self.pool.acquire().await?;
        connection.begin_transaction(if self.shares_clock() { BEGIN_SQLITE } else { BEGIN }.to_owned(), None).await?;
        Ok(Snapshot { connection, recent: None, progress })
    }
}

impl Snapshot {
    /// The same snapshot, of large tables only what changed.
    pub fn limited_to(self, recent: Option<Arc<Recent>>) -> Snapshot {
        Snapshot { recent, ..self }
    }

    pub(crate) async fn all<T>(
        &mut self,
        query: AnyQuery<'_>,
        map: impl FnMut(&AnyRow) -> sqlx::Result<T>,
    ) -> StoreResult<Vec<T>> {
        Ok(self.connection.all(query, map).await?)
    }

    /// The column `problem` of every row of one step. In `sql`, `$1` and `$2` are the bounds of the step.
    async fn problems<K: Key>(&mut self, sql: &'static str, step: &Step<K>) -> StoreResult<Vec<String>> {
        self.all(query!(sql; &step.after, &step.upto), column("problem")).await
    }

    /// The column `problem` of every row of each of these queries, over a whole table.
    pub(crate) async fn problems_of<K: Key>(
        &mut self,
        mut steps: Steps<K>,
        queries: &[&'static str],
    ) -> StoreResult<Vec<String>> {
        let mut problems = Vec::new();
        while let Some(step) = steps.next(self).await? {
            for sql in queries {
                problems.extend(self.problems(sql, &step).await?);
            }
        }
        Ok(problems)
    }
}

/// The type of a key: a BIGINT or TEXT column.
pub(crate) trait Key: Clone + Send + Bound + Column {
    /// A value that sorts before every key.
    const FIRST: Self;
}

impl Key for String {
    const FIRST: String = String::new();
}

impl Key for i64 {
    const FIRST: i64 = i64::MIN;
}

/// The rows whose key is greater than `after` and at most `upto`, which are `$1` and `$2` of a statement over a step.
pub(crate) struct Step<K> {
    pub(crate) after: K,
    pub(crate) upto: K,
}

/// The keys greater than the first one and at most the second one. `None`: without an end.
pub(crate) type Range<K> = (K, Option<K>);

/// Divides a table into steps along an index.
pub(crate) struct Steps<K> {
    /// The `FROM` clause, up to the condition on the key.
    rows: String,
    key: &'static str,
    /// What is left of the ranges, the last one first.
    ranges: Vec<Range<K>>,
    size: u64,
    last: Option<Instant>,
}

impl<K: Key> Steps<K> {
    /// Steps over all rows of a table.
    pub(crate) fn over(table: &str, key: &'static str) -> Steps<K> {
        Steps::along(format!("{table} WHERE"), key)
    }

    pub(crate) fn along(rows: String, key: &'static str) -> Steps<K> {
        Steps { rows, key, ranges: vec![(K::FIRST, None)], size: FIRST_STEP, last: None }
    }

    /// Steps over these ranges only. They ascend and do not overlap.
    pub(crate) fn within(self, mut ranges: Vec<Range<K>>) -> Steps<K> {
        ranges.reverse();
        Steps { ranges, ..self }
    }

    /// The next step; `None` after the last row. Rows with the same key belong to one step.
    pub(crate) async fn next(&mut self, snapshot: &mut Snapshot) -> StoreResult<Option<Step<K>>> {
        self.adapt();
        while let Some((after, end)) = self.ranges.pop() {
            let (rows, key) = (&self.rows, self.key);
            let upto = if end.is_some() { format!("AND {key} <= $2") } else { String::new() };
            let sql = format!(
                "SELECT COALESCE((SELECT {key} FROM {rows} {key} > $1 {upto} ORDER BY {key} LIMIT 1 OFFSET {}),
                   (SELECT MAX({key}) FROM {rows} {key} > $1 {upto})) AS upto",
                self.size - 1
            );
            let query = bound(query!(AssertSqlSafe(sql); &after), end.clone().map(K::value));
            let found: Option<K> = snapshot.all(query, column("upto")).await?.pop().flatten();
            if let Some(upto) = found {
                snapshot.progress.fetch_add(self.size, Ordering::Relaxed);
                self.ranges.push((upto.clone(), end));
                return Ok(Some(Step { after, upto }));
            }
        }
        Ok(None)
    }

    /// Makes steps larger while they are fast, and smaller when they are slow.
    fn adapt(&mut self) {
        let took = self.last.replace(Instant::now()).map(|last| last.elapsed());
        self.size = match took {
            Some(took) if took < STEP_TIME / 2 => self.size * 2,
            Some(took) if took > STEP_TIME => self.size / 2,
            _ => self.size,
        }
        .clamp(*STEP_SIZES.start(), *STEP_SIZES.end());
    }
}
