//! The waitlist of a sold-out rush.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::future::join_all;
use serde_json::json;

use crate::support::{NewSale, Plan, Rung, Shop, Shopper, eventually, until};

const UNITS: i64 = 3;
/// An offer comes after the segment in which its account joined, and its order is processed like every order.
const TIMEOUT: Duration = Duration::from_secs(60);

fn path(sale: &str) -> String {
    format!("/api/sales/{sale}/waitlist")
}

/// Joins as soon as the process that is asked has noticed that the sale is sold out.
async fn join(shopper: &Shopper, sale: &str) {
    eventually("the account waits", TIMEOUT, async || {
        let answer = shopper.client.post(&path(sale), json!({})).await;
        match answer.status {
            200 | 201 => Ok(()),
            _ => Err(answer.json().to_string()),
        }
    })
    .await;
}

/// The waiting shoppers in the order of their places. Places stay once their segment is over.
async fn in_line<'a>(waiters: &[&'a Shopper], sale: &str) -> Vec<&'a Shopper> {
    let mut line = Vec::new();
    for waiter in waiters {
        line.push((waiter.own(sale, "waitlist").await["position"].as_i64().unwrap(), *waiter));
    }
    line.sort_by_key(|(position, _)| *position);
    assert!(line.iter().map(|(position, _)| *position).eq(1..=waiters.len() as i64), "places follow each other");
    line.into_iter().map(|(_, waiter)| waiter).collect()
}

async fn wait_for_offer(waiter: &Shopper, sale: &str) -> String {
    let read = async || waiter.own(sale, "waitlist").await;
    let offered = until("the unit is offered", TIMEOUT, read, |place| place["state"] == "offered").await;
    assert!(offered["pay_by"].is_string(), "{offered}");
    let order = offered["order_id"].as_str().unwrap().to_owned();
    waiter.wait_for_status(sale, &order, "unpaid").await;
    order
}

/// Presses until `stop` is set. Returns the number of orders that it got.
async fn press(stranger: &Shopper, sale: &str, stop: &AtomicBool) -> usize {
    let mut orders = 0;
    while !stop.load(Ordering::Relaxed) {
        if let Ok(answer) = stranger.try_buy(sale, 1).await
            && matches!(answer.status, 200 | 202)
        {
            orders += 1;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    orders
}

/// Shoppers that bought every unit, with their orders.
async fn buy_out(shop: &Shop, sale: &str) -> Vec<(Shopper, String)> {
    let mut buyers = Vec::new();
    for n in 0..UNITS as u64 {
        let buyer = shop.shopper(n);
        // A bucket may have to wait for its lot.
        let order = eventually("the unit is bought", TIMEOUT, async || {
            let answer = buyer.buy(sale, 1).await;
            if answer.status == 202 { Ok(answer.order_id()) } else { Err(answer.json().to_string()) }
        })
        .await;
        buyer.wait_for_status(sale, &order, "unpaid").await;
        buyers.push((buyer, order));
    }
    shop.wait_for_phase(sale, "sold_out").await;
    buyers
}

pub async fn units_that_come_back_go_to_those_who_wait(rung: Rung) {
    units_come_back(rung, NewSale::of(UNITS)).await;
}

pub async fn units_of_buckets_go_to_those_who_wait(rung: Rung) {
    units_come_back(rung, NewSale::of(UNITS).split(3, 1)).await;
}

async fn units_come_back(rung: Rung, sale: NewSale) {
    let (shop, sale) = Plan::on(rung).await.one_role_per_process().open(sale).await;
    let buyers = buy_out(&shop, &sale).await;
    let waiters: Vec<Shopper> = (100..105).map(|n| shop.shopper(n)).collect();
    let strangers: Vec<Shopper> = (200..204).map(|n| shop.shopper(n)).collect();
    join_all(waiters.iter().map(|waiter| join(waiter, &sale))).await;

    let stop = AtomicBool::new(false);
    let pressing = join_all(strangers.iter().map(|stranger| press(stranger, &sale, &stop)));
    let serving = async {
        for (buyer, order) in &buyers {
            buyer.cancel(&sale, order).await.expect(200);
        }
        let (offered, waiting) = wait_for_offers(&waiters, &sale).await;
        // Units that two of them give back go to the next accounts on the waitlist.
        for (first, next) in offered.iter().zip(in_line(&waiting, &sale).await) {
            let order = wait_for_offer(first, &sale).await;
            first.cancel(&sale, &order).await.expect(200);
            wait_for_offer(next, &sale).await;
        }
        stop.store(true, Ordering::Relaxed);
        offered
    };
    let (pressed, offered) = tokio::join!(pressing, serving);
    assert_eq!(pressed, [0; 4], "units went to strangers");
    shop.wait_for_sold(&sale, UNITS, TIMEOUT).await;
    // No account waits any more, so the next unit is on sale again.
    let order = wait_for_offer(offered[2], &sale).await;
    offered[2].cancel(&sale, &order).await.expect(200);
    shop.wait_for_phase(&sale, "open").await;
    let order = eventually("a stranger buys the unit", TIMEOUT, async || {
        let answer = strangers[0].buy(&sale, 1).await;
        if answer.status == 202 { Ok(answer.order_id()) } else { Err(answer.json().to_string()) }
    })
    .await;
    strangers[0].wait_for_status(&sale, &order, "unpaid").await;
    shop.audit_is_clean().await;
}

/// Waits until every unit is offered to an account. Returns the accounts with an offer, and the others.
async fn wait_for_offers<'a>(waiters: &'a [Shopper], sale: &str) -> (Vec<&'a Shopper>, Vec<&'a Shopper>) {
    eventually("every unit is offered", TIMEOUT, async || {
        let places = join_all(waiters.iter().map(|waiter| waiter.own(sale, "waitlist"))).await;
        let (mut offered, mut waiting) = (Vec::new(), Vec::new());
        for (waiter, place) in waiters.iter().zip(&places) {
            if place["state"] == "offered" { offered.push(waiter) } else { waiting.push(waiter) }
        }
        if offered.len() as i64 == UNITS { Ok((offered, waiting)) } else { Err(format!("{places:?}")) }
    })
    .await
}
