//! What the ledger, one Redis master, can take: unique, durable and replicated reservations a second through the batch
//! path of the shop (holder, stock and outbox in one script), against the source article's own script, which only
//! counts, called one by one by redis-benchmark with 50 connections. Both on the same server in the same run, turn by
//! turn.
//!
//! `scripts/stack up && eval "$(scripts/stack env)" && cargo bench --bench ledger`
//!
//! Then what a reservation costs: bytes, how long one call keeps the server busy, and the master's processor time per
//! claim, which must not grow with the units sold, the sales at once, or the users per unit. With `scripts/stack up
//! --cluster` also what a second master adds to a sale that is split.
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
use common::number;
use seckill::config::Config;
use seckill::domain::Bucket;
use seckill::redis::keys;
use server::Server;
use work::{Shape, Work};

/// Claims of one call. The shop's own lanes gather up to 256.
const BATCHES: [usize; 3] = [64, 128, 256];

fn main() -> anyhow::Result<()> {
    if !common::is_wanted() {
        return Ok(());
    }
    tokio::runtime::Runtime::new()?.block_on(run())
}

async fn run() -> anyhow::Result<()> {
    let config = Config::from_environment()?;
    let redis = config.redis.context("no Redis: scripts/stack up && eval \"$(scripts/stack env)\"")?;
    let server = Server::connect(&redis, &config.database_url)?;
    let plan = Plan { rounds: number("LEDGER_ROUNDS", 3), claims: number("LEDGER_CLAIMS", 300_000) };
    let measured = async {
        server.print_description().await?;
        println!("medians of {} rounds of {} claims", plan.rounds, plan.claims);
        against_the_article(&server, &plan).await?;
        size_and_pauses(&server, &plan).await?;
        growth::measure(&server, &plan).await
    };
    let result = measured.await;
    server.forget().await?;
    result?;
    match std::env::var("SECKILL_STACK_CLUSTER_URL") {
        Ok(url) => shards::measure(url.into(), &config.database_url, &plan).await,
        Err(_) => Ok(()),
    }
}

/// How much and how often.
struct Plan {
    rounds: u64,
    claims: u64,
}

/// What one measurement saw.
#[derive(Clone, Copy)]
struct Seen {
    /// Until the replica had everything.
    took: Duration,
    /// Processor time of the master's main thread.
    cpu: Duration,
    claims: u64,
}

impl Seen {
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
    let mut theirs = Vec::new();
    let mut ours = vec![Vec::new(); BATCHES.len()];
    for _ in 0..plan.rounds {
        theirs.push(article(server, plan.claims).await?);
        for (seen, batch) in ours.iter_mut().zip(BATCHES) {
            seen.push(server.sell(Work::new(Shape::one(plan.claims), batch)).await?);
        }
    }
    let (rate, cpu) = (median(theirs.iter().map(Seen::rate)), median(theirs.iter().map(Seen::cpu_us)));
    println!("article's script one by one, redis-benchmark -c 50: {rate:.0}/s, master {cpu:.2} us each");
    for (seen, batch) in ours.iter().zip(BATCHES) {
        let ratio = |(ours, theirs): (&Seen, &Seen)| ours.rate() / theirs.rate();
        let ratios: Vec<String> = seen.iter().zip(&theirs).map(|pair| format!("{:.2}", ratio(pair))).collect();
        println!(
            "reservations in batches of {batch}: {:.0}/s, master {:.2} us each, ratio {:.2} of {}",
            median(seen.iter().map(Seen::rate)),
            median(seen.iter().map(Seen::cpu_us)),
            median(seen.iter().zip(&theirs).map(ratio)),
            ratios.join(" ")
        );
    }
    Ok(())
}

/// The article's script, one claim a call. What redis-benchmark's own clock says leaves its start out.
async fn article(server: &Server, claims: u64) -> anyhow::Result<Seen> {
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
    let rate = rate.with_context(|| format!("redis-benchmark said: {text}"))?;
    Ok(Seen { took: Duration::from_secs_f64(claims as f64 / rate), cpu, claims })
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
    let held = each(server.memory(&keys::holders(bucket)).await?);
    let sent = each(server.memory(&keys::outbox(bucket)).await?);
    println!("a reservation takes {:.0} bytes: {held:.0} of its holder, {sent:.0} in the outbox", held + sent);
    Ok(())
}

/// The middle one; of an even count the upper one of the two.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
