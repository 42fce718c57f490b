//! The relay (rung 3): publishes each entry of the outboxes as one message to RabbitMQ. The entries stay; [`super::sweep`] deletes them
//! once their orders are in the database, and publishes overdue ones again.

use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::outbox::{self, Entry, Group, Outboxes};
use super::rabbit::Publisher;
use crate::redis::connection;
use crate::redis::connection::RedisConnection;
use base::config::ServiceAddress;
use base::metrics::Metrics;
use base::periodic::restart_on_error;

/// The name of the connection in RabbitMQ's management pages.
pub(super) const CONNECTION_NAME: &str = "seckill relay";
/// Entries per read. Each contains up to 256 orders.
const ENTRIES_PER_READ: usize = 64;
/// How long a read blocks; also how soon a new sale's outbox is noticed.
const READ_TIMEOUT: Duration = Duration::from_millis(200);
/// Delay before the next attempt after a failure.
const RETRY_DELAY: Duration = Duration::from_millis(500);
/// How long the relay waits for confirms after a stop was requested. Orders that are not confirmed by then become
/// overdue, and another process's sweep publishes them.
const STOP_TIMEOUT: Duration = Duration::from_secs(3);
/// If RabbitMQ takes no messages for this long, the relay logs a warning.
const BLOCKED_WARNING_DELAY: Duration = Duration::from_secs(2);

/// Publishes outbox entries.
pub struct Relay {
    pub redis_url: ServiceAddress,
    pub amqp_url: ServiceAddress,
    pub outboxes: Outboxes,
    pub metrics: Arc<Metrics>,
    /// Unique among all processes.
    pub member: String,
}

impl Relay {
    /// Publishes until `stop` is cancelled. After a failure it connects again; the orders wait in the outbox.
    pub async fn run(self, stop: CancellationToken) -> anyhow::Result<()> {
        restart_on_error(RETRY_DELAY, &stop, "relay", || self.relay(&stop)).await;
        Ok(())
    }

    async fn relay(&self, stop: &CancellationToken) -> anyhow::Result<()> {
        let publisher = Publisher::connect(&self.amqp_url, CONNECTION_NAME).await?;
        let mut connection = connection::private(&self.redis_url, READ_TIMEOUT).await?;
        info!("the relay publishes orders from the outbox to RabbitMQ");
        while !stop.is_cancelled() {
            self.relay_once(&publisher, &mut connection, stop).await?;
        }
        publisher.close().await;
        Ok(())
    }

    /// One read, the publications and the acknowledgement. If the process dies in between, the entries become overdue,
    /// and another process's sweep publishes them.
    async fn relay_once(
        &self,
        publisher: &Publisher,
        connection: &mut RedisConnection,
        stop: &CancellationToken,
    ) -> anyhow::Result<()> {
        let buckets = self.outboxes.buckets();
        if buckets.is_empty() {
            tokio::time::sleep(READ_TIMEOUT).await;
            return Ok(());
        }
        let member = (Group::Relay, self.member.as_str());
        let entries = outbox::read(connection, member, &buckets, ENTRIES_PER_READ, READ_TIMEOUT).await?;
        self.outboxes.note(&entries);
        if entries.is_empty() {
            return Ok(());
        }
        publish(publisher, &entries, stop).await?;
        self.metrics.published.inc_by(outbox::count_items(&entries));
        for entry in entries.iter().filter(|entry| entry.items.is_none()) {
            outbox::set_aside(connection, entry).await?;
            self.metrics.dead_lettered.inc();
        }
        Ok(outbox::acknowledge(connection, Group::Relay, &entries).await?)
    }
}

/// Publishes entries and waits for the confirms. Once a stop is requested, it waits at most [`STOP_TIMEOUT`] longer.
pub(super) async fn publish(publisher: &Publisher, entries: &[Entry], stop: &CancellationToken) -> anyhow::Result<()> {
    let stopped = async {
        stop.cancelled().await;
        tokio::time::sleep(STOP_TIMEOUT).await;
    };
    let warn_if_blocked = async {
        tokio::time::sleep(BLOCKED_WARNING_DELAY).await;
        if publisher.is_blocked() {
            warn!(entries = entries.len(), "RabbitMQ takes no messages: it is short of memory or disk; orders wait");
        }
        std::future::pending().await
    };
    tokio::select! {
        published = publisher.publish(entries) => published,
        () = stopped => bail!("RabbitMQ has not confirmed {} entries before the stop", entries.len()),
        never = warn_if_blocked => never,
    }
}
