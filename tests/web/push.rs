use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::agreement::{ECDH_P256, EphemeralPrivateKey};
use ring::rand::SystemRandom;

use super::*;

const ENDPOINT: &str = "https://push.example/send/";

fn browser(endpoint: &str) -> Value {
    let key = EphemeralPrivateKey::generate(&ECDH_P256, &SystemRandom::new()).unwrap();
    let p256dh = URL_SAFE_NO_PAD.encode(key.compute_public_key().unwrap());
    let auth = URL_SAFE_NO_PAD.encode([7; 16]);
    json!({"endpoint": endpoint, "p256dh": p256dh, "auth": auth, "locale": "en"})
}

impl TestClient<'_> {
    async fn subscribed(&self) -> bool {
        self.get("/api/push").await.json()["subscribed"].as_bool().unwrap()
    }

    async fn exported(&self) -> Value {
        self.get("/api/account/export").await.json()
    }
}

#[tokio::test]
async fn browser_is_subscribed_until_its_session_ends() {
    let shop = TestShop::open().await;
    let phone = shop.shopper("mei").await;
    let laptop = shop.log_in("mei", "correct horse").await;
    assert_eq!(shop.visitor().get("/api/push").await.problem(), problem(401, "not_signed_in"));
    let key = phone.get("/api/push").await.json()["key"].as_str().unwrap().to_owned();
    assert_eq!(URL_SAFE_NO_PAD.decode(&key).unwrap().len(), 65);
    assert_eq!(laptop.get("/api/push").await.json(), json!({"key": key, "subscribed": false}));
    for (client, path) in [(&phone, "phone"), (&laptop, "laptop")] {
        assert_eq!(client.put("/api/push", browser(&format!("{ENDPOINT}{path}"))).await.status, 204);
        assert!(client.subscribed().await);
    }
    assert_eq!(laptop.post("/api/logout", json!({})).await.status, 204);
    let left = phone.exported().await["push"].clone();
    assert_eq!((left.as_array().unwrap().len(), &left[0]["endpoint"]), (1, &json!("https://push.example/send/phone")));
    assert!(left[0].get("auth").is_none(), "the export has nothing to decrypt messages with");
    assert_eq!(phone.delete("/api/push").await.status, 204);
    assert!(!phone.subscribed().await);
}

#[tokio::test]
async fn browser_belongs_to_the_account_that_used_it_last() {
    let shop = TestShop::open().await;
    let (mei, lei) = (shop.shopper("mei").await, shop.shopper("lei").await);
    for client in [&mei, &lei] {
        assert_eq!(client.put("/api/push", browser(&format!("{ENDPOINT}shared"))).await.status, 204);
    }
    assert_eq!((mei.subscribed().await, lei.subscribed().await), (false, true));
}

#[tokio::test]
async fn addresses_inside_and_wrong_keys_are_refused() {
    let shop = TestShop::open().await;
    let mei = shop.shopper("mei").await;
    for endpoint in ["http://push.example/x", "https://127.0.0.1/x", "https://169.254.169.254/x", "https://redis/x"] {
        mei.put("/api/push", browser(endpoint)).await.wrong("endpoint", "bad_endpoint");
    }
    let mut short = browser(ENDPOINT);
    short["auth"] = json!("AAAA");
    assert_eq!(mei.put("/api/push", short).await.status, 422);
    assert!(!mei.subscribed().await);
}

#[tokio::test]
async fn earliest_browsers_of_an_account_give_way() {
    let clock = Clock::system();
    let shop = TestShop::open_at(&clock).await;
    let first = shop.shopper("mei").await;
    assert_eq!(first.put("/api/push", browser(&format!("{ENDPOINT}0"))).await.status, 204);
    for n in 1..=store::MAX_SUBSCRIPTIONS_PER_USER {
        let next = shop.log_in("mei", "correct horse").await;
        assert_eq!(next.put("/api/push", browser(&format!("{ENDPOINT}{n}"))).await.status, 204);
    }
    assert!(!first.subscribed().await);
    let kept = first.exported().await["push"].as_array().unwrap().len() as i64;
    assert_eq!(kept, store::MAX_SUBSCRIPTIONS_PER_USER);
}

#[tokio::test]
async fn reminders_are_counted_and_go_with_their_account() {
    let (shop, sale) = TestShop::open().await.selling(2).await;
    let admin = shop.admin().await;
    let path = format!("/api/sales/{sale}/reminder");
    let (mei, lei) = (shop.shopper("mei").await, shop.shopper("lei").await);
    for client in [&mei, &mei, &lei] {
        assert_eq!(client.put(&path, json!({})).await.status, 204);
    }
    let own = json!({"sale_id": sale, "set": true, "accounts": 2, "mail": null, "push": false});
    assert_eq!(mei.get(&path).await.json(), own);
    assert_eq!(lei.exported().await["reminders"][0]["sale_id"], json!(sale));
    lei.put("/api/push", browser(&format!("{ENDPOINT}lei"))).await;
    lei.post("/api/account/delete", json!({"username": "lei", "password": "correct horse"})).await.is(204);
    assert_eq!(mei.get(&path).await.json()["accounts"], 1);
    assert_eq!(shop.execute("DELETE FROM push_subscriptions").await, 0, "the browser went with its account");
    for _ in 0..2 {
        assert_eq!(mei.delete(&path).await.status, 204);
    }
    assert_eq!(mei.get(&path).await.json()["set"], false);
    assert_eq!(mei.get(&path).await.json()["accounts"], 0);
    admin.post(&format!("/api/admin/sales/{sale}/stop"), json!({})).await;
    assert_eq!(mei.put(&path, json!({})).await.problem(), problem(409, "ended"));
    assert_eq!(mei.get("/api/sales/99/reminder").await.problem(), problem(404, "no_such_sale"));
}

#[tokio::test]
async fn visitors_read_the_number_of_reminders_from_memory() {
    let (shop, clock) = TestShop::open_then("2026-11-24T12:00:00Z").await;
    let sale = sale_in_an_hour(&shop, json!({})).await;
    let (mei, visitor) = (shop.shopper("mei").await, shop.visitor());
    let count = async || visitor.get(&format!("/api/sales/{sale}/reminders")).await;
    assert_eq!(count().await.json(), json!({"sale_id": sale, "accounts": 0}));
    assert_eq!(count().await.header("cache-control"), "public, max-age=1");
    assert_eq!(mei.put(&format!("/api/sales/{sale}/reminder"), json!({})).await.status, 204);
    assert_eq!(count().await.json()["accounts"], 0, "the database is not read again");
    clock.advance(std::time::Duration::from_secs(60));
    assert_eq!(count().await.json()["accounts"], 1);
    assert_eq!(visitor.get("/api/sales/99/reminders").await.problem(), problem(404, "no_such_sale"));
}

#[tokio::test]
async fn reminder_says_what_reaches_the_account() {
    let clock = Clock::manual("2026-11-24T12:00:00Z".parse().unwrap());
    let shop = TestShop::build(|config| config.mail.smtp = Some("smtp://mail.example".into()), clock.clone()).await;
    let path = format!("/api/sales/{}/reminder", sale_in_an_hour(&shop, json!({})).await);
    let mei = shop.shopper("mei").await;
    let reached = async || {
        let own = mei.get(&path).await.json();
        (own["mail"].clone(), own["push"].clone())
    };
    assert_eq!(reached().await, (json!(null), json!(false)));
    mei.put("/api/push", browser(&format!("{ENDPOINT}mei"))).await;
    assert_eq!(reached().await, (json!(null), json!(true)));
    mei.verify("mei@shop.example").await;
    assert_eq!(reached().await, (json!("m•••@shop.example"), json!(true)));
}

/// The waiting messages to browsers: kind, and the sale.
async fn pushed(shop: &TestShop) -> Vec<(String, String)> {
    let due = shop.parts.store.mail().pushes_due(100).await.unwrap();
    due.iter().map(|(mail, _)| (mail.kind.to_string(), mail.facts["sale"].as_str().unwrap().to_owned())).collect()
}

fn kinds(kinds: &[(&str, &str)]) -> Vec<(String, String)> {
    kinds.iter().map(|(kind, sale)| ((*kind).to_owned(), (*sale).to_owned())).collect()
}

/// A sale that opens in an hour.
async fn sale_in_an_hour(shop: &TestShop, mode: Value) -> String {
    let mut sale = json!({"opens_at": shop.parts.clock.now() + jiff::SignedDuration::from_hours(1)});
    sale.as_object_mut().unwrap().extend(mode.as_object().unwrap().clone());
    shop.admin().await.new_sale(sale).await
}

#[tokio::test]
async fn start_of_a_sale_is_told_once_to_those_who_asked() {
    let (shop, clock) = TestShop::open_then("2026-11-24T12:00:00Z").await;
    let sale = sale_in_an_hour(&shop, json!({})).await;
    let (mei, lei) = (shop.shopper("mei").await, shop.shopper("lei").await);
    for client in [&mei, &lei] {
        let name = client.exported().await["account"]["username"].as_str().unwrap().to_owned();
        assert_eq!(client.put("/api/push", browser(&format!("{ENDPOINT}{name}"))).await.status, 204);
    }
    assert_eq!(mei.put(&format!("/api/sales/{sale}/reminder"), json!({})).await.status, 204);
    let store = &shop.parts.store;
    assert!(store.reminders().sales_about_to_start().await.unwrap().is_empty());
    clock.advance(std::time::Duration::from_secs(55 * 60));
    let soon = store.reminders().sales_about_to_start().await.unwrap();
    assert_eq!(soon.len(), 1);
    for _ in 0..2 {
        assert!(!store.reminders().tell_of_start(soon[0]).await.unwrap());
    }
    assert_eq!(pushed(&shop).await, kinds(&[("sale_starts", &sale)]));
    // Too late for accounts that ask now: they have the page in front of them.
    clock.advance(std::time::Duration::from_secs(5 * 60));
    lei.put(&format!("/api/sales/{sale}/reminder"), json!({})).await;
    assert!(!store.reminders().tell_of_start(soon[0]).await.unwrap());
    assert_eq!(pushed(&shop).await.len(), 1);
    assert_eq!(shop.execute("UPDATE sales SET state = 'ended'").await, 1);
    assert!(!store.reminders().purge().await.unwrap());
    assert!(mei.exported().await["reminders"].as_array().unwrap().is_empty());
}

#[tokio::test]
async fn opening_of_a_waiting_room_is_told_before_shoppers_may_join() {
    let (shop, clock) = TestShop::open_then("2026-11-24T12:00:00Z").await;
    let sale = sale_in_an_hour(&shop, json!({"mode": "queue", "queue_prequeue_s": 1800})).await;
    let mei = shop.shopper("mei").await;
    mei.put("/api/push", browser(&format!("{ENDPOINT}mei"))).await;
    assert_eq!(mei.put(&format!("/api/sales/{sale}/reminder"), json!({})).await.status, 204);
    let store = &shop.parts.store;
    clock.advance(std::time::Duration::from_secs(24 * 60));
    assert!(store.reminders().sales_about_to_start().await.unwrap().is_empty(), "six minutes are left");
    clock.advance(std::time::Duration::from_secs(60));
    let soon = store.reminders().sales_about_to_start().await.unwrap();
    assert_eq!(soon.len(), 1);
    assert!(!store.reminders().tell_of_start(soon[0]).await.unwrap());
    let (told, _) = store.mail().pushes_due(1).await.unwrap().remove(0);
    assert_eq!(told.facts["at"], "2026-11-24T12:30:00Z");
    assert_eq!(told.expires_at, clock.now() + jiff::SignedDuration::from_mins(5));
    clock.advance(std::time::Duration::from_secs(5 * 60));
    assert!(store.reminders().sales_about_to_start().await.unwrap().is_empty(), "shoppers may join");
}

#[tokio::test]
async fn end_of_the_time_to_pay_is_told_once() {
    let clock = Clock::manual("2026-11-24T12:00:00Z".parse().unwrap());
    let (shop, sale) = TestShop::open_at(&clock).await.selling(4).await;
    let store = &shop.parts.store;
    assert!(!store.reminders().tell_of_payment_end().await.unwrap());
    let (mei, lei) = (shop.shopper("mei").await, shop.shopper("lei").await);
    mei.put("/api/push", browser(&format!("{ENDPOINT}mei"))).await;
    for client in [&mei, &lei] {
        assert_eq!(client.buy(&sale, 1).await.status, 202);
    }
    clock.advance(std::time::Duration::from_secs(24 * 60));
    assert!(!store.reminders().tell_of_payment_end().await.unwrap());
    assert!(pushed(&shop).await.is_empty(), "six minutes are left");
    clock.advance(std::time::Duration::from_secs(61));
    for _ in 0..2 {
        assert!(!store.reminders().tell_of_payment_end().await.unwrap());
    }
    assert_eq!(pushed(&shop).await, kinds(&[("payment_ends", &sale)]));
    let (mail, _) = store.mail().pushes_due(1).await.unwrap().remove(0);
    assert_eq!(mail.expires_at, clock.now() + jiff::SignedDuration::from_secs(5 * 60 - 1));
}

#[tokio::test]
async fn order_that_ends_soon_when_notices_begin_is_told_of() {
    let clock = Clock::manual("2026-11-24T12:00:00Z".parse().unwrap());
    let (shop, sale) = TestShop::open_at(&clock).await.selling(4).await;
    let mei = shop.shopper("mei").await;
    mei.put("/api/push", browser(&format!("{ENDPOINT}mei"))).await;
    assert_eq!(mei.buy(&sale, 1).await.status, 202);
    clock.advance(std::time::Duration::from_secs(26 * 60));
    shop.parts.store.reminders().tell_of_payment_end().await.unwrap();
    assert_eq!(pushed(&shop).await, kinds(&[("payment_ends", &sale)]));
}
