//! Connections to a Redis server or cluster: multiplexed, with automatic reconnects and time-outs.

use std::time::Duration;

use anyhow::Context;
use futures::future::join_all;
use redis::aio::{ConnectionLike, ConnectionManager, ConnectionManagerConfig, MultiplexedConnection};
use redis::cluster::{ClusterClientBuilder, ClusterConfig};
use redis::cluster_async::ClusterConnection;
use redis::cluster_read_routing::RandomReplicaStrategy;
use redis::io::tcp::TcpSettings;
use redis::{
    AsyncConnectionConfig, Client, Cmd, ConnectionInfo, IntoConnectionInfo, Pipeline, RedisFuture, RedisResult, Value,
};
use secrecy::{ExposeSecret, SecretString};

use crate::batching::BatchKey;
use crate::domain::Bucket;

/// Time-out of one command. After it, whether the command was executed is unknown.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);

/// A connection. Clones share it. All keys of a command must belong to one bucket, because a cluster spreads buckets over
/// its servers.
#[derive(Clone)]
pub enum RedisConnection {
    /// To one server, for commands that return at once.
    Shared(ConnectionManager),
    /// To one server, for one owner and commands that block.
    Private(MultiplexedConnection),
    /// To all servers of a cluster. Each command goes to the server that has its keys.
    Cluster(ClusterConnection),
}

/// The addresses in a setting. Several addresses are members of a cluster.
pub fn addresses(url: &SecretString) -> Vec<SecretString> {
    url.expose_secret().split(',').map(|one| SecretString::from(one.trim().to_owned())).collect()
}

fn address(url: &SecretString) -> anyhow::Result<ConnectionInfo> {
    let info = url.expose_secret().into_connection_info().context("not a Redis address")?;
    // With Nagle's algorithm every small command would wait for the previous one's acknowledgement.
    Ok(info.set_tcp_settings(TcpSettings::default().set_nodelay(true)))
}

/// A shared connection for commands that return at once. It connects with the first command, fails commands while the
/// server is down, and reconnects by itself.
pub fn shared(url: &SecretString) -> anyhow::Result<RedisConnection> {
    if addresses(url).len() > 1 {
        return Ok(RedisConnection::Cluster(
            cluster(url)?.build()?.get_pending_async_connection_with_config(ClusterConfig::new()),
        ));
    }
    let config = ConnectionManagerConfig::new()
        .set_connection_timeout(Some(CONNECT_TIMEOUT))
        .set_response_timeout(Some(ANSWER_TIMEOUT))
        .set_number_of_retries(1)
        .set_min_delay(Duration::from_millis(50))
        .set_max_delay(Duration::from_millis(200));
    let client = Client::open(address(url)?)?;
    let manager = ConnectionManager::new_lazy_with_config(client, config);
    Ok(RedisConnection::Shared(manager.context("cannot prepare the connection to Redis")?))
}

/// A read-only connection to a cluster, which routes commands to replicas where there are any. `None` for a single server.
pub fn reading(url: &SecretString) -> anyhow::Result<Option<RedisConnection>> {
    if addresses(url).len() == 1 {
        return Ok(None);
    }
    let client = cluster(url)?.read_routing_strategy(RandomReplicaStrategy).build()?;
    Ok(Some(RedisConnection::Cluster(client.get_pending_async_connection_with_config(ClusterConfig::new()))))
}

fn cluster(url: &SecretString) -> anyhow::Result<ClusterClientBuilder> {
    let members = addresses(url).iter().map(address).collect::<anyhow::Result<Vec<_>>>()?;
    Ok(ClusterClientBuilder::new(members)
        .tcp_settings(TcpSettings::default().set_nodelay(true))
        .connection_timeout(CONNECT_TIMEOUT)
        .response_timeout(ANSWER_TIMEOUT)
        .retries(2)
        .min_retry_wait(50)
        .max_retry_wait(200))
}

/// A connection for one owner and commands that block for at most `max_block` at the server. A cluster gets a shared
/// connection, because commands do not block there.
pub async fn private(url: &SecretString, max_block: Duration) -> anyhow::Result<RedisConnection> {
    if addresses(url).len() > 1 {
        let mut connection = shared(url)?;
        redis::cmd("PING").query_async::<()>(&mut connection).await.context("cannot connect to the Redis cluster")?;
        return Ok(connection);
    }
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(CONNECT_TIMEOUT))
        .set_response_timeout(Some(max_block + ANSWER_TIMEOUT));
    let client = Client::open(address(url)?)?;
    let connection = client.get_multiplexed_async_connection_with_config(&config).await;
    Ok(RedisConnection::Private(connection.context("cannot connect to Redis")?))
}

impl RedisConnection {
    pub fn is_cluster(&self) -> bool {
        matches!(self, RedisConnection::Cluster(_))
    }

    /// Names the queue of a bucket's claims: all buckets share one on a single server. In a cluster each bucket has its own,
    /// because a call reaches one server only.
    pub fn batch_key(&self, bucket: Bucket) -> BatchKey {
        if self.is_cluster() { BatchKey::Bucket(bucket) } else { BatchKey::Shared }
    }

    /// Sends the same commands for every bucket: in one pipeline to a single server, otherwise in one per bucket. Returns a
    /// result per bucket, with one value per command.
    pub async fn each(
        &self,
        buckets: &[Bucket],
        ask: impl for<'a> Fn(&'a mut Pipeline, Bucket) -> &'a mut Pipeline,
    ) -> RedisResult<Vec<RedisResult<Vec<Value>>>> {
        if buckets.is_empty() {
            return Ok(Vec::new());
        }
        if self.is_cluster() {
            let answers = buckets.iter().map(async |&bucket| {
                let mut pipe = redis::pipe();
                ask(&mut pipe, bucket);
                pipe.query_async::<Vec<Value>>(&mut self.clone()).await
            });
            return Ok(join_all(answers).await);
        }
        let mut pipe = redis::pipe();
        for &bucket in buckets {
            ask(&mut pipe, bucket);
        }
        let commands = (pipe.len() / buckets.len()).max(1);
        let answers: Vec<Value> = pipe.query_async(&mut self.clone()).await?;
        Ok(answers.chunks(commands).map(|of_bucket| Ok(of_bucket.to_vec())).collect())
    }
}

impl ConnectionLike for RedisConnection {
    fn req_packed_command<'a>(&'a mut self, cmd: &'a Cmd) -> RedisFuture<'a, Value> {
        match self {
            RedisConnection::Shared(connection) => connection.req_packed_command(cmd),
            RedisConnection::Private(connection) => connection.req_packed_command(cmd),
            RedisConnection::Cluster(connection) => connection.req_packed_command(cmd),
        }
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        match self {
            RedisConnection::Shared(connection) => connection.req_packed_commands(pipeline, offset, count),
            RedisConnection::Private(connection) => connection.req_packed_commands(pipeline, offset, count),
            RedisConnection::Cluster(connection) => connection.req_packed_commands(pipeline, offset, count),
        }
    }

    fn get_db(&self) -> i64 {
        match self {
            RedisConnection::Shared(connection) => connection.get_db(),
            RedisConnection::Private(connection) => connection.get_db(),
            RedisConnection::Cluster(connection) => connection.get_db(),
        }
    }
}
