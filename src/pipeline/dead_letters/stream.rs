//! Dead entries of the outboxes, in a stream beside each.

use jiff::Timestamp;
use redis::{Pipeline, RedisError, Script, Value, from_redis_value};

use super::letter::{Letter, Place, id_of, shown};
use super::{MOST, Settlement};
use crate::domain::Bucket;
use crate::redis::connection::RedisConnection;
use crate::redis::keys;

/// Buckets of one call.
const BUCKETS: usize = 200;

/// The first entries of each bucket.
pub(super) async fn list(master: &RedisConnection, buckets: &[Bucket]) -> Result<Vec<Letter>, RedisError> {
    let mut letters = Vec::new();
    for chunk in buckets.chunks(BUCKETS) {
        let ask = |pipe: &mut Pipeline, bucket| {
            pipe.cmd("XRANGE").arg(keys::dead(bucket)).arg("-").arg("+").arg("COUNT").arg(MOST);
        };
        for (&bucket, answer) in chunk.iter().zip(master.each(chunk, ask).await?) {
            let entries: Vec<(String, Vec<Value>)> =
                from_redis_value(answer?.into_iter().next().unwrap_or(Value::Nil))?;
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
        place: Place::Outbox { sale: bucket.sale(), packet: bucket.packet(), bucket, entry },
    }
}

/// Moves an entry back into its outbox, or drops it.
pub(super) async fn settle(master: &mut RedisConnection, letter: &Letter, fate: Settlement) -> Result<(), RedisError> {
    let Place::Outbox { bucket, entry, .. } = &letter.place else { return Ok(()) };
    let script = Script::new(include_str!("settle.lua"));
    let mut call = script.key(keys::dead(*bucket));
    call.key(keys::outbox(*bucket)).arg(entry).arg(if fate == Settlement::Replay { "replay" } else { "discard" });
    let _: i64 = call.invoke_async(master).await?;
    Ok(())
}
