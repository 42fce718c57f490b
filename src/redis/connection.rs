//! Connections to Redis: one master, or a cluster of them. Multiplexed, re-established by themselves, with bounded waits.

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

/// How long one command may take. After that nobody knows whether it was carried out.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);
const CONNECT_WITHIN: Duration = Duration::from_secs(1);

/// A connection; clones share it. A command may have keys of one bucket only: in a cluster others live elsewhere.
#[derive(Clone)]
pub enum RedisConnection {
    /// To one server, for commands that answer at once.
    Shared(ConnectionManager),
    /// To one server, of somebody who waits there.
    Private(MultiplexedConnection),
    /// To every server of a cluster; each command goes to the one that has its keys.
    Cluster(ClusterConnection),
}

/// The addresses in a setting. Several are those of a cluster's first members.
pub fn addresses(url: &SecretString) -> Vec<SecretString> {
    url.expose_secret().split(',').map(|one| SecretString::from(one.trim().to_owned())).collect()
}

fn address(url: &SecretString) -> anyhow::Result<ConnectionInfo> {
    let info = url.expose_secret().into_connection_info().context("not a Redis address")?;
    // Without this every small command waits for the previous one's acknowledgement.
    Ok(info.set_tcp_settings(TcpSettings::default().set_nodelay(true)))
}

/// A shared connection for commands that answer at once. It connects with the first command, fails commands while the
/// server is away, and heals by itself.
pub fn shared(url: &SecretString) -> anyhow::Result<RedisConnection> {
    if addresses(url).len() > 1 {
        return Ok(RedisConnection::Cluster(
            cluster(url)?.build()?.get_pending_async_connection_with_config(ClusterConfig::new()),
        ));
    }
    let config = ConnectionManagerConfig::new()
        .set_connection_timeout(Some(CONNECT_WITHIN))
        .set_response_timeout(Some(ANSWER_WITHIN))
        .set_number_of_retries(1)
        .set_min_delay(Duration::from_millis(50))
        .set_max_delay(Duration::from_millis(200));
    let client = Client::open(address(url)?)?;
    let manager = ConnectionManager::new_lazy_with_config(client, config);
    Ok(RedisConnection::Shared(manager.context("cannot prepare the connection to Redis")?))
}

/// As `shared`, for somebody who only reads: in a cluster the replicas answer, where there are any. `None` where there
/// is no cluster.
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
        .connection_timeout(CONNECT_WITHIN)
        .response_timeout(ANSWER_WITHIN)
        .retries(2)
        .min_retry_wait(50)
        .max_retry_wait(200))
}

/// A connection of one's own for a command that waits at most `longest` at the server. In a cluster nobody waits.
pub async fn private(url: &SecretString, longest: Duration) -> anyhow::Result<RedisConnection> {
    if addresses(url).len() > 1 {
        let mut link = shared(url)?;
        redis::cmd("PING").query_async::<()>(&mut link).await.context("cannot connect to the Redis cluster")?;
        return Ok(link);
    }
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(CONNECT_WITHIN))
        .set_response_timeout(Some(longest + ANSWER_WITHIN));
    let client = Client::open(address(url)?)?;
    let connection = client.get_multiplexed_async_connection_with_config(&config).await;
    Ok(RedisConnection::Private(connection.context("cannot connect to Redis")?))
}

impl RedisConnection {
    pub fn is_cluster(&self) -> bool {
        matches!(self, RedisConnection::Cluster(_))
    }

    /// Whose claims can be sent together: everybody's to one server, and in a cluster, where each bucket has its own, those on
    /// one bucket.
    pub fn batch_key(&self, bucket: Bucket) -> BatchKey {
        if self.is_cluster() { BatchKey::Of(bucket) } else { BatchKey::Shared }
    }

    /// Asks the same about every bucket: in one go where one server has them all, otherwise each where it lives. An
    /// answer for each bucket, one value for each command.
    pub async fn each(
        &self,
        buckets: &[Bucket],
        ask: impl Fn(&mut Pipeline, Bucket),
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
        buckets.iter().for_each(|&bucket| ask(&mut pipe, bucket));
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
