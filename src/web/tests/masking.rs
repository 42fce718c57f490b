//! Recipients of orders: masked for viewers, in full for staff who deliver or help. Exports are logged.

use super::*;

#[tokio::test]
async fn viewers_see_recipients_masked() {
    let shop = TestShop::open().await;
    let (admin, mei) = (shop.admin().await, shop.shopper("mei").await);
    let sale = shop.open_sale(&admin, 2).await;
    let order = mei.buy(&sale, 1).await.json();
    let url = order["status_url"].as_str().unwrap();
    let address = json!({"address": {"recipient": "王小美", "phone": "13800138000", "country": "CN",
        "region": "浙江省", "city": "杭州市", "line1": "文三路 1 号", "postal_code": "310000"}});
    let json_type = [("content-type", "application/json")];
    assert_eq!(mei.send("PUT", &format!("{url}/address"), &json_type, address.to_string()).await.status, 200);

    let id = order["order"]["id"].as_str().unwrap();
    let paths = [
        format!("/admin/orders/{id}?lang=zh"),
        format!("/api/admin/orders/{id}"),
        "/api/admin/orders".to_owned(),
        "/api/admin/orders.csv?lang=zh".to_owned(),
    ];
    for (name, role, full) in [
        ("vera", Role::Viewer, false),
        ("otto", Role::Operator, true),
        ("sam", Role::Support, true),
        ("olga", Role::Admin, true),
    ] {
        let member = shop.staff(&admin, name, role).await;
        for path in &paths {
            let answer = member.get(path).await;
            assert_eq!(answer.status, 200, "{path}");
            for part in ["王小美", "13800138000", "文三路", "310000"] {
                assert_eq!(answer.text().contains(part), full, "{name} {path} {part}");
            }
            assert!(answer.text().contains("杭州市"), "{name} {path}");
        }
    }
    let own = mei.get(url).await;
    assert_eq!(own.json()["order"]["address"]["phone"], "13800138000", "the stored order is as it was");
}

#[tokio::test]
async fn exports_of_orders_are_logged_with_their_filter() {
    let shop = TestShop::open().await;
    let admin = shop.admin().await;
    let vera = shop.staff(&admin, "vera", Role::Viewer).await;
    assert_eq!(vera.get("/api/admin/orders.csv?status=paid&lang=en").await.status, 200);
    assert_eq!(vera.get("/api/admin/orders.csv?order=1").await.status, 422);
    let log = admin.get("/api/admin/audit-log?action=export-orders").await.json();
    let lines = log["entries"].as_array().unwrap();
    assert_eq!(lines.len(), 1, "{log}");
    assert_eq!((&lines[0]["actor"], &lines[0]["subject"]), (&json!("vera"), &json!("orders")));
    let after = lines[0]["after"].to_string();
    assert!(after.contains("paid") && after.contains("masked"), "{after}");
    assert!(admin.get("/admin/log?lang=en").await.text().contains("Export orders"));
}
