//! Dead letters of the outboxes. Each outbox has a Redis Stream for its dead letters.

use redis::{Script, Value, from_redis_value, from_redis_value_ref};

use super::letter::{DeadLetter, DeadLetterSource, displayed, id_of, named};
use super::{MAX_LETTERS, Settlement};
use crate::pipeline::outbox;
use crate::redis::connection::RedisConnection;
use crate::redis::{keys, parse_time};
use domain::Bucket;

/// Buckets per call.
const MAX_BUCKETS: usize = 200;

/// The first entries of each bucket, [`MAX_LETTERS`] in all.
pub(super) async fn list(master: &RedisConnection, buckets: &[Bucket]) -> anyhow::Result<Vec<DeadLetter>> {
    let mut letters = Vec::new();
    for chunk in buckets.chunks(MAX_BUCKETS) {
        let answers = master.each(chunk, |pipe, bucket| {
            pipe.cmd("XRANGE").arg(keys::dead(bucket)).arg("-").arg("+").arg("COUNT").arg(MAX_LETTERS)
        });
        for (&bucket, answer) in chunk.iter().zip(answers.await?) {
            let entries: Vec<(String, Vec<Value>)> =
                from_redis_value(answer?.into_iter().next().unwrap_or(Value::Nil))?;
            letters.extend(entries.into_iter().map(|(entry, fields)| letter(bucket, entry, &fields)));
        }
    }
    letters.truncate(MAX_LETTERS);
    Ok(letters)
}

fn letter(bucket: Bucket, entry: String, fields: &[Value]) -> DeadLetter {
    let mut content = Vec::new();
    for pair in fields.chunks(2) {
        for (n, value) in pair.iter().enumerate() {
            if let Value::BulkString(bytes) = value {
                content.extend_from_slice(bytes);
                content.extend_from_slice(if n == 0 { b": " } else { b"\n" });
            }
        }
    }
    let words: Option<Vec<String>> = fields.iter().map(|value| from_redis_value_ref(value).ok()).collect();
    DeadLetter {
        items: named(words.and_then(|words| outbox::parse_fields(bucket, &words).ok())),
        id: id_of(&[bucket.to_string().as_bytes(), entry.as_bytes()]),
        content: displayed(&content),
        size: content.len(),
        message_type: None,
        message_id: None,
        reason: None,
        at: entry.split('-').next().and_then(parse_time),
        place: DeadLetterSource::Outbox { sale: bucket.sale(), packet: bucket.packet(), bucket, entry },
    }
}

/// Moves an entry back into its outbox, or discards it.
pub(super) async fn settle(
    master: &mut RedisConnection,
    letter: &DeadLetter,
    settlement: Settlement,
) -> anyhow::Result<()> {
    let DeadLetterSource::Outbox { bucket, entry, .. } = &letter.place else { return Ok(()) };
    let script = Script::new(include_str!("settle.lua"));
    let mut call = script.key(keys::dead(*bucket));
    call.key(keys::outbox(*bucket)).arg(entry).arg(if settlement == Settlement::Replay { "replay" } else { "discard" });
    let _: i64 = call.invoke_async(master).await?;
    Ok(())
}
