//! Replays remembered grants to a master that may have forgotten them, announces the replay to data control, and
//! forgets grants that the database has.
//!
//! A master with an unknown history grants nothing ([`super::generation`]). Each check of this process finds such
//! buckets and sends the remembered grants. It also waits for the answers to earlier calls, because they may contain
//! grants of the old history. Then it announces itself. The backend's script changes nothing about grants that
//! survived; it grants the others again and appends them to the outbox.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::time::Duration;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::connection::RedisConnection;
use super::generation::{self, Generation, LoadedGeneration};
use super::grant_log::GrantFiles;
use super::grant_log::{GrantLog, Place};
use crate::batching::Unavailable;
use base::metrics::Metrics;
use base::periodic::Periodic;
use domain::Bucket;

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
    async fn replay(&self, bucket: Bucket, grants: &[Self::Grant]) -> Result<Replayed, Unavailable>;

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
        let found = generation::generations(self.backend.master(), &buckets).await?;
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
    ) -> Result<(), Unavailable> {
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
            generation::announce(self.backend.master(), bucket, self.process, present).await?;
        }
        Ok(())
    }

    async fn replay_bucket(&self, (bucket, from): Place) -> Result<(), Unavailable> {
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
