//! Reads facts and winners for the gate from Redis.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use prometheus_client::metrics::gauge::Gauge;
use redis::{AsyncCommands, Pipeline, RedisResult, Value};
use tokio::time::Instant;
use tracing::{info, warn};

use super::heartbeat::{HEARTBEAT_INTERVAL, Heartbeat, keeps_up};
use super::redis::holds_page;
use super::{FactSource, Facts, Reply, Unavailable, Winners};
use crate::redis::connection::RedisConnection;
use crate::redis::{keys, malformed, parse, parse_time};
use base::locked;
use domain::sale::SaleState;
use domain::{Bucket, SaleId, Window};

/// A replica that the gate left must keep up for this long before it is read again.
const RETURN_AFTER: Duration = Duration::from_secs(2);
/// Time-out for one bucket of a cluster, so that a slow bucket does not delay the others.
const BUCKET_TIMEOUT: Duration = Duration::from_secs(1);
/// A bucket whose server does not answer is not read again for this long.
const BUCKET_RETRY_INTERVAL: Duration = Duration::from_secs(3);

/// Reads facts from the first replica that answers and keeps up with the master, otherwise from the master. If a
/// replica fails or lags, the gate leaves it, and reads it again once it has kept up for [`RETURN_AFTER`].
pub struct RedisFacts {
    servers: Arc<Servers>,
    /// Buckets for which no server answered, and when that was.
    silent: Mutex<HashMap<Bucket, Instant>>,
}

/// The servers, and what is known about them.
struct Servers {
    replicas: Vec<Replica>,
    master: RedisConnection,
    heartbeat: Heartbeat,
    beating: AtomicBool,
    beat_at: Mutex<Option<Instant>>,
    /// Number of replicas that the gate does not read at present.
    left: Gauge,
}

struct Replica {
    name: String,
    connection: RedisConnection,
    state: Mutex<ReplicaState>,
}

#[derive(Default)]
struct ReplicaState {
    is_left: bool,
    /// Whether the replica was left because it lagged. It must then show that it has caught up.
    lagged: bool,
    /// Since when a replica that was left keeps up.
    keeps_up_since: Option<Instant>,
    checked_at: Option<Instant>,
}

impl RedisFacts {
    /// `replicas` have names and are tried in this order. `left` is set to the number of replicas that are not read.
    pub fn new(replicas: Vec<(String, RedisConnection)>, master: RedisConnection, left: Gauge) -> RedisFacts {
        let replicas = replicas
            .into_iter()
            .map(|(name, connection)| Replica { name, connection, state: Mutex::default() })
            .collect();
        let servers = Servers {
            replicas,
            master,
            heartbeat: Heartbeat::new(),
            beating: AtomicBool::new(false),
            beat_at: Mutex::new(None),
            left,
        };
        RedisFacts { servers: Arc::new(servers), silent: Mutex::default() }
    }

    /// The answers of one server. An error only if it has no answer at all: in a cluster some members may be down, and
    /// sales on the others go on.
    async fn read(&self, server: &RedisConnection, buckets: &[Bucket]) -> Reply<Answers> {
        if !server.is_cluster() {
            return Ok(server.each(buckets, ask_facts).await?);
        }
        let answers = server.each_within(BUCKET_TIMEOUT, buckets, ask_facts).await;
        match answers.iter().any(Result::is_ok) {
            true => Ok(answers),
            false => Err(answers.into_iter().find_map(Result::err).map_or_else(no_redis, Unavailable::from)),
        }
    }

    /// The buckets to read now, without buckets that did not answer within the last [`BUCKET_RETRY_INTERVAL`]. If no
    /// other bucket is left, all of them.
    fn answering(&self, buckets: &[Bucket]) -> Vec<Bucket> {
        let mut silent = locked(&self.silent);
        silent.retain(|_, at| at.elapsed() < BUCKET_RETRY_INTERVAL);
        if silent.len() >= buckets.len() {
            return buckets.to_vec();
        }
        buckets.iter().filter(|bucket| !silent.contains_key(bucket)).copied().collect()
    }

    /// Reads the buckets from a cluster's masters for which its replicas did not answer.
    async fn fill_in(&self, buckets: &[Bucket], answers: &mut Answers) {
        let missing: Vec<usize> = (0..answers.len()).filter(|&n| answers[n].is_err()).collect();
        let of_missing: Vec<Bucket> = missing.iter().map(|&n| buckets[n]).collect();
        let filled = self.servers.master.each_within(BUCKET_TIMEOUT, &of_missing, ask_facts).await;
        for (n, answer) in missing.into_iter().zip(filled) {
            answers[n] = answer;
        }
    }

    fn remember_silent(&self, buckets: &[Bucket], answers: &Answers) {
        let mut silent = locked(&self.silent);
        let failed = buckets.iter().zip(answers).filter(|(_, answer)| answer.is_err());
        silent.extend(failed.map(|(bucket, _)| (*bucket, Instant::now())));
    }
}

/// One answer per bucket.
type Answers = Vec<RedisResult<Vec<Value>>>;

fn no_redis() -> Unavailable {
    Unavailable("no Redis is configured".into())
}

#[async_trait]
impl FactSource for RedisFacts {
    async fn facts(&self, buckets: &[Bucket]) -> Reply<Vec<(SaleId, Facts)>> {
        if buckets.is_empty() {
            return Ok(Vec::new());
        }
        self.servers.beat_if_due();
        let buckets = &self.answering(buckets);
        for replica in self.servers.replicas.iter().filter(|replica| !locked(&replica.state).is_left) {
            let (answers, verdict) =
                tokio::join!(self.read(&replica.connection, buckets), self.servers.verdict_if_due(replica));
            match (answers, verdict) {
                (Ok(mut answers), Ok(true)) => {
                    if replica.connection.is_cluster() {
                        self.fill_in(buckets, &mut answers).await;
                    }
                    self.remember_silent(buckets, &answers);
                    return read_facts(buckets, &answers);
                }
                (Ok(_), Ok(false)) => self.servers.leave(replica, "it lags behind its master", true),
                (Err(error), _) => self.servers.leave(replica, &error.0, false),
                (_, Err(error)) => self.servers.leave(replica, &error.to_string(), false),
            }
        }
        let answers = self.read(&self.servers.master, buckets).await?;
        self.remember_silent(buckets, &answers);
        read_facts(buckets, &answers)
    }

    async fn winners(&self, buckets: &[Bucket]) -> Reply<Winners> {
        // Replicas of a cluster are left out: a list takes many calls, and each may reach a different replica.
        let replicas = self.servers.replicas.iter().filter(|replica| !locked(&replica.state).is_left);
        let replicas = replicas.map(|replica| &replica.connection).filter(|server| !server.is_cluster());
        let mut last = no_redis();
        for server in replicas.chain([&self.servers.master]) {
            match futures::future::try_join_all(buckets.iter().map(|bucket| winners_of(server, *bucket))).await {
                Ok(lists) => return Ok(lists.into_iter().reduce(Winners::and).unwrap_or_default()),
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}

impl Servers {
    /// Begins a heartbeat in the background, at most one at a time. It also checks the replicas that were left.
    fn beat_if_due(self: &Arc<Self>) {
        if self.replicas.is_empty() || self.beating.load(Ordering::Relaxed) {
            return;
        }
        let mut beat_at = locked(&self.beat_at);
        if beat_at.is_some_and(|at| at.elapsed() < HEARTBEAT_INTERVAL) || self.beating.swap(true, Ordering::Relaxed) {
            return;
        }
        *beat_at = Some(Instant::now());
        let servers = self.clone();
        tokio::spawn(async move {
            let left = servers.replicas.iter().filter(|replica| locked(&replica.state).is_left);
            let look_after = futures::future::join_all(left.map(|replica| servers.look_after(replica)));
            tokio::join!(servers.heartbeat.write(&servers.master), look_after);
            servers.beating.store(false, Ordering::Relaxed);
        });
    }

    /// Whether the replica keeps up. Always true between two checks.
    async fn verdict_if_due(&self, replica: &Replica) -> RedisResult<bool> {
        let expected = self.heartbeat.expected();
        let checked_at = locked(&replica.state).checked_at;
        if expected.is_empty() || checked_at.is_some_and(|at| at.elapsed() < HEARTBEAT_INTERVAL) {
            return Ok(true);
        }
        locked(&replica.state).checked_at = Some(Instant::now());
        // A time-out counts as keeping up, because reading the facts shows whether the replica is silent.
        tokio::time::timeout(BUCKET_TIMEOUT, keeps_up(&replica.connection, &expected)).await.unwrap_or(Ok(true))
    }

    fn leave(&self, replica: &Replica, reason: &str, lagged: bool) {
        let left = ReplicaState { is_left: true, lagged, ..ReplicaState::default() };
        if !std::mem::replace(&mut *locked(&replica.state), left).is_left {
            warn!(replica = replica.name, reason, "the gate leaves a replica and reads from another server");
            self.count_left();
        }
        // Sentinels may know another replica.
        replica.connection.reconnect();
    }

    async fn look_after(&self, replica: &Replica) {
        let expected = self.heartbeat.expected();
        let keeps_up = keeps_up(&replica.connection, &expected).await;
        let mut state = locked(&replica.state);
        state.lagged |= matches!(keeps_up, Ok(false));
        // If the master takes no heartbeats, nothing shows that a replica has caught up.
        let unknown = state.lagged && expected.is_empty();
        if unknown || !keeps_up.unwrap_or(false) {
            state.keeps_up_since = None;
        } else if state.keeps_up_since.get_or_insert_with(Instant::now).elapsed() >= RETURN_AFTER {
            *state = ReplicaState::default();
            drop(state);
            info!(replica = replica.name, "the gate reads from the replica again: it keeps up with its master");
            self.count_left();
        }
    }

    fn count_left(&self) {
        self.left.set(self.replicas.iter().filter(|replica| locked(&replica.state).is_left).count() as i64);
    }
}

/// The list is trusted only together with facts of the same `granted`, so `granted` is read first, and from the same
/// server.
async fn winners_of(server: &RedisConnection, bucket: Bucket) -> Reply<Winners> {
    let incarnation = server.incarnation();
    let granted: Option<i64> = server.clone().hget(keys::hash(bucket), "Granted").await?;
    let mut users = Vec::new();
    let mut cursor = 0;
    loop {
        let page = holds_page(server, bucket, cursor).await?;
        users.extend(page.holds.into_iter().map(|(user, _)| user));
        if page.next == 0 {
            break;
        }
        cursor = page.next;
    }
    // If we failed over mid-scan, the pages come from two servers and the list may have holes.
    if server.incarnation() != incarnation {
        return Err(Unavailable("the server has changed while the winners were read".into()));
    }
    let granted = granted.ok_or_else(|| Unavailable("the sale is not loaded".into()))?;
    Ok(Winners { users, granted })
}

fn ask_facts(pipe: &mut Pipeline, bucket: Bucket) -> &mut Pipeline {
    pipe.mget(&[keys::start(bucket), keys::access(bucket), keys::count(bucket)]);
    pipe.hmget(
        keys::hash(bucket),
        &["Version", "State", "Opens", "Closes", "Booked", "Limit", "Granted", "Whole", "Server", "Waited"],
    )
}

/// Adds up the buckets of each sale. State, window and total come from the bucket with the newest definition.
fn read_facts(buckets: &[Bucket], answers: &[RedisResult<Vec<Value>>]) -> Reply<Vec<(SaleId, Facts)>> {
    let mut all: Vec<(SaleId, i64, Facts)> = Vec::with_capacity(buckets.len());
    for (bucket, answer) in buckets.iter().zip(answers) {
        let Ok(answer) = answer else { continue };
        let [flags, hash] = answer.as_slice() else { return Err(malformed("facts")) };
        let flags: Vec<Option<i64>> = parse(flags, "flags")?;
        let hash: Vec<Option<String>> = parse(hash, "a sale")?;
        let (Some(id), Some((version, mut facts))) = (bucket.sale(), read_one(&flags, &hash)) else { continue };
        match all.last_mut().filter(|(sale, ..)| *sale == id) {
            Some((_, newest, together)) if version > *newest => {
                facts.add(together);
                (*newest, *together) = (version, facts);
            }
            Some((_, _, together)) => together.add(&facts),
            None => all.push((id, version, facts)),
        }
    }
    Ok(all.into_iter().map(|(sale, _, facts)| (sale, facts)).collect())
}

/// The facts of one bucket and the version of its definition; `None` when it is not loaded.
fn read_one(flags: &[Option<i64>], hash: &[Option<String>]) -> Option<(i64, Facts)> {
    let &[start, access, Some(share)] = flags else { return None };
    let [Some(version), Some(state), Some(opens), Some(closes), numbers @ ..] = hash else { return None };
    let [Some(booked), Some(limit), Some(granted), whole, server, waited] = numbers else { return None };
    let state: SaleState = state.parse().unwrap_or(SaleState::Paused);
    // The start flag overrules the state. With an empty `Server`, the sale was loaded again and no server may grant
    // yet.
    let closed = start != Some(1) || server.as_ref().is_some_and(String::is_empty);
    let state = if state == SaleState::Live && closed { SaleState::Paused } else { state };
    let facts = Facts {
        state,
        window: Window { opens_at: parse_time(opens), closes_at: parse_time(closes) },
        total: whole.as_ref().map_or(Some(share), |whole| whole.parse().ok())?,
        booked: booked.parse().ok()?,
        access: access.unwrap_or(0),
        granted: granted.parse().ok()?,
        per_user_limit: limit.parse().ok()?,
        waited_units: waited.as_ref().map_or(Some(0), |units| units.parse().ok())?,
    };
    Some((version.parse().ok()?, facts))
}
