//! The shop under overload:
//!
//! - the peak: accepted purchases per second with 64 connections in a closed loop;
//! - p99 of accepted purchases ÷ p99 of an authenticated no-op, both at half of that peak, open loop;
//! - twice the peak, open loop over thousands of connections: accepted rate ÷ peak, waits, refusals, the memory of
//!   `serve`; and half of the peak right after it;
//! - the memory of `serve` with 10,000 idle connections;
//! - a static page through nginx's cache ÷ nginx serving the same bytes as a plain file.
//!
//! `scripts/stack up && eval "$(scripts/stack env)" && cargo bench --bench crowd`
//!
//! `CROWD_SECONDS` (5) is the length of a run, `CROWD_ROUNDS` (3) the number of runs, `CROWD_CONNECTIONS` (4000) the
//! number of connections in the overload. The output is also written to `benches/results/crowd.txt`, with a description
//! of the machine. The shop and its Redis are pinned to one core and the generator to the others, because at twice the
//! peak the generator would otherwise compete with the shop.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/info.rs"]
mod info;
#[path = "../common/machine.rs"]
mod machine;

mod cores;
mod edge;
mod idle;
mod load;
#[path = "../../tests/it/support/nginx.rs"]
mod nginx;
mod report;
#[path = "../common/shop.rs"]
mod shop;
mod waits;

use cores::PinnedCores;
use report::Report;
use shop::Shop;

fn main() -> anyhow::Result<()> {
    if !common::is_measurement() {
        return Ok(());
    }
    // The generator has one thread, like wrk.
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(run())
}

async fn run() -> anyhow::Result<()> {
    rlimit::increase_nofile_limit(1 << 20)?;
    let command = "scripts/stack up && eval \"$(scripts/stack env)\" && cargo bench --bench crowd";
    let mut report = Report::new("crowd", command);
    let shop = Shop::start().await?;
    idle::run(&shop, "a shop that has just started", &mut report).await?;
    let pinned = PinnedCores::pin(&shop).await?;
    waits::run(&shop, &mut report).await?;
    drop(pinned);
    idle::run(&shop, "after the overload", &mut report).await?;
    edge::run(&shop, &mut report).await?;
    report.write()
}

/// The pair with the median ratio, and all ratios in order.
fn median(mut pairs: Vec<(f64, f64)>) -> ((f64, f64), String) {
    pairs.sort_by(|a, b| (a.0 / a.1).total_cmp(&(b.0 / b.1)));
    let ratios: Vec<String> = pairs.iter().map(|(a, b)| format!("{:.2}", a / b)).collect();
    (pairs[pairs.len() / 2], ratios.join(" "))
}
