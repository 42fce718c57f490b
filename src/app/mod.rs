//! From the configuration to a running process. Only this module names concrete backends.

mod backends;
pub mod demo;
mod roles;
mod services;
mod startup;

use std::process::ExitCode;

use anyhow::bail;

pub use self::services::Services;
pub use self::startup::open_database;
use crate::config::{Config, Role};
use crate::lifecycle::Lifecycle;

/// Runs the roles until the process is asked to stop or one of them fails.
pub async fn run(roles: &[Role], config: Config) -> anyhow::Result<ExitCode> {
    check_roles(roles, &config)?;
    let fresh = !config.data_dir.exists();
    let services = Services::build(&config).await?;
    services.make_ready(fresh, roles).await?;
    let mut lifecycle = Lifecycle::default();
    services.spawn_roles(roles, &mut lifecycle)?;
    let code = lifecycle.run().await;
    services.store.close().await;
    Ok(code)
}

/// All roles by default start only those that have work; one that is asked for by name and has none is a mistake.
fn check_roles(roles: &[Role], config: &Config) -> anyhow::Result<()> {
    let all = roles.len() == Role::ALL.len();
    if !all && roles.contains(&Role::Relay) && config.amqp_url.is_none() {
        bail!("the role relay has nothing to do without SECKILL_AMQP_URL");
    }
    if !all && roles.contains(&Role::Consume) && config.redis.is_none() {
        bail!("the role consume has nothing to do without SECKILL_REDIS_URL");
    }
    Ok(())
}
