//! The catalogue's revision.

use sqlx::{AssertSqlSafe, Row};

use crate::store::{Store, StoreError, Tx, row};

/// Raises the revision; the catalogue's row stays locked, so changes happen one after the other.
pub(in crate::store) async fn touch(tx: &mut Tx) -> Result<(), sqlx::Error> {
    sqlx::query("UPDATE catalogue SET revision = revision + 1 WHERE id = 1").execute(&mut **tx).await?;
    Ok(())
}

/// As `touch`, and takes the next number of a counter.
pub(in crate::store) async fn next_id(tx: &mut Tx, counter: &'static str) -> Result<i64, sqlx::Error> {
    let sql =
        format!("UPDATE catalogue SET revision = revision + 1, {counter} = {counter} + 1 RETURNING {counter} AS id");
    sqlx::query(AssertSqlSafe(sql)).fetch_one(&mut **tx).await?.try_get("id")
}

impl Store {
    /// Rises with every change of goods or sales.
    pub async fn revision(&self) -> Result<i64, StoreError> {
        let row = sqlx::query("SELECT revision FROM catalogue WHERE id = 1").fetch_one(&self.pool).await?;
        Ok(row::int(&row, "revision")?)
    }
}
