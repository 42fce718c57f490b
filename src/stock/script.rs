//! A script that is called for every batch. Its words are written once, straight into the command.

use redis::{Cmd, ErrorKind, RedisResult, Script, ServerErrorKind, Value};

use super::link::Link;

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
    pub async fn send(&self, calls: Vec<Cmd>, link: &Link) -> RedisResult<Vec<RedisResult<Vec<Value>>>> {
        let mut link = link.clone();
        let mut answers = ask(&calls, &mut link).await?;
        let unknown: Vec<usize> = (0..answers.len()).filter(|&n| is_unknown(&answers[n])).collect();
        if !unknown.is_empty() {
            self.0.prepare_invoke().load_async(&mut link).await?;
            let calls: Vec<Cmd> = unknown.iter().map(|&n| calls[n].clone()).collect();
            for (n, answer) in unknown.into_iter().zip(ask(&calls, &mut link).await?) {
                answers[n] = answer;
            }
        }
        Ok(answers)
    }
}

async fn ask(calls: &[Cmd], link: &mut Link) -> RedisResult<Vec<RedisResult<Vec<Value>>>> {
    if let [call] = calls {
        return Ok(vec![call.query_async(link).await]);
    }
    let mut pipe = redis::pipe();
    for call in calls {
        pipe.add_command(call.clone());
    }
    pipe.ignore_errors().query_async(link).await
}

fn is_unknown(answer: &RedisResult<Vec<Value>>) -> bool {
    let unknown = ErrorKind::Server(ServerErrorKind::NoScript);
    answer.as_ref().is_err_and(|error| error.kind() == unknown)
}
