//! The short form of ids in Redis: 16 bytes as 22 characters instead of 36 (URL-safe base64 of RFC 4648, without
//! padding). Every hold and every outbox item has two ids. Shorter ids need smaller allocations and compare faster.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use redis::{RedisWrite, ToRedisArgs, ToSingleRedisArg};
use uuid::Uuid;

use domain::OrderId;
use domain::claim::Hold;

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
pub fn parse_hold(text: &str) -> Option<Hold> {
    let (order, quantity) = text.split_once(':')?;
    Some(Hold { order_id: OrderId(ShortId::parse(order)?), quantity: quantity.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

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
