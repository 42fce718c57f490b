//! A master that dies under load while Sentinels watch it.

use std::time::{Duration, Instant};

use redis::Client;

use super::assert_nothing_is_lost;
use crate::support::{Load, NewSale, Plan, Rung, Stack, pause, until};

const UNITS: u64 = 200;
const BEFORE: u64 = 60;
/// The Sentinels need two seconds to notice and some more to agree; then every `serve` replays its grants.
const FAILOVER_TIMEOUT: Duration = Duration::from_secs(60);

/// The port of the server that the Sentinels consider the master.
async fn master_port() -> Result<u16, String> {
    let url = Stack::get().variable("SECKILL_STACK_SENTINEL_URL").trim_start_matches("redis+sentinel://");
    let hosts = url.split('/').next().unwrap();
    let mut last = String::new();
    for host in hosts.split(',') {
        let client = Client::open(format!("redis://{host}/")).map_err(|error| error.to_string())?;
        let mut question = redis::cmd("SENTINEL");
        question.arg("get-master-addr-by-name").arg("shop");
        let answer = async {
            let mut connection = client.get_multiplexed_async_connection().await?;
            question.query_async::<(String, u16)>(&mut connection).await
        };
        match answer.await {
            Ok((_, port)) => return Ok(port),
            Err(error) => last = error.to_string(),
        }
    }
    Err(last)
}

/// The stack's name for the server behind a port.
fn service(port: u16) -> String {
    let ports = std::fs::read_to_string(Stack::get().dir().join("ports")).unwrap();
    let line = ports.lines().find(|line| line.ends_with(&format!("={port}"))).unwrap();
    line.split('=').next().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn purchases_go_on_after_sentinels_promoted_a_replica() {
    let _restore = Stack::get().restore_on_drop();
    let roles = ["serve", "serve", "relay", "consume", "control"];
    let (shop, sale) = Plan::on(Rung::Sentinel).await.roles(&roles).open(NewSale::of(UNITS as i64)).await;
    let old = master_port().await.unwrap();
    let mut load = Load::new(&sale);
    load.arrive(&shop, BEFORE, Duration::from_secs(3));
    pause(1_000).await;
    Stack::get().run(&["kill", &service(old)]).await;
    let killed = Instant::now();
    let newcomer = shop.shopper(1_000_000);
    let order = newcomer.buy_when_possible(&sale, FAILOVER_TIMEOUT).await;
    println!("purchases work {:?} after the kill", killed.elapsed());
    // The other server may notice only now that its connection is broken. It then answers 503 once.
    let read = async || newcomer.order(&sale, &order).await;
    until("the order is stored", FAILOVER_TIMEOUT, read, |answer| answer.text().contains("\"unpaid\"")).await;
    newcomer.cancel(&sale, &order).await.expect(200);
    let new = master_port().await.unwrap();
    assert_ne!(new, old);
    Stack::get().run(&["start", &service(old)]).await;
    load.finish().await;
    load.serve(&shop, 2 * UNITS, Duration::from_secs(2)).await;
    assert_nothing_is_lost(&shop, &sale, &load, UNITS as i64).await;
}
