//! Starting and stopping the process: the first signal asks all tasks to finish, a second signal or a deadline ends the
//! process at once.

use std::future::Future;
use std::process::ExitCode;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::{error, info};

/// How long tasks may take to finish after a stop was requested. The contract promises ten seconds for the whole
/// shutdown.
pub const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(9);

/// The running tasks of the process. A task that fails, or ends before a stop was requested, stops all the others.
#[derive(Default)]
pub struct Lifecycle {
    stop: CancellationToken,
    tasks: JoinSet<(&'static str, anyhow::Result<()>)>,
}

impl Lifecycle {
    /// The token that is cancelled when tasks should finish their current work and return.
    pub fn stop_token(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// Starts a task. `name` identifies it in the logs.
    pub fn spawn(&mut self, name: &'static str, task: impl Future<Output = anyhow::Result<()>> + Send + 'static) {
        self.tasks.spawn(async move { (name, task.await) });
    }

    /// Starts a task that runs until the token is cancelled and cannot fail.
    pub fn spawn_loop<F>(&mut self, name: &'static str, task: impl FnOnce(CancellationToken) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let task = task(self.stop_token());
        self.spawn(name, async move {
            task.await;
            Ok(())
        });
    }

    /// Waits for a signal or for a task to end, then for all tasks to finish. The exit code is a failure if a task
    /// failed or did not finish in time.
    pub async fn run(mut self) -> ExitCode {
        let mut healthy = true;
        tokio::select! {
            () = signalled() => info!("signal received; waiting for tasks to finish"),
            Some(ended) = self.tasks.join_next() => healthy = self.report(ended),
        }
        self.stop.cancel();
        tokio::select! {
            finished = self.drain() => healthy &= finished,
            () = tokio::time::sleep(SHUTDOWN_TIMEOUT) => {
                error!("shutdown timed out; ending the process with tasks still running");
                healthy = false;
            }
            () = signalled() => {
                error!("second signal received; ending the process at once");
                healthy = false;
            }
        }
        if healthy { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }

    async fn drain(&mut self) -> bool {
        let mut healthy = true;
        while let Some(ended) = self.tasks.join_next().await {
            healthy &= self.report(ended);
        }
        healthy
    }

    fn report(&self, ended: Result<(&'static str, anyhow::Result<()>), tokio::task::JoinError>) -> bool {
        match ended {
            Ok((task, Ok(()))) if self.stop.is_cancelled() => {
                info!(task, "task finished");
                true
            }
            Ok((task, Ok(()))) => {
                error!(task, "task ended unexpectedly; stopping the process");
                false
            }
            Ok((task, Err(reason))) => {
                error!(task, reason = format!("{reason:#}"), "task failed; stopping the process");
                false
            }
            Err(panic) => {
                error!(reason = %panic, "task panicked; stopping the process");
                false
            }
        }
    }
}

/// Waits for SIGTERM or SIGINT.
pub async fn signalled() {
    let (Ok(mut terminate), Ok(mut interrupt)) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}
