//! Consumer groups: reading new entries, taking over the entries of a dead member, and acknowledging.

use std::collections::HashMap;
use std::time::Duration;

use redis::aio::ConnectionLike;
use redis::{RedisError, Value, from_redis_value_ref};

use super::by_bucket;
use super::entry::{Entry, EntryId, parse_entries, parse_streams};
use crate::redis::connection::RedisConnection;
use crate::redis::keys;
use domain::Bucket;
use domain::wire::wire_enum;

/// Pause between two reads of a cluster's outboxes, where a read cannot block.
const CLUSTER_READ_INTERVAL: Duration = Duration::from_millis(20);

wire_enum! {
    /// Consumer groups of the outbox: the relay on rung 3, the consumer on rung 2. Members of a group share the entries.
    pub enum Group {
        Relay = "relay",
        Consume = "consume",
    }
}

/// Reads new entries of any of the buckets, and blocks for at most `wait` while there are none. The connection must not
/// be shared, because a blocking read delays all other commands on it. In a cluster a read cannot block on several
/// servers at once: each server is read without blocking, and the caller reads again after a short pause.
pub async fn read(
    connection: &mut RedisConnection,
    member: (Group, &str),
    buckets: &[Bucket],
    max_entries: usize,
    wait: Duration,
) -> Result<Vec<Entry>, RedisError> {
    if !connection.is_cluster() {
        return read_from(connection, member, buckets, max_entries, Some(wait)).await;
    }
    let reads = buckets.iter().map(async |bucket| {
        read_from(&mut connection.clone(), member, std::slice::from_ref(bucket), max_entries, None).await
    });
    let mut entries = Vec::new();
    let mut failed = None;
    for read in futures::future::join_all(reads).await {
        match read {
            Ok(mut read) => entries.append(&mut read),
            Err(error) => failed = Some(error),
        }
    }
    // Entries that were read are returned even if another server is down.
    if entries.is_empty() {
        tokio::time::sleep(wait.min(CLUSTER_READ_INTERVAL)).await;
        failed.map_or(Ok(()), Err)?;
    }
    Ok(entries)
}

async fn read_from(
    connection: &mut RedisConnection,
    (group, member): (Group, &str),
    buckets: &[Bucket],
    max_entries: usize,
    wait: Option<Duration>,
) -> Result<Vec<Entry>, RedisError> {
    let mut read = redis::cmd("XREADGROUP");
    read.arg("GROUP").arg(group.as_str()).arg(member).arg("COUNT").arg(max_entries);
    if let Some(wait) = wait {
        read.arg("BLOCK").arg(wait.as_millis() as u64);
    }
    read.arg("STREAMS");
    for &bucket in buckets {
        read.arg(keys::outbox(bucket));
    }
    for _ in buckets {
        read.arg(">");
    }
    match read.query_async::<Value>(connection).await {
        Ok(answer) => parse_streams(buckets, &answer),
        Err(error) if error.code() == Some("NOGROUP") => {
            create_groups(connection, group, buckets).await?;
            Ok(Vec::new())
        }
        // A sale was retired during the blocking read: its outbox was deleted.
        Err(error) if error.code() == Some("UNBLOCKED") => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Creates the group on each outbox, so that it reads all entries, including those written before.
async fn create_groups(
    connection: &mut impl ConnectionLike,
    group: Group,
    buckets: &[Bucket],
) -> Result<(), RedisError> {
    for &bucket in buckets {
        let mut create = redis::cmd("XGROUP");
        create.arg("CREATE").arg(keys::outbox(bucket)).arg(group.as_str()).arg("0").arg("MKSTREAM");
        match create.query_async::<Value>(connection).await {
            Err(error) if error.code() != Some("BUSYGROUP") => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Takes over entries that another member read but has not finished for `idle`, because it probably died.
pub async fn take_over(
    connection: &mut impl ConnectionLike,
    (group, member): (Group, &str),
    bucket: Bucket,
    idle: Duration,
    max_entries: usize,
) -> Result<Vec<Entry>, RedisError> {
    let mut claim = redis::cmd("XAUTOCLAIM");
    claim.arg(keys::outbox(bucket)).arg(group.as_str()).arg(member).arg(idle.as_millis() as u64).arg("0-0");
    claim.arg("COUNT").arg(max_entries);
    match claim.query_async::<Vec<Value>>(connection).await {
        Ok(answer) => parse_entries(bucket, answer.get(1).unwrap_or(&Value::Nil)),
        Err(error) if error.code() == Some("NOGROUP") => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// The id of the last entry that any member of a group has read; `None` before the first.
pub async fn last_read(
    connection: &mut impl ConnectionLike,
    group: Group,
    bucket: Bucket,
) -> Result<Option<EntryId>, RedisError> {
    let mut groups = redis::cmd("XINFO");
    groups.arg("GROUPS").arg(keys::outbox(bucket));
    let groups: Vec<HashMap<String, Value>> = match groups.query_async(connection).await {
        Ok(groups) => groups,
        // The outbox does not exist.
        Err(error) if error.code() == Some("ERR") => return Ok(None),
        Err(error) => return Err(error),
    };
    let ours = groups.iter().find(|fields| text(fields, "name").as_deref() == Some(group.as_str()));
    Ok(ours.and_then(|fields| EntryId::parse(&text(fields, "last-delivered-id")?)))
}

fn text(fields: &HashMap<String, Value>, name: &str) -> Option<String> {
    from_redis_value_ref(fields.get(name)?).ok()
}

/// Acknowledges entries on behalf of the group. They stay in the stream.
pub async fn acknowledge(
    connection: &mut impl ConnectionLike,
    group: Group,
    entries: &[Entry],
) -> Result<(), RedisError> {
    for (bucket, ids) in by_bucket(entries) {
        let mut acknowledge = redis::cmd("XACK");
        acknowledge.arg(keys::outbox(bucket)).arg(group.as_str()).arg(ids);
        acknowledge.query_async::<Value>(connection).await?;
    }
    Ok(())
}
