//! A master that loses everything in the middle of a sale.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::{nothing_is_lost, open_shop};
use crate::support::{Crowd, NewSale, Shop, Stack, eventually, pause, seed};

const UNITS: u64 = 300;
const OPEN_AGAIN_WITHIN: Duration = Duration::from_secs(60);

async fn button(shop: &Shop, sale: &str) -> Value {
    shop.client().get(&format!("/api/sales/{sale}/button")).await.expect(200).json()
}

pub(super) async fn flush_all() {
    let client = redis::Client::open(Stack::get().variable("SECKILL_REDIS_URL")).unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.unwrap();
    let () = redis::cmd("FLUSHALL").query_async(&mut connection).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn flushall_closes_the_sale_until_it_is_rebuilt_and_loses_no_promise() {
    let _mended = Stack::get().mended();
    let (shop, sale) = open_shop(NewSale::of(UNITS as i64)).await;
    let mut crowd = Crowd::new(&sale);
    crowd.arrive(&shop, UNITS / 2, Duration::from_millis(1_500));
    pause(200 + seed() % 1_000).await;
    flush_all().await;
    let flushed = Instant::now();

    eventually("the sale is closed", Duration::from_secs(5), async || {
        let button = button(&shop, &sale).await;
        if button["phase"] == "paused" { Ok(()) } else { Err(button.to_string()) }
    })
    .await;
    eventually("the sale is open again", OPEN_AGAIN_WITHIN, async || {
        let button = button(&shop, &sale).await;
        if button["phase"] == "open" { Ok(()) } else { Err(button.to_string()) }
    })
    .await;
    println!("open again after {:?}", flushed.elapsed());
    crowd.served().await;
    assert_eq!(crowd.winners() as u64, UNITS / 2, "there were units for everybody: {:?}", crowd.refusals());
    crowd.arrive(&shop, 2 * UNITS, Duration::from_millis(1_500));
    crowd.served().await;
    nothing_is_lost(&shop, &sale, &crowd, UNITS as i64).await;
}

/// Only the servers remember these orders: no relay has carried them on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn flushall_of_orders_that_nobody_has_carried_on_loses_none() {
    const CARRIED: u64 = 20;
    const WAITING: u64 = 80;
    let _mended = Stack::get().mended();
    let (mut shop, sale) = open_shop(NewSale::of((CARRIED + WAITING) as i64)).await;
    let mut crowd = Crowd::new(&sale);
    crowd.arrive(&shop, CARRIED, Duration::from_millis(200));
    crowd.served().await;
    shop.has_sold(&sale, CARRIED as i64, OPEN_AGAIN_WITHIN).await;
    for n in 0..2 {
        shop.process("relay", n).kill();
    }
    crowd.arrive(&shop, WAITING, Duration::from_millis(300));
    crowd.served().await;
    assert_eq!(shop.numbers(&sale).await["sold"], CARRIED, "nobody carries orders");
    flush_all().await;
    pause(1_000).await;
    for n in 0..2 {
        shop.process("relay", n).start();
    }
    nothing_is_lost(&shop, &sale, &crowd, (CARRIED + WAITING) as i64).await;
}
