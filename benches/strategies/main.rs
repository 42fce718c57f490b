//! Strategies to sell a limited stock, compared on real servers: in the database, in memcached, in Redis, and this
//! shop's. The same buyers claim in a closed loop, twice as many claims as units, one claim in sixteen a replay. Then
//! each strategy sells in a process that is killed half-way.
//!
//! `scripts/stack up && scripts/stack start memcached && eval "$(scripts/stack env)" && cargo bench --bench strategies`
//!
//! A cell of the table runs for `STRATEGIES_SECONDS` (default 2). `STRATEGIES_ONLY=batch,script` runs only these rows
//! and writes no files. The buyers share the cores with the servers. No consumer runs while rates are measured, as if
//! the pipeline had machines of its own.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/info.rs"]
mod info;
#[path = "../common/machine.rs"]
mod machine;
#[path = "../common/master.rs"]
mod master;

mod batched;
mod crash;
mod memcached;
mod on_redis;
mod order_sink;
mod picture;
mod postgres;
mod race;
mod report;
mod services;
mod strategy;
mod table;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, ensure};
use base::config::Config;
use common::number;
use report::{Report, Row};
use services::Services;

const STOCKS: [u64; 2] = [1000, 100_000];
const BUYERS: [u64; 3] = [20, 200, 1000];

fn main() -> anyhow::Result<()> {
    if !common::is_measurement() {
        return Ok(());
    }
    let arguments: Vec<String> = std::env::args().collect();
    let killed = arguments.iter().position(|word| word == crash::ARGUMENT).and_then(|at| arguments.get(at + 1));
    let runtime = tokio::runtime::Runtime::new()?;
    match killed {
        Some(key) => runtime.block_on(run_until_killed(key)),
        None => runtime.block_on(run()),
    }
}

async fn run_until_killed(key: &str) -> anyhow::Result<()> {
    let services = Services::connect(&Config::from_environment()?).await?;
    let strategy = table::all(&services).into_iter().find(|strategy| strategy.key == key);
    crash::sell_until_killed(strategy.context("no such strategy")?).await
}

async fn run() -> anyhow::Result<()> {
    let services = Services::connect(&Config::from_environment()?).await?;
    let only = std::env::var("STRATEGIES_ONLY").ok();
    let report = measure(&services, only.as_deref()).await;
    services.clean().await?;
    let report = report?;
    println!("{}", report.text());
    if only.is_none() {
        write(&report)?;
    }
    Ok(())
}

async fn measure(services: &Services, only: Option<&str>) -> anyhow::Result<Report> {
    let seconds = number("STRATEGIES_SECONDS", 2);
    let mut report = Report::new(services.versions().await?, seconds);
    for strategy in table::all(services) {
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

/// Writes `strategies.json`, `.md` and `.svg`.
fn write(report: &Report) -> anyhow::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/results");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("strategies.json"), serde_json::to_string_pretty(report)? + "\n")?;
    fs::write(folder.join("strategies.md"), report.markdown())?;
    fs::write(folder.join("strategies.svg"), picture::draw(report))?;
    Ok(())
}
