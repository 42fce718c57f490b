//! Assembles a running process from the configuration. It chooses the backends.

mod control;
pub mod demo;
mod roles;
mod services;
mod startup;

use std::pin::pin;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use futures::future::OptionFuture;
use tracing::info;

use self::roles::PipelineThreads;
pub use self::services::{DOCUMENT, Services};
use self::startup::Starting;
pub use self::startup::{Waiting, connect_database, has_other_secret, max_connections, open_database};
use base::clock::Clock;
use base::config::{Config, ProcessRole};
use base::lifecycle::{Lifecycle, signalled};

/// A stop may take ten seconds in all, and tasks already have nine of them.
const LAST_WRITE_TIMEOUT: Duration = Duration::from_millis(500);

/// Runs the roles until a signal stops the process or one of them fails.
pub async fn run(roles: &[ProcessRole], config: Config) -> anyhow::Result<ExitCode> {
    check_roles(roles, &config)?;
    let fresh = !config.data_dir.exists();
    let waiting = Waiting::default();
    let starting = Starting::begin(roles, &config, &waiting);
    let mut signal = pin!(signalled());
    let start = async {
        let services = Services::build_for(&config, Clock::system(), waiting).await?;
        services.prepare(fresh, roles).await?;
        // Only `serve` has clients behind a load balancer.
        let drain = if roles.contains(&ProcessRole::Serve) { config.web.drain } else { Duration::ZERO };
        let mut lifecycle = Lifecycle::draining_for(drain);
        let pipeline = services.spawn_roles(roles, starting, &mut lifecycle).await?;
        anyhow::Ok((services, lifecycle, pipeline))
    };
    let (services, lifecycle, pipeline) = tokio::select! {
        started = Box::pin(start) => started?,
        // The start may wait for the database for hours, and nothing was accepted yet.
        () = &mut signal => {
            info!("signal received during the start; ending");
            return Ok(ExitCode::SUCCESS);
        }
    };
    let code = lifecycle.run(signal).await;
    // Write the security events of the last requests. They are lost if the database does not answer.
    let _ = tokio::time::timeout(LAST_WRITE_TIMEOUT, services.security.write(&services.store)).await;
    tokio::join!(services.store.close(), OptionFuture::from(pipeline.map(PipelineThreads::end)));
    Ok(code)
}

/// Without named roles, the process runs all roles that have work on its rung. A named role without work is an error.
fn check_roles(roles: &[ProcessRole], config: &Config) -> anyhow::Result<()> {
    let all = roles.len() == ProcessRole::ALL.len();
    if !all && roles.contains(&ProcessRole::Relay) && config.amqp_url.is_none() {
        bail!("the role relay has nothing to do without SECKILL_AMQP_URL");
    }
    if !all && roles.contains(&ProcessRole::Consume) && config.redis.is_none() {
        bail!("the role consume has nothing to do without SECKILL_REDIS_URL");
    }
    Ok(())
}
