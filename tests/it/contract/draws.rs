//! Sales by draw.

use std::time::Duration;

use futures::future::join_all;
use serde_json::Value;

use crate::support::{NewSale, Plan, Rung, Shopper, eventually, until};

const ACCOUNTS: u64 = 40;
const UNITS: usize = 5;
const TIMEOUT: Duration = Duration::from_secs(60);

pub async fn units_of_a_draw_go_to_the_first_ranks_and_then_to_the_next(rung: Rung) {
    let shop = Plan::on(rung).await.one_role_per_process().start().await;
    let opening = Duration::from_secs(2);
    // Long enough for every account to enter on a busy machine.
    let draw = NewSale::of(UNITS as i64).opens_in(opening).closes_in(opening + Duration::from_secs(10)).draw();
    let sale = shop.create(draw).await;
    shop.wait_for_phase(&sale, "open").await;
    let shoppers: Vec<Shopper> = (0..ACCOUNTS).map(|n| shop.shopper(n)).collect();
    join_all(shoppers.iter().map(|shopper| shopper.join_twice(&sale, "entry"))).await;
    shoppers[0].try_buy(&sale, 1).await.unwrap().expect_problem(409, "by_draw");

    let draw = format!("/api/sales/{sale}/draw");
    let read = async || shop.client().get(&draw).await.expect(200).json()["draw"].clone();
    until("the draw is held", TIMEOUT, read, |draw| draw["state"] == "drawn").await;
    shop.wait_for_sold(&sale, UNITS as i64, TIMEOUT).await;
    let mut ranked = Vec::new();
    for shopper in &shoppers {
        ranked.push((shopper.own(&sale, "entry").await, shopper));
    }
    ranked.sort_by_key(|(entry, _)| entry["rank"].as_i64());
    assert!(ranked.iter().map(|(entry, _)| entry["rank"].as_i64().unwrap()).eq(1..=ACCOUNTS as i64));
    let winners = ranked.iter().filter(|(entry, _)| !entry["order_id"].is_null()).count();
    assert_eq!(winners, UNITS);

    // Two winners cancel their orders; the next two ranks get the units.
    for (entry, winner) in &ranked[1..3] {
        winner.cancel(&sale, entry["order_id"].as_str().unwrap()).await.expect(200);
    }
    for (_, next) in &ranked[UNITS..UNITS + 2] {
        let order = eventually("the next in order have an order", TIMEOUT, async || {
            next.own(&sale, "entry").await["order_id"].as_str().map(str::to_owned).ok_or_else(|| "no order".to_owned())
        })
        .await;
        next.wait_for_status(&sale, &order, "unpaid").await;
    }
    assert_eq!(ranked[UNITS + 2].1.own(&sale, "entry").await["order_id"], Value::Null);
    shop.audit_is_clean().await;
}
