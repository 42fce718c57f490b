//! The connections to the servers of a Redis Cluster, shared by all tasks of a process.
//!
//! The client follows slots that move and members that come back. But it holds up every command of a connection while it
//! looks for a member that is gone, so each master has a connection that is used for its slots only: if a master dies, the
//! others sell on. If a member stays silent on an open connection, the client keeps waiting and opens no other one, so the
//! first command without an answer replaces the connection in the background. Commands use the old one until then.

use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arc_swap::ArcSwap;
use futures::FutureExt;
use futures::future::{BoxFuture, join_all, select_ok};
use redis::aio::ConnectionLike;
use redis::cluster::{ClusterClient, ClusterConfig};
use redis::cluster_async::ClusterConnection;
use redis::cluster_routing::{Route, RoutingInfo, SingleNodeRoutingInfo, SlotAddr};
use redis::{Arg, Cmd, ErrorKind, Pipeline, RedisError, RedisFuture, RedisResult, Value};
use tokio::time::{Instant, timeout};
use tracing::info;

use super::keys;
use base::lifecycle::process_name;
use base::locked;

/// The shortest time between the beginnings of two reconnects, so that a member that stays silent costs little.
const MIN_RENEWAL_INTERVAL: Duration = Duration::from_secs(5);
/// How long a reconnect may take. It includes connecting to every member that answers.
const RENEWAL_TIMEOUT: Duration = Duration::from_secs(5);
/// How often the masters and their slots are listed, while commands are sent.
const LISTING_INTERVAL: Duration = Duration::from_secs(10);
const LISTING_TIMEOUT: Duration = Duration::from_secs(2);

/// The connections. Clones share them.
#[derive(Clone)]
pub struct ClusterServers(Arc<Inner>);

struct Inner {
    client: ClusterClient,
    /// For commands without a key, and until the masters are known.
    whole: Arc<ClientConnection>,
    masters: ArcSwap<Vec<MasterSlots>>,
    /// The masters are not listed again before this instant.
    next_listing: Mutex<Instant>,
}

/// A range of slots with the connection to its master.
struct MasterSlots {
    /// Host and port.
    address: Vec<Value>,
    first: u16,
    last: u16,
    connection: Arc<ClientConnection>,
}

/// A connection of the client, which is replaced when a member stays silent.
struct ClientConnection {
    present: ArcSwap<ClusterConnection>,
    /// The next reconnect does not begin before this instant.
    next_at: Mutex<Instant>,
}

impl ClusterServers {
    /// Connects in the background.
    pub(super) fn new(client: ClusterClient) -> ClusterServers {
        let whole = Arc::new(ClientConnection::new(&client));
        let (masters, next_listing) = (ArcSwap::default(), Mutex::new(Instant::now()));
        ClusterServers(Arc::new(Inner { client, whole, masters, next_listing }))
    }

    /// Fails unless a master answers.
    pub(super) async fn check_any_master(&self) -> RedisResult<()> {
        self.list_masters_if_due();
        self.ask_any("PING").await.map(drop)
    }

    /// For each master its first range of slots. Empty as long as the masters are not known.
    pub(crate) fn ranges_of_masters(&self) -> Vec<RangeInclusive<u16>> {
        let masters = self.0.masters.load();
        let is_first = |n: &usize| masters.iter().position(|range| range.address == masters[*n].address) == Some(*n);
        (0..masters.len()).filter(is_first).map(|n| masters[n].first..=masters[n].last).collect()
    }

    /// Reconnects to the whole cluster in the background, each connection at most once per [`MIN_RENEWAL_INTERVAL`].
    pub(super) fn renew(&self) {
        for range in self.0.masters.load().iter() {
            range.connection.renew(&self.0.client);
        }
        self.0.whole.renew(&self.0.client);
    }

    /// The connection for a command.
    fn connection(&self, cmd: Option<&Cmd>) -> Arc<ClientConnection> {
        self.list_masters_if_due();
        let masters = self.0.masters.load();
        let slot = cmd.and_then(slot_of);
        let range = slot.and_then(|slot| masters.iter().find(|range| (range.first..=range.last).contains(&slot)));
        range.map_or(&self.0.whole, |range| &range.connection).clone()
    }

    fn note(&self, connection: &Arc<ClientConnection>, failure: Option<&RedisError>) {
        if failure.is_some_and(RedisError::is_timeout) {
            connection.renew(&self.0.client);
        }
    }

    /// Lists the masters in the background.
    fn list_masters_if_due(&self) {
        // If another task looks at the same moment, it lists them.
        let Ok(mut next_at) = self.0.next_listing.try_lock() else { return };
        if Instant::now() < *next_at {
            return;
        }
        *next_at = Instant::now() + LISTING_INTERVAL;
        let servers = self.clone();
        tokio::spawn(async move {
            if let Ok(Value::Array(ranges)) = servers.ask_any("CLUSTER SLOTS").await {
                servers.set_masters(&ranges);
                // The client does not say when it has reconnected to a master. Each is asked on its own connection.
                join_all(servers.asked(&naming())).await;
            }
        });
    }

    /// Sends a command without a key to all masters, and returns the first answer.
    async fn ask_any(&self, command: &str) -> RedisResult<Value> {
        let mut cmd = Cmd::new();
        for word in command.split(' ') {
            cmd.arg(word);
        }
        select_ok(self.asked(&cmd)).await.map(|(answer, _)| answer)
    }

    /// Sends a command without a key to all masters, such as a script to load. Fails if no master answers: those that are
    /// gone get the script when they are back.
    async fn ask_all(&self, cmd: &Cmd) -> RedisResult<Value> {
        if self.0.masters.load().is_empty() {
            return self.0.whole.present().req_packed_command(cmd).await;
        }
        let (answers, failures): (Vec<_>, Vec<_>) =
            join_all(self.asked(cmd)).await.into_iter().partition(RedisResult::is_ok);
        answers.into_iter().chain(failures).next().unwrap_or_else(|| Err(unanswered()))
    }

    fn asked(&self, cmd: &Cmd) -> Vec<BoxFuture<'static, RedisResult<Value>>> {
        let masters = self.0.masters.load();
        let mut to: Vec<(Arc<ClientConnection>, SingleNodeRoutingInfo)> = Vec::new();
        for range in masters.iter() {
            let route = SingleNodeRoutingInfo::SpecificNode(Route::new(range.first, SlotAddr::Master));
            to.push((range.connection.clone(), route));
        }
        if to.is_empty() {
            to.push((self.0.whole.clone(), SingleNodeRoutingInfo::RandomPrimary));
        }
        let ask = |(connection, to)| {
            let asked = timeout(LISTING_TIMEOUT, route(connection, cmd.clone(), to));
            async move { asked.await.unwrap_or_else(|_| Err(unanswered())) }.boxed()
        };
        to.into_iter().map(ask).collect()
    }

    /// Takes over the answer to `CLUSTER SLOTS`. Masters that stay keep their connections.
    fn set_masters(&self, ranges: &[Value]) {
        let (before, mut masters) = (self.0.masters.load(), Vec::<MasterSlots>::new());
        for (address, first, last) in ranges.iter().filter_map(range_of) {
            let known = masters.iter().chain(before.iter()).find(|range| range.address == address);
            let connection = known.map(|range| range.connection.clone());
            let connection = connection.unwrap_or_else(|| Arc::new(ClientConnection::new(&self.0.client)));
            masters.push(MasterSlots { address, first, last, connection });
        }
        self.0.masters.store(Arc::new(masters));
    }
}

impl ClientConnection {
    /// Connects in the background.
    fn new(client: &ClusterClient) -> ClientConnection {
        let first = client.get_pending_async_connection_with_config(ClusterConfig::new());
        tokio::spawn(name(first.clone()));
        let next_at = Mutex::new(Instant::now() + MIN_RENEWAL_INTERVAL);
        ClientConnection { present: ArcSwap::from_pointee(first), next_at }
    }

    /// Reconnects in the background, unless the last reconnect began within [`MIN_RENEWAL_INTERVAL`].
    fn renew(self: &Arc<Self>, client: &ClusterClient) {
        {
            let (mut next_at, now) = (locked(&self.next_at), Instant::now());
            if now < *next_at {
                return;
            }
            *next_at = now + MIN_RENEWAL_INTERVAL;
        }
        let (connection, client) = (self.clone(), client.clone());
        tokio::spawn(async move {
            let connect = client.get_async_connection_with_config(ClusterConfig::new());
            if let Ok(Ok(new)) = timeout(RENEWAL_TIMEOUT, connect).await {
                name(new.clone()).await;
                connection.present.store(Arc::new(new));
                info!("reconnected to the Redis cluster, because a member did not answer");
            }
        });
    }

    fn present(&self) -> ClusterConnection {
        ClusterConnection::clone(&self.present.load())
    }
}

fn naming() -> Cmd {
    let mut naming = redis::cmd("CLIENT");
    naming.arg("SETNAME").arg(process_name());
    naming
}

/// Names a new connection at every member. For operators only, so it may fail.
async fn name(mut connection: ClusterConnection) {
    let _ = timeout(LISTING_TIMEOUT, connection.req_packed_command(&naming())).await;
}

fn unanswered() -> RedisError {
    (ErrorKind::Io, "no server of the cluster answers").into()
}

async fn route(connection: Arc<ClientConnection>, cmd: Cmd, to: SingleNodeRoutingInfo) -> RedisResult<Value> {
    connection.present().route_command(cmd, RoutingInfo::SingleNode(to)).await
}

/// The master's address and its slots, of one entry of `CLUSTER SLOTS`.
fn range_of(entry: &Value) -> Option<(Vec<Value>, u16, u16)> {
    let Value::Array(entry) = entry else { return None };
    let [Value::Int(first), Value::Int(last), Value::Array(master), ..] = entry.as_slice() else { return None };
    // Host and port. The server's id and other names may follow.
    let address = master.iter().take(2).cloned().collect();
    Some((address, u16::try_from(*first).ok()?, u16::try_from(*last).ok()?))
}

/// The slot of a command's first key. Every key has a hash tag.
fn slot_of(cmd: &Cmd) -> Option<u16> {
    let mut words = cmd.args_iter().filter_map(|arg| if let Arg::Simple(word) = arg { Some(word) } else { None });
    // The text of a script has braces too.
    if matches!(words.next()?, b"EVAL" | b"EVALSHA") {
        words.nth(1)?;
    }
    let tag = words.find_map(|word| std::str::from_utf8(word).ok()?.split_once('{')?.1.split_once('}'))?.0;
    Some(keys::slot(tag))
}

impl ConnectionLike for ClusterServers {
    fn req_packed_command<'a>(&'a mut self, cmd: &'a Cmd) -> RedisFuture<'a, Value> {
        async move {
            if cmd.args_iter().next().is_some_and(|name| matches!(name, Arg::Simple(b"SCRIPT"))) {
                return self.ask_all(cmd).await;
            }
            let connection = self.connection(Some(cmd));
            let answer = connection.present().req_packed_command(cmd).await;
            self.note(&connection, answer.as_ref().err());
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
            let connection = self.connection(pipeline.cmd_iter().next());
            let answers = connection.present().req_packed_commands(pipeline, offset, count).await;
            self.note(&connection, answers.as_ref().err());
            answers
        }
        .boxed()
    }

    fn get_db(&self) -> i64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slot_is_that_of_the_first_key() {
        let slot = |cmd: &mut Cmd| slot_of(cmd);
        assert_eq!(slot(redis::cmd("GET").arg("goods{7}_start")), Some(keys::slot("7")));
        assert_eq!(slot(redis::cmd("EVAL").arg("return {KEYS[1]}").arg(1).arg("goods{8}")), Some(keys::slot("8")));
        assert_eq!(slot(redis::cmd("SET").arg("goods{9}").arg("{10}")), Some(keys::slot("9")));
        assert_eq!(slot(&mut redis::cmd("PING")), None);
    }

    #[test]
    fn range_has_the_address_of_its_master() {
        let address = |port| vec![Value::BulkString(b"127.0.0.1".into()), Value::Int(port)];
        let server = |port| Value::Array([address(port), vec![Value::BulkString(b"id".into())]].concat());
        let range = Value::Array(vec![Value::Int(5), Value::Int(99), server(7001), server(7002)]);
        assert_eq!(range_of(&range), Some((address(7001), 5, 99)));
        assert_eq!(range_of(&Value::Nil), None);
    }
}
