//! The states of an order, without payments.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use crate::support::{NewSale, Plan, Rung, Shop, Shopper, all_become, until};

const WINDOW: Duration = Duration::from_secs(3);
const TIMEOUT: Duration = Duration::from_secs(15);

fn time(json: &Value) -> Timestamp {
    json.as_str().and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("not a time: {json}"))
}

/// The statuses in an order's history.
fn steps(order: &Value) -> Vec<&str> {
    order["history"].as_array().unwrap().iter().map(|event| event["status"].as_str().unwrap()).collect()
}

pub async fn payment_window_starts_when_the_order_becomes_unpaid(rung: Rung) {
    let plan = Plan::on(rung).await.set("SECKILL_PAYMENT_WINDOW", "3s");
    let (mut shop, sale) = if rung.has_redis() { plan.one_role_per_process() } else { plan }.open(NewSale::of(5)).await;
    let shopper = shop.shopper(1);
    let order = if rung.has_redis() {
        buy_while_consumers_are_down(&mut shop, &shopper, &sale).await
    } else {
        shopper.buy_one(&sale).await
    };

    let seen = shopper.wait_for_status(&sale, &order, "unpaid").await;
    assert_eq!(steps(&seen), ["reserved", "unpaid"]);
    let (reserved, unpaid) = (time(&seen["history"][0]["at"]), time(&seen["history"][1]["at"]));
    assert_eq!(time(&seen["pay_by"]), unpaid + WINDOW, "the payment window counts from `unpaid`: {seen}");
    let waited = unpaid.duration_since(reserved).as_millis();
    assert!(waited >= if rung.has_redis() { WINDOW.as_millis() as i128 } else { 0 }, "{seen}");
    assert_eq!(seen["amount"], serde_json::json!({"amount": 1999, "currency": "CNY"}));

    let ended = shopper.wait_for_status(&sale, &order, "cancelled").await;
    assert_eq!((steps(&ended).last(), &ended["reason"]), (Some(&"cancelled"), &"unpaid".into()));
    assert!(time(&ended["history"][2]["at"]) >= time(&seen["pay_by"]), "cancelled too early: {ended}");
}

/// Buys while no consumer runs, for longer than the payment window.
async fn buy_while_consumers_are_down(shop: &mut Shop, shopper: &Shopper, sale: &str) -> String {
    shop.kill_all("consume");
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
    // Longer than the payment window, which must not run yet.
    tokio::time::sleep(WINDOW + Duration::from_millis(200)).await;
    assert_eq!(shopper.order(sale, &order).await.expect(200).json()["order"]["status"], "reserved");
    shop.process("consume", 0).start();
    order
}

pub async fn cancelled_unit_is_sold_to_another_shopper(rung: Rung) {
    let (shop, sale) = Shop::selling(rung, NewSale::of(1)).await;
    let (one, two) = (shop.shopper(1), shop.shopper(2));
    let order = one.unpaid_order(&sale).await;
    shop.wait_for_phase(&sale, "sold_out").await;
    two.buy(&sale, 1).await.expect_problem(409, "sold_out");
    two.cancel(&sale, &order).await.expect_problem(404, "not_found");

    let cancelled = one.cancel(&sale, &order).await.expect(200).json();
    assert_eq!(cancelled["order"]["status"], "cancelled");
    one.cancel(&sale, &order).await.expect_problem(409, "not_cancellable");
    shop.wait_for_phase(&sale, "open").await;
    let second = two.unpaid_order(&sale).await;
    one.buy(&sale, 1).await.expect_problem(409, "sold_out");
    // A shopper who cancelled may buy again.
    two.cancel(&sale, &second).await.expect(200);
    shop.wait_for_phase(&sale, "open").await;
    let third = one.buy_one(&sale).await;
    assert_ne!(third, order);
    one.wait_for_status(&sale, &third, "unpaid").await;
    shop.wait_for_sold(&sale, 1, TIMEOUT).await;
    shop.audit_is_clean().await;
}

pub async fn expired_orders_return_their_units_to_the_sale(rung: Rung) {
    let (shop, sale) = Plan::on(rung).await.set("SECKILL_PAYMENT_WINDOW", "3s").open(NewSale::of(20)).await;
    let first = shop.all_buy(&sale, 0..20).await;
    shop.wait_for_phase(&sale, "sold_out").await;
    shop.shopper(20).buy(&sale, 1).await.expect_problem(409, "sold_out");
    all_become(&first, &sale, "cancelled").await;
    all_units_are_on_sale(&shop, &sale).await;
    let second = shop.all_buy(&sale, 100..120).await;
    shop.wait_for_phase(&sale, "sold_out").await;
    all_become(&second, &sale, "cancelled").await;
    shop.wait_for_sold(&sale, 0, TIMEOUT).await;
    // A release reaches the stock after the order has ended in the database.
    all_units_are_on_sale(&shop, &sale).await;
    shop.audit_is_clean().await;
}

async fn all_units_are_on_sale(shop: &Shop, sale: &str) {
    let read = async || shop.wait_for_phase(sale, "open").await;
    until("every unit is on sale", TIMEOUT, read, |button| button["remaining"] == 20 && button["total"] == 20).await;
}
