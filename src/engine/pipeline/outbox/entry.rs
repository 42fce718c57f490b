//! Entries of the outbox: the items of one batch, as the reserving script wrote them.

use std::collections::HashMap;

use jiff::Timestamp;
use redis::{RedisError, Value, from_redis_value_ref};

use crate::redis::keys::{ShortId, parse_hold};
use crate::redis::{keys, parse_time};
use domain::bucket::Owner;
use domain::claim::Hold;
use domain::packet::{Share, ShareClaim};
use domain::{Bucket, OutboxItem, PacketId, Reservation, SaleId, UserId};

/// The id of a stream entry: the master's clock in milliseconds, and a number within the millisecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct EntryId(u64, u64);

impl EntryId {
    pub(super) fn parse(text: &str) -> Option<EntryId> {
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
pub(super) fn parse_streams(buckets: &[Bucket], answer: &Value) -> Result<Vec<Entry>, RedisError> {
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
pub(super) fn parse_entries(bucket: Bucket, answer: &Value) -> Result<Vec<Entry>, RedisError> {
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
        // (`waiting_rooms/gathering.rs`).
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
