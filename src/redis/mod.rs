//! Redis: connections, key names, scripts, ids as Redis keeps them, and the replay of grants to a master that forgot them.

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

/// An answer that no script of ours gives.
pub(crate) fn malformed(what: &str) -> Unavailable {
    Unavailable(format!("Redis answered {what} in a way that makes no sense"))
}
