//! Health checks of the services that this process needs, and of its host's clock.

use std::sync::Arc;
use std::time::Duration;

use futures::future::{OptionFuture, join_all};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::pipeline::rabbit::Monitor;
use crate::redis::connection::RedisConnection;
use base::clock::Clock;
use base::metrics::Metrics;
use base::periodic::Periodic;
use store::{Store, StoreError};

/// A service that takes longer counts as down.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);
/// A host whose clock is further off than this is reported.
const MAX_CLOCK_OFFSET_SECONDS: f64 = 1.0;
const CLOCK_INTERVAL: Duration = Duration::from_secs(10);

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
}

impl Health {
    pub fn new(
        store: Store,
        master: Option<RedisConnection>,
        replicas: Vec<RedisConnection>,
        monitor: Option<Arc<Monitor>>,
    ) -> Health {
        Health { store, master, replicas, monitor }
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

/// How far the clock of this host is ahead of the database's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClockOffset {
    pub seconds: f64,
    /// Half of the time that asking took.
    uncertainty: f64,
}

impl ClockOffset {
    pub async fn measure(store: &Store, clock: &Clock) -> Result<ClockOffset, StoreError> {
        let began = clock.now().as_millisecond();
        let waited = tokio::time::Instant::now();
        let database = store.now().await?.as_millisecond();
        let uncertainty = waited.elapsed().as_secs_f64() / 2.0;
        Ok(ClockOffset { seconds: (began - database) as f64 / 1e3 + uncertainty, uncertainty })
    }

    /// Whether the offset is certainly too large.
    pub fn is_too_large(&self) -> bool {
        self.seconds.abs() - self.uncertainty > MAX_CLOCK_OFFSET_SECONDS
    }
}

/// Measures the offset of this host's clock until the process stops, and logs when it begins and ceases to be too
/// large. The database's clock decides about leases and payment windows, so a wrong clock does little harm here: pages
/// count down to the wrong moment, and sessions and tokens end early or late.
pub async fn watch_clock(store: Store, clock: Clock, metrics: Arc<Metrics>, stop: CancellationToken) {
    if store.shares_clock() {
        return stop.cancelled().await;
    }
    let mut was_off = false;
    let mut periodic = Periodic::new("clock offset", CLOCK_INTERVAL, &stop);
    while periodic.tick().await {
        let measured = ClockOffset::measure(&store, &clock).await;
        if let Ok(offset) = measured {
            metrics.clock_offset_seconds.set(offset.seconds);
            let is_off = offset.is_too_large();
            match (was_off, is_off) {
                (false, true) => {
                    warn!(
                        seconds = offset.seconds,
                        "the clock of this host differs from the database's; synchronize both (NTP)"
                    )
                }
                (true, false) => {
                    info!(seconds = offset.seconds, "the clock of this host agrees with the database's again")
                }
                _ => {}
            }
            was_off = is_off;
        }
        periodic.record(measured.map(drop));
    }
}
