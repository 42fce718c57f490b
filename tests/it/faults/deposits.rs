//! Deposits that return to their wallets while the process that returns them dies.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use sqlx::Row;

use super::crash::{CrashTarget, crash};
use super::{ROLES, SETTLE_TIMEOUT};
use crate::deposits::{assert_consistent, crowd, join, retire};
use crate::support::{Plan, Rung, Stack, eventually, pause, seed};
use crate::wallet::WalletStore;

/// Returning their deposits takes some 20 transactions.
const ACCOUNTS: usize = 5_000;
const DEATHS: usize = 3;
/// A transaction waits half done once this many deposits are returned, so that each death leaves some to be returned.
const PACE: [&str; 4] = [
    "CREATE TABLE pace (allowed BIGINT NOT NULL)",
    "INSERT INTO pace (allowed) VALUES (0)",
    "CREATE FUNCTION keep_pace() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
       WHILE (SELECT COUNT(*) FROM deposits WHERE returned_at_ms IS NOT NULL) > (SELECT allowed FROM pace) LOOP
         PERFORM pg_sleep(0.02);
       END LOOP;
       RETURN NULL;
     END $$",
    "CREATE TRIGGER keep_pace AFTER UPDATE ON deposits FOR EACH STATEMENT EXECUTE FUNCTION keep_pace()",
];
const HELD: &str = "SELECT COUNT(*) AS n FROM deposits WHERE returned_at_ms IS NULL";

async fn count(wallet: &WalletStore, sql: &'static str) -> Result<usize, String> {
    let row = sqlx::query(sql).fetch_one(wallet.pool()).await.map_err(|error| error.to_string())?;
    Ok(row.get::<i64, _>("n") as usize)
}

/// Lets this many deposits be returned in all.
async fn allow(wallet: &WalletStore, deposits: usize) {
    wallet.execute(&[format!("UPDATE pace SET allowed = {deposits}")]).await;
}

/// Waits until the number of deposits that are set aside satisfies the condition. Returns the number.
async fn held(wallet: &WalletStore, what: &str, is_enough: impl Fn(usize) -> bool) -> usize {
    eventually(what, SETTLE_TIMEOUT, async || match count(wallet, HELD).await? {
        now if is_enough(now) => Ok(now),
        now => Err(format!("{now} are set aside")),
    })
    .await
}

async fn come_back_once(target: CrashTarget) {
    let _restore = Stack::get().restore_on_drop();
    let mut random = StdRng::seed_from_u64(seed());
    let plan = Plan::on(Rung::Rabbit).await.roles(&ROLES);
    let wallet = WalletStore::open(plan.setting("SECKILL_DATABASE_URL")).await;
    let accounts = crowd(&wallet, ACCOUNTS).await;
    join(&wallet, &accounts).await;
    wallet.execute(&PACE.map(str::to_owned)).await;
    let able = count(&wallet, HELD).await.unwrap();
    let mut shop = plan.start().await;
    retire(&wallet).await;

    let mut left = able;
    for death in 1..=DEATHS {
        allow(&wallet, death * able / (DEATHS + 1)).await;
        held(&wallet, "more deposits are returned", |now| now < left).await;
        pause(random.random_range(0..60)).await;
        for which in 0..2 {
            crash(&mut shop, target, which, random.random_range(20..200)).await;
        }
        left = held(&wallet, "deposits can be counted", |_| true).await;
        assert!(left > 0, "nothing died while deposits were returned");
    }
    allow(&wallet, able).await;
    held(&wallet, "all deposits are returned", |now| now == 0).await;
    let returns = "SELECT COUNT(*) AS n FROM wallet_transfers WHERE kind = 'deposit_return'";
    assert_eq!(count(&wallet, returns).await, Ok(able));
    assert_consistent(&wallet).await;
    let whole = "SELECT COUNT(*) AS n FROM wallet_balances WHERE account LIKE 'user:%' AND balance >= 1000";
    assert_eq!(count(&wallet, whole).await, Ok(able));
}

cases! { come_back_once:
    control_dies_while_deposits_are_returned: CrashTarget::Role("control"),
    postgres_dies_while_deposits_are_returned: CrashTarget::Service("postgres"),
}
