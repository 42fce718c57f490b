//! `seckill rehearse`: holds a stampede against a running shop, before the real one comes, and says go or no go.
//!
//! 1. [`options`] is what the owner wants: how many come, how fast, and what must hold.
//! 2. [`fixture`] announces a sale that is in no list and opens accounts with sessions for the crowd, through the shop's own
//!    database; a later run finds by the sale what one that was killed has left.
//! 3. [`arrivals`] draws when everybody comes. [`load`] lets them in at these instants, whatever became of those
//!    before: no slow answer makes the crowd smaller (no coordinated omission).
//! 4. Each [`shopper`] does over HTTP ([`http`]) what the page's script does, each [`bot`] what scripts do; [`measure`]
//!    counts every answer, from the instant at which its question was due; each [`outcome`] says how it ended.
//! 5. [`verdict`] holds what was seen against books, audit and limits; [`report`] tells it.
//! 6. [`fixture`] removes everything again, also after an interruption.

pub mod fixture;
pub mod load;
pub mod options;
pub mod outcome;
pub mod preflight;

pub mod arrivals;
pub mod bot;
pub mod http;
pub mod measure;
pub mod report;
pub mod shopper;
pub mod verdict;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use rand::SeedableRng;
use rand::rngs::StdRng;
use tokio::time::Instant;
use url::Url;

use self::arrivals::{Shape, arrivals};
use self::http::Http;
use self::measure::{Measure, Numbers};
use self::report::{Report, Setting};
use self::shopper::{Scene, TestAccount};
use self::verdict::{Evidence, SaleTotals};
use crate::app::Services;
use crate::config::Config;
use crate::domain::{OrderId, Sale, SaleId};
use crate::lifecycle::signalled;
use load::{Crowd, Told, say};
use options::Options;
use preflight::Preflight;

/// Between setting the opening time and the first arrival.
const LEAD: Duration = Duration::from_secs(1);
/// Even the smallest crowd waits so long for the start: every process has heard of the opening time by then.
const OPENS_AFTER: Duration = Duration::from_secs(2);
const PAGE: i64 = 1000;

/// Exit code 0: go; 1: no go; 2: it could not be held, or not be removed.
pub async fn run(asked: Options, config: &Config) -> ExitCode {
    match hold(&asked, config).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("seckill rehearse: {error:#}");
            ExitCode::from(2)
        }
    }
}

async fn hold(asked: &Options, config: &Config) -> anyhow::Result<bool> {
    let url = asked.url.clone().unwrap_or_else(|| config.web.public_url.clone());
    options::only_http(&url)?;
    let stage = Preflight::take(config).await?;
    let outcome = on_stage(asked, &stage.parts, &url).await;
    stage.leave().await;
    outcome
}

/// `true`: go.
async fn on_stage(asked: &Options, parts: &Services, url: &str) -> anyhow::Result<bool> {
    let left = until_signal(fixture::clean(parts)).await.context("removing an earlier rehearsal")?;
    if left > 0 {
        say(&format!("removed {left} rehearsals that an earlier run had left"));
    }
    if asked.clean {
        return Ok(true);
    }
    let played = until_signal(play(asked, parts, url)).await;
    say("removing the rehearsal");
    let cleaned = until_signal(fixture::clean(parts)).await;
    // Why it was not played says more than that something is left.
    let report = played?;
    let told = tell(asked, parts, &report);
    cleaned.context("the rehearsal is over but not removed")?;
    told?;
    Ok(report.go)
}

/// Works until it is done or somebody presses Ctrl-C.
async fn until_signal<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    tokio::select! {
        done = work => done,
        () = signalled() => bail!("interrupted"),
    }
}

async fn play(asked: &Options, parts: &Services, url: &str) -> anyhow::Result<Report> {
    let sale = fixture::announce(parts, asked.units, asked.rush).await?;
    say(&format!("rehearsing with sale {} at {url}/zh/sales/{}, seed {}", sale.id, sale.id, asked.seed));
    let mut extras = fixture::enrol(parts, sale.id, asked.shoppers + asked.bots).await?;
    preflight::check_shop(parts, url, sale.id, &extras[0]).await?;
    let bots = extras.split_off(asked.shoppers as usize);
    let crowd = crowd(asked, extras, bots);

    let began = Instant::now() + LEAD;
    let opens = crowd.opens;
    fixture::open_at(parts, &sale, parts.clock.now() + LEAD + opens).await?;
    let measure = Arc::new(Measure::new(began));
    let http = Http::new(url, measure.clone());
    let scene =
        Arc::new(Scene { http, measure: measure.clone(), sale: sale.id, opens: began + opens, seed: asked.seed });
    let progress = load::tell_progress(measure.clone(), began, opens);
    let told = tokio::select! {
        told = load::hold(scene, crowd, began) => told,
        () = progress => bail!("the progress ended"),
    };
    let lasted = began.elapsed();
    say("everybody has left; checking the books");
    let setting = setting(asked, parts, url, (opens, lasted));
    conclude(asked, parts, &sale, (&measure.numbers(), &told), setting).await
}

/// Half of the shoppers are there when the sale opens, as on the day; the others come late.
fn crowd(asked: &Options, extras: Vec<TestAccount>, bots: Vec<TestAccount>) -> Crowd {
    let shape = Shape { shoppers: asked.shoppers, rps: asked.rps, ramp: asked.ramp };
    let instants = arrivals(shape, &mut StdRng::seed_from_u64(asked.seed));
    let opens = instants.get(instants.len() / 2).copied().unwrap_or_default().max(OPENS_AFTER);
    Crowd { shoppers: instants.into_iter().zip(extras).collect(), bots, opens }
}

fn setting(asked: &Options, parts: &Services, url: &str, (opens, lasted): (Duration, Duration)) -> Setting {
    let host = Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default();
    Setting {
        at: parts.clock.now(),
        url: url.to_owned(),
        rung: if parts.config.amqp_url.is_some() { 3 } else { 1 + u8::from(parts.config.redis.is_some()) },
        shoppers: asked.shoppers,
        units: asked.units,
        rps: asked.rps,
        ramp_s: asked.ramp.as_secs_f64(),
        bots: asked.bots,
        seed: asked.seed,
        opens_s: opens.as_secs_f64(),
        lasted_s: lasted.as_secs_f64(),
        cores: std::thread::available_parallelism().map_or(1, usize::from),
        shares_machine: host == "localhost" || host.starts_with("127.") || host == "[::1]",
    }
}

async fn conclude(
    asked: &Options,
    parts: &Services,
    sale: &Sale,
    (numbers, told): (&Numbers, &Told),
    setting: Setting,
) -> anyhow::Result<Report> {
    // Looks again until orders on their way have arrived, so the books are complete afterwards.
    let audit = parts.audit().run().await.context("the audit cannot tell")?;
    let books = read_books(parts, sale.id).await?;
    let evidence = Evidence {
        limits: asked.limits,
        numbers,
        shoppers: &told.shoppers,
        bots: &told.bots,
        books: &books,
        audit: &audit,
    };
    Ok(Report::new(setting, numbers, (&told.shoppers, &told.bots), evidence.judge(), &audit))
}

async fn read_books(parts: &Services, id: SaleId) -> anyhow::Result<SaleTotals> {
    let sale = parts.store.sale(id).await?.context("the sale has vanished")?;
    let mut books = SaleTotals { units: sale.total, sold: sale.sold, live: Default::default() };
    let mut after: Option<OrderId> = None;
    loop {
        let page = parts.store.live_orders(id, after, PAGE).await?;
        let Some(last) = page.last() else { return Ok(books) };
        after = Some(last.order_id);
        books.live.extend(page.iter().map(|order| order.order_id));
    }
}

/// Prints the table, and writes page and JSON.
fn tell(asked: &Options, parts: &Services, report: &Report) -> anyhow::Result<()> {
    say(&report::table::text(report));
    let file = asked.report.clone().unwrap_or_else(|| {
        let name = report.setting.at.strftime("rehearsal-%Y%m%d-%H%M%SZ.html").to_string();
        parts.config.data_dir.join(name)
    });
    write(&file, report::html::page(report, asked.limits)?)?;
    if let Some(file) = &asked.json {
        write(file, serde_json::to_string_pretty(report)?)?;
    }
    say(&format!("report: {}", file.display()));
    Ok(())
}

fn write(file: &PathBuf, text: String) -> anyhow::Result<()> {
    std::fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
}
