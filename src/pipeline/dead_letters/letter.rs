//! A dead letter as operators see it.

use jiff::Timestamp;
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::domain::Bucket;
use crate::domain::{PacketId, SaleId};

/// Bytes of a letter's content that are shown and written into the audit log.
const SHOWN: usize = 4096;

/// Where a letter lies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Place {
    /// `seckill.orders.dead` in RabbitMQ.
    Queue,
    /// `goods{bucket}:outbox:dead` or `packet{bucket}:outbox:dead` in Redis.
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Letter {
    /// Of the content: letters that say the same have the same id, and any of them is as good as the other.
    pub id: String,
    pub place: Place,
    /// Its text, cut off when it is long; bytes that are no text are shown as �.
    pub content: String,
    /// Of the whole content, in bytes.
    pub size: usize,
    /// The type it claims to be of.
    pub message_type: Option<String>,
    pub message_id: Option<String>,
    /// Why it is here, as the broker says: `rejected`, `expired`, `delivery_limit`.
    pub reason: Option<String>,
    /// When it came here.
    pub at: Option<Timestamp>,
}

/// What names a letter.
pub(super) fn id_of(parts: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// The beginning of a content as text.
pub(super) fn shown(content: &[u8]) -> String {
    let text = String::from_utf8_lossy(&content[..content.len().min(SHOWN)]);
    let plain = |c: char| if c.is_control() && c != '\n' && c != '\t' { '\u{fffd}' } else { c };
    text.chars().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_letter_is_named_by_all_of_its_content() {
        assert_eq!(id_of(&[b"a", b"b"]), id_of(&[b"a", b"b"]));
        assert_ne!(id_of(&[b"ab", b""]), id_of(&[b"a", b"b"]));
        assert_eq!(id_of(&[b""]).len(), 16);
    }

    #[test]
    fn bytes_that_are_no_text_do_no_harm() {
        assert_eq!(shown(b"a\0\x1b[31m\xffb\n"), "a\u{fffd}\u{fffd}[31m\u{fffd}b\n");
        assert_eq!(shown(&[b'x'; 10_000]).len(), SHOWN);
    }
}
