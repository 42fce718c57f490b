//! Selects the backends of stock and shares from the configured addresses.

use std::sync::Arc;

use crate::catalogue::Catalogue;
use crate::clock::Clock;
use crate::config::Config;
use crate::packets::ShareBackend;
use crate::packets::database::DatabaseShares;
use crate::packets::redis::RedisShares;
use crate::redis::connection;
use crate::redis::connection::RedisConnection;
use crate::stock::database::DatabaseStock;
use crate::stock::facts::RedisFacts;
use crate::stock::redis::RedisStock;
use crate::stock::{FactSource, Stock};
use crate::store::Store;

/// The name of every replica in health reports.
const REPLICA: &str = "redis replica";

/// The backends of this rung.
pub(super) struct Backends {
    pub(super) stock: Arc<dyn Stock>,
    pub(super) facts: Arc<dyn FactSource>,
    pub(super) redis: Option<RedisStock>,
    pub(super) shares: Arc<dyn ShareBackend>,
    pub(super) redis_shares: Option<RedisShares>,
    /// For health checks, by name.
    pub(super) connections: Vec<(&'static str, RedisConnection)>,
}

impl Backends {
    pub(super) fn replicas(&self) -> Vec<RedisConnection> {
        let replicas = self.connections.iter().filter(|(name, _)| *name == REPLICA);
        replicas.map(|(_, connection)| connection.clone()).collect()
    }

    pub(super) fn build(
        config: &Config,
        store: &Store,
        catalogue: &Arc<Catalogue>,
        clock: &Clock,
    ) -> anyhow::Result<Backends> {
        let Some(redis) = &config.redis else {
            let stock = Arc::new(DatabaseStock::new(store.clone(), clock.clone(), config.payment_window));
            let shares = Arc::new(DatabaseShares::new(store.clone(), clock.clone()));
            return Ok(Backends {
                stock: stock.clone(),
                facts: stock,
                redis: None,
                shares,
                redis_shares: None,
                connections: Vec::new(),
            });
        };
        let master = connection::shared(&redis.master)?;
        let mut connections = vec![("redis master", master.clone())];
        for url in &redis.replicas {
            connections.push((REPLICA, connection::shared(url)?));
        }
        // A cluster routes reads to its own replicas.
        let reading = connection::reading(&redis.master)?;
        // The master comes last: it is read only when no replica answers.
        let servers =
            reading.into_iter().chain(connections.iter().rev().map(|(_, connection)| connection.clone())).collect();
        let shares = RedisShares::new(master.clone(), store.clone(), clock.clone());
        let stock = RedisStock::new(master, catalogue.clone(), store.clone(), clock.clone(), config.payment_window);
        Ok(Backends {
            stock: Arc::new(stock.clone()),
            facts: Arc::new(RedisFacts::new(servers)),
            redis: Some(stock),
            shares: Arc::new(shares.clone()),
            redis_shares: Some(shares),
            connections,
        })
    }
}
