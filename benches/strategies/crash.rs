//! What a crash costs: a process of its own sells, tells its buyers through a pipe, and is killed half way.

use std::collections::HashSet;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use serde::Serialize;
use tokio::task::JoinSet;
use tokio::time::Instant;
use uuid::Uuid;

use crate::strategy::{Answer, Strategy};

/// How a process is told that it is the one to be killed; the key of a strategy follows.
pub const ARGUMENT: &str = "--sell-until-killed";
const STOCK: u64 = 100_000;
const BUYERS: usize = 200;
/// Slow strategies do not get half way in this time.
const AT_THE_LATEST: Duration = Duration::from_millis(1500);
/// Longer than the process lives.
const LONG: Duration = Duration::from_secs(3600);
/// Until servers have noticed that the process is gone.
const SETTLED: Duration = Duration::from_millis(500);

#[derive(Debug, Clone, Serialize)]
pub struct Crash {
    /// Buyers who were told that they have a unit.
    pub told: u64,
    /// Of those, the ones whose order is nowhere.
    pub lost: u64,
    /// Units gone from the stock for which there is no order, those of the lost included.
    pub leaked: u64,
}

/// Sells in another process and kills it.
pub async fn crash(strategy: &Strategy) -> anyhow::Result<Crash> {
    strategy.open(STOCK).await?;
    let told = tokio::task::spawn_blocking({
        let key = strategy.key;
        move || sell_and_kill(key)
    });
    let told = told.await??;
    tokio::time::sleep(SETTLED).await;
    let (deducted, orders) = (strategy.deduct.deducted().await?, strategy.orders().await?);
    Ok(Crash {
        told: told.len() as u64,
        lost: told.difference(&orders).count() as u64,
        leaked: deducted.saturating_sub(orders.len() as u64),
    })
}

/// The answer is who was told.
fn sell_and_kill(key: &str) -> anyhow::Result<HashSet<Uuid>> {
    let mut command = Command::new(std::env::current_exe()?);
    let mut child = command.args(["--bench", ARGUMENT, key]).stdout(Stdio::piped()).spawn()?;
    let mut pipe = child.stdout.take().context("a pipe")?;
    let (mut told, mut user) = (HashSet::new(), [0; 16]);
    let mut first = None;
    let mut killed = false;
    // What was in the pipe when it died was told.
    while pipe.read_exact(&mut user).is_ok() {
        told.insert(Uuid::from_bytes(user));
        let began = *first.get_or_insert_with(Instant::now);
        if !killed && (told.len() as u64 >= STOCK / 2 || began.elapsed() > AT_THE_LATEST) {
            child.kill()?;
            killed = true;
        }
    }
    child.wait()?;
    anyhow::ensure!(killed, "{key} ended before it was killed");
    Ok(told)
}

/// What the other process does. Each buyer who wins is written to standard output at once.
pub async fn sell_until_killed(strategy: Strategy) -> anyhow::Result<()> {
    let strategy = Arc::new(strategy);
    let tell = Arc::new(File::from(std::io::stdout().as_fd().try_clone_to_owned()?));
    let mut tasks = JoinSet::new();
    for _ in 0..BUYERS {
        let (strategy, tell) = (strategy.clone(), tell.clone());
        tasks.spawn(async move {
            loop {
                let user = Uuid::now_v7();
                if strategy.claim(user, Instant::now() + LONG).await? == Answer::OutboxItem {
                    (&*tell).write_all(user.as_bytes())?;
                }
            }
        });
    }
    if let Some(behind) = strategy.behind.clone() {
        tasks.spawn(async move { behind.work().await });
    }
    match tasks.join_next().await {
        Some(ended) => ended?,
        None => Ok(()),
    }
}
