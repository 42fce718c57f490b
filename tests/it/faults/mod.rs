//! Crashes while buying goes on. Whatever dies, whoever was told 202 has an order in the end, or is told that there is
//! none; nothing is there twice; everything is sold.
//!
//! Nothing else runs meanwhile: these tests break the services of the stack.

mod flush;
#[macro_use]
mod strike;
mod kills;
mod packets;
mod rain;
mod unwilling;

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use seckill::domain::SaleId;

use crate::support::{Crowd, NewSale, Outcome, Plan, Rung, Shop, eventually, pause};

/// What a crash may take to be mended, with everything that waits for something else meanwhile.
const SETTLED_WITHIN: Duration = Duration::from_secs(60);
/// A quorum queue of RabbitMQ 3.10 that was declared a moment before a crash has no leader after it.
const QUEUES_REST: u64 = 2_500;

/// Rung 3 with two processes of each role, and a sale that is open.
async fn open_shop(sale: NewSale) -> (Shop, String) {
    let roles = ["serve", "serve", "relay", "relay", "consume", "consume", "control", "control"];
    let shop = Plan::on(Rung::Rabbit).await.roles(&roles).start().await;
    let sale = shop.open(sale).await;
    pause(QUEUES_REST).await;
    (shop, sale)
}

/// Everything that was accepted is there or visibly rejected, nothing twice, nothing unsold.
async fn nothing_is_lost(shop: &Shop, sale: &str, crowd: &Crowd, units: i64) {
    println!("{} of {} have orders; refusals: {:?}", crowd.winners(), crowd.outcomes().len(), crowd.refusals());
    let ends = every_order_ends(sale, crowd).await;
    let live: HashSet<&str> = ends.iter().filter(|(_, end)| *end == "unpaid").map(|(order, _)| *order).collect();

    let (store, id) = (shop.store(), SaleId(sale.parse().unwrap()));
    let written = eventually("everything is sold", SETTLED_WITHIN, async || {
        let orders = store.live_orders(id, None, 10_000).await.map_err(|error| error.to_string())?;
        let numbers = store.sale(id).await.map_err(|error| error.to_string())?.unwrap();
        let right = orders.len() as i64 == units && numbers.sold == units;
        if right { Ok(orders) } else { Err(format!("{} orders, {} sold of {units}", orders.len(), numbers.sold)) }
    })
    .await;
    let in_database: HashSet<String> = written.iter().map(|order| order.order_id.to_string()).collect();
    let in_database: HashSet<&str> = in_database.iter().map(String::as_str).collect();
    let unknown: Vec<_> = in_database.difference(&live).collect();
    assert!(unknown.is_empty(), "orders that nobody was told of: {unknown:?}");
    let missing: Vec<_> = live.difference(&in_database).collect();
    assert!(missing.is_empty(), "orders that are not in the database: {missing:?}");
    let users: HashSet<_> = written.iter().map(|order| order.user_id).collect();
    assert_eq!(users.len() as i64, units, "one order per user");
    shop.audit_is_clean().await;
}

/// How every order ends that anybody was told of, as its owner sees it.
async fn every_order_ends<'a>(sale: &str, crowd: &'a Crowd) -> HashMap<&'a str, String> {
    let mut ends = HashMap::new();
    for outcome in crowd.outcomes() {
        for order in &outcome.orders {
            ends.insert(order.as_str(), end_of(sale, outcome, order).await);
        }
    }
    ends
}

async fn end_of(sale: &str, outcome: &Outcome, order: &str) -> String {
    eventually(&format!("order {order} has an end"), SETTLED_WITHIN, async || {
        let request = outcome.shopper.client.ask(axum::http::Method::GET, &format!("/api/sales/{sale}/orders/{order}"));
        let answer = request.try_send().await?;
        let status = if answer.status == 200 { answer.json()["order"]["status"].take() } else { Default::default() };
        match status.as_str() {
            Some(status @ ("unpaid" | "rejected")) => Ok(status.to_owned()),
            _ => Err(format!("{} {}", answer.status, answer.text())),
        }
    })
    .await
}
