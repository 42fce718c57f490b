//! Redis: connections that follow the master, key names, scripts, the short form of ids, and the replay of grants to a master that forgot them.

mod cluster;
pub mod connection;
pub mod generation;
pub mod grant_file;
pub mod grant_log;
pub mod keys;
pub mod replay;
pub mod script;
mod sentinel;
mod server;
pub mod short_id;
mod tls;

use jiff::Timestamp;
use redis::{FromRedisValue, RedisError, Value, from_redis_value_ref};

use crate::batching::Unavailable;

impl From<RedisError> for Unavailable {
    fn from(error: RedisError) -> Self {
        Unavailable(error.to_string())
    }
}

/// Reads a part of an answer. `what` names it in the error.
pub fn parse<T: FromRedisValue>(value: &Value, what: &str) -> Result<T, Unavailable> {
    from_redis_value_ref(value).map_err(|_| malformed(what))
}

/// Milliseconds since the epoch, as the scripts write them.
pub fn parse_time(text: &str) -> Option<Timestamp> {
    Timestamp::from_millisecond(text.parse().ok()?).ok()
}

/// The error for an answer that does not have the expected form.
pub fn malformed(what: &str) -> Unavailable {
    Unavailable(format!("Redis returned {what} in an unexpected form"))
}
