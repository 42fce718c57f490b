//! A Redis master that loses all its data during a sale.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::{assert_nothing_is_lost, open_shop};
use crate::support::{Load, NewSale, Shop, Stack, eventually, pause, seed};

const UNITS: u64 = 300;
const REOPEN_TIMEOUT: Duration = Duration::from_secs(60);

async fn button(shop: &Shop, sale: &str) -> Value {
    shop.client().get(&format!("/api/sales/{sale}/button")).await.expect(200).json()
}

pub(super) async fn flush_all() {
    let client = redis::Client::open(Stack::get().variable("SECKILL_REDIS_URL")).unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.unwrap();
    let () = redis::cmd("FLUSHALL").query_async(&mut connection).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn flushall_pauses_the_sale_until_it_is_rebuilt_and_loses_no_order() {
    let _restore = Stack::get().restore_on_drop();
    let (shop, sale) = open_shop(NewSale::of(UNITS as i64)).await;
    let mut load = Load::new(&sale);
    load.arrive(&shop, UNITS / 2, Duration::from_millis(1_500));
    pause(200 + seed() % 1_000).await;
    flush_all().await;
    let flushed = Instant::now();

    eventually("the sale is closed", Duration::from_secs(5), async || {
        let button = button(&shop, &sale).await;
        if button["phase"] == "paused" { Ok(()) } else { Err(button.to_string()) }
    })
    .await;
    eventually("the sale is open again", REOPEN_TIMEOUT, async || {
        let button = button(&shop, &sale).await;
        if button["phase"] == "open" { Ok(()) } else { Err(button.to_string()) }
    })
    .await;
    println!("open again after {:?}", flushed.elapsed());
    load.finish().await;
    assert_eq!(load.winners() as u64, UNITS / 2, "there were units for all shoppers: {:?}", load.refusals());
    load.arrive(&shop, 2 * UNITS, Duration::from_millis(1_500));
    load.finish().await;
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
    load.arrive(&shop, RELAYED, Duration::from_millis(200));
    load.finish().await;
    shop.wait_for_sold(&sale, RELAYED as i64, REOPEN_TIMEOUT).await;
    for n in 0..2 {
        shop.process("relay", n).kill();
    }
    load.arrive(&shop, IN_OUTBOX, Duration::from_millis(300));
    load.finish().await;
    assert_eq!(shop.numbers(&sale).await["sold"], RELAYED, "no relay runs");
    flush_all().await;
    pause(1_000).await;
    for n in 0..2 {
        shop.process("relay", n).start();
    }
    assert_nothing_is_lost(&shop, &sale, &load, (RELAYED + IN_OUTBOX) as i64).await;
}
