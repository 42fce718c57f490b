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
    open_shop!(shop, admin, [mei, lan], sale = 3);
    let (nothing, start) = page(&admin, "").await;
    assert!(nothing.is_empty());

    let (_, first) = mei.order(&sale).await;
    let (_, second) = lan.order(&sale).await;
    let id = |url: &str| url.rsplit('/').next().unwrap().to_owned();
    let (bought, after_buying) = page(&admin, &start).await;
    let unpaid = |url: &str| (id(url), "unpaid".to_owned());
    assert_eq!(bought, [unpaid(&first), unpaid(&second)]);
    assert_eq!(page(&admin, &after_buying).await, (Vec::new(), after_buying.clone()), "nothing new");

    support::add_address(&mei, &first).await;
    let (edited, after_address) = page(&admin, &after_buying).await;
    assert_eq!(edited, [unpaid(&first)], "the address came");
    let shown = admin.get(&format!("{FEED}?after={after_buying}")).await.json()["orders"][0].clone();
    assert_eq!((&shown["address"]["recipient"], &shown["username"]), (&json!("王***"), &json!("mei")));

    pay(&shop, &mei.begin_payment(&first).await).await;
    assert_eq!(lan.post(&format!("{second}/cancel"), json!({})).await.status, 200);
    let (ended, _) = page(&admin, &after_address).await;
    assert_eq!(ended, [(id(&first), "paid".to_owned()), (id(&second), "cancelled".to_owned())]);
    let (all, last) = page(&admin, &start).await;
    assert_eq!(all, ended, "once in a page, as they are now");
    assert_eq!(page(&admin, &last).await.0, []);

    assert_eq!(admin.get(&format!("{FEED}?after=999")).await.problem(), problem(410, "cursor_expired"));
    assert_eq!(mei.get(FEED).await.status, 404);
}
