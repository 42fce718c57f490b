//! The outbox: one Redis Stream per bucket, into which the reserving script itself writes. An entry holds the orders of one
//! batch and stays until its orders have been seen in the database.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use redis::aio::ConnectionLike;
use redis::{RedisError, Value, from_redis_value_ref};
use tracing::error;

use crate::catalogue::Catalogue;
use crate::domain::Bucket;
use crate::domain::bucket::Owner;
use crate::domain::claim::Hold;
use crate::domain::packet::{Share, ShareClaim};
use crate::domain::{OutboxItem, PacketId, Reservation, SaleId, UserId};
use crate::redis::connection::RedisConnection;
use crate::redis::keys;
use crate::redis::short_id::ShortId;

/// A part of the shop whose buckets have outboxes.
pub trait ActiveBuckets: Send + Sync {
    /// The buckets whose outboxes may hold entries.
    fn buckets(&self) -> Vec<Bucket>;
}

impl ActiveBuckets for Catalogue {
    fn buckets(&self) -> Vec<Bucket> {
        self.active_buckets()
    }
}

/// The outboxes to read: those of active sales and of packets that are not settled.
#[derive(Clone)]
pub struct Outboxes(Vec<Arc<dyn ActiveBuckets>>);

impl Outboxes {
    pub fn new(sources: Vec<Arc<dyn ActiveBuckets>>) -> Outboxes {
        Outboxes(sources)
    }

    pub fn buckets(&self) -> Vec<Bucket> {
        self.0.iter().flat_map(|source| source.buckets()).collect()
    }
}

/// Between two looks at all outboxes of a cluster.
const BETWEEN_READS: Duration = Duration::from_millis(20);

/// Entries of one look at everything; more would block the server for too long.
const PAGE: usize = 64;

/// Who reads the outbox: the relay on rung 3, the consumer on rung 2. Members of a group share the entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    Relay,
    Consume,
}

impl Group {
    const ALL: [Group; 2] = [Group::Relay, Group::Consume];

    fn as_str(self) -> &'static str {
        match self {
            Group::Relay => "relay",
            Group::Consume => "consume",
        }
    }
}

/// The id of a stream entry: the master's clock in milliseconds, and a number within the millisecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct EntryId(u64, u64);

impl EntryId {
    fn parse(text: &str) -> Option<EntryId> {
        let (ms, number) = text.split_once('-')?;
        Some(EntryId(ms.parse().ok()?, number.parse().ok()?))
    }
}

/// One entry: the orders, or the claims on shares, of one batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub bucket: Bucket,
    pub id: String,
    /// `None` when nobody can read what is written there.
    pub won: Option<Vec<OutboxItem>>,
}

impl Entry {
    /// Whether a group that has read up to `last` has read this one.
    pub fn is_read(&self, last: Option<EntryId>) -> bool {
        last.is_some_and(|last| EntryId::parse(&self.id).is_some_and(|id| id <= last))
    }
}

/// Waits for new entries of any of the buckets, for at most `wait`. The connection must not be shared: others would wait
/// too. In a cluster, where nobody can wait at several servers at once, each is asked, and after a moment again.
pub async fn read(
    connection: &mut RedisConnection,
    me: (Group, &str),
    buckets: &[Bucket],
    most: usize,
    wait: Duration,
) -> Result<Vec<Entry>, RedisError> {
    if !connection.is_cluster() {
        return read_from(connection, me, buckets, most, Some(wait)).await;
    }
    let reads = buckets
        .iter()
        .map(async |bucket| read_from(&mut connection.clone(), me, std::slice::from_ref(bucket), most, None).await);
    let mut entries = Vec::new();
    let mut failed = None;
    for read in futures::future::join_all(reads).await {
        match read {
            Ok(mut read) => entries.append(&mut read),
            Err(error) => failed = Some(error),
        }
    }
    // What was read is passed on even if another server is away.
    if entries.is_empty() {
        tokio::time::sleep(wait.min(BETWEEN_READS)).await;
        failed.map_or(Ok(()), Err)?;
    }
    Ok(entries)
}

async fn read_from(
    connection: &mut RedisConnection,
    (group, member): (Group, &str),
    buckets: &[Bucket],
    most: usize,
    wait: Option<Duration>,
) -> Result<Vec<Entry>, RedisError> {
    let mut read = redis::cmd("XREADGROUP");
    read.arg("GROUP").arg(group.as_str()).arg(member).arg("COUNT").arg(most);
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
        Ok(answer) => entries_by_stream(buckets, &answer),
        Err(error) if error.code() == Some("NOGROUP") => {
            create_groups(connection, group, buckets).await?;
            Ok(Vec::new())
        }
        // A sale was retired while we waited for it.
        Err(error) if error.code() == Some("UNBLOCKED") => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// A group sees every entry there is, also those written before it was made.
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

/// Takes over entries that another member read but has not finished for `idle`: it probably died.
pub async fn take_over(
    connection: &mut impl ConnectionLike,
    (group, member): (Group, &str),
    bucket: Bucket,
    idle: Duration,
    most: usize,
) -> Result<Vec<Entry>, RedisError> {
    let mut claim = redis::cmd("XAUTOCLAIM");
    claim.arg(keys::outbox(bucket)).arg(group.as_str()).arg(member).arg(idle.as_millis() as u64).arg("0-0");
    claim.arg("COUNT").arg(most);
    match claim.query_async::<Vec<Value>>(connection).await {
        Ok(answer) => entries(bucket, answer.get(1).unwrap_or(&Value::Nil)),
        Err(error) if error.code() == Some("NOGROUP") => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// The oldest entries after the entry `after`, whoever has read them.
pub async fn oldest(
    connection: &mut impl ConnectionLike,
    bucket: Bucket,
    after: Option<&str>,
    most: usize,
) -> Result<Vec<Entry>, RedisError> {
    let mut range = redis::cmd("XRANGE");
    range
        .arg(keys::outbox(bucket))
        .arg(after.map_or("-".into(), |id| format!("({id}")))
        .arg("+")
        .arg("COUNT")
        .arg(most);
    entries(bucket, &range.query_async::<Value>(connection).await?)
}

/// Everything that is written in an outbox, whoever has read it.
pub async fn all(connection: &mut impl ConnectionLike, bucket: Bucket) -> Result<Vec<OutboxItem>, RedisError> {
    let mut all = Vec::new();
    let mut after: Option<String> = None;
    loop {
        let page = oldest(connection, bucket, after.as_deref(), PAGE).await?;
        let Some(last) = page.last() else { return Ok(all) };
        after = Some(last.id.clone());
        all.extend(page.into_iter().flat_map(|entry| entry.won.unwrap_or_default()));
    }
}

/// Where a group stands in an outbox: the id of the last entry that any member has read; `None` before the first.
pub async fn last_read(
    connection: &mut impl ConnectionLike,
    group: Group,
    bucket: Bucket,
) -> Result<Option<EntryId>, RedisError> {
    let mut groups = redis::cmd("XINFO");
    groups.arg("GROUPS").arg(keys::outbox(bucket));
    let groups: Vec<HashMap<String, Value>> = match groups.query_async(connection).await {
        Ok(groups) => groups,
        // There is no outbox.
        Err(error) if error.code() == Some("ERR") => return Ok(None),
        Err(error) => return Err(error),
    };
    let text = |value: &Value| from_redis_value_ref::<String>(value).unwrap_or_default();
    let ours = groups.iter().find(|g| g.get("name").map(text).as_deref() == Some(group.as_str()));
    Ok(ours.and_then(|g| g.get("last-delivered-id")).and_then(|id| EntryId::parse(&text(id))))
}

/// Tells the group that entries were passed on. They stay in the stream.
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

/// Removes entries whose orders are in the database.
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

/// Sets an entry aside that nobody can read, for an operator to look at.
pub async fn set_aside(connection: &mut impl ConnectionLike, entry: &Entry) -> Result<(), RedisError> {
    let mut range = redis::cmd("XRANGE");
    range.arg(keys::outbox(entry.bucket)).arg(&entry.id).arg(&entry.id);
    let content: Vec<(String, Vec<Value>)> = range.query_async(connection).await?;
    error!(bucket = %entry.bucket, entry = entry.id, "an outbox entry makes no sense; set aside in the stream of the dead");
    if let Some((_, fields)) = content.into_iter().next() {
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

/// `[[stream, [entry, …]], …]`, or nothing when the wait was in vain.
fn entries_by_stream(buckets: &[Bucket], answer: &Value) -> Result<Vec<Entry>, RedisError> {
    let streams: Option<Vec<(String, Value)>> = from_redis_value_ref(answer)?;
    let by_key: HashMap<String, Bucket> = buckets.iter().map(|&bucket| (keys::outbox(bucket), bucket)).collect();
    let mut all = Vec::new();
    for (key, of_stream) in streams.unwrap_or_default() {
        if let Some(&bucket) = by_key.get(&key) {
            all.append(&mut entries(bucket, &of_stream)?);
        }
    }
    Ok(all)
}

fn entries(bucket: Bucket, answer: &Value) -> Result<Vec<Entry>, RedisError> {
    let raw: Vec<Option<(String, Option<Vec<String>>)>> = from_redis_value_ref(answer)?;
    let read = raw.into_iter().flatten().map(|(id, fields)| {
        let won = fields.as_deref().and_then(|fields| match bucket.owner {
            Owner::Sale(sale) => orders(sale, fields),
            Owner::Packet(packet) => shares(packet, fields),
        });
        Entry { bucket, id, won }
    });
    Ok(read.collect())
}

/// Fields `at` (master's clock in ms) and `orders` (user id, hold, user id, hold, …).
fn orders(sale: SaleId, fields: &[String]) -> Option<Vec<OutboxItem>> {
    let reserved_at = time(fields)?;
    pairs(field(fields, "orders")?, |user_id, hold| {
        let Hold { order_id, quantity } = Hold::parse(hold).filter(|hold| hold.quantity > 0)?;
        Some(OutboxItem::Order(Reservation { order_id, sale_id: sale, user_id, quantity, reserved_at }))
    })
}

/// Fields `at` (master's clock in ms) and `claims` (user id, share, user id, share, …).
fn shares(packet: PacketId, fields: &[String]) -> Option<Vec<OutboxItem>> {
    let claimed_at = time(fields)?;
    pairs(field(fields, "claims")?, |user_id, share| {
        let Share { index, amount } = share.parse().ok()?;
        Some(OutboxItem::Share(ShareClaim { packet_id: packet, user_id, share: index, amount, claimed_at }))
    })
}

/// Each user with what is written after them.
fn pairs(text: &str, won: impl Fn(UserId, &str) -> Option<OutboxItem>) -> Option<Vec<OutboxItem>> {
    let mut words = text.split(' ');
    let mut all = Vec::new();
    while let Some(user) = words.next() {
        all.push(won(UserId(ShortId::parse(user)?), words.next()?)?);
    }
    Some(all)
}

fn field<'a>(fields: &'a [String], name: &str) -> Option<&'a String> {
    fields.chunks(2).find_map(|pair| (pair[0] == name).then(|| pair.get(1)).flatten())
}

fn time(fields: &[String]) -> Option<Timestamp> {
    Timestamp::from_millisecond(field(fields, "at")?.parse().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn entries_after_the_last_one_read_are_unread() {
        let entry = |id: &str| Entry { bucket: Bucket::whole(SaleId(7)), id: id.into(), won: None };
        let last = EntryId::parse("1700000000000-9");
        assert!(entry("1700000000000-9").is_read(last));
        assert!(entry("999999999999-10").is_read(last));
        assert!(!entry("1700000000000-10").is_read(last));
        assert!(!entry("1700000000000-9").is_read(None));
    }

    /// How many there are in an entry with this time and these words.
    fn read(at: &str, orders: &str) -> Option<usize> {
        let fields: Vec<String> = ["at", at, "orders", orders].map(String::from).to_vec();
        super::orders(SaleId(7), &fields).map(|all| all.len())
    }

    fn short(n: u128) -> ShortId {
        ShortId::of(Uuid::from_u128(n))
    }

    #[test]
    fn entries_are_read_whole_or_not_at_all() {
        let (user, order) = (short(1), short(2));
        let pair = format!("{user} {order}:1");
        assert_eq!(read("1700000000000", &pair), Some(1));
        assert_eq!(read("1700000000000", &format!("{pair} {pair}")), Some(2));
        assert_eq!(read("soon", &pair), None);
        for wrong in [format!("{pair} nonsense"), format!("{user} {order}:0"), format!("{pair} 2"), format!("{pair} ")]
        {
            assert_eq!(read("1700000000000", &wrong), None, "{wrong}");
        }
        assert_eq!(orders(SaleId(7), &[]), None);
    }

    #[test]
    fn claims_are_read_whole_or_not_at_all() {
        let user = short(1).to_string();
        let read = |claims: &str| {
            let fields: Vec<String> = ["at", "1700000000000", "claims", claims].map(String::from).to_vec();
            shares(PacketId(9), &fields).map(|all| all.len())
        };
        assert_eq!(read(&format!("{user} 0:5")), Some(1));
        assert_eq!(read(&format!("{user} 0:5 {user} 1:5")), Some(2));
        for wrong in [&user, "0:5", &format!("{user} 0:0"), &format!("{user} 0:5 "), &format!("{user} 0:5 {user}"), ""]
        {
            assert_eq!(read(wrong), None, "{wrong:?}");
        }
    }
}
