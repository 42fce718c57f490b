//! Actions of several members of the staff at the same moment.

use axum::http::Method;
use domain::ledger::LedgerAccount;
use futures::future::join_all;
use serde_json::{Value, json};

use crate::support::{Client, NewSale, Plan, Rung, Shop};

const PASSWORD: &str = "a long password";
/// Minor units that an operator may give within a day.
const BOUND: i64 = 1_000_000;

pub async fn simultaneous_edits_of_one_sale_are_all_kept(rung: Rung) {
    let shop = Shop::start(rung).await;
    let sale = shop.create(NewSale::of(1_000)).await;
    let admin = shop.admin().await;
    let path = format!("/api/admin/sales/{sale}");
    let patch = async |body: Value| admin.request(Method::PATCH, &path).json(&body).send().await.expect(200);
    for n in 1..=40 {
        let edits = [json!({"total": 1_000 + n}), json!({"per_user_limit": n}), json!({"spread_ms": n})];
        join_all(edits.map(patch)).await;
        let sale = admin.get(&path).await.expect(200).json()["sale"].take();
        assert_eq!((&sale["total"], &sale["per_user_limit"]), (&json!(1_000 + n), &json!(n)));
        assert_eq!(sale["spread_ms"], n);
    }
    let version = admin.get(&path).await.header("etag").to_owned();
    let attempts = (1..=5).map(|n| {
        let body = json!({"total": 2_000 + n});
        let request = admin.request(Method::PATCH, &path).header("if-match", &version).json(&body);
        request.send()
    });
    let statuses: Vec<u16> = join_all(attempts).await.iter().map(|answer| answer.status).collect();
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1, "{statuses:?}");
    assert_eq!(statuses.iter().filter(|status| **status == 412).count(), 4, "{statuses:?}");
}

/// A client with the role of an operator.
async fn operator(shop: &Shop, username: &str) -> Client {
    let user = shop.register(username, PASSWORD).await.get("/api/me").await.expect(200).json();
    let path = format!("/api/admin/staff/{}", user["user"]["id"].as_str().unwrap());
    let role = json!({"role": "operator"});
    shop.admin().await.request(Method::PATCH, &path).json(&role).send().await.expect(200);
    let client = shop.client();
    client.post("/api/login", json!({"username": username, "password": PASSWORD})).await.expect(200);
    client
}

pub async fn packets_given_at_once_do_not_pass_the_bound_of_an_operator(rung: Rung) {
    // Otherwise the second packet would wait for a second person.
    let shop = Plan::on(rung).await.set("SECKILL_SECOND_PERSON_ABOVE", "off").start().await;
    let olga = operator(&shop, "olga").await;
    let packet = json!({"total": BOUND * 2 / 5, "count": 2, "from": "shop"});
    let answers = join_all((0..8).map(|_| olga.post("/api/packets", packet.clone()))).await;
    let given = answers.iter().filter(|answer| answer.status == 201).count();
    assert_eq!(given, 2, "{answers:?}");
    for answer in answers.into_iter().filter(|answer| answer.status != 201) {
        answer.expect_problem(403, "spending_limit");
    }
    assert_eq!(shop.store().wallet().balance(LedgerAccount::Shop).await.unwrap(), -BOUND * 4 / 5);
    shop.audit_is_clean().await;
}
