//! The ways to sell a limited stock, side by side on real servers: the database's, memcached's, Redis's, and this shop's.
//! The same buyers ask all of them as fast as they are answered; twice as many ask as there are units; one claim in
//! sixteen is a repetition. Then each sells in a process of its own that is killed half way.
//!
//! `scripts/stack up && scripts/stack start memcached && eval "$(scripts/stack env)" && cargo bench --bench strategies`
//!
//! A cell of the table runs for `STRATEGIES_SECONDS` (default 2); `STRATEGIES_ONLY=batch,script` takes some rows only,
//! and then writes no files. The buyers share the cores with the servers. What waits in a queue waits: no consumer works
//! while the rates are taken, as in a rush whose pipeline has machines of its own.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/info.rs"]
mod info;
#[path = "../common/machine.rs"]
mod machine;
#[path = "../common/master.rs"]
mod master;

mod behind;
mod crash;
mod memcached;
mod on_redis;
mod ours;
mod picture;
mod postgres;
mod race;
mod report;
mod services;
mod strategy;

use std::sync::Arc;

use anyhow::{Context, ensure};
use common::number;
use report::{Report, Row};
use seckill::config::Config;
use services::Services;

const STOCKS: [u64; 2] = [1000, 100_000];
const BUYERS: [u64; 3] = [20, 200, 1000];

fn main() -> anyhow::Result<()> {
    if !common::is_wanted() {
        return Ok(());
    }
    let arguments: Vec<String> = std::env::args().collect();
    let victim = arguments.iter().position(|word| word == crash::ARGUMENT).and_then(|at| arguments.get(at + 1));
    let runtime = tokio::runtime::Runtime::new()?;
    match victim {
        Some(key) => runtime.block_on(be_killed(key)),
        None => runtime.block_on(run()),
    }
}

async fn be_killed(key: &str) -> anyhow::Result<()> {
    let services = Services::connect(&Config::from_environment()?).await?;
    let strategy = strategy::all(&services).into_iter().find(|strategy| strategy.key == key);
    crash::sell_until_killed(strategy.context("no such strategy")?).await
}

async fn run() -> anyhow::Result<()> {
    let services = Services::connect(&Config::from_environment()?).await?;
    let only = std::env::var("STRATEGIES_ONLY").ok();
    let measured = measure(&services, only.as_deref()).await;
    services.tidy().await?;
    let report = measured?;
    println!("{}", report.text());
    if only.is_none() {
        report.write()?;
    }
    Ok(())
}

async fn measure(services: &Services, only: Option<&str>) -> anyhow::Result<Report> {
    let seconds = number("STRATEGIES_SECONDS", 2);
    let mut report = Report::new(services.versions().await?, seconds);
    for strategy in strategy::all(services) {
        if only.is_some_and(|keys| !keys.split(',').any(|key| key == strategy.key)) {
            continue;
        }
        let strategy = Arc::new(strategy);
        let mut cells = Vec::new();
        for stock in STOCKS {
            for buyers in BUYERS {
                let cell = race::race(&strategy, stock, buyers, seconds).await?;
                eprintln!("{}, stock {stock}, {buyers} buyers: {:.0}/s", strategy.name, cell.grants_per_second);
                cells.push(cell);
            }
        }
        let crash = crash::crash(&strategy).await.with_context(|| format!("killing {}", strategy.key))?;
        report.rows.push(Row::new(&strategy, cells, crash));
    }
    ensure!(!report.rows.is_empty(), "no such strategy");
    Ok(report)
}
