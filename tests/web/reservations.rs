//! Reservations of another shop, from the first request to their end.

use std::time::Duration;

use super::tokens::TestProgram;
use super::*;

/// A sale, and the server of another shop with its customers.
struct OtherShop<'a> {
    shop: &'a TestShop,
    program: TestProgram<'a>,
    sale: String,
}

impl TestShop {
    async fn stands_before(&self, units: i64) -> OtherShop<'_> {
        let sale = self.sell(units).await;
        let program = self.program(&self.admin().await, "other shop", &["reserve", "shoppers"]).await;
        OtherShop { shop: self, program, sale }
    }
}

impl OtherShop<'_> {
    async fn name(&self, shopper: &str) {
        let named = self.program.post("/api/v1/shoppers", json!({"id": shopper})).await;
        assert!(named.status.is_success(), "{named:?}");
    }

    async fn ask(&self, shopper: &str, quantity: i64) -> TestResponse {
        let path = format!("/api/v1/sales/{}/reservations", self.sale);
        self.program.post(&path, json!({"shopper": shopper, "quantity": quantity})).await
    }

    /// Names a customer and reserves. Returns the path of the reservation.
    async fn reserve(&self, shopper: &str, quantity: i64) -> String {
        self.name(shopper).await;
        let reserved = self.ask(shopper, quantity).await.is(201);
        reserved.header("location").to_owned()
    }

    async fn confirm(&self, path: &str, reference: &str) -> TestResponse {
        self.program.post(&format!("{path}/confirm"), json!({"reference": reference})).await
    }

    async fn release(&self, path: &str) -> TestResponse {
        self.program.send("POST", &format!("{path}/release"), &[], Value::Null).await
    }

    async fn extend(&self, path: &str, seconds: u32) -> TestResponse {
        self.program.post(&format!("{path}/extend"), json!({"seconds": seconds})).await
    }

    async fn status(&self, path: &str) -> String {
        self.program.get(path).await.json()["reservation"]["status"].as_str().unwrap().to_owned()
    }

    async fn sold(&self) -> i64 {
        self.shop.parts.store.sales().get(self.sale.parse().unwrap()).await.unwrap().unwrap().sold
    }

    async fn violations(&self) -> Vec<String> {
        let audit = self.shop.parts.audit();
        let file = control::audit::AuditFile::begin(self.shop.dir.path());
        let checks = audit.run(file, |_| {}).await.unwrap();
        checks.into_iter().flat_map(|check| check.violations).collect()
    }
}

fn reservation(answer: &TestResponse) -> Value {
    answer.json()["reservation"].clone()
}

#[tokio::test]
async fn units_are_held_once_for_each_customer_and_confirmed_once() {
    let shop = TestShop::open().await;
    let admin = shop.admin().await;
    let other = shop.stands_before(3).await;
    assert_eq!(other.ask("4711", 1).await.problem(), problem(404, "no_such_shopper"));
    other.name("4711").await;
    let held = other.ask("4711", 2).await.is(201);
    let first = reservation(&held);
    assert_eq!(first["shopper"], "4711");
    assert_eq!(first["status"], "held");
    assert_eq!(first["reference"], Value::Null);
    assert_eq!(first["amount"], cny(399_800));
    let path = held.header("location").to_owned();
    let again = other.ask("4711", 1).await.is(200);
    assert_eq!(reservation(&again)["id"], first["id"]);
    assert_eq!(reservation(&again)["quantity"], 2);
    let read = other.program.get(&path).await;
    assert_eq!(reservation(&read)["shopper"], "4711");
    let until = |value: &Value| value["expires_at"].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    assert!(until(&first) <= until(&reservation(&read)), "what was promised first is kept");
    assert_eq!(other.sold().await, 2);
    for _ in 0..2 {
        let confirmed = other.confirm(&path, "order 123").await.is(200);
        assert_eq!(reservation(&confirmed)["status"], "confirmed");
        assert_eq!(reservation(&confirmed)["reference"], "order 123");
    }
    assert_eq!(other.confirm(&path, "order 124").await.problem(), problem(409, "reservation_confirmed"));
    assert_eq!(other.release(&path).await.problem(), problem(409, "reservation_confirmed"));
    assert_eq!(other.extend(&path, 60).await.problem(), problem(409, "reservation_confirmed"));
    let second = other.reserve("4712", 1).await;
    assert_eq!(other.confirm(&second, "order 123").await.problem(), problem(409, "reference_taken"));
    assert_eq!(other.status(&second).await, "held", "nothing was changed");
    other.name("4713").await;
    assert_eq!(other.ask("4713", 1).await.problem(), problem(409, "sold_out"));
    assert_eq!(other.violations().await, Vec::<String>::new());
    let log = admin.get("/api/admin/audit-log?actor=token+other+shop").await.json();
    let actions = each(&log["entries"], "action");
    assert_eq!(actions.iter().filter(|action| **action == "confirm-reservation").count(), 1, "{log}");
}

#[tokio::test]
async fn released_units_are_sold_again() {
    let shop = TestShop::open().await;
    let other = shop.stands_before(1).await;
    let path = other.reserve("4711", 1).await;
    other.name("4712").await;
    assert_eq!(other.ask("4712", 1).await.problem(), problem(409, "sold_out"));
    for _ in 0..2 {
        assert_eq!(reservation(&other.release(&path).await)["status"], "released");
    }
    shop.parts.gate.refresh().await;
    assert_eq!(other.confirm(&path, "late").await.problem(), problem(409, "reservation_released"));
    assert_eq!(other.extend(&path, 60).await.problem(), problem(409, "reservation_released"));
    assert_eq!(other.ask("4712", 1).await.status, 201);
    // A second reservation of the first customer is another one.
    assert_eq!(other.ask("4711", 1).await.problem(), problem(409, "sold_out"));
    assert_eq!(other.violations().await, Vec::<String>::new());
}

#[tokio::test]
async fn expired_reservation_is_never_confirmed_and_an_extended_one_lives() {
    let clock = Clock::manual(Clock::system().now());
    let shop = TestShop::open_at(&clock).await;
    let other = shop.stands_before(2).await;
    let (left, kept) = (other.reserve("left", 1).await, other.reserve("kept", 1).await);
    let window = shop.parts.config.payment_window;
    clock.advance(window - Duration::from_secs(1));
    let extended = other.extend(&kept, 300).await.is(200);
    let again = other.extend(&kept, 100).await;
    assert_eq!(reservation(&again)["expires_at"], reservation(&extended)["expires_at"], "it never becomes shorter");
    clock.advance(Duration::from_secs(2));
    // The expiry may be a second late, and its list of overdue orders older than an extension.
    assert_eq!(other.confirm(&left, "late").await.problem(), problem(409, "reservation_expired"));
    assert_eq!(other.extend(&left, 60).await.problem(), problem(409, "reservation_expired"));
    assert_eq!(other.status(&left).await, "expired");
    let (sale, id) = (other.sale.parse().unwrap(), kept.rsplit_once('/').unwrap().1.parse().unwrap());
    assert!(shop.parts.store.orders().expire(sale, &[id], store::LockPatience::Short).await.unwrap().is_empty());
    shop.expire().await;
    assert_eq!(other.status(&left).await, "expired");
    assert_eq!(other.status(&kept).await, "held");
    assert_eq!(other.sold().await, 1);
    assert_eq!(other.confirm(&left, "late").await.problem(), problem(409, "reservation_expired"));
    assert_eq!(other.extend(&kept, 3600).await.problem(), problem(409, "reservation_too_long"));
    assert_eq!(other.extend(&kept, 0).await.problem(), problem(422, "invalid"));
    assert_eq!(reservation(&other.confirm(&kept, "in time").await)["status"], "confirmed");
    clock.advance(Duration::from_secs(3600));
    shop.expire().await;
    assert_eq!(other.status(&kept).await, "confirmed", "what is confirmed is never given away");
    assert_eq!(other.violations().await, Vec::<String>::new());
}

#[tokio::test]
async fn promise_of_a_host_whose_clock_is_ahead_is_kept() {
    let shop = TestShop::open().await;
    shop.parts.clock.set_offset_ms(3_600_000);
    let other = shop.stands_before(1).await;
    other.name("4711").await;
    let held = other.ask("4711", 1).await;
    let read = other.program.get(held.header("location")).await;
    let [told, kept] = [&held, &read].map(|answer| reservation(answer)["expires_at"].as_str().unwrap().to_owned());
    assert!(told.parse::<jiff::Timestamp>().unwrap() <= kept.parse().unwrap(), "{told} was told, and it is {kept}");
}

#[tokio::test]
async fn list_goes_by_time_and_by_status() {
    let shop = TestShop::open().await;
    let other = shop.stands_before(10).await;
    let mut paths = Vec::new();
    for n in 0..4 {
        paths.push(other.reserve(&format!("{n}"), 1).await);
    }
    // An order of a shopper of this shop is no reservation.
    let own = shop.shopper("mei").await;
    let order = own.buy(&other.sale, 1).await.json()["order"]["id"].as_str().unwrap().to_owned();
    let path = format!("/api/v1/sales/{}/reservations", other.sale);
    for end in ["", "/release"] {
        let method = if end.is_empty() { "GET" } else { "POST" };
        other.program.send(method, &format!("{path}/{order}{end}"), &[], Value::Null).await.refuses(404, "not_found");
    }
    other.confirm(&paths[1], "r1").await;
    other.release(&paths[2]).await;
    let list = async |query: &str| {
        let page = other.program.get(&format!("{path}{query}")).await.json();
        let names = each(&page["reservations"], "shopper");
        let names: String = names.iter().map(|name| name.as_str().unwrap()).collect();
        (names, page["next"].as_str().map(str::to_owned))
    };
    assert_eq!(list("").await, ("0123".into(), None));
    let (first, next) = list("?limit=3").await;
    assert_eq!((first.as_str(), list(&format!("?limit=3&after={}", next.unwrap())).await), ("012", ("3".into(), None)));
    for (status, names) in [("held", "03"), ("confirmed", "1"), ("released", "2"), ("expired", ""), ("rejected", "")] {
        assert_eq!(list(&format!("?status={status}")).await.0, names, "{status}");
    }
    assert_eq!(other.program.get(&format!("{path}?status=sold")).await.problem(), problem(422, "invalid"));
    assert_eq!(other.program.get(&format!("{path}?limit=501")).await.problem(), problem(422, "invalid"));
    // An id of long ago is not on its way.
    other.program.get(&format!("{path}/0198c0de-0000-7000-8000-000000000001")).await.refuses(404, "not_found");
    let waiting = other.program.get(&format!("{path}/{}", Uuid::now_v7())).await;
    assert_eq!((waiting.problem(), waiting.header("retry-after").is_empty()), (problem(503, "unavailable"), false));
}

#[tokio::test]
async fn staff_see_both_kinds_and_end_a_confirmed_one_without_money() {
    let shop = TestShop::open().await;
    let admin = shop.admin().await;
    let other = shop.stands_before(5).await;
    let path = other.reserve("4711", 1).await;
    other.confirm(&path, "order 123").await;
    let id = path.rsplit_once('/').unwrap().1.to_owned();
    let own = shop.shopper("mei").await;
    own.buy(&other.sale, 1).await;
    admin.get("/admin/orders?lang=en").await.has(&["order 123", "ext:4711", "mei"]);
    admin.get(&format!("/admin/orders/{id}?lang=en")).await.has(&["order 123", "token other shop"]);
    let references = each(&admin.get("/api/admin/orders").await.json()["orders"], "reference");
    assert_eq!(references.iter().filter(|reference| **reference == "order 123").count(), 1);
    // What another shop sold, it sends.
    assert!(!admin.get("/admin/orders?parcel=none&lang=en").await.text().contains("order 123"));
    let part = json!({"amount": cny(100), "reason": "x"});
    assert_eq!(admin.post(&format!("/api/admin/orders/{id}/refund-part"), part).await.status, 409);
    admin.post(&format!("/api/admin/orders/{id}/refund"), json!({"reason": "bought twice"})).await.is(200);
    assert_eq!((other.status(&path).await.as_str(), other.sold().await), ("released", 1));
    assert_eq!(other.confirm(&path, "order 123").await.problem(), problem(409, "reservation_released"));
    assert_eq!(shop.execute("DELETE FROM payments").await, 0, "no money of ours moved");
    assert_eq!(other.violations().await, Vec::<String>::new());
    // Staff cancel what is only held.
    let held = other.reserve("4712", 1).await;
    let id = held.rsplit_once('/').unwrap().1;
    assert_eq!(admin.post(&format!("/api/admin/orders/{id}/cancel"), json!({"reason": "fraud"})).await.status, 200);
    assert_eq!(other.confirm(&held, "order 125").await.problem(), problem(409, "reservation_released"));
}

#[tokio::test]
async fn audit_sees_a_confirmation_without_a_paid_order_and_the_reverse() {
    let shop = TestShop::open().await;
    let other = shop.stands_before(5).await;
    let path = other.reserve("4711", 1).await;
    other.confirm(&path, "r").await;
    shop.execute("DELETE FROM reservations").await;
    let found = other.violations().await;
    assert!(found.iter().any(|text| text.contains("is paid and has 0 captured payments")), "{found:?}");
    let held = other.reserve("4712", 1).await;
    let id = held.rsplit_once('/').unwrap().1;
    shop.execute(format!(
        "INSERT INTO reservations (order_id, reference, token_id, confirmed_at_ms) VALUES ('{id}', 'x', 'y', 1)"
    ))
    .await;
    let found = other.violations().await;
    let mut of_order = found.iter().filter(|text| text.contains(id) && text.contains("is unpaid"));
    assert!(of_order.any(|text| text.contains("another shop confirmed it")), "{found:?}");
}

#[tokio::test]
async fn late_payment_of_ours_for_a_confirmed_reservation_goes_back() {
    let shop = TestShop::open().await;
    let other = shop.stands_before(5).await;
    let named = other.program.post("/api/v1/shoppers", json!({"id": "4711", "sale": other.sale})).await.json();
    let link = named["entry_url"].as_str().unwrap().split_once("/enter?").unwrap().1.to_owned();
    let entered = shop.visitor().get(&format!("/enter?{link}")).await;
    let shopper = TestClient { cookie: Some(entered.cookie()), ..shop.visitor() };
    let path = format!("/api/v1/sales/{}/reservations/", other.sale);
    let order = shopper.buy(&other.sale, 1).await.json()["order"]["id"].as_str().unwrap().to_owned();
    // The other shop takes the money, in a sale that does not stand in front of it, too.
    let paid = shopper.post(&format!("/api/sales/{}/orders/{order}/payments", other.sale), json!({})).await;
    assert_eq!(paid.problem(), problem(409, "sold_elsewhere"));
    let page = format!("orders/{}/{order}", other.sale);
    assert!(shopper.send_form(&format!("/en/{page}/pay"), "").await.is_page(409));
    for (lang, words) in [("en", "The shop that you came from"), ("zh", "请回到那里付款")] {
        shopper.get(&format!("/{lang}/{page}")).await.has(&[words]).lacks(&["/pay"]);
    }
    // An older version began a payment.
    let (sale, id) = (other.sale.parse().unwrap(), order.parse().unwrap());
    let stored = shop.parts.store.orders().get(sale, id).await.unwrap().unwrap();
    let payment = shop.parts.payments.start(&stored, own_payments::any_provider()).await.unwrap().payment;
    assert_eq!(other.confirm(&format!("{path}{order}"), "r").await.status, 200);
    assert_eq!(shop.make_payment(payment).await, CaptureOutcome::Refunding);
    assert_eq!(other.status(&format!("{path}{order}")).await, "confirmed");
}

#[tokio::test]
async fn repeated_reservation_is_told_in_a_paused_sale_too_and_blocked_customers_get_nothing() {
    let shop = TestShop::open().await;
    let admin = shop.admin().await;
    let other = shop.stands_before(5).await;
    let path = other.reserve("4711", 1).await;
    other.name("4712").await;
    assert_eq!(admin.post(&format!("/api/admin/sales/{}/pause", other.sale), json!({})).await.status, 200);
    shop.parts.gate.refresh_winners().await;
    let again = other.ask("4711", 1).await.is(200);
    assert!(path.ends_with(reservation(&again)["id"].as_str().unwrap()), "{again:?}");
    assert_eq!(other.ask("4712", 1).await.problem(), problem(409, "not_open"));
    assert_eq!(admin.post(&format!("/api/admin/sales/{}/resume", other.sale), json!({})).await.status, 200);
    shop.parts.gate.refresh().await;
    let account = shop.parts.store.accounts().external("4712").await.unwrap().unwrap().id;
    assert_eq!(admin.post(&format!("/api/admin/users/{account}/block"), json!({"reason": "fraud"})).await.status, 200);
    assert_eq!(other.ask("4712", 1).await.problem(), problem(403, "blocked"));
    assert_eq!(other.ask("4711", 0).await.problem(), problem(422, "bad_quantity"));
}

#[tokio::test]
async fn key_of_a_reservation_gets_the_first_answer() {
    let shop = TestShop::open().await;
    let other = shop.stands_before(5).await;
    other.name("4711").await;
    let path = format!("/api/v1/sales/{}/reservations", other.sale);
    let wanted = json!({"shopper": "4711", "quantity": 1});
    let keyed = async || other.program.send("POST", &path, &[("idempotency-key", "cart-1")], wanted.clone()).await;
    let (first, second) = (keyed().await, keyed().await);
    assert_eq!(first.status, 201);
    assert_eq!(second.status, 201);
    assert_eq!(second.header("idempotent-replayed"), "true");
    assert_eq!(first.json(), second.json());
}
