//! The audit in steps: a fault in any step is found, and an interrupted audit goes on.

use std::path::Path;
use std::sync::{Arc, Mutex};

use base::clock::Clock;
use control::audit::AuditFile;
use control::audit::{Audit, AuditCheck};
use tokio::sync::Notify;

use crate::wallet::WalletStore;

/// More orders than the first five steps along a table read.
const ORDERS: i64 = 35_000;

fn audit(of: &WalletStore) -> Audit {
    Audit {
        store: of.store.clone(),
        stock_sync: None,
        packet_sync: None,
        monitor: None,
        clock: Clock::system(),
        recent: None,
        rows_read: Arc::default(),
    }
}

/// The 12 digits of a number.
fn digits(n: &str) -> String {
    format!("SUBSTR(CAST(1000000000000 + {n} AS TEXT), 2)")
}

/// Paid orders 1 to `count`, each with its payment.
async fn shop_with_paid_orders(url: &str, count: i64) -> WalletStore {
    let shop = WalletStore::open(url).await;
    let numbers = format!("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})");
    let id = |kind: char| format!("'{kind}0000000-0000-7000-8000-' || {}", digits("i"));
    let (order, user, payment) = (id('1'), id('2'), id('3'));
    let statements = [
        format!(
            "INSERT INTO sales (id, goods_id, price, currency, total, sold, per_user_limit, state, version, created_at_ms)
             VALUES (1, 1, 100, 'CNY', {count}, {count}, 1, 'live', 1, 1)"
        ),
        format!(
            "INSERT INTO orders (id, sale_id, user_id, quantity, amount, currency, status, reserved_at_ms, created_at_ms,
               pay_by_ms) {numbers} SELECT {order}, 1, {user}, 1, 100, 'CNY', 'paid', 1, 1, 1 FROM n"
        ),
        format!(
            "INSERT INTO payments (id, order_id, provider, amount, currency, status, created_at_ms, captured_at_ms)
             {numbers} SELECT {payment}, {order}, 'elsewhere', 100, 'CNY', 'captured', 1, 1 FROM n"
        ),
        "INSERT INTO order_totals SELECT sale_id, status, 0, COUNT(*), COUNT(*) FROM orders GROUP BY sale_id, status"
            .to_owned(),
    ];
    shop.execute(&statements).await;
    shop
}

fn order(n: i64) -> String {
    format!("10000000-0000-7000-8000-{n:012}")
}

fn violations<'a>(checks: &'a [AuditCheck], words: &str) -> &'a [String] {
    let check = checks.iter().find(|check| check.promise.contains(words));
    &check.unwrap_or_else(|| panic!("no check of {words}")).violations
}

async fn fault_in_any_step_is_found(url: &str) {
    let shop = shop_with_paid_orders(url, ORDERS).await;
    let sound = audit(&shop).check_once().await.unwrap();
    assert!(sound.iter().all(|check| check.violations.is_empty()), "{sound:?}");
    // Orders on both sides of the first border between two steps, and one in the last step.
    for n in [1, 10_000, 10_001, ORDERS] {
        let set = |amount: i64| format!("UPDATE payments SET amount = {amount} WHERE order_id = '{}'", order(n));
        shop.execute(&[set(99)]).await;
        let found = audit(&shop).check_once().await.unwrap();
        let expected = format!("order {} is paid and has 1 captured payments, of 99 together", order(n));
        assert_eq!(violations(&found, "every charge"), [expected]);
        assert_eq!(found.iter().filter(|check| !check.violations.is_empty()).count(), 1, "{found:?}");
        shop.execute(&[set(100)]).await;
    }
    shop.execute(&[format!("UPDATE orders SET quantity = 2 WHERE id = '{}'", order(ORDERS))]).await;
    let found = audit(&shop).check_once().await.unwrap();
    assert_eq!(violations(&found, "the sold units").len(), 1, "sums over all steps: {found:?}");
}

/// Runs an audit until it has reported `count` results, and ends it there as a signal would.
async fn interrupt_after(count: usize, shop: &WalletStore, file: AuditFile) -> Vec<AuditCheck> {
    let (seen, enough) = (Mutex::new(Vec::new()), Notify::new());
    let audit = audit(shop);
    let run = audit.run(file, |check| {
        let mut seen = seen.lock().unwrap();
        seen.push(check.clone());
        if seen.len() == count {
            enough.notify_one();
        }
    });
    tokio::select! {
        biased;
        () = enough.notified() => {}
        _ = run => panic!("the audit was not interrupted"),
    }
    seen.into_inner().unwrap()
}

fn promises<'a>(checks: impl IntoIterator<Item = &'a AuditCheck>) -> Vec<String> {
    let mut promises: Vec<String> = checks.into_iter().map(|check| check.promise.to_owned()).collect();
    promises.sort();
    promises
}

async fn interrupted_audit_goes_on_to_the_same_result(url: &str) {
    let shop = shop_with_paid_orders(url, 50).await;
    let dir = tempfile::tempdir().unwrap();
    let in_one_go = audit(&shop).run(AuditFile::none(), |_| ()).await.unwrap();
    interrupt_after(6, &shop, AuditFile::begin(dir.path())).await;
    let read: Vec<String> = promises_of(dir.path());
    assert!(read.len() >= 4 && read.len() < in_one_go.len(), "{read:?}");

    // One order in a part that was read, and one in a part that was not.
    shop.execute(&[
        format!("UPDATE payments SET amount = 99 WHERE order_id = '{}'", order(50)),
        format!(
            "INSERT INTO order_holds (id, order_id, sale_id, reason, held_by, held_at_ms)
             VALUES ('h', '{}', 1, 'x', 'sven', 1)",
            order(7)
        ),
    ])
    .await;
    let mut reported = Vec::new();
    let rest = audit(&shop).run(AuditFile::resume(dir.path()), |check| reported.push(check.clone())).await.unwrap();
    assert_eq!(promises(&reported), promises(&rest));
    let mut all = [read.clone(), promises(&rest)].concat();
    all.sort();
    assert_eq!(all, promises(&in_one_go), "each promise once");
    let expected = format!("order {} is held without a line in the audit log", order(7));
    assert_eq!(violations(&rest, "every held order"), [expected]);
    assert!(read.iter().any(|promise| promise.contains("every charge")), "{read:?}");
    assert!(promises_of(dir.path()).is_empty(), "an audit that has ended leaves nothing");

    let anew = audit(&shop).check_once().await.unwrap();
    assert_eq!(
        violations(&anew, "every charge").len(),
        1,
        "a part that was read stands as it was; a new audit reads it"
    );
}

/// The promises named by the file in a data directory.
fn promises_of(data_dir: &Path) -> Vec<String> {
    let file = AuditFile::resume(data_dir);
    let mut promises: Vec<String> = file.parts().into_iter().flat_map(|part| part.promises.clone()).collect();
    promises.sort();
    promises
}

mod sqlite {
    database_tests!(sqlite, audit: fault_in_any_step_is_found, interrupted_audit_goes_on_to_the_same_result);
}

mod stack {
    mod postgres {
        use crate::support::{Fixture, Rung};
        use crate::wallet::WalletStore;

        database_tests!(postgres, audit: fault_in_any_step_is_found, interrupted_audit_goes_on_to_the_same_result);

        /// If PostgreSQL's statistics know no rows, it expects one or two and compares every row with every other.
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn ledger_that_has_grown_since_its_statistics_is_audited() {
            let fixture = Fixture::new(Rung::Postgres).await;
            let shop = WalletStore::open(&fixture.settings["SECKILL_DATABASE_URL"]).await;
            let grow = |kind: &str, count: i64| {
                let (id, all) = (format!("'{kind}:' || n"), format!("FROM generate_series(1, {count}) n"));
                [
                    format!(
                        "INSERT INTO wallet_transfers (id, kind, reference, at_ms) SELECT {id}, '{kind}', n, n {all}"
                    ),
                    format!("INSERT INTO wallet_entries SELECT {id}, 'provider', -1, n {all}"),
                    format!("INSERT INTO wallet_entries SELECT {id}, 'user:' || n, 1, n {all}"),
                    format!(
                        "INSERT INTO wallet_balances SELECT 'user:' || n, 1 {all}
                           ON CONFLICT (account) DO UPDATE SET balance = wallet_balances.balance + 1"
                    ),
                    format!(
                        "INSERT INTO wallet_balances VALUES ('provider', -{count})
                           ON CONFLICT (account) DO UPDATE SET balance = wallet_balances.balance - {count}"
                    ),
                ]
            };
            let tables = ["wallet_transfers", "wallet_entries", "wallet_balances"];
            shop.execute(&tables.map(|table| format!("ALTER TABLE {table} SET (autovacuum_enabled = false)"))).await;
            // Steps grow while PostgreSQL knows the rows, and then reach the ones that it does not know.
            shop.execute(&grow("deposit", 7_000)).await;
            shop.execute(&tables.map(|table| format!("ANALYZE {table}"))).await;
            shop.execute(&grow("topup", 60_000)).await;
            let mut snapshot = shop.store.audit().snapshot(Default::default()).await.unwrap();
            assert_eq!(snapshot.wallet_mismatches().await.unwrap(), Vec::<String>::new());
        }
    }
}
