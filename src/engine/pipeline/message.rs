//! Messages in RabbitMQ: JSON, readable for operators. A message carries one entry of an outbox, so up to 256 orders
//! share its cost. Earlier versions sent one message per order. Such messages are still read, and a dead letter about a
//! single order of an entry has the same form.

use jiff::Timestamp;
use lapin::BasicProperties;
use lapin::types::{AMQPValue, FieldTable};
use serde::{Deserialize, Serialize};

use super::outbox::Entry;
use domain::packet::ShareClaim;
use domain::{OrderId, OutboxItem, PacketId, Reservation, SaleId, UserId};

/// A kind of message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageKind {
    /// The message's `type`.
    pub name: &'static str,
    /// The routing key.
    pub key: &'static str,
    /// The header with the number of orders or claims.
    pub count: &'static str,
}

/// The orders of one entry.
pub const ORDER: MessageKind = MessageKind { name: "order.reserved.v2", key: "order.reserved", count: "orders" };
/// The claimed shares of one entry.
pub const SHARE: MessageKind = MessageKind { name: "packet.claimed.v2", key: "packet.claimed", count: "claims" };
pub const KINDS: [MessageKind; 2] = [ORDER, SHARE];
/// One order, as earlier versions sent it.
pub const ORDER_V1: MessageKind = MessageKind { name: "order.reserved.v1", ..ORDER };
/// One claimed share, as earlier versions sent it.
pub const SHARE_V1: MessageKind = MessageKind { name: "packet.claimed.v1", ..SHARE };

/// The routing key of messages of this type. Messages of an unknown type are routed like orders.
pub fn routing_key(name: Option<&str>) -> &'static str {
    let is_share = name.is_some_and(|name| name == SHARE.name || name == SHARE_V1.name);
    if is_share { SHARE.key } else { ORDER.key }
}

/// Whether a message has the number of its items in this header.
pub(super) fn is_count(header: &str) -> bool {
    KINDS.iter().any(|kind| kind.count == header)
}

/// The body of [`ORDER`].
#[derive(Serialize, Deserialize)]
struct OrdersBody {
    sale_id: SaleId,
    /// Bucket and entry are only for operators to read.
    bucket: String,
    entry: String,
    reserved_at: Timestamp,
    orders: Vec<OrderLine>,
}

#[derive(Serialize, Deserialize)]
struct OrderLine {
    order_id: OrderId,
    user_id: UserId,
    quantity: u32,
}

/// The body of [`SHARE`].
#[derive(Serialize, Deserialize)]
struct ClaimsBody {
    packet_id: PacketId,
    bucket: String,
    entry: String,
    claimed_at: Timestamp,
    claims: Vec<ClaimLine>,
}

#[derive(Serialize, Deserialize)]
struct ClaimLine {
    user_id: UserId,
    share: i64,
    amount: i64,
}

/// One message to publish.
#[derive(Debug, Clone)]
pub struct Message {
    pub kind: MessageKind,
    /// The id stays the same if the content is published again.
    pub id: String,
    /// The instant of the reservation.
    pub at: Timestamp,
    /// Number of orders or claims.
    pub count: usize,
    pub body: Vec<u8>,
}

impl Message {
    /// The message about an entry; `None` when the entry could not be parsed.
    pub fn of_entry(entry: &Entry) -> serde_json::Result<Option<Message>> {
        let items = entry.items.as_deref().unwrap_or_default();
        let (bucket, id) = (entry.bucket.to_string(), entry.id.clone());
        let message_id = format!("{bucket}:{id}");
        // An entry is written by one call of a script, for one sale or packet.
        Ok(match items.first() {
            None => None,
            Some(OutboxItem::Order(first)) => {
                let line =
                    |&Reservation { order_id, user_id, quantity, .. }: &_| OrderLine { order_id, user_id, quantity };
                let orders: Vec<OrderLine> = items.iter().filter_map(OutboxItem::order).map(line).collect();
                let (sale_id, reserved_at) = (first.sale_id, first.reserved_at);
                let count = orders.len();
                let body = serde_json::to_vec(&OrdersBody { sale_id, bucket, entry: id, reserved_at, orders })?;
                Some(Message { kind: ORDER, id: message_id, at: reserved_at, count, body })
            }
            Some(OutboxItem::Share(first)) => {
                let line = |&ShareClaim { user_id, share, amount, .. }: &_| ClaimLine { user_id, share, amount };
                let claims: Vec<ClaimLine> = items.iter().filter_map(OutboxItem::share).map(line).collect();
                let (packet_id, claimed_at) = (first.packet_id, first.claimed_at);
                let count = claims.len();
                let body = serde_json::to_vec(&ClaimsBody { packet_id, bucket, entry: id, claimed_at, claims })?;
                Some(Message { kind: SHARE, id: message_id, at: claimed_at, count, body })
            }
        })
    }

    /// The message about a single item of an entry.
    pub fn of_item(item: &OutboxItem) -> serde_json::Result<Message> {
        Ok(match item {
            OutboxItem::Order(order) => Message {
                kind: ORDER_V1,
                id: order.order_id.to_string(),
                at: order.reserved_at,
                count: 1,
                body: serde_json::to_vec(order)?,
            },
            OutboxItem::Share(claim) => Message {
                kind: SHARE_V1,
                id: format!("{}:{}", claim.packet_id, claim.user_id),
                at: claim.claimed_at,
                count: 1,
                body: serde_json::to_vec(claim)?,
            },
        })
    }

    /// The message's properties, with the number of its items in a header.
    pub fn properties(&self) -> BasicProperties {
        let mut headers = FieldTable::default();
        headers.insert(self.kind.count.into(), AMQPValue::LongInt(self.count as i32));
        BasicProperties::default()
            .with_delivery_mode(2)
            .with_content_type("application/json".into())
            .with_type(self.kind.name.into())
            .with_message_id(self.id.as_str().into())
            .with_timestamp(self.at.as_second().max(0) as u64)
            .with_headers(headers)
    }
}

/// Parses the body of a message of type `name`. The error says why it is invalid, for the log; one invalid item makes the
/// whole message invalid.
pub fn parse(name: Option<&str>, body: &[u8]) -> Result<Vec<OutboxItem>, String> {
    let items = items_of(name.unwrap_or_default(), body).map_err(|error| error.to_string())?;
    let wrong = items.iter().position(|item| !is_valid(item));
    match (wrong, items.is_empty()) {
        (Some(n), _) => Err(format!("item {} has an impossible number", n + 1)),
        (None, true) => Err("it has no items".to_owned()),
        (None, false) => Ok(items),
    }
}

fn items_of(name: &str, body: &[u8]) -> serde_json::Result<Vec<OutboxItem>> {
    Ok(match name {
        name if name == ORDER.name => {
            let OrdersBody { sale_id, reserved_at, orders, .. } = serde_json::from_slice(body)?;
            let orders = orders.into_iter().map(|OrderLine { order_id, user_id, quantity }| {
                OutboxItem::Order(Reservation { order_id, sale_id, user_id, quantity, reserved_at })
            });
            orders.collect()
        }
        name if name == SHARE.name => {
            let ClaimsBody { packet_id, claimed_at, claims, .. } = serde_json::from_slice(body)?;
            let claims = claims.into_iter().map(|ClaimLine { user_id, share, amount }| {
                OutboxItem::Share(ShareClaim { packet_id, user_id, share, amount, claimed_at })
            });
            claims.collect()
        }
        name if name == ORDER_V1.name => vec![OutboxItem::Order(serde_json::from_slice(body)?)],
        name if name == SHARE_V1.name => vec![OutboxItem::Share(serde_json::from_slice(body)?)],
        unknown => return Err(serde::de::Error::custom(format!("{unknown:?} is not a type of message"))),
    })
}

fn is_valid(item: &OutboxItem) -> bool {
    match item {
        OutboxItem::Order(order) => order.quantity > 0 && order.sale_id.0 > 0,
        OutboxItem::Share(claim) => claim.amount > 0 && claim.share >= 0 && claim.packet_id.0 > 0,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use uuid::Uuid;

    use super::*;
    use domain::Bucket;

    fn order(n: u128) -> OutboxItem {
        OutboxItem::Order(Reservation {
            order_id: OrderId(Uuid::from_u128(n)),
            sale_id: SaleId(7),
            user_id: UserId(Uuid::from_u128(n + 1000)),
            quantity: 2,
            reserved_at: Timestamp::from_millisecond(1_700_000_000_123).unwrap(),
        })
    }

    fn share(n: u128) -> OutboxItem {
        OutboxItem::Share(ShareClaim {
            packet_id: PacketId(9),
            user_id: UserId(Uuid::from_u128(n)),
            share: n as i64,
            amount: 5,
            claimed_at: Timestamp::from_millisecond(1_700_000_000_123).unwrap(),
        })
    }

    fn entry(bucket: Bucket, items: Vec<OutboxItem>) -> Entry {
        Entry { bucket, id: "1700000000123-4".into(), items: Some(items) }
    }

    #[test]
    fn entry_survives_the_way_through_a_message() {
        let bucket = Bucket::all(SaleId(7), 3).nth(1).unwrap();
        let orders: Vec<OutboxItem> = (1..=256).map(order).collect();
        let claims: Vec<OutboxItem> = (1..=3).map(share).collect();
        for (entry, kind, id) in [
            (entry(bucket, orders), ORDER, "7.1:1700000000123-4"),
            (entry(Bucket::whole(PacketId(9)), claims), SHARE, "9:1700000000123-4"),
        ] {
            let items = entry.items.clone().unwrap();
            let message = Message::of_entry(&entry).unwrap().unwrap();
            assert_eq!((message.kind, message.id.as_str(), message.count), (kind, id, items.len()));
            assert_eq!(parse(Some(kind.name), &message.body), Ok(items));
            let properties = message.properties();
            assert_eq!(*properties.timestamp(), Some(1_700_000_000));
            let headers = properties.headers().clone().unwrap();
            assert_eq!(headers.inner().get(kind.count), Some(&AMQPValue::LongInt(message.count as i32)));
        }
    }

    #[test]
    fn body_says_what_operators_look_for() {
        let message = Message::of_entry(&entry(Bucket::whole(SaleId(7)), vec![order(1)])).unwrap().unwrap();
        let body: Value = serde_json::from_slice(&message.body).unwrap();
        let expected = json!({
            "sale_id": "7", "bucket": "7", "entry": "1700000000123-4", "reserved_at": "2023-11-14T22:13:20.123Z",
            "orders": [{"order_id": Uuid::from_u128(1), "user_id": Uuid::from_u128(1001), "quantity": 2}],
        });
        assert_eq!(body, expected);
    }

    #[test]
    fn messages_of_earlier_versions_have_one_item() {
        for (item, kind) in [(order(1), ORDER_V1), (share(1), SHARE_V1)] {
            let message = Message::of_item(&item).unwrap();
            assert_eq!(message.kind, kind);
            assert_eq!(parse(Some(kind.name), &message.body), Ok(vec![item]));
        }
        // The body as version 1 first published it.
        let old = json!({
            "order_id": Uuid::from_u128(1), "sale_id": "7", "user_id": Uuid::from_u128(1001), "quantity": 2,
            "reserved_at": "2023-11-14T22:13:20.123Z",
        });
        assert_eq!(parse(Some("order.reserved.v1"), old.to_string().as_bytes()), Ok(vec![order(1)]));
        let old = json!({
            "packet_id": "9", "user_id": Uuid::from_u128(1), "share": 1, "amount": 5,
            "claimed_at": "2023-11-14T22:13:20.123Z",
        });
        assert_eq!(parse(Some("packet.claimed.v1"), old.to_string().as_bytes()), Ok(vec![share(1)]));
    }

    #[test]
    fn invalid_item_makes_the_message_invalid() {
        let orders = |quantity: i64| {
            let good = json!({"order_id": Uuid::from_u128(1), "user_id": Uuid::from_u128(2), "quantity": 1});
            let mut other = good.clone();
            other["quantity"] = json!(quantity);
            let at = "2023-11-14T22:13:20Z";
            let body =
                json!({"sale_id": "7", "bucket": "7", "entry": "1-0", "reserved_at": at, "orders": [good, other]});
            parse(Some(ORDER.name), body.to_string().as_bytes()).map(|items| items.len())
        };
        assert_eq!((orders(1), orders(0)), (Ok(2), Err("item 2 has an impossible number".to_owned())));
        assert!(orders(-1).is_err() && orders(1 << 32).is_err());
        let empty = r#"{"sale_id":"7","bucket":"7","entry":"1-0","reserved_at":"2023-11-14T22:13:20Z","orders":[]}"#;
        for (name, body, reason) in [
            (Some(ORDER.name), empty, "it has no items"),
            (Some(ORDER.name), "{}", "missing field `sale_id`"),
            (Some(SHARE.name), empty, "missing field `packet_id`"),
            (Some("order.reserved.v9"), empty, "\"order.reserved.v9\" is not a type"),
            (None, "", "is not a type"),
        ] {
            let error = parse(name, body.as_bytes()).unwrap_err();
            assert!(error.contains(reason), "{name:?} {body}: {error}");
        }
        assert!(
            Message::of_entry(&Entry { items: None, ..entry(Bucket::whole(SaleId(7)), vec![]) }).unwrap().is_none()
        );
    }

    #[test]
    fn message_returns_by_the_key_of_its_kind() {
        for kind in [ORDER, ORDER_V1, SHARE, SHARE_V1] {
            assert_eq!(routing_key(Some(kind.name)), kind.key);
        }
        assert_eq!((routing_key(Some("order.reserved.v9")), routing_key(None)), (ORDER.key, ORDER.key));
    }
}

#[cfg(test)]
mod fuzz {
    use super::*;
    use testing::fuzz::inputs;

    const ORDERS: &str = r#"{"sale_id":"7","bucket":"7.1","entry":"1-0","reserved_at":"2023-11-14T22:13:20.123Z","orders":[
        {"order_id":"0198c0de-0000-7000-8000-000000000001","user_id":"0198c0de-0000-7000-8000-000000000002","quantity":2}]}"#;
    const CLAIMS: &str = r#"{"packet_id":"9","bucket":"9","entry":"1-0","claimed_at":"2023-11-14T22:13:20.123Z","claims":[
        {"user_id":"0198c0de-0000-7000-8000-000000000002","share":1,"amount":5}]}"#;
    const ORDER: &str = r#"{"order_id":"0198c0de-0000-7000-8000-000000000001","sale_id":"7","quantity":2,
        "user_id":"0198c0de-0000-7000-8000-000000000002","reserved_at":"2023-11-14T22:13:20.123Z"}"#;

    #[test]
    fn any_message_is_parsed_whole_or_not_at_all() {
        for (kind, valid) in [(super::ORDER, ORDERS), (SHARE, CLAIMS), (ORDER_V1, ORDER)] {
            assert!(parse(Some(kind.name), valid.as_bytes()).is_ok(), "{valid}");
            inputs(vec![valid.into()], |body| {
                for item in parse(Some(kind.name), body).into_iter().flatten() {
                    assert!(is_valid(&item));
                    let again = Message::of_item(&item).expect("what was parsed can be written");
                    assert_eq!(parse(Some(again.kind.name), &again.body), Ok(vec![item]));
                }
            });
        }
    }
}
