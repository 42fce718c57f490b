//! The connection to one server, shared by all tasks of a process.
//!
//! It is replaced when it breaks, when the server does not answer, and when the server refuses a write because it has
//! become a replica. Each time the name is resolved again, or the Sentinels are asked again, and the server's role is
//! checked before the first command, so a connection to the master never ends at a replica. Attempts have a minimum
//! distance and a random delay, so that not all processes reconnect at the same time. Between two attempts commands
//! fail at once.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use rand::RngExt;
use rand::seq::IndexedRandom;
use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::io::tcp::TcpSettings;
use redis::{
    AsyncConnectionConfig, Client, Cmd, ConnectionInfo, ErrorKind, FromRedisValue, Pipeline, RedisConnectionInfo,
    RedisError, RedisFuture, RedisResult, ServerErrorKind, Value,
};
use secrecy::ExposeSecret;
use tokio::time::Instant;
use tracing::info;

use super::connection;
use base::config::SentinelAddress;
use base::lifecycle::process_name;

pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// The shortest time between the beginnings of two attempts. A random delay of up to the same length is added.
const MIN_RECONNECT_INTERVAL: Duration = Duration::from_millis(100);

/// Where to find the server, and which role it must have.
#[derive(Clone)]
pub(super) enum Source {
    /// A server by its name, whatever its role.
    Server(ConnectionInfo),
    /// The master, by a name that may move.
    Master(ConnectionInfo),
    SentinelMaster(Sentinels),
    SentinelReplica(Sentinels),
}

impl Source {
    /// Finds the server, connects and checks its role.
    pub(super) async fn connect(&self, answer_timeout: Duration) -> RedisResult<MultiplexedConnection> {
        let (info, role) = match self {
            Source::Server(info) => (info.clone(), None),
            Source::Master(info) => (info.clone(), Some("master")),
            Source::SentinelMaster(sentinels) => (sentinels.master().await?, Some("master")),
            Source::SentinelReplica(sentinels) => (sentinels.replica().await?, Some("slave")),
        };
        let address = info.addr().to_string();
        // With Nagle's algorithm every small command would wait for the previous one's acknowledgement.
        let info = info.set_tcp_settings(TcpSettings::default().set_nodelay(true));
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(CONNECT_TIMEOUT))
            .set_response_timeout(Some(answer_timeout));
        let mut connection = Client::open(info)?.get_multiplexed_async_connection_with_config(&config).await?;
        // For operators only, so a Redis user without the right to name connections does without. A silent server is not
        // asked a second time.
        let named = redis::cmd("CLIENT").arg("SETNAME").arg(process_name()).query_async::<()>(&mut connection).await;
        if let Err(error) = named
            && is_broken(&error)
        {
            return Err(error);
        }
        if let Some(required) = role {
            check_role(&mut connection, required, address).await?;
        }
        Ok(connection)
    }
}

async fn check_role(connection: &mut MultiplexedConnection, required: &str, address: String) -> RedisResult<()> {
    let answer = match redis::cmd("ROLE").query_async::<Vec<Value>>(connection).await {
        // A Redis user without the right to call ROLE gets READONLY later if the server is a replica.
        Err(error) if error.kind() == ErrorKind::Server(ServerErrorKind::NoPerm) => return Ok(()),
        answer => answer?,
    };
    let role: Option<String> = answer.first().and_then(|role| redis::from_redis_value_ref(role).ok());
    match role.as_deref() {
        Some(role) if role == required => Ok(()),
        _ if required == "master" => {
            Err((ErrorKind::Server(ServerErrorKind::ReadOnly), "the server is a replica, not the master", address)
                .into())
        }
        _ => Err((ErrorKind::Io, "the server is not a replica", address).into()),
    }
}

/// One attempt to connect, and its outcome.
struct Attempt {
    /// The number of this attempt, from 0.
    number: u64,
    connection: Shared<BoxFuture<'static, RedisResult<MultiplexedConnection>>>,
    /// The next attempt does not begin before this instant.
    next_at: Instant,
}

impl Attempt {
    fn new(source: Source, answer_timeout: Duration, number: u64, not_before: Instant) -> Attempt {
        let interval = MIN_RECONNECT_INTERVAL + MIN_RECONNECT_INTERVAL.mul_f64(rand::rng().random());
        let connect = async move {
            tokio::time::sleep_until(not_before).await;
            source.connect(answer_timeout).await
        };
        Attempt { number, connection: connect.boxed().shared(), next_at: not_before.max(Instant::now()) + interval }
    }
}

/// The connection. Clones share it.
#[derive(Clone)]
pub struct ServerConnection(Arc<Inner>);

struct Inner {
    source: Source,
    answer_timeout: Duration,
    attempt: ArcSwap<Attempt>,
}

impl ServerConnection {
    /// Connects with the first command.
    pub(super) fn new(source: Source, answer_timeout: Duration) -> ServerConnection {
        let first = Attempt::new(source.clone(), answer_timeout, 0, Instant::now());
        ServerConnection(Arc::new(Inner { source, answer_timeout, attempt: ArcSwap::from_pointee(first) }))
    }

    /// The number of the present attempt. While it stays the same, the same process has answered.
    pub(super) fn number(&self) -> u64 {
        self.0.attempt.load().number
    }

    /// Looks for the server again before the next command.
    pub(super) fn reconnect(&self) {
        self.replace(&self.0.attempt.load_full());
    }

    /// The connection of the present attempt. If it failed long enough ago, another attempt begins here.
    async fn connection(&self) -> RedisResult<(Arc<Attempt>, MultiplexedConnection)> {
        let attempt = self.0.attempt.load_full();
        match attempt.connection.clone().await {
            Ok(connection) => Ok((attempt, connection)),
            Err(error) if Instant::now() < attempt.next_at => Err(error),
            Err(_) => {
                let next = self.replace(&attempt);
                let connection = next.connection.clone().await?;
                Ok((next, connection))
            }
        }
    }

    /// Replaces an attempt, unless another task has done so, and returns the present one.
    fn replace(&self, old: &Arc<Attempt>) -> Arc<Attempt> {
        let Inner { source, answer_timeout, attempt } = &*self.0;
        let new = Arc::new(Attempt::new(source.clone(), *answer_timeout, old.number + 1, old.next_at));
        let previous = attempt.compare_and_swap(old, new.clone());
        if !Arc::ptr_eq(&previous, old) {
            return previous.clone();
        }
        // The attempt goes on even if the command that waits for it is cancelled.
        tokio::spawn(new.connection.clone().map(drop));
        new
    }

    fn note(&self, attempt: &Arc<Attempt>, failure: Option<&RedisError>) {
        if let Some(error) = failure.filter(|error| is_broken(error)) {
            info!(%error, "the connection to Redis is given up; looking for the server again");
            self.replace(attempt);
        }
    }
}

/// Whether to try another connection: this one is broken, its server is silent, or its server is not the master any
/// more.
fn is_broken(error: &RedisError) -> bool {
    error.is_io_error()
        || error.is_unrecoverable_error()
        || error.kind() == ErrorKind::Server(ServerErrorKind::ReadOnly)
}

/// The READONLY error among the answers, if any. Here the server's errors are still values; callers see them as errors
/// later.
fn read_only(answers: &[Value]) -> Option<RedisError> {
    answers.iter().find_map(|answer| match answer {
        Value::ServerError(error) if error.kind() == Some(ServerErrorKind::ReadOnly) => Some(error.clone().into()),
        _ => None,
    })
}

impl ConnectionLike for ServerConnection {
    fn req_packed_command<'a>(&'a mut self, cmd: &'a Cmd) -> RedisFuture<'a, Value> {
        async move {
            let (attempt, mut connection) = self.connection().await?;
            let answer = connection.req_packed_command(cmd).await;
            match &answer {
                Ok(answer) => self.note(&attempt, read_only(std::slice::from_ref(answer)).as_ref()),
                Err(error) => self.note(&attempt, Some(error)),
            }
            answer
        }
        .boxed()
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        async move {
            let (attempt, mut connection) = self.connection().await?;
            let answers = connection.req_packed_commands(pipeline, offset, count).await;
            match &answers {
                Ok(answers) => self.note(&attempt, read_only(answers).as_ref()),
                Err(error) => self.note(&attempt, Some(error)),
            }
            answers
        }
        .boxed()
    }

    /// Nothing asks: the database is selected with the connection.
    fn get_db(&self) -> i64 {
        0
    }
}

// Asks Redis Sentinels which server is the master at present, and which are its replicas.

/// If a Sentinel takes longer, the next one is asked.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(500);

/// The Sentinels of one service. Clones share `turn`.
#[derive(Clone)]
pub(super) struct Sentinels {
    address: Arc<SentinelAddress>,
    /// The Sentinel to ask first. It advances with every question, so that a Sentinel that is cut off from the others
    /// does not give every answer.
    turn: Arc<AtomicUsize>,
}

impl Sentinels {
    pub(super) fn new(address: SentinelAddress) -> Sentinels {
        Sentinels { address: Arc::new(address), turn: Arc::default() }
    }

    /// The server that the Sentinels take for the master. During a failover it may not be the master yet, or not any
    /// more.
    pub(super) async fn master(&self) -> RedisResult<ConnectionInfo> {
        let mut question = redis::cmd("SENTINEL");
        question.arg("get-master-addr-by-name").arg(&self.address.service);
        match self.ask::<Option<(String, u16)>>(&question).await? {
            Some(address) => self.server(address),
            None => Err(self.error("no Sentinel knows the service")),
        }
    }

    /// One of the replicas that are up and linked to the master, at random.
    pub(super) async fn replica(&self) -> RedisResult<ConnectionInfo> {
        let mut question = redis::cmd("SENTINEL");
        question.arg("replicas").arg(&self.address.service);
        let replicas: Vec<HashMap<String, String>> = self.ask(&question).await?;
        let usable: Vec<(String, u16)> = replicas.iter().filter_map(usable_address).collect();
        match usable.choose(&mut rand::rng()) {
            Some(address) => self.server(address.clone()),
            None => Err(self.error("the Sentinels know no replica that is up")),
        }
    }

    /// The first answer that a Sentinel gives.
    async fn ask<T: FromRedisValue>(&self, question: &Cmd) -> RedisResult<T> {
        let sentinels = &self.address.sentinels;
        let first = self.turn.fetch_add(1, Ordering::Relaxed);
        let mut last = self.error("no Sentinel answers");
        for n in 0..sentinels.len() {
            let sentinel = &sentinels[(first.wrapping_add(n)) % sentinels.len()];
            match tokio::time::timeout(ANSWER_TIMEOUT, self.ask_one(sentinel, question)).await {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(error)) => last = error,
                Err(_) => {}
            }
        }
        Err(last)
    }

    async fn ask_one<T: FromRedisValue>(&self, sentinel: &(String, u16), question: &Cmd) -> RedisResult<T> {
        let (host, port) = sentinel.clone();
        let info = connection::address(host, port, self.address.tls.as_ref())?;
        match ask(info.clone(), question).await {
            Err(error) if error.code() == Some("NOAUTH") => ask(info.set_redis_settings(self.login()), question).await,
            answer => answer,
        }
    }

    fn login(&self) -> RedisConnectionInfo {
        let mut settings = RedisConnectionInfo::default();
        if let Some(username) = &self.address.username {
            settings = settings.set_username(username);
        }
        match &self.address.password {
            Some(password) => settings.set_password(password.expose_secret()),
            None => settings,
        }
    }

    fn server(&self, (host, port): (String, u16)) -> RedisResult<ConnectionInfo> {
        let info = connection::address(host, port, self.address.tls.as_ref())?;
        Ok(info.set_redis_settings(self.login().set_db(self.address.db)))
    }

    fn error(&self, what: &'static str) -> RedisError {
        (ErrorKind::Io, what, self.address.service.clone()).into()
    }
}

async fn ask<T: FromRedisValue>(sentinel: ConnectionInfo, question: &Cmd) -> RedisResult<T> {
    let config = AsyncConnectionConfig::new().set_connection_timeout(Some(ANSWER_TIMEOUT));
    let mut connection = Client::open(sentinel)?.get_multiplexed_async_connection_with_config(&config).await?;
    question.query_async(&mut connection).await
}

/// The address of a replica that a Sentinel describes; `None` when it is down or has lost its master.
fn usable_address(replica: &HashMap<String, String>) -> Option<(String, u16)> {
    let flags = replica.get("flags")?;
    let down = ["s_down", "o_down", "disconnected"].iter().any(|flag| flags.contains(flag));
    let linked = replica.get("master-link-status").is_some_and(|status| status == "ok");
    if down || !linked {
        return None;
    }
    Some((replica.get("ip")?.clone(), replica.get("port")?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replicas_that_are_down_or_not_linked_are_not_used() {
        let replica = |flags: &str, link: &str| {
            let fields = [("ip", "10.0.0.1"), ("port", "6379"), ("flags", flags), ("master-link-status", link)];
            usable_address(&fields.map(|(name, value)| (name.to_owned(), value.to_owned())).into())
        };
        assert_eq!(replica("slave", "ok"), Some(("10.0.0.1".to_owned(), 6379)));
        assert_eq!(replica("slave", "err"), None);
        assert_eq!(replica("s_down,slave,disconnected", "ok"), None);
        assert_eq!(usable_address(&HashMap::new()), None);
    }
}
