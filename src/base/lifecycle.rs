//! The process: its name, and how it stops. At the first signal it drains, then all tasks are asked to finish; a second signal or
//! a deadline ends the process at once.

use std::future::Future;
use std::process::ExitCode;
use std::sync::OnceLock;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::{error, info};

/// What this process is called at PostgreSQL, Redis and RabbitMQ. A global, as the host's name is: it is set once, before the
/// first connection.
static NAME: OnceLock<String> = OnceLock::new();
/// PostgreSQL cuts a longer name.
const MAX_NAME_BYTES: usize = 63;

/// Names the process after its roles or its command, its host and its version: `seckill/0.2.0:serve+control@web-1`. Redis
/// takes no spaces in a name.
pub fn name_process(version: &str, task: &str) {
    let name = format!("seckill/{version}:{task}@{}", rustix::system::uname().nodename().to_string_lossy());
    // Only the first name counts.
    let _ = NAME.set(name.chars().filter(char::is_ascii_graphic).take(MAX_NAME_BYTES).collect());
}

/// The name of the process; `seckill` in programs that have not named themselves, such as tests.
pub fn process_name() -> &'static str {
    NAME.get().map_or("seckill", String::as_str)
}

/// How long draining and finishing all tasks may take. The contract promises ten seconds for the whole shutdown.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(9);

/// How the process ends, for tasks that serve clients.
#[derive(Debug, Clone, Default)]
pub struct Shutdown {
    /// Cancelled by the first signal. From then on the process is not ready and closes connections after their answers,
    /// but takes new ones, because the load balancer has to see it first.
    pub draining: CancellationToken,
    /// Cancelled once the process has drained. Tasks then finish their current work and return.
    pub stop: CancellationToken,
    /// How long the process drains.
    pub drain: Duration,
}

impl Shutdown {
    /// What remains for tasks after the drain.
    pub fn time_to_finish(&self) -> Duration {
        SHUTDOWN_TIMEOUT.saturating_sub(self.drain)
    }
}

/// The running tasks of the process. A task that fails, or ends before a stop was requested, stops all the others.
#[derive(Default)]
pub struct Lifecycle {
    shutdown: Shutdown,
    tasks: JoinSet<(&'static str, anyhow::Result<()>)>,
}

impl Lifecycle {
    /// A process that drains for this long between a signal and its stop.
    pub fn draining_for(drain: Duration) -> Lifecycle {
        Lifecycle { shutdown: Shutdown { drain, ..Shutdown::default() }, ..Lifecycle::default() }
    }

    pub fn shutdown(&self) -> Shutdown {
        self.shutdown.clone()
    }

    /// The token that is cancelled when tasks should finish their current work and return.
    pub fn stop_token(&self) -> CancellationToken {
        self.shutdown.stop.clone()
    }

    /// Starts a task. `name` identifies it in the logs.
    pub fn spawn(&mut self, name: &'static str, task: impl Future<Output = anyhow::Result<()>> + Send + 'static) {
        self.tasks.spawn(async move { (name, task.await) });
    }

    /// As [`Lifecycle::spawn`], on the threads of another runtime.
    pub fn spawn_on(
        &mut self,
        runtime: &Handle,
        name: &'static str,
        task: impl Future<Output = anyhow::Result<()>> + Send + 'static,
    ) {
        self.tasks.spawn_on(async move { (name, task.await) }, runtime);
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

    /// Waits for the first signal or for a task to end, then for all tasks to finish. The exit code is a failure if a
    /// task failed or did not finish in time.
    pub async fn run(mut self, first_signal: impl Future<Output = ()>) -> ExitCode {
        let mut healthy = true;
        tokio::select! {
            () = first_signal => self.drain().await,
            Some(ended) = self.tasks.join_next() => healthy = self.report(ended),
        }
        let timeout = self.shutdown.time_to_finish();
        self.shutdown.stop.cancel();
        tokio::select! {
            finished = self.finish() => healthy &= finished,
            () = tokio::time::sleep(timeout) => {
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

    /// Lets the load balancer see that the process ends. A second signal cuts it short.
    async fn drain(&mut self) {
        let drain = self.shutdown.drain;
        info!(drain_ms = drain.as_millis() as u64, "signal received; draining, then waiting for tasks to finish");
        self.shutdown.draining.cancel();
        tokio::select! {
            () = tokio::time::sleep(drain) => {}
            () = signalled() => {}
        }
    }

    async fn finish(&mut self) -> bool {
        let mut healthy = true;
        while let Some(ended) = self.tasks.join_next().await {
            healthy &= self.report(ended);
        }
        healthy
    }

    fn report(&self, ended: Result<(&'static str, anyhow::Result<()>), tokio::task::JoinError>) -> bool {
        match ended {
            Ok((task, Ok(()))) if self.shutdown.stop.is_cancelled() => {
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
