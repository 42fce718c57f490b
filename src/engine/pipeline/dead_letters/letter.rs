//! A dead letter as operators see it.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use sha2::{Digest, Sha256};

use domain::{Bucket, OutboxItem, PacketId, SaleId};

/// Bytes of the content that are displayed and recorded in the audit log.
const MAX_CONTENT: usize = 4096;

/// Where a dead letter is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum DeadLetterSource {
    /// The queue `seckill.orders.dead` in RabbitMQ.
    Queue,
    /// The stream `goods{bucket}:outbox:dead` or `packet{bucket}:outbox:dead` in Redis.
    Outbox {
        #[serde(skip_serializing_if = "Option::is_none")]
        sale: Option<SaleId>,
        #[serde(skip_serializing_if = "Option::is_none")]
        packet: Option<PacketId>,
        bucket: Bucket,
        entry: String,
    },
}

/// One dead letter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DeadLetter {
    /// Derived from the content: letters with the same content have the same id and are interchangeable.
    pub id: String,
    pub place: DeadLetterSource,
    /// The content as text, truncated when it is long; bytes that are not text become �.
    pub content: String,
    /// The letter's orders by id, and its claims by packet and user. Empty if the content cannot be parsed.
    pub items: Vec<String>,
    /// Length of the whole content in bytes.
    pub size: usize,
    /// The message's `type` property.
    pub message_type: Option<String>,
    pub message_id: Option<String>,
    /// The broker's reason, `rejected`, `expired` or `delivery_limit`; or `refused` if the database took the message's
    /// other orders but refuses this one.
    pub reason: Option<String>,
    /// When the message or entry became a dead letter.
    pub at: Option<Timestamp>,
}

/// The id of a letter: the first eight bytes of a hash over its parts.
pub(super) fn id_of(parts: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// The items of a letter, as operators search for them.
pub(super) fn named(items: Option<Vec<OutboxItem>>) -> Vec<String> {
    let name = |item| match item {
        OutboxItem::Order(order) => order.order_id.to_string(),
        OutboxItem::Share(claim) => format!("{}:{}", claim.packet_id, claim.user_id),
    };
    items.into_iter().flatten().map(name).collect()
}

/// The beginning of the content as text.
pub(super) fn displayed(content: &[u8]) -> String {
    let text = String::from_utf8_lossy(&content[..content.len().min(MAX_CONTENT)]);
    text.chars().map(|c| if c.is_control() && c != '\n' && c != '\t' { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn id_depends_on_all_of_the_content() {
        assert_eq!(id_of(&[b"a", b"b"]), id_of(&[b"a", b"b"]));
        assert_ne!(id_of(&[b"ab", b""]), id_of(&[b"a", b"b"]));
        assert_eq!(id_of(&[b""]).len(), 16);
    }

    #[test]
    fn bytes_that_are_not_text_are_replaced() {
        assert_eq!(displayed(b"a\0\x1b[31m\xffb\n"), "a\u{fffd}\u{fffd}[31m\u{fffd}b\n");
        assert_eq!(displayed(&[b'x'; 10_000]).len(), MAX_CONTENT);
    }
}
