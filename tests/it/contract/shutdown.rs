//! Graceful shutdown.

use std::time::{Duration, Instant};

use futures::future::join_all;

use crate::support::{NewSale, Rung, Shop, Shopper, eventually, pause};

const STOP_TIMEOUT: Duration = Duration::from_secs(10);
const SETTLE_TIMEOUT: Duration = Duration::from_secs(30);

/// Buys with one shopper after the other until the shop no longer answers, and returns the granted orders.
async fn buy_until_stopped(shop: &Shop, sale: &str, first: u64, count: u64) -> Vec<(Shopper, String)> {
    let mut bought = Vec::new();
    for n in first..first + count {
        let shopper = shop.shopper(n);
        match shopper.try_buy(sale, 1).await {
            Ok(answer) if answer.status == 202 => bought.push((shopper, answer.order_id())),
            Ok(answer) => assert!([409, 429, 503].contains(&answer.status), "{answer:?}"),
            Err(_) => return bought,
        }
    }
    panic!("the shop did not stop while {count} were buying");
}

pub async fn shutdown_under_load_is_quick_and_loses_no_order(rung: Rung) {
    let (mut shop, sale) = Shop::selling(rung, NewSale::of(100_000)).await;
    let buying = async {
        let buyers = (0..20).map(|n| buy_until_stopped(&shop, &sale, n * 10_000, 10_000));
        join_all(buyers).await.into_iter().flatten().collect::<Vec<_>>()
    };
    let stopping = async {
        pause(1_000).await;
        shop.processes[0].terminate();
        Instant::now()
    };
    let (bought, stopped_at) = tokio::join!(buying, stopping);
    let status = shop.processes[0].ended(STOP_TIMEOUT).await;
    assert!(stopped_at.elapsed() <= STOP_TIMEOUT, "it took {:?}", stopped_at.elapsed());
    assert!(status.success(), "it ended with {status}");
    assert!(bought.len() > 20, "only {} bought before the stop", bought.len());

    shop.processes[0].start();
    shop.wait_until_ready().await;
    for (shopper, order) in &bought {
        eventually("an accepted order is in the database", SETTLE_TIMEOUT, async || {
            let answer = shopper.order(&sale, order).await;
            let json = if answer.status == 200 { answer.json() } else { Default::default() };
            if json["order"]["status"] == "unpaid" {
                Ok(())
            } else {
                Err(format!("{} {}", answer.status, answer.text()))
            }
        })
        .await;
    }
    shop.audit_is_clean().await;
}
