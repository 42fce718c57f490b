//! Notices that accounts get before it is too late.

use std::time::Duration;

use axum::http::Method;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::agreement::{ECDH_P256, EphemeralPrivateKey};
use ring::rand::SystemRandom;
use serde_json::json;

use crate::support::{NewSale, Plan, Rung, Shopper, until};

const TIMEOUT: Duration = Duration::from_secs(60);
/// A little longer than the time between a notice and the end that it announces.
const PAYMENT_WINDOW: &str = "5m 10s";

/// Subscribes a browser whose push service does not exist, so that its messages wait.
async fn subscribe(shopper: &Shopper) {
    let key = EphemeralPrivateKey::generate(&ECDH_P256, &SystemRandom::new()).unwrap();
    let browser = json!({
        "endpoint": "https://push.invalid/send/1", "p256dh": URL_SAFE_NO_PAD.encode(key.compute_public_key().unwrap()),
        "auth": URL_SAFE_NO_PAD.encode([7; 16]), "locale": "en",
    });
    shopper.client.request(Method::PUT, "/api/push").json(&browser).send().await.expect(204);
}

/// The kinds of messages to the account's browsers, each with its sale.
async fn pushed(shopper: &Shopper) -> Vec<(String, String)> {
    let export = shopper.client.get("/api/account/export").await.expect(200).json();
    let messages = export["mail"]["messages"].as_array().unwrap().iter().filter(|message| message["to"] == "push");
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let mut found: Vec<_> =
        messages.map(|message| (text(&message["about"]), text(&message["facts"]["sale"]))).collect();
    found.sort();
    found
}

pub async fn urgent_messages_are_written_once_and_end_with_the_session(rung: Rung) {
    let shop = Plan::on(rung).await.set("SECKILL_PAYMENT_WINDOW", PAYMENT_WINDOW).one_role_per_process().start().await;
    let shopper = Shopper::new(shop.register("mei", "correct horse battery").await);
    subscribe(&shopper).await;
    let later = shop.create(NewSale::of(1).opens_in(Duration::from_secs(200))).await;
    let reminder = format!("/api/sales/{later}/reminder");
    for _ in 0..2 {
        shopper.client.request(Method::PUT, &reminder).send().await.expect(204);
    }
    assert_eq!(shopper.client.get(&reminder).await.expect(200).json()["accounts"], 1);
    let queue = shop.create(NewSale::of(1).opens_in(Duration::from_secs(6)).queue()).await;
    shopper.client.post(&format!("/api/sales/{queue}/place"), json!({})).await.expect(201);
    let rush = shop.open(NewSale::of(1)).await;
    shopper.unpaid_order(&rush).await;

    let expected = [("payment_ends", &rush), ("sale_starts", &later), ("turn_called", &queue)];
    let expected = expected.map(|(kind, sale)| (kind.to_owned(), sale.clone()));
    let read = async || pushed(&shopper).await;
    until("all three are written", TIMEOUT, read, |pushed| pushed.len() >= expected.len()).await;
    assert_eq!(pushed(&shopper).await, expected);

    // Another device of the account still sees the messages, until the browser that subscribed logs out.
    let credentials = json!({"username": "mei", "password": "correct horse battery"});
    let login = shop.client().post("/api/login", credentials).await.expect(200);
    let cookie = login.header("set-cookie").split(';').next().unwrap().to_owned();
    let other = Shopper::new(shop.client().with_cookie(&cookie));
    shopper.client.post("/api/logout", json!({})).await.expect(204);
    assert!(pushed(&other).await.is_empty());
    let export = other.client.get("/api/account/export").await.expect(200).json();
    assert_eq!((export["push"].clone(), export["reminders"].as_array().unwrap().len()), (json!([]), 1));
    shop.audit_is_clean().await;
}
