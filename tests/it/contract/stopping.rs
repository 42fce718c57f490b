//! Stopping in an orderly way.

use std::time::{Duration, Instant};

use futures::future::join_all;

use crate::support::{NewSale, Rung, Shop, Shopper, eventually, pause};

const STOPS_WITHIN: Duration = Duration::from_secs(10);
const SETTLED_WITHIN: Duration = Duration::from_secs(30);

/// Buys one order after the other in one shopper's name after the other, until nobody answers. The answer are the
/// orders that were answered.
async fn buy_on(shop: &Shop, sale: &str, first: u64, count: u64) -> Vec<(Shopper, String)> {
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

pub async fn a_stop_in_the_rush_is_quick_and_loses_no_order(rung: Rung) {
    let mut shop = Shop::start(rung).await;
    let sale = shop.open(NewSale::of(100_000)).await;
    let buying = async {
        let crowd = (0..20).map(|n| buy_on(&shop, &sale, n * 10_000, 10_000));
        join_all(crowd).await.into_iter().flatten().collect::<Vec<_>>()
    };
    let stopping = async {
        pause(1_000).await;
        shop.processes[0].terminate();
        Instant::now()
    };
    let (bought, stopped_at) = tokio::join!(buying, stopping);
    let status = shop.processes[0].ended(STOPS_WITHIN).await;
    assert!(stopped_at.elapsed() <= STOPS_WITHIN, "it took {:?}", stopped_at.elapsed());
    assert!(status.success(), "it ended with {status}");
    assert!(bought.len() > 20, "only {} bought before the stop", bought.len());

    shop.processes[0].start();
    shop.ready().await;
    for (shopper, order) in &bought {
        eventually("an accepted order is in the database", SETTLED_WITHIN, async || {
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
