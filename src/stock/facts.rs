//! Reads facts and winners for the gate from Redis.

use async_trait::async_trait;
use redis::{Pipeline, RedisError, Value};

use super::redis::holds_page;
use super::{FactSource, Facts, Unavailable};
use crate::domain::sale::SaleState;
use crate::domain::{Bucket, SaleId, UserId, Window};
use crate::redis::connection::RedisConnection;
use crate::redis::{keys, malformed, parse, parse_time};

/// Reads facts from the first server that answers: the replicas, then the master.
pub struct RedisFacts {
    servers: Vec<RedisConnection>,
}

impl RedisFacts {
    pub fn new(servers: Vec<RedisConnection>) -> RedisFacts {
        RedisFacts { servers }
    }
}

#[async_trait]
impl FactSource for RedisFacts {
    async fn facts(&self, buckets: &[Bucket]) -> Result<Vec<(SaleId, Facts)>, Unavailable> {
        if buckets.is_empty() {
            return Ok(Vec::new());
        }
        let mut last = Unavailable("no Redis is configured".into());
        for server in &self.servers {
            match server.each(buckets, ask_facts).await {
                // Some nodes of a cluster may be down; sales on the others go on.
                Ok(answers) if answers.iter().any(Result::is_ok) => return read_facts(buckets, &answers),
                Ok(answers) => last = answers.into_iter().find_map(Result::err).map_or(last, Unavailable::from),
                Err(error) => last = error.into(),
            }
        }
        Err(last)
    }

    async fn winners(&self, bucket: Bucket) -> Result<Vec<UserId>, Unavailable> {
        // A list takes many calls, each of which may reach a different replica of a cluster, older than the facts.
        let servers = match self.servers.as_slice() {
            [.., masters] if masters.is_cluster() => std::slice::from_ref(masters),
            servers => servers,
        };
        let mut last = Unavailable("no Redis is configured".into());
        for server in servers {
            match holders(server, bucket).await {
                Ok(users) => return Ok(users),
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}

async fn holders(server: &RedisConnection, bucket: Bucket) -> Result<Vec<UserId>, Unavailable> {
    let mut users = Vec::new();
    let mut cursor = 0;
    loop {
        let (next, page) = holds_page(server, bucket, cursor).await?;
        users.extend(page.into_iter().map(|(user, _)| user));
        if next == 0 {
            return Ok(users);
        }
        cursor = next;
    }
}

fn ask_facts(pipe: &mut Pipeline, bucket: Bucket) -> &mut Pipeline {
    pipe.mget(&[keys::start(bucket), keys::access(bucket), keys::count(bucket)]);
    pipe.hmget(
        keys::hash(bucket),
        &["Version", "State", "Opens", "Closes", "Booked", "Limit", "Granted", "Whole", "Server"],
    )
}

/// Adds up the buckets of each sale. State, window and total are those of the bucket with the newest definition.
fn read_facts(
    buckets: &[Bucket],
    answers: &[Result<Vec<Value>, RedisError>],
) -> Result<Vec<(SaleId, Facts)>, Unavailable> {
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
    let [
        Some(version),
        Some(state),
        Some(opens),
        Some(closes),
        Some(booked),
        Some(limit),
        Some(granted),
        whole,
        server,
    ] = hash
    else {
        return None;
    };
    let state: SaleState = state.parse().unwrap_or(SaleState::Paused);
    // The start flag overrules the state. A sale that was loaded again grants nothing until a server may.
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
    };
    Some((version.parse().ok()?, facts))
}
