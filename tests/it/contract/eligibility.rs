//! Sales with rules about who may take part.

use futures::future::join_all;
use serde_json::json;

use crate::support::{NewSale, Plan, Rung, Shop, Shopper};

const ACCOUNTS: usize = 6;
const UNITS: i64 = 10;

/// A new account with this delivery address.
async fn account_at(shop: &Shop, n: usize, line1: &str) -> Shopper {
    let client = shop.register(&format!("account-{n}"), "correct horse battery").await;
    let address = json!({
        "recipient": format!("Account {n}"), "phone": "13800138000", "country": "CN", "region": "浙江省", "city": "杭州市",
        "line1": line1,
    });
    client.post("/api/addresses", json!({"address": address})).await.expect(201);
    Shopper::new(client)
}

pub async fn one_account_of_an_address_buys_and_none_without_a_code(rung: Rung) {
    let shop = Plan::on(rung).await.one_role_per_process().start().await;
    let sale = shop.open(NewSale::of(UNITS).one_per_address().invited()).await;
    let codes = format!("/api/admin/sales/{sale}/codes");
    let made = shop.admin().await.post(&codes, json!({"count": ACCOUNTS})).await.expect(201).json();
    let mut accounts = Vec::new();
    for n in 0..ACCOUNTS {
        // The first half of the accounts shares an address, spelled in two ways.
        let line1 = if n >= ACCOUNTS / 2 {
            format!("文三路 {n} 号")
        } else {
            ["文三路 9 号", "文三路９号"][n % 2].to_owned()
        };
        accounts.push(account_at(&shop, n, &line1).await);
    }
    for answer in join_all(accounts.iter().map(|account| account.token(&sale))).await {
        answer.expect_problem(403, "invitation_needed");
    }
    // The form of a page without scripts has no token.
    let form = format!("/en/sales/{sale}/buy");
    accounts[0].client.request(axum::http::Method::POST, &form).form(&[("quantity", "1")]).send().await.expect(303);

    // Every account sends the first code, and one gets it.
    let redeem = format!("/api/sales/{sale}/code");
    let first = made["codes"][0].as_str().unwrap();
    let tries = join_all(accounts.iter().map(|account| account.client.post(&redeem, json!({"code": first})))).await;
    assert_eq!(tries.iter().filter(|answer| answer.status == 200).count(), 1, "{tries:?}");
    for (account, code) in accounts.iter().zip(made["codes"].as_array().unwrap().iter().rev()) {
        let answer = account.client.post(&redeem, json!({"code": code})).await;
        // An account that has the first code needs no other.
        assert!(matches!(answer.status, 200 | 403), "{answer:?}");
    }
    let answers = join_all(accounts.iter().map(|account| account.token(&sale))).await;
    let granted =
        |answers: &[_]| answers.iter().filter(|answer: &&crate::support::Answer| answer.status == 200).count();
    assert!(granted(&answers[..ACCOUNTS / 2]) <= 1, "{answers:?}");
    for (account, answer) in accounts.iter().zip(&answers) {
        if answer.status == 200 {
            account.unpaid_order(&sale).await;
        }
    }
    assert!(granted(&answers) >= 2, "{answers:?}");
    shop.audit_is_clean().await;
}
