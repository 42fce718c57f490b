//! Selects the backends of stock and shares from the configured addresses.

use std::sync::Arc;

use crate::catalogue::Catalogue;
use crate::clock::Clock;
use crate::config::Config;
use crate::metrics::Metrics;
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
use crate::waiting_rooms::gathering::Gathering;

/// The backends of this rung.
pub(super) struct Backends {
    pub(super) stock: Arc<dyn Stock>,
    pub(super) facts: Arc<dyn FactSource>,
    pub(super) redis: Option<RedisStock>,
    pub(super) shares: Arc<dyn ShareBackend>,
    pub(super) redis_shares: Option<RedisShares>,
    pub(super) gathering: Option<Gathering>,
    /// The configured replicas.
    pub(super) replicas: Vec<RedisConnection>,
}

impl Backends {
    pub(super) fn build(
        config: &Config,
        store: &Store,
        catalogue: &Arc<Catalogue>,
        clock: &Clock,
        metrics: &Metrics,
    ) -> anyhow::Result<Backends> {
        let Some(redis) = &config.redis else {
            let stock = Arc::new(DatabaseStock::new(store.clone(), config.payment_window));
            let shares = Arc::new(DatabaseShares::new(store.clone()));
            return Ok(Backends {
                stock: stock.clone(),
                facts: stock,
                redis: None,
                shares,
                redis_shares: None,
                gathering: None,
                replicas: Vec::new(),
            });
        };
        let master = connection::shared(&redis.master)?;
        let replicas = redis.replicas.iter().map(connection::any_role).collect::<anyhow::Result<Vec<_>>>()?;
        let names = redis.replicas.iter().map(connection::host);
        let mut readable: Vec<(String, RedisConnection)> = names.zip(replicas.iter().cloned()).collect();
        if readable.is_empty()
            && let Some(found) = connection::reading(&redis.master)?
        {
            readable.push(("found by its cluster or Sentinels".to_owned(), found));
        }
        let facts = RedisFacts::new(readable, master.clone(), metrics.replicas_left.clone());
        let shares = RedisShares::new(master.clone(), store.clone(), clock.clone());
        let gathering = Gathering::new(master.clone(), store.clone());
        let stock = RedisStock::new(master, catalogue.clone(), store.clone(), config.payment_window);
        Ok(Backends {
            stock: Arc::new(stock.clone()),
            facts: Arc::new(facts),
            redis: Some(stock),
            shares: Arc::new(shares.clone()),
            redis_shares: Some(shares),
            gathering: Some(gathering),
            replicas,
        })
    }
}
