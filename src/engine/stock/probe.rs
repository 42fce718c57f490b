//! Reads the state of one sale from every Redis server, for the checklist before its start.

use std::time::Duration;

use redis::AsyncCommands;

use crate::health::{ClockOffset, server_time};
use crate::redis::connection::RedisConnection;
use crate::redis::keys;
use crate::stock::load::StockCounters;
use crate::stock::redis::RedisStock;
use base::clock::Clock;
use domain::Bucket;
use domain::Sale;

/// A server that takes longer counts as not answering.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// What the servers answered; `None` for a server that did not answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProbeReport {
    /// The sale's counters on the master; the inner `None` if the sale is not loaded.
    pub master: Option<Option<StockCounters>>,
    /// The version of the sale on each replica; the inner `None` if the sale is not loaded there.
    pub replicas: Vec<Option<Option<i64>>>,
    /// How far the master's clock is ahead of this host's, in milliseconds.
    pub clock_ahead_ms: Option<i64>,
}

/// Probes the master and its replicas.
#[derive(Clone)]
pub struct RedisProbe {
    master: RedisStock,
    replicas: Vec<RedisConnection>,
    clock: Clock,
}

impl RedisProbe {
    pub fn new(master: RedisStock, replicas: Vec<RedisConnection>, clock: Clock) -> RedisProbe {
        RedisProbe { master, replicas, clock }
    }

    pub async fn read(&self, sale: &Sale) -> ProbeReport {
        let buckets: Vec<Bucket> = Bucket::of_sale(sale).collect();
        let master = async {
            let survey = tokio::time::timeout(ANSWER_TIMEOUT, self.master.survey(&buckets)).await.ok()?.ok()?;
            Some(StockCounters::of_sale(&survey))
        };
        let replicas = futures::future::join_all(self.replicas.iter().map(|replica| async {
            let versions = buckets.iter().map(|bucket| async {
                replica.clone().hget::<_, _, Option<i64>>(keys::hash(*bucket), "Version").await
            });
            let versions = futures::future::try_join_all(versions);
            // The oldest version counts; `None` sorts first.
            tokio::time::timeout(ANSWER_TIMEOUT, versions).await.ok()?.ok()?.into_iter().min()
        }));
        let clock = async { tokio::time::timeout(ANSWER_TIMEOUT, self.clock_ahead()).await.ok().flatten() };
        let (master, replicas, clock_ahead_ms) = tokio::join!(master, replicas, clock);
        ProbeReport { master, replicas, clock_ahead_ms }
    }

    /// How far the master's clock is ahead of this host's.
    async fn clock_ahead(&self) -> Option<i64> {
        let offset = ClockOffset::measure(&self.clock, server_time(&self.master.connection())).await.ok()?;
        Some((-offset.seconds * 1e3).round() as i64)
    }
}
