//! Redis servers of one test, whose roles the test may change. The stack's servers are shared by all tests.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{Client, FromRedisValue};
use tempfile::TempDir;

use super::ports::free_address;
use super::wait::eventually;

/// A server with the shop's settings, killed on drop.
pub struct RedisServer {
    pub port: u16,
    process: Child,
    dir: TempDir,
}

impl RedisServer {
    pub async fn start() -> RedisServer {
        let (port, dir) = (free_address().port(), tempfile::tempdir().unwrap());
        let settings = concat!(env!("CARGO_MANIFEST_DIR"), "/docker/redis.conf");
        let mut command = Command::new("redis-server");
        command.arg(settings).args(["--bind", "127.0.0.1", "--port", &port.to_string()]);
        command.current_dir(dir.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let server = RedisServer { port, process: command.spawn().unwrap(), dir };
        let answers = async || server.try_ask::<String>("PING").await;
        eventually("a Redis server answers", Duration::from_secs(20), answers).await;
        server
    }

    /// A replica of the server behind this port, in sync.
    pub async fn replica_of(port: u16) -> RedisServer {
        let server = RedisServer::start().await;
        server.follow(port).await;
        server
    }

    /// Makes this server a replica of the server behind this port, and waits until it is in sync.
    pub async fn follow(&self, port: u16) {
        let _: String = self.ask(&format!("REPLICAOF 127.0.0.1 {port}")).await;
        eventually("the replica is in sync", Duration::from_secs(30), async || {
            let state: String = self.try_ask("INFO replication").await?;
            if state.contains("master_link_status:up") { Ok(()) } else { Err(state) }
        })
        .await;
    }

    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub fn url(&self) -> String {
        format!("redis://{}/", self.address())
    }

    /// Sends a command whose words do not contain spaces.
    pub async fn ask<T: FromRedisValue>(&self, words: &str) -> T {
        self.try_ask(words).await.unwrap_or_else(|error| panic!("{words}: {error} ({})", self.dir.path().display()))
    }

    async fn try_ask<T: FromRedisValue>(&self, words: &str) -> Result<T, String> {
        let client = Client::open(self.url()).map_err(|error| error.to_string())?;
        let mut connection = client.get_multiplexed_async_connection().await.map_err(|error| error.to_string())?;
        redis_words(words).query_async(&mut connection).await.map_err(|error| error.to_string())
    }
}

/// A connection to the server at this address.
pub async fn redis_at(url: &str) -> MultiplexedConnection {
    Client::open(url).unwrap().get_multiplexed_async_connection().await.unwrap()
}

/// A command whose words do not contain spaces.
pub fn redis_words(words: &str) -> redis::Cmd {
    let mut command = redis::Cmd::new();
    command.arg(words.split(' ').collect::<Vec<_>>());
    command
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
