use sqlx::AssertSqlSafe;
use uuid::Uuid;

use super::*;
use crate::Store;
use domain::ledger::TransferKind;
use domain::{PacketId, UserId};

const NOW: Timestamp = Timestamp::UNIX_EPOCH;
const PACKET: LedgerAccount = LedgerAccount::Packet(PacketId(1));

async fn ledger() -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(&base::config::sqlite_in(dir.path())).unwrap();
    store.migrate().await.unwrap();
    (dir, store)
}

fn new_user() -> LedgerAccount {
    LedgerAccount::User(UserId(Uuid::now_v7()))
}

/// Posts transfers like a caller: commits unless the balance is too low.
async fn posted(store: &Store, transfers: &[Transfer]) -> Result<Posted, sqlx::Error> {
    let mut tx = store.begin().await.unwrap();
    let posted = post(&mut tx, transfers, NOW).await?;
    if posted != Posted::NotEnough {
        tx.commit().await?;
    }
    Ok(posted)
}

async fn mismatches(store: &Store) -> Vec<String> {
    store.audit().snapshot(Default::default()).await.unwrap().wallet_mismatches().await.unwrap()
}

async fn change(store: &Store, sql: &str) {
    sqlx::query(AssertSqlSafe(sql.to_owned())).execute(&store.pool).await.unwrap();
}

#[tokio::test]
async fn transfers_are_posted_once_and_balances_stay_positive() {
    let (_dir, store) = ledger().await;
    let (a, b) = (new_user(), new_user());
    let top_up = Transfer::simple(TransferKind::TopUp, "p1", 100, LedgerAccount::Provider, a);
    assert_eq!(posted(&store, std::slice::from_ref(&top_up)).await.unwrap(), Posted::Done { new: 1 });
    let fund = Transfer::simple(TransferKind::Fund, 1, 70, a, PACKET);
    assert_eq!(posted(&store, &[top_up.clone(), fund.clone(), fund]).await.unwrap(), Posted::Done { new: 1 });
    let spend = Transfer::simple(TransferKind::Pay, "o1", 31, a, LedgerAccount::Shop);
    assert_eq!(posted(&store, std::slice::from_ref(&spend)).await.unwrap(), Posted::NotEnough);
    // Money received in a call may be spent in the same call.
    let share = Transfer::simple(TransferKind::Claim, "1:a", 1, PACKET, a);
    assert_eq!(posted(&store, &[spend, share]).await.unwrap(), Posted::Done { new: 2 });
    assert_eq!(posted(&store, &[]).await.unwrap(), Posted::Done { new: 0 });
    let mut balances = Vec::new();
    for account in [a, b, PACKET, LedgerAccount::Shop, LedgerAccount::Provider] {
        balances.push(store.wallet().balance(account).await.unwrap());
    }
    assert_eq!(balances, [0, 0, 69, 31, -100]);
    assert_eq!(mismatches(&store).await, Vec::<String>::new());
}

#[tokio::test]
async fn unbalanced_transfer_is_refused() {
    let (_dir, store) = ledger().await;
    let mut wrong = Transfer::simple(TransferKind::TopUp, "p1", 100, LedgerAccount::Provider, new_user());
    wrong.moves[0].1 = -99;
    let error = posted(&store, &[wrong]).await.unwrap_err();
    assert!(error.to_string().contains("topup:p1"), "{error}");
    let huge = |n: u32| Transfer::simple(TransferKind::TopUp, n, i64::MAX, LedgerAccount::Provider, PACKET);
    posted(&store, &[huge(1), huge(2)]).await.unwrap_err();
    assert_eq!(store.wallet().balance(PACKET).await.unwrap(), 0);
}

#[tokio::test]
async fn thousand_transfers_are_posted_in_one_call() {
    let (_dir, store) = ledger().await;
    let users: Vec<LedgerAccount> = (0..1200).map(|_| new_user()).collect();
    let fund = Transfer::simple(TransferKind::Fund, 1, 1200 * 3, LedgerAccount::Shop, PACKET);
    posted(&store, &[fund]).await.unwrap();
    let claim =
        |account: &LedgerAccount| Transfer::simple(TransferKind::Claim, format!("1:{account}"), 3, PACKET, *account);
    // A real reference is the packet alone. That does not matter here.
    let claims: Vec<Transfer> = users.iter().map(claim).collect();
    assert_eq!(posted(&store, &claims[..700]).await.unwrap(), Posted::Done { new: 700 });
    assert_eq!(posted(&store, &claims).await.unwrap(), Posted::Done { new: 500 });
    for account in [users[0], users[699], users[1199]] {
        assert_eq!(store.wallet().balance(account).await.unwrap(), 3);
    }
    assert_eq!(store.wallet().balance(PACKET).await.unwrap(), 0);
    assert_eq!(mismatches(&store).await, Vec::<String>::new());
}

#[tokio::test]
async fn audit_reports_every_inconsistency() {
    let (_dir, store) = ledger().await;
    let a = new_user();
    for n in 1..=3 {
        posted(&store, &[Transfer::simple(TransferKind::TopUp, n, 10, LedgerAccount::Provider, a)]).await.unwrap();
    }
    change(&store, "UPDATE wallet_balances SET balance = balance + 1 WHERE account <> 'provider'").await;
    assert_eq!(mismatches(&store).await, [format!("account {a} has balance 31, its entries sum to 30")]);
    change(&store, "UPDATE wallet_balances SET balance = balance - 1 WHERE account <> 'provider'").await;
    change(&store, "DELETE FROM wallet_entries WHERE transfer_id = 'topup:1' AND account = 'provider'").await;
    change(&store, "DELETE FROM wallet_entries WHERE transfer_id = 'topup:2'").await;
    change(&store, "DELETE FROM wallet_balances WHERE account <> 'provider'").await;
    let mut wrong = mismatches(&store).await;
    wrong.sort();
    assert_eq!(
        wrong,
        [
            "account provider has balance -30, its entries sum to -10".into(),
            format!("account {a} has entries and no balance"),
            "transfer topup:1 sums to 10".into(),
            "transfer topup:2 sums to nothing: it has no entries".into(),
        ]
    );
}

#[tokio::test]
async fn statement_is_read_page_by_page() {
    let (_dir, store) = ledger().await;
    let a = new_user();
    let top_up =
        |n: i64| Transfer::simple(TransferKind::TopUp, Uuid::from_u128(n as u128), n, LedgerAccount::Provider, a);
    // Several lines have the same time, so the cursor includes the transfer's id.
    posted(&store, &[top_up(1), top_up(2), top_up(3)]).await.unwrap();
    posted(&store, &[Transfer::simple(TransferKind::Fund, 7, 6, a, PACKET)]).await.unwrap();
    let (mut amounts, mut cursor) = (Vec::new(), None);
    loop {
        let page = store.wallet().entries(a, cursor.as_ref(), 2).await.unwrap();
        let Some(last) = page.last() else { break };
        cursor = Some(last.cursor());
        amounts.extend(page.iter().map(|entry| entry.amount));
    }
    amounts.sort_unstable();
    assert_eq!(amounts, [-6, 1, 2, 3]);
    let all = store.wallet().entries(a, None, 10).await.unwrap();
    assert!(all.iter().any(|entry| entry.about == Some(EntrySubject::Packet { id: PacketId(7) })));
}
