//! Claims on a red packet per second: through the shop's batches, against the source articles' script called one by one
//! with 20 connections, on the same Redis in one run.
//!
//! `scripts/stack up && eval "$(scripts/stack env)" && cargo bench --bench packets`
//!
//! Both scripts check one share per user, take a share from a list, and store its owner. The shop's script also checks
//! the server's clock, stores the share for replays, and writes the outbox. The ratio is the median of `PACKETS_ROUNDS`
//! (default 5), in each of which both run one after the other. Generators share the cores with Redis.

mod common;
#[path = "common/info.rs"]
mod info;

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use base::clock::Clock;
use base::config::Config;
use base::metrics::Metrics;
use domain::Bucket;
use domain::packet::{Giver, Packet, PacketState, Share, Split};
use domain::{PacketId, UserId};
use engine::batching::Batcher;
use engine::packets::directory::PacketDirectory;
use engine::packets::give::SPLIT_BUCKETS;
use engine::packets::redis::{RedisShares, Staged};
use engine::packets::{ShareBackend, ShareClaims, ShareDecision};
use engine::redis::connection;
use engine::redis::connection::RedisConnection;
use futures::future::join_all;
use info::info;
use secrecy::ExposeSecret;
use store::Store;
use uuid::Uuid;

/// Claims of one round through the shop's batches, and of one round of the articles' script.
const SHOP_CLAIMS: i64 = 400_000;
const PEER_CLAIMS: i64 = 100_000;
/// Users who claim at the same time.
const USERS: usize = 2_000;
/// A packet among friends, and a packet of this size as the shop splits it.
const BUCKETS: [u8; 2] = [1, SPLIT_BUCKETS];
const PACKET: PacketId = PacketId(999_999_999_999);

/// The articles' script. Only the quoting of its keys differs.
const PEER: &str = r"
if redis.call('HEXISTS', KEYS[3], KEYS[4]) ~= 0 then return nil end
local share = redis.call('RPOP', KEYS[1])
if not share then return nil end
local x = cjson.decode(share)
x['userId'] = KEYS[4]
local claimed = cjson.encode(x)
redis.call('HSET', KEYS[3], KEYS[4], KEYS[4])
redis.call('LPUSH', KEYS[2], claimed)
return claimed
";
const PEER_KEYS: [&str; 3] = ["peer:unclaimed", "peer:claimed", "peer:users"];

fn main() -> anyhow::Result<()> {
    if !common::is_measurement() {
        return Ok(());
    }
    tokio::runtime::Runtime::new()?.block_on(run())
}

async fn run() -> anyhow::Result<()> {
    let rounds = common::number("PACKETS_ROUNDS", 5);
    let config = Config::from_environment()?;
    let redis = config.redis.context("scripts/stack up && eval \"$(scripts/stack env)\"")?;
    let (master, store) = (connection::shared(&redis.master)?, Store::open(&config.database_url)?);
    let mut ratios = BUCKETS.map(|_| Vec::new());
    for _ in 0..rounds {
        let peer = one_by_one(&master, redis.master.url.expose_secret()).await?;
        println!("{peer:.0} claims/s one by one with 20 connections");
        for (buckets, ratios) in BUCKETS.into_iter().zip(&mut ratios) {
            let shop = in_batches(&master, &store, buckets).await?;
            println!("{shop:.0} claims/s in batches on {buckets} bucket(s): {:.1}", shop / peer);
            ratios.push(shop / peer);
        }
    }
    for (buckets, ratios) in BUCKETS.into_iter().zip(&mut ratios) {
        ratios.sort_by(f64::total_cmp);
        println!("{buckets} bucket(s): ratio {:.1}, the median of {rounds}", ratios[ratios.len() / 2]);
    }
    Ok(())
}

/// An open packet without a row in the database, so data control does not touch it.
fn packet(buckets: u8) -> Packet {
    let now = Clock::system().now();
    Packet {
        id: PACKET,
        giver: Giver::Shop,
        total: SHOP_CLAIMS,
        count: SHOP_CLAIMS,
        min: 1,
        max: 1,
        split: Split::Equal,
        greeting: String::new(),
        own: true,
        opens_at: now - Duration::from_secs(60),
        expires_at: now + Duration::from_secs(3600),
        buckets,
        state: PacketState::Open,
        claimed: 0,
        claimed_amount: 0,
        epoch: 1,
        created_at: now,
        settled_at: None,
        best: None,
    }
}

async fn in_batches(master: &RedisConnection, store: &Store, buckets: u8) -> anyhow::Result<f64> {
    let directory = Arc::new(PacketDirectory::new(store.clone()));
    let backend = RedisShares::new(master.clone(), store.clone(), Clock::system(), directory);
    for (part, bucket) in Bucket::all(PACKET, buckets).enumerate() {
        backend.unload(bucket).await?;
        let indices = (part as i64..SHOP_CLAIMS).step_by(buckets.into());
        let shares: Vec<Share> = indices.map(|index| Share { index, amount: 1 }).collect();
        let mut staged = Staged::default();
        backend.stage(bucket, 1, &mut staged, &shares, &[]).await?;
        ensure!(backend.load(bucket, &packet(buckets), 1, false, staged).await?, "another process loads the packet");
    }
    let batcher = Batcher::new(Arc::new(ShareClaims(Arc::new(backend.clone()))), Arc::new(Metrics::default()));
    let left = Arc::new(AtomicI64::new(SHOP_CLAIMS));
    let began = Instant::now();
    let users = (0..USERS).map(|_| {
        let (backend, batcher, left) = (backend.clone(), batcher.clone(), left.clone());
        tokio::spawn(async move {
            let mut granted = 0;
            while left.fetch_sub(1, Ordering::Relaxed) > 0 {
                let user = UserId(Uuid::now_v7());
                for home in backend.buckets_for(PACKET, buckets, user) {
                    match batcher.claim(home, user, None).await {
                        Ok(ShareDecision::Empty) => continue,
                        claimed => granted += i64::from(matches!(claimed, Ok(ShareDecision::Granted(_)))),
                    }
                    break;
                }
            }
            granted
        })
    });
    let granted: i64 = join_all(users).await.into_iter().map(|granted| granted.unwrap_or_default()).sum();
    let took = began.elapsed();
    ensure!(granted == SHOP_CLAIMS, "{granted} of {SHOP_CLAIMS} claims got a share");
    for bucket in Bucket::all(PACKET, buckets) {
        backend.unload(bucket).await?;
    }
    wait_until_freed(master).await?;
    Ok(SHOP_CLAIMS as f64 / took.as_secs_f64())
}

/// Waits until Redis has freed deleted keys, which it does in the background.
async fn wait_until_freed(master: &RedisConnection) -> anyhow::Result<()> {
    while info(master, "memory", "lazyfree_pending_objects").await? != "0" {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Ok(())
}

async fn one_by_one(master: &RedisConnection, url: &str) -> anyhow::Result<f64> {
    let mut connection = master.clone();
    let () = redis::cmd("DEL").arg(&PEER_KEYS).query_async(&mut connection).await?;
    for chunk in (0..2 * PEER_CLAIMS).collect::<Vec<_>>().chunks(10_000) {
        let shares: Vec<String> = chunk.iter().map(|n| format!(r#"{{"id":"rid_{n}","money":{n}}}"#)).collect();
        let () = redis::cmd("LPUSH").arg(PEER_KEYS[0]).arg(shares).query_async(&mut connection).await?;
    }
    let hash: String = redis::cmd("SCRIPT").arg("LOAD").arg(PEER).query_async(&mut connection).await?;
    let output = Command::new("redis-benchmark")
        .args(["-u", url, "-c", "20", "-n", &PEER_CLAIMS.to_string(), "-r", "1000000000", "--csv"])
        .args(["evalsha", &hash, "4"])
        .args(PEER_KEYS)
        .arg("user:__rand_int__")
        .output()
        .context("redis-benchmark is needed: apt-get install redis-tools")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let claimed: i64 = redis::cmd("LLEN").arg(PEER_KEYS[1]).query_async(&mut connection).await?;
    ensure!(claimed > PEER_CLAIMS * 99 / 100, "only {claimed} of {PEER_CLAIMS} got a share: {text}");
    let () = redis::cmd("DEL").arg(&PEER_KEYS).query_async(&mut connection).await?;
    // The last line: "name","rps",…
    let rate = text.lines().last().and_then(|line| line.rsplit("\",\"").nth(6)).and_then(|rate| rate.parse().ok());
    rate.with_context(|| format!("unexpected output of redis-benchmark: {text}"))
}
