//! The sale that is rehearsed, and the accounts of those who are sent there: how they come and how they go. A sale of a
//! rehearsal stays in the database until nothing else of it is left, so that whoever dies half-way is found by the next.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use anyhow::{Context, bail};
use axum::http::HeaderValue;
use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;
use uuid::Uuid;

use super::shopper::TestAccount;
use crate::accounts::Device;
use crate::app::Services;
use crate::control::sales_admin::DeskChange;
use crate::domain::{Currency, Goods, Money, Rush, Sale, SaleId, SaleState, UserId, Window};
use crate::store::{Announce, Role, SaleDraft, SaveOptions, User};

/// Who the log says did it.
const ACTOR: &str = "rehearsal";
/// The sale ends by itself so long after its start, should the rehearsal die.
const ENDS_AFTER: SignedDuration = SignedDuration::from_mins(20);
/// Orders under way should have reached the database by then; they do within seconds while the shop works.
const QUIET_WITHIN: Duration = Duration::from_secs(60);
/// Nothing was under way for so long: whatever was in somebody's hand has been written.
const QUIET_FOR: Duration = Duration::from_millis(1_500);
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Every process has noticed by then that a sale is retired or gone: they look four times a second.
const NOTICED_AFTER: Duration = Duration::from_millis(1_500);
/// Every process has written down once more by then what it counted.
const COUNTED_AFTER: Duration = Duration::from_secs(3);

/// Announces the sale, without an opening time yet.
pub async fn announce(parts: &Services, units: u32, rush: Rush) -> anyhow::Result<Sale> {
    let goods = goods(parts).await?;
    let filing = SaveOptions { announce: Announce::Schedule, shadow: true, ..SaveOptions::default() };
    Ok(parts.sales_admin().enter_sale(draft(&goods, units, rush), &filing, ACTOR).await?)
}

/// What is rehearsed with: what was changed last, for that is what the day is about. A rehearsal only shows it.
async fn goods(parts: &Services) -> anyhow::Result<Goods> {
    let all = parts.store.all_goods().await?;
    let fresh = all.into_iter().filter(|goods| !goods.is_archived()).max_by_key(|goods| goods.updated_at);
    fresh.context("the shop has no goods to rehearse with; add some at /admin/goods first")
}

fn draft(goods: &Goods, units: u32, rush: Rush) -> SaleDraft {
    SaleDraft {
        goods_id: goods.id,
        price: Money::new(100, Currency::CNY),
        list_price: None,
        total: units.into(),
        per_user_limit: 1,
        window: Window { opens_at: None, closes_at: None },
        rush,
    }
}

/// Sets the opening time: from here on the shop does what it does on the day.
pub async fn open_at(parts: &Services, sale: &Sale, opens: Timestamp) -> anyhow::Result<()> {
    let window = Window { opens_at: Some(opens), closes_at: Some(opens + ENDS_AFTER) };
    let draft = SaleDraft {
        goods_id: sale.goods_id,
        price: sale.price,
        list_price: sale.list_price,
        total: sale.total,
        per_user_limit: sale.per_user_limit,
        window,
        rush: sale.rush,
    };
    let filing = SaveOptions { announce: Announce::Schedule, ..SaveOptions::default() };
    parts.sales_admin().change(sale.id, DeskChange::Edit(draft, filing), ACTOR).await?;
    Ok(())
}

/// Accounts with sessions. No registered name has a space in it, so theirs take none away.
pub async fn enrol(parts: &Services, sale: SaleId, count: u32) -> anyhow::Result<Vec<TestAccount>> {
    let now = parts.clock.now();
    // Nobody can log in with this: it is the hash of no password.
    let hash = "none".to_owned();
    let user = |n| User::new(UserId(Uuid::now_v7()), &format!("rehearsal {sale}/{n}"), hash.clone(), Role::User, now);
    let users: Vec<User> = (1..=count).map(user).collect();
    let device = Device::new(IpAddr::V4(Ipv4Addr::LOCALHOST), "seckill-rehearse");
    let cookies = parts.accounts().enrol_extras(sale, &users, &device).await?;
    let extra = |(user, cookie): (&User, String)| {
        Ok(TestAccount { user: user.id, cookie: HeaderValue::try_from(cookie).context("a cookie")? })
    };
    users.iter().zip(cookies).map(extra).collect()
}

/// Removes every rehearsal there is; the answer is how many. Twice changes nothing.
pub async fn clean(parts: &Services) -> anyhow::Result<usize> {
    let sales = parts.store.rehearsed_sales().await?;
    if sales.is_empty() {
        return Ok(0);
    }
    for sale in &sales {
        retire(parts, sale).await?;
    }
    // A relay that does not know yet that a sale is retired would make its outbox anew.
    tokio::time::sleep(NOTICED_AFTER).await;
    for sale in &sales {
        if let Some(stock_sync) = &parts.stock_sync {
            stock_sync.forget(sale).await?;
        }
        parts.store.remove_rehearsal(sale.id, ACTOR, parts.clock.now()).await?;
    }
    tokio::time::sleep(COUNTED_AFTER).await;
    parts.store.sweep_tallies().await?;
    Ok(sales.len())
}

/// Ends a sale and waits until nothing of it is under way any more.
async fn retire(parts: &Services, sale: &Sale) -> anyhow::Result<()> {
    let now = parts.store.sale(sale.id).await?;
    if now.is_some_and(|sale| sale.state != SaleState::Ended) {
        parts.sales_admin().change(sale.id, DeskChange::Stop, ACTOR).await?;
    }
    let deadline = Instant::now() + QUIET_WITHIN;
    let mut quiet_since: Option<Instant> = None;
    while quiet_since.is_none_or(|since| since.elapsed() < QUIET_FOR) {
        if Instant::now() > deadline {
            bail!(
                "orders of sale {} are still on their way after {} s; do `relay` and `consume` run? \
                 Remove it later with: seckill rehearse --clean",
                sale.id,
                QUIET_WITHIN.as_secs()
            );
        }
        quiet_since = if is_quiet(parts, sale.id).await? { quiet_since.or(Some(Instant::now())) } else { None };
        tokio::time::sleep(LOOK_EVERY).await;
    }
    Ok(parts.store.retire(sale.id, parts.clock.now()).await?)
}

/// Whether no order of a sale is on its way. An outbox entry goes once its orders are in the database, but RabbitMQ may
/// hold a message twice.
async fn is_quiet(parts: &Services, sale: SaleId) -> anyhow::Result<bool> {
    let Some(stock_sync) = &parts.stock_sync else { return Ok(true) };
    let buckets = stock_sync.look_at(sale).await?;
    if buckets.iter().any(|(_, loaded)| loaded.is_some_and(|loaded| loaded.outbox > 0)) {
        return Ok(false);
    }
    match &parts.monitor {
        Some(monitor) => Ok(monitor.depths().await?.ready == 0),
        None => Ok(true),
    }
}
