//! The sale and the test accounts of a rehearsal: creation and removal. The sale's row is removed last, so the next run
//! finds and removes the rest of a run that was killed half-way.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use anyhow::{Context, bail};
use axum::http::HeaderValue;
use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;
use uuid::Uuid;

use super::Parts;
use super::options::Options;
use super::shopper::TestAccount;
use accounts::Device;
use control::sales_admin::SaleCommand;
use domain::Role;
use domain::{Currency, Goods, ModeName, Money, Sale, SaleId, SaleMode, SalePatch, SaleState, UserId, Window};
use store::{Announce, Redefinition, SaleDraft, SaveOptions, User};

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
    Ok(parts.sales_admin.create_sale_with(draft, &options, ACTOR).await?)
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
pub async fn create_accounts(parts: &Parts, sale: SaleId, count: u32) -> anyhow::Result<Vec<TestAccount>> {
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
