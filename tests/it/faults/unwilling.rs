//! Services that answer but will not: a database that may only be read, a Redis that is full, somebody's replica or alone,
//! a RabbitMQ that is short of memory. They are as good as away: nothing is lost, and nothing is set aside.

use std::time::Duration;

use super::{nothing_is_lost, open_shop};
use crate::support::{Crowd, NewSale, Plan, Rung, Shop, Stack, on_postgres, pause};

const UNITS: u64 = 200;
/// Shoppers around the time of it; all of them find units.
const MEANWHILE: u64 = 120;
const RUSH: Duration = Duration::from_secs(6);
/// Longer than an order is overdue after.
const ILL_FOR: u64 = 8_000;
/// The contract says ten seconds.
const STOPPED_WITHIN: Duration = Duration::from_secs(10);

#[derive(Clone, Copy)]
enum Ailment {
    ReadOnlyDatabase,
    FullRedis,
    DemotedRedis,
    RedisWithoutReplicas,
    RabbitWithoutMemory,
}

impl Ailment {
    async fn begin(self, shop: &Shop) {
        match self {
            Ailment::ReadOnlyDatabase => database_is_read_only(shop, "on").await,
            Ailment::FullRedis => tell_redis("CONFIG SET maxmemory 1").await,
            Ailment::DemotedRedis => tell_redis("REPLICAOF 127.0.0.1 1").await,
            Ailment::RedisWithoutReplicas => tell_redis("CONFIG SET min-replicas-to-write 9").await,
            Ailment::RabbitWithoutMemory => memory_of_rabbitmq(&["absolute", "1000000"]).await,
        }
    }

    async fn end(self, shop: &Shop) {
        match self {
            Ailment::ReadOnlyDatabase => database_is_read_only(shop, "off").await,
            Ailment::FullRedis => tell_redis("CONFIG SET maxmemory 0").await,
            Ailment::DemotedRedis => tell_redis("REPLICAOF NO ONE").await,
            Ailment::RedisWithoutReplicas => tell_redis("CONFIG SET min-replicas-to-write 0").await,
            Ailment::RabbitWithoutMemory => memory_of_rabbitmq(&["0.4"]).await,
        }
    }

    /// The line of the doctor that is about it.
    fn finding(self) -> &'static str {
        match self {
            Ailment::ReadOnlyDatabase => "SICK  database: it can be read but not changed",
            Ailment::FullRedis | Ailment::RedisWithoutReplicas => "SICK  redis master: it can be read but not changed",
            Ailment::DemotedRedis => "SICK  redis master: it is not a master",
            Ailment::RabbitWithoutMemory => "SICK  rabbitmq: RabbitMQ takes no messages",
        }
    }
}

/// The shop's, in new sessions; those there are end.
async fn database_is_read_only(shop: &Shop, on: &str) {
    let name = shop.vhost();
    on_postgres(&format!("ALTER DATABASE {name} SET default_transaction_read_only = {on}")).await.unwrap();
    let end = format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'");
    on_postgres(&end).await.unwrap();
}

async fn tell_redis(words: &str) {
    let client = redis::Client::open(Stack::get().variable("SECKILL_REDIS_URL")).unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.unwrap();
    command(words).exec_async(&mut connection).await.unwrap();
}

fn command(words: &str) -> redis::Cmd {
    let mut command = redis::Cmd::new();
    words.split(' ').for_each(|word| {
        command.arg(word);
    });
    command
}

/// How much of the machine's memory RabbitMQ may use.
async fn memory_of_rabbitmq(limit: &[&str]) {
    Stack::get().run(&[&["rabbitmqctl", "set_vm_memory_high_watermark"], limit].concat()).await;
}

/// Ends whatever ails the services that others need, too, when a test fails before it could.
struct Cured;

impl Drop for Cured {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            return;
        }
        let _ = Stack::get().script(&["rabbitmqctl", "set_vm_memory_high_watermark", "0.4"]).output();
        let client = redis::Client::open(Stack::get().variable("SECKILL_REDIS_URL")).unwrap();
        let Ok(mut connection) = client.get_connection() else { return };
        for words in ["CONFIG SET maxmemory 0", "CONFIG SET min-replicas-to-write 0", "REPLICAOF NO ONE"] {
            let _ = command(words).exec(&mut connection);
        }
    }
}

async fn outlasts(ailment: Ailment) {
    let (_mended, _cured) = (Stack::get().mended(), Cured);
    let (shop, sale) = open_shop(NewSale::of(UNITS as i64)).await;
    let mut crowd = Crowd::new(&sale);
    crowd.arrive(&shop, MEANWHILE, RUSH);
    pause(1_000).await;
    ailment.begin(&shop).await;
    pause(ILL_FOR).await;
    let doctor = shop.run(&["doctor"]).await;
    ailment.end(&shop).await;
    crowd.served().await;

    let said = String::from_utf8_lossy(&doctor.stdout);
    assert!(!doctor.status.success() && said.contains(ailment.finding()), "the doctor says: {said}");
    assert_eq!(crowd.winners() as u64, MEANWHILE, "there were units for everybody: {:?}", crowd.refusals());
    crowd.arrive(&shop, 2 * (UNITS - MEANWHILE), Duration::from_secs(1));
    crowd.served().await;
    nothing_is_lost(&shop, &sale, &crowd, UNITS as i64).await;
    let letters = shop.admin().await.get("/api/admin/dead-letters").await.expect(200).json();
    assert_eq!(letters["letters"].as_array().map(Vec::len), Some(0), "set aside: {letters}");
}

outlives! { outlasts:
    a_database_that_may_only_be_read: Ailment::ReadOnlyDatabase,
    a_redis_that_is_full: Ailment::FullRedis,
    a_redis_that_became_a_replica: Ailment::DemotedRedis,
    a_redis_that_must_not_write_without_replicas: Ailment::RedisWithoutReplicas,
    a_rabbitmq_that_is_short_of_memory: Ailment::RabbitWithoutMemory,
}

/// Orders that RabbitMQ does not take keep nobody from stopping.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rabbitmq_that_is_short_of_memory_delays_no_stop() {
    let (_mended, _cured) = (Stack::get().mended(), Cured);
    let mut shop = Plan::on(Rung::Rabbit).await.roles(&["serve", "relay", "consume", "control"]).start().await;
    let sale = shop.open(NewSale::of(UNITS as i64)).await;
    let mut crowd = Crowd::new(&sale);
    Ailment::RabbitWithoutMemory.begin(&shop).await;
    crowd.arrive(&shop, MEANWHILE, Duration::from_secs(1));
    crowd.served().await;
    let relay = shop.process("relay", 0);
    relay.terminate();
    let stopped = relay.ended(STOPPED_WITHIN).await;
    relay.start();
    Ailment::RabbitWithoutMemory.end(&shop).await;
    assert!(stopped.success(), "{stopped}");
    crowd.arrive(&shop, 2 * (UNITS - MEANWHILE), Duration::from_secs(1));
    crowd.served().await;
    nothing_is_lost(&shop, &sale, &crowd, UNITS as i64).await;
}

/// Whoever starts while nothing may be written waits, as for a database that is away.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_may_only_be_read_keeps_nobody_from_starting() {
    let roles = ["serve", "relay", "consume", "control"];
    let _mended = Stack::get().mended();
    let mut shop = Plan::on(Rung::Rabbit).await.roles(&roles).start().await;
    let sale = shop.open(NewSale::of(UNITS as i64)).await;
    Ailment::ReadOnlyDatabase.begin(&shop).await;
    for role in roles {
        shop.process(role, 0).kill();
        shop.process(role, 0).start();
    }
    pause(ILL_FOR).await;
    Ailment::ReadOnlyDatabase.end(&shop).await;
    shop.ready().await;
    let mut crowd = Crowd::new(&sale);
    crowd.arrive(&shop, UNITS + 20, Duration::from_secs(1));
    crowd.served().await;
    nothing_is_lost(&shop, &sale, &crowd, UNITS as i64).await;
}

/// The others of a cluster serve only what is theirs, if that: doctor and audit say so instead of guessing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_that_misses_a_member_is_named() {
    let shop = Plan::on(Rung::Cluster).await.start().await;
    let _mended = Stack::get().mended();
    let sale = shop.open(NewSale::of(UNITS as i64).split(5, 6)).await;
    let well = shop.run(&["doctor"]).await;
    Stack::get().run(&["kill", "shard1"]).await;
    let (doctor, audit) = (shop.run(&["doctor"]).await, shop.run(&["audit"]).await);
    Stack::get().run(&["start", "shard1"]).await;

    assert!(well.status.success(), "{well:?}");
    let url = Stack::get().variable("SECKILL_STACK_CLUSTER_URL").split(',').nth(1).unwrap();
    let dead = format!("SICK  redis cluster {}", url.trim_start_matches("redis://").trim_end_matches('/'));
    let said = String::from_utf8_lossy(&doctor.stdout);
    assert!(!doctor.status.success() && said.contains(&dead), "the doctor says: {said}");
    assert!(!audit.status.success(), "the audit cannot tell: {audit:?}");
    let mut crowd = Crowd::new(&sale);
    crowd.arrive(&shop, UNITS + 20, Duration::from_secs(1));
    crowd.served().await;
    nothing_is_lost(&shop, &sale, &crowd, UNITS as i64).await;
}
