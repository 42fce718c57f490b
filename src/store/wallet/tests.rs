use sqlx::AssertSqlSafe;
use uuid::Uuid;

use super::*;
use crate::domain::wallet::Kind;
use crate::domain::{PacketId, UserId};
use crate::store::Store;

const NOW: Timestamp = Timestamp::UNIX_EPOCH;
const BAG: Account = Account::Packet(PacketId(1));

async fn books() -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(&crate::config::sqlite_in(dir.path())).unwrap();
    store.migrate().await.unwrap();
    (dir, store)
}

fn somebody() -> Account {
    Account::User(UserId(Uuid::now_v7()))
}

/// As callers do it: what is not enough is not committed.
async fn posted(store: &Store, transfers: &[Transfer]) -> Result<Posted, sqlx::Error> {
    let mut tx = store.begin().await.unwrap();
    let posted = post(&mut tx, transfers, NOW).await?;
    if posted != Posted::NotEnough {
        tx.commit().await?;
    }
    Ok(posted)
}

async fn change(store: &Store, sql: &str) {
    sqlx::query(AssertSqlSafe(sql.to_owned())).execute(&store.pool).await.unwrap();
}

#[tokio::test]
async fn money_moves_once_and_nobody_owes_any() {
    let (_dir, store) = books().await;
    let (a, b) = (somebody(), somebody());
    let top_up = Transfer::simple(Kind::TopUp, "p1", 100, Account::Provider, a);
    assert_eq!(posted(&store, std::slice::from_ref(&top_up)).await.unwrap(), Posted::Done { new: 1 });
    let fund = Transfer::simple(Kind::Fund, 1, 70, a, BAG);
    assert_eq!(posted(&store, &[top_up.clone(), fund.clone(), fund]).await.unwrap(), Posted::Done { new: 1 });
    let spend = Transfer::simple(Kind::Pay, "o1", 31, a, Account::Shop);
    assert_eq!(posted(&store, std::slice::from_ref(&spend)).await.unwrap(), Posted::NotEnough);
    // What comes in by the same call may go out by it.
    let share = Transfer::simple(Kind::Claim, "1:a", 1, BAG, a);
    assert_eq!(posted(&store, &[spend, share]).await.unwrap(), Posted::Done { new: 2 });
    assert_eq!(posted(&store, &[]).await.unwrap(), Posted::Done { new: 0 });
    let mut balances = Vec::new();
    for account in [a, b, BAG, Account::Shop, Account::Provider] {
        balances.push(store.wallet_balance(account).await.unwrap());
    }
    assert_eq!(balances, [0, 0, 69, 31, -100]);
    assert_eq!(store.wallet_mismatches().await.unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn a_transfer_that_makes_money_is_refused() {
    let (_dir, store) = books().await;
    let mut wrong = Transfer::simple(Kind::TopUp, "p1", 100, Account::Provider, somebody());
    wrong.moves[0].1 = -99;
    let error = posted(&store, &[wrong]).await.unwrap_err();
    assert!(error.to_string().contains("topup:p1"), "{error}");
    let huge = |n: u32| Transfer::simple(Kind::TopUp, n, i64::MAX, Account::Provider, BAG);
    posted(&store, &[huge(1), huge(2)]).await.unwrap_err();
    assert_eq!(store.wallet_balance(BAG).await.unwrap(), 0);
}

#[tokio::test]
async fn many_shares_are_one_call() {
    let (_dir, store) = books().await;
    let people: Vec<Account> = (0..1200).map(|_| somebody()).collect();
    let fund = Transfer::simple(Kind::Fund, 1, 1200 * 3, Account::Shop, BAG);
    posted(&store, &[fund]).await.unwrap();
    let claim = |account: &Account| Transfer::simple(Kind::Claim, format!("1:{account}"), 3, BAG, *account);
    // The reference would be the packet alone; it does not matter here.
    let claims: Vec<Transfer> = people.iter().map(claim).collect();
    assert_eq!(posted(&store, &claims[..700]).await.unwrap(), Posted::Done { new: 700 });
    assert_eq!(posted(&store, &claims).await.unwrap(), Posted::Done { new: 500 });
    for account in [people[0], people[699], people[1199]] {
        assert_eq!(store.wallet_balance(account).await.unwrap(), 3);
    }
    assert_eq!(store.wallet_balance(BAG).await.unwrap(), 0);
    assert_eq!(store.wallet_mismatches().await.unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn the_audit_sees_what_is_wrong() {
    let (_dir, store) = books().await;
    let a = somebody();
    for n in 1..=3 {
        posted(&store, &[Transfer::simple(Kind::TopUp, n, 10, Account::Provider, a)]).await.unwrap();
    }
    change(&store, "UPDATE wallet_balances SET balance = balance + 1 WHERE account <> 'provider'").await;
    assert_eq!(store.wallet_mismatches().await.unwrap(), [format!("account {a} says 31, its entries say 30")]);
    change(&store, "UPDATE wallet_balances SET balance = balance - 1 WHERE account <> 'provider'").await;
    change(&store, "DELETE FROM wallet_entries WHERE transfer_id = 'topup:1' AND account = 'provider'").await;
    change(&store, "DELETE FROM wallet_entries WHERE transfer_id = 'topup:2'").await;
    change(&store, "DELETE FROM wallet_balances WHERE account <> 'provider'").await;
    let mut wrong = store.wallet_mismatches().await.unwrap();
    wrong.sort();
    assert_eq!(
        wrong,
        [
            "account provider says -30, its entries say -10".into(),
            format!("account {a} has entries and no balance"),
            "all entries together sum to 10".into(),
            "transfer topup:1 sums to 10".into(),
            "transfer topup:2 sums to nothing at all".into(),
        ]
    );
}

#[tokio::test]
async fn an_account_is_read_page_by_page() {
    let (_dir, store) = books().await;
    let a = somebody();
    let top_up = |n: i64| Transfer::simple(Kind::TopUp, Uuid::from_u128(n as u128), n, Account::Provider, a);
    // Several at one time: the mark is more than the time.
    posted(&store, &[top_up(1), top_up(2), top_up(3)]).await.unwrap();
    posted(&store, &[Transfer::simple(Kind::Fund, 7, 6, a, BAG)]).await.unwrap();
    let (mut amounts, mut mark) = (Vec::new(), None);
    loop {
        let page = store.wallet_entries(a, mark.as_ref(), 2).await.unwrap();
        let Some(last) = page.last() else { break };
        mark = Some(last.mark());
        amounts.extend(page.iter().map(|entry| entry.amount));
    }
    amounts.sort_unstable();
    assert_eq!(amounts, [-6, 1, 2, 3]);
    let all = store.wallet_entries(a, None, 10).await.unwrap();
    assert!(all.iter().any(|entry| entry.about == Some(About::Packet { id: PacketId(7) })));
}
