//! Payments: money arrives once, and is refunded when it comes too late.

use std::time::Duration;

use axum::http::Method;
use base::clock::Clock;
use base::signing;
use futures::future::join_all;
use secrecy::SecretString;
use serde_json::{Value, json};
use standardwebhooks::Webhook;

use crate::support::{Answer, Client, NewSale, RequestBuilder, Rung, SECRET, Shop, Shopper, pause, until};

const SETTLE_TIMEOUT: Duration = Duration::from_secs(30);
/// The price of the sales here, in minor units.
const PRICE: i64 = 1999;
const WEBHOOKS: &str = "/api/webhooks/payments/sandbox";

pub async fn checkout_payment_makes_the_order_paid(rung: Rung) {
    let (shop, sale) = Shop::selling(rung, NewSale::of(5)).await;
    let shopper = shop.shopper(1);
    let order = shopper.unpaid_order(&sale).await;
    let checkout = shopper.begin_payment(&sale, &order).await;
    shopper.client.get(&checkout).await.expect(200);
    let paid = shopper.pay_at(&checkout).await.expect(303);
    assert_eq!(paid.header("location"), format!("/en/orders/{sale}/{order}"));
    // A second payment changes nothing.
    shopper.pay_at(&checkout).await.expect(303);
    let seen = shopper.wait_for_status(&sale, &order, "paid").await;
    let steps: Vec<_> = seen["history"].as_array().unwrap().iter().map(|event| event["status"].clone()).collect();
    assert_eq!(steps, ["reserved", "unpaid", "paid"]);
    shopper.cancel(&sale, &order).await.expect_problem(409, "not_cancellable");
    let again = format!("/api/sales/{sale}/orders/{order}/payments");
    shopper.client.post(&again, json!({})).await.expect_problem(409, "not_payable");
    let numbers = shop.numbers(&sale).await;
    assert_eq!((&numbers["paid"], &numbers["unpaid"]), (&1.into(), &0.into()));
    shop.audit_is_clean().await;
}

const RACES: u64 = 200;
const CONCURRENT_RACES: u64 = 20;

pub async fn concurrent_payment_and_cancellation_have_one_winner(rung: Rung) {
    let (shop, sale) = Shop::selling(rung, NewSale::of(RACES as i64)).await;
    let (mut paid, mut refunded, mut unpaid) = (0, 0, 0);
    // Milliseconds between payment and cancellation, adjusted to the outcomes so that the race stays close.
    let mut head_start: u64 = 5;
    for first in (0..RACES).step_by(CONCURRENT_RACES as usize) {
        let races = (first..first + CONCURRENT_RACES).map(|n| race(&shop, &sale, n, head_start));
        let ends: Vec<&str> = join_all(races).await;
        let won = ends.iter().filter(|end| **end == "paid").count();
        let too_late = ends.iter().filter(|end| **end == "cancelled").count();
        (paid, refunded, unpaid) = (paid + won, refunded + ends.len() - won - too_late, unpaid + too_late);
        let cancelled_too_often = won * 2 < ends.len();
        head_start = if cancelled_too_often { head_start * 2 + 1 } else { head_start / 2 };
    }
    println!("{paid} were paid, {refunded} were cancelled and refunded, {unpaid} were closed before they were paid");
    assert!(paid > 0 && refunded > 0, "there was no race: {paid} paid, {refunded} refunded");
    shop.wait_for_sold(&sale, paid as i64, SETTLE_TIMEOUT).await;
    let button = shop.wait_for_phase(&sale, "open").await;
    assert_eq!(button["remaining"], refunded + unpaid);
    shop.audit_is_clean().await;
}

/// Pays and cancels one order at the same moment. Returns `paid`, `refunded`, or `cancelled` if the payment was closed
/// in time.
async fn race(shop: &Shop, sale: &str, n: u64, head_start: u64) -> &'static str {
    let shopper = shop.shopper(n);
    let order = shopper.unpaid_order(sale).await;
    let checkout = shopper.begin_payment(sale, &order).await;
    let cancel = async {
        pause(head_start + n % 7).await;
        shopper.cancel(sale, &order).await
    };
    let (paid, cancelled) = tokio::join!(shopper.pay_at(&checkout), cancel);
    if paid.status == 409 {
        cancelled.expect(200);
        assert_eq!(wait_for_end(&shopper, sale, &order, "cancelled").await, ["reserved", "unpaid", "cancelled"]);
        return "cancelled";
    }
    paid.expect(303);
    if cancelled.status == 200 {
        let end = wait_for_end(&shopper, sale, &order, "refunded").await;
        assert_eq!(end, ["reserved", "unpaid", "cancelled", "refund_pending", "refunded"]);
        return "refunded";
    }
    cancelled.expect_problem(409, "not_cancellable");
    assert_eq!(wait_for_end(&shopper, sale, &order, "paid").await, ["reserved", "unpaid", "paid"]);
    "paid"
}

/// Waits for the end of an order and returns its statuses. Statuses with the same millisecond are sorted in the order
/// of the state machine.
async fn wait_for_end(shopper: &Shopper, sale: &str, order: &str, status: &str) -> Vec<String> {
    const EDGES: [&str; 6] = ["reserved", "unpaid", "paid", "cancelled", "refund_pending", "refunded"];
    let end = shopper.reaches(sale, order, status, SETTLE_TIMEOUT).await;
    let events: &Vec<Value> = end["history"].as_array().unwrap();
    let mut steps: Vec<String> = events.iter().map(|event| event["status"].as_str().unwrap().to_owned()).collect();
    steps.sort_by_key(|step| EDGES.iter().position(|edge| edge == step));
    steps
}

/// The balance of the shopper's wallet, in minor units.
async fn balance(shopper: &Shopper) -> i64 {
    shopper.client.get("/api/wallet").await.expect(200).json()["balance"]["amount"].as_i64().unwrap()
}

pub async fn wallet_is_topped_up_pays_and_receives_the_refund(rung: Rung) {
    let (shop, sale) = Shop::selling(rung, NewSale::of(5)).await;
    // The database knows this log-in, so it proves who spends.
    let shopper = Shopper::new(shop.register("mei", "correct horse").await);
    let order = shopper.buy_one(&sale).await;
    let price = shopper.wait_for_status(&sale, &order, "unpaid").await["amount"]["amount"].as_i64().unwrap();
    let top_up = json!({"amount": {"amount": price + 100, "currency": "CNY"}});
    let top_up = shopper.client.post("/api/wallet/top-ups", top_up).await.expect(201).json();
    let cashier = format!("/sandbox/cashier/{}", top_up["payment"]["id"].as_str().unwrap());
    shopper.pay_at(&cashier).await.expect(303);
    shopper.pay_at(&cashier).await.expect(303);
    let read = async || balance(&shopper).await;
    until("the wallet is filled", SETTLE_TIMEOUT, read, |balance| *balance == price + 100).await;
    let payments = format!("/api/sales/{sale}/orders/{order}/payments");
    let attempts = (0..5).map(|_| shopper.client.post(&payments, json!({"from": "wallet"})));
    let statuses: Vec<u16> = join_all(attempts).await.iter().map(|answer| answer.status).collect();
    assert_eq!(statuses.iter().filter(|status| **status == 201).count(), 1, "{statuses:?}");
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 4, "{statuses:?}");
    assert_eq!(balance(&shopper).await, 100);
    let refund = format!("/api/admin/orders/{order}/refund");
    shop.admin().await.post(&refund, json!({"reason": "broken"})).await.expect(200);
    wait_for_end(&shopper, &sale, &order, "refunded").await;
    assert_eq!(balance(&shopper).await, price + 100);
    shop.audit_is_clean().await;
}

/// A webhook as the provider sends it: id, time, signature, body.
pub struct SignedWebhook {
    id: String,
    at: i64,
    signature: String,
    body: String,
}

impl SignedWebhook {
    /// A report that ¥19.99 was captured.
    fn new(key: &[u8], payment: &str, id: &str, at: i64) -> SignedWebhook {
        let data = json!({"payment_id": payment, "amount": {"amount": PRICE, "currency": "CNY"}});
        SignedWebhook::of(key, id, at, json!({"type": "payment.captured", "data": data}))
    }

    pub fn of(key: &[u8], id: &str, at: i64, body: Value) -> SignedWebhook {
        let body = body.to_string();
        let signature = Webhook::from_bytes(key.to_vec()).unwrap().sign(id, at, body.as_bytes()).unwrap();
        SignedWebhook { id: id.into(), at, signature, body }
    }

    async fn deliver(&self, shop: &Shop, body: &str) -> Answer {
        self.request(&shop.client(), body).send().await
    }

    /// The status of the answer, if there is one.
    pub async fn try_deliver(&self, client: &Client) -> Option<u16> {
        self.request(client, &self.body).try_send().await.ok().map(|answer| answer.status)
    }

    fn request<'a>(&self, client: &'a Client, body: &str) -> RequestBuilder<'a> {
        let request = client.request(Method::POST, WEBHOOKS).header("webhook-id", &self.id);
        let request = request.header("webhook-timestamp", &self.at.to_string());
        request.header("webhook-signature", &self.signature).body("application/json", body.to_owned())
    }
}

pub async fn webhook_counts_once_and_only_with_a_valid_signature(rung: Rung) {
    let (shop, sale) = Shop::selling(rung, NewSale::of(5)).await;
    let shopper = shop.shopper(1);
    let order = shopper.unpaid_order(&sale).await;
    let checkout = shopper.begin_payment(&sale, &order).await;
    let payment = checkout.rsplit('/').next().unwrap();
    let key = webhook_key();
    let now = Clock::system().now().as_second();

    let forged = SignedWebhook::new(&[7; 32], payment, "msg_1", now);
    forged.deliver(&shop, &forged.body).await.expect_problem(401, "bad_signature");
    let old = SignedWebhook::new(&key, payment, "msg_1", now - 3600);
    old.deliver(&shop, &old.body).await.expect_problem(401, "bad_signature");
    let genuine = SignedWebhook::new(&key, payment, "msg_1", now);
    genuine.deliver(&shop, &format!("{} ", genuine.body)).await.expect_problem(401, "bad_signature");
    let unsigned = shop.client().post(WEBHOOKS, json!({})).await;
    unsigned.expect_problem(401, "bad_signature");
    assert_eq!(shopper.order(&sale, &order).await.json()["order"]["status"], "unpaid");

    // Delivered concurrently, then again, then under another id: it counts once.
    let answers = join_all((0..5).map(|_| genuine.deliver(&shop, &genuine.body))).await;
    answers.into_iter().for_each(|answer| drop(answer.expect(204)));
    genuine.deliver(&shop, &genuine.body).await.expect(204);
    let renamed = SignedWebhook::new(&key, payment, "msg_2", now);
    renamed.deliver(&shop, &renamed.body).await.expect(204);
    let seen = shopper.wait_for_status(&sale, &order, "paid").await;
    assert_eq!(seen["history"].as_array().unwrap().len(), 3, "{seen}");
    let unknown = SignedWebhook::new(&key, "0198c0de-0000-7000-8000-00000000dead", "msg_3", now);
    unknown.deliver(&shop, &unknown.body).await.expect(204);
    shop.audit_is_clean().await;
}

pub fn webhook_key() -> Vec<u8> {
    signing::key_for(&SecretString::from(SECRET.to_owned()), "sandbox webhooks").to_vec()
}

pub async fn report_of_another_amount_pays_nothing_and_is_seen_by_staff(rung: Rung) {
    let (shop, sale) = Shop::selling(rung, NewSale::of(5)).await;
    let (shopper, admin) = (shop.shopper(1), shop.admin().await);
    let order = shopper.unpaid_order(&sale).await;
    let checkout = shopper.begin_payment(&sale, &order).await;
    let payment = checkout.rsplit('/').next().unwrap();
    let now = Clock::system().now().as_second();
    for (n, amount) in
        [json!({"amount": 1, "currency": "CNY"}), json!({"amount": PRICE, "currency": "USD"})].into_iter().enumerate()
    {
        let body = json!({"type": "payment.captured", "data": {"payment_id": payment, "amount": amount}});
        let lie = SignedWebhook::of(&webhook_key(), &format!("msg_lie_{n}"), now, body);
        lie.deliver(&shop, &lie.body).await.expect(204);
    }
    let seen = admin.get(&format!("/api/admin/orders/{order}")).await.expect(200).json();
    assert_eq!(seen["order"]["status"], "unpaid");
    assert_eq!(seen["order"]["payments"][0]["status"], "mismatched");
    let page = admin.get("/admin/orders?show=payments&lang=en").await.expect(200);
    assert_eq!(page.text().matches("data-case=\"mismatched\"").count(), 2, "{}", page.text());
    assert!(page.text().contains(payment) && page.text().contains("¥0.01"), "{}", page.text());

    // The shopper is not stuck, because another payment of the order counts.
    shopper.pay(&sale, &order).await;
    shop.audit_is_clean().await;
}

pub async fn payment_closes_when_its_order_ends(rung: Rung) {
    let (shop, sale) = Shop::selling(rung, NewSale::of(5)).await;
    let begun = async |n: u64| {
        let shopper = shop.shopper(n);
        let order = shopper.unpaid_order(&sale).await;
        let checkout = shopper.begin_payment(&sale, &order).await;
        (shopper, order, checkout)
    };
    let closed = async |shopper: &Shopper, checkout: &str| {
        let read = async || shopper.client.get(checkout).await.expect(200).text().to_owned();
        until("the payment is closed", SETTLE_TIMEOUT, read, |page| page.contains("This payment is closed")).await;
        let refused = shopper.pay_at(checkout).await.expect(409);
        assert!(refused.text().contains("This payment is closed"), "{}", refused.text());
    };
    let (mei, order, first) = begun(1).await;
    mei.cancel(&sale, &order).await.expect(200);
    closed(&mei, &first).await;

    // A second payment closes the first, so that the order is not paid twice.
    let (li, order, first) = begun(2).await;
    let second = li.begin_payment(&sale, &order).await;
    let refused = li.pay_at(&first).await.expect(409);
    assert!(refused.text().contains("This payment is closed"), "{}", refused.text());
    li.pay_at(&second).await.expect(303);
    li.wait_for_status(&sale, &order, "paid").await;
    let zh = li.client.get(&format!("{first}?lang=zh")).await.expect(200);
    assert!(zh.text().contains("这笔付款已关闭"), "{}", zh.text());

    let (wang, order, first) = begun(3).await;
    let cancel = format!("/api/admin/orders/{order}/cancel");
    shop.admin().await.post(&cancel, json!({"reason": "fraud"})).await.expect(200);
    closed(&wang, &first).await;
    shop.audit_is_clean().await;
}
