//! Sales under load: buyers claim in a closed loop until there were twice as many claims as units, or the time is over.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use anyhow::Context;
use serde::Serialize;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};
use uuid::Uuid;

use crate::strategy::{Answer, Strategy};

/// Claims per unit.
const DEMAND: u64 = 2;
/// One claim in this many is a replay of the buyer's previous claim.
const REPEAT_INTERVAL: u64 = 16;
/// The maximum number of sales per cell. Small sales are over quickly, so a cell has several.
const MAX_SALES: u64 = 10;

/// How long claims in flight may take after the end.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(30);

/// The result of a strategy for one stock and one number of buyers.
#[derive(Debug, Clone, Serialize)]
pub struct Cell {
    pub stock: u64,
    pub buyers: u64,
    pub sales: u64,
    pub claims: u64,
    pub grants: u64,
    pub grants_per_second: f64,
    pub p50_us: u64,
    pub p99_us: u64,
    /// Grants beyond the stock, all sales together.
    pub oversold: u64,
    /// Units left after all claims; `None` when no sale finished in time.
    pub undersold: Option<u64>,
    /// Users who were granted more than one unit.
    pub twice: u64,
}

/// One sale.
#[derive(Default)]
struct Sale {
    took: Duration,
    claims: u64,
    winners: Vec<Uuid>,
    waits_us: Vec<u64>,
    finished: bool,
}

/// Sales of `stock` units to `buyers` at once, until `seconds` are over.
pub async fn race(strategy: &Arc<Strategy>, stock: u64, buyers: u64, seconds: u64) -> anyhow::Result<Cell> {
    let mut left = Duration::from_secs(seconds);
    let mut sales = Vec::new();
    while !left.is_zero() && (sales.len() as u64) < MAX_SALES {
        strategy.open(stock).await?;
        let began = Instant::now();
        let sale = sell(strategy, stock, buyers, left).await?;
        left = left.saturating_sub(began.elapsed());
        // The last sale may have been cut off at its start.
        if sale.finished || sales.is_empty() {
            sales.push(sale);
        }
    }
    Ok(summarize(stock, buyers, sales))
}

fn summarize(stock: u64, buyers: u64, sales: Vec<Sale>) -> Cell {
    let mut waits: Vec<u64> = sales.iter().flat_map(|sale| &sale.waits_us).copied().collect();
    waits.sort_unstable();
    let percent = |percent: usize| waits.get(waits.len() * percent / 100).copied().unwrap_or_default();
    let granted = |sale: &Sale| sale.winners.len() as u64;
    let grants: u64 = sales.iter().map(granted).sum();
    let took: Duration = sales.iter().map(|sale| sale.took).sum();
    let finished: Vec<&Sale> = sales.iter().filter(|sale| sale.finished).collect();
    Cell {
        stock,
        buyers,
        sales: sales.len() as u64,
        claims: sales.iter().map(|sale| sale.claims).sum(),
        grants,
        grants_per_second: if grants == 0 { 0.0 } else { grants as f64 / took.as_secs_f64() },
        p50_us: percent(50),
        p99_us: percent(99),
        oversold: sales.iter().map(|sale| granted(sale).saturating_sub(stock)).sum(),
        undersold: (!finished.is_empty())
            .then(|| finished.iter().map(|sale| stock.saturating_sub(granted(sale))).sum()),
        twice: sales.iter().map(|sale| twice(&sale.winners)).sum(),
    }
}

fn twice(winners: &[Uuid]) -> u64 {
    let mut once = HashSet::new();
    let more: HashSet<&Uuid> = winners.iter().filter(|user| !once.insert(**user)).collect();
    more.len() as u64
}

async fn sell(strategy: &Arc<Strategy>, stock: u64, buyers: u64, within: Duration) -> anyhow::Result<Sale> {
    let demand = Arc::new(AtomicI64::new((stock * DEMAND) as i64));
    let began = Instant::now();
    let mut tasks = JoinSet::new();
    for _ in 0..buyers {
        tasks.spawn(buy(strategy.clone(), demand.clone(), began + within));
    }
    let mut sale = Sale { finished: true, ..Sale::default() };
    let deadline = began + within + DRAIN_TIMEOUT;
    while let Some(buyer) = timeout_at(deadline, tasks.join_next()).await.context("the buyers are stuck")? {
        let buyer = buyer?.with_context(|| format!("{} failed", strategy.name))?;
        sale.claims += buyer.waits_us.len() as u64;
        sale.winners.extend(buyer.winners);
        sale.waits_us.extend(buyer.waits_us);
        sale.finished &= buyer.finished;
        if let Some(last) = buyer.last_grant {
            sale.took = sale.took.max(last - began);
        }
    }
    Ok(sale)
}

#[derive(Default)]
struct Buyer {
    winners: Vec<Uuid>,
    /// Waits of all claims, including claims that were given up.
    waits_us: Vec<u64>,
    last_grant: Option<Instant>,
    /// Whether all claims of the sale were made.
    finished: bool,
}

async fn buy(strategy: Arc<Strategy>, demand: Arc<AtomicI64>, until: Instant) -> anyhow::Result<Buyer> {
    let mut buyer = Buyer::default();
    let mut user = Uuid::now_v7();
    for n in 1.. {
        if demand.fetch_sub(1, Ordering::Relaxed) <= 0 {
            buyer.finished = true;
            break;
        }
        if n % REPEAT_INTERVAL != 0 {
            user = Uuid::now_v7();
        }
        let began = Instant::now();
        let answer = strategy.claim(user, until).await?;
        buyer.waits_us.push(began.elapsed().as_micros() as u64);
        if answer == Answer::Granted {
            buyer.winners.push(user);
            buyer.last_grant = Some(Instant::now());
        }
        if Instant::now() >= until {
            break;
        }
    }
    Ok(buyer)
}
