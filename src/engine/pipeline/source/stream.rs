//! Orders straight from the outbox. Members of a consumer group share its entries, and take over those that another member
//! read but never finished.

use std::time::Duration;

use async_trait::async_trait;
use tokio::time::Instant;

use super::{Delivery, OrderSource, Tag};
use crate::pipeline::outbox;
use crate::pipeline::outbox::{Entry, Group, Outboxes};
use crate::redis::connection;
use crate::redis::connection::RedisConnection;
use base::config::ServiceAddress;
use domain::OutboxItem;

/// How long a read blocks; also how soon a new sale's outbox is noticed.
const READ_TIMEOUT: Duration = Duration::from_millis(200);
/// Typical number of orders per entry under load, when the size of a batch matters. An entry has 1 to 256.
const ORDERS_PER_ENTRY: usize = 16;
/// A member that has not finished an entry for this long is probably dead. No transaction takes this long.
const STALE_AFTER: Duration = Duration::from_secs(10);
const STALE_CHECK_INTERVAL: Duration = Duration::from_secs(2);

pub(super) struct StreamSource {
    /// A connection of its own, for blocking reads.
    private: RedisConnection,
    master: RedisConnection,
    outboxes: Outboxes,
    member: String,
    stale_checked_at: Instant,
}

impl StreamSource {
    pub(super) async fn open(
        url: &ServiceAddress,
        master: RedisConnection,
        outboxes: Outboxes,
        member: String,
    ) -> anyhow::Result<StreamSource> {
        let private = connection::private(url, READ_TIMEOUT).await?;
        Ok(StreamSource { private, master, outboxes, member, stale_checked_at: Instant::now() })
    }

    /// Entries that another member read and did not finish.
    async fn stale(&mut self, max_entries: usize) -> anyhow::Result<Vec<Entry>> {
        if self.stale_checked_at.elapsed() < STALE_CHECK_INTERVAL {
            return Ok(Vec::new());
        }
        let mut stale = Vec::new();
        for bucket in self.outboxes.buckets() {
            let member = (Group::Consume, self.member.as_str());
            stale.append(&mut outbox::take_over(&mut self.master, member, bucket, STALE_AFTER, max_entries).await?);
        }
        self.stale_checked_at = Instant::now();
        Ok(stale)
    }
}

#[async_trait]
impl OrderSource for StreamSource {
    async fn next(&mut self, max_orders: usize) -> anyhow::Result<Vec<Delivery>> {
        let max_entries = (max_orders / ORDERS_PER_ENTRY).max(1);
        let mut entries = self.stale(max_entries).await?;
        let buckets = self.outboxes.buckets();
        if entries.is_empty() && buckets.is_empty() {
            tokio::time::sleep(READ_TIMEOUT).await;
        } else if entries.is_empty() {
            let member = (Group::Consume, self.member.as_str());
            entries = outbox::read(&mut self.private, member, &buckets, max_entries, READ_TIMEOUT).await?;
        }
        self.outboxes.note(&entries);
        let deliveries = entries.into_iter().map(|entry| Delivery {
            tag: Tag::Entry(entry.bucket, entry.id),
            // The log of the move to the dead letters says more.
            items: entry.items.ok_or_else(|| "its fields are wrong".to_owned()),
        });
        Ok(deliveries.collect())
    }

    async fn finish(&mut self, deliveries: &[Delivery]) -> anyhow::Result<()> {
        let entries: Vec<Entry> = deliveries.iter().filter_map(entry).collect();
        Ok(outbox::remove(&mut self.master, &entries).await?)
    }

    /// Moves the whole entry. Replaying it does not change orders that have been persisted.
    async fn set_aside(&mut self, delivery: &Delivery, _refused: &[OutboxItem]) -> anyhow::Result<()> {
        match entry(delivery) {
            Some(entry) => Ok(outbox::set_aside(&mut self.master, &entry).await?),
            None => Ok(()),
        }
    }

    async fn close(self: Box<Self>) {
        // Another member takes over unfinished entries once they are stale.
    }
}

fn entry(delivery: &Delivery) -> Option<Entry> {
    match &delivery.tag {
        Tag::Entry(bucket, id) => Some(Entry { bucket: *bucket, id: id.clone(), items: None }),
        Tag::Message(_) => None,
    }
}
