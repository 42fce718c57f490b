//! Selects the backends of stock and shares from the configured addresses.

use std::sync::Arc;

use base::clock::Clock;
use base::config::Config;
use base::metrics::Metrics;
use engine::catalogue::Catalogue;
use engine::packets::ShareBackend;
use engine::packets::database::DatabaseShares;
use engine::packets::directory::PacketDirectory;
use engine::packets::redis::RedisShares;
use engine::redis::connection;
use engine::redis::connection::RedisConnection;
use engine::stock::database::DatabaseStock;
use engine::stock::facts::RedisFacts;
use engine::stock::redis::RedisStock;
use engine::stock::{FactSource, Stock};
use engine::waiting_rooms::places::Gathering;
use store::Store;

/// The backends for this process's rung.
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
        directory: &Arc<PacketDirectory>,
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
        let shares = RedisShares::new(master.clone(), store.clone(), clock.clone(), directory.clone());
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
