//! Statements: what they bind, lists of ids and rows of any number, and how their rows are read.

use sqlx::any::{AnyArguments, AnyRow};
use sqlx::query::Query;
use sqlx::{Any, AssertSqlSafe};

use crate::pool::Connection;
use crate::{Store, StoreError};

/// Rows per statement. Rows times columns stay far below both databases' limits on parameters (SQLite 32 766,
/// PostgreSQL 65 535).
pub(super) const MAX_ROWS: usize = 512;

pub(super) type AnyQuery<'q> = Query<'q, Any, AnyArguments>;

/// A value that a statement binds.
#[derive(Debug, Clone)]
pub(super) enum Value {
    Text(Option<String>),
    Int(i64),
}

pub(super) fn text(value: impl ToString) -> Value {
    Value::Text(Some(value.to_string()))
}

pub(super) fn int(value: impl Into<i64>) -> Value {
    Value::Int(value.into())
}

pub(super) fn bind(query: AnyQuery<'_>, value: Value) -> AnyQuery<'_> {
    match value {
        Value::Text(text) => query.bind(text),
        Value::Int(int) => query.bind(int),
    }
}

/// The statement for each chunk of ids, whose list stands in the place of `$ids`, after the parameters `before`.
pub(super) fn for_ids<T: ToString>(sql: &str, before: &[Value], ids: &[T]) -> impl Iterator<Item = AnyQuery<'static>> {
    padded(ids).map(move |chunk| {
        let query = with_list(sql, before, chunk.len());
        chunk.into_iter().fold(query, |query, id| query.bind(id.to_string()))
    })
}

/// Like [`for_ids`], for ids that are numbers.
pub(super) fn for_numbers(sql: &str, before: &[Value], ids: &[i64]) -> impl Iterator<Item = AnyQuery<'static>> {
    padded(ids).map(move |chunk| {
        let query = with_list(sql, before, chunk.len());
        chunk.into_iter().fold(query, |query, id| query.bind(*id))
    })
}

fn with_list(sql: &str, before: &[Value], count: usize) -> AnyQuery<'static> {
    let sql = sql.replace("$ids", &list(count, before.len()));
    before.iter().cloned().fold(sqlx::query(AssertSqlSafe(sql)), bind)
}

/// The statement for each chunk of rows, whose placeholders stand in the place of `$rows`.
pub(super) fn for_rows<T, const N: usize>(
    sql: &str,
    rows: &[T],
    values: impl Fn(&T) -> [Value; N],
) -> impl Iterator<Item = AnyQuery<'static>> {
    rows.chunks(MAX_ROWS).map(move |chunk| {
        let sql = sql.replace("$rows", &placeholders(chunk.len(), N));
        chunk.iter().flat_map(&values).fold(sqlx::query(AssertSqlSafe(sql)), bind)
    })
}

impl Connection {
    /// Reads all rows of a query and maps them.
    pub(super) async fn all<T>(
        &mut self,
        query: AnyQuery<'_>,
        map: impl FnMut(&AnyRow) -> Result<T, sqlx::Error>,
    ) -> Result<Vec<T>, sqlx::Error> {
        query.fetch_all(self).await?.iter().map(map).collect()
    }

    /// Reads the row of a query and maps it; `None` if there is none.
    pub(super) async fn optional<T>(
        &mut self,
        query: AnyQuery<'_>,
        map: impl FnOnce(&AnyRow) -> Result<T, sqlx::Error>,
    ) -> Result<Option<T>, sqlx::Error> {
        query.fetch_optional(self).await?.as_ref().map(map).transpose()
    }

    /// Reads and maps the rows of a statement for ids, as [`for_ids`] makes it.
    pub(super) async fn all_of<T, C: Default + Extend<T> + IntoIterator<Item = T>>(
        &mut self,
        sql: &str,
        before: &[Value],
        ids: &[impl ToString],
        mut map: impl FnMut(&AnyRow) -> Result<T, sqlx::Error>,
    ) -> Result<C, sqlx::Error> {
        let mut found = C::default();
        for query in for_ids(sql, before, ids) {
            for row in query.fetch_all(&mut *self).await? {
                found.extend([map(&row)?]);
            }
        }
        Ok(found)
    }
}

impl Store {
    /// Reads all rows of a query and maps them.
    pub(super) async fn all<T>(
        &self,
        query: AnyQuery<'_>,
        map: impl FnMut(&AnyRow) -> Result<T, sqlx::Error>,
    ) -> Result<Vec<T>, StoreError> {
        Ok(query.fetch_all(&self.pool).await?.iter().map(map).collect::<Result<_, _>>()?)
    }

    /// Reads the row of a query and maps it; `None` if there is none.
    pub(super) async fn optional<T>(
        &self,
        query: AnyQuery<'_>,
        map: impl FnOnce(&AnyRow) -> Result<T, sqlx::Error>,
    ) -> Result<Option<T>, StoreError> {
        Ok(query.fetch_optional(&self.pool).await?.as_ref().map(map).transpose()?)
    }

    /// Reads and maps the rows of a statement for ids, as [`for_ids`] makes it.
    pub(super) async fn all_of<T, C: Default + Extend<T> + IntoIterator<Item = T>>(
        &self,
        sql: &str,
        before: &[Value],
        ids: &[impl ToString],
        map: impl FnMut(&AnyRow) -> Result<T, sqlx::Error>,
    ) -> Result<C, StoreError> {
        match ids {
            [] => Ok(C::default()),
            ids => Ok(self.pool.acquire().await?.all_of(sql, before, ids, map).await?),
        }
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

/// A text as a part of a `LIKE` pattern whose escape is a backslash.
pub(super) fn escaped_pattern(text: &str) -> String {
    text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_")
}

/// Binds the ids of an `IN` list.
pub(super) fn bind_ids<'q>(query: AnyQuery<'q>, ids: &[impl ToString]) -> AnyQuery<'q> {
    ids.iter().fold(query, |query, id| query.bind(id.to_string()))
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
