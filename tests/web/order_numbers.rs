//! Order numbers for people.

use std::time::Duration;

use super::support::{assert_audit_finds_nothing, paid_order};
use super::*;

#[tokio::test]
async fn orders_are_counted_by_the_day_of_the_shop() {
    // 23:30 in Shanghai, 15:30 in UTC.
    open_shop!(shop = TestShop::open_at(&Clock::manual("2026-11-28T15:30:00Z".parse().unwrap())), admin, [mei, lan]);
    let zone = "version=0&name_zh=x&name_en=x&colour=%23c9301d&time_zone=Asia/Shanghai&languages=en&currency=CNY";
    assert_eq!(admin.send_form("/admin/shop", zone).await.status, 303);
    let sale = shop.open_sale(&admin, 5).await;
    let (first, url) = paid_order(&shop, &mei, &sale).await;
    let number = async |client: &TestClient<'_>, url: &str| client.get(url).await.json()["order"]["number"].clone();
    assert_eq!(number(&mei, &url).await, "20261128-000001");
    assert_eq!(lan.buy(&sale, 9).await.status, 422, "a refusal takes no number");
    let (_, second) = lan.order(&sale).await;
    assert_eq!(number(&lan, &second).await, "20261128-000002");
    assert_eq!(lan.buy(&sale, 1).await.json()["repeated"], true);
    shop.advance(Duration::from_secs(3600));
    let (jin, ada) = (shop.shopper("jin").await, shop.shopper("ada").await);
    shop.parts.gate.refresh().await;
    let (_, third) = jin.order(&sale).await;
    assert_eq!(number(&jin, &third).await, "20261129-000001", "after midnight there");

    // People read and search the number; the id is no longer on their pages.
    let own = format!("/en/orders/{sale}/{first}");
    for page in ["/en/orders", &own, &format!("{own}/receipt")] {
        let page = mei.get(page).await;
        assert!(page.is_page(200) && page.text().contains("20261128-000001"), "{}", page.text());
        assert!(!visible(page.text()).contains(&first[24..]), "{}", page.text());
    }
    for page in ["orders?order=20261128-000001&", "search?q=20261128-000001&", "log?"] {
        let page = admin.get(&format!("/admin/{page}lang=en")).await;
        assert!(page.is_page(200) && !visible(page.text()).contains(&first[24..]), "{}", page.text());
    }
    let refund = admin.post(&format!("/api/admin/orders/{first}/refund"), json!({"reason": "x"})).await;
    assert_eq!(refund.status, 200);
    let log = admin.get("/admin/log?lang=en&subject=order+20261128-000001").await;
    assert!(log.text().contains("Order 20261128-000001"), "{}", log.text());
    let found = admin.get("/api/admin/orders?order=20261128-000001").await.json();
    assert_eq!((found["orders"].as_array().unwrap().len(), &found["orders"][0]["id"]), (1, &json!(first)));
    let csv = admin.get("/api/admin/orders.csv").await;
    assert!(csv.text().lines().next().unwrap().ends_with(",number"), "a new column is the last one");
    assert!(csv.text().contains(",20261128-000001\r\n"), "{}", csv.text());

    // An order of an older process has none, until data control gives it one of the day on which it was written.
    let (_, fourth) = ada.order(&sale).await;
    shop.execute("UPDATE orders SET day_number = NULL WHERE day_number % 1000000000 = 1").await;
    assert_eq!(number(&mei, &url).await, Value::Null);
    assert_eq!(shop.parts.store.orders().number_missing().await.unwrap(), 2);
    assert_eq!(shop.parts.store.orders().number_missing().await.unwrap(), 0, "once");
    // The number of the repeated request was kept for that day, and went with it.
    assert_eq!(number(&mei, &url).await, "20261128-000004");
    assert_eq!(number(&jin, &third).await, "20261129-000003");
    assert_eq!(number(&ada, &fourth).await, "20261129-000002");
    assert_audit_finds_nothing(&shop).await;
}

/// The text of a page without its tags, where addresses are.
fn visible(html: &str) -> String {
    html.split('<').filter_map(|part| part.split_once('>')).map(|(_, text)| text).collect::<Vec<_>>().join(" ")
}
