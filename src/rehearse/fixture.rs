//! Before the load starts: checks, and the sale with its test accounts. The checks make sure that every configured service
//! answers, the shop at the address uses this database and secret, and no other rehearsal runs. Every error message says
//! how to fix the cause.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use axum::http::HeaderValue;
use boxed::boxed;
use jiff::{SignedDuration, Timestamp};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use uuid::Uuid;

use super::Parts;
use super::http::{ApiClient, ApiRequest};
use super::measure::{LoadRecorder, Step};
use super::options::Options;
use super::shopper::TestAccount;
use crate::load::print_line;
use accounts::Device;
use base::config::Config;
use control::sales_admin::SaleCommand;
use domain::{Currency, Goods, ModeName, Money, Role, Sale, SaleId, SaleMode, SalePatch, SaleState, UserId, Window};
use engine::stock::load::StockCounters;
use store::{Announce, Redefinition, SaleDraft, SaveOptions, Store, User};

pub(crate) const LEASE: &str = "rehearsal";
/// A killed rehearsal blocks the next one for this long.
const LEASE_TIME: Duration = Duration::from_secs(10);
const LEASE_RENEW_INTERVAL: Duration = Duration::from_secs(2);
const DATABASE_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the shop may take to show a new sale.
const SALE_SHOWN_TIMEOUT: Duration = Duration::from_secs(15);

/// What was checked and taken before the load: given back by [`Preflight::finish`].
pub struct Preflight {
    pub parts: Parts,
    lease: RehearsalLease,
}

#[boxed]
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
pub(crate) async fn check_shop(parts: &Parts, url: &str, sale: &Sale, account: &TestAccount) -> anyhow::Result<()> {
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

// The sale and the test accounts of a rehearsal: creation and removal. The sale's row is removed last, so the next run
// finds and removes the rest of a run that was killed half-way.

/// The actor in the audit log.
const ACTOR: &str = "rehearsal";
/// The sale ends by itself this long after its opening, in case the rehearsal is killed.
const ENDS_AFTER: SignedDuration = SignedDuration::from_mins(20);
/// Time from the announcement to the provisional opening, which is used until the final one is set.
const PROVISIONAL: Duration = Duration::from_secs(1_800);
/// How long before the opening shoppers may join a waiting room. Shorter than [`PROVISIONAL`], so that its list is
/// opened before; the final opening then lets shoppers in.
const PREQUEUE: Duration = Duration::from_secs(1_500);
/// How long after the opening shoppers who join a waiting room count as having come in time.
pub const GATHER: Duration = Duration::from_secs(5);
/// How long orders in flight may take to reach the database. In a working shop they need seconds.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(60);
/// For how long no order may be visible in flight before the sale counts as quiet. This covers orders that a process
/// holds in memory between outbox and queue.
const QUIET_TIME: Duration = Duration::from_millis(1_500);
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// After this time every process knows that a sale is retired or gone, because processes read the sales four times a
/// second.
const RETIREMENT_DELAY: Duration = Duration::from_millis(1_500);
/// After this time every process has stored its counters once more.
const COUNTER_FLUSH_DELAY: Duration = Duration::from_secs(3);

/// Announces the sale. Its opening time is not final, because the load is not planned yet.
#[boxed]
pub async fn announce(parts: &Parts, options: &Options) -> anyhow::Result<Sale> {
    let goods = goods(parts).await?;
    let draft = SaleDraft {
        goods_id: goods.id,
        price: Money::new(100, Currency::CNY),
        list_price: None,
        total: options.units.into(),
        per_user_limit: 1,
        window: provisional_window(options.mode, parts.clock.now()),
        rush: options.rush,
        mode: mode(options.mode),
        eligibility: Default::default(),
    };
    let options = SaveOptions { announce: Announce::Schedule, shadow: true, ..SaveOptions::default() };
    Ok(parts.sales_admin.create_sale(draft, &options, ACTOR).await?)
}

fn mode(name: ModeName) -> SaleMode {
    SaleMode::Rush.with(&SalePatch {
        mode: Some(name),
        queue_prequeue_s: Some(PREQUEUE.as_secs() as i64),
        queue_gather_s: Some(GATHER.as_secs() as i64),
        queue_seat_s: Some(30),
        draw_review_s: Some(0),
        ..SalePatch::default()
    })
}

/// The times until the final opening is set: a waiting room and a draw cannot be announced without times.
fn provisional_window(mode: ModeName, now: Timestamp) -> Window {
    match mode {
        ModeName::Rush => Window { opens_at: None, closes_at: None },
        ModeName::WaitingRoom | ModeName::Draw => {
            let opens = now + PROVISIONAL;
            Window { opens_at: Some(opens), closes_at: Some(opens + ENDS_AFTER) }
        }
    }
}

/// The goods that were changed last: most likely the coming sale will sell them. A rehearsal does not change them.
async fn goods(parts: &Parts) -> anyhow::Result<Goods> {
    let all = parts.store.goods().list().await?;
    let newest = all.into_iter().filter(|goods| !goods.is_archived()).max_by_key(|goods| goods.updated_at);
    newest.context("the shop has no goods to rehearse with; add some at /admin/goods first")
}

/// Sets the opening time, and in a draw the closing time. From here on the shop treats the sale like any other.
#[boxed]
pub async fn open_at(
    parts: &Parts,
    sale: &Sale,
    opens: Timestamp,
    entries_close_after: Duration,
) -> anyhow::Result<()> {
    let closes = if sale.mode.is_draw() { opens + entries_close_after } else { opens + ENDS_AFTER };
    let window = SalePatch { opens_at: Some(Some(opens)), closes_at: Some(Some(closes)), ..SalePatch::default() };
    let options = SaveOptions { announce: Announce::Schedule, ..SaveOptions::default() };
    let edit = SaleCommand::Edit(Box::new(Redefinition::Patch(window)), options);
    parts.sales_admin.change(sale.id, edit, ACTOR).await?;
    Ok(())
}

/// Creates accounts with sessions. Their names have a space in them and so cannot collide with registered names.
pub(crate) async fn create_accounts(parts: &Parts, sale: SaleId, count: u32) -> anyhow::Result<Vec<TestAccount>> {
    let now = parts.clock.now();
    let names = (1..=count).map(|n| format!("rehearsal {sale}/{n}"));
    // No password has the hash "none", so these accounts cannot sign in.
    let users = names.map(|name| User::new(UserId(Uuid::now_v7()), &name, "none".into(), Role::User, now));
    let users: Vec<User> = users.collect();
    let device = Device::new(IpAddr::V4(Ipv4Addr::LOCALHOST), "seckill-rehearse");
    let cookies = parts.accounts.open_test_accounts(sale, &users, &device).await?;
    let accounts = users.iter().zip(cookies).map(|(user, cookie)| {
        Ok(TestAccount { user: user.id, cookie: HeaderValue::try_from(cookie).context("a cookie")? })
    });
    accounts.collect()
}

/// Removes every rehearsal and returns how many there were. Idempotent.
#[boxed]
pub async fn clean(parts: &Parts) -> anyhow::Result<usize> {
    let sales = parts.store.sales().rehearsed_sales().await?;
    remove(parts, &sales).await?;
    Ok(sales.len())
}

/// Removes these rehearsals. Idempotent.
pub(crate) async fn remove(parts: &Parts, sales: &[Sale]) -> anyhow::Result<()> {
    if sales.is_empty() {
        return Ok(());
    }
    for sale in sales {
        retire(parts, sale).await?;
    }
    // A relay that does not yet know that the sale is retired would create its outbox again.
    tokio::time::sleep(RETIREMENT_DELAY).await;
    for sale in sales {
        if let Some(stock_sync) = &parts.stock_sync {
            stock_sync.unload(sale).await?;
        }
        parts.store.sales().remove_rehearsal(sale.id, ACTOR, parts.clock.now()).await?;
    }
    tokio::time::sleep(COUNTER_FLUSH_DELAY).await;
    Ok(parts.store.sales().delete_orphaned_counters().await?)
}

/// Stops a sale, waits until none of its orders is in flight, and marks it as retired.
async fn retire(parts: &Parts, sale: &Sale) -> anyhow::Result<()> {
    let now = parts.store.sales().get(sale.id).await?;
    if now.is_some_and(|sale| sale.state != SaleState::Ended) {
        parts.sales_admin.change(sale.id, SaleCommand::Stop, ACTOR).await?;
    }
    let deadline = Instant::now() + DRAIN_TIMEOUT;
    let mut quiet_since: Option<Instant> = None;
    while quiet_since.is_none_or(|since| since.elapsed() < QUIET_TIME) {
        if Instant::now() > deadline {
            bail!(
                "orders of sale {} are still in flight after {} s; are `relay` and `consume` running? \
                 Remove the rehearsal later with: seckill rehearse --clean",
                sale.id,
                DRAIN_TIMEOUT.as_secs()
            );
        }
        quiet_since = if is_quiet(parts, sale.id).await? { quiet_since.or(Some(Instant::now())) } else { None };
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    Ok(parts.store.sales().retire(sale.id, parts.clock.now()).await?)
}

/// Whether no order of a sale is in flight. An outbox entry is deleted once its orders are in the database. The queue
/// is checked too, because RabbitMQ may still hold a second copy of a message.
async fn is_quiet(parts: &Parts, sale: SaleId) -> anyhow::Result<bool> {
    let Some(stock_sync) = &parts.stock_sync else { return Ok(true) };
    let buckets = stock_sync.survey_sale(sale).await?;
    if buckets.iter().any(|(_, state)| state.loaded().is_some_and(|loaded| loaded.outbox > 0)) {
        return Ok(false);
    }
    match &parts.monitor {
        Some(monitor) => Ok(monitor.depths().await?.ready == 0),
        None => Ok(true),
    }
}
