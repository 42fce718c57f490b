//! Checks before the load starts: every configured service answers, the shop at the address uses this database and
//! secret, and no other rehearsal runs. Every error message says how to fix the cause.

use std::time::Duration;

use anyhow::{Context, bail, ensure};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use uuid::Uuid;

use super::Parts;
use super::http::{ApiClient, ApiRequest};
use super::measure::{LoadRecorder, Step};
use super::shopper::TestAccount;
use crate::load::print_line;
use base::config::Config;
use domain::Sale;
use engine::stock::load::StockCounters;
use store::Store;

pub(crate) const LEASE: &str = "rehearsal";
/// A killed rehearsal blocks the next one for this long.
const LEASE_TIME: Duration = Duration::from_secs(10);
const LEASE_RENEW_INTERVAL: Duration = Duration::from_secs(2);
const DATABASE_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the shop may take to show a new sale.
const SALE_SHOWN_TIMEOUT: Duration = Duration::from_secs(15);
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// What was checked and taken before the load: given back by [`Preflight::finish`].
pub struct Preflight {
    pub parts: Parts,
    lease: RehearsalLease,
}

impl Preflight {
    /// Connects to every configured service, checks that data control runs, and takes the lease.
    pub async fn start(
        config: &Config,
        build: impl AsyncFnOnce(&Config) -> anyhow::Result<Parts>,
    ) -> anyhow::Result<Preflight> {
        check_database(config).await?;
        let parts = build(config).await?;
        for part in parts.health.report().await {
            if let Some(problem) = part.problem {
                bail!("{} does not answer: {problem}; run seckill doctor for details", part.name);
            }
        }
        parts.catalogue.refresh().await?;
        let runs = parts.store.leases().is_held(control::LEASE).await?;
        ensure!(runs, "no data control runs with this database, so no sale would open: start the shop (role control)");
        let lease = RehearsalLease::take(&parts.store).await?;
        Ok(Preflight { parts, lease })
    }

    /// Gives the lease back and closes the database.
    pub async fn finish(self) {
        self.lease.give_back().await;
        self.parts.store.close().await;
    }
}

/// The lease that allows one rehearsal of a shop at a time, renewed in the background until it is given back.
pub(crate) struct RehearsalLease {
    store: Store,
    holder: String,
    renewal: JoinHandle<()>,
}

impl RehearsalLease {
    /// Waits as long as a killed rehearsal blocks the next one.
    pub(crate) async fn take(store: &Store) -> anyhow::Result<RehearsalLease> {
        let holder = Uuid::now_v7().to_string();
        take_lease(store, &holder).await?;
        let renewal = tokio::spawn(renew_lease(store.clone(), holder.clone()));
        Ok(RehearsalLease { store: store.clone(), holder, renewal })
    }

    pub(crate) async fn give_back(self) {
        self.renewal.abort();
        // A lease that cannot be given back expires.
        let _ = self.store.leases().release(LEASE, &self.holder).await;
    }
}

/// Fails at once if the shop's database is not there, because a rehearsal needs that very database. Other commands wait
/// for the database, and create a missing SQLite file.
async fn check_database(config: &Config) -> anyhow::Result<()> {
    const FIX: &str = "run it where the shop runs, with the shop's configuration";
    if let Some(file) = config.database_url.strip_prefix("sqlite:") {
        let file = file.trim_start_matches("//").split('?').next().unwrap_or_default();
        ensure!(std::path::Path::new(file).exists(), "there is no shop database at {file}; {FIX}");
    }
    let store = Store::open(&config.database_url).context("SECKILL_DATABASE_URL has a wrong value")?;
    let revision = tokio::time::timeout(DATABASE_TIMEOUT, store.sales().revision()).await;
    let revision = revision.map_err(anyhow::Error::from).and_then(|revision| Ok(revision?));
    revision.with_context(|| format!("the shop's database (SECKILL_DATABASE_URL) cannot be read; {FIX}"))?;
    store.close().await;
    Ok(())
}

async fn take_lease(store: &Store, holder: &str) -> anyhow::Result<()> {
    let deadline = Instant::now() + LEASE_TIME + LEASE_RENEW_INTERVAL;
    let mut announced = false;
    while !store.leases().acquire(LEASE, holder, LEASE_TIME).await? {
        ensure!(Instant::now() < deadline, "another rehearsal of this shop is running");
        if !std::mem::replace(&mut announced, true) {
            print_line("waiting: another rehearsal is running, or was killed less than 10 s ago");
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    Ok(())
}

async fn renew_lease(store: Store, holder: String) {
    loop {
        tokio::time::sleep(LEASE_RENEW_INTERVAL).await;
        // While the database is unreachable, no other process can take the lease either.
        let _ = store.leases().acquire(LEASE, &holder, LEASE_TIME).await;
    }
}

/// Checks that the shop at `url` uses this database and secret, and waits until it shows the sale.
pub async fn check_shop(parts: &Parts, url: &str, sale: &Sale, account: &TestAccount) -> anyhow::Result<()> {
    // A recorder of its own: these requests are not measured.
    let client = ApiClient::new(url, LoadRecorder::new(Instant::now()).into());
    let status = async |path: &str| {
        let response = client.send(Step::Page, Instant::now(), ApiRequest::get(path, &account.cookie)).await;
        (response.status, response.code)
    };
    match status("/api/me").await {
        (200, _) => {}
        (0, reason) => bail!("no shop answers at {url} ({reason}); start it, or give its address with --url"),
        (401, _) => bail!("the shop at {url} rejects sessions made here: it runs with another SECKILL_SECRET"),
        (status, code) => bail!("the server at {url} is not this shop: /api/me answers {status} {code}"),
    }
    let deadline = Instant::now() + SALE_SHOWN_TIMEOUT;
    let id = sale.id;
    let pages = [format!("/api/sales/{id}/button"), format!("/zh/sales/{id}"), format!("/en/sales/{id}")];
    let line = sale.mode.is_waiting_room().then(|| format!("/api/sales/{id}/line"));
    for path in pages.into_iter().chain(line) {
        while status(&path).await.0 != 200 {
            ensure!(
                Instant::now() < deadline,
                "the shop at {url} does not show {path}: does it run with the same SECKILL_DATABASE_URL?"
            );
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }
    // A draw has no stock in Redis.
    let Some(stock_sync) = parts.stock_sync.as_ref().filter(|_| !sale.mode.is_draw()) else { return Ok(()) };
    while StockCounters::of_sale(&stock_sync.survey_sale(id).await?).is_none() {
        ensure!(
            Instant::now() < deadline,
            "data control does not load the sale into Redis: is the role control running?"
        );
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    Ok(())
}
