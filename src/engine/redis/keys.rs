//! The names of a bucket's keys. They share a hash tag, so they occupy one slot of a Redis Cluster.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use redis::{RedisWrite, ToRedisArgs, ToSingleRedisArg};
use uuid::Uuid;

use domain::claim::Hold;
use domain::{Bucket, OrderId};

/// Declares the key of each suffix.
macro_rules! keys {
    ($($(#[$meta:meta])* $name:ident = $suffix:literal;)+) => {$(
        $(#[$meta])*
        pub fn $name(bucket: Bucket) -> String {
            named(bucket, $suffix)
        }
    )+};
}

keys! {
    /// The hash with the definition and the counters of the bucket.
    hash = "";
    count = "_count";
    start = "_start";
    access = "_access";
    holders = ":holders";
    outbox = ":outbox";
    /// The list of unclaimed shares of a packet.
    unclaimed = ":unclaimed";
    /// The hash with the users of a packet and their shares.
    users = ":users";
    /// The hash with the accounts in a waiting room and their places.
    places = ":places";
    /// The processes that have replayed their grants to the present generation of the bucket.
    replayed = ":replayed";
    /// The stream of outbox entries that could not be parsed, for operators to inspect.
    dead = ":outbox:dead";
}

/// The staging key for the holders of a bucket that is being loaded. Each attempt has its own.
pub fn loading(bucket: Bucket, epoch: i64) -> String {
    format!("{}:{epoch}", named(bucket, ":loading"))
}

/// The staging key for the users of a packet that is being loaded. Each attempt has its own.
pub(crate) fn loading_users(bucket: Bucket, epoch: i64) -> String {
    format!("{}:{epoch}", named(bucket, ":loading-users"))
}

/// The heartbeat of a process on one master; `tag` chooses the master of a cluster.
pub fn heartbeat(process: &str, tag: Option<u32>) -> String {
    match tag {
        None => format!("seckill:heartbeat:{process}"),
        Some(tag) => format!("seckill:heartbeat:{process}:{{{tag}}}"),
    }
}

/// The slot of a hash tag in a Redis Cluster: CRC-16 (XMODEM) modulo 16,384.
pub fn slot(tag: &str) -> u16 {
    let crc = tag.bytes().fold(0_u16, |crc, byte| {
        (0..8).fold(crc ^ (u16::from(byte) << 8), |crc, _| (crc << 1) ^ if crc & 0x8000 == 0 { 0 } else { 0x1021 })
    });
    crc % 16_384
}

fn named(bucket: Bucket, suffix: &str) -> String {
    format!("{}{{{bucket}}}{suffix}", bucket.owner.kind())
}

// The short form of ids in Redis: 16 bytes as 22 characters instead of 36 (URL-safe base64 of RFC 4648, without
// padding). Every hold and every outbox item has two ids. Shorter ids need smaller allocations and compare faster.

const LENGTH: usize = 22;

/// The id of a user or an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShortId([u8; LENGTH]);

impl ShortId {
    pub fn of(id: Uuid) -> ShortId {
        let mut text = [0; LENGTH];
        URL_SAFE_NO_PAD.encode_slice(id.as_bytes(), &mut text).expect("16 bytes are 22 characters");
        ShortId(text)
    }

    pub fn parse(text: &str) -> Option<Uuid> {
        // The decoder needs room for whole groups of four characters.
        let mut bytes = [0; 18];
        let length = URL_SAFE_NO_PAD.decode_slice(text, &mut bytes).ok()?;
        Uuid::from_slice(&bytes[..length]).ok()
    }

    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("base64 is ASCII")
    }
}

impl fmt::Display for ShortId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl ToRedisArgs for ShortId {
    fn write_redis_args<W: ?Sized + RedisWrite>(&self, out: &mut W) {
        out.write_arg(&self.0);
    }
}

impl ToSingleRedisArg for ShortId {}

/// Parses `order id:quantity`, the format of the holders hash and the outbox.
pub(crate) fn parse_hold(text: &str) -> Option<Hold> {
    let (order, quantity) = text.split_once(':')?;
    Some(Hold { order_id: OrderId(ShortId::parse(order)?), quantity: quantity.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::bucket::Owner;
    use domain::{PacketId, SaleId};

    #[test]
    fn slots_are_those_of_redis() {
        // The expected values come from CLUSTER KEYSLOT.
        assert_eq!(["123456789", "foo", "user1000"].map(slot), [12_739, 12_182, 3_443]);
    }

    #[test]
    fn key_names_are_stable() {
        let all = |bucket| [hash, count, start, access, holders, outbox].map(|name| name(bucket));
        let expected =
            ["goods{7}", "goods{7}_count", "goods{7}_start", "goods{7}_access", "goods{7}:holders", "goods{7}:outbox"];
        assert_eq!(all(Bucket::whole(SaleId(7))), expected);
        let last = Bucket::all(SaleId(7), 3).last().unwrap();
        assert_eq!(all(last), expected.map(|name| name.replace("{7}", "{7.2}")));
        assert_eq!(loading(last, 4), "goods{7.2}:loading:4");
        let rain = Bucket::all(PacketId(9), 2).next().unwrap();
        let names = [hash, unclaimed, users, outbox].map(|name| name(rain));
        assert_eq!(names, ["packet{9.0}", "packet{9.0}:unclaimed", "packet{9.0}:users", "packet{9.0}:outbox"]);
        let list = Bucket::whole(Owner::WaitingRoom(SaleId(7)));
        assert_eq!([hash, places, outbox].map(|name| name(list)), ["queue{7}", "queue{7}:places", "queue{7}:outbox"]);
    }

    #[test]
    fn ids_survive_a_round_trip_and_other_text_is_refused() {
        for id in [Uuid::nil(), Uuid::max(), Uuid::from_u128(0x0198_c0de_0000_7000_8000_0000_0000_0001)] {
            let short = ShortId::of(id).to_string();
            assert_eq!((short.len(), ShortId::parse(&short)), (LENGTH, Some(id)));
        }
        assert_eq!(ShortId::of(Uuid::nil()).to_string(), "A".repeat(LENGTH));
        let wrong = ["", "A", &"A".repeat(21), &"A".repeat(23), &"A".repeat(24), &"B".repeat(22), &"?".repeat(22)];
        for wrong in wrong {
            assert_eq!(ShortId::parse(wrong), None, "{wrong:?}");
        }
        assert_eq!(ShortId::parse(&Uuid::nil().to_string()), None);
    }
}
