//! Crashes under load. Whatever crashes, every 202 becomes one order or a visible rejection, nothing is stored twice,
//! and everything is sold.
//!
//! No other test runs at the same time, because these tests break the services of the stack.

mod crash;
mod degraded;
mod deposits;
mod flush;
mod kills;
pub mod lossy;
mod money;
mod packet_load;
mod packets;
mod rabbit_nodes;
mod sentinel;
mod shards;
mod waiting_room;
mod waitlist;

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use domain::SaleId;

use crate::support::{Load, NewSale, Plan, Rung, Shop, ShopperOutcome, eventually};

/// How long recovery from a crash may take, including everything that waits for it. While RabbitMQ has a backlog, the
/// sweep alone waits a minute before it publishes an order again.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(240);

/// Rung 3 with two processes of each role, and a sale that is open.
async fn open_shop(sale: NewSale) -> (Shop, String) {
    Plan::on(Rung::Rabbit).await.roles(&ROLES).open(sale).await
}

/// Every role twice.
const ROLES: [&str; 8] = ["serve", "serve", "relay", "relay", "consume", "consume", "control", "control"];

async fn start_shop() -> Shop {
    Plan::on(Rung::Rabbit).await.roles(&ROLES).start().await
}

/// Every accepted order is stored or visibly rejected, nothing is stored twice, and everything is sold.
async fn assert_nothing_is_lost(shop: &Shop, sale: &str, load: &Load, units: i64) {
    println!("{} of {} have orders; refusals: {:?}", load.winners(), load.outcomes().len(), load.refusals());
    let ends = every_order_ends(sale, load).await;
    let live: HashSet<&str> = ends.iter().filter(|(_, end)| *end == "unpaid").map(|(order, _)| *order).collect();

    let (store, id) = (shop.store(), SaleId(sale.parse().unwrap()));
    let stored = eventually("everything is sold", SETTLE_TIMEOUT, async || {
        let orders = store.orders().live_orders(id, None, 10_000).await.map_err(|error| error.to_string())?;
        let numbers = store.sales().get(id).await.map_err(|error| error.to_string())?.unwrap();
        let complete = orders.len() as i64 == units && numbers.sold == units;
        if complete { Ok(orders) } else { Err(format!("{} orders, {} sold of {units}", orders.len(), numbers.sold)) }
    })
    .await;
    let in_database: HashSet<String> = stored.iter().map(|order| order.order_id.to_string()).collect();
    let in_database: HashSet<&str> = in_database.iter().map(String::as_str).collect();
    let unknown: Vec<_> = in_database.difference(&live).collect();
    assert!(unknown.is_empty(), "orders that no shopper was granted: {unknown:?}");
    let missing: Vec<_> = live.difference(&in_database).collect();
    assert!(missing.is_empty(), "orders that are not in the database: {missing:?}");
    let users: HashSet<_> = stored.iter().map(|order| order.user_id).collect();
    assert_eq!(users.len() as i64, units, "one order per user");
    shop.audit_is_clean().await;
}

/// The final status of every granted order, as its owner reads it.
async fn every_order_ends<'a>(sale: &str, load: &'a Load) -> HashMap<&'a str, String> {
    let mut ends = HashMap::new();
    for outcome in load.outcomes() {
        for order in &outcome.orders {
            ends.insert(order.as_str(), end_of(sale, outcome, order).await);
        }
    }
    ends
}

async fn end_of(sale: &str, outcome: &ShopperOutcome, order: &str) -> String {
    eventually(&format!("order {order} has an end"), SETTLE_TIMEOUT, async || {
        let request =
            outcome.shopper.client.request(axum::http::Method::GET, &format!("/api/sales/{sale}/orders/{order}"));
        let answer = request.try_send().await?;
        let status = if answer.status == 200 { answer.json()["order"]["status"].take() } else { Default::default() };
        match status.as_str() {
            Some(status @ ("unpaid" | "rejected")) => Ok(status.to_owned()),
            _ => Err(format!("{} {}", answer.status, answer.text())),
        }
    })
    .await
}
