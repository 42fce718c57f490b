//! The connection to the members of a cluster, shared by all tasks of a process.
//!
//! The client follows slots that move and members that come back. It goes on waiting, however, for a member that says nothing
//! on an open connection, and does not open another one. So the first command without an answer makes the process connect to
//! the whole cluster anew, in the background. Commands use the old connection until the new one stands.

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

/// Between the beginnings of two attempts to connect anew. A member that stays silent costs little then.
const MIN_RENEWAL_INTERVAL: Duration = Duration::from_secs(5);
/// Includes connecting to every member that answers.
const RENEWAL_TIMEOUT: Duration = Duration::from_secs(5);

/// The connection; clones share it.
#[derive(Clone)]
pub struct ClusterServers(Arc<Inner>);

struct Inner {
    client: ClusterClient,
    present: ArcSwap<ClusterConnection>,
    /// The next attempt to connect anew does not begin before this instant.
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

    /// Sends a command to the members that the routing names.
    pub(super) async fn route_command(&self, cmd: Cmd, routing: RoutingInfo) -> RedisResult<Value> {
        let answer = self.present().route_command(cmd, routing).await;
        self.note(answer.as_ref().err());
        answer
    }

    /// Connects to the cluster anew, in the background, unless that was done a moment ago.
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
                info!("connected to the Redis cluster anew, because a member did not answer");
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
