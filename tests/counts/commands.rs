//! What an order asks of the services from the claim until its entry has left the outbox: commands of Redis, and how often
//! the relay writes to RabbitMQ.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use tokio_util::sync::CancellationToken;

use crate::figures::check;
use crate::house::{House, Kind, TOGETHER, runtime};
use crate::support::{Rung, Stack, eventually};

const ORDERS: usize = 64 * TOGETHER;
const SETTLED_WITHIN: Duration = Duration::from_secs(60);

/// Calls by command, since the server started.
type Calls = BTreeMap<String, u64>;

async fn calls(server: &mut MultiplexedConnection) -> Calls {
    let text: String = redis::cmd("INFO").arg("commandstats").query_async(server).await.unwrap();
    // `cmdstat_evalsha:calls=12,usec=…`
    let line = |line: &str| {
        let (name, values) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
        Some((name.to_owned(), values.split(',').next()?.parse().ok()?))
    };
    text.lines().filter_map(line).collect()
}

async fn connect(name: &str) -> MultiplexedConnection {
    let client = redis::Client::open(Stack::get().variable(name)).unwrap();
    client.get_multiplexed_async_connection().await.unwrap()
}

/// Per order; prints which commands they are.
fn per_order(server: &str, before: &Calls, after: &Calls) -> f64 {
    let calls = |name: &str| after[name] - before.get(name).copied().unwrap_or(0);
    let mut each: Vec<(&str, u64)> = after.keys().map(|name| (name.as_str(), calls(name))).collect();
    // The rest is what this test asks.
    each.retain(|(name, calls)| *calls > 0 && !["info", "select", "xlen"].contains(name));
    each.sort_by_key(|(_, calls)| std::cmp::Reverse(*calls));
    let total: u64 = each.iter().map(|(_, calls)| calls).sum();
    println!("{server}, for {ORDERS} orders: {each:?}");
    total as f64 / ORDERS as f64
}

/// Alone with the services, because they count for everybody (`.config/nextest.toml`).
mod stack {
    use super::*;

    #[test]
    fn of_an_order() {
        runtime().block_on(async {
            let mut house = House::on(Some(Rung::Rabbit), ORDERS as i64).await;
            let broker = house.through_proxy("SECKILL_AMQP_URL");
            broker.mend().await;
            let requests = house.requests(Kind::Purchase, ORDERS);
            let (mut master, mut replica) =
                (connect("SECKILL_REDIS_URL").await, connect("SECKILL_REDIS_REPLICA_URLS").await);
            let before = (calls(&mut master).await, calls(&mut replica).await);
            house.ask(Kind::Purchase, requests).await;
            let stop = CancellationToken::new();
            let (mut relay, consumer) = (house.parts.relay().unwrap(), house.parts.consumer().unwrap());
            relay.amqp_url = house.setting("SECKILL_AMQP_URL").to_owned().into();
            let roles = [
                tokio::spawn(relay.clone().run(stop.clone())),
                tokio::spawn(relay.sweep(stop.clone())),
                tokio::spawn(consumer.run(stop.clone())),
            ];
            let outbox = format!("goods{{{}}}:outbox", house.sale);
            let number = number_of(&house);
            let mut look = connect("SECKILL_REDIS_URL").await;
            let _: () = redis::cmd("SELECT").arg(number).query_async(&mut look).await.unwrap();
            eventually("the outbox is empty", SETTLED_WITHIN, async || {
                let mut look = look.clone();
                let left: u64 = redis::cmd("XLEN").arg(&outbox).query_async(&mut look).await.unwrap();
                if left == 0 { Ok(()) } else { Err(format!("{left} entries")) }
            })
            .await;
            stop.cancel();
            for role in roles {
                role.await.unwrap().unwrap();
            }
            let after = (calls(&mut master).await, calls(&mut replica).await);
            let sold = house.parts.store.sale(house.sale).await.unwrap().unwrap().sold;
            assert_eq!(sold, ORDERS as i64, "every order is in the database");
            let master = per_order("master", &before.0, &after.0);
            let replica = per_order("replica", &before.1, &after.1);
            let written = broker.line.sent.load(Ordering::Relaxed) as f64 / ORDERS as f64;
            check("order", &[("master", master), ("replica", replica), ("written", written)]);
        });
    }

    /// The shop's database in Redis.
    fn number_of(house: &House) -> String {
        let url = house.setting("SECKILL_REDIS_URL");
        url.rsplit('/').next().unwrap().to_owned()
    }
}
