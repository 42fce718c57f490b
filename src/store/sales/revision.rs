//! The catalogue's revision: a number that increases with every change of goods or sales. Its row is the lock of the
//! catalogue.

use sqlx::{AssertSqlSafe, Row};

use crate::{SaleStore, StoreError, Tx, row};

/// Raises the revision and locks the catalogue until the end of the transaction.
pub(crate) async fn touch(tx: &mut Tx) -> Result<(), sqlx::Error> {
    sqlx::query("UPDATE catalogue SET revision = revision + 1 WHERE id = 1").execute(&mut **tx).await?;
    Ok(())
}

/// Like `touch`, and takes the next number of a counter.
pub(crate) async fn next_id(tx: &mut Tx, counter: &'static str) -> Result<i64, sqlx::Error> {
    let sql =
        format!("UPDATE catalogue SET revision = revision + 1, {counter} = {counter} + 1 RETURNING {counter} AS id");
    sqlx::query(AssertSqlSafe(sql)).fetch_one(&mut **tx).await?.try_get("id")
}

impl SaleStore<'_> {
    /// The current revision.
    pub async fn revision(self) -> Result<i64, StoreError> {
        let row = sqlx::query("SELECT revision FROM catalogue WHERE id = 1").fetch_one(&self.pool).await?;
        Ok(row::int(&row, "revision")?)
    }
}
