//! Purchases per second that the shop accepts over HTTP and persists, as ratios to a baseline of the same run on the
//! same machine:
//!
//! - accepted purchases ÷ an authenticated no-op POST of the same server, both driven by wrk. `serve` and `control` run;
//!   the orders stay in the outbox, as if the pipeline had machines of its own;
//! - refused purchases (sold out) ÷ the same no-op, and the button ÷ a no-op GET;
//! - orders persisted ÷ a single-row conditional update with insert by pgbench with 20 clients: `relay` and `consume`
//!   process that backlog, from the outbox through RabbitMQ into PostgreSQL.
//!
//! `scripts/stack up && eval "$(scripts/stack env)" && cargo bench --bench purchases`
//!
//! `-- http` measures only the first two, `-- pipeline` only the last one. With the path of another version's program
//! in `PURCHASES_BEFORE`, its `relay` and `consume` process a backlog of their own in each round, for a ratio of both
//! versions.
//!
//! `-- queue` measures a waiting room: places taken ÷ purchases accepted, its public state (`/line`) ÷ the button, and
//! what data control needs while a million shoppers wait.
//!
//! `-- reservations` measures reservations by the token of another shop ÷ purchases accepted. Two seconds at most: it has
//! customers for no more.
//!
//! `-- backlog` measures how far storing orders falls behind while shoppers buy at 1,000 connections: all roles in one
//! process, with 0, 1 and 2 threads for its pipeline (`SECKILL_PIPELINE_THREADS`), and a process for each role.
//!
//! `-- growth` measures instead the cost of an accepted purchase once a million
//! shoppers hold units of its sale, and with a thousand live sales, bought from one or all of them. It leaves a million
//! orders in the outbox: run `scripts/stack purge` afterwards.
//!
//! `SECKILL_PAYMENT_WINDOW=5s … -- ended` measures what sales cost that are over: a shop with 0, 100 and 1,000 of them is
//! restarted, bought from, and left alone.
//!
//! The generators share the cores with what they measure. Every ratio is the median of `PURCHASES_ROUNDS` (default 3),
//! in which both sides run one right after the other for `PURCHASES_SECONDS` (default 4), because machines are noisy.

mod backlog;
#[path = "../common/mod.rs"]
mod common;
mod ended;
#[path = "../common/info.rs"]
mod info;
mod reservations;
#[path = "../common/shop.rs"]
mod shop;
mod waiting_room;
#[path = "../common/wrk.rs"]
mod wrk;

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use base::config::Config;
use domain::{Refusal, SaleId, UserId};
use futures::stream::{self, StreamExt};
use seckill::app::Services;
use shop::{RoleProcess, Shop};
use uuid::Uuid;
use wrk::{Load, write_requests, wrk};

const CONNECTIONS: [u32; 2] = [64, 1000];
const THIS_PROGRAM: &str = env!("CARGO_BIN_EXE_seckill");
/// Distinct shoppers per second of a run, more than any run accepts.
const SHOPPERS_PER_SECOND: usize = 60_000;

fn main() -> anyhow::Result<()> {
    if !common::is_measurement() {
        return Ok(());
    }
    tokio::runtime::Runtime::new()?.block_on(run())
}

/// Length, rounds and scope of a run.
struct Plan {
    seconds: u64,
    rounds: u64,
    scope: Scope,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// Purchases over HTTP, and persisting the backlog.
    All,
    /// Purchases over HTTP.
    Http,
    /// Persisting the backlog.
    Pipeline,
    Growth,
    /// Sales that are over.
    Ended,
    /// Orders on their way while shoppers buy.
    Backlog,
    /// Waiting rooms.
    WaitingRoom,
    /// By the token of another shop.
    Reservations,
}

impl Plan {
    fn from_environment() -> Plan {
        let has_argument = |word: &str| std::env::args().any(|arg| arg == word);
        Plan {
            seconds: common::number("PURCHASES_SECONDS", 4),
            rounds: common::number("PURCHASES_ROUNDS", 3),
            scope: match () {
                () if has_argument("growth") => Scope::Growth,
                () if has_argument("ended") => Scope::Ended,
                () if has_argument("backlog") => Scope::Backlog,
                () if has_argument("queue") => Scope::WaitingRoom,
                () if has_argument("reservations") => Scope::Reservations,
                () if has_argument("http") => Scope::Http,
                () if has_argument("pipeline") => Scope::Pipeline,
                () => Scope::All,
            },
        }
    }

    /// Enough distinct shoppers for any run.
    fn shoppers(&self) -> usize {
        SHOPPERS_PER_SECOND * (self.seconds as usize + 1)
    }
}

async fn run() -> anyhow::Result<()> {
    let plan = Plan::from_environment();
    let dir = tempfile::tempdir()?;
    if plan.scope == Scope::Ended {
        return ended::run(dir.path()).await;
    }
    if plan.scope == Scope::Backlog {
        return backlog::run(dir.path(), &plan).await;
    }
    let shop = Shop::start().await?;
    if plan.scope == Scope::Growth {
        return growth(&shop, dir.path(), &plan).await;
    }
    if plan.scope == Scope::WaitingRoom {
        for connections in CONNECTIONS {
            waiting_room::joins_and_line(&shop, dir.path(), connections, &plan).await?;
        }
        return waiting_room::a_million_wait(&shop).await;
    }
    if plan.scope == Scope::Reservations {
        return reservations::measure(&shop, dir.path(), &plan).await;
    }
    for connections in CONNECTIONS {
        if plan.scope == Scope::Pipeline {
            pipeline(&shop, dir.path(), connections, &plan).await?;
            continue;
        }
        accepted(&shop, dir.path(), connections, &plan).await?;
        refused_and_button(&shop, dir.path(), connections, &plan).await?;
    }
    println!("serve held {:.0} MiB at its highest", shop.serve.memory("VmHWM")?);
    Ok(())
}

async fn accepted(shop: &Shop, dir: &Path, connections: u32, plan: &Plan) -> anyhow::Result<()> {
    let (config, shoppers) = (&shop.services.config, plan.shoppers());
    let mut pairs = Vec::new();
    for _ in 0..plan.rounds {
        let sale = shop.open_sale(shoppers as i64).await?;
        let (noop, buy) = (dir.join("noop"), dir.join("buy"));
        write_requests(&shop.noops(sale, shoppers)?, &noop)?;
        write_requests(&shop.purchases(sale, shoppers)?, &buy)?;
        let below = wrk(config, Load { requests: &noop, expected: Some(204) }, dir, connections, plan.seconds)?;
        let above = wrk(config, Load { requests: &buy, expected: Some(202) }, dir, connections, plan.seconds)?;
        pairs.push((above, below));
        if plan.scope == Scope::All {
            persist(&shop.services, sale, THIS_PROGRAM).await?;
        }
        shop.stop_sale(sale).await?;
    }
    print_ratio(connections, "accepted purchases", "no-op POST", pairs);
    if plan.scope == Scope::All {
        pipeline(shop, dir, connections, plan).await?;
    }
    Ok(())
}

/// In each round this program's pipeline persists a backlog, the version before (if given) persists another, and
/// pgbench runs.
async fn pipeline(shop: &Shop, dir: &Path, connections: u32, plan: &Plan) -> anyhow::Result<()> {
    let (config, shoppers) = (&shop.services.config, plan.shoppers());
    let before = std::env::var("PURCHASES_BEFORE").ok();
    let (mut to_pgbench, mut to_before) = (Vec::new(), Vec::new());
    for _ in 0..plan.rounds {
        let mut rates = Vec::new();
        for program in std::iter::once(THIS_PROGRAM).chain(before.as_deref()) {
            let sale = shop.open_sale(shoppers as i64).await?;
            let buy = dir.join("buy");
            write_requests(&shop.purchases(sale, shoppers)?, &buy)?;
            wrk(config, Load { requests: &buy, expected: Some(202) }, dir, connections, plan.seconds)?;
            rates.push(persist(&shop.services, sale, program).await?);
            shop.stop_sale(sale).await?;
        }
        to_pgbench.push((rates[0], pgbench(config, dir, plan.seconds)?));
        to_before.extend(rates.get(1).map(|before| (rates[0], *before)));
    }
    print_ratio(connections, "orders persisted", "single-row conditional update with insert", to_pgbench);
    if !to_before.is_empty() {
        print_ratio(connections, "orders persisted", "the version before", to_before);
    }
    Ok(())
}

/// One sale alone and one with a million holders, in turn; then, with a thousand live sales, one of them and all of
/// them. Ratios are to the one sale alone.
async fn growth(shop: &Shop, dir: &Path, plan: &Plan) -> anyhow::Result<()> {
    const HOLDERS: usize = 1_000_000;
    const SALES: usize = 1_000;
    const UNITS: i64 = 1 << 30;
    let alone = shop.open_sales(1, UNITS).await?;
    let held = shop.open_sales(1, UNITS).await?;
    hold(&shop.services, held[0], HOLDERS).await?;
    let mut bases = Vec::new();
    for connections in CONNECTIONS {
        let kinds = [("one fresh sale alone", &alone[..]), ("a sale with a million holders", &held[..])];
        let base = in_rounds(shop, dir, connections, plan, &kinds, None)?;
        bases.push((connections, base));
    }
    let many = shop.open_sales(SALES, UNITS).await?;
    for (connections, base) in bases {
        let kinds = [("one of a thousand live sales", &many[..1]), ("a thousand sales at once", &many[..])];
        in_rounds(shop, dir, connections, plan, &kinds, Some(base))?;
    }
    Ok(())
}

/// Measures purchases of each kind in turn, and prints ratios to `base`, or to the first kind. Returns the median rate
/// of the first kind.
fn in_rounds(
    shop: &Shop,
    dir: &Path,
    connections: u32,
    plan: &Plan,
    kinds: &[(&str, &[SaleId]); 2],
    base: Option<f64>,
) -> anyhow::Result<f64> {
    let mut rates = [const { Vec::new() }; 2];
    for _ in 0..plan.rounds {
        for ((_, sales), rates) in kinds.iter().zip(&mut rates) {
            let file = dir.join("buy");
            write_requests(&in_turn(shop, sales, plan.shoppers())?, &file)?;
            rates.push(wrk(
                &shop.services.config,
                Load { requests: &file, expected: Some(202) },
                dir,
                connections,
                plan.seconds,
            )?);
        }
    }
    let mut sorted = rates[0].clone();
    sorted.sort_by(f64::total_cmp);
    let first = sorted[sorted.len() / 2];
    for ((name, _), rates) in kinds.iter().zip(rates) {
        let base = base.unwrap_or(first);
        print_ratio(connections, name, "one fresh sale alone", rates.into_iter().map(|rate| (rate, base)).collect());
    }
    Ok(first)
}

/// Buys for this number of shoppers, without HTTP.
async fn hold(services: &Services, sale: SaleId, shoppers: usize) -> anyhow::Result<()> {
    let purchases = services.purchases();
    let buying = (0..shoppers).map(|_| async {
        let user = UserId(Uuid::now_v7());
        purchases.buy(purchases.request_admission(user, sale)?, 1, None).await
    });
    let bought: Vec<_> = stream::iter(buying).buffer_unordered(2_000).collect().await;
    let refused = bought.into_iter().find_map(Result::err);
    ensure!(refused.is_none(), "no unit: {}", refused.map(Refusal::as_str).unwrap_or_default());
    Ok(())
}

/// Purchase requests that alternate between the sales.
fn in_turn(shop: &Shop, sales: &[SaleId], count: usize) -> anyhow::Result<Vec<Vec<u8>>> {
    let of_each = |sale: &SaleId| Ok(shop.purchases(*sale, count.div_ceil(sales.len()))?.into_iter());
    let mut of_each: Vec<_> = sales.iter().map(of_each).collect::<anyhow::Result<_>>()?;
    let mut all = Vec::with_capacity(count);
    while all.len() < count {
        all.extend(of_each.iter_mut().filter_map(Iterator::next));
    }
    Ok(all)
}

/// Starts relay and consumer, which persist the backlog of this sale and the earlier ones. Returns orders per second,
/// from the first persisted order on.
async fn persist(services: &Services, sale: SaleId, program: &str) -> anyhow::Result<f64> {
    let initial = persisted(services).await?;
    let _pipeline = [RoleProcess::of_program(program, "relay")?, RoleProcess::of_program(program, "consume")?];
    let before = loop {
        // The start of the processes is not measured.
        let persisted = persisted(services).await?;
        if persisted > initial {
            break persisted;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    let began = Instant::now();
    let took = until_quiet(services, sale, began).await?;
    let orders = persisted(services).await? - before;
    let rate = orders as f64 / took.as_secs_f64();
    let version = if program == THIS_PROGRAM { "this version" } else { "the version before" };
    println!("{version}: {orders} orders persisted in {:.1} s: {rate:.0}/s", took.as_secs_f64());
    Ok(rate)
}

async fn persisted(services: &Services) -> anyhow::Result<i64> {
    Ok(services.store.sales().list().await?.iter().map(|sale| sale.sold).sum())
}

async fn refused_and_button(shop: &Shop, dir: &Path, connections: u32, plan: &Plan) -> anyhow::Result<()> {
    const SHOPPERS: usize = 50_000;
    let services = &shop.services;
    let sale = shop.open_sale(1).await?;
    let file = |name: &str| dir.join(name);
    write_requests(&shop.noops(sale, SHOPPERS)?, &file("noop"))?;
    write_requests(&shop.purchases(sale, SHOPPERS)?, &file("buy"))?;
    let winner = UserId(Uuid::now_v7());
    let refused = |refusal: Refusal| anyhow::anyhow!("no unit: {refusal}");
    let purchases = services.purchases();
    purchases.buy(purchases.request_admission(winner, sale).map_err(refused)?, 1, None).await.map_err(refused)?;
    let host = services.config.web.listen;
    for (name, path) in [("get", "/api/ping".to_owned()), ("button", format!("/api/sales/{sale}/button"))] {
        let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n");
        std::fs::write(file(name), format!("{}\n{request}", request.len()).repeat(1000))?;
    }
    // The shop's gate reads the list of winners within a second.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let rate = |name: &str, expected| {
        wrk(&services.config, Load { requests: &file(name), expected: Some(expected) }, dir, connections, plan.seconds)
    };
    let (mut refusals, mut buttons) = (Vec::new(), Vec::new());
    for _ in 0..plan.rounds {
        let below = rate("noop", 204)?;
        refusals.push((rate("buy", 409)?, below));
        let below = rate("get", 204)?;
        buttons.push((rate("button", 200)?, below));
    }
    print_ratio(connections, "refused purchases (sold out)", "no-op POST", refusals);
    print_ratio(connections, "button", "no-op GET", buttons);
    Ok(())
}

/// Prints the round with the median ratio, and all ratios.
fn print_ratio(connections: u32, above: &str, below: &str, mut pairs: Vec<(f64, f64)>) {
    pairs.sort_by(|a, b| (a.0 / a.1).total_cmp(&(b.0 / b.1)));
    let ratios: Vec<String> = pairs.iter().map(|(a, b)| format!("{:.2}", a / b)).collect();
    let (a, b) = pairs[pairs.len() / 2];
    println!(
        "{connections} connections: {above} {a:.0}/s, {below} {b:.0}/s, ratio {:.2} of {}",
        a / b,
        ratios.join(" ")
    );
}

/// Waits until every accepted order is in the database.
async fn until_quiet(services: &Services, sale: SaleId, began: Instant) -> anyhow::Result<Duration> {
    let mut last = (-1, Instant::now());
    loop {
        let sold = services.store.sales().get(sale).await?.context("the sale")?.sold;
        if sold != last.0 {
            last = (sold, Instant::now());
        } else if last.1.elapsed() > Duration::from_secs(3) {
            services.gate.refresh().await;
            let booked = services.gate.status(sale).and_then(|status| status.booked);
            if booked == Some(sold) {
                return Ok(last.1 - began);
            }
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// The usual implementation: one conditional update and one insert per purchase, in a transaction.
fn pgbench(config: &Config, dir: &Path, seconds: u64) -> anyhow::Result<f64> {
    let url = &config.database_url;
    let psql = |sql: &str| -> anyhow::Result<()> {
        let done = Command::new("psql").arg(url).args(["-qc", sql]).status().context("psql is needed")?;
        ensure!(done.success(), "psql failed");
        Ok(())
    };
    psql(
        "DROP TABLE IF EXISTS peer_orders, peer_sales;
         CREATE TABLE peer_sales (id BIGINT PRIMARY KEY, total BIGINT, sold BIGINT);
         CREATE TABLE peer_orders (id BIGSERIAL PRIMARY KEY, sale_id BIGINT, user_id BIGINT, UNIQUE (sale_id, user_id));
         INSERT INTO peer_sales VALUES (1, 1000000000, 0);",
    )?;
    let script = dir.join("peer.sql");
    std::fs::write(
        &script,
        "\\set user random(1, 1000000000)\nBEGIN;\n\
         UPDATE peer_sales SET sold = sold + 1 WHERE id = 1 AND sold < total;\n\
         INSERT INTO peer_orders (sale_id, user_id) VALUES (1, :user) ON CONFLICT DO NOTHING;\nCOMMIT;\n",
    )?;
    let output = Command::new("pgbench")
        .args(["-n", "-c20", "-j2", &format!("-T{seconds}"), "-f"])
        .arg(&script)
        .arg(url)
        .output()
        .context("pgbench is needed: it comes with PostgreSQL")?;
    psql("DROP TABLE peer_orders, peer_sales")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let tps = text.lines().find_map(|line| line.strip_prefix("tps = "));
    Ok(tps
        .and_then(|line| line.split(' ').next())
        .with_context(|| format!("unexpected output of pgbench: {text}"))?
        .parse()?)
}
