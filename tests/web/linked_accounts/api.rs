//! Linked accounts, and the hold and release of orders, for programs.

use super::*;

/// The groups of a sale, once they have this many accounts in all. Until then the answer may be the one computed
/// before.
async fn listed(who: &TestClient<'_>, path: &str, accounts: i64) -> Value {
    loop {
        let answer = who.get(path).await.json();
        let members = answer["clusters"].as_array().into_iter().flatten().filter_map(|of| of["members"].as_i64());
        if members.sum::<i64>() == accounts {
            return answer;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn program_reads_clusters_and_holds_and_releases_their_orders() {
    open_shop!(shop, admin, sale = 10);
    let groups = format!("/api/admin/sales/{sale}/clusters");
    let none = admin.get(&groups).await.json();
    assert_eq!((&none["clusters"], &none["count"], &none["next"]), (&json!([]), &json!(0), &Value::Null));
    assert_eq!(admin.get("/api/admin/sales/77/clusters").await.problem(), problem(404, "no_such_sale"));

    let (mei, wang, lin) = (shop.shopper("mei").await, shop.shopper("wang").await, shop.shopper("lin").await);
    let (order, url) = order_to(&shop, &mei, &sale, "西湖区文三路 8 号").await;
    order_to(&shop, &wang, &sale, "西湖区文三路８号").await;
    order_to(&shop, &lin, &sale, "西湖区文三路 1 号").await;
    let listed = listed(&admin, &groups, 2).await;
    let group = &listed["clusters"][0];
    assert_eq!((&listed["count"], &group["members"]), (&json!(1), &json!(2)));
    assert_eq!(group["reasons"], json!({"address": 2}));
    assert_eq!((&group["totals"]["orders"], &group["totals"]["held"]), (&json!(2), &json!(0)));
    let one = admin.get(&format!("{groups}/{}", group["id"].as_str().unwrap())).await.json();
    assert_eq!((one["orders"].as_array().unwrap().len(), &one["cluster"]["members"]), (2, &json!(2)));
    assert!(!one.to_string().contains("文三路"), "recipients are masked");
    let of = shop.user("lin").await.id;
    assert_eq!(admin.get(&format!("{groups}/{of}")).await.problem(), problem(404, "not_found"));

    let act = async |verb: &str, reason: &str| {
        admin.post(&format!("/api/admin/orders/{order}/{verb}"), json!({"reason": reason})).await
    };
    assert_eq!(act("hold", " ").await.json()["fields"], json!([{"field": "reason", "code": "required"}]));
    for _ in 0..2 {
        let held = act("hold", REASON).await;
        assert!(held.status == 200 && held.json()["order"]["held_at"].is_string(), "{held:?}");
    }
    assert_eq!(mei.get(&url).await.json()["order"]["hold"]["reason"], REASON);
    assert_eq!(admin.get(&groups).await.json()["clusters"][0]["totals"]["held"], 1);
    for _ in 0..2 {
        let released = act("release", "all is well").await;
        assert_eq!((released.status.as_u16(), &released.json()["order"]["held_at"]), (200, &Value::Null));
    }
    let stranger = mei.post(&format!("/api/admin/orders/{order}/hold"), json!({"reason": REASON})).await;
    assert_eq!(stranger.status, 404);
    assert_audit_finds_nothing(&shop).await;
}
