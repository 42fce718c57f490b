//! When a sale sells: schedule, pause, resume, stop.

use std::time::{Duration, Instant};

use base::clock::Clock;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::support::{NewSale, Rung, Shop, pause, until};

const TIMEOUT: Duration = Duration::from_secs(10);

pub async fn nothing_is_sold_before_the_opening(rung: Rung) {
    let shop = Shop::start(rung).await;
    let draft = shop.create(NewSale::of(5)).await;
    let shopper = shop.shopper(1);
    // A draft is not public.
    shopper.client.get(&format!("/api/sales/{draft}/button")).await.expect_problem(404, "no_such_sale");
    shopper.token(&draft).await.expect_problem(404, "no_such_sale");

    let announced = shop.create(NewSale::of(5).opens_in(Duration::from_secs(3600))).await;
    shop.wait_for_phase(&announced, "upcoming").await;
    shopper.token(&announced).await.expect_problem(409, "not_open");
    let order = json!({"quantity": 1, "token": "made-up"});
    let orders = format!("/api/sales/{announced}/orders");
    shopper.client.post(&orders, order.clone()).await.expect_problem(409, "not_open");
    // The form without scripts has no token; the window is enforced for it too.
    let form = shopper.client.request(axum::http::Method::POST, &format!("/en/sales/{announced}/buy"));
    form.form(&[("quantity", "1")]).send().await.expect(409);

    shop.change_sale_state(&announced, "start").await;
    shop.wait_for_phase(&announced, "open").await;
    shopper.client.post(&orders, order).await.expect_problem(403, "bad_token");
    shopper.buy_one(&announced).await;
}

fn time(json: &Value) -> Timestamp {
    json.as_str().and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("not a time: {json}"))
}

pub async fn scheduled_sale_opens_and_closes_on_time(rung: Rung) {
    let shop = Shop::start(rung).await;
    let scheduled = NewSale::of(50).opens_in(Duration::from_secs(2)).closes_in(Duration::from_secs(5));
    let sale = shop.create(scheduled).await;
    let button = shop.wait_for_phase(&sale, "upcoming").await;
    let (opens, closes) = (time(&button["opens_at"]), time(&button["closes_at"]));

    // Requests are sent continuously, starting before the opening. The first is granted at the opening, not before.
    let first = Instant::now();
    let mut n = 0;
    let order = loop {
        let answer = shop.shopper(n).buy(&sale, 1).await;
        n += 1;
        if answer.status == 202 {
            break answer.order_id();
        }
        answer.expect_problem(409, "not_open");
        assert!(first.elapsed() < TIMEOUT, "the sale does not open");
        pause(10).await;
    };
    let late = Clock::system().now().duration_since(opens);
    assert!(!late.is_negative() && late.as_millis() < 1_500, "the first order came {late:?} after the opening");
    let order = shop.shopper(n - 1).wait_for_status(&sale, &order, "unpaid").await;
    assert!(time(&order["history"][0]["at"]) >= opens, "reserved before the opening: {order}");

    shop.wait_for_phase(&sale, "ended").await;
    assert!(Clock::system().now() >= closes);
    let shopper = shop.shopper(n);
    shopper.token(&sale).await.expect_problem(409, "ended");
    let read = async || shop.numbers(&sale).await;
    until("the sale is over for good", TIMEOUT, read, |numbers| numbers["state"] == "ended").await;
    // This shopper got a token before the end.
    shop.shopper(n - 1).client.post(&format!("/api/sales/{sale}/token"), json!({})).await.expect_problem(409, "ended");
    shop.audit_is_clean().await;
}

pub async fn administrator_pauses_resumes_tops_up_and_stops(rung: Rung) {
    let (shop, sale) = Shop::selling(rung, NewSale::of(2)).await;
    let (one, two, three, four) = (shop.shopper(1), shop.shopper(2), shop.shopper(3), shop.shopper(4));
    one.buy_one(&sale).await;
    // Tokens were issued while the sale was open.
    two.token(&sale).await.expect(200);

    shop.change_sale_state(&sale, "pause").await;
    shop.wait_for_phase(&sale, "paused").await;
    two.buy(&sale, 1).await.expect_problem(409, "not_open");
    let path = format!("/api/admin/sales/{sale}/pause");
    shop.admin().await.post(&path, json!({})).await.expect_problem(409, "wrong_state");

    shop.change_sale_state(&sale, "resume").await;
    shop.wait_for_phase(&sale, "open").await;
    two.buy_one(&sale).await;
    shop.wait_for_phase(&sale, "sold_out").await;
    three.buy(&sale, 1).await.expect_problem(409, "sold_out");

    let top_up = format!("/api/admin/sales/{sale}/top-up");
    shop.admin().await.post(&top_up, json!({"units": 2})).await.expect(200);
    let button = shop.wait_for_phase(&sale, "open").await;
    assert_eq!((&button["total"], &button["remaining"]), (&4.into(), &2.into()));
    three.buy_one(&sale).await;
    four.token(&sale).await.expect(200);

    shop.change_sale_state(&sale, "stop").await;
    shop.wait_for_phase(&sale, "ended").await;
    four.buy(&sale, 1).await.expect_problem(409, "ended");
    shop.admin().await.post(&top_up, json!({"units": 2})).await.expect_problem(409, "wrong_state");
    shop.wait_for_sold(&sale, 3, TIMEOUT).await;
    shop.audit_is_clean().await;
}
