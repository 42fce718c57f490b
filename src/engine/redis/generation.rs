//! Generations of a bucket's keys, and the check that stops a master from granting if it may have lost grants.
//!
//! A generation is an epoch, which counts the loads of the keys, and the replication id of the server that has them.
//! Redis draws a new id whenever a process starts as a master or a replica becomes one, so a changed id means that
//! writes may be missing. The field `Server` of a bucket's hash has the id that may grant. A server with another id
//! grants nothing until each living process of the role `serve` has replayed its grants. Processes announce this under
//! the bucket's own keys, where every process of data control finds it ([`crate::pipeline::recovery`]).

use std::collections::HashSet;
use std::fmt;

use redis::{Pipeline, Script, Value};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::connection::RedisConnection;
use super::{keys, malformed, parse};
use crate::batching::Unavailable;
use domain::Bucket;

/// The replication id of a master: 160 random bits. Redis draws new ones when the server's history changes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerId([u8; 20]);

impl ServerId {
    /// Parses 40 hexadecimal digits.
    pub fn parse(text: &str) -> Option<ServerId> {
        let mut bytes = [0; 20];
        if text.len() != 40 || !text.is_ascii() {
            return None;
        }
        for (n, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * n..2 * n + 2], 16).ok()?;
        }
        Some(ServerId(bytes))
    }
}

impl fmt::Display for ServerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ServerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for ServerId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ServerId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        ServerId::parse(&text).ok_or_else(|| serde::de::Error::custom("not a replication id"))
    }
}

/// One incarnation of a bucket's keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Generation {
    /// Rises with every load from the database.
    pub epoch: i64,
    pub server: ServerId,
}

impl Generation {
    /// Parses the epoch and the replication id that a script returned.
    pub fn parse(epoch: i64, server: &[u8]) -> Result<Generation, Unavailable> {
        let server = std::str::from_utf8(server).ok().and_then(ServerId::parse);
        Ok(Generation { epoch, server: server.ok_or_else(|| malformed("a replication id"))? })
    }

    /// The text of a generation in an announcement.
    fn text(self) -> String {
        format!("{}:{}", self.epoch, self.server)
    }
}

/// A loaded bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadedGeneration {
    pub present: Generation,
    /// Whether the server may grant. If not, it waits until grants have been replayed.
    pub open: bool,
}

/// The generation of each bucket; `None` if it is not loaded. A server that doesn't answer fails only its own buckets.
pub async fn generations(
    master: &RedisConnection,
    buckets: &[Bucket],
) -> Result<Vec<Result<Option<LoadedGeneration>, Unavailable>>, Unavailable> {
    let answers = master.each(buckets, read).await?;
    let parse = |answer: Vec<Value>| parse_loaded(answer.first().unwrap_or(&Value::Nil));
    Ok(answers.into_iter().map(|answer| parse(answer?)).collect())
}

/// Adds the command that reads the generation of a bucket.
pub fn read(pipe: &mut Pipeline, bucket: Bucket) -> &mut Pipeline {
    pipe.cmd("EVAL").arg(include_str!("lua/generation.lua")).arg(1).arg(keys::hash(bucket))
}

/// Parses the answer to [`read`].
pub fn parse_loaded(answer: &Value) -> Result<Option<LoadedGeneration>, Unavailable> {
    let fields: Vec<String> = parse(answer, "a generation")?;
    let [epoch, granting, server] = fields.as_slice() else { return Ok(None) };
    let server_id = ServerId::parse(server).ok_or_else(|| malformed("a replication id"))?;
    let epoch = epoch.parse().map_err(|_| malformed("an epoch"))?;
    Ok(Some(LoadedGeneration { present: Generation { epoch, server: server_id }, open: granting == server }))
}

/// Announces that a process has replayed all its grants to this generation. Returns `false` if it is not the present
/// generation any more.
pub async fn announce(
    master: &RedisConnection,
    bucket: Bucket,
    process: &str,
    generation: Generation,
) -> Result<bool, Unavailable> {
    let script = Script::new(include_str!("lua/announce.lua"));
    let mut call = script.key(keys::hash(bucket));
    call.key(keys::replayed(bucket)).arg(generation.epoch).arg(generation.server.to_string()).arg(process);
    let announced: i64 = call.invoke_async(&mut master.clone()).await?;
    Ok(announced == 1)
}

/// The processes that have announced their replay to this generation.
pub async fn announced(
    master: &RedisConnection,
    bucket: Bucket,
    generation: Generation,
) -> Result<HashSet<String>, Unavailable> {
    let all: Vec<(String, String)> =
        redis::cmd("HGETALL").arg(keys::replayed(bucket)).query_async(&mut master.clone()).await?;
    let present = generation.text();
    Ok(all.into_iter().filter(|(_, text)| *text == present).map(|(process, _)| process).collect())
}

/// Lets the server grant. Changes nothing if this is not the present generation any more.
pub async fn open(master: &RedisConnection, bucket: Bucket, generation: Generation) -> Result<(), Unavailable> {
    let script = Script::new(include_str!("lua/open.lua"));
    let mut call = script.key(keys::hash(bucket));
    call.key(keys::replayed(bucket)).arg(generation.epoch).arg(generation.server.to_string());
    let _: i64 = call.invoke_async(&mut master.clone()).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replication_id_is_forty_hexadecimal_digits() {
        let text = "0123456789abcdef0123456789abcdef01234567";
        assert_eq!(ServerId::parse(text).unwrap().to_string(), text);
        for wrong in ["", "0123", &text[1..], &text.replace('a', "g"), &text.replace("ab", "é")] {
            assert_eq!(ServerId::parse(wrong), None, "{wrong}");
        }
    }
}
