//! A Redis master that loses all its data during a sale.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::degraded::redis_command;
use super::{assert_nothing_is_lost, open_shop};
use crate::support::{Load, NewSale, Shop, Stack, pause, seed, until};

const UNITS: u64 = 300;
const REOPEN_TIMEOUT: Duration = Duration::from_secs(60);

async fn button(shop: &Shop, sale: &str) -> Value {
    shop.client().get(&format!("/api/sales/{sale}/button")).await.expect(200).json()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn flushall_pauses_the_sale_until_it_is_rebuilt_and_loses_no_order() {
    let _restore = Stack::get().restore_on_drop();
    let (shop, sale) = open_shop(NewSale::of(UNITS as i64)).await;
    let mut load = Load::new(&sale);
    load.arrive(&shop, UNITS / 2, Duration::from_millis(1_500));
    pause(200 + seed() % 1_000).await;
    redis_command("FLUSHALL").await;
    let flushed = Instant::now();

    let read = async || button(&shop, &sale).await;
    until("the sale is closed", Duration::from_secs(5), read, |button| button["phase"] == "paused").await;
    let read = async || button(&shop, &sale).await;
    until("the sale is open again", REOPEN_TIMEOUT, read, |button| button["phase"] == "open").await;
    println!("open again after {:?}", flushed.elapsed());
    load.finish().await;
    assert_eq!(load.winners() as u64, UNITS / 2, "there were units for all shoppers: {:?}", load.refusals());
    load.serve(&shop, 2 * UNITS, Duration::from_millis(1_500)).await;
    assert_nothing_is_lost(&shop, &sale, &load, UNITS as i64).await;
}

/// Only the servers' grant logs have these orders, because no relay has read them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn flushall_loses_no_order_that_no_relay_has_read() {
    const RELAYED: u64 = 20;
    const IN_OUTBOX: u64 = 80;
    let _restore = Stack::get().restore_on_drop();
    let (mut shop, sale) = open_shop(NewSale::of((RELAYED + IN_OUTBOX) as i64)).await;
    let mut load = Load::new(&sale);
    load.serve(&shop, RELAYED, Duration::from_millis(200)).await;
    shop.wait_for_sold(&sale, RELAYED as i64, REOPEN_TIMEOUT).await;
    shop.kill_all("relay");
    load.serve(&shop, IN_OUTBOX, Duration::from_millis(300)).await;
    assert_eq!(shop.numbers(&sale).await["sold"], RELAYED, "no relay runs");
    redis_command("FLUSHALL").await;
    pause(1_000).await;
    shop.start_all("relay");
    assert_nothing_is_lost(&shop, &sale, &load, (RELAYED + IN_OUTBOX) as i64).await;
}
