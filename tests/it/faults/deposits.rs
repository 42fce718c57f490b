//! Deposits on their way back to their wallets while what returns them dies.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use sqlx::Row;

use super::crash::{CrashTarget, crash};
use super::{ROLES, SETTLE_TIMEOUT};
use crate::deposits::{assert_consistent, crowd, join, retire};
use crate::support::{Plan, Rung, Stack, eventually, pause, seed};
use crate::wallet::WalletStore;

/// Their deposits are some 20 transactions.
const ACCOUNTS: usize = 5_000;
/// Then what is left is returned in peace.
const DEATHS: usize = 5;
const HELD: &str = "SELECT COUNT(*) AS n FROM deposits WHERE returned_at_ms IS NULL";

async fn count(wallet: &WalletStore, sql: &'static str) -> Result<usize, String> {
    let row = sqlx::query(sql).fetch_one(wallet.pool()).await.map_err(|error| error.to_string())?;
    Ok(row.get::<i64, _>("n") as usize)
}

async fn come_back_once(target: CrashTarget) {
    let _restore = Stack::get().restore_on_drop();
    let mut random = StdRng::seed_from_u64(seed());
    let plan = Plan::on(Rung::Rabbit).await.roles(&ROLES);
    let wallet = WalletStore::open(plan.setting("SECKILL_DATABASE_URL")).await;
    let accounts = crowd(&wallet, ACCOUNTS).await;
    join(&wallet, &accounts).await;
    let able = count(&wallet, HELD).await.unwrap();
    let mut shop = plan.start().await;
    retire(&wallet).await;

    let (mut left, mut deaths) = (able, 0);
    while left > 0 {
        left = eventually("more deposits are returned", SETTLE_TIMEOUT, async || match count(&wallet, HELD).await? {
            now if now < left => Ok(now),
            now => Err(format!("{now} of {able} are set aside")),
        })
        .await;
        if left > 0 && deaths < DEATHS {
            deaths += 1;
            pause(random.random_range(0..60)).await;
            for which in 0..2 {
                crash(&mut shop, target, which, random.random_range(20..200)).await;
            }
        }
    }
    assert!(deaths > 1, "nothing died while deposits were returned");
    let returns = "SELECT COUNT(*) AS n FROM wallet_transfers WHERE kind = 'deposit_return'";
    assert_eq!(count(&wallet, returns).await, Ok(able));
    assert_consistent(&wallet).await;
    let whole = "SELECT COUNT(*) AS n FROM wallet_balances WHERE account LIKE 'user:%' AND balance >= 1000";
    assert_eq!(count(&wallet, whole).await, Ok(able));
}

fault_tests! { come_back_once:
    control_dies_while_deposits_are_returned: CrashTarget::Role("control"),
    postgres_dies_while_deposits_are_returned: CrashTarget::Service("postgres"),
}
