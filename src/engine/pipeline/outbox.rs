//! The outbox: one Redis Stream per bucket. The reserving script itself appends to it, so a hold and its entry are written
//! together. An entry contains the orders of one batch and stays until they have been seen in the database.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use boxed::boxed;
use jiff::Timestamp;
use redis::aio::ConnectionLike;
use redis::{RedisResult, Value, from_redis_value_ref};
use tracing::error;

use crate::catalogue::Catalogue;
use crate::redis::connection::RedisConnection;
use crate::redis::keys::{ShortId, parse_hold};
use crate::redis::{keys, parse_time};
use domain::bucket::Owner;
use domain::claim::Hold;
use domain::packet::{Share, ShareClaim};
use domain::wire::wire_enum;
use domain::{Bucket, OutboxItem, PacketId, Reservation, SaleId, UserId};

/// Entries per page of an outbox; more would block the server for too long.
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

/// The oldest entries after the entry `after`, whether or not a group has read them: one page.
#[boxed]
pub async fn oldest(
    connection: &mut impl ConnectionLike,
    bucket: Bucket,
    after: Option<&str>,
) -> RedisResult<Vec<Entry>> {
    let mut range = redis::cmd("XRANGE");
    range.arg(keys::outbox(bucket)).arg(after.map_or("-".into(), |id| format!("({id}"))).arg("+");
    range.arg("COUNT").arg(PAGE_SIZE);
    parse_entries(bucket, &range.query_async::<Value>(connection).await?)
}

/// All items in an outbox, whether or not a group has read them.
#[boxed]
pub async fn all(connection: &mut impl ConnectionLike, bucket: Bucket) -> RedisResult<Vec<OutboxItem>> {
    let mut all = Vec::new();
    let mut after: Option<String> = None;
    loop {
        let page = oldest(connection, bucket, after.as_deref()).await?;
        let Some(last) = page.last() else { return Ok(all) };
        after = Some(last.id.clone());
        all.extend(page.into_iter().flat_map(|entry| entry.items.unwrap_or_default()));
    }
}

/// The number of orders and claims in entries.
pub(crate) fn count_items(entries: &[Entry]) -> u64 {
    entries.iter().map(|entry| entry.items.as_ref().map_or(0, Vec::len) as u64).sum()
}

/// Deletes entries whose orders are in the database.
#[boxed]
pub async fn remove(connection: &mut impl ConnectionLike, entries: &[Entry]) -> RedisResult<()> {
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
#[boxed]
pub async fn set_aside(connection: &mut impl ConnectionLike, entry: &Entry) -> RedisResult<()> {
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

// Entries of the outbox: the items of one batch, as the reserving script wrote them.

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
    /// `None` when the content could not be parsed.
    pub items: Option<Vec<OutboxItem>>,
}

impl Entry {
    /// Whether a consumer group has read this entry. `last` is the last entry that the group read.
    pub fn is_read(&self, last: Option<EntryId>) -> bool {
        last.is_some_and(|last| EntryId::parse(&self.id).is_some_and(|id| id <= last))
    }
}

/// Parses `[[stream, [entry, …]], …]`, or nil when a blocking read timed out.
fn parse_streams(buckets: &[Bucket], answer: &Value) -> RedisResult<Vec<Entry>> {
    let streams: Option<Vec<(String, Value)>> = from_redis_value_ref(answer)?;
    let by_key: HashMap<String, Bucket> = buckets.iter().map(|&bucket| (keys::outbox(bucket), bucket)).collect();
    let mut all = Vec::new();
    for (key, of_stream) in streams.unwrap_or_default() {
        if let Some(&bucket) = by_key.get(&key) {
            all.append(&mut parse_entries(bucket, &of_stream)?);
        }
    }
    Ok(all)
}

/// Parses `[[id, [field, value, …]], …]`.
fn parse_entries(bucket: Bucket, answer: &Value) -> RedisResult<Vec<Entry>> {
    let raw: Vec<Option<(String, Option<Vec<String>>)>> = from_redis_value_ref(answer)?;
    let entries = raw.into_iter().flatten().map(|(id, fields)| {
        let items = fields.as_deref().and_then(|fields| parse_fields(bucket, fields).ok());
        Entry { bucket, id, items }
    });
    Ok(entries.collect())
}

/// Parses the fields of an entry of this bucket. The error says which field is wrong.
pub fn parse_fields(bucket: Bucket, fields: &[String]) -> Result<Vec<OutboxItem>, String> {
    match bucket.owner {
        Owner::Sale(sale) => parse_orders(sale, fields),
        Owner::Packet(packet) => parse_claims(packet, fields),
        // A waiting room has no outbox: data control itself writes the places to the database
        // (`control::waiting_rooms`).
        Owner::WaitingRoom(_) => Err("a waiting room has no outbox".to_owned()),
    }
}

/// Fields `at` (the master's clock in ms) and `orders` (user id, hold, user id, hold, …).
fn parse_orders(sale: SaleId, fields: &[String]) -> Result<Vec<OutboxItem>, String> {
    let reserved_at = time(fields)?;
    parse_pairs(fields, "orders", |user_id, hold| {
        let Hold { order_id, quantity } = parse_hold(hold).filter(|hold| hold.quantity > 0)?;
        Some(OutboxItem::Order(Reservation { order_id, sale_id: sale, user_id, quantity, reserved_at }))
    })
}

/// Fields `at` (the master's clock in ms) and `claims` (user id, share, user id, share, …).
fn parse_claims(packet: PacketId, fields: &[String]) -> Result<Vec<OutboxItem>, String> {
    let claimed_at = time(fields)?;
    parse_pairs(fields, "claims", |user_id, share| {
        let Share { index, amount } = share.parse().ok()?;
        Some(OutboxItem::Share(ShareClaim { packet_id: packet, user_id, share: index, amount, claimed_at }))
    })
}

/// Parses a field with pairs of a user id and a text, separated by spaces. One invalid pair makes the whole field invalid.
fn parse_pairs(
    fields: &[String],
    name: &str,
    item: impl Fn(UserId, &str) -> Option<OutboxItem>,
) -> Result<Vec<OutboxItem>, String> {
    let mut words = field(fields, name)?.split(' ');
    let mut all = Vec::new();
    while let Some(user) = words.next() {
        let pair = ShortId::parse(user).zip(words.next()).and_then(|(user, text)| item(UserId(user), text));
        all.push(pair.ok_or_else(|| format!("pair {} of the field {name:?} is wrong", all.len() + 1))?);
    }
    Ok(all)
}

fn time(fields: &[String]) -> Result<Timestamp, String> {
    parse_time(field(fields, "at")?).ok_or_else(|| "the field \"at\" is not a time".to_owned())
}

fn field<'a>(fields: &'a [String], name: &str) -> Result<&'a String, String> {
    let found = fields.chunks(2).find_map(|pair| (pair[0] == name).then(|| pair.get(1)).flatten());
    found.ok_or_else(|| format!("the field {name:?} is missing"))
}

// Consumer groups: reading new entries, taking over the entries of a dead member, and acknowledging.

/// How long a read blocks; also how soon a new sale's outbox is noticed.
pub(super) const READ_TIMEOUT: Duration = Duration::from_millis(200);
/// Pause between two reads of a cluster's outboxes, where a read cannot block.
const CLUSTER_READ_INTERVAL: Duration = Duration::from_millis(20);

wire_enum! {
    /// Consumer groups of the outbox: the relay on rung 3, the consumer on rung 2. Members of a group share the entries.
    pub enum Group {
        Relay = "relay",
        Consume = "consume",
    }
}

/// Reads new entries of any of the buckets, and blocks for at most [`READ_TIMEOUT`] while there are none. The connection must not
/// be shared, because a blocking read delays all other commands on it. In a cluster a read cannot block on several
/// servers at once: each server is read without blocking, and the caller reads again after a short pause.
#[boxed]
pub async fn read(
    connection: &mut RedisConnection,
    member: (Group, &str),
    buckets: &[Bucket],
    max_entries: usize,
) -> RedisResult<Vec<Entry>> {
    if !connection.is_cluster() {
        return read_from(connection, member, buckets, max_entries, true).await;
    }
    let reads = buckets.iter().map(async |bucket| {
        read_from(&mut connection.clone(), member, std::slice::from_ref(bucket), max_entries, false).await
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
        tokio::time::sleep(CLUSTER_READ_INTERVAL).await;
        failed.map_or(Ok(()), Err)?;
    }
    Ok(entries)
}

async fn read_from(
    connection: &mut RedisConnection,
    (group, member): (Group, &str),
    buckets: &[Bucket],
    max_entries: usize,
    blocks: bool,
) -> RedisResult<Vec<Entry>> {
    let mut read = redis::cmd("XREADGROUP");
    read.arg("GROUP").arg(group.as_str()).arg(member).arg("COUNT").arg(max_entries);
    if blocks {
        read.arg("BLOCK").arg(READ_TIMEOUT.as_millis() as u64);
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
async fn create_groups(connection: &mut impl ConnectionLike, group: Group, buckets: &[Bucket]) -> RedisResult<()> {
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
#[boxed]
pub async fn take_over(
    connection: &mut impl ConnectionLike,
    (group, member): (Group, &str),
    bucket: Bucket,
    idle: Duration,
    max_entries: usize,
) -> RedisResult<Vec<Entry>> {
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
pub(crate) async fn last_read(
    connection: &mut impl ConnectionLike,
    group: Group,
    bucket: Bucket,
) -> RedisResult<Option<EntryId>> {
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
pub(crate) async fn acknowledge(
    connection: &mut impl ConnectionLike,
    group: Group,
    entries: &[Entry],
) -> RedisResult<()> {
    for (bucket, ids) in by_bucket(entries) {
        let mut acknowledge = redis::cmd("XACK");
        acknowledge.arg(keys::outbox(bucket)).arg(group.as_str()).arg(ids);
        acknowledge.query_async::<Value>(connection).await?;
    }
    Ok(())
}

#[cfg(test)]
mod fuzz {
    use uuid::Uuid;

    use super::*;
    use testing::fuzz::texts;

    #[test]
    fn any_entry_is_parsed_whole_or_not_at_all() {
        let [user, order] = [1, 2].map(|n| ShortId::of(Uuid::from_u128(n)));
        let valid = [format!("{user} {order}:1"), format!("{user} {order}:2 {order} {user}:1"), format!("{user} 0:5")];
        texts(&valid, |text| {
            for bucket in [Bucket::whole(SaleId(7)), Bucket::whole(PacketId(9))] {
                let fields = ["at", "1700000000000", "orders", text, "claims", text].map(String::from);
                let pairs = text.split(' ').count();
                assert!(parse_fields(bucket, &fields).map_or(true, |items| 2 * items.len() == pairs), "{text}");
            }
        });
        texts(&["1700000000000-4"], |text| assert!(EntryId::parse(text).is_none_or(|_| text.contains('-')), "{text}"));
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn entries_after_the_last_read_one_are_unread() {
        let entry = |id: &str| Entry { bucket: Bucket::whole(SaleId(7)), id: id.into(), items: None };
        let last = EntryId::parse("1700000000000-9");
        assert!(entry("1700000000000-9").is_read(last));
        assert!(entry("999999999999-10").is_read(last));
        assert!(!entry("1700000000000-10").is_read(last));
        assert!(!entry("1700000000000-9").is_read(None));
    }

    /// The number of orders in an entry with these fields.
    fn read(at: &str, orders: &str) -> Option<usize> {
        let fields: Vec<String> = ["at", at, "orders", orders].map(String::from).to_vec();
        parse_orders(SaleId(7), &fields).ok().map(|all| all.len())
    }

    fn short(n: u128) -> ShortId {
        ShortId::of(Uuid::from_u128(n))
    }

    #[test]
    fn orders_are_parsed_as_a_whole_or_not_at_all() {
        let (user, order) = (short(1), short(2));
        let pair = format!("{user} {order}:1");
        assert_eq!(read("1700000000000", &pair), Some(1));
        assert_eq!(read("1700000000000", &format!("{pair} {pair}")), Some(2));
        assert_eq!(read("soon", &pair), None);
        for wrong in [format!("{pair} nonsense"), format!("{user} {order}:0"), format!("{pair} 2"), format!("{pair} ")]
        {
            assert_eq!(read("1700000000000", &wrong), None, "{wrong}");
        }
        let reason = |fields: &[&str]| {
            let fields: Vec<String> = fields.iter().map(|text| (*text).to_owned()).collect();
            parse_orders(SaleId(7), &fields).unwrap_err()
        };
        assert_eq!(reason(&[]), "the field \"at\" is missing");
        assert_eq!(reason(&["at", "soon"]), "the field \"at\" is not a time");
        assert_eq!(reason(&["at", "1", "orders", &format!("{pair} x 1")]), "pair 2 of the field \"orders\" is wrong");
    }

    #[test]
    fn claims_are_parsed_as_a_whole_or_not_at_all() {
        let user = short(1).to_string();
        let read = |claims: &str| {
            let fields: Vec<String> = ["at", "1700000000000", "claims", claims].map(String::from).to_vec();
            parse_claims(PacketId(9), &fields).ok().map(|all| all.len())
        };
        assert_eq!(read(&format!("{user} 0:5")), Some(1));
        assert_eq!(read(&format!("{user} 0:5 {user} 1:5")), Some(2));
        for wrong in [&user, "0:5", &format!("{user} 0:0"), &format!("{user} 0:5 "), &format!("{user} 0:5 {user}"), ""]
        {
            assert_eq!(read(wrong), None, "{wrong:?}");
        }
    }
}
