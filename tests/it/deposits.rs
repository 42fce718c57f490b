//! Deposits of a crowd: taken once per account however often it asks, and returned once by however many processes.

use std::collections::HashMap;

use domain::ledger::LedgerAccount;
use domain::{SaleId, UserId};
use futures::future::join_all;
use store::{JoinOutcome, Joining};
use uuid::Uuid;

use crate::wallet::WalletStore;

const ACCOUNTS: usize = 300;
pub const DEPOSIT: i64 = 1_000;
const SALE: SaleId = SaleId(1);

/// A sale with a waiting room that takes deposits, and accounts. Every tenth account has a cent too little.
pub async fn crowd(wallet: &WalletStore, accounts: usize) -> Vec<(UserId, i64)> {
    let accounts: Vec<(UserId, i64)> =
        (0..accounts).map(|n| (UserId(Uuid::now_v7()), DEPOSIT - i64::from(n % 10 == 0))).collect();
    let all: i64 = accounts.iter().map(|(_, amount)| amount).sum();
    let rows = |row: &dyn Fn(&(UserId, i64)) -> String| accounts.iter().map(row).collect::<Vec<_>>().join(",");
    let (users, transfers) = (
        rows(&|(user, _)| format!("('{user}', '{user}', '{user}', '', 'user', 1)")),
        rows(&|(user, _)| format!("('topup:{user}', 'topup', '{user}', 1)")),
    );
    let entries = rows(&|(user, amount)| {
        format!("('topup:{user}', 'provider', -{amount}, 1), ('topup:{user}', 'user:{user}', {amount}, 1)")
    });
    let balances = rows(&|(user, amount)| format!("('user:{user}', {amount})"));
    wallet
        .execute(&[
            format!("INSERT INTO users (id, username, username_key, password_hash, role, created_at_ms) VALUES {users}"),
            format!("INSERT INTO wallet_transfers (id, kind, reference, at_ms) VALUES {transfers}"),
            format!("INSERT INTO wallet_entries (transfer_id, account, amount, at_ms) VALUES {entries}"),
            format!("INSERT INTO wallet_balances (account, balance) VALUES {balances}, ('provider', -{all})"),
            format!(
                "INSERT INTO sales (id, goods_id, price, currency, total, sold, per_user_limit, state, version, created_at_ms,
                   mode, queue_prequeue_s, queue_gather_s, queue_seat_s, deposit)
                 VALUES ({SALE}, 1, 100, 'CNY', 10, 0, 1, 'live', 1, 1, 'queue', 60, 0, 60, {DEPOSIT})"
            ),
            format!("INSERT INTO queues (sale_id, seed) VALUES ({SALE}, '{}')", "07".repeat(32)),
        ])
        .await;
    accounts
}

async fn balances(wallet: &WalletStore, accounts: &[(UserId, i64)]) -> Vec<i64> {
    let mut balances = Vec::new();
    for (user, _) in accounts {
        balances.push(wallet.store.wallet().balance(LedgerAccount::User(*user)).await.unwrap());
    }
    balances
}

pub async fn assert_consistent(wallet: &WalletStore) {
    let mut snapshot = wallet.store.audit().snapshot(Default::default()).await.unwrap();
    assert_eq!(snapshot.wallet_mismatches().await.unwrap(), Vec::<String>::new());
    assert_eq!(snapshot.deposit_mismatches().await.unwrap(), Vec::<String>::new());
}

fn joining((user, _): &(UserId, i64)) -> Joining {
    crate::support::joining(*user)
}

/// Every account asks for a place once.
pub async fn join(wallet: &WalletStore, accounts: &[(UserId, i64)]) {
    for batch in accounts.chunks(256) {
        let batch: Vec<Joining> = batch.iter().map(joining).collect();
        wallet.store.waiting_rooms().join(SALE, &batch).await.unwrap();
    }
}

/// Ends and retires the sale.
pub async fn retire(wallet: &WalletStore) {
    wallet.execute(&[format!("UPDATE sales SET state = 'ended', retired_at_ms = 1 WHERE id = {SALE}")]).await;
}

async fn deposits_of_a_crowd_are_taken_and_returned_once(url: &str) {
    let wallet = WalletStore::open(url).await;
    let accounts = crowd(&wallet, ACCOUNTS).await;
    // The same accounts ask at once, in batches of other sizes and in another order.
    let batches: Vec<Vec<Joining>> = vec![
        accounts.iter().map(joining).collect(),
        accounts.iter().rev().map(joining).collect(),
        accounts.iter().skip(50).map(joining).collect(),
        accounts.iter().step_by(3).map(joining).collect(),
    ];
    let answers = join_all(batches.iter().map(|batch| wallet.store.waiting_rooms().join(SALE, batch))).await;
    let rich: HashMap<UserId, bool> = accounts.iter().map(|(user, amount)| (*user, *amount >= DEPOSIT)).collect();
    for (batch, answer) in batches.iter().zip(answers) {
        for (request, outcome) in batch.iter().zip(answer.unwrap()) {
            match outcome {
                JoinOutcome::Joined { .. } => assert!(rich[&request.user_id], "{request:?}"),
                JoinOutcome::DepositNeeded => assert!(!rich[&request.user_id], "{request:?}"),
                other => panic!("{other:?}"),
            }
        }
    }
    let left: Vec<i64> = accounts.iter().map(|(_, amount)| amount % DEPOSIT).collect();
    assert_eq!(balances(&wallet, &accounts).await, left);
    assert_consistent(&wallet).await;

    assert_eq!(wallet.store.deposits().sales_to_return_deposits().await.unwrap(), [], "the sale goes on");
    retire(&wallet).await;
    assert_eq!(wallet.store.deposits().sales_to_return_deposits().await.unwrap(), [SALE]);
    let give_back = async || {
        // A transaction that waited for another one finds nothing left to return, or only the rest.
        while wallet.store.deposits().give_back(SALE).await.unwrap() > 0 {}
    };
    tokio::join!(give_back(), give_back(), give_back());
    let whole: Vec<i64> = accounts.iter().map(|(_, amount)| *amount).collect();
    assert_eq!(balances(&wallet, &accounts).await, whole);
    assert_eq!(wallet.store.deposits().sales_to_return_deposits().await.unwrap(), []);
    assert_consistent(&wallet).await;
}

mod sqlite {
    database_tests! {
        sqlite, deposits:
        deposits_of_a_crowd_are_taken_and_returned_once,
    }
}

mod stack {
    mod postgres {
        database_tests! {
            postgres, deposits:
            deposits_of_a_crowd_are_taken_and_returned_once,
        }
    }
}
