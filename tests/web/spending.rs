//! What staff may do with the shop's money, and with their own orders.

use super::support::{assert_audit_finds_nothing, pay};
use super::*;
use domain::wallet::LedgerAccount;
use engine::packets::give::MAX_OPERATOR_SPENDING;

async fn shop_balance(shop: &TestShop) -> i64 {
    shop.parts.store.wallet().balance(LedgerAccount::Shop).await.unwrap()
}

#[tokio::test]
async fn operator_has_to_ask_for_the_purse_of_the_shop() {
    let shop = TestShop::open().await;
    let admin = shop.admin().await;
    let operator = shop.staff(&admin, "olga", Role::Operator).await;
    let support = shop.staff(&admin, "sven", Role::Support).await;
    let packet = json!({"total": 5_000, "count": 2});
    // The wallet of the operator is empty.
    assert_eq!(operator.post("/api/packets", packet.clone()).await.problem(), problem(409, "not_enough"));
    assert_eq!(shop_balance(&shop).await, 0);
    let explicit = json!({"total": 5_000, "count": 2, "from": "shop"});
    assert_eq!(support.post("/api/packets", explicit.clone()).await.problem(), problem(403, "not_allowed"));
    let given = operator.post("/api/packets", explicit).await;
    assert_eq!((given.status.as_u16(), &given.json()["packet"]["from"]), (201, &json!("shop")));
    let given = admin.post("/api/packets", packet).await;
    assert_eq!((given.status.as_u16(), &given.json()["packet"]["from"]), (201, &json!("shop")), "owners need not");
    assert_eq!(shop_balance(&shop).await, -10_000);
    assert_audit_finds_nothing(&shop).await;
}

#[tokio::test]
async fn operator_spends_up_to_a_bound_within_a_day() {
    let shop = TestShop::open().await;
    let admin = shop.admin().await;
    let (olga, oleg) =
        (shop.staff(&admin, "olga", Role::Operator).await, shop.staff(&admin, "oleg", Role::Operator).await);
    let packet = |total: i64| json!({"total": total, "count": 2, "from": "shop"});
    let huge = olga.post("/api/packets", packet(900_719_925_474_099)).await;
    assert_eq!(huge.problem(), problem(403, "spending_limit"));
    assert!(huge.json()["detail"].as_str().unwrap().contains("¥10,000"), "{huge:?}");
    assert_eq!(olga.post("/api/packets", packet(MAX_OPERATOR_SPENDING - 100)).await.status, 201);
    assert_eq!(olga.post("/api/admin/packets", packet(101)).await.problem(), problem(403, "spending_limit"));
    let form = olga.send_form("/admin/packets?lang=en", "total=1.01&count=2&split=equal&key=12345678").await;
    assert!(form.is_page(403) && form.text().contains("An operator can spend ¥10,000"), "{form:?}");
    assert_eq!(olga.post("/api/admin/packets", packet(100)).await.status, 201, "up to the bound itself");
    assert_eq!(oleg.post("/api/packets", packet(100)).await.status, 201, "each operator has a bound of their own");
    assert_eq!(admin.post("/api/packets", packet(2 * MAX_OPERATOR_SPENDING)).await.status, 201, "owners have none");
    assert_eq!(shop_balance(&shop).await, -3 * MAX_OPERATOR_SPENDING - 100, "refused packets moved no money");
    assert_audit_finds_nothing(&shop).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn packets_given_at_once_do_not_pass_the_bound_together() {
    let shop = TestShop::open().await;
    let olga = shop.staff(&shop.admin().await, "olga", Role::Operator).await;
    let packet = json!({"total": MAX_OPERATOR_SPENDING * 2 / 5, "count": 2, "from": "shop"});
    let answers = futures::future::join_all((0..8).map(|_| olga.post("/api/packets", packet.clone()))).await;
    let given = answers.iter().filter(|answer| answer.status == 201).count();
    assert_eq!(given, 2, "{answers:?}");
    assert_eq!(shop_balance(&shop).await, -MAX_OPERATOR_SPENDING * 4 / 5);
}

#[tokio::test]
async fn staff_act_on_no_order_of_their_own() {
    let shop = TestShop::open().await;
    let admin = shop.admin().await;
    let sven = shop.staff(&admin, "sven", Role::Support).await;
    let sale = shop.open_sale(&admin, 4).await;
    let bought = sven.buy(&sale, 1).await.json();
    let (url, order) = (bought["status_url"].as_str().unwrap(), bought["order"]["id"].as_str().unwrap());
    let reason = json!({"reason": "changed my mind"});
    let cancelled = sven.post(&format!("/api/admin/orders/{order}/cancel"), reason.clone()).await;
    assert_eq!(cancelled.problem(), problem(409, "yourself"));
    pay(&shop, &sven.post(&format!("{url}/payments"), json!({})).await.json()).await;
    let refunded = sven.post(&format!("/api/admin/orders/{order}/refund"), reason.clone()).await;
    assert_eq!(refunded.problem(), problem(409, "yourself"));
    let page = sven.get(&format!("/admin/orders/{order}?lang=en")).await;
    assert!(page.text().contains("This order is yours") && !page.text().contains("/refund"), "{page:?}");
    let form = sven.send_form(&format!("/admin/orders/{order}/refund?lang=en"), "reason=x&confirm=yes").await;
    assert!(form.is_page(409) && form.text().contains("Another staff member"), "{form:?}");
    assert_eq!(sven.get(url).await.json()["order"]["status"], "paid");

    let refunded = admin.post(&format!("/api/admin/orders/{order}/refund"), reason).await;
    assert_eq!(refunded.json()["order"]["status"], "refund_pending", "another member of the staff may");
}

#[tokio::test]
async fn key_of_a_packet_belongs_to_one_request() {
    let shop = TestShop::open().await;
    let admin = shop.admin().await;
    let soon = (shop.parts.clock.now() + std::time::Duration::from_secs(3600)).to_string();
    let first = json!({"total": 500, "count": 2, "key": "one-request"});
    let given = admin.post("/api/packets", first.clone()).await;
    let again = admin.post("/api/packets", first.clone()).await;
    assert_eq!((again.status.as_u16(), &again.json()["packet"]["id"]), (201, &given.json()["packet"]["id"]));
    for (field, value) in [
        ("total", json!(501)),
        ("count", json!(3)),
        ("min", json!(2)),
        ("max", json!(400)),
        ("split", json!("equal")),
        ("greeting", json!("hello")),
        ("own", json!(false)),
        ("opens_at", json!(soon)),
    ] {
        let mut other = first.clone();
        other[field] = value;
        assert_eq!(
            admin.post("/api/packets", other).await.problem(),
            problem(409, "idempotency_key_reused"),
            "{field}"
        );
    }
    assert_eq!(shop_balance(&shop).await, -500);
}
