//! The capacity of one Redis master: unique, durable and replicated reservations per second through the shop's batches
//! (holder, stock and outbox in one script), against the source article's script, which only counts, called one by one
//! by redis-benchmark with 50 connections. Both run in turn on the same server.
//!
//! `scripts/stack up && eval "$(scripts/stack env)" && cargo bench --bench ledger`
//!
//! Then the cost of a reservation: bytes, how long one call keeps the server busy, and the master's processor time per
//! claim, which must not grow with the units sold, the number of concurrent sales, or the users per unit. With
//! `scripts/stack up --cluster` also the gain of a second master for a split sale.
//!
//! Clients, master and replica share the cores. Figures are medians of `LEDGER_ROUNDS` (default 3) rounds of
//! `LEDGER_CLAIMS` (default 300,000) claims.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/info.rs"]
mod info;
#[path = "../common/master.rs"]
mod master;

mod growth;
mod server;
mod shards;
mod work;

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, ensure};
use base::config::Config;
use common::number;
use domain::Bucket;
use engine::redis::keys;
use server::Server;
use work::{Shape, Work};

/// Claims per call. The shop's batches have up to 256.
const BATCHES: [usize; 3] = [64, 128, 256];

fn main() -> anyhow::Result<()> {
    if !common::is_measurement() {
        return Ok(());
    }
    tokio::runtime::Runtime::new()?.block_on(run())
}

async fn run() -> anyhow::Result<()> {
    let config = Config::from_environment()?;
    let redis = config.redis.context("no Redis: scripts/stack up && eval \"$(scripts/stack env)\"")?;
    let server = Server::connect(&redis, &config.database_url)?;
    let plan = Plan { rounds: number("LEDGER_ROUNDS", 3), claims: number("LEDGER_CLAIMS", 300_000) };
    let measurements = async {
        server.print_description().await?;
        println!("medians of {} rounds of {} claims", plan.rounds, plan.claims);
        against_the_article(&server, &plan).await?;
        size_and_pauses(&server, &plan).await?;
        growth::measure(&server, &plan).await
    };
    let result = measurements.await;
    server.clean().await?;
    result?;
    match std::env::var("SECKILL_STACK_CLUSTER_URL") {
        Ok(url) => shards::measure(url.as_str().into(), &config.database_url, &plan).await,
        Err(_) => Ok(()),
    }
}

/// The size of a run.
struct Plan {
    rounds: u64,
    claims: u64,
}

/// One measurement.
#[derive(Clone, Copy)]
struct Measured {
    /// Until the replica had all writes.
    took: Duration,
    /// Processor time of the master's main thread.
    cpu: Duration,
    claims: u64,
}

impl Measured {
    fn rate(&self) -> f64 {
        self.claims as f64 / self.took.as_secs_f64()
    }

    /// Microseconds of the master for each claim.
    fn cpu_us(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / self.claims as f64
    }

    /// Microseconds that passed for each claim.
    fn wall_us(&self) -> f64 {
        self.took.as_secs_f64() * 1e6 / self.claims as f64
    }
}

async fn against_the_article(server: &Server, plan: &Plan) -> anyhow::Result<()> {
    let mut article_runs = Vec::new();
    let mut shop_runs = vec![Vec::new(); BATCHES.len()];
    for _ in 0..plan.rounds {
        article_runs.push(article(server, plan.claims).await?);
        for (measured, batch) in shop_runs.iter_mut().zip(BATCHES) {
            measured.push(server.sell(Work::new(Shape::one(plan.claims), batch)).await?);
        }
    }
    let (rate, cpu) =
        (median(article_runs.iter().map(Measured::rate)), median(article_runs.iter().map(Measured::cpu_us)));
    println!("article's script one by one, redis-benchmark -c 50: {rate:.0}/s, master {cpu:.2} us each");
    for (measured, batch) in shop_runs.iter().zip(BATCHES) {
        let ratio = |(shop, article): (&Measured, &Measured)| shop.rate() / article.rate();
        let ratios: Vec<String> =
            measured.iter().zip(&article_runs).map(|pair| format!("{:.2}", ratio(pair))).collect();
        println!(
            "reservations in batches of {batch}: {:.0}/s, master {:.2} us each, ratio {:.2} of {}",
            median(measured.iter().map(Measured::rate)),
            median(measured.iter().map(Measured::cpu_us)),
            median(measured.iter().zip(&article_runs).map(ratio)),
            ratios.join(" ")
        );
    }
    Ok(())
}

/// The article's script, one claim per call. The rate is redis-benchmark's own, which leaves its start out.
async fn article(server: &Server, claims: u64) -> anyhow::Result<Measured> {
    let key = keys::hash(Bucket::whole(master::sale(0, 1).id));
    let script = server.prepare_article(&key).await?;
    let (port, count) = (server.port.to_string(), claims.to_string());
    let cpu = server.cpu().await?;
    let output = Command::new("redis-benchmark")
        .args(["-p", &port, "-c", "50", "-n", &count, "--csv", "evalsha", &script, "1", &key, "1"])
        .output()
        .context("redis-benchmark is needed: apt-get install redis-tools")?;
    let cpu = server.cpu().await? - cpu;
    let booked = server.booked(&key).await?;
    ensure!(booked == claims, "redis-benchmark booked {booked} units instead of {claims}");
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().find(|line| line.starts_with("\"evalsha"));
    let rate = line.and_then(|line| line.split("\",\"").nth(1)).and_then(|rate| rate.parse::<f64>().ok());
    let rate = rate.with_context(|| format!("unexpected output of redis-benchmark: {text}"))?;
    Ok(Measured { took: Duration::from_secs_f64(claims as f64 / rate), cpu, claims })
}

async fn size_and_pauses(server: &Server, plan: &Plan) -> anyhow::Result<()> {
    for batch in BATCHES {
        let [half, most, longest] = server.pauses(server.sell(Work::new(Shape::one(plan.claims), batch))).await?;
        println!(
            "batches of {batch}: a call keeps the server busy for {half:.0} us (median), {most:.0} us (99 %), {longest:.0} us \
             (the longest)"
        );
    }
    let bucket = Bucket::whole(master::sale(0, 1).id);
    let each = |bytes: u64| bytes as f64 / plan.claims as f64;
    let holder_bytes = each(server.memory(&keys::holders(bucket)).await?);
    let outbox_bytes = each(server.memory(&keys::outbox(bucket)).await?);
    println!(
        "a reservation takes {:.0} bytes: {holder_bytes:.0} of its holder, {outbox_bytes:.0} in the outbox",
        holder_bytes + outbox_bytes
    );
    Ok(())
}

/// The median; of an even count the upper of the two middle values.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
