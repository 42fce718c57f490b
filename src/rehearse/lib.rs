//! `seckill rehearse`: a load test of a running shop that ends with a verdict, go or no go.
//!
//! 1. [`options`] reads the size of the load, its rate, and the limits for a "go".
//! 2. [`fixture`] checks that the shop is complete and reachable, and takes the lease that allows one rehearsal at a
//!    time.
//! 3. [`fixture`] announces a sale that is in no list, and creates test accounts with sessions, both in the shop's own
//!    database. The sale's row is how a later run finds what a killed run has left.
//! 4. [`arrivals`] draws the instant of every arrival. [`load`] starts each shopper at that instant, whether or not
//!    earlier requests have been answered, so a slow shop does not lower its own load (no coordinated omission).
//! 5. Each [`shopper`] sends over [`http`] what the page's script sends, in a waiting room or a draw what that page
//!    sends ([`turn`]). Each scripted account sends what a reseller's script sends. [`measure`] counts every response, timed
//!    from the instant at which its request was due. [`outcome`] is the record of one account.
//! 6. [`verdict`] compares measurements, stored totals and audit with the limits; [`report`] prints and writes the
//!    result.
//! 7. [`fixture`] removes the sale, its orders and the accounts, even after an interruption.

pub mod fixture;
pub mod load;
pub mod options;

pub mod http;
pub mod measure;
pub mod report;
pub mod shopper;
pub mod turn;
pub mod verdict;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use boxed::boxed;
use rand::SeedableRng;
use rand::rngs::StdRng;
use tokio::time::Instant;
use url::Url;

use self::http::ApiClient;
use self::measure::{LoadRecorder, Measurements};
use self::report::{RehearsalReport, RunSettings};
use self::shopper::{LoadContext, TestAccount};
use self::verdict::{SaleTotals, VerdictInput};
use accounts::Accounts;
use base::clock::Clock;
use base::config::Config;
use base::lifecycle::signalled;
use control::audit::{Audit, AuditFile};
use control::sales_admin::SalesAdmin;
use control::stock_sync::{StockSync, live_orders};
use domain::{ModeName, Sale, SaleId};
use engine::catalogue::Catalogue;
use engine::health::Health;
use engine::pipeline::rabbit::Monitor;
use fixture::{Preflight, RehearsalLease};
use load::{ArrivalProfile, LoadPlan, LoadResult, arrivals, print_line};
use options::Options;
use store::Store;
use tracing::warn;

/// Time from setting the opening time to the first arrival.
const LEAD: Duration = Duration::from_secs(1);
/// The shortest time from the first arrival to the opening. By then every process has read the opening time.
const MIN_WAIT_BEFORE_OPENING: Duration = Duration::from_secs(2);

/// How long a draw takes entries after the last shopper has arrived.
const ENTRY_TIME: Duration = Duration::from_secs(8);
/// How long the calls of a waiting room, or a draw with its offers, may take.
const TURN_TIME: Duration = Duration::from_secs(60);

/// How long the console shows the sale of a crowd after the last shopper has left.
const SHOWN_AFTER_CROWD: Duration = Duration::from_secs(5 * 60);

/// The parts of the shop that a rehearsal works with.
pub struct Parts {
    pub config: Config,
    pub clock: Clock,
    pub store: Store,
    pub catalogue: Arc<Catalogue>,
    pub accounts: Arc<Accounts>,
    pub sales_admin: SalesAdmin,
    pub audit: Audit,
    /// `None` where the database keeps the stock.
    pub stock_sync: Option<Arc<StockSync>>,
    /// `None` without RabbitMQ.
    pub monitor: Option<Arc<Monitor>>,
    pub health: Health,
}

/// Exit code 0: go; 1: no go; 2: the rehearsal could not run or could not be removed.
///
/// `build` connects to the configured services.
#[boxed]
pub async fn run(
    options: Options,
    config: &Config,
    build: impl AsyncFnOnce(&Config) -> anyhow::Result<Parts>,
) -> ExitCode {
    match run_with_lease(&options, config, build).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("seckill rehearse: {error:#}");
            ExitCode::from(2)
        }
    }
}

async fn run_with_lease(
    options: &Options,
    config: &Config,
    build: impl AsyncFnOnce(&Config) -> anyhow::Result<Parts>,
) -> anyhow::Result<bool> {
    let url = options.url.clone().unwrap_or_else(|| config.web.public_url.clone());
    options::only_http(&url)?;
    let preflight = Preflight::start(config, build).await?;
    let go = rehearse(options, &preflight.parts, &url).await;
    preflight.finish().await;
    go
}

/// Runs the rehearsal and removes it. Returns `true` for "go".
async fn rehearse(options: &Options, parts: &Parts, url: &str) -> anyhow::Result<bool> {
    let removed = until_signal(fixture::clean(parts)).await.context("removing an earlier rehearsal")?;
    if removed > 0 {
        print_line(&format!("removed {removed} rehearsals that an earlier run had left"));
    }
    if options.clean {
        return Ok(true);
    }
    let measured = until_signal(measure_shop(options, parts, url)).await;
    print_line("removing the rehearsal");
    let cleaned = until_signal(fixture::clean(parts)).await;
    // A failed run is reported before a failed removal, because it is usually the cause.
    let report = measured?;
    let published = publish(options, parts, &report);
    cleaned.context("the rehearsal is over but not removed")?;
    published?;
    Ok(report.go)
}

/// Runs `work` to its end, or fails on Ctrl-C or SIGTERM.
async fn until_signal<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    tokio::select! {
        done = work => done,
        () = signalled() => bail!("interrupted"),
    }
}

/// Sends a crowd through the shop that this process serves at `url`, so that staff see the cockpit move. Returns the sale
/// as soon as it is announced, or the sale of a rehearsal under way. The crowd comes in the background. What a restart
/// of the process leaves is removed by the next crowd, or by `seckill rehearse --clean`.
#[boxed]
pub async fn send_crowd(parts: Arc<Parts>, url: String) -> anyhow::Result<SaleId> {
    let earlier = parts.store.sales().rehearsed_sales().await?;
    if let Some(running) = earlier.last()
        && parts.store.leases().is_held(fixture::LEASE).await?
    {
        return Ok(running.id);
    }
    let lease = RehearsalLease::take(&parts.store).await?;
    let sale = match fixture::announce(&parts, &Options::CONSOLE).await {
        Ok(sale) => sale,
        Err(error) => {
            // It is renewed until then, and would block every later rehearsal.
            lease.give_back().await;
            return Err(error);
        }
    };
    let id = sale.id;
    tokio::spawn(async move {
        let crowd = async {
            fixture::remove(&parts, &earlier).await?;
            let (context, plan, began) = prepare(&Options::CONSOLE, &parts, &url, &sale).await?;
            load::run(context, plan, began).await;
            anyhow::Ok(())
        };
        if let Err(error) = crowd.await {
            warn!(sale = %id, error = format!("{error:#}"), "a simulated crowd ended early");
        }
        lease.give_back().await;
        tokio::time::sleep(SHOWN_AFTER_CROWD).await;
        if let Err(error) = fixture::remove(&parts, &[sale]).await {
            warn!(sale = %id, error = format!("{error:#}"), "the sale of a simulated crowd stays until the next one");
        }
    });
    Ok(id)
}

async fn measure_shop(options: &Options, parts: &Parts, url: &str) -> anyhow::Result<RehearsalReport> {
    let sale = fixture::announce(parts, options).await?;
    print_line(&format!("rehearsing with sale {} at {url}/zh/sales/{}, seed {}", sale.id, sale.id, options.seed));
    let (context, plan, began) = prepare(options, parts, url, &sale).await?;
    let (recorder, opens) = (context.recorder.clone(), plan.opens);
    let progress = load::print_progress(recorder.clone(), began, opens);
    let result = tokio::select! {
        result = load::run(context, plan, began) => result,
        () = progress => bail!("the progress display ended"),
    };
    let lasted = began.elapsed();
    print_line("all shoppers are done; checking orders and stock");
    let settings = run_settings(options, parts, url, (opens, lasted));
    conclude(options, parts, &sale, (&recorder.snapshot(), &result), settings).await
}

/// Creates the accounts, checks that the shop shows the sale, and sets its opening. Returns the load and when it begins.
async fn prepare(
    options: &Options,
    parts: &Parts,
    url: &str,
    sale: &Sale,
) -> anyhow::Result<(Arc<LoadContext>, LoadPlan, Instant)> {
    let mut accounts = fixture::create_accounts(parts, sale.id, options.shoppers + options.bots).await?;
    fixture::check_shop(parts, url, sale, &accounts[0]).await?;
    let bots = accounts.split_off(options.shoppers as usize);
    let plan = plan_load(options, accounts, bots);

    let began = Instant::now() + LEAD;
    let opens = plan.opens;
    let entries_close = plan.last_arrival().saturating_sub(opens) + ENTRY_TIME;
    fixture::open_at(parts, sale, parts.clock.now() + LEAD + opens, entries_close).await?;
    let recorder = Arc::new(LoadRecorder::new(began));
    let context = Arc::new(LoadContext {
        client: ApiClient::new(url, recorder.clone()),
        recorder,
        sale: sale.id,
        units: options.units.into(),
        opens: began + opens,
        mode: options.mode,
        wait: wait_of(options),
        clock: parts.clock.clone(),
        seed: options.seed,
    });
    Ok((context, plan, began))
}

/// How long after the opening an account may have to wait for its turn.
fn wait_of(options: &Options) -> Duration {
    match options.mode {
        ModeName::Rush => Duration::from_millis(options.rush.spread_ms.unsigned_abs()),
        ModeName::WaitingRoom => fixture::GATHER + TURN_TIME,
        ModeName::Draw => TURN_TIME,
    }
}

/// Opens the sale at the median arrival: half of the shoppers wait for the opening, the others come after it.
fn plan_load(options: &Options, accounts: Vec<TestAccount>, bots: Vec<TestAccount>) -> LoadPlan {
    let profile = ArrivalProfile { shoppers: options.shoppers, rps: options.rps, ramp: options.ramp };
    let instants = arrivals(profile, &mut StdRng::seed_from_u64(options.seed));
    let opens = instants.get(instants.len() / 2).copied().unwrap_or_default().max(MIN_WAIT_BEFORE_OPENING);
    LoadPlan { shoppers: instants.into_iter().zip(accounts).collect(), bots, opens, wait: wait_of(options) }
}

fn run_settings(options: &Options, parts: &Parts, url: &str, (opens, lasted): (Duration, Duration)) -> RunSettings {
    let host = Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default();
    RunSettings {
        at: parts.clock.now(),
        url: url.to_owned(),
        rung: if parts.config.amqp_url.is_some() { 3 } else { 1 + u8::from(parts.config.redis.is_some()) },
        shoppers: options.shoppers,
        units: options.units,
        mode: options.mode,
        spread_ms: options.rush.spread_ms,
        rps: options.rps,
        ramp_s: options.ramp.as_secs_f64(),
        bots: options.bots,
        seed: options.seed,
        opens_s: opens.as_secs_f64(),
        lasted_s: lasted.as_secs_f64(),
        cores: std::thread::available_parallelism().map_or(1, usize::from),
        shares_machine: host == "localhost" || host.starts_with("127.") || host == "[::1]",
    }
}

async fn conclude(
    options: &Options,
    parts: &Parts,
    sale: &Sale,
    (measurements, result): (&Measurements, &LoadResult),
    settings: RunSettings,
) -> anyhow::Result<RehearsalReport> {
    // The audit waits for orders in flight, so totals that are read after it are complete.
    let audit = parts.audit.run(AuditFile::none(), |_| ()).await.context("the audit could not run")?;
    let totals = read_totals(parts, sale.id).await?;
    let input = VerdictInput {
        limits: options.limits,
        measurements,
        shoppers: &result.shoppers,
        bots: &result.bots,
        totals: &totals,
        audit: &audit,
    };
    let criteria = input.evaluate();
    Ok(RehearsalReport::new(settings, measurements, (&result.shoppers, &result.bots), criteria, audit))
}

async fn read_totals(parts: &Parts, id: SaleId) -> anyhow::Result<SaleTotals> {
    let sale = parts.store.sales().get(id).await?.context("the sale has vanished")?;
    let live = live_orders(&parts.store, id).await?.iter().map(|order| order.order_id).collect();
    Ok(SaleTotals { units: sale.total, sold: sale.sold, live })
}

/// Prints the table, and writes page and JSON.
fn publish(options: &Options, parts: &Parts, report: &RehearsalReport) -> anyhow::Result<()> {
    print_line(&report::text(report));
    let file = options.report.clone().unwrap_or_else(|| {
        let name = report.settings.at.strftime("rehearsal-%Y%m%d-%H%M%SZ.html").to_string();
        parts.config.data_dir.join(name)
    });
    write(&file, report::html::page(report, options.limits)?)?;
    if let Some(file) = &options.json {
        write(file, serde_json::to_string_pretty(report)?)?;
    }
    print_line(&format!("report: {}", file.display()));
    Ok(())
}

fn write(file: &PathBuf, text: String) -> anyhow::Result<()> {
    std::fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
}
