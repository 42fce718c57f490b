//! Health checks of the services that this process needs, and of its host's clock.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::bail;
use boxed::boxed;
use futures::future::{OptionFuture, join_all};
use jiff::Timestamp;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::pipeline::rabbit::Monitor;
use crate::redis::connection::RedisConnection;
use base::clock::Clock;
use base::locked;
use base::metrics::Metrics;
use base::periodic::Periodic;
use store::Store;

/// A service that takes longer counts as down.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);
/// A host whose clock is further off than this is reported.
const MAX_CLOCK_OFFSET_SECONDS: f64 = 1.0;
const CLOCK_INTERVAL: Duration = Duration::from_secs(2);

/// The health of one service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    pub name: &'static str,
    /// What is wrong; `None` when the service is healthy.
    pub problem: Option<String>,
    /// Whether shoppers can be served nevertheless.
    pub is_usable: bool,
}

/// Checks the configured services.
#[derive(Clone)]
pub struct Health {
    store: Store,
    master: Option<RedisConnection>,
    replicas: Vec<RedisConnection>,
    monitor: Option<Arc<Monitor>>,
    clock: Clock,
    clock_problem: Arc<Mutex<Option<String>>>,
}

#[boxed]
impl Health {
    pub fn new(
        store: Store,
        master: Option<RedisConnection>,
        replicas: Vec<RedisConnection>,
        monitor: Option<Arc<Monitor>>,
        clock: Clock,
    ) -> Health {
        Health { store, master, replicas, monitor, clock, clock_problem: Arc::default() }
    }

    /// Checks all services concurrently.
    pub async fn report(&self) -> Vec<Part> {
        let database = part("database", async { Ok(self.store.ping().await?) });
        let master = OptionFuture::from(self.master.as_ref().map(master));
        let replicas = join_all(self.replicas.iter().map(|replica| {
            part("redis replica", async { Ok(redis::cmd("PING").query_async(&mut replica.clone()).await?) })
        }));
        let rabbit = OptionFuture::from(
            self.monitor.as_ref().map(|monitor| part("rabbitmq", async { monitor.depths().await.map(drop) })),
        );
        let (database, master, replicas, rabbit) = tokio::join!(database, master, replicas, rabbit);
        [database].into_iter().chain(master).chain(replicas).chain(rabbit).collect()
    }
}

/// A master that answers but refuses writes is not healthy. If one master of a Redis Cluster is down, sales on the
/// others go on.
async fn master(connection: &RedisConnection) -> Part {
    let all = part("redis master", async { Ok(connection.check_writable().await?) });
    if !connection.is_cluster() {
        return all.await;
    }
    let any = part("redis master", async { Ok(connection.check_any_master().await?) });
    let (all, any) = tokio::join!(all, any);
    Part { is_usable: any.is_usable, ..all }
}

async fn part(name: &'static str, check: impl Future<Output = anyhow::Result<()>>) -> Part {
    let problem = match tokio::time::timeout(ANSWER_TIMEOUT, check).await {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(format!("{error:#}")),
        Err(_) => Some(format!("no answer within {} s", ANSWER_TIMEOUT.as_secs())),
    };
    Part { name, is_usable: problem.is_none(), problem }
}

/// How far the clock of this host is ahead of a server's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClockOffset {
    pub seconds: f64,
    /// Half of the time that asking took, and what rounding to milliseconds hides.
    uncertainty: f64,
}

#[boxed]
impl ClockOffset {
    pub async fn measure<E>(
        clock: &Clock,
        server_time: impl Future<Output = Result<Timestamp, E>>,
    ) -> Result<ClockOffset, E> {
        let (began, waited) = (clock.host_ms(), Instant::now());
        let server = server_time.await?.as_millisecond();
        let half = waited.elapsed().as_secs_f64() / 2.0;
        Ok(ClockOffset { seconds: (began - server) as f64 / 1e3 + half, uncertainty: half + 0.001 })
    }

    /// How many seconds the offset certainly differs from another one.
    fn distance(&self, seconds: f64) -> f64 {
        (self.seconds - seconds).abs() - self.uncertainty
    }

    /// Whether the offset is certainly too large.
    pub fn is_too_large(&self) -> bool {
        self.distance(0.0) > MAX_CLOCK_OFFSET_SECONDS
    }
}

#[boxed]
impl Health {
    /// Keeps this process's clock in step with the one that decides, until the process stops: the Redis master's, which
    /// opens and closes sales, or the database's where there is no Redis. The process is not ready before the first
    /// comparison, and while this host's clock jumps between two of them.
    pub async fn follow_clock(&self, metrics: Arc<Metrics>, stop: CancellationToken) {
        if self.master.is_none() && self.store.shares_clock() {
            return stop.cancelled().await;
        }
        self.set_clock_problem(Some("not yet compared with the server's".to_owned()));
        let (mut was_compared, mut was_off) = (false, false);
        let mut periodic = Periodic::new("clock offset", CLOCK_INTERVAL, &stop);
        while periodic.tick().await {
            let measured = ClockOffset::measure(&self.clock, self.server_time(was_compared)).await;
            if let Ok(offset) = measured {
                let jump = offset.distance(self.clock.offset_ms() as f64 / 1e3);
                // Smaller differences are the way of the answer.
                if jump > 0.0 {
                    self.clock.set_offset_ms((offset.seconds * 1e3).round() as i64);
                }
                let has_jumped = was_compared && jump > MAX_CLOCK_OFFSET_SECONDS;
                self.set_clock_problem(has_jumped.then(|| format!("this host's clock has jumped by {jump:.1} s")));
                was_compared = true;
                metrics.clock_offset_seconds.set(offset.seconds);
                let is_off = offset.is_too_large();
                match (was_off, is_off) {
                    (false, true) => warn!(
                        seconds = offset.seconds,
                        "the clock of this host is wrong, so this process goes by the server's; synchronize both (NTP)"
                    ),
                    (true, false) => info!(seconds = offset.seconds, "the clock of this host is right again"),
                    _ => {}
                }
                was_off = is_off;
            }
            periodic.record(measured.map(drop));
        }
    }

    /// The time of the server whose clock decides. At a start without Redis the database's has to do.
    async fn server_time(&self, was_compared: bool) -> anyhow::Result<Timestamp> {
        let Some(master) = &self.master else { return Ok(self.store.ask_time().await?) };
        match tokio::time::timeout(ANSWER_TIMEOUT, server_time(master)).await {
            Ok(Ok(time)) => Ok(time),
            _ if !was_compared => Ok(self.store.ask_time().await?),
            Ok(Err(error)) => Err(error),
            Err(_) => bail!("Redis does not tell its time"),
        }
    }

    /// What is wrong with the clock that [`Health::follow_clock`] follows.
    pub fn clock_problem(&self) -> Option<String> {
        locked(&self.clock_problem).clone()
    }

    fn set_clock_problem(&self, problem: Option<String>) {
        *locked(&self.clock_problem) = problem;
    }
}

/// The time of a Redis server; of any master of a cluster.
pub(crate) async fn server_time(server: &RedisConnection) -> anyhow::Result<Timestamp> {
    let (seconds, micros): (i64, i64) = redis::cmd("TIME").query_async(&mut server.clone()).await?;
    Ok(Timestamp::from_microsecond(seconds * 1_000_000 + micros)?)
}
