//! Connections to the servers, shared by all strategies on a server.

use anyhow::Context;
use base::config::Config;
use engine::redis::connection;
use engine::redis::connection::RedisConnection;
use engine::stock::redis::RedisStock;
use lapin::options::ConfirmSelectOptions;
use lapin::{Channel, Connection, ConnectionProperties};
use secrecy::ExposeSecret;
use sqlx::postgres::{PgPool, PgPoolOptions};

use crate::info::info;
use crate::memcached::Memcached;
use crate::order_sink::RabbitQueue;
use crate::strategy::CONNECTIONS;
use crate::{batched, master, on_redis, postgres};

pub struct Services {
    pub database: PgPool,
    pub redis: RedisConnection,
    pub stock: RedisStock,
    pub memcached: Memcached,
    pub rabbit: Channel,
    /// Kept, because dropping it would close the channel.
    _rabbit: Connection,
}

impl Services {
    pub async fn connect(config: &Config) -> anyhow::Result<Services> {
        let missing = "needed: scripts/stack up && scripts/stack start memcached && eval \"$(scripts/stack env)\"";
        // A test of the connection before each use would cost a round trip per claim.
        let options = PgPoolOptions::new().max_connections(CONNECTIONS as u32).test_before_acquire(false);
        let database = options.connect(&config.database_url).await.context(missing)?;
        postgres::create(&database).await?;
        let redis = connection::shared(&config.redis.as_ref().context(missing)?.master)?;
        let stock = master::stock(redis.clone(), &config.database_url)?;
        let memcached = Memcached::new(std::env::var("SECKILL_STACK_MEMCACHED").context(missing)?);
        let amqp = config.amqp_url.as_ref().context(missing)?.url.expose_secret();
        let connection = Connection::connect(amqp, ConnectionProperties::default()).await.context(missing)?;
        let rabbit = connection.create_channel().await?;
        rabbit.confirm_select(ConfirmSelectOptions::default()).await?;
        Ok(Services { database, redis, stock, memcached, rabbit, _rabbit: connection })
    }

    /// Name and version of each server.
    pub async fn versions(&self) -> anyhow::Result<Vec<(&'static str, String)>> {
        let database: String = sqlx::query_scalar("SHOW server_version").fetch_one(&self.database).await?;
        // Debian appends the package version.
        let database = database.split(' ').next().unwrap_or_default().to_owned();
        let rabbit = tokio::process::Command::new("/usr/lib/rabbitmq/bin/rabbitmqctl").arg("version").output().await?;
        Ok(vec![
            ("Redis", info(&self.redis, "server", "redis_version").await?),
            ("PostgreSQL", database),
            ("RabbitMQ", String::from_utf8_lossy(&rabbit.stdout).trim().to_owned()),
            ("memcached", self.memcached.version().await?),
        ])
    }

    /// Removes everything from the servers.
    pub async fn clean(&self) -> anyhow::Result<()> {
        postgres::drop(&self.database).await?;
        on_redis::clean(&self.redis).await?;
        batched::clean(&self.stock).await?;
        RabbitQueue(self.rabbit.clone()).delete().await
    }
}
