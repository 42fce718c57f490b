//! Starting and stopping: the first signal asks everybody to finish, the second or a deadline ends the process.

use std::future::Future;
use std::process::ExitCode;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::{error, info};

/// How long running work may take to finish once a stop was asked for. The contract promises ten seconds in all.
pub const STOP_WITHIN: Duration = Duration::from_secs(9);

/// The running parts of the process. One that fails, or ends without being asked to, takes all the others down.
pub struct Lifecycle {
    stop: CancellationToken,
    parts: JoinSet<(&'static str, anyhow::Result<()>)>,
}

impl Default for Lifecycle {
    fn default() -> Self {
        Lifecycle { stop: CancellationToken::new(), parts: JoinSet::new() }
    }
}

impl Lifecycle {
    /// Cancelled when the parts should finish what they hold and return.
    pub fn stop_token(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// Starts a part under the name by which logs will call it.
    pub fn spawn(&mut self, name: &'static str, part: impl Future<Output = anyhow::Result<()>> + Send + 'static) {
        self.parts.spawn(async move { (name, part.await) });
    }

    /// Starts a part that goes on until it is stopped, and cannot fail.
    pub fn keep<F>(&mut self, name: &'static str, part: impl FnOnce(CancellationToken) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let part = part(self.stop_token());
        self.spawn(name, async move {
            part.await;
            Ok(())
        });
    }

    /// Waits for a signal or for a part to fail, then for all parts to finish. The exit code is a failure if any
    /// part failed or did not finish in time.
    pub async fn run(mut self) -> ExitCode {
        let mut healthy = true;
        tokio::select! {
            () = signalled() => info!("stopping: finishing what is under way"),
            Some(ended) = self.parts.join_next() => healthy = self.report(ended),
        }
        self.stop.cancel();
        tokio::select! {
            finished = self.drain() => healthy &= finished,
            () = tokio::time::sleep(STOP_WITHIN) => {
                error!("not everything finished in time; ending anyway");
                healthy = false;
            }
            () = signalled() => {
                error!("second signal: ending at once");
                healthy = false;
            }
        }
        if healthy { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }

    async fn drain(&mut self) -> bool {
        let mut healthy = true;
        while let Some(ended) = self.parts.join_next().await {
            healthy &= self.report(ended);
        }
        healthy
    }

    fn report(&self, ended: Result<(&'static str, anyhow::Result<()>), tokio::task::JoinError>) -> bool {
        match ended {
            Ok((part, Ok(()))) if self.stop.is_cancelled() => {
                info!(part, "finished");
                true
            }
            Ok((part, Ok(()))) => {
                error!(part, "ended although nobody asked it to");
                false
            }
            Ok((part, Err(reason))) => {
                error!(part, reason = format!("{reason:#}"), "failed");
                false
            }
            Err(panic) => {
                error!(reason = %panic, "panicked");
                false
            }
        }
    }
}

/// Waits for the first signal to stop.
pub(crate) async fn signalled() {
    let (Ok(mut terminate), Ok(mut interrupt)) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}
