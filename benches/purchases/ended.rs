//! What sales cost that are over: a shop with 0, 100 and 1,000 of them is restarted, bought from, and left alone.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use base::config::Config;
use engine::redis::connection;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::hold;
use crate::shop::{RoleProcess, Shop, memory};
use crate::wrk::{Load, write_requests, wrk};

const MARKS: [usize; 3] = [0, 100, 1_000];
/// Orders of each sale that is over. None is paid, so all are cancelled after the time to pay, which has to be short.
const ORDERS: usize = 20;
const TIMEOUT: Duration = Duration::from_secs(600);
const CONNECTIONS: u32 = 64;
/// Length of each of the two loads after a restart.
const SECONDS: u64 = 2;
/// Distinct shoppers of a load, more than any buys.
const SHOPPERS: usize = 120_000;
const IDLE: Duration = Duration::from_secs(30);
/// PostgreSQL, Redis and RabbitMQ.
const SERVICES: [&str; 3] = ["postgres", "redis-server", "beam.smp"];

#[derive(Clone, Copy)]
struct Costs {
    /// From the start of the processes until `serve` is ready.
    start: Duration,
    /// Purchases per second right after that, divided by those ten seconds later.
    first_to_later: f64,
    /// Cores that the four processes, and the services for them, use without any request.
    idle: [f64; 2],
    /// Resident memory of the four processes and the memory that Redis uses, in MiB.
    memory: [f64; 2],
}

pub async fn run(dir: &Path) -> anyhow::Result<()> {
    let mut base: Option<Costs> = None;
    // What the services use without a shop.
    let alone = cores_used(&services()?).await?;
    println!("services without a shop: {alone:.4} cores");
    for marks in [&[0][..], &MARKS].concat().windows(2) {
        end_sales(marks[1] - marks[0]).await?;
        let costs = measure(dir, alone).await?;
        let base = *base.get_or_insert(costs);
        println!(
            "{} sales over: ready after {:.2} s, purchases at once ÷ later {:.2}, idle {:.4} + {:.4} cores ({:.2} times none), \
             memory {:.0} MiB ({:+.1}), Redis {:.1} MiB ({:+.1})",
            marks[1],
            costs.start.as_secs_f64(),
            costs.first_to_later,
            costs.idle[0],
            costs.idle[1],
            costs.idle.iter().sum::<f64>() / base.idle.iter().sum::<f64>(),
            costs.memory[0],
            costs.memory[0] - base.memory[0],
            costs.memory[1],
            costs.memory[1] - base.memory[1],
        );
    }
    Ok(())
}

/// The shop with its pipeline.
async fn start() -> anyhow::Result<(Shop, [RoleProcess; 2])> {
    Ok((Shop::start().await?, [RoleProcess::start("relay")?, RoleProcess::start("consume")?]))
}

/// Adds sales that sold something and are over.
async fn end_sales(count: usize) -> anyhow::Result<()> {
    let (shop, _pipeline) = start().await?;
    let sales = shop.open_sales(count, ORDERS as i64).await?;
    for sale in &sales {
        hold(&shop.services, *sale, ORDERS).await?;
    }
    for sale in sales {
        shop.stop_sale(sale).await?;
    }
    until_all_are_retired(&shop).await
}

async fn until_all_are_retired(shop: &Shop) -> anyhow::Result<()> {
    let began = Instant::now();
    loop {
        shop.services.catalogue.refresh().await?;
        match shop.services.catalogue.active().len() {
            0 => return Ok(()),
            left => ensure!(began.elapsed() < TIMEOUT, "{left} sales are not retired"),
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

async fn measure(dir: &Path, alone: f64) -> anyhow::Result<Costs> {
    let sale = Shop::start().await?.open_sale(1 << 30).await?;
    let began = Instant::now();
    let (shop, _pipeline) = start().await?;
    let config = &shop.services.config;
    while !is_ready(config.web.ops_listen).await {
        ensure!(began.elapsed() < TIMEOUT, "serve is not ready");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let start = began.elapsed();
    shop.services.catalogue.refresh().await?;
    shop.services.gate.refresh().await;
    let file = dir.join("buy");
    let mut rates = Vec::new();
    for _ in 0..2 {
        write_requests(&shop.purchases(sale, SHOPPERS)?, &file)?;
        let load = Load { requests: &file, expected: Some(202) };
        rates.push(wrk(config, load, dir, CONNECTIONS, SECONDS)?);
        tokio::time::sleep(Duration::from_secs(10)).await;
    }
    shop.stop_sale(sale).await?;
    until_all_are_retired(&shop).await?;
    tokio::time::sleep(Duration::from_secs(10)).await;
    let (own, services) = (children()?, services()?);
    let (of_own, of_services) = tokio::join!(cores_used(&own), cores_used(&services));
    Ok(Costs {
        start,
        first_to_later: rates[0] / rates[1],
        idle: [of_own?, of_services? - alone],
        memory: [
            own.iter().map(|path| memory(path, "VmRSS")).sum::<anyhow::Result<f64>>()?,
            redis_memory(config).await?,
        ],
    })
}

async fn is_ready(address: SocketAddr) -> bool {
    let ask = async {
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(b"GET /readyz HTTP/1.1\r\nhost: shop\r\nconnection: close\r\n\r\n").await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        std::io::Result::Ok(answer.starts_with("HTTP/1.1 200 "))
    };
    ask.await.unwrap_or(false)
}

/// In MiB.
async fn redis_memory(config: &Config) -> anyhow::Result<f64> {
    let redis = connection::shared(&config.redis.as_ref().context("Redis")?.master)?;
    Ok(crate::info::info(&redis, "memory", "used_memory").await?.parse::<f64>()? / 1024.0 / 1024.0)
}

/// Cores that these processes use without any traffic, measured over [`IDLE`].
async fn cores_used(processes: &[PathBuf]) -> anyhow::Result<f64> {
    let before = cpu_seconds(processes)?;
    tokio::time::sleep(IDLE).await;
    Ok((cpu_seconds(processes)? - before) / IDLE.as_secs_f64())
}

/// The services of this stack. Others on the machine are left out.
fn services() -> anyhow::Result<Vec<PathBuf>> {
    let stack = std::env::var("SECKILL_STACK_DIR").context("SECKILL_STACK_DIR")?;
    let is_of_stack = |path: &PathBuf| std::fs::read_link(path.join("cwd")).is_ok_and(|dir| dir.starts_with(&stack));
    Ok(processes(|name| SERVICES.contains(&name))?.into_iter().filter(is_of_stack).collect())
}

/// The processes of the shop, which this program has started.
fn children() -> anyhow::Result<Vec<PathBuf>> {
    let own = std::process::id();
    let is_child = |path: &PathBuf| {
        let stat = std::fs::read_to_string(path.join("stat")).unwrap_or_default();
        stat.rsplit_once(')').and_then(|(_, fields)| fields.split_whitespace().nth(1)?.parse().ok()) == Some(own)
    };
    Ok(processes(|name| name == "seckill")?.into_iter().filter(is_child).collect())
}

/// The processes of this machine with such a name.
fn processes(is_such: impl Fn(&str) -> bool) -> anyhow::Result<Vec<PathBuf>> {
    let all = std::fs::read_dir("/proc")?.map(|entry| Ok(entry?.path())).collect::<anyhow::Result<Vec<PathBuf>>>()?;
    let has_name = |path: &PathBuf| std::fs::read_to_string(path.join("comm")).is_ok_and(|name| is_such(name.trim()));
    Ok(all.into_iter().filter(has_name).collect())
}

/// Processor time of these processes. A process that has ended counts as 0.
fn cpu_seconds(processes: &[PathBuf]) -> anyhow::Result<f64> {
    /// Linux counts in hundredths of a second for programs.
    const TICKS: f64 = 100.0;
    let mut ticks = 0.0;
    for path in processes {
        let Ok(stat) = std::fs::read_to_string(path.join("stat")) else { continue };
        let (_, fields) = stat.rsplit_once(')').context("a line of stat")?;
        ticks += fields.split_whitespace().skip(11).take(2).map(|n| n.parse().unwrap_or(0.0)).sum::<f64>();
    }
    Ok(ticks / TICKS)
}
