//! Deposits: money from a wallet that is set aside while its owner takes part in a sale, and returned in full
//! ([`returns`]).
//!
//! An account has one deposit per sale at a time. It is taken in the same transaction as the place or the entry, and
//! moves from the account's wallet to its ledger account of deposits. The transfers for the account's n-th deposit in a
//! sale are named after sale, account and n, so each is made only once.
//!
//! The balances of both ledger accounts are locked before a deposit is taken, in the order of their names, and the rows
//! are read again under these locks. So if two transactions take a deposit for the same account, the second finds the
//! first one's.

use std::collections::{BTreeMap, HashMap, HashSet};

use boxed::boxed;
use jiff::Timestamp;
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

use crate::sales::is_over;
use crate::{DepositStore, StoreResult, Tx, column, for_rows, row, wallet};
use domain::ledger::{LedgerAccount, Transfer, TransferKind};
use domain::{OrderId, SaleId, UserId};

/// The last deposit that an account had in a sale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deposit {
    pub sale_id: SaleId,
    pub user_id: UserId,
    /// How many deposits the account has had in this sale, including this one.
    pub number: i64,
    /// Minor units of the currency of wallets.
    pub amount: i64,
    pub held_at: Timestamp,
    /// `None` as long as the money is set aside.
    pub returned_at: Option<Timestamp>,
}

/// Whether an account can give the deposit of a sale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DepositStanding {
    /// The balance of the wallet.
    pub balance: i64,
    /// Whether the deposit is set aside, or the account has a live order and needs none.
    pub is_covered: bool,
}

column_list!(columns: "sale_id, user_id, number, amount, held_at_ms, returned_at_ms");

fn deposit(row: &AnyRow) -> sqlx::Result<Deposit> {
    read!(row => Deposit { sale_id, user_id, number, amount, held_at: "held_at_ms", returned_at: "returned_at_ms" })
}

#[boxed]
impl DepositStore<'_> {
    /// The deposits of an account in all sales, including returned ones, for its export.
    pub(crate) async fn deposits_of(self, user: UserId) -> StoreResult<Vec<Deposit>> {
        let sql = select!(columns, "FROM deposits WHERE user_id = $1 ORDER BY sale_id");
        self.all(query!(sql; user), deposit).await
    }

    /// An account's deposits that are set aside now, the newest first.
    pub async fn held_deposits_of(self, user: UserId) -> StoreResult<Vec<Deposit>> {
        let sql = select!(
            columns,
            "FROM deposits WHERE user_id = $1 AND returned_at_ms IS NULL ORDER BY held_at_ms DESC, sale_id DESC"
        );
        self.all(query!(sql; user), deposit).await
    }

    pub async fn standing(self, sale: SaleId, user: UserId) -> StoreResult<DepositStanding> {
        let sql =
            "SELECT CAST(COALESCE((SELECT balance FROM wallet_balances WHERE account = $3), 0) AS BIGINT) AS balance,
               (SELECT COUNT(*) FROM deposits WHERE user_id = $1 AND sale_id = $2 AND returned_at_ms IS NULL)
               + (SELECT COUNT(*) FROM orders WHERE user_id = $1 AND sale_id = $2 AND status IN ('unpaid', 'paid'))
               AS covers";
        let query = query!(sql; user, sale, LedgerAccount::User(user));
        self.one(query, |row| read!(row => DepositStanding { balance, is_covered = row::int(row, "covers")? > 0 }))
            .await
    }

    /// Sets the deposit of a sale aside for an account. Safe to repeat. Returns `false` if the balance of the wallet is
    /// too low.
    pub async fn hold(self, id: SaleId, user: UserId) -> StoreResult<bool> {
        let mut tx = self.begin().await?;
        let query = query!("SELECT deposit FROM sales WHERE id = $1"; id);
        let amount = tx.optional(query, column("deposit")).await?.flatten();
        let is_held = take(&mut tx, id, amount, &[user]).await?.is_empty();
        if is_held {
            tx.commit().await?;
        }
        Ok(is_held)
    }
}

/// Sets a deposit of this amount aside for accounts. Accounts that have one already, or a live order of the sale, are
/// left out. Returns the accounts whose wallets have too little; nothing has changed for them. Does nothing without an
/// amount.
pub(crate) async fn take(
    tx: &mut Tx,
    sale: SaleId,
    amount: Option<i64>,
    users: &[UserId],
) -> sqlx::Result<HashSet<UserId>> {
    let Some(amount) = amount else { return Ok(HashSet::new()) };
    let held = last_deposits(tx, sale, users).await?;
    let mut without: Vec<UserId> = users.iter().filter(|user| !is_held(&held, user)).copied().collect();
    let buyers = buyers(tx, sale, &without).await?;
    without.retain(|user| !buyers.contains(user));
    without.sort_unstable();
    without.dedup();
    if without.is_empty() {
        return Ok(HashSet::new());
    }
    let mut accounts: Vec<String> =
        without.iter().flat_map(|user| accounts_of(*user).map(|of| of.to_string())).collect();
    accounts.sort_unstable();
    let balances = wallet::lock(tx, &accounts).await?;
    let last = last_deposits(tx, sale, &without).await?;
    without.retain(|user| !is_held(&last, user));
    let has_enough =
        |user: &UserId| balances.get(&LedgerAccount::User(*user).to_string()).is_some_and(|balance| *balance >= amount);
    let (able, unable): (Vec<UserId>, Vec<UserId>) = without.into_iter().partition(has_enough);
    let now = tx.now;
    let new: Vec<Deposit> = able
        .into_iter()
        .map(|user_id| {
            let number = last.get(&user_id).map_or(0, |last| last.number) + 1;
            Deposit { sale_id: sale, user_id, number, amount, held_at: now, returned_at: None }
        })
        .collect();
    insert(tx, &new).await?;
    let transfers: Vec<Transfer> = new.iter().map(|deposit| transfer(TransferKind::Deposit, deposit)).collect();
    match wallet::post(tx, &transfers, now).await? {
        wallet::Posted::Done { .. } => Ok(unable.into_iter().collect()),
        // The balances were locked when they were read, so they cannot have changed.
        wallet::Posted::NotEnough => Err(sqlx::Error::Protocol("a locked balance has changed".into())),
    }
}

fn is_held(deposits: &HashMap<UserId, Deposit>, user: &UserId) -> bool {
    deposits.get(user).is_some_and(|deposit| deposit.returned_at.is_none())
}

fn accounts_of(user: UserId) -> [LedgerAccount; 2] {
    [LedgerAccount::Deposit(user), LedgerAccount::User(user)]
}

/// The last deposit of each account in a sale.
async fn last_deposits(tx: &mut Tx, sale: SaleId, users: &[UserId]) -> sqlx::Result<HashMap<UserId, Deposit>> {
    let sql = select!(columns, "FROM deposits WHERE sale_id = $1 AND user_id IN $ids");
    let read = |row: &AnyRow| deposit(row).map(|deposit| (deposit.user_id, deposit));
    tx.all_of(sql, &values![sale], users, read).await
}

/// The accounts that have a live order of a sale.
async fn buyers(tx: &mut Tx, sale: SaleId, users: &[UserId]) -> sqlx::Result<HashSet<UserId>> {
    let sql = "SELECT user_id FROM orders WHERE sale_id = $1 AND status IN ('unpaid', 'paid') AND user_id IN $ids";
    tx.all_of(sql, &values![sale], users, column("user_id")).await
}

/// Writes deposits. They replace the accounts' earlier ones.
async fn insert(tx: &mut Tx, deposits: &[Deposit]) -> sqlx::Result<()> {
    let sql = "INSERT INTO deposits (sale_id, user_id, number, amount, held_at_ms) VALUES $rows
         ON CONFLICT (user_id, sale_id) DO UPDATE SET number = excluded.number, amount = excluded.amount,
           held_at_ms = excluded.held_at_ms, returned_at_ms = NULL";
    tx.run_all(for_rows(sql, deposits, |of| values![of.sale_id, of.user_id, of.number, of.amount, of.held_at])).await
}

/// The transfer that sets a deposit aside, or that returns it.
fn transfer(kind: TransferKind, of: &Deposit) -> Transfer {
    let Deposit { sale_id, user_id, number, amount, .. } = of;
    let [deposit, wallet] = accounts_of(*user_id);
    let (from, to) = if kind == TransferKind::Deposit { (wallet, deposit) } else { (deposit, wallet) };
    let simple = Transfer::simple(kind, sale_id, *amount, from, to);
    Transfer { id: format!("{kind}:{sale_id}:{user_id}:{number}"), ..simple }
}

// Returning deposits. A deposit is returned at once if its order is paid, its entry is withdrawn or its account is
// deleted. All others are returned once the sale is over or a draft again.
//
// Returning may safely run twice: the transfer has the number of the deposit, and only a row with the same number is
// marked.

/// Deposits per transaction: few enough that payments from the same wallets can wait for it.
const MAX_RETURNS: i64 = 256;

#[boxed]
impl DepositStore<'_> {
    /// Sales that hold deposits although they are over or are drafts.
    pub async fn sales_to_return_deposits(self) -> StoreResult<Vec<SaleId>> {
        let sql = concat!(
            "SELECT id FROM sales WHERE (",
            is_over!(),
            " OR state = 'draft') AND EXISTS
               (SELECT 1 FROM deposits WHERE deposits.sale_id = sales.id AND returned_at_ms IS NULL) ORDER BY id"
        );
        self.all(query!(sql), column("id")).await
    }

    /// Returns at most [`MAX_RETURNS`] deposits of a sale to the wallets. The result is their number.
    pub async fn give_back(self, sale: SaleId) -> StoreResult<usize> {
        let mut tx = self.begin().await?;
        let sql =
            select!(columns, "FROM deposits WHERE sale_id = $1 AND returned_at_ms IS NULL ORDER BY user_id LIMIT $2");
        let due = tx.all(query!(sql; sale, MAX_RETURNS), deposit).await?;
        give_back(&mut tx, &due).await?;
        tx.commit_and(due.len()).await
    }
}

/// Returns the deposit of an account that withdraws, unless the account has a live order of the sale.
pub(crate) async fn withdraw(tx: &mut Tx, sale: SaleId, user: UserId) -> sqlx::Result<()> {
    let sql = select!(
        columns,
        "FROM deposits WHERE sale_id = $1 AND user_id = $2 AND returned_at_ms IS NULL AND NOT EXISTS
           (SELECT 1 FROM orders WHERE orders.sale_id = deposits.sale_id AND orders.user_id = deposits.user_id
            AND status IN ('unpaid', 'paid'))"
    );
    let due = tx.optional(query!(sql; sale, user), deposit).await?;
    give_back(tx, due.as_slice()).await
}

/// The deposit that was taken for an order.
pub(crate) async fn of_order(tx: &mut Tx, order: OrderId) -> sqlx::Result<Option<Deposit>> {
    let sql = "SELECT deposits.sale_id, deposits.user_id, number, deposits.amount, held_at_ms, returned_at_ms
         FROM orders JOIN deposits ON deposits.user_id = orders.user_id AND deposits.sale_id = orders.sale_id
         WHERE orders.id = $1 AND returned_at_ms IS NULL";
    tx.optional(query!(sql; order), deposit).await
}

/// The deposits of an account that are set aside, in all sales.
pub(crate) async fn of_user(tx: &mut Tx, user: UserId) -> sqlx::Result<Vec<Deposit>> {
    let sql = select!(columns, "FROM deposits WHERE user_id = $1 AND returned_at_ms IS NULL");
    tx.all(query!(sql; user), deposit).await
}

/// Returns the deposits of a draft that is deleted, and deletes the rows.
pub(crate) async fn delete(tx: &mut Tx, sale: SaleId) -> sqlx::Result<()> {
    let sql = select!(columns, "FROM deposits WHERE sale_id = $1 AND returned_at_ms IS NULL");
    let held = tx.all(query!(sql; sale), deposit).await?;
    give_back(tx, &held).await?;
    tx.run(query!("DELETE FROM deposits WHERE sale_id = $1"; sale)).await
}

async fn give_back(tx: &mut Tx, deposits: &[Deposit]) -> sqlx::Result<()> {
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
pub(crate) async fn mark_returned(tx: &mut Tx, deposits: &[Deposit]) -> sqlx::Result<()> {
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
        tx.execute(sqlx::raw_sql(AssertSqlSafe(sql))).await?;
    }
    Ok(())
}
