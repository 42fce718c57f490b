//! Orders straight from the outbox: members of a consumer group share its entries, and take over those that another
//! member read but never finished.

use std::time::Duration;

use async_trait::async_trait;
use secrecy::SecretString;
use tokio::time::Instant;

use super::{Delivery, OrderSource, Tag};
use crate::pipeline::outbox;
use crate::pipeline::outbox::{Entry, Group, Outboxes};
use crate::redis::connection;
use crate::redis::connection::RedisConnection;

const WAIT: Duration = Duration::from_millis(200);
/// Orders that an entry holds when the shop is busy enough for it to matter; it may be one, or 256.
const ORDERS_PER_ENTRY: usize = 16;
/// A member that has not finished an entry for so long is probably dead. Longer than any transaction takes.
const STALE_AFTER: Duration = Duration::from_secs(10);
const LOOK_FOR_STALE: Duration = Duration::from_secs(2);

pub(super) struct StreamSource {
    waiting: RedisConnection,
    master: RedisConnection,
    outboxes: Outboxes,
    member: String,
    looked: Instant,
}

impl StreamSource {
    pub(super) async fn open(
        url: &SecretString,
        master: RedisConnection,
        outboxes: Outboxes,
        member: String,
    ) -> anyhow::Result<StreamSource> {
        let waiting = connection::private(url, WAIT).await?;
        Ok(StreamSource { waiting, master, outboxes, member, looked: Instant::now() })
    }

    /// Entries that somebody else began and did not finish.
    async fn stale(&mut self, most: usize) -> anyhow::Result<Vec<Entry>> {
        if self.looked.elapsed() < LOOK_FOR_STALE {
            return Ok(Vec::new());
        }
        let mut stale = Vec::new();
        for bucket in self.outboxes.buckets() {
            let me = (Group::Consume, self.member.as_str());
            stale.append(&mut outbox::take_over(&mut self.master, me, bucket, STALE_AFTER, most).await?);
        }
        self.looked = Instant::now();
        Ok(stale)
    }
}

#[async_trait]
impl OrderSource for StreamSource {
    async fn next(&mut self, most: usize) -> anyhow::Result<Vec<Delivery>> {
        let entries_at_most = (most / ORDERS_PER_ENTRY).max(1);
        let mut entries = self.stale(entries_at_most).await?;
        let buckets = self.outboxes.buckets();
        if entries.is_empty() && buckets.is_empty() {
            tokio::time::sleep(WAIT).await;
        } else if entries.is_empty() {
            let me = (Group::Consume, self.member.as_str());
            entries = outbox::read(&mut self.waiting, me, &buckets, entries_at_most, WAIT).await?;
        }
        let deliveries =
            entries.into_iter().map(|entry| Delivery { tag: Tag::Entry(entry.bucket, entry.id), won: entry.won });
        Ok(deliveries.collect())
    }

    async fn finish(&mut self, deliveries: &[Delivery]) -> anyhow::Result<()> {
        let entries: Vec<Entry> = deliveries.iter().filter_map(entry).collect();
        Ok(outbox::remove(&mut self.master, &entries).await?)
    }

    async fn set_aside(&mut self, delivery: &Delivery) -> anyhow::Result<()> {
        match entry(delivery) {
            Some(entry) => Ok(outbox::set_aside(&mut self.master, &entry).await?),
            None => Ok(()),
        }
    }

    async fn close(self: Box<Self>) {
        // Unfinished entries are taken over by another member, or by this one's next life.
    }
}

fn entry(delivery: &Delivery) -> Option<Entry> {
    match &delivery.tag {
        Tag::Entry(bucket, id) => Some(Entry { bucket: *bucket, id: id.clone(), won: None }),
        Tag::Message(_) => None,
    }
}
