//! Strategies on Redis with one or several commands per claim.

use std::collections::HashSet;
use std::time::Duration;

use anyhow::{Context, bail};
use async_trait::async_trait;
use engine::redis::connection::RedisConnection;
use rand::RngExt;
use redis::{AsyncCommands, Script};
use tokio::time::Instant;
use uuid::Uuid;

use crate::master::TOTAL_AND_BOOKED;
use crate::strategy::{Answer, StockStrategy};

const STOCK: &str = "strategies{1}:stock";
const LOCK: &str = "strategies{1}:lock";
const LIST: &str = "strategies{1}:list";
const SALE: &str = "strategies{1}";
const USERS: &str = "strategies{1}:users";
const STREAM: &str = "strategies{1}:stream";

pub async fn clean(redis: &RedisConnection) -> anyhow::Result<()> {
    Ok(redis.clone().unlink(&[STOCK, LOCK, LIST, SALE, USERS, STREAM]).await?)
}

/// A distributed lock around reading, checking and deducting. It expires if its holder crashes, and only its holder
/// releases it.
pub struct Locked {
    redis: RedisConnection,
    unlock: Script,
}

/// Longer than any holder needs. After a crash of the holder the sale stands still for this long.
const LOCK_EXPIRY_MS: u64 = 3000;

impl Locked {
    pub fn new(redis: RedisConnection) -> Locked {
        let unlock = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";
        Locked { redis, unlock: Script::new(unlock) }
    }

    /// Returns `false` when the lock is not free in time.
    async fn lock(&self, token: &str, until: Instant) -> anyhow::Result<bool> {
        let mut set = redis::cmd("SET");
        set.arg(LOCK).arg(token).arg("NX").arg("PX").arg(LOCK_EXPIRY_MS);
        while set.query_async::<Option<String>>(&mut self.redis.clone()).await?.is_none() {
            if Instant::now() >= until {
                return Ok(false);
            }
            let wait = Duration::from_micros(rand::rng().random_range(500..3000));
            tokio::time::sleep(wait).await;
        }
        Ok(true)
    }
}

#[async_trait]
impl StockStrategy for Locked {
    async fn open(&self, stock: u64) -> anyhow::Result<()> {
        clean(&self.redis).await?;
        Ok(self.redis.clone().set(STOCK, stock).await?)
    }

    async fn claim(&self, _user: Uuid, until: Instant) -> anyhow::Result<Answer> {
        let token = Uuid::new_v4().to_string();
        if !self.lock(&token, until).await? {
            return Ok(Answer::GaveUp);
        }
        let mut redis = self.redis.clone();
        let left: i64 = redis.get(STOCK).await?;
        if left > 0 {
            let () = redis.set(STOCK, left - 1).await?;
        }
        let _: i64 = self.unlock.key(LOCK).arg(token).invoke_async(&mut redis).await?;
        Ok(if left > 0 { Answer::Granted } else { Answer::SoldOut })
    }

    async fn deducted(&self, stock: u64) -> anyhow::Result<u64> {
        let left: u64 = self.redis.clone().get(STOCK).await?;
        Ok(stock - left)
    }
}

/// One list element per unit; a claim pops one.
pub struct ListPop(pub RedisConnection);

#[async_trait]
impl StockStrategy for ListPop {
    async fn open(&self, stock: u64) -> anyhow::Result<()> {
        clean(&self.0).await?;
        let units: Vec<u64> = (0..stock).collect();
        for units in units.chunks(1000) {
            let () = self.0.clone().rpush(LIST, units).await?;
        }
        Ok(())
    }

    async fn claim(&self, _user: Uuid, _until: Instant) -> anyhow::Result<Answer> {
        let unit: Option<u64> = self.0.clone().lpop(LIST, None).await?;
        Ok(if unit.is_some() { Answer::Granted } else { Answer::SoldOut })
    }

    async fn deducted(&self, stock: u64) -> anyhow::Result<u64> {
        let left: u64 = self.0.clone().llen(LIST).await?;
        Ok(stock - left)
    }
}

/// The first article's script on `{Total, Booked}`, loaded once and called by its hash.
pub struct OneScript {
    redis: RedisConnection,
    script: Script,
}

impl OneScript {
    pub fn new(redis: RedisConnection) -> OneScript {
        OneScript { redis, script: Script::new(TOTAL_AND_BOOKED) }
    }
}

#[async_trait]
impl StockStrategy for OneScript {
    async fn open(&self, stock: u64) -> anyhow::Result<()> {
        clean(&self.redis).await?;
        Ok(self.redis.clone().hset_multiple(SALE, &[("Total", stock), ("Booked", 0)]).await?)
    }

    async fn claim(&self, _user: Uuid, _until: Instant) -> anyhow::Result<Answer> {
        let units: u64 = self.script.key(SALE).arg(1).invoke_async(&mut self.redis.clone()).await?;
        Ok(if units == 1 { Answer::Granted } else { Answer::SoldOut })
    }

    async fn deducted(&self, _stock: u64) -> anyhow::Result<u64> {
        Ok(self.redis.clone().hget(SALE, "Booked").await?)
    }
}

/// A script that also records who has bought, after the articles on one unit per user.
/// KEYS 1 stock, 2 set of users, 3 stream; ARGV 1 user, 2 whether to write the order into the stream.
/// Returns 0 granted, 1 sold out, 2 repeated.
const ONE_PER_USER: &str = "
if tonumber(redis.call('GET', KEYS[1])) < 1 then return 1 end
if redis.call('SISMEMBER', KEYS[2], ARGV[1]) == 1 then return 2 end
redis.call('DECR', KEYS[1])
redis.call('SADD', KEYS[2], ARGV[1])
if ARGV[2] == '1' then redis.call('XADD', KEYS[3], '*', 'user', ARGV[1]) end
return 0";

pub struct UserScript {
    redis: RedisConnection,
    script: Script,
    /// Whether the script also writes the order.
    stream: bool,
}

impl UserScript {
    pub fn new(redis: RedisConnection, stream: bool) -> UserScript {
        UserScript { redis, script: Script::new(ONE_PER_USER), stream }
    }
}

#[async_trait]
impl StockStrategy for UserScript {
    async fn open(&self, stock: u64) -> anyhow::Result<()> {
        clean(&self.redis).await?;
        Ok(self.redis.clone().set(STOCK, stock).await?)
    }

    async fn claim(&self, user: Uuid, _until: Instant) -> anyhow::Result<Answer> {
        let mut call = self.script.key(STOCK);
        call.key(USERS).key(STREAM).arg(user.to_string()).arg(i64::from(self.stream));
        match call.invoke_async(&mut self.redis.clone()).await? {
            0 => Ok(Answer::Granted),
            1 => Ok(Answer::SoldOut),
            2 => Ok(Answer::Repeated),
            other => bail!("the script answered {other}"),
        }
    }

    async fn deducted(&self, stock: u64) -> anyhow::Result<u64> {
        let left: u64 = self.redis.clone().get(STOCK).await?;
        Ok(stock - left)
    }

    async fn orders(&self) -> anyhow::Result<HashSet<Uuid>> {
        let entries: Vec<(String, Vec<String>)> =
            redis::cmd("XRANGE").arg(STREAM).arg("-").arg("+").query_async(&mut self.redis.clone()).await?;
        entries.iter().map(|(_, fields)| Ok(Uuid::try_parse(fields.get(1).context("no user")?)?)).collect()
    }
}
