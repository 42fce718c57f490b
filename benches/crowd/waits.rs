//! Waits at half of the peak, and overload at twice the peak.

use domain::SaleId;

use crate::load::{Load, LoadResult};
use crate::report::Report;
use crate::shop::Shop;
use crate::{common::number, median};

/// Connections of normal load.
const CONNECTIONS: usize = 64;
/// Requests prepared for each second at the peak: more than the shop accepts.
const PER_SECOND: u64 = 60_000;
const UNITS: i64 = 10_000_000;

struct Plan {
    seconds: u64,
    rounds: u64,
    overload_connections: usize,
}

/// Peak, tail, overload.
pub async fn run(shop: &Shop, report: &mut Report) -> anyhow::Result<()> {
    let plan = Plan {
        seconds: number("CROWD_SECONDS", 5),
        rounds: number("CROWD_ROUNDS", 3),
        overload_connections: number("CROWD_CONNECTIONS", 4000) as usize,
    };
    let sale = shop.open_sale(UNITS).await?;
    let peak = peak(shop, sale, &plan, report).await?;
    tail(shop, sale, peak / 2.0, &plan, report).await?;
    overload(shop, sale, &plan, report).await?;
    shop.stop_sale(sale).await
}

impl Plan {
    fn load(&self, shop: &Shop, rate: f64, connections: usize, requests: Vec<Vec<u8>>) -> Load {
        Load { address: shop.services.config.web.listen, rate, seconds: self.seconds, connections, requests }
    }

    /// As many requests as a run at this rate sends.
    fn requests(&self, rate: f64) -> usize {
        (rate * self.seconds as f64) as usize
    }
}

async fn peak(shop: &Shop, sale: SaleId, plan: &Plan, report: &mut Report) -> anyhow::Result<f64> {
    let mut rates = Vec::new();
    for _ in 0..plan.rounds {
        rates.push(peak_now(shop, sale, plan).await?);
    }
    rates.sort_by(f64::total_cmp);
    let peak = rates[rates.len() / 2];
    report.line(&format!("peak, {CONNECTIONS} connections: {peak:.0} accepted/s (median of {rates:.0?})"));
    Ok(peak)
}

async fn peak_now(shop: &Shop, sale: SaleId, plan: &Plan) -> anyhow::Result<f64> {
    let requests = shop.purchases(sale, (PER_SECOND * plan.seconds) as usize)?;
    Ok(plan.load(shop, f64::INFINITY, CONNECTIONS, requests).send().await?.rate(202))
}

async fn tail(shop: &Shop, sale: SaleId, rate: f64, plan: &Plan, report: &mut Report) -> anyhow::Result<()> {
    let mut pairs = Vec::new();
    for _ in 0..plan.rounds {
        let count = plan.requests(rate);
        let noop = plan.load(shop, rate, CONNECTIONS, shop.noops(sale, count)?).send().await?;
        let bought = plan.load(shop, rate, CONNECTIONS, shop.purchases(sale, count)?).send().await?;
        report.line(&line("no-op POST at half of the peak", &noop, 204));
        report.line(&line("accepted purchases at half of the peak", &bought, 202));
        pairs.push((bought.ms(99.0), noop.ms(99.0)));
    }
    let ((bought, noop), ratios) = median(pairs);
    let ratio = bought / noop;
    report.line(&format!("p99 of accepted {bought:.2} ms, of the no-op {noop:.2} ms: ratio {ratio:.2} of {ratios}"));
    Ok(())
}

/// Every round measures its own peak, because the machine's speed drifts within minutes.
async fn overload(shop: &Shop, sale: SaleId, plan: &Plan, report: &mut Report) -> anyhow::Result<()> {
    let before = shop.serve.memory("VmRSS")?;
    let mut pairs = Vec::new();
    for _ in 0..plan.rounds {
        let peak = peak_now(shop, sale, plan).await?;
        let requests = shop.purchases(sale, plan.requests(2.0 * peak))?;
        let over = plan.load(shop, 2.0 * peak, plan.overload_connections, requests).send().await?;
        let half = shop.purchases(sale, plan.requests(peak / 2.0))?;
        let after = plan.load(shop, peak / 2.0, CONNECTIONS, half).send().await?;
        report.line(&line(&format!("twice the peak over {} connections", plan.overload_connections), &over, 202));
        report.line(&line("half of the peak right after", &after, 202));
        pairs.push((over.rate(202), peak));
    }
    let (highest, now) = (shop.serve.memory("VmHWM")?, shop.serve.memory("VmRSS")?);
    let ((over, peak), ratios) = median(pairs);
    let ratio = over / peak;
    report.line(&format!(
        "accepted at twice the peak {over:.0}/s, the peak right before {peak:.0}/s: ratio {ratio:.2} of {ratios}"
    ));
    report.line(&format!("serve, resident: {before:.0} MiB before, {highest:.0} at its highest, {now:.0} after"));
    Ok(())
}

fn line(what: &str, result: &LoadResult, good: u16) -> String {
    let LoadResult { statuses, retry_after, lost, unsent, .. } = result;
    let (rate, p50, p99, most) = (result.rate(good), result.ms(50.0), result.ms(99.0), result.ms(100.0));
    format!(
        "{what}: {rate:.0}/s answered {good}, p50 {p50:.2} ms, p99 {p99:.2} ms, at most {most:.0} ms; answers {statuses:?}, \
         {retry_after} with Retry-After, {lost} lost, {unsent} never sent"
    )
}
