//! Holds of orders by staff: appealed, released, refunded, and in races with payments, cancellations and the expiry. Parcels in
//! races with refunds, and returns that two receive at once.

use std::time::Duration;

use axum::http::Method;
use futures::future::join_all;
use serde_json::{Value, json};

use crate::support::{Answer, Client, NewSale, Plan, Rung, Shop, Shopper, eventually};

const TIMEOUT: Duration = Duration::from_secs(30);
const RACES: u64 = 12;

async fn change_hold(staff: &Client, order: &str, verb: &str, reason: &str) -> Answer {
    let fields = [("reason", reason), ("confirm", "yes")];
    staff.request(Method::POST, &format!("/admin/orders/{order}/{verb}")).form(&fields).send().await
}

async fn appeal(shopper: &Shopper, sale: &str, order: &str, text: &str) -> Answer {
    let path = format!("/en/orders/{sale}/{order}/appeal");
    shopper.client.request(Method::POST, &path).form(&[("text", text)]).send().await
}

/// A paid order. All orders here go to the same house.
async fn paid_order(shopper: &Shopper, sale: &str) -> String {
    let order = shopper.unpaid_order(sale).await;
    let address = json!({"address": {"recipient": "王小美", "phone": "13800138000", "country": "CN",
        "region": "浙江省", "city": "杭州市", "line1": "文三路 1 号"}});
    let path = format!("/api/sales/{sale}/orders/{order}/address");
    shopper.client.request(Method::PUT, &path).json(&address).send().await.expect(200);
    shopper.pay(sale, &order).await;
    order
}

async fn seen(shopper: &Shopper, sale: &str, order: &str) -> Value {
    shopper.order(sale, order).await.expect(200).json()["order"].take()
}

pub async fn linked_orders_are_held_appealed_released_and_refunded(rung: Rung) {
    let (shop, sale) = Shop::selling(rung, NewSale::of(5)).await;
    let admin = shop.admin().await;
    let shoppers: Vec<Shopper> = (0..3).map(|n| shop.shopper(n)).collect();
    let orders = join_all(shoppers.iter().map(|shopper| paid_order(shopper, &sale))).await;
    let list = admin.get(&format!("/admin/sales/{sale}/clusters?lang=en")).await.expect(200).text();
    assert!(list.contains("Same delivery address: 3 accounts"), "{list}");
    let cluster = list.split("data-group=\"").nth(1).unwrap()[..36].to_owned();
    let at = |verb: &str| format!("/admin/sales/{sale}/clusters/{cluster}/{verb}");
    let ids = orders.join(" ");
    let fields = [("orders", ids.as_str()), ("reason", "one house"), ("confirm", "yes")];
    let held = admin.request(Method::POST, &at("hold")).form(&fields).send().await.expect(303);
    assert!(held.header("location").contains("changed=3"), "{held:?}");
    for (shopper, order) in shoppers.iter().zip(&orders) {
        assert_eq!(seen(shopper, &sale, order).await["hold"]["reason"], "one house");
    }
    appeal(&shoppers[0], &sale, &orders[0], "we are a family").await.expect(303);
    change_hold(admin, &orders[0], "uphold", "please show us").await.expect(303);
    appeal(&shoppers[0], &sale, &orders[0], "here it is").await.expect(303);
    change_hold(admin, &orders[0], "release", "thank you").await.expect(303);
    assert_eq!(seen(&shoppers[0], &sale, &orders[0]).await["hold"], Value::Null);
    let refunded = admin.request(Method::POST, &at("refund")).form(&fields).send().await.expect(303);
    assert!(refunded.header("location").contains("changed=2&unchanged=1"), "{refunded:?}");
    for (shopper, order) in shoppers.iter().zip(&orders).skip(1) {
        shopper.wait_for_status(&sale, order, "refunded").await;
    }
    assert_eq!(seen(&shoppers[0], &sale, &orders[0]).await["status"], "paid");
    shop.wait_for_sold(&sale, 1, TIMEOUT).await;
    shop.audit_is_clean().await;
}

pub async fn hold_against_payment_cancellation_and_refund_has_one_end(rung: Rung) {
    let (shop, sale) = Shop::selling(rung, NewSale::of(3 * RACES as i64)).await;
    let admin = shop.admin().await;
    let (mut held_first, mut ended_first) = (0, 0);
    for n in 0..RACES {
        let (payer, canceller, refunded) = (shop.shopper(3 * n), shop.shopper(3 * n + 1), shop.shopper(3 * n + 2));
        let (one, two) = (payer.buy_one(&sale).await, canceller.buy_one(&sale).await);
        payer.wait_for_status(&sale, &one, "unpaid").await;
        canceller.wait_for_status(&sale, &two, "unpaid").await;
        let three = paid_order(&refunded, &sale).await;
        let checkout = payer.begin_payment(&sale, &one).await;
        let path = format!("/api/admin/orders/{three}/refund");
        let refund = admin.post(&path, json!({"reason": "x", "message": "sorry"}));
        let (_, _, first, second, third, _) = tokio::join!(
            payer.pay_at(&checkout),
            canceller.cancel(&sale, &two),
            change_hold(admin, &one, "hold", "x"),
            change_hold(admin, &two, "hold", "x"),
            change_hold(admin, &three, "hold", "x"),
            refund
        );
        first.expect(303);
        payer.wait_for_status(&sale, &one, "paid").await;
        assert_eq!(seen(&payer, &sale, &one).await["hold"]["reason"], "x", "a payment ends no hold");
        for (answer, shopper, order, status) in
            [(second, &canceller, &two, "cancelled"), (third, &refunded, &three, "refunded")]
        {
            match answer.status {
                303 => held_first += 1,
                _ => {
                    answer.expect(409);
                    ended_first += 1;
                }
            }
            let end = shopper.wait_for_status(&sale, order, status).await;
            assert_eq!(end["hold"], Value::Null, "{end}");
            change_hold(admin, order, "hold", "x").await.expect(409);
        }
    }
    println!("{held_first} were held before their end, {ended_first} had ended");
    shop.wait_for_sold(&sale, RACES as i64, TIMEOUT).await;
    shop.audit_is_clean().await;
}

pub async fn unpaid_held_order_expires_in_its_time(rung: Rung) {
    let (shop, sale) = Plan::on(rung).await.set("SECKILL_PAYMENT_WINDOW", "3s").open(NewSale::of(2)).await;
    let admin = shop.admin().await;
    let shopper = shop.shopper(1);
    let order = shopper.unpaid_order(&sale).await;
    change_hold(admin, &order, "hold", "x").await.expect(303);
    // The order is held and released up to the end, so that some change meets the expiry.
    eventually("the order has expired", TIMEOUT, async || {
        let (released, held) =
            (change_hold(admin, &order, "release", "x").await, change_hold(admin, &order, "hold", "x").await);
        match (released.status, held.status) {
            (_, 409) => Ok(()),
            (_, status) => Err(status.to_string()),
        }
    })
    .await;
    let end = shopper.wait_for_status(&sale, &order, "cancelled").await;
    assert_eq!((&end["reason"], &end["hold"]), (&"unpaid".into(), &Value::Null));
    shop.wait_for_sold(&sale, 0, TIMEOUT).await;
    shop.audit_is_clean().await;
}

/// A refund puts the units back on sale, so it and the sending of the parcel exclude each other.
pub async fn parcel_is_sent_or_its_order_refunded_and_never_both(rung: Rung) {
    let (shop, sale) = Shop::selling(rung, NewSale::of(RACES as i64)).await;
    let admin = shop.admin().await;
    let mut sent = 0;
    for n in 0..RACES {
        let shopper = shop.shopper(n);
        let order = paid_order(&shopper, &sale).await;
        let (refund, parcel) =
            (format!("/api/admin/orders/{order}/refund"), format!("/api/admin/orders/{order}/parcel"));
        let send = json!({"state": "shipped", "carrier": "sf", "number": "SF1234567"});
        let (refunded, shipped) = match n % 2 {
            0 => tokio::join!(admin.post(&refund, json!({"reason": "x"})), admin.post(&parcel, send)),
            _ => {
                let (shipped, refunded) =
                    tokio::join!(admin.post(&parcel, send), admin.post(&refund, json!({"reason": "x"})));
                (refunded, shipped)
            }
        };
        match (refunded.status, shipped.status) {
            (409, 200) => sent += 1,
            (200, 409) => drop(shopper.wait_for_status(&sale, &order, "refunded").await),
            other => panic!("{other:?}"),
        }
        let seen = shopper.order(&sale, &order).await.expect(200).json()["order"].take();
        assert_eq!(seen["status"] == "paid", seen["parcel"]["state"] == "shipped", "{seen}");
    }
    println!("{sent} were sent before their refund");
    shop.wait_for_sold(&sale, sent, TIMEOUT).await;
    shop.audit_is_clean().await;
}

/// The goods of a return are received at once with all of the money and with a part. One of the two begins its refund.
pub async fn goods_of_a_return_are_received_once(rung: Rung) {
    let (shop, sale) = Shop::selling(rung, NewSale::of(4)).await;
    let admin = shop.admin().await;
    let mut sold = 4;
    for n in 0..4 {
        let shopper = shop.shopper(n);
        let order = paid_order(&shopper, &sale).await;
        let at = |verb: &str| format!("/api/admin/orders/{order}/{verb}");
        for state in ["shipped", "delivered"] {
            admin.post(&at("parcel"), json!({"state": state})).await.expect(200);
        }
        let asked = format!("/api/sales/{sale}/orders/{order}/return");
        shopper.client.post(&asked, json!({"reason": "damaged"})).await.expect(200);
        admin.post(&at("return/accept"), json!({"words": "Shop"})).await.expect(200);
        let receive = at("return/receive");
        let part = json!({"amount": {"amount": 1, "currency": "CNY"}, "restock": n % 2 == 0, "reason": "x"});
        let (whole, part) = match n {
            0 | 1 => {
                tokio::join!(admin.post(&receive, json!({"restock": true, "reason": "x"})), admin.post(&receive, part))
            }
            _ => {
                (admin.post(&receive, part).await, admin.post(&receive, json!({"restock": true, "reason": "x"})).await)
            }
        };
        let mut statuses = [whole.status, part.status];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 409], "{whole:?} {part:?}");
        let seen = shopper.order(&sale, &order).await.expect(200).json()["order"].take();
        if seen["return"]["restocked"] == true {
            shopper.wait_for_status(&sale, &order, "refunded").await;
            sold -= 1;
        }
    }
    shop.wait_for_sold(&sale, sold, TIMEOUT).await;
    shop.audit_is_clean().await;
}
