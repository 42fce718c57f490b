//! Connections to a Redis server or cluster: multiplexed, with automatic reconnects and time-outs.

use std::time::Duration;

use anyhow::Context;
use futures::future::join_all;
use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::cluster::ClusterClientBuilder;
use redis::cluster_read_routing::RandomReplicaStrategy;
use redis::io::tcp::TcpSettings;
use redis::{
    Client, ClientTlsConfig, Cmd, ConnectionAddr, ConnectionInfo, ErrorKind, IntoConnectionInfo, Pipeline, RedisFuture,
    RedisResult, TlsCertificates, Value,
};
use secrecy::ExposeSecret;

use crate::batching::BatchKey;
use crate::redis::cluster::ClusterServers;
use crate::redis::server::{CONNECT_TIMEOUT, Sentinels, ServerConnection, Source};
use base::config::{RedisAddress, ServiceAddress};
use base::tls::ClientTls;
use domain::Bucket;

/// Time-out of one command. After a time-out it is unknown whether the command was executed.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// A connection. Clones share it. All keys of a command must belong to one bucket, because a cluster spreads buckets over
/// its servers.
#[derive(Clone)]
pub enum RedisConnection {
    /// A connection to one server, for commands that return at once.
    Shared(ServerConnection),
    /// A connection to one server, for one owner and commands that block.
    Private(MultiplexedConnection),
    /// A connection to all servers of a cluster. Each command goes to the server that has its keys.
    Cluster(ClusterServers),
}

fn server(address: &ServiceAddress) -> anyhow::Result<ConnectionInfo> {
    let info = address.url.expose_secret().into_connection_info().context("not a Redis address")?;
    Ok(with_certificates(info, &address.tls)?)
}

/// Host and port of a server's address, without a password.
pub fn host(url: &ServiceAddress) -> String {
    server(url).map(|info| info.addr().to_string()).unwrap_or_default()
}

/// Where the master is found.
#[expect(clippy::large_enum_variant, reason = "lives for the moment of connecting")]
enum Master {
    One(Source),
    OfGroup(ClusterServers),
}

impl Master {
    fn at(url: &ServiceAddress) -> anyhow::Result<Master> {
        Ok(match RedisAddress::parse(url)? {
            RedisAddress::Server(url) => Master::One(Source::Master(server(&url)?)),
            RedisAddress::Sentinel(address) => Master::One(Source::SentinelMaster(Sentinels::new(address))),
            RedisAddress::Cluster(members) => Master::OfGroup(ClusterServers::new(cluster(&members)?.build()?)),
        })
    }
}

fn one_server(source: Source) -> RedisConnection {
    RedisConnection::Shared(ServerConnection::new(source, ANSWER_TIMEOUT))
}

/// A shared connection to the master or the cluster, for commands that return at once. It connects with the first command,
/// fails commands while there is no master, and reconnects by itself.
pub fn shared(url: &ServiceAddress) -> anyhow::Result<RedisConnection> {
    match Master::at(url)? {
        Master::One(source) => Ok(one_server(source)),
        Master::OfGroup(servers) => Ok(RedisConnection::Cluster(servers)),
    }
}

/// Like [`shared`], but to one server whatever its role.
pub fn any_role(url: &ServiceAddress) -> anyhow::Result<RedisConnection> {
    Ok(one_server(Source::Server(server(url)?)))
}

/// A connection for reading only, to a replica: in a cluster, commands go to replicas if there are any; Sentinels name
/// one. `None` for a single server.
pub fn reading(url: &ServiceAddress) -> anyhow::Result<Option<RedisConnection>> {
    match RedisAddress::parse(url)? {
        RedisAddress::Server(_) => Ok(None),
        RedisAddress::Sentinel(address) => Ok(Some(one_server(Source::SentinelReplica(Sentinels::new(address))))),
        RedisAddress::Cluster(members) => {
            let client = cluster(&members)?.read_routing_strategy(RandomReplicaStrategy).build()?;
            Ok(Some(RedisConnection::Cluster(ClusterServers::new(client))))
        }
    }
}

fn cluster(members: &[ServiceAddress]) -> anyhow::Result<ClusterClientBuilder> {
    let certificates = members.first().filter(|member| member.is_encrypted()).map(|member| certificates(&member.tls));
    let members = members.iter().map(server).collect::<anyhow::Result<Vec<_>>>()?;
    let builder = ClusterClientBuilder::new(members);
    // Connections to members that are found through other members use these certificates too.
    let builder = match certificates {
        Some(certificates) => builder.certs(certificates?),
        None => builder,
    };
    Ok(builder
        .tcp_settings(TcpSettings::default().set_nodelay(true))
        .connection_timeout(CONNECT_TIMEOUT)
        .response_timeout(ANSWER_TIMEOUT)
        .retries(2)
        .min_retry_wait(50)
        .max_retry_wait(200))
}

/// A connection to the master for one owner and commands that block for at most `max_block` at the server. The owner
/// replaces it if it fails. For a cluster it is a shared connection, because commands do not block there.
pub async fn private(url: &ServiceAddress, max_block: Duration) -> anyhow::Result<RedisConnection> {
    match Master::at(url)? {
        Master::One(source) => {
            let connection = source.connect(max_block + ANSWER_TIMEOUT).await;
            Ok(RedisConnection::Private(connection.context("cannot connect to Redis")?))
        }
        Master::OfGroup(mut servers) => {
            let ping = redis::cmd("PING");
            ping.query_async::<()>(&mut servers).await.context("cannot connect to the Redis cluster")?;
            Ok(RedisConnection::Cluster(servers))
        }
    }
}

impl RedisConnection {
    pub fn is_cluster(&self) -> bool {
        matches!(self, RedisConnection::Cluster(_))
    }

    fn as_dyn(&mut self) -> &mut dyn ConnectionLike {
        match self {
            RedisConnection::Shared(connection) => connection,
            RedisConnection::Private(connection) => connection,
            RedisConnection::Cluster(connection) => connection,
        }
    }

    /// Looks for the server again before the next command. Reconnects to a cluster in the background.
    pub fn reconnect(&self) {
        match self {
            RedisConnection::Shared(connection) => connection.reconnect(),
            RedisConnection::Private(_) => {}
            RedisConnection::Cluster(servers) => servers.renew(),
        }
    }

    /// Changes when another server, or another process of the same server, answers. Always 0 for a cluster, whose
    /// client finds the servers itself.
    pub fn incarnation(&self) -> u64 {
        match self {
            RedisConnection::Shared(connection) => connection.number(),
            RedisConnection::Private(_) | RedisConnection::Cluster(_) => 0,
        }
    }

    /// Fails unless the server takes writes. For a cluster, fails unless every master answers.
    pub async fn check_writable(&self) -> RedisResult<()> {
        match self {
            RedisConnection::Cluster(_) => redis::cmd("PING").query_async(&mut self.clone()).await,
            // This writes nothing, but a server that refuses writes refuses it.
            _ => redis::cmd("SETRANGE").arg("seckill:probe").arg(0).arg("").query_async(&mut self.clone()).await,
        }
    }

    /// Fails unless at least one master of a cluster answers.
    pub(crate) async fn check_any_master(&self) -> RedisResult<()> {
        let RedisConnection::Cluster(servers) = self else { return self.check_writable().await };
        servers.check_any_master().await
    }

    /// The batch key of a bucket. On a single server claims on all buckets share calls. In a cluster each bucket has
    /// its own calls, because a call reaches one server only.
    pub fn batch_key(&self, bucket: Bucket) -> BatchKey {
        if self.is_cluster() { BatchKey::Bucket(bucket) } else { BatchKey::Shared }
    }

    /// Sends the same commands for every bucket: in one pipeline to a single server, and in one pipeline per bucket to
    /// a cluster. Returns a result per bucket, with one value per command.
    pub async fn each(
        &self,
        buckets: &[Bucket],
        ask: impl for<'a> Fn(&'a mut Pipeline, Bucket) -> &'a mut Pipeline,
    ) -> RedisResult<Vec<RedisResult<Vec<Value>>>> {
        if buckets.is_empty() {
            return Ok(Vec::new());
        }
        if self.is_cluster() {
            return Ok(join_all(buckets.iter().map(|&bucket| self.one(bucket, &ask))).await);
        }
        let mut pipe = redis::pipe();
        for &bucket in buckets {
            ask(&mut pipe, bucket);
        }
        let commands = (pipe.len() / buckets.len()).max(1);
        let answers: Vec<Value> = pipe.query_async(&mut self.clone()).await?;
        Ok(answers.chunks(commands).map(|of_bucket| Ok(of_bucket.to_vec())).collect())
    }

    async fn one(
        &self,
        bucket: Bucket,
        ask: impl for<'a> Fn(&'a mut Pipeline, Bucket) -> &'a mut Pipeline,
    ) -> RedisResult<Vec<Value>> {
        let mut pipe = redis::pipe();
        ask(&mut pipe, bucket);
        pipe.query_async(&mut self.clone()).await
    }

    /// Like [`RedisConnection::each`] on a cluster, but each bucket fails on its own after `limit`.
    pub(crate) async fn each_within(
        &self,
        limit: Duration,
        buckets: &[Bucket],
        ask: impl for<'a> Fn(&'a mut Pipeline, Bucket) -> &'a mut Pipeline,
    ) -> Vec<RedisResult<Vec<Value>>> {
        let answers = buckets.iter().map(async |&bucket| {
            tokio::time::timeout(limit, self.one(bucket, &ask)).await.unwrap_or_else(|_| {
                self.reconnect();
                Err((ErrorKind::Io, "the server of a bucket does not answer").into())
            })
        });
        join_all(answers).await
    }
}

impl ConnectionLike for RedisConnection {
    fn req_packed_command<'a>(&'a mut self, cmd: &'a Cmd) -> RedisFuture<'a, Value> {
        self.as_dyn().req_packed_command(cmd)
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        self.as_dyn().req_packed_commands(pipeline, offset, count)
    }

    /// Nothing asks: each server connection selects its database when it connects.
    fn get_db(&self) -> i64 {
        0
    }
}

// Certificates for connections to Redis, in the form that the Redis client takes.

/// Adds the certificates to an address with TLS. Addresses without TLS stay as they are.
fn with_certificates(info: ConnectionInfo, tls: &ClientTls) -> RedisResult<ConnectionInfo> {
    match info.addr() {
        ConnectionAddr::TcpTls { .. } => {
            Ok(Client::build_with_tls(info, certificates(tls)?)?.get_connection_info().clone())
        }
        _ => Ok(info),
    }
}

/// Without a configured CA the client trusts the system's CAs. With one it trusts only this CA.
pub(super) fn certificates(tls: &ClientTls) -> RedisResult<TlsCertificates> {
    let roots = tls.ca().map(|_| tls.roots_pem()).transpose();
    let roots = roots.map_err(|error| std::io::Error::other(format!("{error:#}")))?;
    let client_tls = tls
        .identity()
        .map(|own| ClientTlsConfig { client_cert: own.certificate.text.clone(), client_key: own.key.text.clone() });
    Ok(TlsCertificates { client_tls, root_cert: roots })
}

/// The address of a server that a Sentinel named, or of a Sentinel.
pub(super) fn address(host: String, port: u16, tls: Option<&ClientTls>) -> RedisResult<ConnectionInfo> {
    match tls {
        None => (host, port).into_connection_info(),
        Some(tls) => {
            let addr = ConnectionAddr::TcpTls { host, port, insecure: false, tls_params: None };
            with_certificates(addr.into_connection_info()?, tls)
        }
    }
}
