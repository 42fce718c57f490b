//! Health checks of the services that this process needs.

use std::sync::Arc;
use std::time::Duration;

use crate::pipeline::rabbit::Monitor;
use crate::redis::connection::RedisConnection;
use crate::store::Store;

/// A service that takes longer counts as down.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// The health of one service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    pub name: &'static str,
    /// What is wrong; `None` when the service is healthy.
    pub problem: Option<String>,
}

/// Checks the configured services.
#[derive(Clone)]
pub struct Health {
    store: Store,
    redis: Vec<(&'static str, RedisConnection)>,
    monitor: Option<Arc<Monitor>>,
}

impl Health {
    pub fn new(store: Store, redis: Vec<(&'static str, RedisConnection)>, monitor: Option<Arc<Monitor>>) -> Health {
        Health { store, redis, monitor }
    }

    /// Checks all services concurrently.
    pub async fn report(&self) -> Vec<Part> {
        let database = part("database", async { Ok(self.store.ping().await?) });
        let redis = futures::future::join_all(self.redis.iter().map(|(name, connection)| {
            part(name, async { Ok(redis::cmd("PING").query_async(&mut connection.clone()).await?) })
        }));
        let rabbit = futures::future::OptionFuture::from(
            self.monitor.as_ref().map(|monitor| part("rabbitmq", async { monitor.depths().await.map(drop) })),
        );
        let (database, redis, rabbit) = tokio::join!(database, redis, rabbit);
        [database].into_iter().chain(redis).chain(rabbit).collect()
    }
}

async fn part(name: &'static str, check: impl Future<Output = anyhow::Result<()>>) -> Part {
    let problem = match tokio::time::timeout(ANSWER_TIMEOUT, check).await {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(format!("{error:#}")),
        Err(_) => Some(format!("no answer within {} s", ANSWER_TIMEOUT.as_secs())),
    };
    Part { name, problem }
}
