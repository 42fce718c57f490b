//! Payments and top-ups as their owner reads them.

use std::time::Duration;

use payments::PayerChoice;

use super::*;

/// A payer who takes any provider.
pub fn any_provider() -> PayerChoice {
    let (provider, title, return_path) = (String::new(), String::new(), String::new());
    PayerChoice { provider, title, locale: domain::Locale::Zh, return_path, phone: None }
}

/// Reads the address in `Location` of an answer that created something. Returns the address and the payment.
async fn read_back(who: &TestClient<'_>, created: &TestResponse) -> (String, Value) {
    assert_eq!(created.status, 201, "{created:?}");
    let path = created.header("location").to_owned();
    let read = who.get(&path).await;
    assert_eq!((read.status.as_u16(), read.header("cache-control")), (200, "no-store"), "{path}");
    (path, read.json()["payment"].clone())
}

#[tokio::test]
async fn payment_is_read_by_its_owner_while_it_is_open_and_after() {
    open_shop!(shop = TestShop::open_at(&Clock::manual(Clock::system().now())), admin, [mei], sale = 2);
    let (_, url) = mei.order(&sale).await;
    let begun = mei.post(&format!("{url}/payments?lang=en"), json!({})).await;
    let (path, payment) = read_back(&mei, &begun).await;
    assert_eq!(payment["id"], begun.json()["payment"]["id"]);
    assert_eq!(payment["checkout_url"], begun.json()["checkout_url"]);
    assert_eq!((&payment["status"], &payment["provider"]), (&json!("created"), &json!("sandbox")));
    assert_eq!(payment["amount"], json!({"amount": 199_900, "currency": "CNY"}));
    assert_eq!(payment["expires_at"], mei.get(&url).await.json()["order"]["pay_by"]);
    // Neither users nor staff can read the payments of others here.
    for other in [&shop.shopper("wang").await, &admin] {
        assert_eq!(other.get(&path).await.problem(), problem(404, "not_found"));
    }
    assert_eq!(shop.visitor().get(&path).await.problem(), problem(401, "not_signed_in"));
    let id = payment["id"].as_str().unwrap();
    let other_sale = path.replacen(&format!("/sales/{sale}/"), "/sales/999/", 1);
    for wrong in [other_sale, format!("/api/wallet/top-ups/{id}"), path.replace(id, &id.replace('0', "1"))] {
        assert_eq!(mei.get(&wrong).await.problem(), problem(404, "not_found"), "{wrong}");
    }

    // A second payment ends the first one.
    let second = mei.post(&format!("{url}/payments"), json!({})).await;
    let first = mei.get(&path).await.json()["payment"].clone();
    assert_eq!((&first["status"], &first["checkout_url"]), (&json!("closed"), &Value::Null));
    let (path, payment) = read_back(&mei, &second).await;
    shop.make_payment(payment["id"].as_str().unwrap().parse().unwrap()).await;
    let paid = mei.get(&path).await.json()["payment"].clone();
    assert_eq!((&paid["status"], &paid["checkout_url"]), (&json!("captured"), &Value::Null));
}

#[tokio::test]
async fn order_has_a_bounded_number_of_payments() {
    open_shop!(shop, admin, [mei], sale = 2);
    let (_, url) = mei.order(&sale).await;
    for n in 0..50 {
        assert_eq!(mei.post(&format!("{url}/payments"), json!({})).await.status, 201, "{n}");
    }
    assert_eq!(mei.post(&format!("{url}/payments"), json!({})).await.problem(), problem(429, "rate_limited"));
}

#[tokio::test]
async fn declined_payment_is_shown_until_the_next_attempt() {
    open_shop!(shop, admin, [mei], sale = 2);
    let (order, url) = mei.order(&sale).await;
    let page = format!("/en/orders/{sale}/{order}");
    let words = "The payment was declined, and nothing was charged.";
    let begin = async || {
        let begun = mei.begin_payment(&url).await;
        begun["payment"]["id"].as_str().unwrap().parse::<PaymentId>().unwrap()
    };
    let first = begin().await;
    assert!(!mei.get(&page).await.text().contains(words));
    shop.decline_payment(first).await;
    assert!(mei.get(&page).await.text().contains(words));
    assert_eq!(mei.get(&url).await.json()["order"]["payment_declined"], json!(true));
    assert!(mei.get("/en/orders").await.text().contains("· Payment declined"));
    let second = begin().await;
    assert!(!mei.get(&page).await.text().contains(words), "another attempt is under way");
    shop.decline_payment(second).await;
    shop.make_payment(begin().await).await;
    assert_eq!(mei.get(&url).await.json()["order"]["payment_declined"], Value::Null);
    let paid = mei.get(&page).await;
    assert!(!paid.text().contains(words) && !mei.get("/en/orders").await.text().contains("Payment declined"));
    let next = ["What happens next", "Add a delivery address so the shop can send it", "/en/about#contact"];
    assert!(next.iter().all(|words| paid.text().contains(words)), "{}", paid.text());
    assert!(!paid.text().contains("about#returns"), "nothing is written about returns");
    let written = "version=0&text_zh=&text_en=Within+a+week.";
    assert_eq!(admin.send_form("/admin/pages/returns?lang=en", written).await.status, 303);
    let returns = r##"<a href="/en/about#returns">Delivery and returns</a>"##;
    assert!(mei.get(&page).await.text().contains(returns));
}

#[tokio::test]
async fn expired_payment_has_no_checkout() {
    open_shop!(shop = TestShop::open_at(&Clock::manual(Clock::system().now())), [mei]);
    let wanted = json!({"amount": {"amount": 10_000, "currency": "CNY"}});
    let begun = mei.post("/api/wallet/top-ups", wanted).await;
    let (path, top_up) = read_back(&mei, &begun).await;
    assert_eq!(top_up["checkout_url"], begun.json()["checkout_url"]);
    assert_eq!(shop.shopper("wang").await.get(&path).await.problem(), problem(404, "not_found"));
    let in_order = format!("/api/sales/1/orders/{0}/payments/{0}", top_up["id"].as_str().unwrap());
    assert_eq!(mei.get(&in_order).await.problem(), problem(404, "not_found"));
    shop.advance(Duration::from_secs(30 * 60));
    let late = mei.get(&path).await.json()["payment"].clone();
    assert_eq!((&late["status"], &late["checkout_url"]), (&json!("created"), &Value::Null));
    assert_eq!(late["expires_at"], top_up["expires_at"]);
}

#[tokio::test]
async fn wallet_payment_and_its_replay_have_the_address_of_the_payment() {
    open_shop!(shop, admin, [mei]);
    wallet::fill(&shop, &mei, 200_000).await;
    let sale = shop.open_sale(&admin, 2).await;
    let (_, url) = mei.order(&sale).await;
    let pay = async || mei.post_keyed(&format!("{url}/payments"), "k", json!({"from": "wallet"})).await;
    let (first, replayed) = (pay().await, pay().await);
    let (path, payment) = read_back(&mei, &first).await;
    assert_eq!((&payment["provider"], &payment["status"]), (&json!("wallet"), &json!("captured")));
    assert_eq!((&payment["expires_at"], &payment["checkout_url"]), (&Value::Null, &Value::Null));
    assert_eq!(replayed.header("location"), path);
}

#[tokio::test]
async fn registration_names_where_the_account_is_read() {
    let shop = TestShop::open().await;
    let answer = shop.visitor().post("/api/register", json!({"username": "mei", "password": "correct horse"})).await;
    assert_eq!((answer.status.as_u16(), answer.header("location")), (201, "/api/me"));
}
