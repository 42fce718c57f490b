//! Statements: what they bind, lists of ids and rows of any number, and how their rows are read.

use sqlx::any::{AnyArguments, AnyRow};
use sqlx::query::Query;
use sqlx::{Any, AssertSqlSafe};

use crate::pool::Connection;
use crate::row::{Bound, Value};
use crate::{Store, StoreResult, Tx};

/// Rows per statement. Rows times columns stay far below both databases' limits on parameters (SQLite 32 766,
/// PostgreSQL 65 535).
pub(super) const MAX_ROWS: usize = 512;

/// Rows that one statement purges.
const PURGE_SIZE: u64 = 1000;
/// A text that sorts after every UUID.
pub(super) const AFTER_ALL: &str = "g";

pub(super) type AnyQuery<'q> = Query<'q, Any, AnyArguments>;

/// A statement with the values of `$1`, `$2` and so on.
macro_rules! query {
    ($sql:expr; $($value:expr),+ $(,)?) => {
        $crate::statements::bound(sqlx::query($sql), values![$($value),+])
    };
    ($sql:expr) => { sqlx::query($sql) };
}

/// Values of a statement.
macro_rules! values {
    ($($value:expr),+ $(,)?) => { [$($crate::row::Bound::value($value)),+] };
}

/// Binds further values.
pub(super) fn bound(query: AnyQuery<'_>, values: impl IntoIterator<Item = Value>) -> AnyQuery<'_> {
    values.into_iter().fold(query, |query, value| match value {
        Value::Text(text) => query.bind(text),
        Value::Int(int) => query.bind(int),
    })
}

/// The statement for each chunk of ids, whose list stands in the place of `$ids`, after the parameters `before`.
pub(super) fn for_ids<T: Bound + Clone>(
    sql: &str,
    before: &[Value],
    ids: &[T],
) -> impl Iterator<Item = AnyQuery<'static>> {
    padded(ids).map(move |chunk| {
        let sql = sql.replace("$ids", &list(chunk.len(), before.len()));
        let ids = chunk.into_iter().map(Bound::value);
        bound(sqlx::query(AssertSqlSafe(sql)), before.iter().cloned().chain(ids))
    })
}

/// The statement for each chunk of rows, whose placeholders stand in the place of `$rows`.
pub(super) fn for_rows<T, const N: usize>(
    sql: &str,
    rows: &[T],
    values: impl Fn(&T) -> [Value; N],
) -> impl Iterator<Item = AnyQuery<'static>> {
    rows.chunks(MAX_ROWS).map(move |chunk| {
        let sql = sql.replace("$rows", &placeholders(chunk.len(), N));
        bound(sqlx::query(AssertSqlSafe(sql)), chunk.iter().flat_map(&values))
    })
}

impl Connection {
    /// Carries out a statement.
    pub(super) async fn run(&mut self, query: AnyQuery<'_>) -> sqlx::Result<()> {
        self.execute(query).await.map(drop)
    }

    /// Carries out a statement. Returns how many rows it changed.
    pub(super) async fn changed(&mut self, query: AnyQuery<'_>) -> sqlx::Result<u64> {
        Ok(self.execute(query).await?.rows_affected())
    }

    /// Carries out statements one after the other.
    pub(super) async fn run_all(&mut self, queries: impl Iterator<Item = AnyQuery<'static>>) -> sqlx::Result<()> {
        for query in queries {
            self.execute(query).await?;
        }
        Ok(())
    }

    /// Reads all rows of a query and maps them.
    pub(super) async fn all<T>(
        &mut self,
        query: AnyQuery<'_>,
        map: impl FnMut(&AnyRow) -> sqlx::Result<T>,
    ) -> sqlx::Result<Vec<T>> {
        self.fetch_all(query).await?.iter().map(map).collect()
    }

    /// Reads the row of a query and maps it; `None` if there is none.
    pub(super) async fn optional<T>(
        &mut self,
        query: AnyQuery<'_>,
        map: impl FnOnce(&AnyRow) -> sqlx::Result<T>,
    ) -> sqlx::Result<Option<T>> {
        self.fetch_optional(query).await?.as_ref().map(map).transpose()
    }

    /// Reads the one row of a query and maps it.
    pub(super) async fn one<T>(
        &mut self,
        query: AnyQuery<'_>,
        map: impl FnOnce(&AnyRow) -> sqlx::Result<T>,
    ) -> sqlx::Result<T> {
        self.optional(query, map).await?.ok_or(sqlx::Error::RowNotFound)
    }

    /// Whether a query finds a row.
    pub(super) async fn exists(&mut self, query: AnyQuery<'_>) -> sqlx::Result<bool> {
        Ok(self.fetch_optional(query).await?.is_some())
    }

    /// Reads and maps the rows of a statement for ids, as [`for_ids`] makes it.
    pub(super) async fn all_of<T, C: Default + Extend<T> + IntoIterator<Item = T>>(
        &mut self,
        sql: &str,
        before: &[Value],
        ids: &[impl Bound + Clone],
        map: impl FnMut(&AnyRow) -> sqlx::Result<T>,
    ) -> sqlx::Result<C> {
        self.all_in(for_ids(sql, before, ids), map).await
    }

    /// Reads and maps the rows of all these statements.
    pub(super) async fn all_in<T, C: Default + Extend<T>>(
        &mut self,
        queries: impl Iterator<Item = AnyQuery<'static>>,
        mut map: impl FnMut(&AnyRow) -> sqlx::Result<T>,
    ) -> sqlx::Result<C> {
        let mut found = C::default();
        for query in queries {
            for row in self.fetch_all(query).await? {
                found.extend([map(&row)?]);
            }
        }
        Ok(found)
    }
}

/// The methods of [`Connection`] that carry out one statement, on a connection of the pool and in a transaction. A
/// transaction has them itself, so that the values of a statement may have its time.
macro_rules! carried_out {
    ($($name:ident $(<$T:ident>)? ($($map:ident: $Map:ty)?) -> $result:ty;)*) => {
        impl Store {
            $(pub(super) async fn $name $(<$T>)? (
                &self,
                query: AnyQuery<'_>,
                $($map: $Map)?
            ) -> StoreResult<$result> {
                Ok(self.pool.acquire().await?.$name(query, $($map)?).await?)
            })*
        }

        impl Tx {
            $(pub(super) fn $name $(<$T>)? (
                &mut self,
                query: AnyQuery<'_>,
                $($map: $Map)?
            ) -> impl Future<Output = sqlx::Result<$result>> {
                self.inner.$name(query, $($map)?)
            })*
        }
    };
}

carried_out! {
    run() -> ();
    changed() -> u64;
    exists() -> bool;
    all<T>(map: impl FnMut(&AnyRow) -> sqlx::Result<T>) -> Vec<T>;
    optional<T>(map: impl FnOnce(&AnyRow) -> sqlx::Result<T>) -> Option<T>;
    one<T>(map: impl FnOnce(&AnyRow) -> sqlx::Result<T>) -> T;
}

impl Store {
    /// Carries out each statement on a connection of its own.
    pub(super) async fn run_all(&self, queries: impl Iterator<Item = AnyQuery<'static>>) -> StoreResult<()> {
        for query in queries {
            self.run(query).await?;
        }
        Ok(())
    }

    /// Carries out each statement in a transaction of its own, so that it has its turn to write.
    pub(super) async fn write_all(&self, queries: impl Iterator<Item = AnyQuery<'static>>) -> StoreResult<()> {
        for query in queries {
            let mut tx = self.begin().await?;
            tx.run(query).await?;
            tx.commit().await?;
        }
        Ok(())
    }

    pub(super) async fn all_of<T, C: Default + Extend<T> + IntoIterator<Item = T>>(
        &self,
        sql: &str,
        before: &[Value],
        ids: &[impl Bound + Clone],
        map: impl FnMut(&AnyRow) -> sqlx::Result<T>,
    ) -> StoreResult<C> {
        match ids {
            [] => Ok(C::default()),
            ids => Ok(self.pool.acquire().await?.all_of(sql, before, ids, map).await?),
        }
    }
}

impl Store {
    /// Deletes a bounded number of rows that meet a condition. Returns whether there may be more.
    pub(super) async fn purge_rows(
        &self,
        [table, key]: [&str; 2],
        condition: &str,
        values: impl IntoIterator<Item = Value>,
    ) -> StoreResult<bool> {
        let rows = format!("SELECT {key} FROM {table} WHERE {condition} LIMIT {PURGE_SIZE}");
        let sql = format!("DELETE FROM {table} WHERE ({key}) IN ({rows})");
        Ok(self.changed(bound(query!(AssertSqlSafe(sql)), values)).await? == PURGE_SIZE)
    }
}

/// The SQL for the time of the next attempt after `now`, which is `$1`: `first_ms` later at first, then twice as long
/// after every failed attempt, at most `first_ms << doublings`.
pub(super) fn next_attempt(first_ms: u32, doublings: u32) -> String {
    let doubled = format!("CAST(CASE WHEN attempts < {doublings} THEN attempts ELSE {doublings} END AS INTEGER)");
    format!("attempts = attempts + 1, next_attempt_at_ms = $1 + {first_ms} * (CAST(1 AS BIGINT) << {doubled})")
}

/// Placeholders for `VALUES`: `($1,$2),($3,$4)` for two rows of two columns.
pub(super) fn placeholders(rows: usize, columns: usize) -> String {
    let mut text = String::with_capacity(rows * columns * 6);
    for row in 0..rows {
        text.push_str(if row == 0 { "(" } else { ",(" });
        for column in 1..=columns {
            if column > 1 {
                text.push(',');
            }
            text.push('$');
            text.push_str(&(row * columns + column).to_string());
        }
        text.push(')');
    }
    text
}

/// Placeholders for `IN`: `($2,$3,$4)` for three items after the first parameter.
pub(super) fn list(count: usize, after: usize) -> String {
    let numbers: Vec<String> = (1..=count).map(|n| format!("${}", after + n)).collect();
    format!("({})", numbers.join(","))
}

/// The id below which a page begins that goes back in time.
pub(super) fn page_below(before: Option<impl ToString>) -> String {
    before.map_or_else(|| AFTER_ALL.to_owned(), |id| id.to_string())
}

/// The conditions of a filter, such as `class =`, and their values, which begin with the parameter `$first`. Empty ones are
/// left out: with `OR` for them no database would use an index.
pub(super) fn conditions<const N: usize>(first: usize, asked: [(&str, String); N]) -> (String, Vec<Value>) {
    let asked = (first..).zip(asked.into_iter().filter(|(_, value)| !value.is_empty()));
    let (conditions, values): (Vec<String>, _) =
        asked.map(|(n, (what, value))| (format!(" AND {what} ${n}"), value.value())).unzip();
    (conditions.concat(), values)
}

/// A text as a part of a `LIKE` pattern whose escape is a backslash.
pub(super) fn escaped_pattern(text: &str) -> String {
    text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_")
}

/// Chunks for `IN` lists, and for rows that may be written twice. The last item is repeated until the length is a power
/// of two, beyond 64 a multiple of 64, so that only a few distinct statements are prepared and planned.
pub(super) fn padded<T>(all: &[T]) -> impl Iterator<Item = Vec<&T>> {
    all.chunks(MAX_ROWS).map(|chunk| {
        let size = match chunk.len() {
            length @ ..64 => length.next_power_of_two(),
            length => length.next_multiple_of(64),
        };
        chunk.iter().chain(std::iter::repeat(&chunk[chunk.len() - 1])).take(size).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_numbered_and_lists_padded() {
        assert_eq!(placeholders(2, 2), "($1,$2),($3,$4)");
        assert_eq!(list(3, 1), "($2,$3,$4)");
        let all: Vec<usize> = (0..MAX_ROWS + 3).collect();
        let chunks: Vec<Vec<&usize>> = padded(&all).collect();
        assert_eq!((chunks.len(), chunks[0].len()), (2, MAX_ROWS));
        assert_eq!(chunks[1], [&MAX_ROWS, &(MAX_ROWS + 1), &(MAX_ROWS + 2), &(MAX_ROWS + 2)]);
        assert_eq!(padded::<usize>(&[]).count(), 0);
    }
}
