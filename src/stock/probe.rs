//! A close look at one sale on every Redis server, for the checklist before its start.

use std::time::Duration;

use redis::AsyncCommands;

use crate::clock::Clock;
use crate::domain::Bucket;
use crate::domain::Sale;
use crate::redis::connection::RedisConnection;
use crate::redis::keys;
use crate::stock::load::Loaded;
use crate::stock::redis::RedisStock;

/// A server that does not answer for so long says nothing.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);

/// What the servers said; `None` where one did not answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reading {
    /// What the master holds of the sale; the inner `None` when it is not loaded.
    pub master: Option<Option<Loaded>>,
    /// The version of the sale that each replica has; the inner `None` when it has none.
    pub replicas: Vec<Option<Option<i64>>>,
    /// How far the master's clock is ahead of ours, in milliseconds.
    pub clock_ahead_ms: Option<i64>,
}

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

    pub async fn look(&self, sale: &Sale) -> Reading {
        let buckets: Vec<Bucket> = Bucket::of_sale(sale).collect();
        let master = async {
            let survey = tokio::time::timeout(ANSWER_WITHIN, self.master.survey(&buckets)).await.ok()?.ok()?;
            Some(Loaded::of_sale(&survey))
        };
        let replicas = futures::future::join_all(self.replicas.iter().map(|replica| async {
            let versions = buckets.iter().map(|bucket| async {
                replica.clone().hget::<_, _, Option<i64>>(keys::hash(*bucket), "Version").await
            });
            let versions = futures::future::try_join_all(versions);
            // The oldest counts; `None` comes before all others.
            tokio::time::timeout(ANSWER_WITHIN, versions).await.ok()?.ok()?.into_iter().min()
        }));
        let clock = async { tokio::time::timeout(ANSWER_WITHIN, self.clock_ahead()).await.ok().flatten() };
        let (master, replicas, clock_ahead_ms) = tokio::join!(master, replicas, clock);
        Reading { master, replicas, clock_ahead_ms }
    }

    /// The master's time against the middle of the question's way.
    async fn clock_ahead(&self) -> Option<i64> {
        let before = self.clock.now().as_millisecond();
        let (seconds, micros): (i64, i64) = redis::cmd("TIME").query_async(&mut self.master.connection()).await.ok()?;
        let after = self.clock.now().as_millisecond();
        Some(seconds * 1000 + micros / 1000 - (before + after) / 2)
    }
}
