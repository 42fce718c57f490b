//! Sales with a waiting room.

use std::time::Duration;

use futures::future::join_all;
use serde_json::json;

use crate::support::{NewSale, Plan, Rung, Shopper, eventually, until};

const ACCOUNTS: u64 = 40;
const UNITS: usize = 5;
const TIMEOUT: Duration = Duration::from_secs(60);

async fn wait_for_state(shopper: &Shopper, sale: &str, expected: &str) {
    until("the turn comes", TIMEOUT, async || shopper.own(sale, "place").await, |place| place["state"] == expected)
        .await;
}

/// Buys as soon as the shop lets this called shopper. Returns the order.
async fn buy(shopper: &Shopper, sale: &str) -> String {
    eventually("the shopper who was called has an order", TIMEOUT, async || {
        let answer = shopper.try_buy(sale, 1).await?;
        let order = answer.json()["order"]["id"].as_str().map(str::to_owned);
        order.ok_or_else(|| format!("{answer:?}"))
    })
    .await
}

/// All other shoppers press all the time, and are refused.
async fn refuse(strangers: &[&Shopper], sale: &str) {
    for answer in join_all(strangers.iter().map(|stranger| stranger.token(sale))).await {
        answer.expect_problem(409, "not_called");
    }
}

pub async fn places_are_called_in_their_order_and_nobody_buys_out_of_turn(rung: Rung) {
    let shop = Plan::on(rung).await.one_role_per_process().start().await;
    // Long enough for data control to open the list, and for every account to join on a busy machine.
    let sale = shop.create(NewSale::of(UNITS as i64).opens_in(Duration::from_secs(15)).queue().prequeue(12)).await;
    let early = shop.shopper(0).client.post(&format!("/api/sales/{sale}/place"), json!({})).await;
    early.expect_problem(409, "not_open");
    shop.wait_until_joining(&sale).await;
    let shoppers: Vec<Shopper> = (0..ACCOUNTS).map(|n| shop.shopper(n)).collect();
    join_all(shoppers.iter().map(|shopper| shopper.join_twice(&sale, "place"))).await;
    shop.wait_for_phase(&sale, "open").await;
    let called = format!("/api/sales/{sale}/line");
    let read = async || shop.client().get(&called).await.expect(200).json();
    until("the first are called", TIMEOUT, read, |line| line["called"] == UNITS).await;
    let mut ordered = Vec::new();
    for shopper in &shoppers {
        let place = shopper.own(&sale, "place").await;
        assert_eq!(place["segment"], 0, "all came before the lock");
        ordered.push((place["number"].as_i64().unwrap(), shopper));
    }
    ordered.sort_by_key(|(number, _)| *number);
    let ordered: Vec<&Shopper> = ordered.into_iter().map(|(_, shopper)| shopper).collect();
    refuse(&ordered[UNITS..], &sale).await;
    let mut orders = Vec::new();
    for first in &ordered[..UNITS] {
        wait_for_state(first, &sale, "called").await;
        orders.push(buy(first, &sale).await);
    }
    shop.wait_for_sold(&sale, UNITS as i64, TIMEOUT).await;
    refuse(&ordered[UNITS..], &sale).await;

    // Two shoppers cancel their orders; the next two are called for the units.
    for (order, owner) in orders.iter().zip(&ordered).skip(1).take(2) {
        owner.wait_for_status(&sale, order, "unpaid").await;
        owner.cancel(&sale, order).await.expect(200);
    }
    for next in &ordered[UNITS..UNITS + 2] {
        wait_for_state(next, &sale, "called").await;
        buy(next, &sale).await;
    }
    refuse(&ordered[UNITS + 2..], &sale).await;
    shop.wait_for_sold(&sale, UNITS as i64, TIMEOUT).await;
    shop.audit_is_clean().await;
}
