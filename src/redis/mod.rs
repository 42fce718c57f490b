//! Redis: connections, key names, scripts, the short form of ids, and the replay of grants to a master that forgot them.

pub mod connection;
pub mod grant_log;
pub mod keys;
pub(crate) mod script;
pub mod short_id;

use redis::RedisError;

use crate::domain::claim::Unavailable;

impl From<RedisError> for Unavailable {
    fn from(error: RedisError) -> Self {
        Unavailable(error.to_string())
    }
}

/// The error for an answer that does not have the expected form.
pub(crate) fn malformed(what: &str) -> Unavailable {
    Unavailable(format!("Redis returned {what} in an unexpected form"))
}
