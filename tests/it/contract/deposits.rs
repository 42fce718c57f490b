//! Deposits of accounts that take part in a sale.

use std::time::Duration;

use futures::future::join_all;
use serde_json::json;

use crate::support::{NewSale, Plan, Rung, Shopper};

const ACCOUNTS: u64 = 6;
const DEPOSIT: i64 = 1_000;
const TIMEOUT: Duration = Duration::from_secs(60);

/// The deposit is taken once for simultaneous requests. Every deposit comes back: the winner's, the losers', and the
/// deposit of an account that withdraws its entry.
pub async fn deposits_are_taken_once_and_come_back_in_full(rung: Rung) {
    let shop = Plan::on(rung).await.one_role_per_process().start().await;
    let shoppers: Vec<Shopper> = (0..ACCOUNTS).map(|n| shop.shopper(n)).collect();
    let (poor, able) = shoppers.split_last().unwrap();
    join_all(able.iter().map(|shopper| shopper.top_up(DEPOSIT))).await;
    let opening = Duration::from_secs(2);
    let draw = NewSale::of(1).opens_in(opening).closes_in(opening + Duration::from_secs(10)).draw().deposit(DEPOSIT);
    let sale = shop.create(draw).await;
    shop.wait_for_phase(&sale, "open").await;
    let entry = format!("/api/sales/{sale}/entry");
    poor.client.post(&entry, json!({})).await.expect_problem(409, "deposit_needed");
    for shopper in able {
        let tries = join_all((0..3).map(|_| shopper.client.post(&entry, json!({})))).await;
        assert_eq!(tries.iter().filter(|answer| answer.status == 201).count(), 1, "{tries:?}");
        assert_eq!(shopper.wallet().await, (0, DEPOSIT));
    }
    let withdrawals = (0..2).map(|_| able[0].client.request(axum::http::Method::DELETE, &entry).send());
    assert!(join_all(withdrawals).await.iter().all(|answer| answer.status == 204));
    assert_eq!(able[0].wallet().await, (DEPOSIT, 0));

    shop.wait_for_sold(&sale, 1, TIMEOUT).await;
    let mut paid = false;
    for shopper in &able[1..] {
        let own = shopper.own(&sale, "entry").await;
        if let Some(order) = own["order_id"].as_str() {
            let checkout = shopper.begin_payment(&sale, order).await;
            shopper.pay_at(&checkout).await.expect(303);
            paid = true;
        }
    }
    assert!(paid, "an account has won");
    for shopper in able {
        shopper.wait_for_wallet((DEPOSIT, 0), TIMEOUT).await;
    }
    shop.audit_is_clean().await;
}
