//! What staff may do with the shop's money, and with their own orders.

use super::support::{assert_audit_finds_nothing, bought, pay};
use super::*;
use domain::ledger::LedgerAccount;
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
    let shop = TestShop::open_with(|config| config.second_person_above = None).await;
    let admin = shop.admin().await;
    let (olga, oleg) =
        (shop.staff(&admin, "olga", Role::Operator).await, shop.staff(&admin, "oleg", Role::Operator).await);
    let packet = |total: i64| json!({"total": total, "count": 2, "from": "shop"});
    let huge = olga.post("/api/packets", packet(900_719_925_474_099)).await.refuses(403, "spending_limit");
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
    let shop = TestShop::open_with(|config| config.second_person_above = None).await;
    let olga = shop.staff(&shop.admin().await, "olga", Role::Operator).await;
    let packet = json!({"total": MAX_OPERATOR_SPENDING * 2 / 5, "count": 2, "from": "shop"});
    let answers = futures::future::join_all((0..8).map(|_| olga.post("/api/packets", packet.clone()))).await;
    let given = answers.iter().filter(|answer| answer.status == 201).count();
    assert_eq!(given, 2, "{answers:?}");
    assert_eq!(shop_balance(&shop).await, -MAX_OPERATOR_SPENDING * 4 / 5);
}

#[tokio::test]
async fn staff_act_on_no_order_of_their_own() {
    let (shop, sale) = TestShop::open().await.selling(4).await;
    let admin = shop.admin().await;
    let sven = shop.staff(&admin, "sven", Role::Support).await;
    let (order, url) = bought(&sven, &sale, 1).await;
    let reason = json!({"reason": "changed my mind"});
    sven.post(&format!("/api/admin/orders/{order}/cancel"), reason.clone()).await.refuses(409, "yourself");
    pay(&shop, &sven.post(&format!("{url}/payments"), json!({})).await.json()).await;
    sven.post(&format!("/api/admin/orders/{order}/refund"), reason.clone()).await.refuses(409, "yourself");
    sven.get(&format!("/admin/orders/{order}?lang=en")).await.has(&["This order is yours"]).lacks(&["/refund"]);
    let form = sven.send_form(&format!("/admin/orders/{order}/refund?lang=en"), "reason=x&confirm=yes").await;
    assert!(form.is_page(409) && form.text().contains("Another staff member"), "{form:?}");
    assert_eq!(sven.get(&url).await.json()["order"]["status"], "paid");

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
    let others = json!({"total": 501, "count": 3, "min": 2, "max": 400, "split": "equal", "greeting": "hello",
        "opens_at": soon});
    for (field, value) in others.as_object().unwrap() {
        let mut other = first.clone();
        other[field] = value.clone();
        admin.post("/api/packets", other).await.refuses(409, "idempotency_key_reused");
    }
    assert_eq!(shop_balance(&shop).await, -500);
}

fn packet(total: i64, key: &str) -> Value {
    json!({"total": total, "count": 2, "split": "equal", "greeting": "hello", "key": key})
}

#[tokio::test]
async fn packet_beyond_the_bound_waits_for_a_second_person() {
    let shop = TestShop::open_with(|config| config.second_person_above = Some(1_000)).await;
    let admin = shop.admin().await;
    let (olga, oleg) =
        (shop.staff(&admin, "olga", Role::Operator).await, shop.staff(&admin, "oleg", Role::Operator).await);
    let sven = shop.staff(&admin, "sven", Role::Support).await;
    assert_eq!(olga.post("/api/admin/packets", packet(60_000, "first-one")).await.status, 201);
    let waits = olga.post("/api/admin/packets", packet(60_000, "second-one")).await;
    assert_eq!((waits.status.as_u16(), &waits.json()["approval"]["kind"]), (202, &json!("packet")), "{waits:?}");
    let again = olga.post("/api/packets", {
        let mut same = packet(60_000, "second-one");
        same["from"] = json!("shop");
        same
    });
    let again = again.await;
    assert_eq!((again.status.as_u16(), &again.json()["approval"]["id"]), (202, &waits.json()["approval"]["id"]));
    olga.post("/api/admin/packets", packet(70_000, "second-one")).await.refuses(409, "idempotency_key_reused");
    assert_eq!(shop_balance(&shop).await, -60_000, "no money has moved");
    let owner = admin.post("/api/admin/packets", packet(100_001, "of-an-owner")).await;
    assert_eq!(owner.status, 202, "owners need a second person as well");
    assert_eq!(shop.parts.store.payments().approvals(false, None, 10).await.unwrap().len(), 2);

    let path = waits.header("location").to_owned();
    let asked = admin.get(&path).await.json()["approval"].clone();
    assert_eq!((&asked["packet"]["count"], &asked["packet"]["greeting"]), (&json!(2), &json!("hello")));
    oleg.get("/admin/orders?show=approvals&lang=en").await.has(&["Red packet from the shop", "hello"]);
    let approve = format!("{path}/approve");
    assert_eq!(olga.post(&approve, json!({})).await.problem(), problem(409, "yourself"));
    assert_eq!(sven.post(&approve, json!({})).await.problem(), problem(403, "not_allowed"));
    let approved = oleg.post(&approve, json!({})).await;
    assert_eq!((approved.status.as_u16(), &approved.json()["approval"]["status"]), (200, &json!("approved")));
    assert_eq!(oleg.post(&approve, json!({})).await.status, 409, "once");
    assert_eq!(shop_balance(&shop).await, -120_000);
    let repeated = olga.post("/api/admin/packets", packet(60_000, "second-one")).await;
    assert_eq!((repeated.status.as_u16(), &repeated.json()["packet"]["id"]), (201, &asked["packet"]["id"]));

    oleg.post(&format!("{}/decline", owner.header("location")), json!({"reason": "too much"})).await.is(200);
    assert_eq!(shop_balance(&shop).await, -120_000);
    let form = "total=2000&count=2&split=equal&key=form-of-olga";
    olga.send_form("/admin/packets?lang=en", form).await.leads("/admin/orders?show=approvals&lang=en&done=packet");
    let log = admin.get("/api/admin/audit-log").await.text().to_owned();
    for action in ["request-packet", "approve-packet", "decline-packet"] {
        assert!(log.contains(action), "{action}");
    }
    assert_audit_finds_nothing(&shop).await;
}

#[tokio::test]
async fn who_gave_or_approved_the_shops_money_and_linked_accounts_take_no_share() {
    let shop = TestShop::open_with(|config| config.second_person_above = Some(0)).await;
    let admin = shop.admin().await;
    let olga = shop.staff(&admin, "olga", Role::Operator).await;
    let (alt, mei) = (shop.shopper("olgas-other").await, shop.shopper("mei").await);
    for name in ["olga", "olgas-other"] {
        let id = shop.parts.store.accounts().user_named(name).await.unwrap().unwrap().id;
        let signal = format!(
            "INSERT INTO account_signals (user_id, sale_id, kind, digest, at_ms) VALUES ('{id}', 7, 'address', 'd', 1)"
        );
        assert_eq!(shop.execute(signal).await, 1);
    }
    let waits = olga.post("/api/admin/packets", packet(400, "one-packet")).await;
    admin.post(&format!("{}/approve", waits.header("location")), json!({})).await.is(200);
    let id = waits.json()["approval"]["packet"]["id"].as_str().unwrap().to_owned();
    let claim = format!("/api/packets/{id}/claims");
    for of in [&olga, &admin, &alt] {
        assert_eq!(of.post(&claim, json!({})).await.problem(), problem(409, "own_packet"));
    }
    assert_eq!(mei.post(&claim, json!({})).await.status, 200);
    // Also once the directory lists it.
    shop.parts.directory.refresh().await.unwrap();
    for of in [&olga, &admin, &alt] {
        assert_eq!(of.post(&claim, json!({})).await.problem(), problem(409, "own_packet"));
    }
    assert_audit_finds_nothing(&shop).await;

    for thief in ["olga", "olgas-other"] {
        let thief = shop.parts.store.accounts().user_named(thief).await.unwrap().unwrap().id;
        shop.execute(format!("UPDATE packet_claims SET user_id = '{thief}'")).await;
        let checks = shop.parts.audit().check_once().await.unwrap();
        let found = checks.iter().find(|check| check.promise.starts_with("no share of the shop")).unwrap();
        assert_eq!(found.violations.len(), 1, "{found:?}");
    }
}

#[tokio::test]
async fn packet_of_the_shop_asks_for_the_password_again() {
    let clock = Clock::manual(jiff::Timestamp::from_second(1_795_000_000).unwrap());
    let quarter = std::time::Duration::from_secs(15 * 60);
    let shop = TestShop::build(|config| config.staff_step_up = quarter, clock.clone()).await;
    let admin = shop.admin().await;
    clock.advance(quarter);
    for path in ["/api/packets", "/api/admin/packets"] {
        admin.post(path, packet(400, "one-packet")).await.refuses(403, "step_up_needed");
    }
    let form = admin.send_form("/admin/packets?lang=en", "total=4&count=2&split=equal&key=12345678").await;
    assert!(form.is_page(403) && form.text().contains("step_up_password"), "{form:?}");
    assert_eq!(shop_balance(&shop).await, 0);
    let again = format!("total=4&count=2&split=equal&key=12345678&step_up_password={}", ADMIN_PASSWORD.0);
    assert_eq!(admin.send_form("/admin/packets?lang=en", &again).await.status, 303);
    assert_eq!(shop_balance(&shop).await, -400);
}
