//! The cost of a crash: a child process sells, answers its buyers through a pipe, and is killed half-way.

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

/// The argument of the child process, followed by the key of a strategy.
pub const ARGUMENT: &str = "--sell-until-killed";
const STOCK: u64 = 100_000;
const BUYERS: usize = 200;
/// The latest time of the kill, for strategies that are too slow to sell half of the stock.
const MAX_TIME_TO_KILL: Duration = Duration::from_millis(1500);
/// Longer than the process runs.
const NO_DEADLINE: Duration = Duration::from_secs(3600);
/// By then the servers have noticed that the process is gone.
const SETTLE_TIME: Duration = Duration::from_millis(500);

#[derive(Debug, Clone, Serialize)]
pub struct Crash {
    /// Buyers who got the answer that they have a unit.
    #[serde(rename = "told")]
    pub answered: u64,
    /// Answered buyers without an order.
    pub lost: u64,
    /// Units deducted without an order, including the units of `lost`.
    pub leaked: u64,
}

/// Sells in a child process and kills it.
pub async fn crash(strategy: &Strategy) -> anyhow::Result<Crash> {
    strategy.open(STOCK).await?;
    let answered = tokio::task::spawn_blocking({
        let key = strategy.key;
        move || sell_and_kill(key)
    });
    let answered = answered.await??;
    tokio::time::sleep(SETTLE_TIME).await;
    let (deducted, orders) = (strategy.deduct.deducted(STOCK).await?, strategy.orders().await?);
    Ok(Crash {
        answered: answered.len() as u64,
        lost: answered.difference(&orders).count() as u64,
        leaked: deducted.saturating_sub(orders.len() as u64),
    })
}

/// Returns the users who were answered.
fn sell_and_kill(key: &str) -> anyhow::Result<HashSet<Uuid>> {
    let mut command = Command::new(std::env::current_exe()?);
    let mut child = command.args(["--bench", ARGUMENT, key]).stdout(Stdio::piped()).spawn()?;
    let mut pipe = child.stdout.take().context("a pipe")?;
    let (mut answered, mut user) = (HashSet::new(), [0; 16]);
    let mut first = None;
    let mut killed = false;
    // Answers that were in the pipe at the kill count.
    while pipe.read_exact(&mut user).is_ok() {
        answered.insert(Uuid::from_bytes(user));
        let began = *first.get_or_insert_with(Instant::now);
        if !killed && (answered.len() as u64 >= STOCK / 2 || began.elapsed() > MAX_TIME_TO_KILL) {
            child.kill()?;
            killed = true;
        }
    }
    child.wait()?;
    anyhow::ensure!(killed, "{key} ended before it was killed");
    Ok(answered)
}

/// Runs in the child process. Writes each granted user to standard output at once.
pub async fn sell_until_killed(strategy: Strategy) -> anyhow::Result<()> {
    let strategy = Arc::new(strategy);
    let output = Arc::new(File::from(std::io::stdout().as_fd().try_clone_to_owned()?));
    let mut tasks = JoinSet::new();
    for _ in 0..BUYERS {
        let (strategy, output) = (strategy.clone(), output.clone());
        tasks.spawn(async move {
            loop {
                let user = Uuid::now_v7();
                if strategy.claim(user, Instant::now() + NO_DEADLINE).await? == Answer::Granted {
                    (&*output).write_all(user.as_bytes())?;
                }
            }
        });
    }
    if let Some(order_sink) = strategy.order_sink.clone() {
        tasks.spawn(async move { order_sink.work().await });
    }
    match tasks.join_next().await {
        Some(ended) => ended?,
        None => Ok(()),
    }
}
