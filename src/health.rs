//! Health checks of the services that this process needs.

use std::sync::Arc;
use std::time::Duration;

use futures::future::{OptionFuture, join_all};

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

/// A master that answers and refuses writes is not healthy. Sales on the other masters of a cluster go on without one.
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
