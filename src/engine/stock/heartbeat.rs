//! Checks whether a replica keeps up with its master.
//!
//! Every process that reads facts writes a heartbeat to the master: an increasing number under a key of its own. A
//! replica that still lacks a number which the master took [`MAX_LAG`] ago is stale. Clocks of other hosts do not
//! matter. If the master takes no heartbeats, replicas are not judged, because it is unknown what they should have.

use std::collections::VecDeque;
use std::ops::RangeInclusive;
use std::sync::Mutex;
use std::time::Duration;

use boxed::boxed;
use futures::future::join_all;
use redis::{AsyncCommands, RedisResult, Value};
use tokio::time::Instant;
use uuid::Uuid;

use crate::health::{ClockOffset, server_time};
use crate::redis::connection::RedisConnection;
use crate::redis::keys;
use crate::stock::load::StockCounters;
use crate::stock::redis::RedisStock;
use base::clock::Clock;
use base::locked;
use domain::{Bucket, Sale};

/// How often the heartbeat is written to the master, and how often a replica is checked for it.
pub(super) const HEARTBEAT_INTERVAL: Duration = Duration::from_millis(500);
/// A replica may lag this much. Pauses of a healthy replication are shorter, and a sale lasts much longer.
pub(super) const MAX_LAG: Duration = Duration::from_secs(3);
/// After a longer gap between two heartbeats, older ones are not expected on a replica any more: the master was away or
/// has lost data, or this process stood still.
const MAX_GAP: Duration = Duration::from_secs(2);
/// Expiry of the keys, which removes the keys of processes that have ended.
const EXPIRY_SECONDS: u64 = 60;
/// Time-out of a write, so that a silent master of a cluster does not delay the next number for the others.
const WRITE_TIMEOUT: Duration = Duration::from_secs(1);

/// The heartbeat of this process.
pub(super) struct Heartbeat {
    process: String,
    state: Mutex<State>,
}

struct State {
    /// The last number written.
    number: u64,
    /// One key per master.
    keys: Vec<HeartbeatKey>,
}

struct HeartbeatKey {
    name: String,
    /// The numbers that the master took, with the time of its answer, oldest first.
    taken: VecDeque<(Instant, u64)>,
}

/// The numbers that a replica must have, by key.
pub(super) type Expected = Vec<(String, u64)>;

impl Heartbeat {
    pub(super) fn new() -> Heartbeat {
        let state = State { number: 0, keys: Vec::new() };
        Heartbeat { process: Uuid::new_v4().simple().to_string(), state: Mutex::new(state) }
    }

    /// Writes the next number to every master.
    pub(super) async fn write(&self, master: &RedisConnection) {
        self.choose_keys(master);
        let (number, names): (u64, Vec<String>) = {
            let mut state = locked(&self.state);
            state.number += 1;
            (state.number, state.keys.iter().map(|key| key.name.clone()).collect())
        };
        let written = join_all(names.iter().map(async |name| {
            let mut set = redis::cmd("SET");
            set.arg(name).arg(number).arg("EX").arg(EXPIRY_SECONDS);
            let done = tokio::time::timeout(WRITE_TIMEOUT, set.query_async::<Value>(&mut master.clone())).await;
            done.is_ok_and(|done| done.is_ok()).then(Instant::now)
        }));
        for (name, at) in names.iter().zip(written.await) {
            let mut state = locked(&self.state);
            if let (Some(key), Some(at)) = (state.keys.iter_mut().find(|key| key.name == *name), at) {
                key.record(at, number);
            }
        }
    }

    /// Takes a key for every master of a cluster. A single server needs one.
    fn choose_keys(&self, master: &RedisConnection) {
        let names: Vec<String> = match master {
            RedisConnection::Cluster(servers) => {
                servers.ranges_of_masters().iter().map(|slots| keys::heartbeat(&self.process, tag(slots))).collect()
            }
            _ => vec![keys::heartbeat(&self.process, None)],
        };
        let mut state = locked(&self.state);
        state.keys.retain(|key| names.contains(&key.name));
        for name in names {
            if state.keys.iter().all(|key| key.name != name) {
                state.keys.push(HeartbeatKey { name, taken: VecDeque::new() });
            }
        }
    }

    /// The numbers that a replica must have by now. Empty as long as nothing is known.
    pub(super) fn expected(&self) -> Expected {
        let now = Instant::now();
        let state = locked(&self.state);
        state.keys.iter().filter_map(|key| Some((key.name.clone(), key.expected(now)?))).collect()
    }
}

/// Whether a server has all numbers that it must have. An error if a number cannot be read; in a cluster, where other
/// servers may answer, only if none can be read.
pub(super) async fn keeps_up(server: &RedisConnection, expected: &Expected) -> RedisResult<bool> {
    let read = join_all(expected.iter().map(async |(name, least)| {
        let number: Option<u64> = redis::cmd("GET").arg(name).query_async(&mut server.clone()).await?;
        Ok(number.unwrap_or(0) >= *least)
    }));
    let read: Vec<RedisResult<bool>> = read.await;
    if read.contains(&Ok(false)) {
        return Ok(false);
    }
    if expected.is_empty() {
        return redis::cmd("PING").query_async::<()>(&mut server.clone()).await.map(|()| true);
    }
    match read.iter().any(Result::is_ok) {
        true => Ok(true),
        false => read.into_iter().next().unwrap_or(Ok(true)),
    }
}

impl HeartbeatKey {
    fn record(&mut self, at: Instant, number: u64) {
        if self.taken.back().is_some_and(|(last, _)| at - *last > MAX_GAP) {
            self.taken.clear();
        }
        self.taken.push_back((at, number));
        // Only the newest number that is old enough is expected, so older ones are dropped.
        while self.taken.get(1).is_some_and(|(next, _)| at - *next >= MAX_LAG) {
            self.taken.pop_front();
        }
    }

    fn expected(&self, now: Instant) -> Option<u64> {
        let (last, _) = self.taken.back()?;
        if now - *last > MAX_GAP {
            return None;
        }
        self.taken.iter().rev().find(|(at, _)| now - *at >= MAX_LAG).map(|(_, number)| *number)
    }
}

/// A hash tag with one of these slots.
fn tag(slots: &RangeInclusive<u16>) -> Option<u32> {
    (0..).find(|tag: &u32| slots.contains(&keys::slot(&tag.to_string())))
}

// Reads the state of one sale from every Redis server, for the checklist before its start.

/// A server that takes longer counts as not answering.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// What the servers answered; `None` for a server that did not answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProbeReport {
    /// The sale's counters on the master; the inner `None` if the sale is not loaded.
    pub master: Option<Option<StockCounters>>,
    /// The version of the sale on each replica; the inner `None` if the sale is not loaded there.
    pub replicas: Vec<Option<Option<i64>>>,
    /// How far the master's clock is ahead of this host's, in milliseconds.
    pub clock_ahead_ms: Option<i64>,
}

/// Probes the master and its replicas.
#[derive(Clone)]
pub struct RedisProbe {
    master: RedisStock,
    replicas: Vec<RedisConnection>,
    clock: Clock,
}

#[boxed]
impl RedisProbe {
    pub fn new(master: RedisStock, replicas: Vec<RedisConnection>, clock: Clock) -> RedisProbe {
        RedisProbe { master, replicas, clock }
    }

    pub async fn read(&self, sale: &Sale) -> ProbeReport {
        let buckets: Vec<Bucket> = Bucket::of_sale(sale).collect();
        let master = async {
            let survey = tokio::time::timeout(ANSWER_TIMEOUT, self.master.survey(&buckets)).await.ok()?.ok()?;
            Some(StockCounters::of_sale(&survey))
        };
        let replicas = futures::future::join_all(self.replicas.iter().map(|replica| async {
            let versions = buckets.iter().map(|bucket| async {
                replica.clone().hget::<_, _, Option<i64>>(keys::hash(*bucket), "Version").await
            });
            let versions = futures::future::try_join_all(versions);
            // The oldest version counts; `None` sorts first.
            tokio::time::timeout(ANSWER_TIMEOUT, versions).await.ok()?.ok()?.into_iter().min()
        }));
        let clock = async { tokio::time::timeout(ANSWER_TIMEOUT, self.clock_ahead()).await.ok().flatten() };
        let (master, replicas, clock_ahead_ms) = tokio::join!(master, replicas, clock);
        ProbeReport { master, replicas, clock_ahead_ms }
    }

    /// How far the master's clock is ahead of this host's.
    async fn clock_ahead(&self) -> Option<i64> {
        let offset = ClockOffset::measure(&self.clock, server_time(&self.master.connection())).await.ok()?;
        Some((-offset.seconds * 1e3).round() as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(taken: &[(u64, u64)], start: Instant) -> HeartbeatKey {
        let mut key = HeartbeatKey { name: "key".into(), taken: VecDeque::new() };
        taken.iter().for_each(|(ms, number)| key.record(start + Duration::from_millis(*ms), *number));
        key
    }

    #[test]
    fn number_is_expected_once_it_is_old_enough() {
        let start = Instant::now();
        let every_half_second: Vec<(u64, u64)> = (0..20).map(|n| (500 * n, n)).collect();
        let key = key(&every_half_second, start);
        let at = |ms| key.expected(start + Duration::from_millis(ms));
        assert_eq!(at(9_500), Some(13), "the newest that is three seconds old");
        assert_eq!(at(10_000), Some(14));
        assert_eq!(at(11_600), None, "the master has been silent for too long to judge");
    }

    #[test]
    fn pause_of_the_master_or_of_this_process_starts_anew() {
        let start = Instant::now();
        let key = key(&[(0, 1), (500, 2), (10_000, 3), (10_500, 4)], start);
        assert_eq!(key.expected(start + Duration::from_millis(11_000)), None);
        assert_eq!(key.taken.len(), 2);
    }
}
