//! Asks Redis Sentinels which server is the master at present, and which are its replicas.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rand::seq::IndexedRandom;
use redis::{
    AsyncConnectionConfig, Client, Cmd, ConnectionInfo, ErrorKind, FromRedisValue, RedisConnectionInfo, RedisError,
    RedisResult,
};
use secrecy::ExposeSecret;

use super::connection;
use base::config::SentinelAddress;

/// If a Sentinel takes longer, the next one is asked.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(500);

/// The Sentinels of one service. Clones share `turn`.
#[derive(Clone)]
pub(super) struct Sentinels {
    address: Arc<SentinelAddress>,
    /// The Sentinel to ask first. It advances with every question, so that a Sentinel that is cut off from the others
    /// does not give every answer.
    turn: Arc<AtomicUsize>,
}

impl Sentinels {
    pub(super) fn new(address: SentinelAddress) -> Sentinels {
        Sentinels { address: Arc::new(address), turn: Arc::default() }
    }

    pub(super) fn db(&self) -> i64 {
        self.address.db
    }

    /// The server that the Sentinels take for the master. During a failover it may not be the master yet, or not any
    /// more.
    pub(super) async fn master(&self) -> RedisResult<ConnectionInfo> {
        let mut question = redis::cmd("SENTINEL");
        question.arg("get-master-addr-by-name").arg(&self.address.service);
        match self.ask::<Option<(String, u16)>>(&question).await? {
            Some(address) => self.server(address),
            None => Err(self.error("no Sentinel knows the service")),
        }
    }

    /// One of the replicas that are up and linked to the master, at random.
    pub(super) async fn replica(&self) -> RedisResult<ConnectionInfo> {
        let mut question = redis::cmd("SENTINEL");
        question.arg("replicas").arg(&self.address.service);
        let replicas: Vec<HashMap<String, String>> = self.ask(&question).await?;
        let usable: Vec<(String, u16)> = replicas.iter().filter_map(usable_address).collect();
        match usable.choose(&mut rand::rng()) {
            Some(address) => self.server(address.clone()),
            None => Err(self.error("the Sentinels know no replica that is up")),
        }
    }

    /// The first answer that a Sentinel gives.
    async fn ask<T: FromRedisValue>(&self, question: &Cmd) -> RedisResult<T> {
        let sentinels = &self.address.sentinels;
        let first = self.turn.fetch_add(1, Ordering::Relaxed);
        let mut last = self.error("no Sentinel answers");
        for n in 0..sentinels.len() {
            let sentinel = &sentinels[(first.wrapping_add(n)) % sentinels.len()];
            match tokio::time::timeout(ANSWER_TIMEOUT, self.ask_one(sentinel, question)).await {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(error)) => last = error,
                Err(_) => {}
            }
        }
        Err(last)
    }

    async fn ask_one<T: FromRedisValue>(&self, sentinel: &(String, u16), question: &Cmd) -> RedisResult<T> {
        let (host, port) = sentinel.clone();
        let info = connection::address(host, port, self.address.tls.as_ref())?;
        match ask(info.clone(), question).await {
            Err(error) if error.code() == Some("NOAUTH") => ask(info.set_redis_settings(self.login()), question).await,
            answer => answer,
        }
    }

    fn login(&self) -> RedisConnectionInfo {
        let mut settings = RedisConnectionInfo::default();
        if let Some(username) = &self.address.username {
            settings = settings.set_username(username);
        }
        match &self.address.password {
            Some(password) => settings.set_password(password.expose_secret()),
            None => settings,
        }
    }

    fn server(&self, (host, port): (String, u16)) -> RedisResult<ConnectionInfo> {
        let info = connection::address(host, port, self.address.tls.as_ref())?;
        Ok(info.set_redis_settings(self.login().set_db(self.address.db)))
    }

    fn error(&self, what: &'static str) -> RedisError {
        (ErrorKind::Io, what, self.address.service.clone()).into()
    }
}

async fn ask<T: FromRedisValue>(sentinel: ConnectionInfo, question: &Cmd) -> RedisResult<T> {
    let config = AsyncConnectionConfig::new().set_connection_timeout(Some(ANSWER_TIMEOUT));
    let mut connection = Client::open(sentinel)?.get_multiplexed_async_connection_with_config(&config).await?;
    question.query_async(&mut connection).await
}

/// The address of a replica that a Sentinel describes; `None` when it is down or has lost its master.
fn usable_address(replica: &HashMap<String, String>) -> Option<(String, u16)> {
    let flags = replica.get("flags")?;
    let down = ["s_down", "o_down", "disconnected"].iter().any(|flag| flags.contains(flag));
    let linked = replica.get("master-link-status").is_some_and(|status| status == "ok");
    if down || !linked {
        return None;
    }
    Some((replica.get("ip")?.clone(), replica.get("port")?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replicas_that_are_down_or_not_linked_are_not_used() {
        let replica = |flags: &str, link: &str| {
            let fields = [("ip", "10.0.0.1"), ("port", "6379"), ("flags", flags), ("master-link-status", link)];
            usable_address(&fields.map(|(name, value)| (name.to_owned(), value.to_owned())).into())
        };
        assert_eq!(replica("slave", "ok"), Some(("10.0.0.1".to_owned(), 6379)));
        assert_eq!(replica("slave", "err"), None);
        assert_eq!(replica("s_down,slave,disconnected", "ok"), None);
        assert_eq!(usable_address(&HashMap::new()), None);
    }
}
