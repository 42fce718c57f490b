//! Services that answer but refuse writes: a read-only database, a full Redis, a Redis that is a replica or has no
//! replicas, a RabbitMQ short of memory. They count as unreachable: nothing is lost, and nothing becomes a dead letter.

use std::ops::RangeInclusive;
use std::pin::pin;
use std::time::Duration;

use engine::redis::keys;
use futures::{StreamExt, stream};

use super::{assert_nothing_is_lost, open_shop};
use crate::support::{Load, NewSale, Plan, Rung, Shop, Stack, on_postgres, pause, redis_at, redis_words};

const UNITS: u64 = 200;
/// Shoppers who arrive during the fault; every one of them gets a unit.
const DURING_FAULT: u64 = 120;
const ARRIVAL_TIME: Duration = Duration::from_secs(6);
/// Shoppers who buy in two sales, one of which has lost its master, and how many of them at once.
const BESIDE_A_DEAD_MASTER: u64 = 200;
const CONCURRENCY: usize = 8;
/// As a cluster of three masters divides the slots.
const SLOTS_OF_SHARD_1: RangeInclusive<u16> = 5_461..=10_922;
/// Longer than the time after which an order is overdue.
const FAULT_MS: u64 = 8_000;
/// The contract promises ten seconds.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Clone, Copy)]
enum Degradation {
    ReadOnlyDatabase,
    FullRedis,
    DemotedRedis,
    RedisWithoutReplicas,
    RabbitWithoutMemory,
}

impl Degradation {
    async fn begin(self, shop: &Shop) {
        match self {
            Degradation::ReadOnlyDatabase => set_database_read_only(shop, "on").await,
            Degradation::FullRedis => redis_command("CONFIG SET maxmemory 1").await,
            Degradation::DemotedRedis => redis_command("REPLICAOF 127.0.0.1 1").await,
            Degradation::RedisWithoutReplicas => redis_command("CONFIG SET min-replicas-to-write 9").await,
            Degradation::RabbitWithoutMemory => set_rabbitmq_memory_limit(&["absolute", "1000000"]).await,
        }
    }

    async fn end(self, shop: &Shop) {
        match self {
            Degradation::ReadOnlyDatabase => set_database_read_only(shop, "off").await,
            Degradation::FullRedis => redis_command("CONFIG SET maxmemory 0").await,
            Degradation::DemotedRedis => redis_command("REPLICAOF NO ONE").await,
            Degradation::RedisWithoutReplicas => redis_command("CONFIG SET min-replicas-to-write 0").await,
            Degradation::RabbitWithoutMemory => set_rabbitmq_memory_limit(&["0.4"]).await,
        }
    }

    /// The line of the doctor about it.
    fn doctor_line(self) -> &'static str {
        match self {
            Degradation::ReadOnlyDatabase => "FAIL  database: it can be read but not written",
            Degradation::FullRedis | Degradation::RedisWithoutReplicas => {
                "FAIL  redis master: it can be read but not written"
            }
            Degradation::DemotedRedis => "FAIL  redis master: it is not a master",
            Degradation::RabbitWithoutMemory => "FAIL  rabbitmq: RabbitMQ takes no messages",
        }
    }
}

/// Sets the shop's database read-only for new sessions, and ends the existing ones.
async fn set_database_read_only(shop: &Shop, on: &str) {
    let name = shop.vhost();
    on_postgres(&format!("ALTER DATABASE {name} SET default_transaction_read_only = {on}")).await.unwrap();
    let end = format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'");
    on_postgres(&end).await.unwrap();
}

pub async fn redis_command(words: &str) {
    let mut connection = redis_at(Stack::get().variable("SECKILL_REDIS_URL")).await;
    redis_words(words).exec_async(&mut connection).await.unwrap();
}

/// Sets how much of the machine's memory RabbitMQ may use.
async fn set_rabbitmq_memory_limit(limit: &[&str]) {
    Stack::get().run(&[&["rabbitmqctl", "set_vm_memory_high_watermark"], limit].concat()).await;
}

/// Restores the settings of shared services on drop, when a test fails before it does so itself.
struct RestoreSettings;

impl Drop for RestoreSettings {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            return;
        }
        let _ = Stack::get().script(&["rabbitmqctl", "set_vm_memory_high_watermark", "0.4"]).output();
        let client = redis::Client::open(Stack::get().variable("SECKILL_REDIS_URL")).unwrap();
        let Ok(mut connection) = client.get_connection() else { return };
        for words in ["CONFIG SET maxmemory 0", "CONFIG SET min-replicas-to-write 0", "REPLICAOF NO ONE"] {
            let _ = redis_words(words).exec(&mut connection);
        }
    }
}

/// Stops a process of each role, and starts it again.
async fn stop_one_of_each(shop: &mut Shop) {
    const ROLES: [&str; 4] = ["serve", "relay", "consume", "control"];
    for role in ROLES {
        shop.process(role, 0).terminate();
    }
    for role in ROLES {
        let stopped = shop.process(role, 0).ended(STOP_TIMEOUT).await;
        assert!(stopped.success(), "{role}: {stopped}");
        shop.process(role, 0).start();
    }
}

async fn survives_degradation(degradation: Degradation) {
    let (_restore, _settings) = (Stack::get().restore_on_drop(), RestoreSettings);
    let (mut shop, sale) = open_shop(NewSale::of(UNITS as i64)).await;
    let mut load = Load::new(&sale);
    load.arrive(&shop, DURING_FAULT, ARRIVAL_TIME);
    pause(1_000).await;
    degradation.begin(&shop).await;
    pause(FAULT_MS).await;
    let doctor = shop.run(&["doctor"]).await;
    if matches!(degradation, Degradation::ReadOnlyDatabase | Degradation::FullRedis) {
        stop_one_of_each(&mut shop).await;
    }
    degradation.end(&shop).await;
    load.finish().await;

    let report = String::from_utf8_lossy(&doctor.stdout);
    assert!(!doctor.status.success() && report.contains(degradation.doctor_line()), "the doctor reports: {report}");
    assert_eq!(load.winners() as u64, DURING_FAULT, "there were units for all shoppers: {:?}", load.refusals());
    load.serve(&shop, 2 * (UNITS - DURING_FAULT), Duration::from_secs(1)).await;
    assert_nothing_is_lost(&shop, &sale, &load, UNITS as i64).await;
    let letters = shop.admin().await.get("/api/admin/dead-letters").await.expect(200).json();
    assert_eq!(letters["letters"].as_array().map(Vec::len), Some(0), "dead letters: {letters}");
}

cases! { survives_degradation:
    read_only_database: Degradation::ReadOnlyDatabase,
    full_redis: Degradation::FullRedis,
    redis_demoted_to_replica: Degradation::DemotedRedis,
    redis_without_its_required_replicas: Degradation::RedisWithoutReplicas,
    rabbitmq_short_of_memory: Degradation::RabbitWithoutMemory,
}

/// A relay stops although RabbitMQ does not accept its orders.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rabbitmq_short_of_memory_does_not_delay_shutdown() {
    let (_restore, _settings) = (Stack::get().restore_on_drop(), RestoreSettings);
    let mut shop = Plan::on(Rung::Rabbit).await.roles(&["serve", "relay", "consume", "control"]).start().await;
    let sale = shop.open(NewSale::of(UNITS as i64)).await;
    let mut load = Load::new(&sale);
    Degradation::RabbitWithoutMemory.begin(&shop).await;
    load.serve(&shop, DURING_FAULT, Duration::from_secs(1)).await;
    let relay = shop.process("relay", 0);
    relay.terminate();
    let stopped = relay.ended(STOP_TIMEOUT).await;
    relay.start();
    Degradation::RabbitWithoutMemory.end(&shop).await;
    assert!(stopped.success(), "{stopped}");
    load.serve(&shop, 2 * (UNITS - DURING_FAULT), Duration::from_secs(1)).await;
    assert_nothing_is_lost(&shop, &sale, &load, UNITS as i64).await;
}

/// A process that starts while the database is read-only waits, as for an unreachable one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn processes_started_with_a_read_only_database_wait_for_it() {
    let roles = ["serve", "relay", "consume", "control"];
    let _restore = Stack::get().restore_on_drop();
    let (mut shop, sale) = Plan::on(Rung::Rabbit).await.roles(&roles).open(NewSale::of(UNITS as i64)).await;
    Degradation::ReadOnlyDatabase.begin(&shop).await;
    for role in roles {
        shop.process(role, 0).kill();
        shop.process(role, 0).start();
    }
    pause(FAULT_MS).await;
    Degradation::ReadOnlyDatabase.end(&shop).await;
    shop.wait_until_ready().await;
    let mut load = Load::new(&sale);
    load.serve(&shop, UNITS + 20, Duration::from_secs(1)).await;
    assert_nothing_is_lost(&shop, &sale, &load, UNITS as i64).await;
}

/// The remaining members of a cluster sell what their slots have, and nothing else. Doctor and audit report that instead
/// of guessing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn missing_cluster_member_is_named() {
    let shop = Plan::on(Rung::Cluster).await.start().await;
    let _restore = Stack::get().restore_on_drop();
    let sale = shop.open(NewSale::of(UNITS as i64).split(5, 6)).await;
    let (mut dead, mut living) = (None, None);
    while dead.is_none() || living.is_none() {
        let one = shop.open(NewSale::of(BESIDE_A_DEAD_MASTER as i64)).await;
        let is_dead = SLOTS_OF_SHARD_1.contains(&keys::slot(&one));
        let _ = if is_dead { dead.insert(one) } else { living.insert(one) };
    }
    let (unsold, living) = (dead.unwrap(), living.unwrap());
    let before = shop.run(&["doctor"]).await;
    Stack::get().run(&["kill", "shard1"]).await;
    let mut sold = 0;
    let crowd = stream::iter(1..=BESIDE_A_DEAD_MASTER).map(async |n| {
        let shopper = shop.shopper(10_000 + n);
        let (dead, living) = tokio::join!(shopper.try_buy(&unsold, 1), shopper.try_buy(&living, 1));
        assert!(!dead.is_ok_and(|answer| answer.status == 202), "the dead master has granted");
        living.is_ok_and(|answer| answer.status == 202)
    });
    let mut crowd = pin!(crowd.buffer_unordered(CONCURRENCY));
    while let Some(has_bought) = crowd.next().await {
        sold += u64::from(has_bought);
    }
    assert!(sold * 100 >= BESIDE_A_DEAD_MASTER * 99, "{sold} of {BESIDE_A_DEAD_MASTER} bought from living masters");
    shop.ops(0).get("/readyz").await.expect(200);
    let (doctor, audit) = (shop.run(&["doctor"]).await, shop.run(&["audit"]).await);
    Stack::get().run(&["start", "shard1"]).await;

    assert!(before.status.success(), "{before:?}");
    let url = Stack::get().variable("SECKILL_STACK_CLUSTER_URL").split(',').nth(1).unwrap();
    let dead = format!("FAIL  redis cluster {}", url.trim_start_matches("redis://").trim_end_matches('/'));
    let report = String::from_utf8_lossy(&doctor.stdout);
    assert!(!doctor.status.success() && report.contains(&dead), "the doctor reports: {report}");
    assert!(!audit.status.success(), "the audit cannot run: {audit:?}");
    let mut load = Load::new(&sale);
    load.serve(&shop, UNITS + 20, Duration::from_secs(1)).await;
    assert_nothing_is_lost(&shop, &sale, &load, UNITS as i64).await;
}
