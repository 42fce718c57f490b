//! Redis servers of one test, which it may kill and whose roles it may change. All tests share the servers of the stack.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use redis::{Client, FromRedisValue};
use tempfile::TempDir;

use super::ports::free_address;
use super::wait::eventually;

/// A server with the shop's settings, killed on drop.
pub struct RedisServer {
    pub port: u16,
    /// `None` while it is dead.
    process: Option<Child>,
    /// The port of the master that it follows from its start.
    master: Option<u16>,
    dir: TempDir,
}

impl RedisServer {
    pub async fn start() -> RedisServer {
        RedisServer::following(None).await
    }

    async fn following(master: Option<u16>) -> RedisServer {
        let (port, dir) = (free_address().port(), tempfile::tempdir().unwrap());
        let mut server = RedisServer { port, process: None, master, dir };
        server.start_again().await;
        server
    }

    /// Starts it with the data in its folder, and waits until it answers and has the data of its master.
    pub async fn start_again(&mut self) {
        let settings = concat!(env!("CARGO_MANIFEST_DIR"), "/docker/redis.conf");
        let mut command = Command::new("redis-server");
        command.arg(settings).args(["--bind", "127.0.0.1", "--port", &self.port.to_string()]);
        command.current_dir(self.dir.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if let Some(master) = self.master {
            command.args(["--replicaof", "127.0.0.1", &master.to_string()]);
        }
        assert!(self.process.is_none(), "the server runs already");
        self.process = Some(command.spawn().unwrap());
        let answers = async || self.try_ask::<String>("PING").await;
        eventually("a Redis server answers", Duration::from_secs(20), answers).await;
        if self.master.is_some() {
            self.in_sync().await;
        }
    }

    /// `kill -9`.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }

    /// Where it keeps its append-only file.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Waits until everything that it has done so far is in its append-only file.
    pub async fn written(&self) {
        eventually("the append-only file is written", Duration::from_secs(20), async || {
            let state: String = self.try_ask("INFO persistence").await?;
            let done = ["aof_buffer_length:0\r", "aof_pending_bio_fsync:0\r"];
            if done.iter().all(|line| state.contains(line)) { Ok(()) } else { Err(state) }
        })
        .await;
    }

    /// A replica of the server behind this port, in sync.
    pub async fn replica_of(port: u16) -> RedisServer {
        RedisServer::following(Some(port)).await
    }

    /// Makes this server a replica of the server behind this port, and waits until it is in sync.
    pub async fn follow(&self, port: u16) {
        let _: String = self.ask(&format!("REPLICAOF 127.0.0.1 {port}")).await;
        self.in_sync().await;
    }

    async fn in_sync(&self) {
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
        self.try_ask(words).await.unwrap_or_else(|error| panic!("{words}: {error} ({})", self.dir().display()))
    }

    async fn try_ask<T: FromRedisValue>(&self, words: &str) -> Result<T, String> {
        let mut command = redis::Cmd::new();
        words.split(' ').for_each(|word| {
            command.arg(word);
        });
        let client = Client::open(self.url()).map_err(|error| error.to_string())?;
        let mut connection = client.get_multiplexed_async_connection().await.map_err(|error| error.to_string())?;
        command.query_async(&mut connection).await.map_err(|error| error.to_string())
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A master and its replica, for one shop.
pub struct OwnRedis {
    pub master: RedisServer,
    pub replica: RedisServer,
}

impl OwnRedis {
    pub async fn start() -> OwnRedis {
        let master = RedisServer::start().await;
        let replica = RedisServer::replica_of(master.port).await;
        OwnRedis { master, replica }
    }

    /// The server with this name in the stack.
    pub fn server(&mut self, service: &str) -> &mut RedisServer {
        match service {
            "redis" => &mut self.master,
            "replica" => &mut self.replica,
            _ => panic!("{service} is not Redis"),
        }
    }
}
