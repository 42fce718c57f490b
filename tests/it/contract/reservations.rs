//! Reservations of another shop, whose server asks again until it has an answer.

use std::time::Duration;

use axum::http::Method;
use futures::future::join_all;
use serde_json::{Value, json};

use crate::support::{NewSale, OtherShop, Plan, Rung, Shop, pause};

const TIMEOUT: Duration = Duration::from_secs(60);

/// The program of another shop, for one sale.
struct Program {
    server: OtherShop,
    path: String,
}

impl Program {
    async fn of(shop: &Shop, sale: &str) -> Program {
        Program { server: OtherShop::of(shop).await, path: format!("/api/v1/sales/{sale}/reservations") }
    }

    async fn once(&self, method: Method, path: &str, body: &Value) -> Result<(u16, Value), String> {
        let answer = self.server.ask(method, path, body).await?;
        Ok((answer.status, answer.json()))
    }

    /// Asks again while nothing is known.
    async fn insist(&self, method: Method, path: &str, body: Value) -> (u16, Value) {
        let began = tokio::time::Instant::now();
        while began.elapsed() < TIMEOUT {
            match self.once(method.clone(), path, &body).await {
                Ok((status, json)) if status < 500 && status != 429 => return (status, json),
                _ => pause(100).await,
            }
        }
        panic!("no answer to {path}");
    }

    async fn reserve(&self, shopper: &str) -> (u16, Value) {
        let (status, _) = self.insist(Method::POST, "/api/v1/shoppers", json!({"id": shopper})).await;
        assert!(status == 200 || status == 201, "{status}");
        self.insist(Method::POST, &self.path, json!({"shopper": shopper, "quantity": 1})).await
    }

    /// Reserves, and returns the path of the reservation.
    async fn held(&self, shopper: &str) -> String {
        let (status, json) = self.reserve(shopper).await;
        assert!(status == 201 || status == 200, "{status} {json}");
        assert_eq!(json["reservation"]["status"], "held", "{json}");
        format!("{}/{}", self.path, json["reservation"]["id"].as_str().unwrap())
    }

    async fn step(&self, path: &str, step: &str, body: Value) -> (u16, String) {
        let (status, json) = self.insist(Method::POST, &format!("{path}/{step}"), body).await;
        let word = json["reservation"]["status"].as_str().or(json["code"].as_str());
        (status, word.unwrap_or_default().to_owned())
    }

    async fn status(&self, path: &str) -> String {
        let (_, json) = self.insist(Method::GET, path, Value::Null).await;
        json["reservation"]["status"].as_str().unwrap_or_else(|| panic!("{json}")).to_owned()
    }

    async fn wait_for(&self, path: &str, status: &str) {
        let began = tokio::time::Instant::now();
        while self.status(path).await != status {
            assert!(began.elapsed() < TIMEOUT, "{path} never became {status}");
            pause(200).await;
        }
    }
}

/// Its order arrives in the database while its other shop asks for it.
pub async fn reservation_is_there_at_every_moment_of_its_way(rung: Rung) {
    const CUSTOMERS: u32 = 100;
    let plan = Plan::on(rung).await;
    let shop = if rung.has_redis() { plan.one_role_per_process() } else { plan }.start().await;
    let sale = shop.open(NewSale::of(CUSTOMERS.into())).await;
    let other = Program::of(&shop, &sale).await;
    let reserve_and_ask = async |n: u32| {
        let path = other.held(&format!("customer-{n}")).await;
        for _ in 0..3 {
            assert_eq!(other.status(&path).await, "held");
        }
    };
    join_all((0..CUSTOMERS).map(reserve_and_ask)).await;
}

pub async fn reservations_end_once_and_every_step_may_be_repeated(rung: Rung) {
    let plan = Plan::on(rung).await.set("SECKILL_PAYMENT_WINDOW", "10s");
    let (mut shop, sale) = if rung.has_redis() { plan.one_role_per_process() } else { plan }.open(NewSale::of(3)).await;
    let other = Program::of(&shop, &sale).await;
    let paid = other.held("paid").await;
    assert_eq!(other.step(&paid, "extend", json!({"seconds": 600})).await, (200, "held".into()));
    let confirm = json!({"reference": "order 1"});
    if rung.has_redis() {
        // The order is on its way, and stays there: what is not known is not told.
        shop.kill_all("consume");
        let late = other.held("late").await;
        let asked = other.once(Method::POST, &format!("{late}/confirm"), &json!({"reference": "order 2"})).await;
        assert_eq!(asked.unwrap().0, 503);
        shop.process("consume", 0).start();
        assert_eq!(other.step(&late, "release", json!({})).await, (200, "released".into()));
    }
    assert_eq!(other.step(&paid, "confirm", confirm.clone()).await, (200, "confirmed".into()));
    let server = if rung.has_redis() { "serve" } else { "" };
    shop.process(server, 0).kill();
    shop.process(server, 0).start();
    assert_eq!(other.step(&paid, "confirm", confirm).await, (200, "confirmed".into()));
    assert_eq!(other.step(&paid, "release", json!({})).await, (409, "reservation_confirmed".into()));

    let (left, kept) = (other.held("left").await, other.held("kept").await);
    assert_eq!(other.step(&kept, "extend", json!({"seconds": 600})).await.0, 200);
    assert_eq!(other.reserve("too-late").await.0, 409);
    other.wait_for(&left, "expired").await;
    assert_eq!(
        other.step(&left, "confirm", json!({"reference": "order 3"})).await,
        (409, "reservation_expired".into())
    );
    assert_eq!(other.status(&kept).await, "held");
    // The unit of the expired one is sold again.
    shop.wait_for_phase(&sale, "open").await;
    let next = other.held("next").await;
    assert_eq!(other.step(&next, "confirm", json!({"reference": "order 4"})).await, (200, "confirmed".into()));
    assert_eq!(other.step(&kept, "release", json!({})).await, (200, "released".into()));
    assert_eq!(other.step(&kept, "release", json!({})).await, (200, "released".into()));
    shop.wait_for_sold(&sale, 2, TIMEOUT).await;
    shop.audit_is_clean().await;
}
