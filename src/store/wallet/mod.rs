//! The books of the wallet: transfers, their entries, and a balance for each account.
//!
//! [`post`] is the only way to move money. It belongs at the end of a transaction that does something else as well,
//! because whoever moves money between the same accounts waits for it from there on; after sales and orders come
//! transfers in the order of their ids, then balances in the order of their accounts, so nobody waits in a circle.

pub(super) mod audit;
pub(super) mod read;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashSet};

use jiff::Timestamp;
use sqlx::AssertSqlSafe;

pub use read::{About, Mark, WalletEntry};

use super::{ROWS, Tx, placeholders, row};
use crate::domain::wallet::{Account, Transfer};

/// What became of transfers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Posted {
    /// All of them stand in the books; `new` of them only now.
    Done { new: usize },
    /// Somebody does not have so much. The transaction has to be given up.
    NotEnough,
}

/// Writes transfers into the books. Those that are there already are left out, so doing it again changes nothing.
/// Transfers of one call count together: who gets something may spend it in the same call.
///
/// # Errors
/// Besides those of the database, one that says which transfer does not sum to zero.
pub(super) async fn post(tx: &mut Tx, transfers: &[Transfer], now: Timestamp) -> Result<Posted, sqlx::Error> {
    if let Some(wrong) = transfers.iter().find(|transfer| !transfer.is_balanced()) {
        return Err(sqlx::Error::Encode(
            format!("the transfer {} is not balanced: {:?}", wrong.id, wrong.moves).into(),
        ));
    }
    let by_id: BTreeMap<&str, &Transfer> = transfers.iter().map(|transfer| (transfer.id.as_str(), transfer)).collect();
    let new = insert_transfers(tx, by_id.values().copied(), now).await?;
    if new.is_empty() {
        return Ok(Posted::Done { new: 0 });
    }
    let mut changes: BTreeMap<String, (Account, i128)> = BTreeMap::new();
    for (account, amount) in new.iter().flat_map(|transfer| &transfer.moves) {
        changes.entry(account.to_string()).or_insert((*account, 0)).1 += i128::from(*amount);
    }
    let before = lock(tx, changes.keys()).await?;
    let mut after = BTreeMap::new();
    for (name, (account, change)) in changes {
        let balance = i128::from(before.get(&name).copied().unwrap_or_default()) + change;
        if balance < 0 && !account.may_owe() {
            return Ok(Posted::NotEnough);
        }
        let balance = i64::try_from(balance).map_err(|e| sqlx::Error::Encode(e.into()))?;
        if change != 0 {
            after.insert(name, balance);
        }
    }
    insert_entries(tx, &new, now).await?;
    set_balances(tx, &after).await?;
    Ok(Posted::Done { new: new.len() })
}

/// The answer are those that were not there.
async fn insert_transfers<'a>(
    tx: &mut Tx,
    transfers: impl Iterator<Item = &'a Transfer>,
    now: Timestamp,
) -> Result<Vec<&'a Transfer>, sqlx::Error> {
    let transfers: Vec<&Transfer> = transfers.collect();
    let mut new = HashSet::with_capacity(transfers.len());
    for chunk in transfers.chunks(ROWS) {
        let sql = format!(
            "INSERT INTO wallet_transfers (id, kind, reference, at_ms) VALUES {} ON CONFLICT DO NOTHING RETURNING id",
            placeholders(chunk.len(), 4)
        );
        let mut query = sqlx::query(AssertSqlSafe(sql));
        for transfer in chunk {
            query = query
                .bind(transfer.id.clone())
                .bind(transfer.kind.as_str())
                .bind(transfer.reference.clone())
                .bind(now.as_millisecond());
        }
        for row in query.fetch_all(&mut **tx).await? {
            new.insert(row::text(&row, "id")?);
        }
    }
    Ok(transfers.into_iter().filter(|transfer| new.contains(&transfer.id)).collect())
}

/// Locks the balances of accounts, which come in their order, until the end of the transaction, and reads them.
pub(super) async fn lock(
    tx: &mut Tx,
    accounts: impl IntoIterator<Item = &String>,
) -> Result<BTreeMap<String, i64>, sqlx::Error> {
    let accounts: Vec<&String> = accounts.into_iter().collect();
    let mut balances = BTreeMap::new();
    for chunk in accounts.chunks(ROWS) {
        // Makes the row, or changes nothing about it: either way it is ours from now on.
        let sql = format!(
            "INSERT INTO wallet_balances (account, balance) VALUES {}
             ON CONFLICT (account) DO UPDATE SET balance = wallet_balances.balance RETURNING account, balance",
            placeholders(chunk.len(), 2)
        );
        let mut query = sqlx::query(AssertSqlSafe(sql));
        for account in chunk {
            query = query.bind((*account).clone()).bind(0_i64);
        }
        for row in query.fetch_all(&mut **tx).await? {
            balances.insert(row::text(&row, "account")?, row::int(&row, "balance")?);
        }
    }
    Ok(balances)
}

async fn insert_entries(tx: &mut Tx, transfers: &[&Transfer], now: Timestamp) -> Result<(), sqlx::Error> {
    let entries: Vec<(&str, Account, i64)> = transfers
        .iter()
        .flat_map(|transfer| transfer.moves.iter().map(|(account, amount)| (transfer.id.as_str(), *account, *amount)))
        .collect();
    for chunk in entries.chunks(ROWS) {
        let sql = format!(
            "INSERT INTO wallet_entries (transfer_id, account, amount, at_ms) VALUES {}",
            placeholders(chunk.len(), 4)
        );
        let mut query = sqlx::query(AssertSqlSafe(sql));
        for (transfer, account, amount) in chunk {
            query =
                query.bind((*transfer).to_owned()).bind(account.to_string()).bind(*amount).bind(now.as_millisecond());
        }
        query.execute(&mut **tx).await?;
    }
    Ok(())
}

/// The rows are there and locked.
async fn set_balances(tx: &mut Tx, balances: &BTreeMap<String, i64>) -> Result<(), sqlx::Error> {
    let balances: Vec<(&String, &i64)> = balances.iter().collect();
    for chunk in balances.chunks(ROWS) {
        let sql = format!(
            "INSERT INTO wallet_balances (account, balance) VALUES {}
             ON CONFLICT (account) DO UPDATE SET balance = excluded.balance",
            placeholders(chunk.len(), 2)
        );
        let mut query = sqlx::query(AssertSqlSafe(sql));
        for (account, balance) in chunk {
            query = query.bind((*account).clone()).bind(**balance);
        }
        query.execute(&mut **tx).await?;
    }
    Ok(())
}
