//! The outbox: one Redis Stream per bucket. The reserving script itself appends to it, so a hold and its entry are written
//! together. An entry contains the orders of one batch and stays until they have been seen in the database.

mod entry;
mod group;

use std::collections::BTreeMap;
use std::sync::Arc;

use redis::aio::ConnectionLike;
use redis::{RedisError, Value};
use tracing::error;

pub use self::entry::{Entry, EntryId, parse_fields};
pub use self::group::{Group, acknowledge, last_read, read, take_over};
use crate::catalogue::Catalogue;
use crate::redis::keys;
use domain::{Bucket, OutboxItem};

/// Entries per read of a whole outbox; more would block the server for too long.
const PAGE_SIZE: usize = 64;

/// Lists buckets that have outboxes.
pub trait ActiveBuckets: Send + Sync {
    /// The buckets whose outboxes may contain entries.
    fn buckets(&self) -> Vec<Bucket>;

    /// Called when entries were found in the outbox of a bucket.
    fn note_entries(&self, _bucket: Bucket) {}
}

impl ActiveBuckets for Catalogue {
    fn buckets(&self) -> Vec<Bucket> {
        self.active_buckets()
    }
}

/// The outboxes of all active sales and of all packets that are not settled.
#[derive(Clone)]
pub struct Outboxes(Vec<Arc<dyn ActiveBuckets>>);

impl Outboxes {
    pub fn new(sources: Vec<Arc<dyn ActiveBuckets>>) -> Outboxes {
        Outboxes(sources)
    }

    pub fn buckets(&self) -> Vec<Bucket> {
        self.0.iter().flat_map(|source| source.buckets()).collect()
    }

    /// Notes that these entries were found, so that their buckets are read again soon.
    pub fn note(&self, entries: &[Entry]) {
        for entry in entries {
            self.0.iter().for_each(|source| source.note_entries(entry.bucket));
        }
    }
}

/// The oldest entries after the entry `after`, whether or not a group has read them.
pub async fn oldest(
    connection: &mut impl ConnectionLike,
    bucket: Bucket,
    after: Option<&str>,
    max_entries: usize,
) -> Result<Vec<Entry>, RedisError> {
    let mut range = redis::cmd("XRANGE");
    range.arg(keys::outbox(bucket)).arg(after.map_or("-".into(), |id| format!("({id}"))).arg("+");
    range.arg("COUNT").arg(max_entries);
    entry::parse_entries(bucket, &range.query_async::<Value>(connection).await?)
}

/// All items in an outbox, whether or not a group has read them.
pub async fn all(connection: &mut impl ConnectionLike, bucket: Bucket) -> Result<Vec<OutboxItem>, RedisError> {
    let mut all = Vec::new();
    let mut after: Option<String> = None;
    loop {
        let page = oldest(connection, bucket, after.as_deref(), PAGE_SIZE).await?;
        let Some(last) = page.last() else { return Ok(all) };
        after = Some(last.id.clone());
        all.extend(page.into_iter().flat_map(|entry| entry.items.unwrap_or_default()));
    }
}

/// The number of orders and claims in entries.
pub fn count_items(entries: &[Entry]) -> u64 {
    entries.iter().map(|entry| entry.items.as_ref().map_or(0, Vec::len) as u64).sum()
}

/// Deletes entries whose orders are in the database.
pub async fn remove(connection: &mut impl ConnectionLike, entries: &[Entry]) -> Result<(), RedisError> {
    for (bucket, ids) in by_bucket(entries) {
        let mut pipe = redis::pipe();
        for group in Group::ALL {
            pipe.cmd("XACK").arg(keys::outbox(bucket)).arg(group.as_str()).arg(&ids);
        }
        pipe.cmd("XDEL").arg(keys::outbox(bucket)).arg(ids);
        pipe.query_async::<Value>(connection).await?;
    }
    Ok(())
}

/// Moves an entry that could not be parsed to the dead-letter stream, for operators to inspect.
pub async fn set_aside(connection: &mut impl ConnectionLike, entry: &Entry) -> Result<(), RedisError> {
    let mut range = redis::cmd("XRANGE");
    range.arg(keys::outbox(entry.bucket)).arg(&entry.id).arg(&entry.id);
    let content: Vec<(String, Vec<Value>)> = range.query_async(connection).await?;
    if let Some((_, fields)) = content.into_iter().next() {
        let words: Vec<String> = fields.iter().filter_map(|value| redis::from_redis_value_ref(value).ok()).collect();
        let reason =
            parse_fields(entry.bucket, &words).err().unwrap_or_else(|| "the database refuses its orders".into());
        let (owner, bucket) = (entry.bucket.owner.kind(), entry.bucket);
        error!(owner, %bucket, entry = entry.id, reason, "an outbox entry becomes a dead letter");
        let mut add = redis::cmd("XADD");
        add.arg(keys::dead(entry.bucket)).arg("*");
        for field in &fields {
            if let Value::BulkString(bytes) = field {
                add.arg(bytes.as_slice());
            }
        }
        add.query_async::<Value>(connection).await?;
    }
    remove(connection, std::slice::from_ref(entry)).await
}

fn by_bucket(entries: &[Entry]) -> BTreeMap<Bucket, Vec<&str>> {
    let mut ids: BTreeMap<Bucket, Vec<&str>> = BTreeMap::new();
    for entry in entries {
        ids.entry(entry.bucket).or_default().push(&entry.id);
    }
    ids
}
