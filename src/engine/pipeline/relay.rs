//! The relay and the sweep (rung 3). The relay publishes each entry of the outboxes as one message to RabbitMQ. The entries
//! stay; the sweep deletes those whose orders have been seen in the database, and publishes overdue ones again. RabbitMQ may
//! therefore lose everything without losing an order.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;
use boxed::boxed;
use futures::stream::{self, StreamExt};
use redis::RedisError;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::outbox::{self, Entry, EntryId, Group, Outboxes, READ_TIMEOUT};
use super::rabbit::{Monitor, Rabbit};
use crate::redis::connection::{self, RedisConnection};
use base::config::ServiceAddress;
use base::metrics::Metrics;
use base::periodic::{Periodic, restart_on_error};
use domain::{Bucket, OrderId, OrderStatus, OutboxItem, PacketId, UserId};
use store::{HeldUnits, Store};

/// The name of the connection in RabbitMQ's management pages.
const CONNECTION_NAME: &str = "seckill relay";
/// Entries per read. Each contains up to 256 orders.
const ENTRIES_PER_READ: usize = 64;
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

#[boxed]
impl Relay {
    /// Publishes until `stop` is cancelled. After a failure it connects again; the orders wait in the outbox.
    pub async fn run(self, stop: CancellationToken) -> anyhow::Result<()> {
        restart_on_error(&stop, "relay", || self.relay(&stop)).await;
        Ok(())
    }

    async fn relay(&self, stop: &CancellationToken) -> anyhow::Result<()> {
        let publisher = Rabbit::connect_to_publish(&self.amqp_url, CONNECTION_NAME).await?;
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
        publisher: &Rabbit,
        connection: &mut RedisConnection,
        stop: &CancellationToken,
    ) -> anyhow::Result<()> {
        let buckets = self.outboxes.buckets();
        if buckets.is_empty() {
            tokio::time::sleep(READ_TIMEOUT).await;
            return Ok(());
        }
        let member = (Group::Relay, self.member.as_str());
        let entries = outbox::read(connection, member, &buckets, ENTRIES_PER_READ).await?;
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
pub(super) async fn publish(publisher: &Rabbit, entries: &[Entry], stop: &CancellationToken) -> anyhow::Result<()> {
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
        published = publisher.publish_entries(entries) => published,
        () = stopped => bail!("RabbitMQ has not confirmed {} entries before the stop", entries.len()),
        never = warn_if_blocked => never,
    }
}

// The sweep.

const SWEEP_INTERVAL: Duration = Duration::from_millis(500);
/// If there are several relays, one of them sweeps at a time.
const LEASE_NAME: &str = "sweep";
const LEASE_DURATION: Duration = Duration::from_secs(5);
/// Buckets that are asked at a time how far the relay has read.
const MAX_ASKED: usize = 256;
/// An entry is published again if its orders are not in the database this long after the last publication. The delay
/// doubles every time.
const OVERDUE_AFTER: Duration = Duration::from_secs(5);
/// Replaces [`OVERDUE_AFTER`] while RabbitMQ has a backlog, because the orders probably wait in it.
const OVERDUE_AFTER_IN_BACKLOG: Duration = Duration::from_secs(60);
/// The delay doubles up to this factor.
const MAX_DELAY_FACTOR: u32 = 64;

/// Sweeps the outboxes.
pub struct Sweep {
    pub amqp_url: ServiceAddress,
    /// The shared connection to the master.
    pub master: RedisConnection,
    pub store: Store,
    pub outboxes: Outboxes,
    pub metrics: Arc<Metrics>,
    pub monitor: Arc<Monitor>,
    /// Unique among all processes.
    pub member: String,
}

#[boxed]
impl Sweep {
    /// Sweeps until `stop` is cancelled, while this process holds the lease.
    pub async fn run(self, stop: CancellationToken) -> anyhow::Result<()> {
        let mut missing = MissingEntries::default();
        let mut publisher = None;
        let mut periodic = Periodic::new("sweep", SWEEP_INTERVAL, &stop);
        while periodic.tick().await {
            let swept = self.sweep_with_lease(&mut missing, &mut publisher, &stop).await;
            if swept.is_err() {
                publisher = None;
            }
            periodic.record(swept);
        }
        // If that fails, the lease expires by itself.
        if let Err(error) = self.store.leases().release(LEASE_NAME, &self.member).await {
            warn!(%error, "the lease of the sweep could not be given back");
        }
        Ok(())
    }

    async fn sweep_with_lease(
        &self,
        missing: &mut MissingEntries,
        publisher: &mut Option<Rabbit>,
        stop: &CancellationToken,
    ) -> anyhow::Result<()> {
        // Between two sales there is nothing to sweep, and nothing to ask for.
        if self.outboxes.buckets().is_empty() {
            missing.entries.clear();
            return Ok(());
        }
        if !self.store.leases().acquire(LEASE_NAME, &self.member, LEASE_DURATION).await? {
            return Ok(());
        }
        // While RabbitMQ does not answer, entries can still be deleted.
        missing.backlog = self.monitor.depths().await.is_ok_and(|depths| depths.ready > 0);
        let (overdue, failure) = self.sweep_once(missing).await?;
        if overdue.is_empty() {
            return Ok(failure.map_or(Ok(()), Err)?);
        }
        let orders = outbox::count_items(&overdue);
        warn!(orders, entries = overdue.len(), "orders have not reached the database in time; publishing them again");
        let publisher = match publisher {
            Some(publisher) => publisher,
            None => publisher.insert(Rabbit::connect_to_publish(&self.amqp_url, CONNECTION_NAME).await?),
        };
        publish(publisher, &overdue, stop).await?;
        self.metrics.republished.inc_by(orders);
        Ok(failure.map_or(Ok(()), Err)?)
    }

    /// Deletes entries whose orders have been persisted, and returns the overdue ones. Buckets whose server does not
    /// answer are left out; the second value is the error of one.
    async fn sweep_once(&self, missing: &mut MissingEntries) -> anyhow::Result<(Vec<Entry>, Option<RedisError>)> {
        let (mut overdue, mut failure) = (Vec::new(), None);
        let asked = self
            .outboxes
            .buckets()
            .into_iter()
            .map(async |bucket| (bucket, outbox::last_read(&mut self.master.clone(), Group::Relay, bucket).await));
        // Several at a time: if a server is away, each of its buckets takes its time to fail.
        let asked: Vec<_> = stream::iter(asked).buffered(MAX_ASKED).collect().await;
        for (bucket, last_read) in asked {
            match last_read {
                Ok(last_read) => self.sweep_bucket(bucket, last_read, missing, &mut overdue).await?,
                Err(error) => failure = Some(error),
            }
        }
        missing.forget_deleted();
        Ok((overdue, failure))
    }

    async fn sweep_bucket(
        &self,
        bucket: Bucket,
        last_read: Option<EntryId>,
        missing: &mut MissingEntries,
        overdue: &mut Vec<Entry>,
    ) -> anyhow::Result<()> {
        let mut master = self.master.clone();
        let mut after: Option<String> = None;
        loop {
            let mut page = outbox::oldest(&mut master, bucket, after.as_deref()).await?;
            self.outboxes.note(&page);
            // Entries that the relay has not read are neither persisted nor late.
            page.retain(|entry| entry.is_read(last_read));
            let Some(last) = page.last() else { return Ok(()) };
            after = Some(last.id.clone());
            let (persisted, unpersisted) = self.partition(page).await?;
            outbox::remove(&mut master, &persisted).await?;
            for entry in unpersisted {
                if !missing.is_overdue(&entry) {
                    continue;
                }
                if entry.items.is_some() {
                    overdue.push(entry);
                } else {
                    // The entry cannot be parsed, and the relay that read it died before it moved it to the dead
                    // letters.
                    outbox::set_aside(&mut master, &entry).await?;
                    self.metrics.dead_lettered.inc();
                }
            }
        }
    }

    /// Separates entries whose orders are all in the database from the others. The orders of an entry travel together,
    /// so the database is queried for all of them only once it has the last one.
    async fn partition(&self, page: Vec<Entry>) -> anyhow::Result<(Vec<Entry>, Vec<Entry>)> {
        let last: Vec<OutboxItem> = page.iter().filter_map(|entry| entry.items.as_ref()?.last().copied()).collect();
        let known = self.persisted(&last).await?;
        let (candidates, mut unpersisted): (Vec<Entry>, Vec<Entry>) = page.into_iter().partition(|entry| {
            entry.items.as_ref().and_then(|items| items.last()).is_some_and(|item| known.contains(item))
        });
        let items: Vec<OutboxItem> =
            candidates.iter().flat_map(|entry| entry.items.iter().flatten()).copied().collect();
        let known = self.persisted(&items).await?;
        self.release_ended(&items, &known).await?;
        let (persisted, mut incomplete): (Vec<Entry>, Vec<Entry>) =
            candidates.into_iter().partition(|entry| entry.items.iter().flatten().all(|item| known.contains(item)));
        unpersisted.append(&mut incomplete);
        Ok((persisted, unpersisted))
    }

    /// Requests the release of units whose order has ended. A replayed grant may have taken them again, and nothing
    /// else would release them.
    async fn release_ended(&self, items: &[OutboxItem], known: &PersistedItems) -> anyhow::Result<()> {
        let (orders, _) = OutboxItem::partition(items);
        let ended = orders.iter().filter(|order| known.statuses.get(&order.order_id).is_some_and(|s| !s.is_live()));
        let ended: Vec<HeldUnits> = ended.map(HeldUnits::of).collect();
        if !ended.is_empty() {
            self.store.orders().request_releases(&ended).await?;
        }
        Ok(())
    }

    async fn persisted(&self, items: &[OutboxItem]) -> anyhow::Result<PersistedItems> {
        let (orders, claims) = OutboxItem::partition(items);
        let ids: Vec<OrderId> = orders.iter().map(|order| order.order_id).collect();
        let claims = self.store.packets().persisted_claims(&claims).await?;
        Ok(PersistedItems { statuses: self.store.orders().order_statuses(&ids).await?, claims })
    }
}

/// Items that are in the database.
struct PersistedItems {
    statuses: HashMap<OrderId, OrderStatus>,
    claims: HashSet<(PacketId, i64, UserId)>,
}

impl PersistedItems {
    fn contains(&self, item: &OutboxItem) -> bool {
        match item {
            OutboxItem::Order(order) => self.statuses.contains_key(&order.order_id),
            OutboxItem::Share(claim) => self.claims.contains(&claim.key()),
        }
    }
}

/// Entries that are not in the database yet, and when each is to be published again.
#[derive(Default)]
pub struct MissingEntries {
    entries: HashMap<(Bucket, String), MissingEntry>,
    /// Whether RabbitMQ has a backlog of orders.
    backlog: bool,
}

struct MissingEntry {
    /// When the entry was first seen or last published again.
    since: Instant,
    /// Factor of the delay. It doubles with every publication.
    delay_factor: u32,
    /// Whether the current sweep has seen the entry.
    seen: bool,
}

impl MissingEntries {
    fn is_overdue(&mut self, entry: &Entry) -> bool {
        let new = MissingEntry { since: Instant::now(), delay_factor: 1, seen: true };
        let missing = self.entries.entry((entry.bucket, entry.id.clone())).or_insert(new);
        missing.seen = true;
        let delay = if self.backlog { OVERDUE_AFTER_IN_BACKLOG } else { OVERDUE_AFTER };
        let overdue = missing.since.elapsed() >= delay * missing.delay_factor;
        if overdue {
            missing.since = Instant::now();
            missing.delay_factor = (missing.delay_factor * 2).min(MAX_DELAY_FACTOR);
        }
        overdue
    }

    fn forget_deleted(&mut self) {
        self.entries.retain(|_, missing| std::mem::take(&mut missing.seen));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::SaleId;

    #[tokio::test(start_paused = true)]
    async fn missing_entry_is_published_again_at_growing_intervals() {
        let mut missing = MissingEntries::default();
        let entry = Entry { bucket: Bucket::whole(SaleId(7)), id: "1-0".into(), items: None };
        assert!(!missing.is_overdue(&entry));
        tokio::time::advance(OVERDUE_AFTER).await;
        assert!(missing.is_overdue(&entry));
        tokio::time::advance(OVERDUE_AFTER).await;
        assert!(!missing.is_overdue(&entry), "the delay has doubled");
        tokio::time::advance(OVERDUE_AFTER).await;
        assert!(missing.is_overdue(&entry));
        missing.forget_deleted();
        missing.forget_deleted();
        assert!(missing.entries.is_empty(), "not seen by the last sweep");
    }
}
