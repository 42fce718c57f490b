//! How many claims on a red packet a second Redis decides: through the shop's lanes, a batch per call, against the source
//! articles' script called one by one with 20 connections, on the same Redis in one run.
//!
//! `scripts/stack up && eval "$(scripts/stack env)" && cargo bench --bench packets`
//!
//! Both sides check one share per user, take a share from a list, and write down who has it. The shop's script answers
//! by the server's own clock, remembers the share for those who ask again, and writes the outbox as well. The ratio is the
//! median of `PACKETS_ROUNDS` (default 5), in which both run one right after the other. Generators share the cores with
//! Redis.

mod common;
#[path = "common/info.rs"]
mod info;

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use futures::future::join_all;
use info::info;
use seckill::batching::Batcher;
use seckill::clock::Clock;
use seckill::config::Config;
use seckill::domain::Bucket;
use seckill::domain::packet::{Giver, Packet, Share, Split, State};
use seckill::domain::{PacketId, UserId};
use seckill::metrics::Metrics;
use seckill::packets::give::HOT_BUCKETS;
use seckill::packets::redis::RedisShares;
use seckill::packets::{Outcome, ShareBackend, Shares};
use seckill::redis::connection;
use seckill::redis::connection::RedisConnection;
use secrecy::ExposeSecret;
use uuid::Uuid;

/// Claims of one round through the lanes, and of one round of the other script.
const OURS: i64 = 400_000;
const THEIRS: i64 = 100_000;
/// Who claim at the same time.
const PEOPLE: usize = 2_000;
/// As one that friends share, and as the shop spreads one of so many shares.
const BUCKETS: [u8; 2] = [1, HOT_BUCKETS];
const PACKET: PacketId = PacketId(999_999_999_999);

/// As the articles have it, but for the keys, which are quoted there.
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
    if !common::is_wanted() {
        return Ok(());
    }
    tokio::runtime::Runtime::new()?.block_on(run())
}

async fn run() -> anyhow::Result<()> {
    let rounds = common::number("PACKETS_ROUNDS", 5);
    let config = Config::from_environment()?;
    let redis = config.redis.context("scripts/stack up && eval \"$(scripts/stack env)\"")?;
    let master = connection::shared(&redis.master)?;
    let mut ratios = BUCKETS.map(|_| Vec::new());
    for _ in 0..rounds {
        let theirs = one_by_one(&master, redis.master.expose_secret()).await?;
        println!("{theirs:.0} claims/s one by one with 20 connections");
        for (buckets, ratios) in BUCKETS.into_iter().zip(&mut ratios) {
            let ours = through_lanes(&master, buckets).await?;
            println!("{ours:.0} claims/s through the lanes of {buckets} bucket(s): {:.1}", ours / theirs);
            ratios.push(ours / theirs);
        }
    }
    for (buckets, ratios) in BUCKETS.into_iter().zip(&mut ratios) {
        ratios.sort_by(f64::total_cmp);
        println!("{buckets} bucket(s): ratio {:.1}, the median of {rounds}", ratios[ratios.len() / 2]);
    }
    Ok(())
}

/// A packet that is open, of which data control knows nothing.
fn packet(buckets: u8) -> Packet {
    let now = Clock::system().now();
    Packet {
        id: PACKET,
        giver: Giver::Shop,
        total: OURS,
        count: OURS,
        min: 1,
        max: 1,
        split: Split::Equal,
        greeting: String::new(),
        own: true,
        opens_at: now - Duration::from_secs(60),
        expires_at: now + Duration::from_secs(3600),
        buckets,
        state: State::Open,
        claimed: 0,
        claimed_amount: 0,
        epoch: 1,
        created_at: now,
        settled_at: None,
        best: None,
    }
}

async fn through_lanes(master: &RedisConnection, buckets: u8) -> anyhow::Result<f64> {
    let keeper = RedisShares::new(master.clone());
    for (part, bucket) in Bucket::all(PACKET, buckets).enumerate() {
        keeper.unload(bucket).await?;
        let indices = (part as i64..OURS).step_by(buckets.into());
        let shares: Vec<Share> = indices.map(|index| Share { index, amount: 1 }).collect();
        keeper.stage(bucket, 1, &shares, &[]).await?;
        ensure!(keeper.load(bucket, &packet(buckets), 1, true).await?, "somebody else loads the packet");
    }
    let lanes = Batcher::new(Arc::new(Shares(Arc::new(keeper.clone()))), Arc::new(Metrics::default()));
    let left = Arc::new(AtomicI64::new(OURS));
    let began = Instant::now();
    let people = (0..PEOPLE).map(|_| {
        let (keeper, lanes, left) = (keeper.clone(), lanes.clone(), left.clone());
        tokio::spawn(async move {
            let mut won = 0;
            while left.fetch_sub(1, Ordering::Relaxed) > 0 {
                let user = UserId(Uuid::now_v7());
                for home in keeper.homes(PACKET, buckets, user) {
                    match lanes.claim(home, user, None).await {
                        Ok(Outcome::Empty) => continue,
                        claimed => won += i64::from(matches!(claimed, Ok(Outcome::OutboxItem(_)))),
                    }
                    break;
                }
            }
            won
        })
    });
    let won: i64 = join_all(people).await.into_iter().map(|won| won.unwrap_or_default()).sum();
    let took = began.elapsed();
    ensure!(won == OURS, "{won} of {OURS} claims got a share");
    for bucket in Bucket::all(PACKET, buckets) {
        keeper.unload(bucket).await?;
    }
    freed(master).await?;
    Ok(OURS as f64 / took.as_secs_f64())
}

/// Waits until what was deleted is gone: a server frees it behind the scenes.
async fn freed(master: &RedisConnection) -> anyhow::Result<()> {
    while info(master, "memory", "lazyfree_pending_objects").await? != "0" {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Ok(())
}

async fn one_by_one(master: &RedisConnection, url: &str) -> anyhow::Result<f64> {
    let mut connection = master.clone();
    let () = redis::cmd("DEL").arg(&PEER_KEYS).query_async(&mut connection).await?;
    for chunk in (0..2 * THEIRS).collect::<Vec<_>>().chunks(10_000) {
        let shares: Vec<String> = chunk.iter().map(|n| format!(r#"{{"id":"rid_{n}","money":{n}}}"#)).collect();
        let () = redis::cmd("LPUSH").arg(PEER_KEYS[0]).arg(shares).query_async(&mut connection).await?;
    }
    let hash: String = redis::cmd("SCRIPT").arg("LOAD").arg(PEER).query_async(&mut connection).await?;
    let output = Command::new("redis-benchmark")
        .args(["-u", url, "-c", "20", "-n", &THEIRS.to_string(), "-r", "1000000000", "--csv"])
        .args(["evalsha", &hash, "4"])
        .args(PEER_KEYS)
        .arg("user:__rand_int__")
        .output()
        .context("redis-benchmark is needed: apt-get install redis-tools")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let claimed: i64 = redis::cmd("LLEN").arg(PEER_KEYS[1]).query_async(&mut connection).await?;
    ensure!(claimed > THEIRS * 99 / 100, "only {claimed} of {THEIRS} got a share: {text}");
    let () = redis::cmd("DEL").arg(&PEER_KEYS).query_async(&mut connection).await?;
    // The last line: "name","rps",…
    let rate = text.lines().last().and_then(|line| line.rsplit("\",\"").nth(6)).and_then(|rate| rate.parse().ok());
    rate.with_context(|| format!("redis-benchmark said: {text}"))
}
