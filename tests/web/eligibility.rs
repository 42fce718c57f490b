//! Who may take part in a sale: every rule, in every mode of sale that grants a right to buy.

mod deposits;
mod invitations;
mod pages;

use std::time::Duration;

use super::addresses::delivery;
use super::draws::{CLOSES, HOUR, OPENS, follow_schedule, hour_before, id};
use super::*;
use store::KEEP_GROUPS;

/// An announced sale of five units with these rules and other fields.
async fn announce(admin: &TestClient<'_>, rules: Value) -> String {
    let mut sale = json!({"opens_at": OPENS, "closes_at": CLOSES, "spread_ms": 0});
    sale.as_object_mut().unwrap().extend(rules.as_object().unwrap().clone());
    admin.announce(sale).await
}

/// Opens the sale, an hour later.
async fn open(shop: &TestShop, sale: &str) {
    shop.advance(HOUR);
    follow_schedule(shop, sale).await;
}

/// An open rush with these rules.
pub(super) async fn rush(rules: Value) -> (TestShop, String) {
    open_shop!(shop = TestShop::open_at(&hour_before()), admin);
    let sale = announce(&admin, rules).await;
    open(&shop, &sale).await;
    (shop, sale)
}

async fn token(client: &TestClient<'_>, sale: &str) -> TestResponse {
    client.post(&format!("/api/sales/{sale}/token"), json!({})).await
}

async fn save_address(client: &TestClient<'_>, recipient: &str, line1: &str) {
    let mut address = delivery(line1, recipient);
    address["is_default"] = true.into();
    let answer = client.post("/api/addresses", address).await;
    assert_eq!(answer.status, 201, "{answer:?}");
}

#[tokio::test]
async fn account_that_registered_too_late_gets_no_token() {
    let shop = TestShop::open_at(&hour_before()).await;
    let sale = announce(&shop.admin().await, json!({"accounts_before": "2026-11-21T11:10:00Z"})).await;
    let old = shop.shopper("old").await;
    open(&shop, &sale).await;
    let new = shop.shopper("new").await;
    assert_eq!(token(&old, &sale).await.status, 200);
    assert_eq!(token(&new, &sale).await.problem(), problem(403, "account_too_new"));
    let own = new.get(&format!("/api/sales/{sale}/eligibility")).await.json();
    assert_eq!((&own["eligible"], &own["accounts_before"]), (&json!(false), &json!("2026-11-21T11:10:00Z")));
    assert_eq!(own["rules"], json!([{"rule": "accounts_before", "lacks": "account_too_new"}]));
}

#[tokio::test]
async fn account_without_a_verified_contact_gets_no_token() {
    let (shop, sale) = rush(json!({"verified_contact": true})).await;
    let mei = shop.shopper("mei").await;
    assert_eq!(token(&mei, &sale).await.problem(), problem(403, "contact_not_verified"));
    mei.enter_address("mei@shop.example").await;
    assert_eq!(token(&mei, &sale).await.problem(), problem(403, "contact_not_verified"), "entered is not verified");
    mei.verify("mei@shop.example").await;
    assert_eq!(token(&mei, &sale).await.status, 200);
}

#[tokio::test]
async fn one_account_takes_part_for_each_mailbox() {
    let (shop, sale) = rush(json!({"one_per_contact": true})).await;
    let (first, second) = (shop.shopper("first").await, shop.shopper("second").await);
    assert_eq!(token(&first, &sale).await.problem(), problem(403, "contact_not_verified"));
    first.verify("mei@shop.example").await;
    second.verify("MEI+second@shop.example").await;
    assert_eq!(token(&first, &sale).await.status, 200);
    assert_eq!(token(&second, &sale).await.problem(), problem(409, "contact_taken"));
    assert_eq!(token(&first, &sale).await.status, 200, "the first asks again");
    second.verify("other@shop.example").await;
    assert_eq!(token(&second, &sale).await.status, 200);
}

#[tokio::test]
async fn one_account_takes_part_for_each_address_and_its_order_goes_there() {
    let (shop, sale) = rush(json!({"one_per_address": true})).await;
    let (first, second) = (shop.shopper("first").await, shop.shopper("second").await);
    assert_eq!(token(&first, &sale).await.problem(), problem(409, "address_needed"));
    save_address(&first, "王小美", "文三路 1 号").await;
    save_address(&second, "李雷", "文三路１号").await;
    let (order, _) = first.order(&sale).await;
    assert_eq!(token(&second, &sale).await.problem(), problem(409, "address_taken"));
    save_address(&second, "李雷", "文三路 2 号").await;
    assert_eq!(token(&second, &sale).await.status, 200);
    // A default address that is chosen later changes nothing.
    save_address(&first, "王小美", "文三路 2 号").await;
    assert_eq!(token(&first, &sale).await.status, 200);
    let path = format!("/api/sales/{sale}/orders/{order}/address");
    let elsewhere = first.put(&path, delivery("文三路 2 号", "王小美")).await;
    assert_eq!(elsewhere.problem(), problem(409, "other_address"));
    let mut there = delivery("文三路 1 号", "王大美");
    there["address"]["phone"] = "13900139000".into();
    let there = first.put(&path, there).await;
    assert_eq!(there.status, 200, "{there:?}");
}

#[tokio::test]
async fn accounts_of_one_address_that_ask_at_once_get_one_token() {
    let (shop, sale) = rush(json!({"one_per_address": true, "one_per_contact": true})).await;
    let mut clients = Vec::new();
    for n in 0..8 {
        let client = shop.shopper(&format!("client{n}")).await;
        save_address(&client, "王小美", "文三路 1 号").await;
        client.verify(&format!("mei+{n}@shop.example")).await;
        clients.push(client);
    }
    let answers = futures::future::join_all(clients.iter().map(|client| token(client, &sale))).await;
    let granted = answers.iter().filter(|answer| answer.status == 200).count();
    assert_eq!(granted, 1, "{answers:?}");
}

#[tokio::test]
async fn every_way_to_take_part_is_checked() {
    open_shop!(shop = TestShop::open_at(&hour_before()), admin);
    let queue = announce(&admin, json!({"invitation": true, "mode": "queue", "queue_prequeue_s": 1800})).await;
    let draw = announce(&admin, json!({"invitation": true, "mode": "draw"})).await;
    shop.advance(HOUR / 2);
    let stranger = shop.shopper("stranger").await;
    let join = stranger.post(&format!("/api/sales/{queue}/place"), json!({})).await;
    assert_eq!(join.problem(), problem(403, "invitation_needed"));
    assert_eq!(stranger.get(&format!("/api/sales/{queue}/place")).await.problem(), problem(404, "not_in_queue"));
    shop.advance(HOUR / 2);
    shop.parts.store.sales().follow_schedule(id(&draw)).await.unwrap().unwrap();
    shop.parts.catalogue.refresh().await.unwrap();
    let enter = stranger.post(&format!("/api/sales/{draw}/entry"), json!({})).await;
    assert_eq!(enter.problem(), problem(403, "invitation_needed"));
    assert_eq!(stranger.get(&format!("/api/sales/{draw}/entry")).await.problem(), problem(404, "not_entered"));
}

#[tokio::test]
async fn waitlist_takes_only_accounts_that_may_take_part() {
    let (shop, sale) = rush(json!({"verified_contact": true, "total": 1})).await;
    let buyer = shop.shopper("buyer").await;
    buyer.verify("buyer@shop.example").await;
    assert_eq!(buyer.buy(&sale, 1).await.status, 202);
    shop.parts.gate.refresh_winners().await;
    let waiter = shop.shopper("waiter").await;
    let path = format!("/api/sales/{sale}/waitlist");
    assert_eq!(waiter.post(&path, json!({})).await.problem(), problem(403, "contact_not_verified"));
    waiter.verify("waiter@shop.example").await;
    assert_eq!(waiter.post(&path, json!({})).await.status, 201);
}

#[tokio::test]
async fn request_without_a_token_is_refused_where_rules_are() {
    let (shop, sale) = rush(json!({"verified_contact": true})).await;
    let mei = shop.shopper("mei").await;
    let path = format!("/en/sales/{sale}/buy");
    let refused = mei.send_form(&path, "quantity=1").await;
    assert!(refused.leads_to(&format!("/en/sales/{sale}/eligibility")), "{refused:?}");
    assert_eq!(mei.get("/api/orders").await.json()["orders"], json!([]));
    mei.verify("mei@shop.example").await;
    let bought = mei.send_form(&path, "quantity=1").await;
    assert!(bought.header("location").starts_with(&format!("/en/orders/{sale}/")), "{bought:?}");
    // The token of another account does not help.
    let other = shop.shopper("other").await;
    let token = token(&mei, &sale).await.json()["token"].clone();
    let stolen = json!({"quantity": 1, "token": token});
    let stolen = other.post(&format!("/api/sales/{sale}/orders"), stolen).await;
    assert_eq!(stolen.problem(), problem(403, "bad_token"));
}

#[tokio::test]
async fn sale_without_rules_is_checked_without_the_database() {
    let (shop, sale) = rush(json!({})).await;
    let mei = shop.shopper("mei").await;
    let user = shop.user("mei").await.id;
    shop.parts.store.close().await;
    assert!(shop.parts.eligibility.check(id(&sale), user).await.is_ok());
    assert_eq!(token(&mei, &sale).await.status, 200);
}

#[tokio::test]
async fn rules_do_not_change_once_accounts_take_part() {
    open_shop!(shop = TestShop::open_at(&hour_before()), admin);
    let (sale, queue) = (announce(&admin, json!({})).await, announce(&admin, json!({"mode": "queue"})).await);
    let change = async |sale: &str, change: Value| admin.patch(&format!("/api/admin/sales/{sale}"), change).await;
    for sale in [&sale, &queue] {
        let changed = change(sale, json!({"one_per_address": true, "accounts_before": OPENS})).await.json();
        let changed = &changed["sale"];
        assert_eq!((&changed["one_per_address"], &changed["accounts_before"]), (&json!(true), &json!(OPENS)));
    }
    let late = change(&sale, json!({"accounts_before": CLOSES})).await;
    assert_eq!(late.json()["fields"], json!([{"field": "accounts_before", "code": "after_opening"}]));
    shop.advance(HOUR - Duration::from_secs(60));
    let joined = change(&queue, json!({"one_per_address": false})).await;
    assert_eq!(joined.problem(), problem(409, "wrong_state"));
    assert_eq!(change(&queue, json!({"total": 6})).await.status, 200, "the rest may change");
    let none = change(&sale, json!({"one_per_address": false, "accounts_before": null})).await.json();
    assert_eq!(none["sale"]["accounts_before"], Value::Null);
    shop.advance(Duration::from_secs(60));
    shop.parts.store.sales().follow_schedule(id(&sale)).await.unwrap().unwrap();
    assert_eq!(change(&sale, json!({"one_per_address": true})).await.problem(), problem(409, "wrong_state"));
}

#[tokio::test]
async fn groups_are_exported_and_go_with_the_account_or_after_thirty_days() {
    let (shop, sale) = rush(json!({"one_per_address": true})).await;
    let (first, second) = (shop.shopper("first").await, shop.shopper("second").await);
    save_address(&first, "王小美", "文三路 1 号").await;
    save_address(&second, "王小美", "文三路 1 号").await;
    assert_eq!(token(&first, &sale).await.status, 200);
    let exported = first.get("/api/account/export").await.json()["eligibility"]["groups"][0].clone();
    assert_eq!((&exported["sale_id"], &exported["kind"]), (&json!(sale), &json!("address")));
    assert!(!exported.to_string().contains("文三路"));
    assert_eq!(first.delete_account("first").await.status, 204);
    assert_eq!(token(&second, &sale).await.status, 200, "the group is free again");
    shop.advance(HOUR);
    shop.parts.store.sales().follow_schedule(id(&sale)).await.unwrap().unwrap();
    let user = shop.user("second").await.id;
    let groups = async || {
        shop.parts.store.eligibility().purge_groups().await.unwrap();
        shop.parts.store.eligibility().groups_of(id(&sale), user).await.unwrap().len()
    };
    shop.advance(KEEP_GROUPS.unsigned_abs() - Duration::from_secs(1));
    assert_eq!(groups().await, 1);
    shop.advance(Duration::from_secs(2));
    assert_eq!(groups().await, 0);
}

#[tokio::test]
async fn audit_names_buyers_without_a_right() {
    let rules = json!({"one_per_address": true, "invitation": true, "accounts_before": "2026-11-21T12:00:00Z"});
    let (shop, sale) = rush(rules).await;
    let code = invitations::make(&shop, &sale, 1).await.remove(0);
    let mei = shop.shopper("mei").await;
    save_address(&mei, "王小美", "文三路 1 号").await;
    assert_eq!(mei.post(&format!("/api/sales/{sale}/code"), json!({"code": code})).await.status, 200);
    assert_eq!(mei.buy(&sale, 1).await.status, 202);
    let found = async || shop.violations("who may take part").await.len();
    assert_eq!(found().await, 0);
    for (sql, violations) in [
        ("UPDATE users SET created_at_ms = created_at_ms + 1 WHERE username = 'mei'", 1),
        ("DELETE FROM sale_groups", 2),
        ("UPDATE invitations SET user_id = 'another'", 3),
    ] {
        assert!(shop.execute(sql).await > 0);
        assert_eq!(found().await, violations, "{sql}");
    }
}
