//! An order's life without money.

use std::time::Duration;

use futures::future::join_all;
use jiff::Timestamp;
use serde_json::Value;

use crate::support::{NewSale, Plan, Rung, Shop, Shopper, eventually};

const WINDOW: Duration = Duration::from_secs(3);
const SOON: Duration = Duration::from_secs(15);

fn time(json: &Value) -> Timestamp {
    json.as_str().and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("not a time: {json}"))
}

/// The steps of an order's history.
fn steps(order: &Value) -> Vec<&str> {
    order["history"].as_array().unwrap().iter().map(|event| event["status"].as_str().unwrap()).collect()
}

pub async fn an_order_is_unpaid_soon_and_has_its_whole_time_from_then_on(rung: Rung) {
    let plan = Plan::on(rung).await.set("SECKILL_PAYMENT_WINDOW", "3s");
    let mut shop = if rung.has_redis() { plan.apart() } else { plan }.start().await;
    let sale = shop.open(NewSale::of(5)).await;
    let shopper = shop.shopper(1);
    let order = if rung.has_redis() { held_up(&mut shop, &shopper, &sale).await } else { shopper.wins(&sale).await };

    let seen = shopper.sees(&sale, &order, "unpaid").await;
    assert_eq!(steps(&seen), ["reserved", "unpaid"]);
    let (reserved, unpaid) = (time(&seen["history"][0]["at"]), time(&seen["history"][1]["at"]));
    assert_eq!(time(&seen["pay_by"]), unpaid + WINDOW, "the time to pay counts from `unpaid`: {seen}");
    let waited = unpaid.duration_since(reserved).as_millis();
    assert!(waited >= if rung.has_redis() { WINDOW.as_millis() as i128 } else { 0 }, "{seen}");
    assert_eq!(seen["amount"], serde_json::json!({"amount": 1999, "currency": "CNY"}));

    let ended = shopper.sees(&sale, &order, "cancelled").await;
    assert_eq!((steps(&ended).last(), &ended["reason"]), (Some(&"cancelled"), &"unpaid".into()));
    assert!(time(&ended["history"][2]["at"]) >= time(&seen["pay_by"]), "cancelled too early: {ended}");
}

/// Buys while nobody brings orders to the database, for longer than the time to pay.
async fn held_up(shop: &mut Shop, shopper: &Shopper, sale: &str) -> String {
    for n in 0..2 {
        shop.process("consume", n).kill();
    }
    let receipt = shopper.buy(sale, 1).await.expect(202);
    let (order, json) = (receipt.order_id(), receipt.json());
    assert_eq!(json["order"]["status"], "reserved");
    assert_eq!(json["status_url"], format!("/api/sales/{sale}/orders/{order}"));
    let seen = shopper.order(sale, &order).await.expect(200).json();
    assert_eq!((&seen["order"]["status"], &seen["order"]["pay_by"]), (&"reserved".into(), &Value::Null));
    shopper.cancel(sale, &order).await.expect_problem(409, "not_cancellable");
    let pay = format!("/api/sales/{sale}/orders/{order}/payments");
    shopper.client.post(&pay, serde_json::json!({})).await.expect_problem(409, "not_payable");
    shop.shopper(2).order(sale, &order).await.expect_problem(404, "not_found");
    // Somebody who is slow is what this is about.
    tokio::time::sleep(WINDOW + Duration::from_millis(200)).await;
    assert_eq!(shopper.order(sale, &order).await.expect(200).json()["order"]["status"], "reserved");
    shop.process("consume", 0).start();
    order
}

pub async fn a_cancelled_unit_is_sold_to_somebody_else(rung: Rung) {
    let shop = Shop::start(rung).await;
    let sale = shop.open(NewSale::of(1)).await;
    let (one, two) = (shop.shopper(1), shop.shopper(2));
    let order = one.wins(&sale).await;
    one.sees(&sale, &order, "unpaid").await;
    shop.shows(&sale, "sold_out").await;
    two.buy(&sale, 1).await.expect_problem(409, "sold_out");
    two.cancel(&sale, &order).await.expect_problem(404, "not_found");

    let cancelled = one.cancel(&sale, &order).await.expect(200).json();
    assert_eq!(cancelled["order"]["status"], "cancelled");
    one.cancel(&sale, &order).await.expect_problem(409, "not_cancellable");
    shop.shows(&sale, "open").await;
    let second = two.wins(&sale).await;
    two.sees(&sale, &second, "unpaid").await;
    one.buy(&sale, 1).await.expect_problem(409, "sold_out");
    // Whoever cancelled is a shopper like any other.
    two.cancel(&sale, &second).await.expect(200);
    shop.shows(&sale, "open").await;
    let third = one.wins(&sale).await;
    assert_ne!(third, order);
    one.sees(&sale, &third, "unpaid").await;
    shop.has_sold(&sale, 1, SOON).await;
    shop.audit_is_clean().await;
}

/// Everybody in a range buys one unit; the answer are the orders.
async fn all_buy(shop: &Shop, sale: &str, users: std::ops::Range<u64>) -> Vec<(Shopper, String)> {
    join_all(users.map(async |n| {
        let shopper = shop.shopper(n);
        let order = shopper.wins(sale).await;
        (shopper, order)
    }))
    .await
}

pub async fn unpaid_orders_end_and_their_units_are_sold_again(rung: Rung) {
    let shop = Plan::on(rung).await.set("SECKILL_PAYMENT_WINDOW", "3s").start().await;
    let sale = shop.open(NewSale::of(20)).await;
    let first = all_buy(&shop, &sale, 0..20).await;
    shop.shows(&sale, "sold_out").await;
    shop.shopper(20).buy(&sale, 1).await.expect_problem(409, "sold_out");
    for (shopper, order) in &first {
        shopper.sees(&sale, order, "cancelled").await;
    }
    eventually("every unit is on sale again", SOON, async || {
        let button = shop.shows(&sale, "open").await;
        if button["remaining"] == 20 { Ok(()) } else { Err(button.to_string()) }
    })
    .await;
    let second = all_buy(&shop, &sale, 100..120).await;
    shop.shows(&sale, "sold_out").await;
    for (shopper, order) in &second {
        shopper.sees(&sale, order, "cancelled").await;
    }
    shop.has_sold(&sale, 0, SOON).await;
    let button = shop.shows(&sale, "open").await;
    assert_eq!((&button["remaining"], &button["total"]), (&20.into(), &20.into()));
    shop.audit_is_clean().await;
}
