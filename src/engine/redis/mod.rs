//! Redis: connections that follow the master, key names, scripts, the short form of ids, and the replay of grants to a
//! master that forgot them.

mod cluster;
pub mod connection;
pub mod grant_log;
pub mod keys;
pub mod replay;
mod server;

use jiff::Timestamp;
use redis::{
    Cmd, ErrorKind, FromRedisValue, Pipeline, RedisError, RedisResult, Script, ServerErrorKind, Value,
    from_redis_value_ref,
};

use crate::batching::{Reply, Unavailable};
use crate::redis::connection::RedisConnection;

impl From<RedisError> for Unavailable {
    fn from(error: RedisError) -> Self {
        Unavailable(error.to_string())
    }
}

/// Reads a part of an answer. `what` names it in the error.
pub fn parse<T: FromRedisValue>(value: &Value, what: &str) -> Reply<T> {
    from_redis_value_ref(value).map_err(|_| malformed(what))
}

/// Milliseconds since the epoch, as the scripts write them.
pub(crate) fn parse_time(text: &str) -> Option<Timestamp> {
    Timestamp::from_millisecond(text.parse().ok()?).ok()
}

/// The error for an answer that does not have the expected form.
pub fn malformed(what: &str) -> Unavailable {
    Unavailable(format!("Redis returned {what} in an unexpected form"))
}

// Scripts that are called for every batch. Arguments are written straight into the command, without intermediate copies.

/// A Lua script, called by its hash.
pub struct HotScript(Script);

impl HotScript {
    pub fn new(source: &str) -> HotScript {
        HotScript(Script::new(source))
    }

    /// Begins a call; the caller appends ARGV.
    pub fn call(&self, keys: &[String]) -> Cmd {
        let mut call = redis::cmd("EVALSHA");
        call.arg(self.0.get_hash()).arg(keys.len()).arg(keys);
        call
    }

    /// Sends calls; to a cluster, send one call at a time. Returns a result per call. If the connection fails, each call
    /// has its error, and it is unknown which of them were executed. If the server does not know the script, it is
    /// loaded, and the unanswered calls are sent again.
    pub async fn send(&self, calls: Vec<Cmd>, connection: &RedisConnection) -> Vec<RedisResult<Vec<Value>>> {
        let (pipe, mut connection) = (pipeline(calls), connection.clone());
        let mut answers = match ask(&pipe, &mut connection).await {
            Ok(answers) => answers,
            Err(error) => return vec![Err(error); pipe.len()],
        };
        let unknown: Vec<usize> = (0..answers.len()).filter(|&n| is_unknown(&answers[n])).collect();
        if !unknown.is_empty() && self.0.prepare_invoke().load_async(&mut connection).await.is_ok() {
            let calls = pipe.cmd_iter().zip(&answers).filter(|(_, answer)| is_unknown(answer));
            let again = ask(&pipeline(calls.map(|(call, _)| call.clone())), &mut connection).await;
            // Answers to the first attempt stand, even if the second attempt fails.
            match again {
                Ok(again) => unknown.into_iter().zip(again).for_each(|(n, answer)| answers[n] = answer),
                Err(error) => unknown.into_iter().for_each(|n| answers[n] = Err(error.clone())),
            }
        }
        answers
    }
}

fn pipeline(calls: impl IntoIterator<Item = Cmd>) -> Pipeline {
    let mut pipe = redis::pipe();
    for call in calls {
        pipe.add_command(call);
    }
    pipe.ignore_errors();
    pipe
}

async fn ask(pipe: &Pipeline, connection: &mut RedisConnection) -> RedisResult<Vec<RedisResult<Vec<Value>>>> {
    let mut calls = pipe.cmd_iter();
    match (calls.next(), calls.next()) {
        // A single call is sent as a command, because the client follows a cluster's redirections for commands but not
        // for pipelines.
        (Some(call), None) => Ok(vec![call.query_async(connection).await]),
        _ => pipe.query_async(connection).await,
    }
}

fn is_unknown(answer: &RedisResult<Vec<Value>>) -> bool {
    let unknown = ErrorKind::Server(ServerErrorKind::NoScript);
    answer.as_ref().is_err_and(|error| error.kind() == unknown)
}
