//! Stops a master from granting if it may have lost grants, and replays the grants to it.
//!
//! A generation is an epoch, which counts the loads of the keys, and the replication id of the server that has them.
//! Redis draws a new id whenever a process starts as a master or a replica becomes one, so a changed id means that
//! writes may be missing. The field `Server` of a bucket's hash has the id that may grant. A server with another id
//! grants nothing until each living process of the role `serve` has replayed its grants. Processes announce this under
//! the bucket's own keys, where every process of data control finds it ([`crate::pipeline::recovery`]).

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::hash::Hash;
use std::str::FromStr;
use std::time::Duration;

use async_trait::async_trait;
use redis::{Pipeline, Script, Value};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::connection::RedisConnection;
use super::grant_log::{GrantFiles, GrantLog, Place};
use super::{keys, malformed, parse};
use crate::batching::Reply;
use base::metrics::Metrics;
use base::periodic::Periodic;
use domain::wire::wire_text;
use domain::{Bucket, hex};

/// The replication id of a master: 160 random bits. Redis draws new ones when the server's history changes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerId([u8; 20]);

impl FromStr for ServerId {
    type Err = &'static str;

    /// Parses 40 hexadecimal digits.
    fn from_str(text: &str) -> Result<ServerId, &'static str> {
        hex::decode(text).map(ServerId).ok_or("not a replication id")
    }
}

impl fmt::Display for ServerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(&self.0))
    }
}

impl fmt::Debug for ServerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

wire_text!(ServerId);

/// One incarnation of a bucket's keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Generation {
    /// Rises with every load from the database.
    pub epoch: i64,
    pub server: ServerId,
}

impl Generation {
    /// Parses the epoch and the replication id that a script returned.
    pub fn parse(epoch: i64, server: &[u8]) -> Reply<Generation> {
        let server = std::str::from_utf8(server).ok().and_then(|server| server.parse().ok());
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
pub async fn generations(master: &RedisConnection, buckets: &[Bucket]) -> Reply<Vec<Reply<Option<LoadedGeneration>>>> {
    let answers = master.each(buckets, read).await?;
    let parse = |answer: Vec<Value>| parse_loaded(answer.first().unwrap_or(&Value::Nil));
    Ok(answers.into_iter().map(|answer| parse(answer?)).collect())
}

/// Adds the command that reads the generation of a bucket.
pub fn read(pipe: &mut Pipeline, bucket: Bucket) -> &mut Pipeline {
    pipe.cmd("EVAL").arg(include_str!("lua/generation.lua")).arg(1).arg(keys::hash(bucket))
}

/// Parses the answer to [`read`].
pub(crate) fn parse_loaded(answer: &Value) -> Reply<Option<LoadedGeneration>> {
    let fields: Vec<String> = parse(answer, "a generation")?;
    let [epoch, granting, server] = fields.as_slice() else { return Ok(None) };
    let server_id = server.parse().map_err(|_| malformed("a replication id"))?;
    let epoch = epoch.parse().map_err(|_| malformed("an epoch"))?;
    Ok(Some(LoadedGeneration { present: Generation { epoch, server: server_id }, open: granting == server }))
}

/// Announces that a process has replayed all its grants to this generation. Returns `false` if it is not the present
/// generation any more.
pub async fn announce(master: &RedisConnection, bucket: Bucket, process: &str, generation: Generation) -> Reply<bool> {
    let script = Script::new(include_str!("lua/announce.lua"));
    let mut call = script.key(keys::hash(bucket));
    call.key(keys::replayed(bucket)).arg(generation.epoch).arg(generation.server.to_string()).arg(process);
    let announced: i64 = call.invoke_async(&mut master.clone()).await?;
    Ok(announced == 1)
}

/// The processes that have announced their replay to this generation.
pub async fn announced(master: &RedisConnection, bucket: Bucket, generation: Generation) -> Reply<HashSet<String>> {
    let all: Vec<(String, String)> =
        redis::cmd("HGETALL").arg(keys::replayed(bucket)).query_async(&mut master.clone()).await?;
    let present = generation.text();
    Ok(all.into_iter().filter(|(_, text)| *text == present).map(|(process, _)| process).collect())
}

/// Lets the server grant. Changes nothing if this is not the present generation any more.
pub async fn open(master: &RedisConnection, bucket: Bucket, generation: Generation) -> Reply<()> {
    let script = Script::new(include_str!("lua/open.lua"));
    let mut call = script.key(keys::hash(bucket));
    call.key(keys::replayed(bucket)).arg(generation.epoch).arg(generation.server.to_string());
    let _: i64 = call.invoke_async(&mut master.clone()).await?;
    Ok(())
}

// The replay. Each check of this process finds the buckets whose server has an unknown history and sends the remembered
// grants. It also waits for the answers to earlier calls, because they may contain grants of the old history. Then it
// announces itself to data control, and forgets grants that the database has. The backend's script changes nothing about
// grants that survived; it grants the others again and appends them to the outbox.

/// How often generations are checked.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);
/// Grants per call to Redis or to the database.
const MAX_BATCH: usize = 256;
/// Grants of one bucket that one check looks up in the database.
const MAX_SETTLED_PER_CHECK: usize = 20_000;

/// The outcome of replaying grants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replayed {
    /// The number of grants that the master had forgotten, and the generation that has them now.
    Forgotten(usize, Generation),
    /// The bucket is not loaded at present.
    NotLoaded,
}

/// A backend on a Redis master whose grants can be replayed.
#[async_trait]
pub trait ReplayGrants: Send + Sync {
    type Grant: Copy + Eq + Hash + Send + Sync;

    fn grant_log(&self) -> &GrantLog<Self::Grant>;

    fn master(&self) -> &RedisConnection;

    /// The buckets that, when closed, wait for the announcement of every process.
    async fn announced_buckets(&self) -> anyhow::Result<Vec<Bucket>>;

    /// Replays a batch of at most 256 grants. Grants that the master remembers stay as they are.
    async fn replay(&self, bucket: Bucket, grants: &[Self::Grant]) -> Reply<Replayed>;

    /// Whether the bucket is in use: if it is not loaded, it will be.
    fn is_active(&self, bucket: Bucket) -> bool;

    /// Writes grants to the database. The database decides about them as it does about grants that come through the
    /// outbox.
    async fn persist(&self, bucket: Bucket, grants: &[Self::Grant]) -> anyhow::Result<()>;

    /// Whether the database has each of the grants.
    async fn are_persisted(&self, bucket: Bucket, grants: &[Self::Grant]) -> anyhow::Result<Vec<bool>>;
}

/// The checks of one process, with the state that they remember.
pub struct Replay<'a, B> {
    backend: &'a B,
    /// The name of this process.
    process: &'a str,
    /// Closed buckets with their generation, and the number of calls that had been started when this generation was
    /// first seen.
    closed: HashMap<Bucket, (Generation, u64)>,
}

/// Checks until `stop` is cancelled. Deletes grant files once their grants are in the database.
pub async fn replay_grants<B: ReplayGrants>(
    backend: &B,
    process: &str,
    files: &mut GrantFiles,
    metrics: &Metrics,
    stop: &CancellationToken,
) {
    let mut replay = Replay::new(backend, process);
    let mut replays = Periodic::new("grant replay", CHECK_INTERVAL, stop);
    while replays.tick().await {
        let checked = replay.check(metrics).await;
        replays.record(checked.and_then(|()| files.delete_when_settled(backend.grant_log())));
    }
}

impl<'a, B: ReplayGrants> Replay<'a, B> {
    pub fn new(backend: &'a B, process: &'a str) -> Replay<'a, B> {
        Replay { backend, process, closed: HashMap::new() }
    }

    /// One check of all buckets. A bucket that fails does not delay the others.
    pub async fn check(&mut self, metrics: &Metrics) -> anyhow::Result<()> {
        let log = self.backend.grant_log();
        // Without the list of announced buckets, remembered grants are still replayed.
        let (announced, mut failure) = match self.backend.announced_buckets().await {
            Ok(buckets) => (buckets, None),
            Err(error) => (Vec::new(), Some(error)),
        };
        let mut remembered: BTreeMap<Bucket, Vec<Generation>> =
            announced.into_iter().map(|bucket| (bucket, Vec::new())).collect();
        for (bucket, generation) in log.places() {
            remembered.entry(bucket).or_default().push(generation);
        }
        self.closed.retain(|bucket, _| remembered.contains_key(bucket));
        let mut verified = Vec::new();
        let buckets: Vec<Bucket> = remembered.keys().copied().collect();
        let found = generations(self.backend.master(), &buckets).await?;
        for ((bucket, remembered), found) in remembered.into_iter().zip(found) {
            let checked = match found {
                Ok(Some(loaded)) => {
                    verified.push((bucket, loaded.present));
                    self.check_bucket(bucket, loaded, remembered).await.map_err(Into::into)
                }
                // Data control is about to load the bucket, and a later check replays.
                Ok(None) if self.backend.is_active(bucket) => Ok(()),
                Ok(None) => self.hand_over(bucket, remembered).await,
                Err(error) => Err(error.into()),
            };
            failure = checked.err().or(failure);
        }
        let settled = self.settle().await;
        let dropped = log.drop_excess(&verified);
        if dropped > 0 {
            warn!(
                dropped,
                "too many grants wait for the database; the oldest are no longer remembered by this process"
            );
            metrics.grants_dropped.inc_by(dropped as u64);
        }
        failure.map_or(settled, Err)
    }

    async fn check_bucket(
        &mut self,
        bucket: Bucket,
        loaded: LoadedGeneration,
        remembered: Vec<Generation>,
    ) -> Reply<()> {
        let LoadedGeneration { present, open } = loaded;
        let log = self.backend.grant_log();
        if open {
            self.closed.remove(&bucket);
        } else if self.closed.get(&bucket).is_none_or(|(generation, _)| *generation != present) {
            self.closed.insert(bucket, (present, log.calls_started()));
        }
        for from in remembered.into_iter().filter(|from| *from != present) {
            self.replay_bucket((bucket, from)).await?;
        }
        if let Some(&(_, calls)) = self.closed.get(&bucket)
            && log.have_ended(calls)
            && log.places().iter().all(|(other, generation)| *other != bucket || *generation == present)
        {
            announce(self.backend.master(), bucket, self.process, present).await?;
        }
        Ok(())
    }

    async fn replay_bucket(&self, (bucket, from): Place) -> Reply<()> {
        let log = self.backend.grant_log();
        let grants = log.grants((bucket, from));
        let mut forgotten = 0;
        for batch in grants.chunks(MAX_BATCH) {
            match self.backend.replay(bucket, batch).await? {
                Replayed::Forgotten(count, to) => {
                    forgotten += count;
                    log.reassign(bucket, from, to, batch.len());
                }
                Replayed::NotLoaded => return Ok(()),
            }
        }
        info!(%bucket, grants = grants.len(), forgotten, "replayed grants to a master that may have forgotten them");
        Ok(())
    }

    /// Writes grants straight to the database, because their bucket is gone from Redis and will not be loaded again.
    async fn hand_over(&self, bucket: Bucket, remembered: Vec<Generation>) -> anyhow::Result<()> {
        for generation in remembered {
            let log = self.backend.grant_log();
            for batch in log.grants((bucket, generation)).chunks(MAX_BATCH) {
                self.backend.persist(bucket, batch).await?;
                log.settle((bucket, generation), &vec![true; batch.len()]);
            }
        }
        Ok(())
    }

    /// Forgets grants that the database has.
    async fn settle(&self) -> anyhow::Result<()> {
        let log = self.backend.grant_log();
        for place in log.places() {
            let mut checked = 0;
            while checked < MAX_SETTLED_PER_CHECK {
                let grants = log.due(place, MAX_BATCH);
                if grants.is_empty() {
                    break;
                }
                let persisted = self.backend.are_persisted(place.0, &grants).await?;
                log.settle(place, &persisted);
                // If none of these has arrived, the following grants probably have not either.
                if !persisted.contains(&true) {
                    break;
                }
                checked += grants.len();
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replication_id_is_forty_hexadecimal_digits() {
        let text = "0123456789abcdef0123456789abcdef01234567";
        assert_eq!(text.parse::<ServerId>().unwrap().to_string(), text);
        for wrong in ["", "0123", &text[1..], &text.replace('a', "g"), &text.replace("ab", "é")] {
            assert!(wrong.parse::<ServerId>().is_err(), "{wrong}");
        }
    }
}
