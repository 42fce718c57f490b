//! Before anybody comes: the shop whose database this is must be the one at the address, be complete, and have no other
//! rehearsal. Everything that is wrong is said in words that tell how to mend it.

use std::time::Duration;

use anyhow::{Context, bail, ensure};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use uuid::Uuid;

use super::http::{Http, Question};
use super::measure::{Measure, Step};
use super::shopper::TestAccount;
use crate::app::Services;
use crate::config::Config;
use crate::control;
use crate::domain::SaleId;
use crate::rehearse::load::say;
use crate::stock::load::Loaded;
use crate::store::Store;

const LEASE: &str = "rehearsal";
/// One that was killed stands in the way for so long.
const LEASE_TIME: Duration = Duration::from_secs(10);
const LEASE_EVERY: Duration = Duration::from_secs(2);
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// How long the shop may take to show a new sale.
const SHOWN_WITHIN: Duration = Duration::from_secs(15);
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The right to rehearse with a shop, kept until it is left.
pub struct Preflight {
    pub parts: Services,
    holder: String,
    backend: JoinHandle<()>,
}

impl Preflight {
    /// Reaches every configured service, and takes the only place there is.
    pub async fn take(config: &Config) -> anyhow::Result<Preflight> {
        check_database(config).await?;
        let parts = Services::build(config).await?;
        for part in parts.health.report().await {
            if let Some(problem) = part.problem {
                bail!("{} does not answer: {problem}; seckill doctor says more", part.name);
            }
        }
        parts.catalogue.refresh().await?;
        let runs = parts.store.is_leased(control::LEASE, parts.clock.now()).await?;
        ensure!(runs, "no data control runs with this database, so nothing would open: start the shop (role control)");
        let holder = Uuid::now_v7().to_string();
        take_lease(&parts, &holder).await?;
        let backend = tokio::spawn(keep_lease(parts.store.clone(), parts.clock.clone(), holder.clone()));
        Ok(Preflight { parts, holder, backend })
    }

    pub async fn leave(self) {
        self.backend.abort();
        // It ends by itself otherwise.
        let _ = self.parts.store.give_back(LEASE, &self.holder).await;
        self.parts.store.close().await;
    }
}

/// Other commands wait for a database and make one where none is; a rehearsal needs the one that the shop has.
async fn check_database(config: &Config) -> anyhow::Result<()> {
    const MEND: &str = "run it where the shop runs, with the shop's configuration";
    if let Some(file) = config.database_url.strip_prefix("sqlite:") {
        let file = file.trim_start_matches("//").split('?').next().unwrap_or_default();
        ensure!(std::path::Path::new(file).exists(), "there is no shop's database at {file}; {MEND}");
    }
    let store = Store::open(&config.database_url).context("SECKILL_DATABASE_URL has a wrong value")?;
    let reached = tokio::time::timeout(ANSWER_WITHIN, store.revision()).await;
    let reached = reached.map_err(anyhow::Error::from).and_then(|revision| Ok(revision?));
    reached.with_context(|| format!("the shop's database (SECKILL_DATABASE_URL) cannot be read; {MEND}"))?;
    store.close().await;
    Ok(())
}

async fn take_lease(parts: &Services, holder: &str) -> anyhow::Result<()> {
    let deadline = Instant::now() + LEASE_TIME + LEASE_EVERY;
    let mut told = false;
    while parts.store.lease(LEASE, holder, parts.clock.now(), LEASE_TIME).await?.is_none() {
        ensure!(Instant::now() < deadline, "another rehearsal of this shop is under way");
        if !std::mem::replace(&mut told, true) {
            say("waiting: another rehearsal is under way, or was killed a moment ago");
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    Ok(())
}

async fn keep_lease(store: Store, clock: crate::clock::Clock, holder: String) {
    loop {
        tokio::time::sleep(LEASE_EVERY).await;
        // While the database is away nobody else gets it either.
        let _ = store.lease(LEASE, &holder, clock.now(), LEASE_TIME).await;
    }
}

/// Whether the shop at the address is the one with our database and secret, and has the sale ready.
pub async fn check_shop(parts: &Services, url: &str, sale: SaleId, extra: &TestAccount) -> anyhow::Result<()> {
    // Looking around is no part of what is measured.
    let http = Http::new(url, Measure::new(Instant::now()).into());
    let status = async |path: &str| {
        let answer = http.ask(Step::Page, Instant::now(), Question::get(path, &extra.cookie)).await;
        (answer.status, answer.code)
    };
    match status("/api/me").await {
        (200, _) => {}
        (0, why) => bail!("no shop answers at {url} ({why}); start it, or name it with --url"),
        (401, _) => bail!("the shop at {url} does not believe our sessions: it runs with another SECKILL_SECRET"),
        (status, code) => bail!("what answers at {url} is not this shop: /api/me says {status} {code}"),
    }
    let deadline = Instant::now() + SHOWN_WITHIN;
    for path in [format!("/api/sales/{sale}/button"), format!("/zh/sales/{sale}"), format!("/en/sales/{sale}")] {
        while status(&path).await.0 != 200 {
            ensure!(
                Instant::now() < deadline,
                "the shop at {url} does not show {path}: does it run with the same SECKILL_DATABASE_URL?"
            );
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
    let Some(stock_sync) = &parts.stock_sync else { return Ok(()) };
    while Loaded::of_sale(&stock_sync.look_at(sale).await?).is_none() {
        ensure!(
            Instant::now() < deadline,
            "data control does not load the sale into Redis: does the role control run?"
        );
        tokio::time::sleep(LOOK_EVERY).await;
    }
    Ok(())
}
