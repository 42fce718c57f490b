//! The feed of changed orders.

use super::support::pay;
use super::*;

const FEED: &str = "/api/admin/orders/changes";

/// Ids and statuses of the orders of one page, and the cursor of the next.
async fn page(admin: &TestClient<'_>, after: &str) -> (Vec<(String, String)>, String) {
    let answer = admin.get(&format!("{FEED}?after={after}")).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let json = answer.json();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let orders = json["orders"].as_array().unwrap().iter().map(|order| (text(&order["id"]), text(&order["status"])));
    (orders.collect(), text(&json["next"]))
}

#[tokio::test]
async fn feed_has_each_change_of_an_order_after_the_one_before() {
    let shop = TestShop::open().await;
    let (admin, mei, lan) = (shop.admin().await, shop.shopper("mei").await, shop.shopper("lan").await);
    let sale = shop.open_sale(&admin, 3).await;
    let (nothing, start) = page(&admin, "").await;
    assert!(nothing.is_empty());

    let first = mei.buy(&sale, 1).await.json()["status_url"].as_str().unwrap().to_owned();
    let second = lan.buy(&sale, 1).await.json()["status_url"].as_str().unwrap().to_owned();
    let id = |url: &str| url.rsplit('/').next().unwrap().to_owned();
    let (bought, after_buying) = page(&admin, &start).await;
    let unpaid = |url: &str| (id(url), "unpaid".to_owned());
    assert_eq!(bought, [unpaid(&first), unpaid(&second)]);
    assert_eq!(page(&admin, &after_buying).await, (Vec::new(), after_buying.clone()), "nothing new");

    let address = json!({"address": {"recipient": "王小明", "phone": "13800138000", "country": "CN", "region": "北京市",
        "city": "北京市", "line1": "一号", "postal_code": "100000"}});
    let json = [("content-type", "application/json")];
    assert_eq!(mei.send("PUT", &format!("{first}/address"), &json, address.to_string()).await.status, 200);
    let (edited, after_address) = page(&admin, &after_buying).await;
    assert_eq!(edited, [unpaid(&first)], "the address came");
    let shown = admin.get(&format!("{FEED}?after={after_buying}")).await.json()["orders"][0].clone();
    assert_eq!((&shown["address"]["recipient"], &shown["username"]), (&json!("王***"), &json!("mei")));

    pay(&shop, &mei.post(&format!("{first}/payments"), json!({})).await.json()).await;
    assert_eq!(lan.post(&format!("{second}/cancel"), json!({})).await.status, 200);
    let (ended, _) = page(&admin, &after_address).await;
    assert_eq!(ended, [(id(&first), "paid".to_owned()), (id(&second), "cancelled".to_owned())]);
    let (all, last) = page(&admin, &start).await;
    assert_eq!(all, ended, "once in a page, as they are now");
    assert_eq!(page(&admin, &last).await.0, []);

    assert_eq!(admin.get(&format!("{FEED}?after=999")).await.problem(), problem(410, "cursor_expired"));
    assert_eq!(mei.get(FEED).await.status, 404);
}
