//! Returning deposits. A deposit is returned at once if its order is paid, its entry is withdrawn or its account is
//! deleted. All others are returned once the sale is over or a draft again.
//!
//! Returning may safely run twice: the transfer has the number of the deposit, and only a row with the same number is
//! marked.

use std::collections::BTreeMap;

use sqlx::AssertSqlSafe;

use super::{Deposit, columns, deposit, transfer};
use crate::sales::is_over;
use crate::{DepositStore, StoreError, Tx, row, wallet};
use domain::ledger::{Transfer, TransferKind};
use domain::{OrderId, SaleId, UserId};

/// Deposits per transaction: few enough that payments from the same wallets can wait for it.
const MAX_RETURNS: i64 = 256;

impl DepositStore<'_> {
    /// Sales that hold deposits although they are over or are drafts.
    pub async fn sales_to_return_deposits(self) -> Result<Vec<SaleId>, StoreError> {
        let sql = concat!(
            "SELECT id FROM sales WHERE (",
            is_over!(),
            " OR state = 'draft') AND EXISTS
               (SELECT 1 FROM deposits WHERE deposits.sale_id = sales.id AND returned_at_ms IS NULL) ORDER BY id"
        );
        self.all(sqlx::query(sql), |row| Ok(SaleId(row::int(row, "id")?))).await
    }

    /// Returns at most [`MAX_RETURNS`] deposits of a sale to the wallets. The result is their number.
    pub async fn give_back(self, sale: SaleId) -> Result<usize, StoreError> {
        let mut tx = self.begin().await?;
        let sql = concat!(
            "SELECT ",
            columns!(),
            " FROM deposits WHERE sale_id = $1 AND returned_at_ms IS NULL ORDER BY user_id LIMIT $2"
        );
        let rows = sqlx::query(sql).bind(sale.0).bind(MAX_RETURNS).fetch_all(&mut *tx).await?;
        let due = rows.iter().map(deposit).collect::<Result<Vec<_>, _>>()?;
        give_back(&mut tx, &due).await?;
        tx.commit().await?;
        Ok(due.len())
    }
}

/// Returns the deposit of an account that withdraws, unless the account has a live order of the sale.
pub(crate) async fn withdraw(tx: &mut Tx, sale: SaleId, user: UserId) -> Result<(), sqlx::Error> {
    let sql = concat!(
        "SELECT ",
        columns!(),
        " FROM deposits WHERE sale_id = $1 AND user_id = $2 AND returned_at_ms IS NULL AND NOT EXISTS (SELECT 1 FROM orders
           WHERE orders.sale_id = deposits.sale_id AND orders.user_id = deposits.user_id AND status IN ('unpaid', 'paid'))"
    );
    let found = sqlx::query(sql).bind(sale.0).bind(user.to_string()).fetch_optional(&mut **tx).await?;
    let due = found.as_ref().map(deposit).transpose()?;
    give_back(tx, due.as_slice()).await
}

/// The deposit that was taken for an order.
pub(crate) async fn of_order(tx: &mut Tx, order: OrderId) -> Result<Option<Deposit>, sqlx::Error> {
    let sql = "SELECT deposits.sale_id, deposits.user_id, number, deposits.amount, held_at_ms, returned_at_ms
         FROM orders JOIN deposits ON deposits.user_id = orders.user_id AND deposits.sale_id = orders.sale_id
         WHERE orders.id = $1 AND returned_at_ms IS NULL";
    let found = sqlx::query(sql).bind(order.to_string()).fetch_optional(&mut **tx).await?;
    found.as_ref().map(deposit).transpose()
}

/// The deposits of an account that are set aside, in all sales.
pub(crate) async fn of_user(tx: &mut Tx, user: UserId) -> Result<Vec<Deposit>, sqlx::Error> {
    let sql = concat!("SELECT ", columns!(), " FROM deposits WHERE user_id = $1 AND returned_at_ms IS NULL");
    sqlx::query(sql).bind(user.to_string()).fetch_all(&mut **tx).await?.iter().map(deposit).collect()
}

/// Returns the deposits of a draft that is deleted, and deletes the rows.
pub(crate) async fn delete(tx: &mut Tx, sale: SaleId) -> Result<(), sqlx::Error> {
    let sql = concat!("SELECT ", columns!(), " FROM deposits WHERE sale_id = $1 AND returned_at_ms IS NULL");
    let held = sqlx::query(sql).bind(sale.0).fetch_all(&mut **tx).await?;
    let held = held.iter().map(deposit).collect::<Result<Vec<_>, _>>()?;
    give_back(tx, &held).await?;
    sqlx::query("DELETE FROM deposits WHERE sale_id = $1").bind(sale.0).execute(&mut **tx).await?;
    Ok(())
}

async fn give_back(tx: &mut Tx, deposits: &[Deposit]) -> Result<(), sqlx::Error> {
    mark_returned(tx, deposits).await?;
    match wallet::post(tx, &transfers(deposits), tx.now).await? {
        wallet::Posted::Done { .. } => Ok(()),
        wallet::Posted::NotEnough => Err(sqlx::Error::Protocol("less is set aside than the deposits that are".into())),
    }
}

/// The transfers that return deposits. Post them in the same transaction as [`mark_returned`].
pub(crate) fn transfers(deposits: &[Deposit]) -> Vec<Transfer> {
    deposits.iter().map(|deposit| transfer(TransferKind::DepositReturn, deposit)).collect()
}

/// Marks deposits as returned. Rows are locked before balances.
pub(crate) async fn mark_returned(tx: &mut Tx, deposits: &[Deposit]) -> Result<(), sqlx::Error> {
    let mut by_sale: BTreeMap<SaleId, Vec<String>> = BTreeMap::new();
    for Deposit { sale_id, user_id, number, .. } in deposits {
        by_sale.entry(*sale_id).or_default().push(format!("('{user_id}',{number})"));
    }
    for (sale, rows) in by_sale {
        // These are UUIDs and numbers, so they are safe in the statement without parameters.
        let sql = format!(
            "UPDATE deposits SET returned_at_ms = {} WHERE sale_id = {sale} AND returned_at_ms IS NULL
               AND (user_id, number) IN (VALUES {})",
            tx.now.as_millisecond(),
            rows.join(",")
        );
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut **tx).await?;
    }
    Ok(())
}
