//! Identifiers. On the wire all of them are strings; goods, sales and packets are small decimal numbers, users, orders
//! and payments are UUIDs of version 7, which sort by the time they were made.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

/// A text that is not an identifier of the kind that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a valid id")]
pub struct InvalidId;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($inner:ty), $parse:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;
            fn from_str(text: &str) -> Result<Self, InvalidId> {
                let parse: fn(&str) -> Option<$inner> = $parse;
                parse(text).map(Self).ok_or(InvalidId)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

/// A positive decimal number without sign or leading zeros, so that one thing has one address.
fn number(text: &str) -> Option<i64> {
    let plain = text.bytes().all(|b| b.is_ascii_digit()) && !text.starts_with('0');
    plain.then(|| text.parse().ok()).flatten()
}

fn uuid(text: &str) -> Option<Uuid> {
    (text.len() == 36).then(|| Uuid::try_parse(text).ok()).flatten()
}

id!(/// A catalogue item.
    GoodsId(i64), number);
id!(/// One flash sale of one goods; the source articles call it `goodsId`.
    SaleId(i64), number);
id!(/// A red packet.
    PacketId(i64), number);
id!(/// A shopper or administrator.
    UserId(Uuid), uuid);
id!(/// An order, from the moment its units are reserved.
    OrderId(Uuid), uuid);
id!(/// An address that a shopper keeps.
    AddressId(Uuid), uuid);
id!(/// One attempt to pay one order.
    PaymentId(Uuid), uuid);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_has_one_address() {
        assert_eq!("7".parse(), Ok(SaleId(7)));
        for wrong in ["", "0", "07", "+7", "-7", "7 ", "7.0", "99999999999999999999", "seven"] {
            assert_eq!(wrong.parse::<SaleId>(), Err(InvalidId), "{wrong:?}");
        }
        assert!("0198c0de-0000-7000-8000-000000000001".parse::<OrderId>().is_ok());
        assert!("0198c0de000070008000000000000001".parse::<OrderId>().is_err());
    }
}
