//! Orders on their way to the database while shoppers buy: all roles in one process, with and without threads of their own
//! for the pipeline, and a process for each role.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;

use crate::shop::{RoleProcess, Shop};
use crate::wrk::{Load, write_requests, wrk};
use crate::{Plan, THIS_PROGRAM, until_quiet};

const CONNECTIONS: u32 = 1000;
/// `SECKILL_PIPELINE_THREADS` of the process with all roles; `None`: a process for each role.
const KINDS: [Option<&str>; 4] = [Some("0"), Some("1"), Some("2"), None];

#[derive(Clone, Copy)]
struct Figures {
    /// Purchases accepted, and orders stored, per second of the load.
    accepted: f64,
    stored: f64,
    /// Orders accepted and not stored when the load ends.
    behind: f64,
    /// From then on until the last one is stored.
    drained: Duration,
}

/// Takes the kinds in turn in each round.
pub async fn run(dir: &Path, plan: &Plan) -> anyhow::Result<()> {
    let mut rounds: [Vec<Figures>; KINDS.len()] = Default::default();
    for _ in 0..plan.rounds {
        for (kind, figures) in KINDS.iter().zip(&mut rounds) {
            figures.push(measure(*kind, dir, plan).await?);
        }
    }
    let shared = rounds[0].clone();
    for (kind, figures) in KINDS.iter().zip(&rounds) {
        let kind = kind.map_or("a process for each role".to_owned(), |threads| format!("{threads} threads of its own"));
        let to_shared = |of: fn(&Figures) -> f64| {
            let ratios = figures.iter().zip(&shared).map(|(one, shared)| of(one) / of(shared));
            let (median, [low, high]) = spread(ratios.collect());
            format!("{median:.2} ({low:.2} to {high:.2})")
        };
        let median = |of: fn(&Figures) -> f64| spread(figures.iter().map(of).collect()).0;
        println!(
            "{kind}: accepted {:.0}/s, {} times as many as with shared threads; stored {:.0}/s, {} times; \
             {:.0} orders on their way after {} s, {} times; drained in {:.1} s",
            median(|one| one.accepted),
            to_shared(|one| one.accepted),
            median(|one| one.stored),
            to_shared(|one| one.stored),
            median(|one| one.behind),
            plan.seconds,
            to_shared(|one| one.behind),
            median(|one| one.drained.as_secs_f64()),
        );
    }
    Ok(())
}

async fn measure(kind: Option<&str>, dir: &Path, plan: &Plan) -> anyhow::Result<Figures> {
    let (shop, _pipeline) = match kind {
        Some(threads) => {
            let settings = [("SECKILL_PIPELINE_THREADS", threads)];
            (Shop::of(RoleProcess::with(THIS_PROGRAM, "", &settings)?, Vec::new()).await?, None)
        }
        None => (Shop::start().await?, Some([RoleProcess::start("relay")?, RoleProcess::start("consume")?])),
    };
    let sale = shop.open_sale(plan.shoppers() as i64).await?;
    let file = dir.join("buy");
    write_requests(&shop.purchases(sale, plan.shoppers())?, &file)?;
    let load = Load { requests: &file, expected: Some(202) };
    wrk(&shop.services.config, load, dir, CONNECTIONS, plan.seconds)?;
    let ended = Instant::now();
    let sold = async || anyhow::Ok(shop.services.store.sales().get(sale).await?.context("the sale")?.sold as f64);
    let stored = sold().await?;
    let drained = until_quiet(&shop.services, sale, ended).await?;
    let accepted = sold().await?;
    shop.stop_sale(sale).await?;
    let seconds = plan.seconds as f64;
    Ok(Figures { accepted: accepted / seconds, stored: stored / seconds, behind: accepted - stored, drained })
}

/// The median, and the least and the greatest.
fn spread(mut all: Vec<f64>) -> (f64, [f64; 2]) {
    all.sort_by(f64::total_cmp);
    (all[all.len() / 2], [all[0], all[all.len() - 1]])
}
