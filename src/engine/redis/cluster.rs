//! The connection to the servers of a Redis Cluster, shared by all tasks of a process.
//!
//! The client follows slots that move and members that come back. But if a member stays silent on an open connection,
//! the client keeps waiting and opens no other one. So the first command without an answer makes the process reconnect
//! to the whole cluster in the background. Commands use the old connection until the new one is ready.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use futures::FutureExt;
use redis::aio::ConnectionLike;
use redis::cluster::{ClusterClient, ClusterConfig};
use redis::cluster_async::ClusterConnection;
use redis::cluster_routing::RoutingInfo;
use redis::{Cmd, Pipeline, RedisError, RedisFuture, RedisResult, Value};
use tokio::time::{Instant, timeout};
use tracing::info;

/// The shortest time between the beginnings of two reconnects, so that a member that stays silent costs little.
const MIN_RENEWAL_INTERVAL: Duration = Duration::from_secs(5);
/// How long a reconnect may take. It includes connecting to every member that answers.
const RENEWAL_TIMEOUT: Duration = Duration::from_secs(5);

/// The connection. Clones share it.
#[derive(Clone)]
pub struct ClusterServers(Arc<Inner>);

struct Inner {
    client: ClusterClient,
    present: ArcSwap<ClusterConnection>,
    /// The next reconnect does not begin before this instant.
    next_at: Mutex<Instant>,
}

impl ClusterServers {
    /// Connects with the first command.
    pub(super) fn new(client: ClusterClient) -> ClusterServers {
        let first = client.get_pending_async_connection_with_config(ClusterConfig::new());
        ClusterServers(Arc::new(Inner {
            client,
            present: ArcSwap::from_pointee(first),
            next_at: Mutex::new(Instant::now() + MIN_RENEWAL_INTERVAL),
        }))
    }

    /// Sends a command to the members that `routing` selects.
    pub(super) async fn route_command(&self, cmd: Cmd, routing: RoutingInfo) -> RedisResult<Value> {
        let answer = self.present().route_command(cmd, routing).await;
        self.note(answer.as_ref().err());
        answer
    }

    /// Reconnects to the cluster in the background, unless the last reconnect began within [`MIN_RENEWAL_INTERVAL`].
    pub(super) fn renew(&self) {
        {
            let (mut next_at, now) = (self.0.next_at.lock().unwrap_or_else(PoisonError::into_inner), Instant::now());
            if now < *next_at {
                return;
            }
            *next_at = now + MIN_RENEWAL_INTERVAL;
        }
        let inner = self.0.clone();
        tokio::spawn(async move {
            let connect = inner.client.get_async_connection_with_config(ClusterConfig::new());
            if let Ok(Ok(connection)) = timeout(RENEWAL_TIMEOUT, connect).await {
                inner.present.store(Arc::new(connection));
                info!("reconnected to the Redis cluster, because a member did not answer");
            }
        });
    }

    fn present(&self) -> ClusterConnection {
        ClusterConnection::clone(&self.0.present.load())
    }

    fn note(&self, failure: Option<&RedisError>) {
        if failure.is_some_and(RedisError::is_timeout) {
            self.renew();
        }
    }
}

impl ConnectionLike for ClusterServers {
    fn req_packed_command<'a>(&'a mut self, cmd: &'a Cmd) -> RedisFuture<'a, Value> {
        async move {
            let answer = self.present().req_packed_command(cmd).await;
            self.note(answer.as_ref().err());
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
            let answers = self.present().req_packed_commands(pipeline, offset, count).await;
            self.note(answers.as_ref().err());
            answers
        }
        .boxed()
    }

    fn get_db(&self) -> i64 {
        0
    }
}
