//! The measured Redis master.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use base::config::RedisConfig;
use domain::Bucket;
use domain::claim::Decision;
use engine::batching::Batch;
use engine::pipeline::outbox;
use engine::redis::connection;
use engine::redis::connection::RedisConnection;
use engine::redis::keys;
use engine::stock::Stock;
use engine::stock::redis::RedisStock;
use redis::{Cmd, FromRedisValue};
use secrecy::ExposeSecret;
use tokio::task::JoinSet;
use url::Url;

use crate::info::info;
use crate::work::{CLIENTS, Calls, Work};
use crate::{Measured, master};

pub struct Server {
    /// One per concurrent call, each with a connection of its own.
    clients: Vec<Arc<RedisStock>>,
    redis: RedisConnection,
    replica: RedisConnection,
    pub port: u16,
    /// Number of sales that may still be on the server.
    sales: AtomicI64,
}

impl Server {
    pub fn connect(redis: &RedisConfig, database_url: &str) -> anyhow::Result<Server> {
        let url = &redis.master;
        let replica = connection::shared(redis.replicas.first().context("the measured master needs a replica")?)?;
        let port = Url::parse(url.url.expose_secret())?.port().unwrap_or(6379);
        let clients = (0..CLIENTS).map(|_| Ok(Arc::new(master::stock(connection::shared(url)?, database_url)?)));
        let clients = clients.collect::<anyhow::Result<Vec<_>>>()?;
        Ok(Server { clients, redis: connection::shared(url)?, replica, port, sales: AtomicI64::new(1) })
    }

    /// Fails for a server without a replica or without an append-only file, which the shop would not use.
    pub async fn print_description(&self) -> anyhow::Result<()> {
        let version = info(&self.redis, "server", "redis_version").await?;
        let replicas = info(&self.redis, "replication", "connected_slaves").await?;
        let (append, fsync) = (self.setting("appendonly").await?, self.setting("appendfsync").await?);
        println!("Redis {version}, appendonly {append}, appendfsync {fsync}, {replicas} replica, {CLIENTS} clients");
        ensure!(append == "yes" && replicas != "0", "the benchmark needs a durable master with a replica");
        Ok(())
    }

    async fn query<T: FromRedisValue>(&self, command: &Cmd) -> anyhow::Result<T> {
        Ok(command.query_async(&mut self.redis.clone()).await?)
    }

    async fn setting(&self, name: &str) -> anyhow::Result<String> {
        let (_, value): (String, String) = self.query(redis::cmd("CONFIG").arg("GET").arg(name)).await?;
        Ok(value)
    }

    async fn set(&self, name: &str, value: &str) -> anyhow::Result<()> {
        self.query(redis::cmd("CONFIG").arg("SET").arg(name).arg(value)).await
    }

    /// Processor time of the master's main thread. Another thread frees deleted keys.
    pub async fn cpu(&self) -> anyhow::Result<Duration> {
        let mut seconds = 0.0;
        for field in ["used_cpu_sys_main_thread", "used_cpu_user_main_thread"] {
            seconds += info(&self.redis, "cpu", field).await?.parse::<f64>()?;
        }
        Ok(Duration::from_secs_f64(seconds))
    }

    /// Bytes of a key with all its elements.
    pub async fn memory(&self, key: &str) -> anyhow::Result<u64> {
        self.query(redis::cmd("MEMORY").arg("USAGE").arg(key).arg("SAMPLES").arg(0)).await
    }

    pub async fn booked(&self, sale: &str) -> anyhow::Result<u64> {
        self.query(redis::cmd("HGET").arg(sale).arg("Booked")).await
    }

    /// Loads the article's script and a sale for it under `key`. Returns the script's hash.
    pub async fn prepare_article(&self, key: &str) -> anyhow::Result<String> {
        let () = self.query(redis::cmd("DEL").arg(key)).await?;
        let sale = redis::cmd("HSET").arg(key).arg("Total").arg(1_u64 << 40).arg("Booked").arg(0).clone();
        let () = self.query(&sale).await?;
        self.query(redis::cmd("SCRIPT").arg("LOAD").arg(master::TOTAL_AND_BOOKED)).await
    }

    /// Runs the work on new sales and checks the result. The sales stay until the next run.
    pub async fn sell(&self, work: Work) -> anyhow::Result<Measured> {
        self.clean().await?;
        for sale in work.sales() {
            master::open(&self.clients[0], &sale).await?;
        }
        let shape = work.shape;
        self.sales.store(shape.sales as i64, Ordering::Relaxed);
        let (cpu, began) = (self.cpu().await?, Instant::now());
        let mut tasks = JoinSet::new();
        for (stock, calls) in self.clients.iter().zip(work.calls) {
            tasks.spawn(send_calls(stock.clone(), calls));
        }
        let mut granted = 0;
        while let Some(units) = tasks.join_next().await {
            granted += units??;
        }
        let copies: u64 = self.query(redis::cmd("WAIT").arg(1).arg(1500)).await?;
        let measured = Measured { took: began.elapsed(), cpu: self.cpu().await? - cpu, claims: shape.claims() };
        ensure!(copies >= 1, "the replica does not keep up");
        let expected = shape.sales * shape.units_per_sale.min(shape.users_per_sale);
        ensure!(granted == expected, "{granted} units were granted instead of {expected}");
        ensure!(self.totals(shape.sales as i64).await? == [expected; 3], "units, holders and orders do not agree");
        Ok(measured)
    }

    /// Sums over all sales: units booked, holders, orders in the outboxes.
    async fn totals(&self, sales: i64) -> anyhow::Result<[u64; 3]> {
        let mut sums = [0; 3];
        for n in 0..sales {
            let bucket = Bucket::whole(master::sale(n, 1).id);
            sums[0] += self.booked(&keys::hash(bucket)).await?;
            sums[1] += self.query::<u64>(redis::cmd("HLEN").arg(keys::holders(bucket))).await?;
            sums[2] += outbox::all(&mut self.redis.clone(), bucket).await?.len() as u64;
        }
        Ok(sums)
    }

    /// How long a call of a script kept the server busy while `doing` ran, in microseconds: median, 99th percentile,
    /// maximum.
    pub async fn pauses(&self, doing: impl Future<Output = anyhow::Result<Measured>>) -> anyhow::Result<[f64; 3]> {
        const SETTING: &str = "latency-tracking-info-percentiles";
        let before = self.setting(SETTING).await?;
        self.set(SETTING, "50 99 100").await?;
        let () = self.query(redis::cmd("CONFIG").arg("RESETSTAT")).await?;
        let done = doing.await;
        let line = info(&self.redis, "latencystats", "latency_percentiles_usec_evalsha").await;
        self.set(SETTING, &before).await?;
        done?;
        // `p50=12.031,p99=34.047,p100=56.063`
        let line = line?;
        let mut pauses = [0.0; 3];
        for (pause, word) in pauses.iter_mut().zip(line.split(',')) {
            *pause = word.split('=').nth(1).with_context(|| format!("Redis said {line}"))?.parse()?;
        }
        Ok(pauses)
    }

    /// Deletes the keys of the last run and waits until both servers have freed them. Freeing in the background would
    /// take time from the next run.
    pub async fn clean(&self) -> anyhow::Result<()> {
        for n in 0..self.sales.swap(1, Ordering::Relaxed) {
            self.clients[0].unload(Bucket::whole(master::sale(n, 1).id)).await?;
        }
        let _: u64 = self.query(redis::cmd("WAIT").arg(1).arg(1500)).await?;
        for server in [&self.redis, &self.replica] {
            while info(server, "memory", "lazyfree_pending_objects").await? != "0" {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
        Ok(())
    }
}

/// Sends the calls and returns the number of units granted.
async fn send_calls(stock: Arc<RedisStock>, calls: Calls) -> anyhow::Result<u64> {
    let mut granted = 0;
    for (bucket, claims) in calls {
        let decisions = stock.reserve(&[Batch { bucket, claims }]).await.remove(0)?;
        granted += decisions.iter().filter(|d| matches!(d, Decision::Granted(_))).count() as u64;
    }
    Ok(granted)
}
