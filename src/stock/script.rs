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

    /// Sends a call. A server that does not know the script is told it first.
    pub async fn send(&self, call: &Cmd, link: &Link) -> RedisResult<Vec<Value>> {
        let mut link = link.clone();
        match call.query_async(&mut link).await {
            Err(error) if error.kind() == ErrorKind::Server(ServerErrorKind::NoScript) => {
                self.0.prepare_invoke().load_async(&mut link).await?;
                call.query_async(&mut link).await
            }
            answer => answer,
        }
    }
}
