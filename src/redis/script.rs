//! A script that is called for every batch. Its words are written once, straight into the command.

use redis::{Cmd, ErrorKind, Pipeline, RedisResult, Script, ServerErrorKind, Value};

use crate::redis::connection::RedisConnection;

/// A script under its hash.
pub struct HotScript(Script);

impl HotScript {
    pub fn new(source: &str) -> HotScript {
        HotScript(Script::new(source))
    }

    /// A call, to which the arguments are added.
    pub fn call(&self, keys: &[String]) -> Cmd {
        let mut call = redis::cmd("EVALSHA");
        call.arg(self.0.get_hash()).arg(keys.len()).arg(keys);
        call
    }

    /// Sends calls, of which in a cluster there may be but one. An answer for each; without any the connection has failed,
    /// and nobody knows what was carried out. A server that does not know the script is told it, and asked again what it
    /// has not answered.
    pub async fn send(&self, calls: Vec<Cmd>, link: &RedisConnection) -> RedisResult<Vec<RedisResult<Vec<Value>>>> {
        let (pipe, mut link) = (piped(calls), link.clone());
        let mut answers = ask(&pipe, &mut link).await?;
        let unknown: Vec<usize> = (0..answers.len()).filter(|&n| is_unknown(&answers[n])).collect();
        if !unknown.is_empty() && self.0.prepare_invoke().load_async(&mut link).await.is_ok() {
            let calls = pipe.cmd_iter().zip(&answers).filter(|(_, answer)| is_unknown(answer));
            let again = ask(&piped(calls.map(|(call, _)| call.clone())), &mut link).await;
            // What was answered the first time stands, whatever becomes of the rest.
            match again {
                Ok(again) => unknown.into_iter().zip(again).for_each(|(n, answer)| answers[n] = answer),
                Err(error) => unknown.into_iter().for_each(|n| answers[n] = Err(error.clone())),
            }
        }
        Ok(answers)
    }
}

fn piped(calls: impl IntoIterator<Item = Cmd>) -> Pipeline {
    let mut pipe = redis::pipe();
    for call in calls {
        pipe.add_command(call);
    }
    pipe.ignore_errors();
    pipe
}

async fn ask(pipe: &Pipeline, link: &mut RedisConnection) -> RedisResult<Vec<RedisResult<Vec<Value>>>> {
    let mut calls = pipe.cmd_iter();
    match (calls.next(), calls.next()) {
        // Only a single command is led to where a cluster has moved its keys.
        (Some(call), None) => Ok(vec![call.query_async(link).await]),
        _ => pipe.query_async(link).await,
    }
}

fn is_unknown(answer: &RedisResult<Vec<Value>>) -> bool {
    let unknown = ErrorKind::Server(ServerErrorKind::NoScript);
    answer.as_ref().is_err_and(|error| error.kind() == unknown)
}
