//! Identifiers. On the wire all of them are strings. Goods, categories, sales and packets have small decimal numbers; users,
//! orders, addresses, payments and questions have UUIDs of version 7, which sort by creation time.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use uuid::{NoContext, Timestamp as UuidTime, Uuid};

use crate::wire::wire_text;

/// A text is not a valid identifier of the expected type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a valid id")]
pub struct InvalidId;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($inner:ty), $parse:expr, $schema:tt) => {
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

        wire_text!($name, $schema);
    };
}

/// Parses a positive decimal number without sign or leading zeros, so that each resource has exactly one URL.
fn number(text: &str) -> Option<i64> {
    let plain = text.bytes().all(|b| b.is_ascii_digit()) && !text.starts_with('0');
    plain.then(|| text.parse().ok()).flatten()
}

fn uuid(text: &str) -> Option<Uuid> {
    (text.len() == 36).then(|| Uuid::try_parse(text).ok()).flatten()
}

id!(/// A catalogue item.
    GoodsId(i64), number, {"type": "string", "pattern": "^[1-9][0-9]*$", "examples": ["1"]});
id!(/// A category of goods.
    CategoryId(i64), number, {"type": "string", "pattern": "^[1-9][0-9]*$", "examples": ["1"]});
id!(/// One flash sale of one catalogue item. The source articles call it `goodsId`.
    SaleId(i64), number, {"type": "string", "pattern": "^[1-9][0-9]*$", "examples": ["1"]});
id!(/// A red packet.
    PacketId(i64), number, {"type": "string", "pattern": "^[1-9][0-9]*$", "examples": ["1"]});
id!(/// An account: a shopper or a member of staff.
    UserId(Uuid), uuid, {"type": "string", "format": "uuid"});
id!(/// An order, from the moment its units are reserved.
    OrderId(Uuid), uuid, {"type": "string", "format": "uuid"});
id!(/// An address in a shopper's address book.
    AddressId(Uuid), uuid, {"type": "string", "format": "uuid"});
id!(/// One attempt to pay an order or to top up a wallet.
    PaymentId(Uuid), uuid, {"type": "string", "format": "uuid"});
id!(/// A refund of a part of a payment, or of all that is left of it. A refund of the rest has the payment's id.
    RefundId(Uuid), uuid, {"type": "string", "format": "uuid"});
id!(/// A question of a shopper about goods.
    QuestionId(Uuid), uuid, {"type": "string", "format": "uuid"});

/// The smallest UUID of version 7 that can be generated at this time.
pub fn first_id_of(at: Timestamp) -> String {
    let hex = format!("{:012x}", at.as_millisecond().clamp(0, (1 << 48) - 1));
    format!("{}-{}-0000-0000-000000000000", &hex[..8], &hex[8..])
}

impl OrderId {
    /// A new id of this time, in milliseconds. Ids of the same millisecond have no order.
    pub fn new(at: Timestamp) -> OrderId {
        let ms = at.as_millisecond().max(0) as u64;
        OrderId(Uuid::new_v7(UuidTime::from_unix(NoContext, ms / 1000, (ms % 1000) as u32 * 1_000_000)))
    }

    /// The end of an id as people type or copy it, like `…F64F2422D634`. It differs between orders of one day and is
    /// short enough to read out.
    pub fn read_short(text: &str) -> Option<String> {
        let short = text.trim().trim_start_matches('…').to_ascii_lowercase();
        (short.len() == 12 && short.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(short)
    }
}

// One page of a list that is read with a cursor.

/// Items of one page, and the cursor after which the next page begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T, C> {
    pub items: Vec<T>,
    /// `None` on the last page.
    pub next: Option<C>,
}

impl<T, C> Page<T, C> {
    /// Cuts a list to `limit` items. Read one item more than `limit`: its presence is how a further page is known.
    pub fn cut(mut items: Vec<T>, limit: usize, cursor: impl Fn(&T) -> C) -> Page<T, C> {
        let has_more = items.len() > limit;
        items.truncate(limit);
        let next = if has_more { items.last().map(cursor) } else { None };
        Page { items, next }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::generated_at;

    #[test]
    fn each_id_has_one_text() {
        assert_eq!("7".parse(), Ok(SaleId(7)));
        for wrong in ["", "0", "07", "+7", "-7", "7 ", "7.0", "99999999999999999999", "seven"] {
            assert_eq!(wrong.parse::<SaleId>(), Err(InvalidId), "{wrong:?}");
        }
        assert!("0198c0de-0000-7000-8000-000000000001".parse::<OrderId>().is_ok());
        assert!("0198c0de000070008000000000000001".parse::<OrderId>().is_err());
    }

    #[test]
    fn new_order_has_its_time_in_its_id() {
        for at in [0, 1, 1_795_000_000_999] {
            let at = Timestamp::from_millisecond(at).unwrap();
            let [one, other] = [OrderId::new(at), OrderId::new(at)];
            assert_eq!((generated_at(one), generated_at(other)), (at, at));
            assert!(one != other && one.to_string() >= first_id_of(at));
        }
    }

    #[test]
    fn short_number_of_an_order_is_read_as_it_is_shown() {
        let id: OrderId = "0198c0de-0000-7000-8000-f64f2422d634".parse().unwrap();
        let short = "f64f2422d634".to_owned();
        for typed in [short.clone(), format!(" …{short}"), short.to_uppercase()] {
            assert_eq!(OrderId::read_short(&typed), Some(short.clone()), "{typed:?}");
        }
        for other in ["", "f64f2422d63", "f64f2422d6345", "mei-f64f2422", &id.to_string()] {
            assert_eq!(OrderId::read_short(other), None, "{other:?}");
        }
    }

    #[test]
    fn next_cursor_is_the_last_item_shown_and_only_if_more_follow() {
        let page = |items: &[i32]| Page::cut(items.to_vec(), 2, |item| *item);
        assert_eq!(page(&[7, 8, 9]), Page { items: vec![7, 8], next: Some(8) });
        assert_eq!(page(&[7, 8]), Page { items: vec![7, 8], next: None });
        assert_eq!(page(&[]), Page { items: vec![], next: None });
    }
}
