//! Units that come back while processes and Redis die: accounts on the waitlist get each of them, and strangers get
//! none.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::future::join_all;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};

use super::crash::{CrashTarget, crash};
use super::{SETTLE_TIMEOUT, open_shop};
use crate::support::{NewSale, Shop, Shopper, Stack, eventually, pause, seed};

const UNITS: u64 = 6;

pub(super) fn path(sale: &str) -> String {
    format!("/api/sales/{sale}/waitlist")
}

pub(super) async fn place(shopper: &Shopper, sale: &str) -> Result<Value, String> {
    let answer = shopper.client.request(axum::http::Method::GET, &path(sale)).try_send().await?;
    if answer.status == 200 { Ok(answer.json()["waitlist"].clone()) } else { Err(answer.text().to_owned()) }
}

/// Presses until `stop` is set. Returns how often it got units.
pub(super) async fn press(stranger: &Shopper, sale: &str, stop: &AtomicBool) -> usize {
    let mut granted = 0;
    while !stop.load(Ordering::Relaxed) {
        let answer = stranger.try_buy(sale, 1).await;
        granted += usize::from(answer.is_ok_and(|answer| matches!(answer.status, 200 | 202)));
        pause(20).await;
    }
    granted
}

pub(super) async fn buy(shopper: &Shopper, sale: &str) -> String {
    let order = eventually("the unit is bought", SETTLE_TIMEOUT, async || {
        let answer = shopper.try_buy(sale, 1).await?;
        if answer.status == 202 { Ok(answer.order_id()) } else { Err(answer.text().to_owned()) }
    })
    .await;
    shopper.wait_for_status(sale, &order, "unpaid").await;
    order
}

pub(super) async fn cancel(shopper: &Shopper, sale: &str, order: &str) {
    eventually("the order is cancelled", SETTLE_TIMEOUT, async || {
        let cancel = format!("/api/sales/{sale}/orders/{order}/cancel");
        let answer = shopper.client.request(axum::http::Method::POST, &cancel).json(&json!({})).try_send().await?;
        // A replay after a lost answer.
        if matches!(answer.status, 200 | 409) { Ok(()) } else { Err(answer.text().to_owned()) }
    })
    .await;
}

/// Waits until this many accounts of the waitlist have had their turn. Returns the accounts with an open offer, with
/// their orders.
async fn wait_for_offers<'a>(waiters: &'a [Shopper], sale: &str, turns: usize) -> Vec<(&'a Shopper, String)> {
    eventually("every unit is offered", SETTLE_TIMEOUT, async || {
        let (mut had_turn, mut open) = (0, Vec::new());
        for waiter in waiters {
            let place = place(waiter, sale).await?;
            had_turn += usize::from(place["state"] == "offered");
            if place["pay_by"].is_string() {
                open.push((waiter, place["order_id"].as_str().unwrap().to_owned()));
            }
        }
        if had_turn == turns && open.len() as u64 == UNITS {
            Ok(open)
        } else {
            Err(format!("{had_turn} {}", open.len()))
        }
    })
    .await
}

/// Cancels all orders one by one. In between, the target dies.
async fn return_units(
    (shop, sale): (&mut Shop, &str),
    orders: &[(&Shopper, String)],
    random: &mut StdRng,
    target: CrashTarget,
) {
    for (number, (owner, order)) in orders.iter().enumerate() {
        cancel(owner, sale, order).await;
        if number % 2 == 0 {
            pause(random.random_range(0..900)).await;
            crash(shop, target, random.random_range(0..2), random.random_range(50..600)).await;
        }
    }
}

async fn survives(target: CrashTarget) {
    let _restore = Stack::get().restore_on_drop();
    let mut random = StdRng::seed_from_u64(seed());
    let (mut shop, sale) = open_shop(NewSale::of(UNITS as i64)).await;
    let buyers: Vec<Shopper> = (0..UNITS).map(|n| shop.shopper(n)).collect();
    let orders = join_all(buyers.iter().map(|buyer| buy(buyer, &sale))).await;
    shop.wait_for_phase(&sale, "sold_out").await;
    let waiters: Vec<Shopper> = (100..100 + 3 * UNITS).map(|n| shop.shopper(n)).collect();
    for waiter in &waiters {
        waiter.client.post(&path(&sale), json!({})).await.expect(201);
    }
    let strangers: Vec<Shopper> = (200..204).map(|n| shop.shopper(n)).collect();
    let stop = AtomicBool::new(false);
    let pressing = join_all(strangers.iter().map(|stranger| press(stranger, &sale, &stop)));
    let serving = async {
        let bought: Vec<(&Shopper, String)> = buyers.iter().zip(orders).collect();
        return_units((&mut shop, &sale), &bought, &mut random, target).await;
        let first = wait_for_offers(&waiters, &sale, UNITS as usize).await;
        return_units((&mut shop, &sale), &first, &mut random, target).await;
        wait_for_offers(&waiters, &sale, 2 * UNITS as usize).await;
        stop.store(true, Ordering::Relaxed);
    };
    let (granted, ()) = tokio::join!(pressing, serving);
    assert_eq!(granted, [0; 4], "units went to strangers");
    shop.wait_for_sold(&sale, UNITS as i64, Duration::from_secs(60)).await;
    shop.audit_is_clean().await;
}

cases! { survives:
    control_dies_between_calls_and_offers: CrashTarget::Role("control"),
    consume_dies_with_offers_on_their_way: CrashTarget::Role("consume"),
    redis_loses_everything_while_accounts_wait: CrashTarget::RedisData,
    redis_dies_with_offers_on_their_way: CrashTarget::Service("redis"),
    postgres_dies_while_units_are_offered: CrashTarget::Service("postgres"),
}
