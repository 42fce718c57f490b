//! The cost of an order from the claim until its entry has left the outbox: commands of Redis, and writes of the relay
//! to RabbitMQ.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use tokio_util::sync::CancellationToken;

use crate::figures::check;
use crate::in_process::{CONCURRENT_PURCHASES, InProcessShop, RequestKind, runtime};
use crate::support::{Rung, Stack, redis_at, until};

const ORDERS: usize = 64 * CONCURRENT_PURCHASES;
const SETTLE_TIMEOUT: Duration = Duration::from_secs(60);

/// Calls by command, since the server started.
type CommandCounts = BTreeMap<String, u64>;

async fn calls(server: &mut MultiplexedConnection) -> CommandCounts {
    let text: String = redis::cmd("INFO").arg("commandstats").query_async(server).await.unwrap();
    // `cmdstat_evalsha:calls=12,usec=…`
    let line = |line: &str| {
        let (name, values) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
        Some((name.to_owned(), values.split(',').next()?.parse().ok()?))
    };
    text.lines().filter_map(line).collect()
}

async fn connect(name: &str) -> MultiplexedConnection {
    redis_at(Stack::get().variable(name)).await
}

/// Commands per order. Prints them by name.
fn per_order(server: &str, before: &CommandCounts, after: &CommandCounts) -> f64 {
    let calls = |name: &str| after[name] - before.get(name).copied().unwrap_or(0);
    let mut each: Vec<(&str, u64)> = after.keys().map(|name| (name.as_str(), calls(name))).collect();
    // These are sent by the test itself.
    each.retain(|(name, calls)| *calls > 0 && !["info", "select", "xlen"].contains(name));
    each.sort_by_key(|(_, calls)| std::cmp::Reverse(*calls));
    let total: u64 = each.iter().map(|(_, calls)| calls).sum();
    println!("{server}, for {ORDERS} orders: {each:?}");
    total as f64 / ORDERS as f64
}

/// Runs without other tests, because the servers count the commands of all clients (`.config/nextest.toml`).
mod stack {
    use super::*;

    #[test]
    fn order_until_it_left_the_outbox() {
        runtime().block_on(async {
            let mut shop = InProcessShop::on(Some(Rung::Rabbit), ORDERS as i64).await;
            let broker = shop.through_proxy("SECKILL_AMQP_URL");
            broker.restore().await;
            let requests = shop.requests(RequestKind::Purchase, ORDERS);
            let (mut master, mut replica) =
                (connect("SECKILL_REDIS_URL").await, connect("SECKILL_REDIS_REPLICA_URLS").await);
            let before = (calls(&mut master).await, calls(&mut replica).await);
            shop.send_all(RequestKind::Purchase, requests).await;
            let stop = CancellationToken::new();
            let pipeline = shop.services.pipeline();
            let (mut relay, mut sweep) = (pipeline.relay().unwrap(), pipeline.sweep().unwrap());
            let consumer = pipeline.consumer().unwrap();
            relay.amqp_url = shop.setting("SECKILL_AMQP_URL").into();
            sweep.amqp_url = relay.amqp_url.clone();
            let roles = [
                tokio::spawn(relay.run(stop.clone())),
                tokio::spawn(sweep.run(stop.clone())),
                tokio::spawn(consumer.run(stop.clone())),
            ];
            let outbox = format!("goods{{{}}}:outbox", shop.sale);
            let number = number_of(&shop);
            let mut reader = connect("SECKILL_REDIS_URL").await;
            let _: () = redis::cmd("SELECT").arg(number).query_async(&mut reader).await.unwrap();
            let entries = async || {
                let length: u64 = redis::cmd("XLEN").arg(&outbox).query_async(&mut reader.clone()).await.unwrap();
                length
            };
            until("the outbox is empty", SETTLE_TIMEOUT, entries, |left| *left == 0).await;
            stop.cancel();
            for role in roles {
                role.await.unwrap().unwrap();
            }
            let after = (calls(&mut master).await, calls(&mut replica).await);
            let sold = shop.services.store.sales().get(shop.sale).await.unwrap().unwrap().sold;
            assert_eq!(sold, ORDERS as i64, "every order is in the database");
            let master = per_order("master", &before.0, &after.0);
            let replica = per_order("replica", &before.1, &after.1);
            let writes = broker.target.sent.load(Ordering::Relaxed) as f64 / ORDERS as f64;
            check("order", &[("master", master), ("replica", replica), ("written", writes)]);
        });
    }

    /// The number of the shop's Redis database.
    fn number_of(shop: &InProcessShop) -> String {
        let url = shop.setting("SECKILL_REDIS_URL");
        url.rsplit('/').next().unwrap().to_owned()
    }
}
