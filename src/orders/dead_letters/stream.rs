//! Dead entries of the outboxes, in a stream beside each.

use jiff::Timestamp;
use redis::aio::ConnectionManager;
use redis::{RedisError, Script, Value};

use super::letter::{Letter, Place, id_of, shown};
use super::{Fate, MOST};
use crate::domain::Sale;
use crate::stock::{Bucket, keys};

/// Buckets of one call.
const BUCKETS: usize = 200;

/// The first entries of each bucket.
pub(super) async fn list(master: &mut ConnectionManager, sales: &[Sale]) -> Result<Vec<Letter>, RedisError> {
    let mut letters = Vec::new();
    let buckets: Vec<Bucket> = sales.iter().flat_map(Bucket::of_sale).collect();
    for chunk in buckets.chunks(BUCKETS) {
        let mut pipe = redis::pipe();
        for &bucket in chunk {
            pipe.cmd("XRANGE").arg(keys::dead(bucket)).arg("-").arg("+").arg("COUNT").arg(MOST);
        }
        let streams: Vec<Vec<(String, Vec<Value>)>> = pipe.query_async(master).await?;
        for (&bucket, entries) in chunk.iter().zip(streams) {
            letters.extend(entries.into_iter().map(|(entry, fields)| letter(bucket, entry, &fields)));
        }
    }
    letters.truncate(MOST);
    Ok(letters)
}

fn letter(bucket: Bucket, entry: String, fields: &[Value]) -> Letter {
    let mut content = Vec::new();
    for pair in fields.chunks(2) {
        for (n, value) in pair.iter().enumerate() {
            if let Value::BulkString(bytes) = value {
                content.extend_from_slice(bytes);
                content.extend_from_slice(if n == 0 { b": " } else { b"\n" });
            }
        }
    }
    let milliseconds = entry.split('-').next().and_then(|ms| ms.parse().ok());
    Letter {
        id: id_of(&[bucket.to_string().as_bytes(), entry.as_bytes()]),
        content: shown(&content),
        size: content.len(),
        message_type: None,
        message_id: None,
        reason: None,
        at: milliseconds.and_then(|ms| Timestamp::from_millisecond(ms).ok()),
        place: Place::Outbox { sale: bucket.sale(), bucket, entry },
    }
}

/// Moves an entry back into its outbox, or drops it.
pub(super) async fn settle(master: &mut ConnectionManager, letter: &Letter, fate: Fate) -> Result<(), RedisError> {
    let Place::Outbox { bucket, entry, .. } = &letter.place else { return Ok(()) };
    let script = Script::new(include_str!("settle.lua"));
    let mut call = script.key(keys::dead(*bucket));
    call.key(keys::outbox(*bucket)).arg(entry).arg(if fate == Fate::Replay { "replay" } else { "discard" });
    let _: i64 = call.invoke_async(master).await?;
    Ok(())
}
